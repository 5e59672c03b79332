"""Losses written as a user would write them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

from skrank._validation import check_count
from skrank.losses._own import PositionLoss


def reciprocal_rank_cost(i, j):
    """One minus 1/(1 + j), for the first relevant row alone."""
    return j / (1.0 + j) if i == 1 else 0.0


def roc_area_cost(i, j, n_pos, n_neg):
    """The share of pairs that are in the wrong order because of one relevant row."""
    return j / (float(n_pos) * float(n_neg))


@lru_cache
def precision_cost(k: int) -> Callable:
    """Costs whose sum is one minus the precision at k."""

    def cost(i, j, n_pos, n_neg):
        """The first min(k, P) rows share the 1 among them; each within the k places gains 1/k."""
        if i > k:
            return 0.0
        return 1.0 / min(k, n_pos) - (1.0 / k if i + j <= k else 0.0)

    return cost


class ReciprocalRank(PositionLoss):
    """One minus the reciprocal of the place of the first relevant row, and its hinge bound.

    Only the best relevant row of each list counts, so it suits tasks with one right answer.

    Parameters
    ----------
    algorithm : {"auto", "quicksort", "greedy", "dynamic"}, default="auto"
        How the most violating ranking is found; see :class:`AveragePrecision`.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import ReciprocalRank
    >>> objective = ReciprocalRank().bind(np.array([True, False, False]))
    >>> value, gradient = objective(np.array([0.2, 0.0, 0.0]))
    >>> round(value, 3)
    0.3
    """

    cost = staticmethod(reciprocal_rank_cost)
    _of_a_user = False

    def __init__(self, algorithm="auto"):
        self.algorithm = algorithm


class ROCArea(PositionLoss):
    """One minus the area under the ROC curve, and its hinge bound.

    It is the share of pairs of a relevant and an irrelevant row that are in the wrong order, and
    the bound is the mean of ``max(0, 1 - 2 (s_i - s_j))`` over these pairs. Twice the weights that
    minimise ``1/2 ||w||^2 + C * bound`` minimise ``1/2 ||w||^2 + 4 C * mean of max(0, 1 - d)``, the
    classic ranking SVM.

    Parameters
    ----------
    algorithm : {"auto", "quicksort", "greedy", "dynamic"}, default="auto"
        How the most violating ranking is found; see :class:`AveragePrecision`.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import ROCArea
    >>> objective = ROCArea().bind(np.array([True, False, False]))
    >>> value, gradient = objective(np.array([0.25, 0.0, -0.25]))
    >>> value
    0.25
    """

    cost = staticmethod(roc_area_cost)
    _of_a_user = False

    def __init__(self, algorithm="auto"):
        self.algorithm = algorithm


class PrecisionAtK(PositionLoss):
    """One minus the share of relevant rows among the first k places, and its hinge bound.

    Where a list has fewer than k relevant rows, no ranking has a precision of 1. The bound is
    one of what is lost against the best ranking.

    Parameters
    ----------
    k : int, default=10
        Number of places that count.
    algorithm : {"auto", "dynamic"}, default="auto"
        How the most violating ranking is found. Costs are not concave but for k = 1, so both are
        the dynamic programme, in O(N log N + P k) for P relevant and N irrelevant rows.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import PrecisionAtK
    >>> objective = PrecisionAtK(k=2).bind(np.array([True, True, False, False]))
    >>> value, gradient = objective(np.array([0.5, 0.1, 0.0, 0.0]))
    >>> round(value, 3)
    0.45
    """

    _of_a_user = False

    def __init__(self, k=10, algorithm="auto"):
        self.k = k
        self.algorithm = algorithm

    @property
    def cost(self):
        """The costs for this k."""
        hint = "It is the number of places that count."
        return precision_cost(check_count("k", self.k, hint=hint))

    def _last_step(self, n_neg: int) -> int:
        return min(self.k, n_neg)
