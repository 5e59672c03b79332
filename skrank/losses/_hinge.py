"""The hinge loss: the convex bound of the 0-1 loss."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from skrank._groups import Groups
from skrank._jit import jit
from skrank.losses._arguments import check_binary, check_list_weight, check_scores


@jit
def hinge(scores, signed, gradient):
    """Sum of v max(0, 1 - t s) over rows with the signed weight t v, t = 1 or -1, v >= 0."""
    total = 0.0
    for row in range(scores.size):
        weight = abs(signed[row])
        loss = weight - signed[row] * scores[row]
        active = loss > 0.0
        total += loss if active else 0.0
        gradient[row] = -signed[row] if active else 0.0
    return total


class HingeObjective:
    """Mean hinge loss over the rows of all groups, weighted by their groups."""

    def __init__(self, y: np.ndarray, groups: Groups | None, list_weight: np.ndarray | None):
        y, groups = check_binary(y, groups)
        if groups.n_rows == 0:
            raise ValueError("The groups given have no rows; at least one row is needed.")
        weight = np.ones(groups.n_rows)
        list_weight = check_list_weight(list_weight, groups)
        if list_weight is not None:
            weight = np.repeat(list_weight / (list_weight.max() or 1.0), np.diff(groups.pointers))
            if not np.any(weight):
                raise ValueError("list_weight is 0 for all rows; give a list a positive weight.")
        self._signed = np.zeros(y.size)
        self._signed[groups.rows] = np.where(y[groups.rows], weight, -weight) / weight.sum()
        self.n_calls = 0

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """The value and one subgradient at ``scores``."""
        scores = check_scores(scores, self._signed.size)
        gradient = np.empty(scores.size)
        value = hinge(scores, self._signed, gradient)
        self.n_calls += 1
        return value, gradient


class Hinge(BaseEstimator):
    """The mean of max(0, 1 - t_i s_i) over rows, t_i = 1 for positive and -1 for negative rows.

    It decomposes over rows, bounds the share of rows on the wrong side of zero, and is what
    losses of whole rankings are compared with.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import Hinge
    >>> objective = Hinge().bind(np.array([True, False]))
    >>> value, gradient = objective(np.array([0.5, -2.0]))
    >>> value
    0.25
    >>> gradient
    array([-0.5,  0. ])
    """

    def bind(
        self,
        y: np.ndarray,
        groups: Groups | None = None,
        list_weight: np.ndarray | None = None,
    ) -> HingeObjective:
        """The loss as a function of scores.

        Parameters
        ----------
        y : array of bool, shape (n,)
            True for positive rows.
        groups : Groups, optional
            Rows in none of the groups are left out. The default is all rows.
        list_weight : array of float, shape (n_groups,), optional
            Weights of the rows of each group in the mean.

        Returns
        -------
        objective : HingeObjective
            ``objective(scores)`` is the pair of the value and a subgradient, of shape (n,).
        """
        return HingeObjective(y, groups, list_weight)
