"""Slow references for losses of sets, written from the definitions; sets of mistakes are tuples."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations, permutations

import numpy as np


def subsets(n):
    """All sets of numbers below n, the empty one first."""
    return [c for size in range(n + 1) for c in combinations(range(n), size)]


def indicator(members, n):
    return np.isin(np.arange(n), members)


def jaccard(members, y):
    """One minus intersection over union of true and predicted positives."""
    truth = {i for i in range(len(y)) if y[i]}
    predicted = truth ^ set(members)
    union = truth | predicted
    return 1.0 - len(truth & predicted) / len(union) if union else 0.0


def hamming(members, y):
    return len(members) / len(y)


def of_whole(loss):
    """In units of the loss of a set that is all wrong."""

    def relative(members, y):
        return loss(members, y) / loss(tuple(range(len(y))), y)

    return relative


def capped_weighted(weights, cap):
    return of_whole(lambda members, y: min(cap, sum(weights[i] for i in members)))


def concave_cardinality(alpha, weights=None):
    def loss(members, y):
        weighed = 0.0 if weights is None else sum(weights[i] for i in members)
        return 1.0 - np.exp(-alpha * len(members)) + weighed

    return of_whole(loss)


def early_detection(decay):
    def loss(members, y):
        return sum(
            np.exp(-decay * i) * min(sum(j < i for j in members), i / 2)
            for i in range(1, len(y) + 1)
        )

    return of_whole(loss)


def gains_along(loss, order, y):
    """What each element adds to the loss of those before it in the order."""
    losses = [loss(tuple(sorted(order[:k])), y) for k in range(len(order) + 1)]
    return np.diff(losses)


def violations(y, scores):
    """s = 1 - t g."""
    return 1.0 - np.where(y, 1.0, -1.0) * scores


def lovasz_hinge(loss, y, scores, increasing=True):
    """Definition 5 for increasing losses, and Definition 6 for others, over all permutations."""
    s = violations(y, scores)
    if increasing:
        s = np.maximum(s, 0.0)
    values = [gains @ s[list(order)] for order, gains in all_gains(loss, tuple(y.tolist()))]
    return max(*values, 0.0)


@lru_cache(maxsize=10_000)
def all_gains(loss, y):
    return [(order, gains_along(loss, order, y)) for order in permutations(range(len(y)))]


def rescaled(surrogate, loss, y, scores):
    """Margin or slack rescaling over all sets of mistakes."""
    margins = np.where(y, 1.0, -1.0) * scores
    values = []
    for members in subsets(len(y)):
        total = margins[list(members)].sum()
        value = loss(members, y)
        values.append(value - total if surrogate == "margin" else value * (1.0 - total))
    return max(values)


def bound(surrogate, loss, y, scores, increasing=True):
    """Any of the three surrogates."""
    if surrogate == "lovasz":
        return lovasz_hinge(loss, y, scores, increasing)
    return rescaled(surrogate, loss, y, scores)
