"""From scores to sorted rows of pairs, and from pulls to the gradient; see ``_pairs``."""

from __future__ import annotations

import numba
import numpy as np

from skrank._jit import jit

# Keys have 62 bits, and the first eight of them tell the bucket; the highest key has a 63rd.
BUCKET_SHIFT = 54
BUCKETS = 2**8 + 1


@jit
def lift(begin, end, scores, row_of, value, slope, z, number):
    """z = s - slope v and numbers, for the numbers begin..end-1."""
    for k in range(begin, end):
        z[k] = scores[row_of[k]] - slope * value[k]
        number[k] = k


@jit(parallel=True)
def lift_all(n_parts, n, scores, row_of, value, slope, z, number):
    """The same on all threads."""
    for part in numba.prange(n_parts):
        begin, end = n * part // n_parts, n * (part + 1) // n_parts
        lift(begin, end, scores, row_of, value, slope, z, number)


@jit(reorder=True)
def extent(z):
    """The lowest z, and half the way to the highest: the whole of it may be infinite."""
    lowest, highest = np.inf, -np.inf
    for k in range(z.size):
        lowest = min(lowest, z[k])
        highest = max(highest, z[k])
    return lowest, 0.5 * highest - 0.5 * lowest


@jit(inline=True)
def key_of(z, k, lowest, half, n_entry_bits):
    """A whole number to sort by: z in steps of equal length, and the number of the entry."""
    n_steps = float(np.int64(1) << (62 - n_entry_bits))
    share = (0.5 * z[k] - 0.5 * lowest) / half if half > 0.0 else 0.0
    return np.int64(share * n_steps) << n_entry_bits | k


@jit
def make_keys(z, n_entry_bits, keys):
    """The key of each entry."""
    lowest, half = extent(z)
    for k in range(z.size):
        keys[k] = key_of(z, k, lowest, half, n_entry_bits)


@jit(parallel=True)
def deal_keys(n_parts, n, z, n_entry_bits, keys, bounds):
    """The keys in buckets, sorted by their first bits; sets the bounds of the buckets."""
    lowest, half = extent(z)
    places = np.zeros((n_parts, BUCKETS), np.int64)
    for part in numba.prange(n_parts):
        for k in range(n * part // n_parts, n * (part + 1) // n_parts):
            places[part, key_of(z, k, lowest, half, n_entry_bits) >> BUCKET_SHIFT] += 1
    place = 0
    for bucket in range(BUCKETS):
        bounds[bucket] = place
        for part in range(n_parts):
            count = places[part, bucket]
            places[part, bucket] = place
            place += count
    bounds[BUCKETS] = place
    for part in numba.prange(n_parts):
        for k in range(n * part // n_parts, n * (part + 1) // n_parts):
            key = key_of(z, k, lowest, half, n_entry_bits)
            keys[places[part, key >> BUCKET_SHIFT]] = key
            places[part, key >> BUCKET_SHIFT] += 1


@jit
def unpack(begin, end, n_entry_bits, z, first, keys, z_sorted, number):
    """Numbers and z of the rows at the places begin..end-1 of a sorted list."""
    entry = (np.int64(1) << n_entry_bits) - 1
    for t in range(begin, end):
        k = keys[t] & entry
        number[t] = first + k
        z_sorted[t] = z[k]


@jit(parallel=True)
def unpack_all(n_parts, n, n_entry_bits, z, first, keys, z_sorted, number):
    """The same on all threads."""
    for part in numba.prange(n_parts):
        begin, end = n * part // n_parts, n * (part + 1) // n_parts
        unpack(begin, end, n_entry_bits, z, first, keys, z_sorted, number)


@jit
def collect(begin, end, pointers, scale, scores, row_of, value, slope, pull, gradient):
    """Gradient by the scores of the numbers begin..end-1, and the sum of their pulls times z.

    z counts from that of the list's middle, so that a shift of all scores does not cost digits.
    """
    total = 0.0
    which = np.searchsorted(pointers, begin, "right") - 1
    k = begin
    while k < end:
        middle = (pointers[which] + pointers[which + 1]) // 2
        centre = scores[row_of[middle]] - slope * value[middle]
        last = min(end, pointers[which + 1])
        while k < last:
            row = row_of[k]
            each = scale[which] * pull[k]
            gradient[row] = each
            total += each * (scores[row] - slope * value[k] - centre)
            k += 1
        which += 1
    return total


@jit(parallel=True)
def collect_all(n_parts, n, pointers, scale, scores, row_of, value, slope, pull, gradient, totals):
    """The same on all threads."""
    for part in numba.prange(n_parts):
        begin, end = n * part // n_parts, n * (part + 1) // n_parts
        totals[part] = collect(
            begin, end, pointers, scale, scores, row_of, value, slope, pull, gradient
        )
