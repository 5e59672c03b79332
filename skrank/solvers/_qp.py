"""Backends for the dual quadratic programme over planes.

    maximise b'a - 1/2 a'Ga   subject to   a >= 0,  sum of a over the capped planes = total

Plane 0 is the zero plane (no normal, no offset), the slack of the sum. A backend's
``solve(programme, a, precision)`` returns an ``a`` whose objective is within ``precision`` of the
optimum, as far as rounding lets it, starting from the feasible ``a`` given. A backend may keep
state between calls; ``keep(index)`` tells it that planes went (``index`` lists those that stay)
and ``reset()`` that the Gram matrix has changed.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple, Protocol

import numpy as np

from skrank.kernels import _active_set

MAX_PIVOTS = 20_000
MAX_IN_VAIN = 3
# Those that come with cvxpy and stop by themselves; HiGHS was seen to run on without end.
FALLBACKS = ("CLARABEL", "OSQP", "SCS")


class QPError(RuntimeError):
    """No backend could solve the quadratic programme."""


class Programme(NamedTuple):
    """The planes' normals (by rows), their products G, the offsets b, and what counts as capped."""

    normals: np.ndarray
    gram: np.ndarray
    b: np.ndarray
    capped: np.ndarray
    total: float

    def value(self, a: np.ndarray) -> float:
        """The objective."""
        return float(self.b @ a) - 0.5 * float(np.sum((a @ self.normals) ** 2))


class QP(Protocol):
    """What a plane set asks of a backend."""

    def solve(self, programme: Programme, a: np.ndarray, precision: float) -> np.ndarray:
        """Return optimal weights of the planes."""

    def keep(self, index: np.ndarray) -> None:
        """Planes went; those in ``index`` stay, in this order."""

    def reset(self) -> None:
        """The Gram matrix has changed."""


