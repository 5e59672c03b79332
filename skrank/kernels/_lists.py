"""Whole lists: counts and gradient from scores; notation as in ``_interleaving``."""

from __future__ import annotations

import numba
import numpy as np

from skrank._jit import jit
from skrank.kernels._gradient import finish
from skrank.kernels._interleaving import candidates, count_above


@jit
def interleave(step, pos, order, pos_rows, neg, values, neg_rows, margin, scale, above, gradient):
    """Counts and gradient of one list, given its candidates by row and in ascending order."""
    count_above(step, pos, neg, margin, above)
    return finish(pos, order, pos_rows, above, neg, values, neg_rows, scale, gradient)


@jit
def one_list(step, scores, pos_rows, neg_rows, expected, margin, scale, above, gradient):
    """Counts, gradient and its product with the scores, for one short list."""
    unsorted = np.empty(pos_rows.size)
    for i in range(pos_rows.size):
        unsorted[i] = scores[pos_rows[i]]
    order = np.argsort(unsorted)
    pos = np.empty(pos_rows.size)
    values = np.empty(neg_rows.size + 1)
    chosen = np.empty(neg_rows.size + 1, np.int64)
    count = candidates(
        step, scores, neg_rows, unsorted, order, expected, margin, pos, values, chosen
    )
    values = values[:count]
    neg = np.sort(values)
    return interleave(
        step, pos, order, pos_rows, neg, values, chosen, margin, scale, above, gradient
    )


@jit
def each_list(
    step, scores, pos, pos_start, neg, neg_start, expected, margin, scale, above, gradient, product
):
    """``one_list`` for many, the lists laid end to end."""
    for q in range(product.size):
        p = slice(pos_start[q], pos_start[q + 1])
        n = slice(neg_start[q], neg_start[q + 1])
        product[q] = one_list(
            step, scores, pos[p], neg[n], expected[q], margin[q], scale[q], above[p], gradient
        )


@jit(parallel=True)
def each_list_parallel(
    step, scores, pos, pos_start, neg, neg_start, expected, margin, scale, above, gradient, product
):
    """``each_list`` on all threads."""
    for q in numba.prange(product.size):
        p = slice(pos_start[q], pos_start[q + 1])
        n = slice(neg_start[q], neg_start[q + 1])
        product[q] = one_list(
            step, scores, pos[p], neg[n], expected[q], margin[q], scale[q], above[p], gradient
        )


@jit
def expect(above, last, expected):
    """From the counts of all lists, guess the numbers of candidates of the next evaluation.

    A guess somewhat too low costs little, one too high a second pass. Returns how many negatives
    stand above a positive.
    """
    n_active = 0
    for q in range(last.size):
        active = above[last[q]]
        expected[q] = int(0.9 * active) + 1
        n_active += active
    return n_active
