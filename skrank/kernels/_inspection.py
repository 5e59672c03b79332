"""What a user's loss is like, and what it gives on average over ties; see ``_interleaving``."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skrank._jit import jit
from skrank.kernels._interleaving import cost, step

# Weights below this part of their sum are left out of averages.
NEGLIGIBLE = 1e-18


class Findings(NamedTuple):
    """For each positive looked at, over all numbers of negatives above it."""

    rise: np.ndarray  # the largest step(j, i) - step(j - 1, i)
    rise_at: np.ndarray  # that j
    least: np.ndarray  # the lowest cost
    least_at: np.ndarray  # with that many negatives above
    size: np.ndarray  # the largest step, in absolute value; nan or inf if one of them is
    size_at: np.ndarray  # that j
    scale: np.ndarray  # of the costs, of which steps may be differences
    reach: np.ndarray  # the last j with a step that is not zero


@jit
def inspect(loss, positives, shift, sums, found):
    """Go through all steps of the positives given and write down what is found.

    The address of ``cost`` is zero where costs are nothing but sums of steps.
    The running sums of steps, cost(i, n), are kept for every n that is a multiple of 2**shift, in
    a row of ``sums`` for each positive; ``sums`` may have no columns.
    """
    n_neg = loss[4]
    every = 1 << shift
    for t in range(positives.size):
        i = positives[t]
        total, before = 0.0, np.inf
        rise, least, most, size = -np.inf, 0.0, 0.0, 0.0
        rise_at, least_at, size_at, reach = 0, 0, 0, 0
        if sums.shape[1]:
            sums[t, 0] = 0.0
        for j in range(1, n_neg + 1):
            value = step(loss, j, i)
            total += value
            if value - before > rise:
                rise, rise_at = value - before, j
            if total < least:
                least, least_at = total, j
            most = max(most, total)
            if not abs(value) <= size:
                size, size_at = abs(value), j
                if not size < np.inf:
                    break
            if value != 0.0:
                reach = j
            if sums.shape[1] and (j & (every - 1)) == 0:
                sums[t, j >> shift] = total
            before = value
        found.rise[t], found.rise_at[t] = rise, rise_at
        found.least[t], found.least_at[t] = least, least_at
        found.size[t], found.size_at[t] = size, size_at
        found.scale[t] = max(most, -least)
        if loss[1] != 0:
            found.scale[t] += abs(cost(loss, i, 0))
        found.reach[t] = reach


@jit
def expected_cost(loss, pos, neg):
    """The mean sum of costs over all orders of tied rows; scores in descending order.

    In a block of p positives and q negatives with the same score, the u-th positive has v of these
    negatives above it with a probability that changes from v to v + 1 by the factor
    (u + v) (q - v) / ((v + 1) (p - u + q - v)). Weights are taken relative to a start near the
    mean, outwards until they are negligible.
    """
    n_pos, n_neg = pos.size, neg.size
    total = 0.0
    i = 0
    n = 0
    while i < n_pos:
        while n < n_neg and neg[n] > pos[i]:
            n += 1
        p = 1
        while i + p < n_pos and pos[i + p] == pos[i]:
            p += 1
        q = 0
        while n + q < n_neg and neg[n + q] == pos[i]:
            q += 1
        for u in range(1, p + 1):
            total += mean_over_block(loss, i + u, n, p, q, u)
        i += p
        n += q
    return total


@jit
def mean_over_block(loss, i, n, p, q, u):
    """The mean cost of the i-th positive, the u-th of a tied block with n negatives above."""
    start = (u * q) // (p + 1)
    mass = 1.0
    mean = cost(loss, i, n + start)
    weight = 1.0
    for v in range(start, q):
        weight *= (u + v) * float(q - v) / ((v + 1) * float(p - u + q - v))
        mass += weight
        mean += weight * cost(loss, i, n + v + 1)
        if weight < NEGLIGIBLE * mass:
            break
    weight = 1.0
    for v in range(start - 1, -1, -1):
        weight /= (u + v) * float(q - v) / ((v + 1) * float(p - u + q - v))
        mass += weight
        mean += weight * cost(loss, i, n + v)
        if weight < NEGLIGIBLE * mass:
            break
    return mean / mass


@jit
def expected_costs(compiled, tables, scores, rows, start, middle, end, out):
    """``expected_cost`` of many lists, which are laid out as in ``_lists``."""
    for k in range(start.size):
        loss = (compiled[0], compiled[1], tables[k], middle[k] - start[k], end[k] - middle[k])
        pos = np.sort(scores[rows[start[k] : middle[k]]])[::-1]
        neg = np.sort(scores[rows[middle[k] : end[k]]])[::-1]
        out[k] = expected_cost(loss, pos, neg)
