"""The lists that a ranking loss looks at: relevant rows against the others, in each query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from skrank._groups import Groups

# Above this many rows NumPy's vectorised sort repays the way back to Python.
LONG_LIST = 512


@dataclass(frozen=True)
class Thresholds:
    """Each query split at each of its grades above zero: rows at or above it are positive.

    ``rows`` holds queries one after another, and each from the most to the least relevant row.
    List k has the positives ``rows[start[k]:middle[k]]`` and the negatives
    ``rows[middle[k]:end[k]]``, at least one of each. Queries with long lists come last.
    """

    rows: np.ndarray
    queries: np.ndarray
    start: np.ndarray
    middle: np.ndarray
    end: np.ndarray
    weight: np.ndarray
    n_rows: int
    n_skipped: int

    @classmethod
    def of(
        cls,
        relevance: np.ndarray,
        groups: Groups,
        list_weight: np.ndarray | None,
        gain: Callable[[np.ndarray], np.ndarray],
        ideal: Callable[[np.ndarray], np.ndarray],
    ) -> Thresholds:
        """Split by ``relevance``, which is not negative.

        A list weighs as much in its query as it has part in the best sum of discounted gains: the
        step of the ``gain`` from the next lower grade, times the ``ideal`` sum of discounts of its
        positives. Queries weigh ``list_weight`` and those with nothing to rank do not count.
        """
        sizes = np.diff(groups.pointers)
        codes = groups.in_order()
        order = np.lexsort((-relevance[groups.rows], codes))
        rows = groups.rows[order].astype(np.int64)
        grades = relevance[rows]
        # splits are where a query goes on with a lower grade, or ends with one above zero
        lower = np.append(grades[1:], 0.0)
        last = np.append(codes[1:] != codes[:-1], True) if rows.size else np.zeros(0, bool)
        lower[last] = 0.0
        at = np.flatnonzero(grades > lower)
        query = codes[at]
        start, middle, end = groups.pointers[query], at + 1, groups.pointers[query + 1]
        # in units of the largest gain of the query, so that sums of large ones are finite
        gains = gain(grades[at])
        largest = np.zeros(groups.n_groups)
        np.maximum.at(largest, query, gains)
        share = (gains - gain(lower[at])) / largest[query] * ideal(middle - start)
        share = share / np.bincount(query, weights=share, minlength=groups.n_groups)[query]

        weight = np.ones(groups.n_groups)
        if list_weight is not None:
            weight = list_weight / (list_weight.max(initial=0.0) or 1.0)
        useful = middle < end
        rankable = np.zeros(groups.n_groups, bool)
        rankable[query[useful]] = True
        counted = rankable & (weight > 0.0)
        if not np.any(counted):
            raise ValueError(_nothing_to_rank(relevance[groups.rows], rankable))
        weight = np.where(counted, weight, 0.0) / weight[counted].sum()
        kept = np.flatnonzero(useful & counted[query])
        kept = kept[np.argsort(sizes[query[kept]] > LONG_LIST, kind="stable")]
        query = query[kept]
        firsts = np.flatnonzero(np.append(True, query[1:] != query[:-1]))
        return cls(
            rows=rows,
            queries=np.append(firsts, query.size),
            start=start[kept],
            middle=middle[kept],
            end=end[kept],
            weight=weight[query] * share[kept],
            n_rows=relevance.size,
            n_skipped=groups.n_groups - int(np.count_nonzero(rankable)),
        )

    @property
    def n_pos(self) -> np.ndarray:
        return self.middle - self.start

    @property
    def n_neg(self) -> np.ndarray:
        return self.end - self.middle

    @property
    def n_short(self) -> int:
        """How many queries, at the front, have short lists."""
        first = self.queries[:-1]
        return int(np.count_nonzero((self.end - self.start)[first] <= LONG_LIST))


def binary_lists(
    relevant: np.ndarray, groups: Groups, list_weight: np.ndarray | None
) -> Thresholds:
    """One list for each query, of its relevant rows against the others."""
    relevance = relevant.astype(np.float64)
    return Thresholds.of(relevance, groups, list_weight, np.asarray, np.ones_like)


def in_lists(groups: Groups, *arrays: np.ndarray) -> tuple[np.ndarray, ...]:
    """The arrays of rows, those of lists alone, and at last the number of each row's list."""
    return (*(array[groups.rows] for array in arrays), groups.in_order())


def whole_lists(relevant: np.ndarray, groups: Groups) -> tuple[np.ndarray, ...]:
    """Rows with the relevant ones of each query first, and start, middle and end of each query."""
    codes = groups.in_order()
    rows = groups.rows[np.lexsort((~relevant[groups.rows], codes))]
    n_pos = np.bincount(codes, weights=relevant[groups.rows], minlength=groups.n_groups)
    start = groups.pointers[:-1]
    return rows, start, start + n_pos.astype(np.int64), groups.pointers[1:]


def _nothing_to_rank(relevance: np.ndarray, rankable: np.ndarray) -> str:
    if np.any(rankable):
        return (
            "list_weight is 0 for all lists that have both relevant and irrelevant rows. Give at "
            f"least one of these {np.count_nonzero(rankable)} lists a positive weight."
        )
    n_relevant = np.count_nonzero(relevance)
    return (
        f"None of the {rankable.size} lists given has rows of different relevance "
        f"({n_relevant} rows are relevant, {relevance.size - n_relevant} are not). At least one "
        "list with both is needed to rank: check y, or put the rows into larger lists."
    )
