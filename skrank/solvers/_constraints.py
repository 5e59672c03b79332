"""Cutting planes with hard constraints on the scores of some rows."""

from __future__ import annotations

import numpy as np

from skrank._operators import RowOperator
from skrank.solvers._cutting_plane import CuttingPlanes, Objective, Point
from skrank.solvers._history import History
from skrank.solvers._qp import QP

# How far a margin may fall short, and how many violated rows become constraints at a time.
SHORTFALL = 1e-4
MAX_NEW = 20


class ConstrainedPlanes(CuttingPlanes):
    """Minimise subject to t_i s_i >= 1 for the rows with sign t_i = +1 or -1 (0: free).

    The start must be feasible. The best point stays so, since a line search ends where the first
    constraint would break; rows that the model's minimiser violates become constraints of the
    quadratic programme, whose multipliers do not count towards C.
    """

    def __init__(
        self,
        objective: Objective,
        operator: RowOperator,
        C: float,
        qp: QP,
        history: History,
        start: np.ndarray,
        signs: np.ndarray,
    ):
        self.rows = np.flatnonzero(signs)
        self.signs = signs[self.rows]
        self._data = operator
        super().__init__(objective, operator, C, qp, history, start)

    def margins(self, scores: np.ndarray) -> np.ndarray:
        return self.signs * scores[self.rows]

    def longest_step(self, scores: np.ndarray) -> float:
        here, there = self.margins(self.best.scores), self.margins(scores)
        bound = 1.0 - SHORTFALL
        breaking = there < here
        room = np.maximum(here[breaking] - bound, 0.0) / (here[breaking] - there[breaking])
        return float(min(room.min(initial=np.inf), 1.0)) if np.any(there < bound) else np.inf

    def set_best(self, point: Point) -> None:
        if np.all(self.margins(point.scores) >= 1.0 - 1.000001 * SHORTFALL):
            super().set_best(point)

    def advance(self, w: np.ndarray, scores: np.ndarray) -> None:
        super().advance(w, scores)
        shortfall = 1.0 - self.margins(scores)
        violated = np.flatnonzero(shortfall > SHORTFALL)
        worst = violated[np.argsort(-shortfall[violated], kind="stable")[:MAX_NEW]]
        with self.history.time("data"):
            normals = self._data.rows(self.rows[worst])
        with self.history.time("qp"):
            for sign, normal in zip(self.signs[worst], normals, strict=True):
                self.planes.add(-sign * normal, 1.0, capped=False)
