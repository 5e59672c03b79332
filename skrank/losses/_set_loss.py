"""What set losses have in common: the loss of predictions, marginals, and convex bounds."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from skrank._groups import Groups
from skrank.kernels import _set_rules
from skrank.kernels._set_rules import Rule
from skrank.kernels._subsets import MARGIN, SLACK
from skrank.losses._rescaling import Rescaling
from skrank.losses._set_objective import RuleHinge, SetObjective
from skrank.losses._sets import all_subsets, as_sets, read_truth

SURROGATES = ("lovasz", "margin", "slack")


def check_surrogate(surrogate: str) -> None:
    """Raise a ValueError unless the surrogate is a known one."""
    if not isinstance(surrogate, str) or surrogate not in SURROGATES:
        raise ValueError(f"Unknown surrogate {surrogate!r}. Choose one of {', '.join(SURROGATES)}.")


class BaseSetLoss(BaseEstimator):
    """What set losses have in common: the loss of predictions and its convex bounds.

    Sets are the rows of a two-dimensional `y`, or the groups of a one-dimensional one.
    """

    _is_increasing = True
    # what the loss depends on besides the mistakes: "truth", "number of positives" or "nothing"
    _looks_at = "truth"

    def bind(
        self, y: np.ndarray, groups: Groups | None = None, *, surrogate: str = "lovasz"
    ) -> SetObjective:
        """A convex bound of the loss, or its like, as a function of scores.

        Parameters
        ----------
        y : array of bool, shape (n,) or (n_sets, n_elements)
            True for positive elements.
        groups : Groups, optional
            The sets, if `y` has one dimension; they may leave out rows. The default is one set.
        surrogate : {"lovasz", "margin", "slack"}, default="lovasz"
            The Lovász hinge, or margin or slack rescaling. The latter two try all sets of mistakes
            of up to 16 elements, and above that add mistakes greedily, which gives a value below
            theirs.

        Returns
        -------
        objective : SetObjective
            ``objective(scores)`` is the pair of the mean over sets and a subgradient. Scores are
            shaped like `y`, or flat; so is the subgradient.
        """
        self.check()
        check_surrogate(surrogate)
        self._check_truth(y)
        if surrogate == "lovasz":
            return self._hinge(y, groups)
        return self._rescaling(y, groups, MARGIN if surrogate == "margin" else SLACK)

    def loss_of_each_set(
        self, y: np.ndarray, predicted: np.ndarray, groups: Groups | None = None
    ) -> np.ndarray:
        """The loss of each set.

        Parameters
        ----------
        y : array of bool, shape (n,) or (n_sets, n_elements)
            True for positive elements.
        predicted : array of bool, of the same shape
            True for elements that are predicted to be positive.
        groups : Groups, optional
            The sets, if `y` has one dimension. The default is one set.

        Returns
        -------
        losses : array of float, shape (n_sets,)
            0 for sets without a mistake.
        """
        self.check()
        y, groups = read_truth(y, groups)
        self._check_truth(y)
        predicted = np.asarray(predicted)
        if predicted.dtype != np.bool_ or predicted.shape != y.shape:
            raise ValueError(
                f"predicted has dtype {predicted.dtype} and shape {predicted.shape}, but booleans "
                f"of shape {y.shape} were expected, one for each element of y."
            )
        sets = as_sets(y, groups)
        wrong = predicted.reshape(-1)[sets.rows] != sets.positive
        return self._losses_of_sets(sets, wrong)

    def losses(self, mispredicted: np.ndarray, y_true: np.ndarray) -> np.ndarray:
        """The loss of sets of one size.

        Parameters
        ----------
        mispredicted : array of bool, shape (n_sets, n_elements)
            True for elements that are predicted wrong.
        y_true : array of bool, shape (n_sets, n_elements)
            True for positive elements.

        Returns
        -------
        losses : array of float, shape (n_sets,)
            The losses.
        """
        raise NotImplementedError

    def marginals(self, order: np.ndarray, y_true: np.ndarray) -> np.ndarray:
        """What each mistake adds to the loss of the mistakes before it.

        Parameters
        ----------
        order : array of int, shape (n_sets, n_elements)
            The elements of each set, in the order in which they become mistakes.
        y_true : array of bool, shape (n_sets, n_elements)
            True for positive elements, by element.

        Returns
        -------
        gains : array of float, shape (n_sets, n_elements)
            In that order: the loss of the first mistake, what the second adds to it, and so on.
        """
        raise NotImplementedError

    def check(self) -> None:
        """Raise an error unless the parameters are of the right kind."""

    def _check_truth(self, y: np.ndarray) -> None:
        """Raise an error unless the loss can be had of sets like these."""

    def _hinge(self, y: np.ndarray, groups: Groups | None) -> SetObjective:
        raise NotImplementedError

    def _rescaling(self, y: np.ndarray, groups: Groups | None, rescaling: int) -> SetObjective:
        return Rescaling(self, y, groups, rescaling)

    def _losses_of_sets(self, sets, wrong: np.ndarray) -> np.ndarray:
        """The loss of each set, from what is wrong by entry."""
        raise NotImplementedError

    def _all_losses(self, truths: np.ndarray) -> np.ndarray:
        """The losses of all sets of mistakes, numbered as by ``all_subsets``, for each truth."""
        wrong = all_subsets(truths.shape[1])
        return np.array([self.losses(wrong, np.broadcast_to(y, wrong.shape)) for y in truths])


class RuleLoss(BaseSetLoss):
    """A loss that kernels know a rule of; it is increasing, and 1 if every element is wrong."""

    _looks_at = "nothing"

    def losses(self, mispredicted: np.ndarray, y_true: np.ndarray) -> np.ndarray:
        """The loss of sets of one size; see the base class."""
        y, groups = self._check_sets(y_true)
        wrong = np.asarray(mispredicted)
        if wrong.dtype != np.bool_ or wrong.shape != y.shape:
            raise ValueError(
                f"mispredicted has dtype {wrong.dtype} and shape {wrong.shape}, but booleans of "
                f"shape {y.shape} were expected, one for each element of y_true."
            )
        return self._losses_of_sets(as_sets(y, groups), wrong.reshape(-1))

    def marginals(self, order: np.ndarray, y_true: np.ndarray) -> np.ndarray:
        """What each mistake adds to those before it; see the base class."""
        y, _ = self._check_sets(y_true)
        order = np.ascontiguousarray(order, dtype=np.int64)
        if order.shape != y.shape or np.any(np.sort(order, axis=1) != np.arange(y.shape[1])):
            raise ValueError(
                f"Each row of order must name all elements of its set once, 0 to {y.shape[1] - 1}, "
                f"in the order in which they become mistakes; its shape is {order.shape} and that "
                f"of y_true {y.shape}."
            )
        rule = self._rule(np.full(order.shape[0], order.shape[1]))
        gains = np.empty(order.shape)
        _set_rules.marginals(rule, order, np.ascontiguousarray(y), gains)
        return gains

    def _check_sets(self, y_true) -> tuple[np.ndarray, Groups]:
        self.check()
        y, groups = read_truth(y_true, None)
        self._check_truth(y)
        return y, groups

    def _losses_of_sets(self, sets, wrong: np.ndarray) -> np.ndarray:
        value = np.empty(sets.n_pos.size)
        _set_rules.losses(self._rule(np.diff(sets.pointers)), sets, wrong, value)
        return value

    def _hinge(self, y: np.ndarray, groups: Groups | None) -> SetObjective:
        return RuleHinge(self, y, groups)

    def _raw_rule(self, longest: int) -> tuple[int, float, np.ndarray, float]:
        """Kind, number, weights and the weight of an element without one; see the kernels."""
        raise NotImplementedError

    def _rule(self, sizes: np.ndarray) -> Rule:
        """The rule for sets of these sizes, in units of the loss of a set that is all wrong."""
        raw = self._raw_rule(int(sizes.max(initial=0)))
        distinct, which = np.unique(sizes, return_inverse=True)
        unit = np.ones(distinct.size)
        for k in np.flatnonzero(distinct):
            size = int(distinct[k])
            whole = Groups.single(size)
            wrong, value = np.ones(size, bool), np.empty(1)
            _set_rules.losses(Rule(*raw, np.ones(1)), as_sets(~wrong, whole), wrong, value)
            unit[k] = value[0]
        if not np.all(unit > 0.0):
            raise ValueError(
                f"{self!r} is 0 if all elements of a set are mispredicted, so it cannot be given "
                "as a share of that. Increase its parameters."
            )
        return Rule(*raw, unit[which.reshape(-1)])
