"""Most violating interleavings of positives and negatives, for losses that are QS-suitable.

Notation, as in Mohapatra et al. (2018): P positives with scores ``pos`` in descending
order, N negatives; the j-th negative in descending order of score has the interleaving
rank r_j = 1 + #(positives above it), in 1..P+1, and n_i = #(j : r_j <= i) negatives stand
above the i-th positive. A loss is a sum of cost(i, n_i) over the positives, in units of
1/Z (Z = P for average precision); its discrete derivative is

    step(j, i) = cost(i, j) - cost(i, j - 1).

Putting negative j above positive i changes the loss-augmented score, in the same units, by

    gain_j(i) = step(j, i) - margin (pos_i - neg_j),    margin = 2 Z / (P N),

and f_j(r) = sum of gain_j(i) over i >= r is maximised for each negative on its own; the
largest maximiser counts. That is exact when step(j, i) does not increase in j: condition (C2).

A ``loss`` is, for kernels, a tuple of five integers: the addresses of its compiled ``step`` and
``cost`` and of a table of numbers that these may read, and P and N. So the same machine code,
cached on disk, serves every loss.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from skrank._jit import jit

# of (j or n, i, n_pos, n_neg, table)
SIGNATURE = types.float64(
    types.int64, types.int64, types.int64, types.int64, types.CPointer(types.float64)
)


def compile_function(function: Callable[..., float], *, cache: bool = True) -> Any:
    """Compile ``function(j, i, n_pos, n_neg, table)``; kernels take its ``address``."""
    if cache:
        try:
            return numba.cfunc(SIGNATURE, cache=True)(function)
        except RuntimeError as error:
            if "cache" not in str(error):
                raise
    return numba.cfunc(SIGNATURE)(function)


@intrinsic
def call(typingctx, address, j, i, n_pos, n_neg, table):
    """Call the compiled function at an address."""

    def codegen(context, builder, signature, args):
        integer, number = ir.IntType(64), ir.DoubleType()
        kind = ir.FunctionType(number, [integer] * 4 + [number.as_pointer()])
        function = builder.inttoptr(args[0], kind.as_pointer())
        pointer = builder.inttoptr(args[5], number.as_pointer())
        return builder.call(function, [*args[1:5], pointer])

    return types.float64(*[types.int64] * 6), codegen


@jit
def step(loss, j, i):
    """cost(i, j) - cost(i, j - 1)."""
    return call(loss[0], j, i, loss[3], loss[4], loss[2])


@jit
def cost(loss, i, n):
    """The cost of the i-th positive with n negatives above it; zero for n = 0."""
    return call(loss[1], n, i, loss[3], loss[4], loss[2])


@jit
def total_cost(loss, above):
    """The loss, in units of 1/Z."""
    total = 0.0
    for i in range(above.size):
        if above[i] > 0:
            total += cost(loss, i + 1, above[i])
    return total


@jit
def best_rank(loss, pos, score, j, low, high, margin):
    """The largest maximiser of f_j over low..high, for the j-th negative."""
    total = 0.0
    best = 0.0
    rank = high
    for i in range(high - 1, low - 1, -1):
        total += step(loss, j, i) - margin * (pos[i - 1] - score)
        if total > best:
            best = total
            rank = i
    return rank


@jit
def inactive_below(loss, pos, j, margin):
    """tau(j): the j-th negative, and every later one, with score <= tau(j) has rank P+1.

    tau(j) = min over i of mean(pos_i..pos_P) - (sum of step(j, k) for k >= i) / (margin (P-i+1)),
    which does not decrease in j because of condition (C2).
    """
    n_pos = pos.size
    total = 0.0
    tau = np.inf
    width = 1.0 / margin
    for i in range(n_pos, 0, -1):
        total += pos[i - 1] - width * step(loss, j, i)
        tau = min(tau, total / (n_pos - i + 1))
    return tau


@jit
def collect(scores, rows, theta, values, chosen):
    """Copy the scores above theta, and their rows; return how many there are."""
    count = 0
    for t in range(rows.size):
        row = rows[t]
        score = scores[np.uint64(row)]
        values[count] = score
        chosen[count] = row
        count += score > theta
    return count


@jit
def candidates(loss, scores, rows, unsorted, order, expected, margin, pos, values, chosen):
    """Collect negatives so that every other one has rank P+1, given a guess of their number.

    Also fills ``pos`` with the positives' scores in descending order, given their ascending order.

    If no fewer than ``expected`` - 1 negatives lie above tau(expected), those below have index
    ``expected`` or later and tau speaks for them. If fewer do, their number is a guess that
    the second pass always confirms.
    """
    n_pos = pos.size
    for i in range(n_pos):
        pos[i] = unsorted[order[n_pos - 1 - i]]
    count = collect(scores, rows, inactive_below(loss, pos, expected, margin), values, chosen)
    if count + 1 < expected:
        theta = inactive_below(loss, pos, count + 1, margin)
        count = collect(scores, rows, theta, values, chosen)
    return count


@jit
def quickselect(values, first, last, k):
    """Partition values[first:last] around what belongs at place k in ascending order.

    Equal values end up side by side, so ties cost no more than distinct values; pivots are
    drawn, so no order of the rows is a bad one.
    """
    state = np.uint64(last - first)
    while last - first > 1:
        a, b, c = 0.0, 0.0, 0.0
        for _ in range(3):
            state = state * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
            offset = (state >> np.uint64(33)) % np.uint64(last - first)
            a, b, c = b, c, values[first + np.int64(offset)]
        pivot = max(min(a, b), min(max(a, b), c))
        low, t, high = first, first, last
        while t < high:
            value = values[t]
            if value < pivot:
                values[t] = values[low]
                values[low] = value
                low += 1
                t += 1
            elif value > pivot:
                high -= 1
                values[t] = values[high]
                values[high] = value
            else:
                t += 1
        if k < low:
            last = low
        elif k >= high:
            first = high
        else:
            return


@jit
def count_ranks(loss, pos, neg, ordered, margin, first, last, low, high, above):
    """Add 1 to above[r - 1] for each of the negatives first..last whose rank r is below high.

    Their ranks are known to lie in low..high.
    Divide and conquer over positions: the rank of the middle negative bounds the others.
    O((high - low) log(last - first)) evaluations of ``step``. Negatives come in ascending order, or
    are partitioned as far as it takes: the n_i-th largest ends up with the larger ones behind it.
    """
    n_neg = neg.size
    end = high
    # halves keep the stack below one entry for each bit of n_neg
    firsts, lasts = np.empty(66, np.int64), np.empty(66, np.int64)
    lows, highs = np.empty(66, np.int64), np.empty(66, np.int64)
    firsts[0], lasts[0], lows[0], highs[0] = first, last, low, high
    depth = 1
    while depth > 0:
        depth -= 1
        first, last, low, high = firsts[depth], lasts[depth], lows[depth], highs[depth]
        if first > last:
            continue
        if low == high:
            if low < end:
                above[low - 1] += last - first + 1
            continue
        middle = (first + last) // 2
        if not ordered:
            quickselect(neg, n_neg - last, n_neg - first + 1, n_neg - middle)
        rank = best_rank(loss, pos, neg[n_neg - middle], middle, low, high, margin)
        if rank < end:
            above[rank - 1] += 1
        firsts[depth], lasts[depth], lows[depth], highs[depth] = first, middle - 1, low, rank
        depth += 1
        firsts[depth], lasts[depth], lows[depth], highs[depth] = middle + 1, last, rank, high
        depth += 1


@jit
def count_gains(loss, pos, neg, margin, above):
    """above[i - 1] = m_i = #(j : gain_j(i) > 0); returns whether they are in ascending order.

    Gains fall in j. The search for m_i starts at m_{i-1} and doubles its steps, then bisects.
    """
    n_pos, n_neg = pos.size, neg.size
    in_order = True
    count = 0
    for i in range(1, n_pos + 1):
        low, high = count, count + 1
        width = 1
        while high <= n_neg:
            if not step(loss, high, i) - margin * (pos[i - 1] - neg[n_neg - high]) > 0.0:
                break
            low = high
            high += width
            width *= 2
        if low == count:
            width = 1
            while low > 0:
                if step(loss, low, i) - margin * (pos[i - 1] - neg[n_neg - low]) > 0.0:
                    break
                high = low
                low -= width
                width *= 2
        low, high = max(low, 0), min(high, n_neg + 1)
        while high - low > 1:
            j = (low + high) // 2
            if step(loss, j, i) - margin * (pos[i - 1] - neg[n_neg - j]) > 0.0:
                low = j
            else:
                high = j
        in_order &= low >= count
        count = low
        above[i - 1] = count
    return in_order


@jit
def count_above(loss, pos, neg, margin, above):
    """Write n_i, the number of negatives above the i-th positive; negatives in ascending order.

    The n_i maximise a sum of concave functions of single n_i, of which m_i is the (least)
    maximiser, subject to n_1 <= ... <= n_P. So n_i lies between the least m_k for k >= i and the
    largest for k <= i. Where the two agree it is known, and what lies between is solved for itself.
    """
    if count_gains(loss, pos, neg, margin, above):
        return
    n_pos = pos.size
    least = above.copy()
    for i in range(n_pos - 2, -1, -1):
        least[i] = min(least[i], least[i + 1])
    i = 0
    while i < n_pos:
        largest = above[i]
        if largest == least[i]:
            i += 1
            continue
        start, base = i, least[i]
        while i < n_pos and max(largest, above[i]) > least[i]:
            largest = max(largest, above[i])
            i += 1
        above[start:i] = 0
        count_ranks(loss, pos, neg, True, margin, base + 1, largest, start + 1, i + 1, above)
        above[start] += base
        for k in range(start + 1, i):
            above[k] += above[k - 1]
