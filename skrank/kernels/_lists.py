"""Whole lists: value and gradient from scores; notation as in ``_interleaving``.

The rows of a query are stored from the most to the least relevant, so that each list is a pair of
neighbouring ranges of them: ``rows[start:middle]`` are its positives, ``rows[middle:end]`` its
negatives. A query has several lists if its relevance has more than two grades.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from skrank._jit import jit
from skrank.kernels._gradient import finish, negatives, positives
from skrank.kernels._interleaving import candidates, count_above, total_cost
from skrank.kernels._programme import count_by_programme
from skrank.kernels._sort import ascending_order


class Lists(NamedTuple):
    """The lists of all queries; those of query q are queries[q], ..., queries[q + 1] - 1."""

    rows: np.ndarray
    queries: np.ndarray
    start: np.ndarray
    middle: np.ndarray
    end: np.ndarray
    tables: np.ndarray  # addresses that the compiled loss reads
    margin: np.ndarray
    scale: np.ndarray  # of the gradient
    weight: np.ndarray  # of the sum of costs
    expected: np.ndarray  # numbers of candidates, from the evaluation before


@jit
def gather(loss, pos, order, pos_rows, neg, values, neg_rows, scale, weight, above, gradient):
    """Value of one list from the counts n_i, the rest as ``finish`` wants it; adds its gradient."""
    product = finish(pos, order, pos_rows, above, neg, values, neg_rows, scale, gradient)
    return weight * total_cost(loss, above) + product


@jit
def interleave(
    loss, pos, order, pos_rows, neg, values, neg_rows, margin, scale, weight, above, gradient
):
    """``gather`` after a search for the counts, given candidates by row and in ascending order."""
    count_above(loss, pos, neg, margin, above)
    return gather(loss, pos, order, pos_rows, neg, values, neg_rows, scale, weight, above, gradient)


@jit
def one_list(loss, reach, scores, pos_rows, neg_rows, expected, margin, scale, weight, gradient):
    """Value of one short list, and how many negatives stand above a positive; adds its gradient.

    The loss is QS-suitable, or it has no steps past ``reach``.
    """
    n_pos, n_neg = pos_rows.size, neg_rows.size
    unsorted = np.empty(n_pos)
    for i in range(n_pos):
        unsorted[i] = scores[pos_rows[i]]
    order = ascending_order(unsorted)
    pos = np.empty(n_pos)
    values = np.empty(n_neg + 1)
    above = np.empty(n_pos, np.int64)
    if reach < 0:
        neg_rows, by_row = np.empty(n_neg + 1, np.int64), neg_rows
        count = candidates(
            loss, scores, by_row, unsorted, order, expected, margin, pos, values, neg_rows
        )
        values = values[:count]
        neg_order = ascending_order(values)
        neg = values[neg_order]
        count_above(loss, pos, neg, margin, above)
    else:
        values = values[:n_neg]
        for i in range(n_pos):
            pos[i] = unsorted[order[n_pos - 1 - i]]
        for j in range(n_neg):
            values[j] = scores[neg_rows[j]]
        neg_order = ascending_order(values)
        neg = values[neg_order]
        count_by_programme(reach, loss, pos, neg, margin, above)
    centre = pos[n_pos // 2]
    value = weight * total_cost(loss, above)
    value += positives(pos, order, pos_rows, above, scale, centre, gradient)
    value += negatives(above, neg, neg_order, neg_rows, scale, centre, gradient)
    return value, above[n_pos - 1]


@jit
def some_queries(first, last, compiled, reach, lists, scores, gradient, value, active):
    """``one_list`` for all lists of the queries first..last-1."""
    for k in range(lists.queries[first], lists.queries[last]):
        pos_rows = lists.rows[lists.start[k] : lists.middle[k]]
        neg_rows = lists.rows[lists.middle[k] : lists.end[k]]
        loss = (compiled[0], compiled[1], lists.tables[k], pos_rows.size, neg_rows.size)
        value[k], active[k] = one_list(
            loss,
            reach,
            scores,
            pos_rows,
            neg_rows,
            lists.expected[k],
            lists.margin[k],
            lists.scale[k],
            lists.weight[k],
            gradient,
        )


@jit(parallel=True)
def all_queries(n_parts, n_queries, compiled, reach, lists, scores, gradient, value, active):
    """The first queries on all threads; lists of one share rows, and so stay on one thread."""
    for part in numba.prange(n_parts):
        first, last = n_queries * part // n_parts, n_queries * (part + 1) // n_parts
        some_queries(first, last, compiled, reach, lists, scores, gradient, value, active)


@jit
def expect(active, expected):
    """Guess the numbers of candidates of the next evaluation; returns how many are active now.

    A guess somewhat too low costs little, one too high a second pass.
    """
    total = 0
    for k in range(active.size):
        expected[k] = int(0.9 * active[k]) + 1
        total += active[k]
    return total