class ActiveSetQP:
    """Pivoting from the last answer; a few pivots lead from one iteration to the next."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._work = np.empty(0, np.int64)
        self._factor = np.empty((0, 0))
        self._size = 0
        self._sigma = 0.0

    def keep(self, index: np.ndarray) -> None:
        place = np.full(int(index.max()) + 1, -1)
        place[index] = np.arange(index.size)
        self._work[: self._size] = place[self._work[: self._size]]

    def solve(self, programme, a, precision):
        a, optimal = self.attempt(programme, a, precision)
        if not optimal:
            raise QPError(
                "the active-set method could not satisfy the optimality conditions. "
                'Use qp_solver="auto" or "cvxpy".'
            )
        return a

    def attempt(self, programme, a, precision):
        """The best weights found, and whether they satisfy the optimality conditions."""
        p = programme
        a = a.copy()
        if self._factor.shape[0] <= a.size:
            self._grow(2 * a.size + 16)
        self._size, self._sigma, optimal = _active_set.improve(
            p.normals,
            p.gram,
            p.b,
            p.capped,
            p.total,
            precision,
            a,
            self._work,
            self._size,
            self._factor,
            self._sigma,
            MAX_PIVOTS,
        )
        return a, optimal

    def _grow(self, capacity):
        work, factor, size = self._work, self._factor, self._size
        self._work = np.empty(capacity, np.int64)
        self._factor = np.zeros((capacity, capacity))
        self._work[:size] = work[:size]
        self._factor[:size, :size] = factor[:size, :size]


class CvxpyQP:
    """Any solver for quadratic programmes that cvxpy knows; CLARABEL unless named otherwise.

    A solver that does not report an optimal answer is followed by the next one.
    """

    def __init__(self, solver: str = "CLARABEL", fallbacks: tuple[str, ...] = FALLBACKS):
        self.solvers = tuple(dict.fromkeys([solver, *fallbacks]))

    def reset(self) -> None:
        pass

    def keep(self, index: np.ndarray) -> None:
        pass

    def solve(self, programme, a, precision):
        import cvxpy as cp

        gram, b, capped, total = programme.gram, programme.b, programme.capped, programme.total
        if not np.isfinite(gram.sum()):
            raise QPError("the products of the planes' normals are out of range.")
        # the zero plane is the slack of an inequality; the rest in units that make numbers O(1)
        height = float(np.abs(b).max()) or 1.0
        natural = min(total, height / (float(gram.diagonal().max()) or 1.0))
        unit = min(total, max(natural, float(a[1:].max())))
        x = cp.Variable(b.size - 1, nonneg=True)
        quadratic = cp.quad_form(x, cp.psd_wrap(gram[1:, 1:] * (unit / height)))
        problem = cp.Problem(
            cp.Minimize(0.5 * quadratic - (b[1:] / height) @ x),
            [capped[1:] @ x <= total / unit],
        )
        failures = []
        for solver in self.solvers:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # an inexact answer shows in its status
                    problem.solve(solver=solver)
            except Exception as error:  # solvers raise errors of their own kinds
                failures.append(f"{solver}: {error}")
                continue
            if problem.status == cp.OPTIMAL:
                # an interior point leaves traces on planes that do not count
                weights = np.where(x.value > 1e-9 * x.value.max(), x.value, 0.0) * unit
                rest = max(total - float(capped[1:] @ weights), 0.0)
                return _active_set.feasible(np.concatenate([[rest], weights]), capped, total)
            failures.append(f"{solver}: {problem.status}")
        raise QPError("no solver found the quadratic programme's optimum: " + "; ".join(failures))


class AutoQP:
    """The active set; where its answer fails the optimality conditions, the better of two.

    Any feasible weights give a valid bound, so that if cvxpy fails too an answer that is not
    quite optimal is still of use. Where numbers are so large that cvxpy does no better some times
    in a row, it is not asked any more: it takes a thousand times as long.
    """

    def __init__(self) -> None:
        self._active_set = ActiveSetQP()
        # the others that cvxpy has are not more exact, but slow to say so
        self._cvxpy = CvxpyQP(fallbacks=())
        self._n_in_vain = 0

    def reset(self) -> None:
        self._active_set.reset()

    def keep(self, index: np.ndarray) -> None:
        self._active_set.keep(index)

    def solve(self, programme, a, precision):
        first, optimal = self._active_set.attempt(programme, a, precision)
        usable = bool(np.all(np.isfinite(first)))
        if optimal or (usable and self._n_in_vain >= MAX_IN_VAIN):
            return first
        self._active_set.reset()
        self._n_in_vain += 1
        try:
            second = self._cvxpy.solve(programme, a, precision)
        except QPError:
            if usable:
                return first
            raise
        gain = programme.value(second) - programme.value(first) if usable else np.inf
        if gain > precision:
            self._n_in_vain = 0
        return second if gain > 0.0 else first


def qp_solvers() -> list[str]:
    """The installed solvers of cvxpy that take a quadratic objective, by name."""
    import cvxpy as cp
    from cvxpy.reductions.solvers import defines

    names = []
    for name in cp.installed_solvers():
        conic = defines.SOLVER_MAP_CONIC.get(name)
        if name in defines.SOLVER_MAP_QP or (conic is not None and conic.supports_quad_obj()):
            names.append(name)
    return sorted(names)


def make_qp(name: str) -> QP:
    """The backend called ``name``: "auto", "active-set", "cvxpy" or a solver of cvxpy."""
    if name == "auto":
        return AutoQP()
    if name == "active-set":
        return ActiveSetQP()
    if name == "cvxpy":
        return CvxpyQP()
    known = qp_solvers() if isinstance(name, str) else []
    if isinstance(name, str) and name.upper() in known:
        return CvxpyQP(name.upper())
    raise ValueError(
        f"qp_solver={name!r} is not known. Use 'auto', 'active-set', 'cvxpy' or a solver for "
        f"quadratic programmes that is installed with cvxpy: {', '.join(known) or qp_solvers()}."
    )
