"""Set losses step by step: what one more mistake adds to the loss of those before it.

A rule is a kind of loss with its numbers. All of a set's mistakes so far enter as how many
positives (n) and negatives (p) are among them, their weights' sum (t) and, for each place, how
many of them stand there or before (``counts``).
"""

from __future__ import annotations

from typing import NamedTuple

import numba
import numpy as np

from skrank._jit import jit
from skrank.kernels._jaccard import of_negatives
from skrank.kernels._sort import ascending_order

JACCARD, MODULAR, CAPPED, CONCAVE, EARLY = range(5)


class Rule(NamedTuple):
    """``number`` is the cap or alpha; without ``weights`` all elements weigh ``one``.

    Of early detection ``weights`` are those of the places. The loss of a set is divided by its
    ``unit``.
    """

    kind: int
    number: float
    weights: np.ndarray
    one: float
    unit: np.ndarray


@jit
def weight_of(rule, element):
    """The weight of an element."""
    return rule.weights[element] if rule.weights.size else rule.one


@jit
def gain_of(rule, m, n, p, t, counts, element, positive):
    """What a mistake at ``element`` adds to those before it."""
    weight = weight_of(rule, element)
    if rule.kind == JACCARD:
        return 1.0 / (m + p) if positive else of_negatives(m, n, p, 1)
    if rule.kind == CAPPED:
        return min(rule.number, t + weight) - min(rule.number, t)
    if rule.kind == CONCAVE:
        return weight - np.exp(-rule.number * (n + p)) * np.expm1(-rule.number)
    if rule.kind == EARLY:
        gain = 0.0
        for i in range(element, counts.size):
            half = 0.5 * (i + 1)
            gain += rule.weights[i] * (min(counts[i] + 1, half) - min(counts[i], half))
        return gain
    return weight


@jit
def add(rule, m, n, p, t, counts, element, positive):
    """``gain_of`` a mistake, and n, p and t with it; changes ``counts``."""
    gain = gain_of(rule, m, n, p, t, counts, element, positive)
    for i in range(element, counts.size):
        counts[i] += 1
    return gain, n + positive, p + (not positive), t + weight_of(rule, element)


@jit
def make_counts(rule, size):
    """Space for the counts of one set, where a rule needs them."""
    return np.zeros(size if rule.kind == EARLY else 0, np.int64)


@jit
def marginals(rule, orders, positive, gains):
    """What each element adds, in the order of each set; ``positive`` is by element."""
    for q in range(orders.shape[0]):
        counts = make_counts(rule, orders.shape[1])
        m = float(positive[q].sum())
        n = p = t = 0.0
        for k in range(orders.shape[1]):
            i = orders[q, k]
            gain, n, p, t = add(rule, m, n, p, t, counts, i, positive[q, i])
            gains[q, k] = gain / rule.unit[q]


@jit
def losses(rule, sets, wrong, value):
    """The loss of each set, not from its marginals, so that it is exact; ``wrong`` is by entry."""
    for q in range(value.size):
        start, end = sets.pointers[q], sets.pointers[q + 1]
        n = p = t = early = 0.0
        for k in range(start, end):
            if wrong[k]:
                n += sets.positive[k]
                p += not sets.positive[k]
                t += weight_of(rule, k - start)
            if rule.kind == EARLY:
                early += rule.weights[k - start] * min(n + p, 0.5 * (k - start + 1))
        total = t
        if rule.kind == JACCARD:
            total = (n + p) / (sets.n_pos[q] + p) if n + p > 0.0 else 0.0
        elif rule.kind == CAPPED:
            total = min(rule.number, t)
        elif rule.kind == CONCAVE:
            total = t - np.expm1(-rule.number * (n + p))
        elif rule.kind == EARLY:
            total = early
        value[q] = total / rule.unit[q]


@jit
def some_sets(first, last, rule, sets, scores, weight, gradient, value):
    """The Lovász hinge and its gradient for the sets first..last-1 and increasing losses.

    Where elements are alike, those with the same s share what they add.
    """
    alike = rule.weights.size == 0 and rule.kind != JACCARD
    for q in range(first, last):
        start = sets.pointers[q]
        size = sets.pointers[q + 1] - start
        s = np.empty(size)
        for k in range(size):
            row = sets.rows[start + k]
            gradient[row] = 0.0
            s[k] = 1.0 - scores[row] if sets.positive[start + k] else 1.0 + scores[row]
        active = np.flatnonzero(s > 0.0)
        if rule.kind != MODULAR:
            active = active[ascending_order(-s[active])]
        gains = np.empty(active.size)
        counts = make_counts(rule, size)
        m = float(sets.n_pos[q])
        n = p = t = 0.0
        for k in range(active.size):
            i = active[k]
            gains[k], n, p, t = add(rule, m, n, p, t, counts, i, sets.positive[start + i])
        if alike and rule.kind != MODULAR:
            share_ties(s, active, gains)
        total = 0.0
        for k in range(active.size):
            i = start + active[k]
            gain = weight * (gains[k] / rule.unit[q])
            gradient[sets.rows[i]] = -gain if sets.positive[i] else gain
            total += gain * s[active[k]]
        value[q] = total


@jit
def share_ties(s, order, gains):
    """Replace gains by their mean over elements with the same s."""
    last = 0
    while last < order.size:
        first = last
        while last < order.size and s[order[last]] == s[order[first]]:
            last += 1
        gains[first:last] = gains[first:last].mean()


@jit(parallel=True)
def all_sets(n_parts, n_sets, rule, sets, scores, weight, gradient, value):
    """All sets, on all threads."""
    for part in numba.prange(n_parts):
        first, last = n_sets * part // n_parts, n_sets * (part + 1) // n_parts
        some_sets(first, last, rule, sets, scores, weight, gradient, value)
