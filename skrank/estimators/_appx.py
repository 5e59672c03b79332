"""The two-stage approximation: rank the difficult rows, hold the easy ones by constraints."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from skrank._groups import Groups
from skrank._operators import RowOperator, WithConstant
from skrank.losses import AveragePrecision, Hinge
from skrank.solvers import Solution, minimise

STAGE_ONE_TOL = 1e-3


def fit_with_easy_rows(
    operator: RowOperator,
    positive: np.ndarray,
    groups: Groups,
    weight: np.ndarray | None,
    C: float,
    loss: AveragePrecision,
    easy_fraction: float,
    options: dict,
) -> Solution:
    """Fit a binary SVM, then the loss on the rows that it finds difficult.

    Both stages have a constant feature, since margins need an offset; the first stage's weights
    are feasible for the second. The first stage knows neither a warm start nor ``tol``: which
    rows are easy, and so what the second stage minimises, is to depend on the data alone.
    """
    data = WithConstant(operator)
    name = options["description"]
    binary = minimise(
        Hinge().bind(positive, groups, weight),
        data,
        C,
        **options | {"tol": STAGE_ONE_TOL, "description": f"{name}, binary SVM"},
    )
    signs = np.where(positive, 1.0, -1.0)
    margins = signs * data.matvec(binary.coef)
    easy = easy_rows(margins, positive, groups, easy_fraction, weight)
    difficult = _without(groups, easy)
    solution = minimise(
        loss.bind(positive, difficult, weight),
        data,
        C,
        start=binary.coef,
        signs=np.where(easy, signs, 0.0) if np.any(easy) else None,
        **options | {"description": f"{name}, ranking"},
    )
    coef = solution.coef[:-1]
    if binary.status == "converged":
        return replace(solution, coef=coef)
    reason = binary.reason or f"gap {binary.gap:.2g}"
    reason = f"in the binary SVM that finds the easy rows, {reason}"
    return replace(solution, coef=coef, status=binary.status, reason=reason)


def easy_rows(
    margins: np.ndarray,
    positive: np.ndarray,
    groups: Groups,
    easy_fraction: float,
    weight: np.ndarray | None = None,
) -> np.ndarray:
    """The fraction with the largest margins of all rows with a margin of at least 1.

    Rows with the same margin are easy or not together. In a list where one class would have
    easy rows only, none of that class is easy: a ranking needs both classes.
    """
    codes = groups.codes()
    counts = np.ones(margins.size) if weight is None else weight[codes]
    order = np.argsort(-margins)
    order = order[(margins[order] >= 1.0) & (counts[order] > 0.0)]
    sums = np.cumsum(counts[order])
    if easy_fraction == 0.0 or order.size == 0:
        return np.zeros(margins.size, bool)
    last = order[np.searchsorted(sums, easy_fraction * sums[-1])]
    easy = (margins >= margins[last]) & (counts > 0.0)
    for members in (positive, ~positive):
        n_difficult = np.bincount(codes[members & ~easy], minlength=groups.n_groups)
        easy &= ~(members & (n_difficult[codes] == 0))
    return easy


def _without(groups: Groups, easy: np.ndarray) -> Groups:
    """The lists without their easy rows."""
    stay = ~easy[groups.rows]
    before = np.concatenate([[0], np.cumsum(stay)])
    return Groups(groups.rows[stay], before[groups.pointers])
