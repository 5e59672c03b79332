"""Average precision, and the objective of every loss that depends on an interleaving alone."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from sklearn.base import BaseEstimator

from skrank._groups import Groups
from skrank.kernels import _classic, _gradient, _interleaving, _lists
from skrank.losses._arguments import check_binary, check_scores

# Above this many rows NumPy's vectorised sort repays the way back to Python.
LONG_LIST = 512
# With fewer rows in all, starting the threads takes as long as they save.
PARALLEL_ROWS = 8192
# numba's portable threading layer aborts when two threads enter parallel kernels at once.
PARALLEL_LOCK = threading.Lock()
# GNU's threads do not survive a fork: a forked process runs its kernels on one thread.
FORKED = False


def _after_fork() -> None:
    global FORKED, PARALLEL_LOCK
    FORKED = True
    PARALLEL_LOCK = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


@_interleaving.compile_step
def average_precision_step(j, i):
    """j/(j+i) - (j-1)/(j+i-1), written without the cancellation."""
    return i / (float(j + i) * float(j + i - 1))


def average_precision_cost(i: np.ndarray, n: np.ndarray) -> np.ndarray:
    """One minus the precision at the i-th positive, with n negatives above it."""
    return n / (i + n)


def average_precision_unit(n_pos: np.ndarray) -> np.ndarray:
    """The loss is the mean of the costs."""
    return n_pos.astype(np.float64)


class InterleavingObjective:
    """Structured hinge bound of a loss that is a sum of costs over the positives.

    Lists without a positive or without a negative are left out of the mean.

    Parameters
    ----------
    y : array of bool
        Which rows are relevant.
    groups : Groups or None
        The lists; rows in none of them have gradient zero. None makes one list of all rows.
    step : compiled function
        ``step(j, i) = cost(i, j) - cost(i, j - 1)``, from ``compile_step``.
    cost : callable
        Costs of the i-th positives with n negatives above, for arrays i and n.
    unit : callable
        The loss of a list is the sum of its costs divided by ``unit(n_pos)``.
    algorithm : str
        One of ``ALGORITHMS``.
    list_weight : array of float, optional
        One weight for each group; the default weighs all lists alike.

    Attributes
    ----------
    n_lists, n_skipped : int
        Lists that count, and lists left out.
    n_calls : int
        Evaluations so far.
    n_active : int
        In the last evaluation, negatives that stand above at least one positive.
    """

    def __init__(
        self,
        y: np.ndarray,
        groups: Groups | None,
        *,
        step,
        cost: Callable[[np.ndarray, np.ndarray], np.ndarray],
        unit: Callable[[np.ndarray], np.ndarray],
        algorithm: str = "auto",
        list_weight: np.ndarray | None = None,
    ):
        check_algorithm(algorithm)
        y, groups = check_binary(y, groups)
        relevant = y[groups.rows]
        lists = np.repeat(np.arange(groups.n_groups), np.diff(groups.pointers))
        n_pos = np.bincount(lists[relevant], minlength=groups.n_groups)
        n_neg = np.bincount(lists[~relevant], minlength=groups.n_groups)
        used = np.flatnonzero((n_pos > 0) & (n_neg > 0))
        self.n_lists = used.size
        self.n_skipped = groups.n_groups - used.size
        if self.n_lists == 0:
            raise ValueError(
                f"None of the {groups.n_groups} lists given has both a relevant and an irrelevant "
                f"row ({n_pos.sum()} rows are relevant, {n_neg.sum()} are not). At least one list "
                "with both is needed to rank: check y, or put the rows into larger lists."
            )
        # long lists go last, so that the short ones are a contiguous part of every array
        used = used[np.argsort((n_pos + n_neg)[used] > LONG_LIST, kind="stable")]
        n_pos, n_neg = n_pos[used], n_neg[used]
        self._n_short = int(np.count_nonzero(n_pos + n_neg <= LONG_LIST))
        place = np.full(groups.n_groups, -1)
        place[used] = np.arange(used.size)
        place = place[lists]
        self._pos_rows, self._pos_start = _rows_by_list(groups.rows, place, relevant, n_pos)
        self._neg_rows, self._neg_start = _rows_by_list(groups.rows, place, ~relevant, n_neg)
        self._last_pos = self._pos_start[1:] - 1

        weight = np.ones(used.size)
        if list_weight is not None:
            weight = np.asarray(list_weight, dtype=np.float64)
            if weight.shape != (groups.n_groups,):
                raise ValueError(
                    f"list_weight has shape {weight.shape}, but there are {groups.n_groups} "
                    "lists. Give one weight for each list."
                )
            weight = weight[used]
            if not weight.min() >= 0.0 or not 0.0 < weight.sum() < np.inf:
                raise ValueError(
                    "list_weight must be finite, not negative, and positive for at least one list "
                    f"with both relevant and irrelevant rows; theirs range from {weight.min()} "
                    f"to {weight.max()}. Give at least one of them a positive weight."
                )
        weight = weight / weight.sum()
        self._cost = cost
        self._step = step
        self._margin = 2.0 * unit(n_pos) / (n_pos * n_neg)
        self._scale = 2.0 * weight / (n_pos * n_neg)
        self._cost_weight = np.repeat(weight / unit(n_pos), n_pos)
        self._index = np.arange(1.0, n_pos.sum() + 1.0) - np.repeat(self._pos_start[:-1], n_pos)
        self._n_rows = y.size
        self._solve = self._solve_auto if algorithm == "auto" else self._solve_classic
        self._algorithm = ALGORITHMS[algorithm]
        # how many candidates each list is expected to have, from the evaluation before
        self._expected = np.ones(used.size, dtype=np.int64)
        longest = n_neg[self._n_short :].max(initial=0) + 1
        self._values = np.empty(longest)
        self._chosen = np.empty(longest, dtype=np.int64)
        n_short_rows = self._pos_start[self._n_short] + self._neg_start[self._n_short]
        self._parallel = self._n_short > 1 and n_short_rows >= PARALLEL_ROWS
        self.n_calls = 0
        self.n_active = 0

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """The value and one subgradient at ``scores``."""
        scores = check_scores(scores, self._n_rows)
        gradient = np.zeros(self._n_rows)
        above = np.empty(self._pos_rows.size, dtype=np.int64)
        product = np.empty(self.n_lists)
        self._solve(scores, above, gradient, product)
        self.n_calls += 1
        self.n_active = _lists.expect(above, self._last_pos, self._expected)
        # no BLAS here: its threads would wait for cores that others keep busy
        loss = (self._cost_weight * self._cost(self._index, above)).sum()
        return float(loss + product.sum()), gradient

    def _solve_auto(self, scores, above, gradient, product) -> None:
        if self._n_short:
            self._solve_short(scores, above, gradient, product[: self._n_short])
        address = self._step.address
        for q in range(self._n_short, self.n_lists):
            pos_rows, neg_rows, n_above = self._list(q, above)
            margin, scale = self._margin[q], self._scale[q]
            unsorted = scores.take(pos_rows)
            order = unsorted.argsort()
            pos = np.empty(order.size)
            count = _interleaving.candidates(
                address,
                scores,
                neg_rows,
                unsorted,
                order,
                self._expected[q],
                margin,
                pos,
                self._values,
                self._chosen,
            )
            values = self._values[:count]
            neg = np.sort(values)
            product[q] = _lists.interleave(
                address,
                pos,
                order,
                pos_rows,
                neg,
                values,
                self._chosen,
                margin,
                scale,
                n_above,
                gradient,
            )

    def _solve_short(self, scores, above, gradient, product) -> None:
        arguments = (
            self._step.address,
            scores,
            self._pos_rows,
            self._pos_start,
            self._neg_rows,
            self._neg_start,
            self._expected,
            self._margin,
            self._scale,
            above,
            gradient,
            product,
        )
        if self._parallel and not FORKED and numba.get_num_threads() > 1:
            with PARALLEL_LOCK:
                _lists.each_list_parallel(*arguments)
        else:
            _lists.each_list(*arguments)

    def _solve_classic(self, scores, above, gradient, product) -> None:
        for q in range(self.n_lists):
            pos_rows, neg_rows, n_above = self._list(q, above)
            order = np.argsort(scores[pos_rows])
            pos = scores[pos_rows[order[::-1]]]
            values = scores[neg_rows]
            neg = self._algorithm(self._step.address, pos, values, self._margin[q], n_above)
            product[q] = _gradient.finish(
                pos, order, pos_rows, n_above, neg, values, neg_rows, self._scale[q], gradient
            )

    def _list(self, q: int, above: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        pos = slice(self._pos_start[q], self._pos_start[q + 1])
        neg = slice(self._neg_start[q], self._neg_start[q + 1])
        return self._pos_rows[pos], self._neg_rows[neg], above[pos]


def _rows_by_list(
    rows: np.ndarray, place: np.ndarray, chosen: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The chosen rows, list after list, and where each list starts."""
    chosen = np.flatnonzero(chosen & (place >= 0))
    chosen = chosen[np.argsort(place[chosen], kind="stable")]
    start = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return rows[chosen].astype(np.int64), start


