"""The Lovász hinge of the Jaccard loss; rows with s > 0 are its mistakes, s = 1 - t g.

Mistakes are taken from the largest s down. With m positives in a set, n of them and p negatives
among the mistakes so far, the Jaccard loss is (n + p) / (m + p). A further positive adds
1 / (m + p) to it, and c further negatives add (m - n) / ((m + p) (m + p + c)) each. Of mistakes
with the same s negatives come first, and those of one kind share what they add: the gradient
then does not depend on the order of rows, and at zero scores it is that of the mean hinge loss.
"""

from __future__ import annotations

import numba
import numpy as np

from skrank._jit import jit


@jit
def of_negatives(m, n, p, count):
    """What each of ``count`` further negatives adds."""
    if m == 0:
        return 1.0 / count if p == 0 else 0.0
    return (m - n) / ((m + p) * (m + p + count))


@jit(reorder=True)
def some_sets(first, last, sets, scores, weight, gradient, value):
    """Values and gradients of the short sets first..last-1.

    What is above what is counted for all pairs, which is quadratic, but vectorised: for short
    sets that is faster than sorting.
    """
    longest = 0
    for q in range(first, last):
        longest = max(longest, sets.pointers[q + 1] - sets.pointers[q])
    pos, neg = np.empty(longest), np.empty(longest)
    pos_rows, neg_rows = np.empty(longest, np.int64), np.empty(longest, np.int64)
    for q in range(first, last):
        n_pos = n_neg = 0
        for k in range(sets.pointers[q], sets.pointers[q + 1]):
            row = sets.rows[k]
            gradient[row] = 0.0
            if sets.positive[k]:
                pos[n_pos] = 1.0 - scores[row]
                pos_rows[n_pos] = row
                n_pos += pos[n_pos] > 0.0
            else:
                neg[n_neg] = 1.0 + scores[row]
                neg_rows[n_neg] = row
                n_neg += neg[n_neg] > 0.0
        m = float(sets.n_pos[q])
        total = 0.0
        for j in range(n_neg):
            s = neg[j]
            n = p = count = 0
            for i in range(n_neg):
                p += neg[i] > s
                count += neg[i] == s
            for i in range(n_pos):
                n += pos[i] > s
            share = of_negatives(m, n, p, count)
            gradient[neg_rows[j]] = weight * share
            total += share * s
        for j in range(n_pos):
            s = pos[j]
            p = 0
            for i in range(n_neg):
                p += neg[i] >= s
            share = 1.0 / (m + p)
            gradient[pos_rows[j]] = -weight * share
            total += share * s
        value[q] = weight * total


@jit(parallel=True)
def all_sets(n_parts, n_sets, sets, scores, weight, gradient, value):
    """The first sets on all threads."""
    for part in numba.prange(n_parts):
        first, last = n_sets * part // n_parts, n_sets * (part + 1) // n_parts
        some_sets(first, last, sets, scores, weight, gradient, value)


@jit(reorder=True)
def find_mistakes(scores, rows, positive, s):
    """Sets s and returns the bits of the lowest and highest s above 0, as whole numbers.

    Numbers above 0 sort as their bits do.
    """
    lowest, highest = np.inf, 0.0
    for k in range(rows.size):
        s[k] = 1.0 - scores[rows[k]] if positive[k] else 1.0 + scores[rows[k]]
        lowest = min(lowest, s[k] if s[k] > 0.0 else np.inf)
        highest = max(highest, s[k])
    bits = np.array([lowest, highest]).view(np.int64)
    return bits[0], bits[1]


@jit
def make_keys(s, positive, low, lowest, highest, keys):
    """One whole number for each mistake, which sort as (s, negative or not, entry) would.

    The ``low`` last bits are for the latter two, and s has what is left: all of its bits where
    these numbers lie close together, as they do early in training. Returns how many keys there are,
    and how many bits of s are missing.
    """
    bits = s.view(np.int64)
    shift, span = 0, highest - lowest
    while span >> shift >= np.int64(1) << (62 - low):
        shift += 1
    count = 0
    for k in range(s.size):
        key = ((bits[k] - lowest) >> shift) << low
        keys[count] = key | np.int64(not positive[k]) << (low - 1) | k
        count += s[k] > 0.0
    return count, shift


@jit
def walk(keys, low, s, m, share):
    """What each mistake of a set adds to its loss, by entry, from its sorted keys."""
    entry = (np.int64(1) << (low - 1)) - 1
    m = float(m)
    n = p = 0.0
    first = keys.size
    while first > 0:
        last = first - 1
        first = last
        key = keys[last]
        while (
            first > 0
            and keys[first - 1] >> (low - 1) == key >> (low - 1)
            and s[keys[first - 1] & entry] == s[key & entry]
        ):
            first -= 1
        count = last + 1 - first
        if key >> (low - 1) & 1:
            each = of_negatives(m, n, p, count)
            p += count
        else:
            each = 1.0 / (m + p)
            n += count
        for k in range(first, last + 1):
            share[keys[k] & entry] = each


@jit
def walk_ties(s, positive, m, share):
    """The same where all mistakes have one s, as they have at the start of training."""
    count = 0
    for k in range(s.size):
        count += (s[k] > 0.0) & ~positive[k]
    of_negative = of_negatives(float(m), 0.0, 0.0, count)
    for k in range(s.size):
        share[k] = 1.0 / (m + count) if positive[k] else of_negative


@jit(reorder=True)
def gather(s, share, rows, positive, weight, gradient):
    """Value and gradient of one set."""
    total = 0.0
    for k in range(rows.size):
        each = weight * share[k] if s[k] > 0.0 else 0.0
        total += each * s[k]
        gradient[rows[k]] = -each if positive[k] else each
    return total
