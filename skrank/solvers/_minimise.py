"""Run a solver to a duality gap, with progress, history and interruption."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tqdm.auto import tqdm

from skrank._operators import RowOperator
from skrank.solvers._constraints import ConstrainedPlanes
from skrank.solvers._cutting_plane import CuttingPlanes, Objective
from skrank.solvers._history import History, relative_gap
from skrank.solvers._qp import QPError, make_qp
from skrank.solvers._subspace import SubspacePlanes

# Solving in a subspace pays where passes are dear and progress is slow: from so many columns on,
# when more iterations than this are to be expected. It keeps some hundreds of vectors of n
# and of d numbers, and so is not for very long ones.
WIDE = 200
PATIENCE = 300
CHECK_EVERY = 25
MAX_LENGTH = 50_000


@dataclass(frozen=True)
class Solution:
    """What a solver found: the weights and how good they are.

    ``status`` is "converged", "max_iter", "interrupted" or "failed"; ``gap`` is
    (primal - dual) / primal, and the optimum lies between ``dual`` and ``primal``.
    """

    coef: np.ndarray
    primal: float
    dual: float
    gap: float
    status: str
    n_iter: int
    history: dict[str, np.ndarray]

    @classmethod
    def trivial(cls, n_columns: int) -> Solution:
        """The answer to a problem without a loss."""
        return cls(np.zeros(n_columns), 0.0, 0.0, 0.0, "converged", 0, History().as_dict())


def minimise(
    objective: Objective,
    operator: RowOperator,
    C: float,
    *,
    tol: float = 1e-3,
    max_iter: int = 1000,
    qp_solver: str = "auto",
    start: np.ndarray | None = None,
    signs: np.ndarray | None = None,
    verbose: int = 0,
    description: str = "fit",
) -> Solution:
    """Minimise 1/2 ||w||^2 + C R(Xw) to a relative duality gap of ``tol``.

    Rows with ``signs`` of +1 or -1 are kept at a margin of 1, which ``start`` must respect.
    """
    history = History()
    if start is None:
        start = np.zeros(operator.shape[1])
    qp = make_qp(qp_solver)
    n, d = operator.shape
    may_switch = d >= WIDE and n + d <= MAX_LENGTH and signs is None
    if signs is None:
        planes = CuttingPlanes(
            objective, operator, C, qp, history, start, keep_gradients=may_switch
        )
    else:
        planes = ConstrainedPlanes(objective, operator, C, qp, history, start, signs)
    solver: CuttingPlanes | SubspacePlanes = planes
    status = "max_iter"
    n_iter = 0
    with tqdm(desc=description, disable=verbose < 1, unit="it") as bar:
        try:
            while n_iter < max_iter:
                solver.step(0.1 * tol * solver.primal)
                n_iter += 1
                history.record(solver.primal, solver.dual, solver.planes.size)
                gap = relative_gap(solver.primal, solver.dual)
                bar.set_postfix(objective=f"{solver.primal:.6g}", gap=f"{gap:.2g}", refresh=False)
                bar.update()
                if gap <= tol:
                    status = "converged"
                    break
                if may_switch and n_iter % CHECK_EVERY == 0 and history.forecast(tol) > PATIENCE:
                    may_switch = False
                    qps = make_qp(qp_solver), make_qp(qp_solver)
                    solver = SubspacePlanes(planes, qps)
        except KeyboardInterrupt:
            status = "interrupted"
        except (QPError, FloatingPointError):
            status = "failed"
    # scores were combined many times over; what is reported is the objective of these weights
    w = solver.w
    primal = 0.5 * float(w @ w) + C * objective(operator.matvec(w))[0]
    dual = min(solver.dual, primal)
    gap = relative_gap(primal, dual)
    return Solution(w, primal, dual, gap, status, n_iter, history.as_dict())
