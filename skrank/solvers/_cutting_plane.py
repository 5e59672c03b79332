"""The one-slack cutting-plane method with a line search on scores.

Minimises 1/2 ||w||^2 + C R(Xw) for a convex risk R of the scores, given as an objective
(scores -> value and subgradient) and data, given as an operator (matvec, rmatvec).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from typing import cast

import numpy as np

from skrank._operators import Operator
from skrank.solvers._history import History, relative_gap
from skrank.solvers._planes import PlaneSet
from skrank.solvers._qp import QP

# From scores to a convex risk, not below zero, and one of its subgradients.
Objective = Callable[[np.ndarray], tuple[float, np.ndarray]]
# Row numbers and values.
SparseVector = tuple[np.ndarray, np.ndarray]
NO_GRADIENT: SparseVector = (np.empty(0, np.int64), np.empty(0))

# How far on the way to the model's minimiser the first line search begins, the least and the
# furthest that later ones do, and what this changes by when the minimum is beyond and before it.
FIRST_REACH = 0.3
NEAREST, FURTHEST = 0.05, 1.0
LONGER, SHORTER = 1.5, 0.5
# A point is tried at most so many times as far as the one before.
STRIDE = 4.0
MAX_IDLE = 30
MAX_LINE_SEARCH = 3
# The share of the gap that more line search must promise to gain, for a call of the oracle that
# takes as long as a pass over the data.
WORTHWHILE = 0.1
# Multiplications of a pass that take as long as what most losses do for a row.
WORK_OF_A_ROW = 30
# How much more exact than the gap aimed at the quadratic programmes are solved.
QP_SHARE = 0.1


@dataclass(frozen=True)
class Point:
    """Weights with all that is known there."""

    w: np.ndarray
    scores: np.ndarray
    risk: float
    gradient: np.ndarray
    primal: float


class CuttingPlanes:
    """The state of the method: the best point, the planes and the two bounds.

    It starts at zero if ``start`` is None.
    ``keep_gradients`` makes it remember the score gradients of the planes, for one who continues
    on another operator. ``products`` names the account of the operator's time; "data" counts as
    passes over X.
    """

    def __init__(
        self,
        objective: Objective,
        operator: Operator,
        C: float,
        qp: QP,
        history: History,
        start: np.ndarray | None,
        *,
        keep_gradients: bool = False,
    ):
        self.objective = objective
        self.operator = operator
        self.C = C
        self.history = history
        self.max_idle = MAX_IDLE
        self.reach = FIRST_REACH
        self.products = "data"
        self.keep_gradients = keep_gradients
        self.gradients = [NO_GRADIENT]  # of each plane
        self.planes = PlaneSet(operator.shape[1], C, qp)
        # the scores of zero are known without a pass
        self.best = self.evaluate(np.zeros(operator.shape[1]), np.zeros(operator.shape[0]))
        self.at_zero = self.primal
        if start is not None:
            self.best = self.evaluate(start, self.scores(start))
        self.dual = 0.0
        self.add_plane(self.best)

    @property
    def w(self) -> np.ndarray:
        return self.best.w

    @property
    def primal(self) -> float:
        return self.best.primal

    def scores(self, w: np.ndarray) -> np.ndarray:
        """One pass over the data."""
        with self.history.product(self.products):
            return self.operator.matvec(w)

    def evaluate(self, w: np.ndarray, scores: np.ndarray) -> Point:
        """One call of the oracle."""
        self.history.oracle_calls += 1
        with self.history.time("oracle"):
            risk, gradient = self.objective(scores)
        if not isfinite(risk):
            raise FloatingPointError(f"the loss has the value {risk}")
        if risk < 0.0 and risk < -1e-9 * (1.0 + float(np.abs(scores).max())):
            raise ValueError(
                f"the loss has the value {risk:g}, but the solver's bounds hold for losses that "
                "are never below zero. Add a constant to it."
            )
        return Point(w, scores, risk, gradient, 0.5 * float(w @ w) + self.C * risk)

    def finish(self, tol: float) -> None:
        """Evaluate the best point anew: its scores were combined many times over.

        Zero weights tie all rows. Where so small a ``C`` or such small features leave next to
        nothing to gain, the model's minimiser is as good up to rounding, and ranks: it is taken
        instead if its gap is at most ``tol``.
        """
        self.best = self.evaluate(self.w, self.scores(self.w))
        w = self.planes.minimiser()
        if not np.any(self.w) and np.any(w):
            point = self.evaluate(w, self.scores(w))
            as_good = point.primal <= (1.0 + 1e-12) * self.primal
            if as_good and relative_gap(point.primal, self.dual) <= tol:
                self.best = point

    def add_plane(self, point: Point) -> None:
        """Cut with the tangent of the risk at a point: one pass over the data."""
        with self.history.product(self.products):
            normal = self.operator.rmatvec(point.gradient)
        offset = point.risk - float(point.gradient @ point.scores)
        if not isfinite(offset):
            raise FloatingPointError("the gradient of the loss is not finite")
        with self.history.time("qp"):
            self.planes.add(normal, offset)
        if self.keep_gradients:
            self.gradients.append(self.gradient_of(point))

    def gradient_of(self, point: Point) -> SparseVector:
        """What to remember of a plane."""
        rows = np.flatnonzero(point.gradient)
        return rows, point.gradient[rows]

    def minimise_model(self, precision: float) -> np.ndarray:
        """The minimiser of the planes found so far; raises the dual bound."""
        with self.history.time("qp"):
            w, dual = self.planes.solve(precision)
            self.dual = max(self.dual, dual)
            staying = self.planes.prune(self.max_idle)
            if staying is not None and self.keep_gradients:
                self.gradients[:] = [self.gradients[k] for k in staying]
        return w

    def step(self, target: float) -> None:
        """One iteration: minimise the model, search the line to there, add a plane.

        Where the model's minimum is within ``target`` of the best point, that is all there is to
        do: no pass over the data is spent.
        """
        w = self.minimise_model(QP_SHARE * target)
        if self.primal - self.dual > target:
            self.advance(w, self.scores(w))

    def advance(self, w: np.ndarray, scores: np.ndarray) -> None:
        """Search the line to new weights, and cut at the lowest point found there."""
        self.add_plane(self.line_search(w, scores))

    def set_best(self, point: Point) -> None:
        if point.primal < self.primal:
            self.best = point

    def between(self, start: Point, w: np.ndarray, scores: np.ndarray, u: float) -> Point:
        """The point at start + u (w - start): scores are linear in w, so no pass is needed."""
        if u == 1.0:
            return self.evaluate(w, scores)
        return self.evaluate(
            start.w + u * (w - start.w), start.scores + u * (scores - start.scores)
        )

    @property
    def worthwhile(self) -> float:
        """The share of the gap that one more call of the oracle must promise to gain.

        The dearer a call is compared with a pass over the data, the more. Both are counted, not
        timed: the same data give the same weights on a busy machine.
        """
        work = getattr(self.objective, "work", WORK_OF_A_ROW * self.operator.shape[0])
        return WORTHWHILE * max(work / max(self.operator.work, 1), 1.0)

    def line_search(self, w: np.ndarray, scores: np.ndarray) -> Point:
        """The lowest of the points tried on the line from the best point to w.

        On the line the norm is a known parabola and the risk is convex; its tangents on both
        sides of the minimum bound what further search can gain. The first point is tried where
        the minimum was last, and often the only one: the plane there serves the next iteration
        better than a lower point of this one.
        """
        start = self.best
        direction = w - start.w
        along = scores - start.scores
        linear = float(start.w @ direction)
        curvature = float(direction @ direction)
        constant = 0.5 * float(start.w @ start.w)
        enough = self.worthwhile * (self.primal - self.dual)
        # tangents of C R as (value at u = 0, slope), to the left and to the right of the minimum
        left = (self.C * start.risk, self.C * float(start.gradient @ along))
        right = None
        lowest = None
        u = self.reach
        for _ in range(MAX_LINE_SEARCH):
            point = self.between(start, w, scores, u)
            self.set_best(point)
            if lowest is None or point.primal < lowest.primal:
                lowest = point
            slope = self.C * float(point.gradient @ along)
            tangent = (self.C * point.risk - u * slope, slope)
            if linear + u * curvature + slope < 0.0:
                left = tangent
            else:
                right = tangent
            longest = STRIDE * u
            u, bound = _lowest(linear, curvature, left, right)
            if u <= 0.0 or self.primal - (constant + bound) <= enough:
                break
            u = min(u, longest)
        factor = LONGER if u > self.reach else SHORTER
        self.reach = min(max(factor * self.reach, NEAREST), FURTHEST)
        return cast(Point, lowest)


def _lowest(
    linear: float,
    curvature: float,
    left: tuple[float, float],
    right: tuple[float, float] | None,
) -> tuple[float, float]:
    """The minimiser and minimum over u of linear u + curvature u^2/2 + the higher of two lines."""

    def value(u: float) -> float:
        risk = left[0] + u * left[1]
        if right is not None:
            risk = max(risk, right[0] + u * right[1])
        return linear * u + 0.5 * curvature * u * u + risk

    if curvature <= 0.0:
        return 0.0, value(0.0)
    u = -(linear + left[1]) / curvature
    if right is not None:
        crossing = (right[0] - left[0]) / (left[1] - right[1]) if right[1] > left[1] else u
        lower = -(linear + right[1]) / curvature
        u = min(max(crossing, lower), u) if lower <= u else u
    return u, value(u)
