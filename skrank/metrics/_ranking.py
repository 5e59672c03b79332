"""Rows sorted by query and score, with ties marked, and means over the queries."""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning


class Ranking(NamedTuple):
    """Rows query after query with descending scores, in blocks of equal scores.

    `order` lists the rows and `places` their places in their queries, from 1. `starts` says
    where in `order` each block begins, `queries` to which query it belongs, `n_rows` how many
    rows it has and `n_before` how many rows of its query stand ahead of it.
    """

    order: np.ndarray
    places: np.ndarray
    starts: np.ndarray
    queries: np.ndarray
    n_rows: np.ndarray
    n_before: np.ndarray

    def sums(self, values: np.ndarray) -> np.ndarray:
        """Sum over the rows of each block, of values in the order of the data."""
        return np.add.reduceat(values[self.order], self.starts, dtype=np.float64)


def rank_rows(y_score: np.ndarray, codes: np.ndarray) -> Ranking:
    """Sort the rows by query and descending score."""
    # a sort in reverse is right for scores of any type, also those that cannot be negated
    order = np.lexsort((y_score, codes))[::-1]
    y_score, codes = y_score[order], codes[order]
    new_query = np.ones(codes.size, dtype=bool)
    new_query[1:] = codes[1:] != codes[:-1]
    new_block = new_query.copy()
    new_block[1:] |= y_score[1:] != y_score[:-1]

    first = np.flatnonzero(new_query)
    places = np.arange(1, codes.size + 1) - np.repeat(first, np.diff(first, append=codes.size))
    starts = np.flatnonzero(new_block)
    return Ranking(
        order=order,
        places=places,
        starts=starts,
        queries=codes[starts],
        n_rows=np.diff(starts, append=codes.size),
        n_before=places[starts] - 1,
    )


def scale_in_queries(values: np.ndarray, codes: np.ndarray, n_queries: int) -> np.ndarray:
    """Divide values that are not negative by the largest of their query, so that sums are finite.

    Queries of zeros stay as they are.
    """
    largest = np.zeros(n_queries)
    np.maximum.at(largest, codes, values)
    return values / np.where(largest > 0.0, largest, 1.0)[codes]


def weighted_mean(values: np.ndarray, weight: np.ndarray) -> float:
    """Mean of the values other than nan; nan if there is none of positive weight."""
    counts = ~np.isnan(values) & (weight > 0.0)
    if not counts.any():
        return float("nan")
    weight = weight[counts]
    return float(np.average(values[counts], weights=weight / weight.max()))


def mean_over_queries(
    values: np.ndarray,
    weight: np.ndarray,
    measure: str,
    why: str = "there is no relevant row",
    worst: float = 0.0,
) -> float:
    """Weighted mean where the measure is defined, the worst if it is nowhere; warns of the rest.

    Queries of weight zero are as if they were not there, so there is no warning of them.
    """
    mean = weighted_mean(values, weight)
    counts = weight > 0.0
    n_undefined = np.count_nonzero(np.isnan(values[counts]))
    if n_undefined or np.isnan(mean):
        weighty = "" if counts.all() else " of positive weight"
        where = f" for {n_undefined} of {np.count_nonzero(counts)} queries{weighty}"
        several = values.size > 1 and counts.any()
        left = (
            f"The result is set to {worst}." if np.isnan(mean) else "They are left out of the mean."
        )
        warnings.warn(
            f"{measure} is undefined{where if several else ''}: {why}. {left}",
            UndefinedMetricWarning,
            stacklevel=3,
        )
    return worst if np.isnan(mean) else mean
