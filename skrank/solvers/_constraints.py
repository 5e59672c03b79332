"""Cutting planes with hard constraints on the scores of some rows."""

from __future__ import annotations

import numpy as np

from skrank._operators import RowOperator
from skrank.solvers._cutting_plane import (
    NO_GRADIENT,
    CuttingPlanes,
    Objective,
    Point,
    SparseVector,
)
from skrank.solvers._history import History
from skrank.solvers._qp import QP

# What rounding may take off a margin, and how many violated rows become constraints at a time.
SHORTFALL = 1e-6
MAX_NEW = 20


class ConstrainedPlanes(CuttingPlanes):
    """Minimise subject to t_i s_i >= 1 for the rows with sign t_i = +1 or -1 (0: free).

    The start must be feasible. The best point stays so, and the place where the first constraint
    would break is tried if the line search begins beyond it. Rows that the model's minimiser
    violates become constraints of the quadratic programme, whose multipliers do not count towards
    C.
    """

    def __init__(
        self,
        objective: Objective,
        operator: RowOperator,
        C: float,
        qp: QP,
        history: History,
        start: np.ndarray | None,
        signs: np.ndarray,
    ):
        self.rows = np.flatnonzero(signs)
        self.signs = signs[self.rows]
        self._data = operator
        super().__init__(objective, operator, C, qp, history, start, keep_gradients=True)
        self.at_zero = np.inf  # zero weights are out of bounds
        lowest = self.margins(self.best.scores).min()
        if not self.feasible(self.best):
            raise ValueError(
                f"the start has margins down to {lowest:g} on rows that are to be kept at a margin "
                "of 1. Start from weights that respect them."
            )

    def gradient_of(self, point: Point) -> SparseVector:
        """Only those of hard constraints are asked for again."""
        return NO_GRADIENT

    def margins(self, scores: np.ndarray) -> np.ndarray:
        return self.signs * scores[self.rows]

    def minimise_model(self, precision: float) -> np.ndarray:
        """More exact than elsewhere: a margin missed by little still blocks the line search."""
        return super().minimise_model(min(precision, 0.01 * SHORTFALL * self.C))

    def longest_step(self, scores: np.ndarray) -> float:
        here, there = self.margins(self.best.scores), self.margins(scores)
        falling = there < here
        room = np.maximum(here[falling] - (1.0 - SHORTFALL), 0.0)
        return float((room / (here[falling] - there[falling])).min(initial=np.inf))

    def feasible(self, point: Point) -> bool:
        return bool(np.all(self.margins(point.scores) >= 1.0 - 1.001 * SHORTFALL))

    def set_best(self, point: Point) -> None:
        if self.feasible(point):
            super().set_best(point)

    def advance(self, w: np.ndarray, scores: np.ndarray) -> None:
        longest = self.longest_step(scores)
        if 0.0 < longest < self.reach:  # planes may lie beyond, but the best point may not
            self.set_best(self.between(self.best, w, scores, longest))
        super().advance(w, scores)
        shortfall = 1.0 - self.margins(scores)
        shortfall[np.isin(self.rows, self._rows_in_planes())] = 0.0
        worst = np.argsort(-shortfall, kind="stable")[:MAX_NEW]
        worst = worst[shortfall[worst] > SHORTFALL]
        with self.history.time("data"):
            normals = self._data.rows(self.rows[worst])
        with self.history.time("qp"):
            for row, sign, normal in zip(self.rows[worst], self.signs[worst], normals, strict=True):
                self.planes.add(-sign * normal, 1.0, capped=False)
                self.gradients.append((np.array([row]), np.array([-sign])))

    def _rows_in_planes(self) -> list[int]:
        """Rows that are constraints of the quadratic programme already."""
        hard = np.flatnonzero(~self.planes.capped)
        return [self.gradients[k][0][0] for k in hard]
