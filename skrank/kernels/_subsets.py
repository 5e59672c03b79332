"""Margin and slack rescaling: the set of mistakes that violates its constraint most.

A set of mistakes with the loss l, whose margins v = t g add up to V, violates its constraint by
l - V (margin rescaling) or l (1 - V) (slack rescaling), and no mistakes by 0.
"""

from __future__ import annotations

import numba
import numpy as np

from skrank._jit import jit
from skrank.kernels._set_rules import add, gain_of, make_counts

MARGIN, SLACK = range(2)


@jit
def violation(rescaling, loss, margins):
    """By how much a constraint is violated."""
    return loss - margins if rescaling == MARGIN else loss * (1.0 - margins)


@jit
def margins_of(q, sets, scores):
    """The margins v of a set's elements."""
    start, end = sets.pointers[q], sets.pointers[q + 1]
    v = np.empty(end - start)
    for k in range(start, end):
        score = scores[sets.rows[k]]
        v[k - start] = score if sets.positive[k] else -score
    return v


@jit
def best_subset(rescaling, table, v, sums):
    """The set of mistakes that violates its constraint most, of all there are.

    ``table`` has the losses of all sets, in which bit i stands for element i, and ``sums`` takes
    the sums of their margins v. Returns the value and the set; of equally good ones the first.
    """
    sums[0] = 0.0
    best, chosen = 0.0, 0
    for i in range(v.size):
        for mask in range(1 << i):
            total = sums[mask] + v[i]
            sums[mask | 1 << i] = total
            value = violation(rescaling, table[mask | 1 << i], total)
            if value > best:
                best, chosen = value, mask | 1 << i
    return best, chosen


@jit
def some_best(first, last, rescaling, tables, which, sets, scores, weight, gradient, value):
    """``best_subset`` and its gradient for the sets first..last-1.

    The table of set q starts at tables[which[q]].
    """
    for q in range(first, last):
        v = margins_of(q, sets, scores)
        table = tables[which[q] : which[q] + (1 << v.size)]
        best, chosen = best_subset(rescaling, table, v, np.empty(table.size))
        value[q] = weight * best
        slope = weight if rescaling == MARGIN else weight * table[chosen]
        for i in range(v.size):
            k = sets.pointers[q] + i
            each = slope if chosen >> i & 1 else 0.0
            gradient[sets.rows[k]] = -each if sets.positive[k] else each


@jit(parallel=True)
def all_best(n_parts, n_sets, rescaling, tables, which, sets, scores, weight, gradient, value):
    """All sets, on all threads."""
    for part in numba.prange(n_parts):
        first, last = n_sets * part // n_parts, n_sets * (part + 1) // n_parts
        some_best(first, last, rescaling, tables, which, sets, scores, weight, gradient, value)


@jit
def some_greedy(first, last, rescaling, rule, sets, scores, weight, gradient, value):
    """A set of mistakes made one by one, each the best to add, for the sets first..last-1.

    Others may violate the constraint more: the value is a lower bound. Of elements that the rule
    does not tell apart the one with the lowest v is the best, so these form queues.
    """
    for q in range(first, last):
        v = margins_of(q, sets, scores)
        start = sets.pointers[q]
        positive = sets.positive[start : start + v.size]
        head, following = make_queues(rule, v, positive)
        m = float(sets.n_pos[q])
        counts = make_counts(rule, v.size)
        chosen = np.zeros(v.size, np.bool_)
        n = p = t = loss = total = best = 0.0
        while True:
            queue = -1
            for k in range(head.size):
                i = head[k]
                if i < 0:
                    continue
                gain = gain_of(rule, m, n, p, t, counts, i, positive[i])
                trial = violation(rescaling, loss + gain / rule.unit[q], total + v[i])
                if trial > best:
                    best, queue = trial, k
            if queue < 0:
                break
            i = head[queue]
            head[queue] = following[i]
            gain, n, p, t = add(rule, m, n, p, t, counts, i, positive[i])
            loss += gain / rule.unit[q]
            total += v[i]
            chosen[i] = True
        value[q] = weight * best
        slope = weight if rescaling == MARGIN else weight * loss
        for i in range(v.size):
            each = slope if chosen[i] else 0.0
            gradient[sets.rows[start + i]] = -each if positive[i] else each


@jit
def make_queues(rule, v, positive):
    """The first of each queue, and the one behind each element, or -1; queues rise with v."""
    alike = rule.weights.size == 0
    head = np.full(2 if alike else v.size, -1)
    following = np.full(v.size, -1)
    order = np.argsort(v, kind="mergesort")
    for k in range(v.size - 1, -1, -1):
        i = order[k]
        queue = int(positive[i]) if alike else i
        following[i] = head[queue]
        head[queue] = i
    return head, following
