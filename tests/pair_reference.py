"""Slow references for losses of pairs, written from the definitions."""

from __future__ import annotations

import numpy as np


def is_best(y, top):
    """The ``top`` best of a list with ties; above the lowest, where ties leave no others."""
    if y.size <= top:
        return np.zeros(y.size, bool)
    best = y >= np.sort(y)[::-1][top - 1]
    return y > y.min() if best.all() else best


def pairs_of(y, groups, graph, top=None, relevance_threshold=None):
    """Rows i above rows j in all pairs that count, and the list of each pair."""
    found = []
    for which in range(groups.n_groups):
        rows = groups.rows[groups.pointers[which] : groups.pointers[which + 1]]
        if rows.size == 0:
            continue
        grade = y[rows]
        if graph == "star":
            grade = is_best(grade, 1)
        elif top is not None:
            grade = is_best(grade, top)
        elif relevance_threshold is not None:
            grade = grade >= relevance_threshold
        i, j = np.nonzero(grade.astype(float)[:, None] > grade.astype(float))
        found.append((rows[i], rows[j], np.full(i.size, which)))
    return tuple(np.concatenate(parts) for parts in zip(*found, strict=True))


def bound(y, scores, groups, list_weight, rescaling, pair_weight, **graph):
    """Value and gradient of the mean hinge loss of pairs.

    Hinges at a margin of next to nothing count as inactive: rounding says what they are.
    """
    i, j, which = pairs_of(y, groups, **graph)
    weight = list_weight[which]
    difference = y[i] - y[j] if pair_weight == "difference" else np.ones(i.size)
    d = scores[i] - scores[j]
    if rescaling == "slack":
        share = weight * difference / (weight @ difference)
        hinge = 1.0 - d
    else:
        share = weight / weight.sum()
        hinge = difference / (share @ difference) - d
    active = hinge > 1e-12 * max(1.0, np.abs(scores).max())
    gradient = np.zeros(y.size)
    np.add.at(gradient, i, -share * active)
    np.add.at(gradient, j, share * active)
    return float(share @ np.maximum(hinge, 0.0)), gradient


def risk(y, scores, groups, list_weight, pair_weight="difference"):
    """The weight of pairs in the wrong order, ties counted by half, over that of all pairs."""
    i, j, which = pairs_of(y, groups, "complete")
    weight = list_weight[which] * (y[i] - y[j] if pair_weight == "difference" else 1.0)
    wrong = 1.0 * (scores[i] < scores[j]) + 0.5 * (scores[i] == scores[j])
    return float(weight @ wrong / weight.sum())
