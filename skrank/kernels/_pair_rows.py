"""From scores to sorted rows of pairs, and from pulls to the gradient; see ``_pairs``."""

from __future__ import annotations

import numba
import numpy as np

from skrank._jit import jit

# Keys have 62 bits, and the first eight of them tell the bucket.
KEY_BITS = 62
BUCKET_SHIFT = 54
BUCKETS = 2**8
# So many keys are made at a time where they are not kept.
BATCH = 256


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
    """The lowest and the highest z."""
    lowest, highest = np.inf, -np.inf
    for k in range(z.size):
        lowest = min(lowest, z[k])
        highest = max(highest, z[k])
    return lowest, highest


@jit
def find_extents(z, starts, extents):
    """Those of each list."""
    for which in range(starts.size - 1):
        extents[which] = extent(z[starts[which] : starts[which + 1]])


@jit
def make_keys(begin, end, z, starts, extents, n_entry_bits, keys):
    """Whole numbers to sort the entries begin..end-1 by.

    First comes the place that an entry had if the z of its list were spread evenly over the places
    of the list, in steps of equal length, and then its number.
    """
    steps_a_row = (np.int64(1) << (KEY_BITS - n_entry_bits)) // starts[-1]
    which = np.searchsorted(starts, begin, "right") - 1
    k = begin
    while k < end:
        lowest, highest = extents[which]
        width = highest - lowest
        first = starts[which] * steps_a_row
        n_steps = (starts[which + 1] - starts[which]) * steps_a_row
        last = min(end, starts[which + 1])
        while k < last:
            share = (z[k] - lowest) / width if width > 0.0 else 0.0
            # no key of this list is among those of the next one
            step = min(np.int64(share * float(n_steps)), n_steps - 1)
            keys[k - begin] = (first + step) << n_entry_bits | k
            k += 1
        which += 1


@jit(parallel=True)
def deal_keys(n_parts, n, z, starts, extents, n_entry_bits, keys, bounds):
    """The keys in buckets, sorted by their first bits; sets the bounds of the buckets."""
    places = np.zeros((n_parts, BUCKETS), np.int64)
    for part in numba.prange(n_parts):
        batch = np.empty(BATCH, np.int64)
        end = n * (part + 1) // n_parts
        for k in range(n * part // n_parts, end, BATCH):
            size = min(BATCH, end - k)
            make_keys(k, k + size, z, starts, extents, n_entry_bits, batch)
            for key in batch[:size]:
                places[part, key >> BUCKET_SHIFT] += 1
    place = 0
    for bucket in range(BUCKETS):
        bounds[bucket] = place
        for part in range(n_parts):
            count = places[part, bucket]
            places[part, bucket] = place
            place += count
    bounds[BUCKETS] = place
    for part in numba.prange(n_parts):
        batch = np.empty(BATCH, np.int64)
        end = n * (part + 1) // n_parts
        for k in range(n * part // n_parts, end, BATCH):
            size = min(BATCH, end - k)
            make_keys(k, k + size, z, starts, extents, n_entry_bits, batch)
            for key in batch[:size]:
                keys[places[part, key >> BUCKET_SHIFT]] = key
                places[part, key >> BUCKET_SHIFT] += 1


@jit
def unpack(begin, end, n_entry_bits, z, keys, z_sorted, number):
    """Numbers and z of the rows at the places begin..end-1 once they are sorted."""
    entry = (np.int64(1) << n_entry_bits) - 1
    for t in range(begin, end):
        k = keys[t] & entry
        number[t] = k
        z_sorted[t] = z[k]


@jit(parallel=True)
def unpack_all(n_parts, n, n_entry_bits, z, keys, z_sorted, number):
    """The same on all threads."""
    for part in numba.prange(n_parts):
        begin, end = n * part // n_parts, n * (part + 1) // n_parts
        unpack(begin, end, n_entry_bits, z, keys, z_sorted, number)


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
