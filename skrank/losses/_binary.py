"""What losses of relevant and irrelevant rows have in common."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from skrank._groups import Groups
from skrank.losses._arguments import check_binary, check_list_weight
from skrank.losses._lists import binary_lists
from skrank.losses._objective import CompiledLoss, InterleavingObjective


class BinaryLoss(BaseEstimator):
    """A loss that depends on how relevant and irrelevant rows are interleaved, and its bound."""

    graded = False
    algorithm: str

    def bind(
        self,
        y: np.ndarray,
        groups: Groups | None = None,
        list_weight: np.ndarray | None = None,
    ) -> InterleavingObjective:
        """The bound as a function of scores.

        Parameters
        ----------
        y : array of bool, shape (n,)
            True for relevant rows.
        groups : Groups, optional
            The lists; they may leave out rows. The default is one list of all rows.
        list_weight : array of float, shape (n_groups,), optional
            Weights of the lists in the mean.

        Returns
        -------
        objective : InterleavingObjective
            ``objective(scores)`` is the pair of the value and a subgradient, of shape (n,).
        """
        self.check()
        y, groups = check_binary(y, groups)
        lists = binary_lists(y, groups, check_list_weight(list_weight, groups))
        loss = self._compiled(lists.n_pos, lists.n_neg)
        return InterleavingObjective(lists, loss, self.algorithm)

    def check(self) -> None:
        """Raise an error unless the parameters are of the right kind."""
        raise NotImplementedError

    def _compiled(self, n_pos: np.ndarray, n_neg: np.ndarray) -> CompiledLoss:
        """The loss of lists of these sizes, as kernels take it."""
        raise NotImplementedError