ALGORITHMS: dict[str, Any] = {
    "auto": None,
    "quicksort": _classic.quicksort,
    "select": _classic.select,
    "search": _classic.search,
    "greedy": _classic.greedy,
    "dynamic": _classic.dynamic,
}


def check_algorithm(algorithm: str) -> None:
    """Raise a ValueError unless there is an algorithm of this name."""
    if not isinstance(algorithm, str) or algorithm not in ALGORITHMS:
        raise ValueError(f"Unknown algorithm {algorithm!r}. Choose one of {', '.join(ALGORITHMS)}.")


class AveragePrecision(BaseEstimator):
    """One minus the average precision of each list, and its structured hinge bound.

    The bound of a list is the maximum, over all rankings R of its rows, of

        1 - AP(R) + F(R) - F(R*),    F(R) = mean over pairs of R_ij (s_i - s_j),

    where pairs join a relevant row i with an irrelevant row j, R_ij is 1 if i stands above j
    and -1 otherwise, and R* ranks all relevant rows first. Lists count alike, those without a
    relevant or without an irrelevant row not at all. Tied rows share their gradient equally,
    so that no result depends on the order of the rows.

    Parameters
    ----------
    algorithm : {"auto", "quicksort", "select", "search", "greedy", "dynamic"}, default="auto"
        How the most violating ranking is found, among P relevant and N irrelevant rows. All give
        the same result, up to rounding; time is for one list.

        - "auto" sorts only rows that may stand above a relevant one; a guess of their number
          is kept from one evaluation to the next;
        - "quicksort" partitions irrelevant rows as far as needed, in O(N log P) [1]_;
        - "select" finds by quickselect the rows that "search" must sort [2]_;
        - "search" sorts, and bisects for most ranks, in O(N log N + P^2 + N log P) [2]_;
        - "greedy" sorts, and tries all ranks for each irrelevant row, in O(N log N + P N) [3]_;
        - "dynamic" is a dynamic programme in O(N log N + P N), which needs P N bits of memory.

    References
    ----------
    .. [1] Mohapatra, Rolinek, Jawahar, Kolmogorov, Kumar: Efficient Optimization for Rank-based
       Loss Functions. CVPR 2018.
    .. [2] Mohapatra, Jawahar, Kumar: Efficient Optimization for Average Precision SVM. NIPS 2014.
    .. [3] Yue, Finley, Radlinski, Joachims: A Support Vector Method for Optimizing Average
       Precision. SIGIR 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import AveragePrecision
    >>> y = np.array([True, False, False])
    >>> objective = AveragePrecision().bind(y)
    >>> value, gradient = objective(np.array([0.25, 0.0, 0.0]))
    >>> value
    0.25
    >>> gradient
    array([-1. ,  0.5,  0.5])
    """

    def __init__(self, algorithm="auto"):
        self.algorithm = algorithm

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
        return InterleavingObjective(
            y,
            groups,
            step=average_precision_step,
            cost=average_precision_cost,
            unit=average_precision_unit,
            algorithm=self.algorithm,
            list_weight=list_weight,
        )
