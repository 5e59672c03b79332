"""Slow references, written from the definitions and independent of the kernels."""

from __future__ import annotations

from itertools import combinations, pairwise, permutations

import numpy as np


def average_precision_loss(relevant) -> float:
    """One minus the average precision of a ranking, given as relevance from the top down."""
    hits = 0
    precisions = []
    for place, is_relevant in enumerate(relevant, start=1):
        if is_relevant:
            hits += 1
            precisions.append(hits / place)
    return 1.0 - sum(precisions) / len(precisions)


def discount_loss(discount):
    """One minus the discounted gain of a ranking over that of the best one."""

    def loss(relevant) -> float:
        places = [place for place, is_relevant in enumerate(relevant, start=1) if is_relevant]
        ideal = sum(discount(place) for place in range(1, len(places) + 1))
        return 1.0 - sum(discount(place) for place in places) / ideal

    return loss


def pair_gradient(ranking, y) -> np.ndarray:
    """Gradient of F(R) = mean over pairs of R_ij (s_i - s_j); ``ranking`` lists all rows."""
    place = np.empty(len(y), dtype=int)
    place[list(ranking)] = np.arange(len(y))
    pos, neg = np.flatnonzero(y), np.flatnonzero(~y)
    sign = np.where(place[pos][:, None] < place[neg], 1.0, -1.0) / (pos.size * neg.size)
    gradient = np.zeros(len(y))
    gradient[pos] = sign.sum(axis=1)
    gradient[neg] = -sign.sum(axis=0)
    return gradient


def interleavings(y, scores):
    """All rankings that keep positives and negatives in descending order among themselves."""
    order = np.argsort(-scores, kind="stable")
    pos, neg = order[y[order]], order[~y[order]]
    for places in combinations(range(y.size), pos.size):
        ranking = np.empty(y.size, dtype=int)
        is_pos = np.isin(np.arange(y.size), places)
        ranking[is_pos] = pos
        ranking[~is_pos] = neg
        yield ranking


def all_rankings(y, scores):
    """Every order of the rows."""
    return permutations(range(y.size))


def violations(y, scores, rankings=interleavings, loss=average_precision_loss):
    """Loss + F(R) - F(R*) for each ranking R of one list, and the gradient by the scores."""
    truth = pair_gradient(np.argsort(~y, kind="stable"), y)
    values, gradients = [], []
    for ranking in rankings(y, scores):
        gradient = pair_gradient(ranking, y) - truth
        values.append(loss(y[list(ranking)]) + gradient @ scores)
        gradients.append(gradient)
    return np.array(values), np.array(gradients)


def average_ties(y, scores, gradient) -> np.ndarray:
    """Tied rows of one class share their gradient equally."""
    shared = gradient.copy()
    for row in range(y.size):
        tied = (scores == scores[row]) & (y == y[row])
        shared[row] = gradient[tied].mean()
    return shared


def position_loss(cost):
    """A sum of costs over the positives, given how many negatives stand above each."""

    def loss(relevant) -> float:
        relevant = np.asarray(relevant)
        n_pos, n_neg = int(relevant.sum()), int((~relevant).sum())
        above = np.cumsum(~relevant)[relevant]
        return sum(cost(i, int(j), n_pos, n_neg) for i, j in enumerate(above, start=1))

    return loss


def excess_loss(cost):
    """How much a sum of costs is above that of the best ranking."""
    return position_loss(lambda i, j, p, n: cost(i, j, p, n) - cost(i, 0, p, n))


def ndcg_loss(grades, gain, discount) -> float:
    """One minus the normalised discounted gain of a ranking, given as grades from the top down."""

    def discounted(ranking):
        return sum(gain(grade) * discount(place) for place, grade in enumerate(ranking, start=1))

    return 1.0 - discounted(grades) / discounted(sorted(grades, reverse=True))


def graded_parts(grades, gain, discount):
    """Weights and binary labels, one for each grade above zero, that make up graded relevance."""
    levels = sorted({0.0, *grades.tolist()})
    parts = []
    for lower, level in pairwise(levels):
        y = grades >= level
        ideal = sum(discount(place) for place in range(1, y.sum() + 1))
        parts.append(((gain(level) - gain(lower)) * ideal, y))
    total = sum(weight for weight, _ in parts)
    return [(weight / total, y) for weight, y in parts]


def mean_over_ties(loss, labels, scores) -> float:
    """The mean loss over all rankings by descending score."""
    losses = [
        loss(labels[list(ranking)])
        for ranking in permutations(range(len(labels)))
        if np.all(np.diff(scores[list(ranking)]) <= 0.0)
    ]
    return float(np.mean(losses))
