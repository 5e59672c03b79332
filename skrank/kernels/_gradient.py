"""From the counts n_i of an interleaving to the gradient; notation as in ``_interleaving``."""

from __future__ import annotations

import numpy as np

from skrank._jit import jit

MAX_SPARE_CELLS = 2**14


@jit
def end_of_block(neg, place, direction):
    """The last place with the score of ``place``, going up (1) or down (-1); equals are adjacent.

    Steps double, then halve: most blocks are short, but at w = 0 all scores are tied.
    """
    value = neg[place]
    width = 1
    while width > 0:
        further = place + direction * width
        if 0 <= further < neg.size and neg[further] == value:
            place = further
            width *= 2
        else:
            width //= 2
    return place


@jit
def levels(above, neg):
    """Segments of equal coefficient: a negative with score >= low[k] (first such k) has coef[k].

    The j-th negative stands above h(j) = #(i : n_i >= j) positives. Where a change of h falls
    into a block of tied negatives, the block has the average. ``neg`` need not be in ascending
    order throughout: it is enough that, for the n_i-th largest negative and every i, all
    larger ones are behind it and its equals, and all smaller ones before.
    """
    n_pos, n_neg = above.size, neg.size
    low = np.empty(2 * n_pos + 1)
    coef = np.empty(2 * n_pos + 1)
    k = 0
    i = 0
    start = 1
    while True:
        while i < n_pos and above[i] < start:
            i += 1
        if i == n_pos:
            break
        end = above[i]
        value = neg[n_neg - end]
        if end < n_neg and neg[n_neg - end - 1] == value:
            first = n_neg - end_of_block(neg, n_neg - end, 1)
            last = n_neg - end_of_block(neg, n_neg - end, -1)
            if first > start:
                # the next threshold is the block's own, so any score between will do
                low[k] = np.nextafter(value, np.inf)
                coef[k] = n_pos - i
                k += 1
            total = 0.0
            j = first
            while True:
                while i < n_pos and above[i] < j:
                    i += 1
                if i == n_pos or j > last:
                    break
                stop = min(above[i], last)
                total += float(n_pos - i) * (stop - j + 1)
                j = stop + 1
            end = last
            low[k] = value
            coef[k] = total / (last - first + 1)
        else:
            low[k] = value
            coef[k] = n_pos - i
        k += 1
        start = end + 1
    return low[:k], coef[:k]


@jit
def assign(values, rows, low, coef, scale, centre, gradient):
    """gradient[row] += scale * coef[first k with low[k] <= value], for each negative given.

    Returns what that adds to the sum of gradient[row] * (value - centre).
    A grid over the range of ``low`` narrows the search to a cell; cell numbers are a
    monotone function of the value, rounding included, so the answer is exact.
    """
    n_levels = low.size
    product = 0.0
    if n_levels == 0:
        return product
    # many cells for a few levels serve scores with outliers, as long as they fit in a fast cache
    wanted = min(max(4 * n_levels, min(values.size // 2, MAX_SPARE_CELLS)), 4 * values.size)
    n_cells = 4
    while n_cells < wanted:
        n_cells *= 2
    base = low[n_levels - 1]
    width = low[0] - base
    per_unit = n_cells / width if width > 0.0 else 0.0
    if not per_unit < np.inf:
        per_unit = 0.0
    last = n_cells - 1.0
    start = np.zeros(n_cells + 1, np.int32)
    for k in range(n_levels):
        start[int(min((low[k] - base) * per_unit, last))] += 1
    for cell in range(n_cells - 1, -1, -1):
        start[cell] += start[cell + 1]
    for t in range(values.size):
        value = values[t]
        if value < base:
            continue
        cell = int(min((value - base) * per_unit, last))
        k = start[cell + 1]
        stop = start[cell]
        while stop - k > 4:
            middle = (k + stop) // 2
            if low[middle] > value:
                k = middle + 1
            else:
                stop = middle
        while low[k] > value:
            k += 1
        gradient[np.uint64(rows[t])] += scale * coef[k]
        product += scale * coef[k] * (value - centre)
    return product


@jit
def negatives(above, neg, order, rows, scale, centre, gradient):
    """gradient += scale * h(j) for negatives in ascending order of score, tied ones averaged.

    h(j) = #(i : n_i >= j), as in ``levels``; ``order`` gives their places in ``rows``. Returns what
    that adds to the sum of gradient[row] * (score - centre).
    """
    n_pos, n_neg = above.size, neg.size
    product = 0.0
    i = 0
    first = 1
    while first <= above[n_pos - 1]:
        value = neg[n_neg - first]
        last = first
        total = 0.0
        while last <= n_neg and neg[n_neg - last] == value:
            while i < n_pos and above[i] < last:
                i += 1
            total += n_pos - i
            last += 1
        share = scale * total / (last - first)
        for j in range(first, last):
            gradient[np.uint64(rows[order[n_neg - j]])] += share
        product += scale * total * (value - centre)
        first = last
    return product


@jit
def positives(pos, order, rows, above, scale, centre, gradient):
    """gradient -= scale * n_i for the positives, tied ones averaged.

    Returns what that adds to the sum of gradient[row] * (score - centre).
    """
    n_pos = pos.size
    product = 0.0
    first = 0
    while first < n_pos:
        last = first
        total = 0.0
        while last < n_pos and pos[last] == pos[first]:
            total += above[last]
            last += 1
        for i in range(first, last):
            gradient[rows[order[n_pos - 1 - i]]] -= scale * total / (last - first)
        product -= scale * total * (pos[first] - centre)
        first = last
    return product


@jit
def finish(pos, order, pos_rows, above, neg, values, neg_rows, scale, gradient):
    """Add the gradient of the counts n_i; ``neg`` as ``levels`` wants it, ``values`` by row.

    Returns the product of what was added and the scores. Since that sums to zero, a centre taken
    off all scores changes nothing but the rounding.
    """
    low, coef = levels(above, neg)
    centre = pos[pos.size // 2]
    product = positives(pos, order, pos_rows, above, scale, centre, gradient)
    return product + assign(values, neg_rows, low, coef, scale, centre, gradient)
