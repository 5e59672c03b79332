"""The published ways to the most violating interleaving; notation as in ``_interleaving``.

Each algorithm takes the negatives' scores by row, writes the counts ``above`` and returns the
negatives arranged as ``_gradient.levels`` wants them. All are exact: they differ in what
they sort, in how many ranks they try and in what they ask of the loss.
"""

from __future__ import annotations

import numpy as np

from skrank._jit import jit
from skrank.kernels._interleaving import best_rank, count_ranks, quickselect, step
from skrank.kernels._programme import count_by_programme


def greedy(loss, pos, values, margin, above):
    """Yue et al. (2007): sort, then try every rank for every negative. O(N log N + P N)."""
    neg = np.sort(values)
    count_by_trial(loss, pos, neg, margin, above)
    return neg


def search(loss, pos, values, margin, above):
    """Mohapatra et al. (2014), Algorithm 2: sort, then bisect. O(N log N + P^2 + N log P).

    Needs a step that does not decrease in i up to i = j, as that of average precision.
    """
    neg = np.sort(values)
    count_by_bisection(loss, pos, neg, margin, above)
    return neg


def select(loss, pos, values, margin, above):
    """Mohapatra et al. (2014), Algorithm 3: as ``search``, for negatives of rank <= P alone.

    Quickselect finds them, and they alone are sorted.
    """
    neg = values.copy()
    n_active = count_active(loss, pos, neg, margin)
    active = neg[neg.size - n_active :]
    active.sort()
    count_by_bisection(loss, pos, active, margin, above)
    expose_bounds(neg, above)
    return neg


def quicksort(loss, pos, values, margin, above):
    """Mohapatra et al. (2018), Algorithm 1: split ranks along with a quicksort. O(N log P)."""
    neg = values.copy()
    above[:] = 0
    count_ranks(loss, pos, neg, False, margin, 1, neg.size, 1, pos.size + 1, above)
    np.cumsum(above, out=above)
    expose_bounds(neg, above)
    return neg


def dynamic(loss, pos, values, margin, above):
    """Dynamic programme over (i, n_i), for losses with or without condition (C2). O(P N)."""
    return dynamic_up_to(values.size, loss, pos, values, margin, above)


def dynamic_up_to(reach, loss, pos, values, margin, above):
    """The same in O(N log N + P reach), for losses without a step from ``reach`` negatives on."""
    neg = np.sort(values)
    count_by_programme(reach, loss, pos, neg, margin, above)
    return neg


@jit
def count_by_trial(loss, pos, neg, margin, above):
    """n_i from the rank of each negative, all ranks tried; negatives in ascending order."""
    n_pos, n_neg = pos.size, neg.size
    above[:] = 0
    for j in range(1, n_neg + 1):
        rank = best_rank(loss, pos, neg[n_neg - j], j, 1, n_pos + 1, margin)
        if rank <= n_pos:
            above[rank - 1] += 1
    for i in range(1, n_pos):
        above[i] += above[i - 1]


@jit
def bisected_rank(loss, pos, score, j, margin):
    """The largest maximiser of f_j: gain_j(i) does not decrease in i up to min(P, j)."""
    n_pos = pos.size
    low, high = 1, min(n_pos, j) + 1
    while low < high:
        i = (low + high) // 2
        if step(loss, j, i) - margin * (pos[i - 1] - score) > 0.0:
            high = i
        else:
            low = i + 1
    if j >= n_pos:
        return low
    return best_rank(loss, pos, score, j, low, n_pos + 1, margin)


@jit
def count_by_bisection(loss, pos, neg, margin, above):
    """n_i from the rank of each negative, found by bisection; negatives in ascending order."""
    n_pos, n_neg = pos.size, neg.size
    above[:] = 0
    for j in range(1, n_neg + 1):
        rank = bisected_rank(loss, pos, neg[n_neg - j], j, margin)
        if rank <= n_pos:
            above[rank - 1] += 1
    for i in range(1, n_pos):
        above[i] += above[i - 1]


@jit
def count_active(loss, pos, neg, margin):
    """How many negatives have rank <= P; they are moved to the end of ``neg``."""
    n_pos, n_neg = pos.size, neg.size
    first, last = 1, n_neg
    while first <= last:
        j = (first + last) // 2
        quickselect(neg, n_neg - last, n_neg - first + 1, n_neg - j)
        if bisected_rank(loss, pos, neg[n_neg - j], j, margin) > n_pos:
            last = j - 1
        else:
            first = j + 1
    return last


@jit
def expose_bounds(neg, above):
    """Move the equals of each n_i-th largest negative next to it, after quickselect found it.

    Those among the larger ones are in place: quickselect leaves the smallest of a range at its
    front. Going on among the smaller ones, it may have carried equals away from their end.
    """
    n_pos, n_neg = above.size, neg.size
    for i in range(n_pos):
        bound = n_neg - above[i]
        following = n_neg - above[i + 1] if i + 1 < n_pos else 0
        if bound == n_neg or bound == following:
            continue
        place = bound - 1
        for t in range(bound - 1, following - 1, -1):
            if neg[t] == neg[bound]:
                neg[place], neg[t] = neg[t], neg[place]
                place -= 1
