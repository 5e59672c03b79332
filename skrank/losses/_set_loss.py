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
from skrank.losses._sets import as_sets, read_truth

SURROGATES = ("lovasz", "margin", "slack")


def check_surrogate(surrogate: str) -> None:
    """Raise a ValueError unless the surrogate is a known one."""
    if not isinstance(surrogate, str) or surrogate not in SURROGATES:
        raise ValueError(f"Unknown surrogate {surrogate!r}. Choose one of {', '.join(SURROGATES)}.")


class BaseSetLoss(BaseEstimator):
    """What set losses have in common: the loss of predictions and its convex bounds.

    Sets are the rows of a two-dimensional `y`, or the groups of a one-dimensional one.
    """

    increasing = True
    # whether the loss does not change when elements of the same truth change places
    _interchangeable = False

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

    def _truths(self, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Truths that the loss tells apart, and the number of each set's truth."""
        truths, of_set = np.unique(positive, axis=0, return_inverse=True)
        return truths, of_set.reshape(-1)


class RuleLoss(BaseSetLoss):
    """A loss that kernels know a rule of; it is increasing, and 1 if every element is wrong."""

    def losses(self, mispredicted: np.ndarray, y_true: np.ndarray) -> np.ndarray:
        """The loss of sets of one size; see the base class."""
        y, groups = read_truth(y_true, None)
        return self._losses_of_sets(as_sets(y, groups), np.asarray(mispredicted).reshape(-1))

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
        order = np.ascontiguousarray(order, dtype=np.int64)
        rule = self._rule(np.full(order.shape[0], order.shape[1]))
        gains = np.empty(order.shape)
        _set_rules.marginals(rule, order, np.ascontiguousarray(y_true), gains)
        return gains

    def _losses_of_sets(self, sets, wrong: np.ndarray) -> np.ndarray:
        sizes = np.diff(sets.pointers)
        value = np.empty(sizes.size)
        _set_rules.losses(self._rule(sizes), sets, wrong, value)
        return value

    def _hinge(self, y: np.ndarray, groups: Groups | None) -> SetObjective:
        return RuleHinge(self, y, groups)

    def _truths(self, positive: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        # only what is wrong counts, whichever way
        return np.zeros((1, positive.shape[1]), bool), np.zeros(len(positive), np.int64)

    def _raw_rule(self) -> tuple[int, float, np.ndarray, float]:
        """Kind, number, weights and the weight of an element without one; see the kernels."""
        raise NotImplementedError

    def _rule(self, sizes: np.ndarray) -> Rule:
        """The rule for sets of these sizes, in units of the loss of a set that is all wrong."""
        raw = self._raw_rule()
        distinct, which = np.unique(sizes, return_inverse=True)
        unit = np.ones(distinct.size)
        for k, size in enumerate(distinct.tolist()):
            if size == 0:
                continue
            gains = np.empty((1, size))
            whole = np.arange(size)[None]
            _set_rules.marginals(Rule(*raw, np.ones(1)), whole, np.zeros((1, size), bool), gains)
            unit[k] = gains.sum()
        return Rule(*raw, unit[which.reshape(-1)])
