"""One node of pairs on all threads; see ``_pairs``.

A sweep is a merge, of partners that enter the tree with rows that look into it. It is cut into
parts with as many of both together, each part with a tree of its own that starts with the
partners of all parts before.
"""

from __future__ import annotations

import numba
import numpy as np

from skrank._jit import jit
from skrank.kernels._pairs import LATER, LEAVES, TREE, add, move, read_digits, split, sweep


@jit
def cut(upwards, rows, margin, first, last, done):
    """How many rows have looked and how many partners have entered when ``done`` of them have."""
    n = last - first
    step = 1 if upwards else -1
    origin = first if upwards else last - 1
    low, high = max(0, done - n), min(done, n)
    while low < high:
        place = (low + high) // 2
        partner = done - place - 1
        if step * (rows.z[origin + step * partner] - rows.z[origin + step * place]) < margin:
            high = place
        else:
            low = place + 1
    return low, done - low


@jit
def enter(upwards, rows, first, last, begin, end, levels, sums):
    """Numbers and sums of values, by digit, of the partners at the places begin..end-1."""
    sums[:] = 0.0
    step = 1 if upwards else -1
    origin = first if upwards else last - 1
    flip = (1 << 2 * levels) - 1 if upwards else 0
    for place in range(begin, end):
        at = origin + step * place
        sums[0, rows.digit[at] ^ flip] += 1.0
        sums[1, rows.digit[at] ^ flip] += rows.z_next[at]


@jit
def plant(sums, part, levels, tree, later):
    """The tree of the partners of all parts before."""
    tree[:] = 0.0
    for digit in range(1 << 2 * levels):
        count = total = 0.0
        for p in range(part):
            count += sums[p, 0, digit]
            total += sums[p, 1, digit]
        if count > 0.0:
            add(tree, later, levels, digit, count, total)


@jit(parallel=True)
def wide_node(n_parts, n, first, rows, pairs, active):
    """``one_node``; active[0] gets the weight of the active pairs."""
    last = first + n
    pulls = np.empty(n_parts)
    levels, shift = split(first, last, pairs.grade, pairs.small)
    later = LATER.copy()
    for part in numba.prange(n_parts):
        begin, end = first + n * part // n_parts, first + n * (part + 1) // n_parts
        read_digits(rows, pairs, pairs.grade[first], shift, begin, end)
    sums = np.empty((n_parts, 2, LEAVES))
    trees = np.empty((n_parts, 2, TREE))
    for upwards in (True, False):
        cuts = np.empty((n_parts + 1, 2), np.int64)
        for part in range(n_parts + 1):
            cuts[part] = cut(upwards, rows, pairs.margin, first, last, 2 * n * part // n_parts)
        for part in numba.prange(n_parts):
            begin, end = cuts[part, 1], cuts[part + 1, 1]
            enter(upwards, rows, first, last, begin, end, levels, sums[part])
        for part in numba.prange(n_parts):
            plant(sums, part, levels, trees[part], later)
        # in a loop of its own: compiled together with the planting, a sweep is slower by half
        for part in numba.prange(n_parts):
            begin, end, partner = cuts[part, 0], cuts[part + 1, 0], cuts[part, 1]
            tree = trees[part]
            pulls[part] = sweep(
                upwards, rows, pairs, first, last, begin, end, partner, levels, tree, later
            )
    active[0] = -pulls.sum()
    if shift > 0:
        move_all(n_parts, n, first, rows)


@jit(parallel=True)
def move_all(n_parts, n, first, rows):
    """A stable partition of the node by digit."""
    counts = np.zeros((n_parts, LEAVES), np.int64)
    for part in numba.prange(n_parts):
        for t in range(first + n * part // n_parts, first + n * (part + 1) // n_parts):
            counts[part, rows.digit[t]] += 1
    target = first
    for digit in range(LEAVES):
        for part in range(n_parts):
            count = counts[part, digit]
            counts[part, digit] = target
            target += count
    for part in numba.prange(n_parts):
        begin, end = first + n * part // n_parts, first + n * (part + 1) // n_parts
        move(rows, begin, end, counts[part])
