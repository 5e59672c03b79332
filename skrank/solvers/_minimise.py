"""Run a solver to a duality gap, with progress, history and interruption."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import cast

import numpy as np
from threadpoolctl import threadpool_limits
from tqdm.auto import tqdm

from skrank._operators import Operator, RowOperator
from skrank.solvers._constraints import ConstrainedPlanes
from skrank.solvers._cutting_plane import CuttingPlanes, Objective
from skrank.solvers._history import History, relative_gap
from skrank.solvers._qp import QPError, make_qp
from skrank.solvers._subspace import SubspacePlanes

# Solving in a subspace pays where passes are dear and progress is slow: from so many columns on,
# when more iterations than this are to be expected. Where passes cost less than those over dense
# columns it takes more of them, unless that would exceed the bound on iterations. It keeps up to
# some thousands of vectors of n and of d numbers, and so is not for very long ones.
WIDE = 200
PATIENCE = 300
CHECK_EVERY = 25
MAX_LENGTH = 20_000
# With so many multiplications a pass, more threads for it gain less than they cost.
SHORT_PASS = 10_000_000


# The share of what can be gained over zero weights that may stay open, the part of what the first
# plane left to gain that counts as nothing, and the part of an objective below which differences
# say nothing.
SHARE_OF_GAIN = 0.1
NOTHING = 1e-5
ROUNDING = 1e-12

# What may happen to numbers or memory on the way; the best point so far is kept.
FAILURES = (QPError, FloatingPointError, OverflowError, np.linalg.LinAlgError, MemoryError)


@dataclass(frozen=True)
class Solution:
    """What a solver found: the weights and how good they are.

    ``status`` is "converged", "max_iter", "interrupted" or "failed", for the ``reason`` given;
    ``gap`` is (primal - dual) / primal, and the optimum lies between ``dual`` and ``primal``.
    ``idle`` says that nothing was gained over zero weights, not for want of digits.
    """

    coef: np.ndarray
    primal: float
    dual: float
    gap: float
    status: str
    n_iter: int
    history: dict[str, np.ndarray]
    idle: bool = False
    reason: str = ""

    @classmethod
    def trivial(cls, n_columns: int) -> Solution:
        """The answer to a problem without a loss."""
        return cls(np.zeros(n_columns), 0.0, 0.0, 0.0, "converged", 0, History().as_dict())


class Aim:
    """The gap between primal and dual bound to stop at.

    It is ``tol`` times the objective, and also a tenth of what the optimum may be below the
    objective at zero weights. Where little can be gained over those (``C``, the features or the
    signal are small), they would be within ``tol`` themselves. Where nothing can, compared with
    what the first plane left open, or nothing that rounding lets through, the first condition will
    do.
    """

    def __init__(self, tol: float, at_zero: float):
        self.tol = tol
        self.at_zero = at_zero
        self.first: float | None = None

    def gap(self, solver: CuttingPlanes | SubspacePlanes) -> float:
        """How far apart the bounds may be."""
        to_gain = self.at_zero - solver.dual
        enough = self.tol * solver.primal
        if self.first is not None and to_gain <= NOTHING * self.first:
            return enough
        return max(min(enough, SHARE_OF_GAIN * to_gain), ROUNDING * solver.primal)

    def nothing_gained(self, solver: CuttingPlanes | SubspacePlanes) -> bool:
        """Whether zero weights are as good, though the first plane left more to gain than rounding.

        A loss that no ranking has leaves nothing to gain either.
        """
        if self.at_zero <= 0.0:
            return True
        if self.first is None or self.first <= ROUNDING * self.at_zero:
            return False
        return self.at_zero - solver.primal <= NOTHING * self.first

    def reached(self, solver: CuttingPlanes | SubspacePlanes) -> bool:
        """Whether to stop, asked after each iteration."""
        if self.first is None:
            self.first = self.at_zero - solver.dual
        return solver.primal - solver.dual <= self.gap(solver)


def minimise(
    objective: Objective,
    operator: Operator,
    C: float,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    qp_solver: str = "auto",
    start: np.ndarray | None = None,
    signs: np.ndarray | None = None,
    stop: Callable[[], bool] = lambda: False,
    verbose: int = 0,
    description: str = "fit",
) -> Solution:
    """Minimise 1/2 ||w||^2 + C R(Xw) to a relative duality gap of ``tol``.

    Rows with ``signs`` of +1 or -1 are kept at a margin of 1, which ``start`` must respect.
    ``stop`` is asked after each iteration whether to end here.
    """
    with _threads_of_blas(objective, operator):
        history = History()
        n, d = operator.shape
        dense = n * d / max(operator.work, 1)  # how much dearer dense columns would be
        may_switch = d >= WIDE and n + d <= MAX_LENGTH and signs is None
        planes = _begin(objective, operator, C, qp_solver, history, start, signs, may_switch)
        solver: CuttingPlanes | SubspacePlanes = planes
        aim = Aim(tol, planes.at_zero)
        status, reason = "max_iter", ""
        n_iter = 0
        bar = tqdm(desc=description, disable=verbose < 1, unit="it")
        try:
            while n_iter < max_iter:
                solver.step(aim.gap(solver))
                n_iter += 1
                reached = aim.reached(solver)
                if reached:
                    solver.finish(tol)
                history.record(solver.primal, solver.dual, solver.planes.size)
                gap = relative_gap(solver.primal, solver.dual)
                bar.set_postfix(objective=f"{solver.primal:.6g}", gap=f"{gap:.2g}", refresh=False)
                bar.update()
                if reached and gap <= tol:
                    break
                if stop():
                    raise KeyboardInterrupt
                patience = min(PATIENCE * dense, max(max_iter - n_iter, PATIENCE))
                if may_switch and n_iter % CHECK_EVERY == 0 and history.forecast(tol) > patience:
                    may_switch = False
                    qps = make_qp(qp_solver), make_qp(qp_solver)
                    solver = SubspacePlanes(planes, qps)
            else:
                solver.finish(tol)
        except KeyboardInterrupt:
            status = "interrupted"
        except FAILURES as error:
            status, reason = "failed", str(error) or type(error).__name__
        if status in ("interrupted", "failed"):
            with suppress(*FAILURES):
                solver.finish(tol)
        bar.close()
        gap = relative_gap(solver.primal, solver.dual)
        if gap <= tol:
            status, reason = "converged", ""
        dual = min(solver.dual, solver.primal)
        return Solution(
            coef=solver.w,
            primal=solver.primal,
            dual=dual,
            gap=gap,
            status=status,
            n_iter=n_iter,
            history=history.as_dict(),
            idle=status == "converged" and aim.nothing_gained(solver),
            reason=reason,
        )


def _threads_of_blas(objective: Objective, operator: Operator) -> AbstractContextManager:
    """One thread for BLAS where the objective has threads of its own and passes are short.

    Threads of both kinds wait for work actively, and would keep the cores from each other.
    """
    if getattr(objective, "parallel", False) and operator.work <= SHORT_PASS:
        return ONE_THREAD_OF_BLAS
    return nullcontext()


class OneThreadOfBlas:
    """Limits BLAS while anybody is inside: the limit is one of the whole process.

    Fits in several threads overlap, and the last to leave restores what the first had found.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._limits: threadpool_limits | None = None

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._limits = threadpool_limits(1, user_api="blas")
            self._n_inside += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0 and self._limits is not None:
                self._limits.restore_original_limits()


ONE_THREAD_OF_BLAS = OneThreadOfBlas()


def _begin(
    objective: Objective,
    operator: Operator,
    C: float,
    qp_solver: str,
    history: History,
    start: np.ndarray | None,
    signs: np.ndarray | None,
    keep_gradients: bool,
) -> CuttingPlanes:
    """The method at its start; at zero where none is given or where numbers are out of range."""
    qp = make_qp(qp_solver)
    if signs is not None:
        rows = cast(RowOperator, operator)
        return ConstrainedPlanes(objective, rows, C, qp, history, start, signs)
    if start is not None:
        with suppress(*FAILURES), np.errstate(over="ignore", invalid="ignore"):
            planes = CuttingPlanes(
                objective, operator, C, qp, history, start, keep_gradients=keep_gradients
            )
            if np.isfinite(planes.primal):
                return planes
    return CuttingPlanes(objective, operator, C, qp, history, None, keep_gradients=keep_gradients)
