"""Normalised discounted cumulative gain, for binary and for graded relevance."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.base import BaseEstimator

from skrank._gains import apply_gain, check_gain
from skrank._groups import Groups
from skrank._validation import check_count
from skrank.kernels._interleaving import compile_function
from skrank.losses._arguments import check_list_weight, check_relevance, check_scores
from skrank.losses._lists import Thresholds, in_lists
from skrank.losses._objective import (
    ANY_ALGORITHMS,
    QS_ALGORITHMS,
    CompiledLoss,
    InterleavingObjective,
    check_algorithm,
)
from skrank.metrics._ndcg import log2_discount, ndcg_per_query

# Second differences that rounding may push below zero, in units of the first discount.
ROUNDING = 1e-15
# More rows than this, each as often as its list has grades, would take minutes an evaluation.
MAX_VISITS = 10**9


@compile_function
def step(j, i, n_pos, n_neg, table):
    """D(i+j-1) - D(i+j), looked up."""
    return table[i + j - 1] - table[i + j]


@compile_function
def cost(n, i, n_pos, n_neg, table):
    """D(i) - D(i+n), looked up."""
    return table[i] - table[i + n]


class NDCG(BaseEstimator):
    """One minus the normalised discounted cumulative gain of each list, and its hinge bound.

    With binary relevance, P relevant rows at the places p_1, ..., p_P of a ranking R,

        NDCG(R) = (D(p_1) + ... + D(p_P)) / (D(1) + ... + D(P)),    D(p) = 1 / log2(1 + p),

    and the bound of a list is the maximum over all rankings R of

        1 - NDCG(R) + F(R) - F(R*),    F(R) = mean over pairs of R_ij (s_i - s_j),

    where pairs join a relevant row i with an irrelevant row j, R_ij is 1 if i stands above j
    and -1 otherwise, and R* ranks all relevant rows first.

    Graded relevance is a combination of binary ones: let the gain rise by g_t at the grade t, and
    call a row relevant at t if its grade is at least t. Then, with Z_t the best sum of discounts,

        1 - NDCG(R) = sum over t of g_t Z_t / (sum over u of g_u Z_u) * (1 - NDCG_t(R)),

    and the bound is the same convex combination of bounds. Lists count alike, those with rows of
    one grade only not at all. Tied rows share their gradient equally, so that no result depends on
    the order of the rows.

    Parameters
    ----------
    k : int or None, default=None
        Cut-off: places past the k-th have a discount of zero. None for no cut-off.
    gain : {"exponential", "linear"}, default="exponential"
        Gain of the grade y: 2**y - 1, or y itself.
    discount : "log2" or callable, default="log2"
        A function that gives the discounts of an array of places 1, 2, ..., n: not negative, none
        larger than the one before, the first above zero.
    algorithm : {"auto", "quicksort", "greedy", "dynamic"}, default="auto"
        How the most violating ranking is found, among P relevant and N irrelevant rows. All give
        the same result, up to rounding; time is for one list at one grade.

        - "auto" sorts only rows that may stand above a relevant one;
        - "quicksort" partitions irrelevant rows as far as needed, in O(N log P) [1]_;
        - "greedy" sorts, and tries all ranks for each irrelevant row, in O(N log N + P N) [2]_;
        - "dynamic" is a dynamic programme in O(N log N + P N), which needs P N bits of memory; with
          a cut-off k in O(N log N + P k).

        All but "dynamic" need a convex discount, such as that by the logarithm. With one that is
        not convex, such as any cut-off above 1, "auto" is "dynamic" and the others are an error.

    References
    ----------
    .. [1] Mohapatra, Rolinek, Jawahar, Kolmogorov, Kumar: Efficient Optimization for Rank-based
       Loss Functions. CVPR 2018.
    .. [2] Chakrabarti, Khanna, Sawant, Bhattacharyya: Structured Learning for Non-Smooth Ranking
       Losses. KDD 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import NDCG
    >>> objective = NDCG().bind(np.array([2, 0, 1]))
    >>> value, gradient = objective(np.array([1.0, 0.2, 0.0]))
    >>> round(value, 3)
    0.126
    """

    graded = True

    def __init__(self, k=None, gain="exponential", discount="log2", algorithm="auto"):
        self.k = k
        self.gain = gain
        self.discount = discount
        self.algorithm = algorithm

    def check(self) -> None:
        """Raise an error unless the parameters are of the right kind."""
        if self.k is not None:
            check_count("k", self.k, hint="It is the last place that counts; None for all.")
        check_gain(self.gain)
        if not (callable(self.discount) or self.discount == "log2"):
            raise ValueError(
                f"Unknown discount {self.discount!r}. Choose 'log2', or give a function of an "
                "array of places."
            )
        check_algorithm(self.algorithm, QS_ALGORITHMS)

    def bind(
        self,
        y: np.ndarray,
        groups: Groups | None = None,
        list_weight: np.ndarray | None = None,
    ) -> InterleavingObjective:
        """The bound as a function of scores.

        Parameters
        ----------
        y : array of shape (n,)
            Grades: 0 for irrelevant rows, and the larger the more relevant.
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
        y, groups = check_relevance(y, groups)
        list_weight = check_list_weight(list_weight, groups)
        longest = int(np.diff(groups.pointers).max(initial=0))
        table = self._discounts(longest)
        sums = np.cumsum(table)
        lists = Thresholds.of(
            y,
            groups,
            list_weight,
            gain=partial(apply_gain, gain=self.gain),
            ideal=sums.__getitem__,
        )
        n_visits = int((lists.end - lists.start).sum())
        if n_visits > MAX_VISITS:
            raise ValueError(
                f"y has {np.unique(y).size} different grades in lists of up to {longest} rows. A "
                f"list is gone through once for each of its grades, so that one evaluation would "
                f"look at {n_visits:.1g} rows. Round y to fewer grades."
            )
        reach = -1 if _is_convex(table[1:]) else int(np.flatnonzero(np.diff(table)).max())
        if reach >= 0:
            why = f", whose discount {'with a cut-off ' if self.k else ''}is not convex"
            check_algorithm(self.algorithm, ANY_ALGORITHMS, why)
        loss = CompiledLoss(
            step=step,
            cost=cost,
            unit=sums[lists.n_pos],
            reach=reach,
            tables=np.full(lists.start.size, table.ctypes.data),
            alive=table,
        )
        return InterleavingObjective(lists, loss, self.algorithm)

    def loss_of_each_list(self, y: np.ndarray, scores: np.ndarray, groups: Groups) -> np.ndarray:
        """The loss of the ranking by score, ties averaged; nan without a relevant row."""
        self.check()
        y, groups = check_relevance(y, groups)
        table = self._discounts(int(np.diff(groups.pointers).max(initial=0)))
        scores = check_scores(scores, y.size)
        gains, scores, codes = in_lists(groups, apply_gain(y, self.gain), scores)
        ndcg = ndcg_per_query(gains, scores, codes, groups.n_groups, table.__getitem__)
        return 1.0 - ndcg

    def _discounts(self, n: int) -> np.ndarray:
        """D(0), ..., D(n), where D(0) = 0 is there for the numbering only."""
        places = np.arange(1.0, n + 1.0)
        table = np.zeros(n + 1)
        table[1:] = log2_discount(places) if self.discount == "log2" else self._own(places)
        if self.k is not None:
            table[self.k + 1 :] = 0.0
        return table

    def _own(self, places: np.ndarray) -> np.ndarray:
        values = np.asarray(self.discount(places), dtype=np.float64)
        if values.shape != places.shape:
            raise ValueError(
                f"The discount function gave an array of shape {values.shape} for places of shape "
                f"{places.shape}. It must give one discount for each place."
            )
        if not np.all(np.isfinite(values)) or np.any(values < 0.0) or not values[:1].all():
            raise ValueError(
                "The discount function gave values that are negative or not finite, or zero for "
                "the first place. Discounts weigh places, and the first one most."
            )
        rises = np.flatnonzero(np.diff(values) > 0.0)
        if rises.size:
            place = int(rises[0]) + 1
            raise ValueError(
                f"The discount rises from {values[place - 1]:g} at place {place} to "
                f"{values[place]:g} at place {place + 1}. Discounts must not rise."
            )
        return values


def _is_convex(discounts: np.ndarray) -> bool:
    return bool(np.all(np.diff(discounts, 2) >= -ROUNDING * discounts[0]))
