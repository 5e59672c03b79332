"""Sums over the pairs of rows that a hinge loss of pairs finds too close, in O(n log R).

The rows of a list have grades g, values v and levels z. A row i of a higher grade than j wants to
be above it by a margin: the pair is active if g_i > g_j and z_i - z_j < margin. The pull of k is

    sum of v_p - v_k over the partners p in its active pairs,

or, where pairs count alike, 1 for each pair whose lower row is k and -1 for each whose higher row
it is. Pulls are the gradient of the sum of v_i - v_j, or of 1, times margin - (z_i - z_j).

Rows are numbered k = 0, 1, ... by list and ascending grade. A node is a range of such numbers in
one list, its rows sorted by z. Two sweeps find the pulls between rows whose grades differ in the
leading digit, with sums by digit in a tree; a stable partition by that digit makes the nodes of the
next level. So the whole is a radix sort by grade of rows sorted by z, and each pair counts in the
one node where its rows part.
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from skrank._jit import jit

# Up to so many rows a look at all pairs is faster: it is vectorised.
SMALL = 256
# A node of so many grades, as a power of two, is worth its own while.
FEW_BITS = 5
# A digit has two bits for each level of the tree of sums; four thousand leaves would leave the
# fastest cache.
MAX_LEVELS = 5
LEAVES = 4**MAX_LEVELS
TREE = 4 * (LEAVES - 1) // 3
# Pulls are stored so many at a time: the processor waits for many places in memory at once.
BATCH = 256
# LATER[c, u]: whether the u-th of four siblings comes after the c-th
LATER = np.triu(np.ones((4, 4)), 1)


class Pairs(NamedTuple):
    """What is known of the rows before their scores; ``alike`` says that pairs count alike.

    In nodes of up to ``small`` rows all pairs are looked at.
    """

    grade: np.ndarray
    value: np.ndarray
    margin: float
    alike: bool
    small: int


class Rows(NamedTuple):
    """Rows in the order of z within their nodes, space for those of the next level, and pulls.

    ``number`` is k. Pulls are in the order of numbers. ``z_next`` holds values during a sweep.
    """

    z: np.ndarray
    number: np.ndarray
    z_next: np.ndarray
    number_next: np.ndarray
    digit: np.ndarray
    pull: np.ndarray


@jit
def split(first, last, grade, small):
    """How a node is split: the number of levels of its tree, and the bits that remain after it.

    No levels stand for a look at all pairs. Where few bits would remain, more are left: a node of
    two rows takes as long as one of thirty.
    """
    if last - first <= small:
        return 0, 0
    bits = 0
    while (grade[last - 1] - grade[first]) >> bits:
        bits += 1
    levels = min((bits + 1) // 2, MAX_LEVELS)
    if 0 < bits - 2 * levels < FEW_BITS:
        levels = (bits - FEW_BITS) // 2
    return levels, max(bits - 2 * levels, 0)


@jit
def children(nodes, grade, small, found):
    """The nodes of the next level that have rows of several grades; returns how many they are.

    Columns are the first number, the one after the last, and the list.
    """
    count = 0
    for node in range(nodes.shape[0]):
        first, last = nodes[node, 0], nodes[node, 1]
        _, shift = split(first, last, grade, small)
        if shift == 0:
            continue
        base, start = grade[first], first
        for k in range(first, last):
            ends = k + 1 == last or (grade[k + 1] - base) >> shift != (grade[k] - base) >> shift
            if ends:
                if grade[k] != grade[start]:
                    found[count] = start, k + 1, nodes[node, 2]
                    count += 1
                start = k + 1
    return count


@jit(inline=True)
def add(tree, later, levels, digit, count, value):
    """Enter rows of one digit: how many they are, and the sum of their values.

    A place of the tree holds the sums over its siblings before it and all that is below them.
    """
    offset = 0
    for level in range(levels):
        place = digit >> 2 * (levels - 1 - level)
        siblings = offset + (place & ~3)
        for u in range(4):
            tree[0, siblings + u] += later[place & 3, u] * count
            tree[1, siblings + u] += later[place & 3, u] * value
        offset = 4 * offset + 4


@jit(inline=True)
def look_up(tree, levels, digit):
    """How many rows of smaller digits there are, and the sum of their values."""
    offset = 0
    count = total = 0.0
    for level in range(levels):
        place = offset + (digit >> 2 * (levels - 1 - level))
        count += tree[0, place]
        total += tree[1, place]
        offset = 4 * offset + 4
    return count, total


@jit
def sweep(upwards, rows, pairs, first, last, begin, end, partner, levels, tree, later):
    """Pulls by partners of other digits in the node first..last-1; returns the sum of the pulls.

    Downwards, rows meet partners of smaller digits; upwards, of larger ones, which mirrored digits
    make smaller. On the way partners enter the tree in the order of z, each before the first row
    that it is near enough to. ``begin`` and ``end`` are places on the way, the rows between them
    get their pulls, and ``partner`` is the place of the first one that is not in the tree yet.
    """
    z, digits, values = rows.z[first:last], rows.digit[first:last], rows.z_next[first:last]
    flip = (1 << 2 * levels) - 1 if upwards else 0
    pulls = np.empty(BATCH)
    total_pull = 0.0
    # indices without a sign spare a look at it, and levels known to the compiler a loop
    n, one, partner = np.uint64(z.size), np.uint64(1), np.uint64(partner)
    for batch in range(begin, end, BATCH):
        batch_end = min(batch + BATCH, end)
        for place in range(np.uint64(batch), np.uint64(batch_end)):
            at = place if upwards else n - one - place
            while partner < n:
                new = partner if upwards else n - one - partner
                distance = z[new] - z[at] if upwards else z[at] - z[new]
                if not distance < pairs.margin:
                    break
                digit = digits[new] ^ flip
                if levels == MAX_LEVELS:
                    add(tree, later, MAX_LEVELS, digit, 1.0, values[new])
                else:
                    add(tree, later, levels, digit, 1.0, values[new])
                partner += one
            digit = digits[at] ^ flip
            if levels == MAX_LEVELS:
                count, total = look_up(tree, MAX_LEVELS, digit)
            else:
                count, total = look_up(tree, levels, digit)
            pull = total - count * values[at]
            if pairs.alike:
                pull = count if upwards else -count
            pulls[place - np.uint64(batch)] = pull
        for place in range(batch, batch_end):
            at_once = first + place if upwards else last - 1 - place
            # rows of the lowest or the highest grade have no partners on one side
            if pulls[place - batch] != 0.0:
                rows.pull[rows.number[at_once]] += pulls[place - batch]
                total_pull += pulls[place - batch]
    return total_pull


@jit
def read_digits(rows, pairs, base, shift, begin, end):
    """Look up the digits and values of the rows at the places begin..end-1."""
    for t in range(begin, end):
        k = rows.number[t]
        rows.digit[t] = (pairs.grade[k] - base) >> shift
        rows.z_next[t] = 0.0 if pairs.alike else pairs.value[k]


@jit
def move(rows, begin, end, target):
    """Copy rows to the next level, each to the next free place for its digit."""
    for t in range(begin, end):
        to = target[rows.digit[t]]
        target[rows.digit[t]] += 1
        rows.z_next[to] = rows.z[t]
        rows.number_next[to] = rows.number[t]


@jit
def all_pairs(rows, pairs, first, last):
    """Pulls by looking at each pair; returns the sum of the pulls of the higher rows."""
    z = rows.z[first:last]
    number = rows.number[first:last]
    value, grade = np.empty(z.size), np.empty(z.size)
    for t in range(z.size):
        value[t] = 0.0 if pairs.alike else pairs.value[number[t]]
        grade[t] = pairs.grade[number[t]]
    total_pull = 0.0
    for t in range(z.size):
        down, up = pull_of_one(z, value, grade, z[t], value[t], grade[t], pairs.margin, pairs.alike)
        rows.pull[number[t]] += down + up
        total_pull += down
    return total_pull


@jit(reorder=True)
def pull_of_one(z, value, grade, own_z, own_value, own_grade, margin, alike):
    """The pull of one row as the higher one of its pairs, and as the lower one."""
    down = up = 0.0
    for p in range(z.size):
        is_higher = (grade[p] < own_grade) & (own_z - z[p] < margin)
        is_lower = (grade[p] > own_grade) & (z[p] - own_z < margin)
        weight = 1.0 if alike else abs(value[p] - own_value)
        down -= weight if is_higher else 0.0
        up += weight if is_lower else 0.0
    return down, up


@jit
def one_node(rows, pairs, first, last, tree, later):
    """Pulls in a node, and its rows in those of the next level; the pulls of higher rows in sum."""
    levels, shift = split(first, last, pairs.grade, pairs.small)
    if levels == 0:
        return all_pairs(rows, pairs, first, last)
    read_digits(rows, pairs, pairs.grade[first], shift, first, last)
    total_pull = 0.0
    for upwards in (True, False):
        tree[:] = 0.0
        n = last - first
        total_pull = sweep(upwards, rows, pairs, first, last, 0, n, 0, levels, tree, later)
    if shift > 0:
        target = np.zeros(LEAVES + 1, np.int64)
        for t in range(first, last):
            target[rows.digit[t] + 1] += 1
        target[0] = first
        move(rows, first, last, np.cumsum(target))
    return total_pull


@jit
def some_nodes(begin, end, nodes, rows, pairs, active):
    """``one_node`` for several, and the weight of the active pairs in each."""
    tree = np.empty((2, TREE))
    later = LATER.copy()
    for node in range(begin, end):
        first, last = nodes[node, 0], nodes[node, 1]
        active[node] = -one_node(rows, pairs, first, last, tree, later)


@jit(parallel=True)
def all_nodes(n_parts, n_nodes, nodes, rows, pairs, active):
    """All nodes on all threads."""
    for part in numba.prange(n_parts):
        begin, end = n_nodes * part // n_parts, n_nodes * (part + 1) // n_parts
        some_nodes(begin, end, nodes, rows, pairs, active)
