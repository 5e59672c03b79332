"""Cutting planes in a growing subspace, for data with many columns.

A pass over wide data is dear, an evaluation of the risk is cheap. So the problem is solved in
the span of a few directions, where scores of any weights follow from the stored scores of the
directions: no pass is needed, however many planes it takes. The multipliers found there combine
the planes' score gradients to a few aggregates, and one pass over X projects these back. The
projections are true planes of the whole problem, with a dual bound, and their parts outside of
the subspace are the directions in which to widen it. As in the conjugate gradient method, no
progress made in the subspace is lost.
"""

from __future__ import annotations

from copy import copy
from dataclasses import replace

import numpy as np
import scipy.linalg

from skrank._operators import Operator
from skrank.kernels import _products
from skrank.solvers._cutting_plane import QP_SHARE, CuttingPlanes
from skrank.solvers._planes import PlaneSet
from skrank.solvers._qp import QP

# Aggregates a pass, planes between two passes, and how much smaller than the gap of the whole
# problem that of the subspace is to be.
N_AGGREGATES = 16
MAX_INNER = 20
INNER_SHARE = 0.3
MAX_IDLE = 60


class Basis:
    """An operator on coordinates: X restricted to the span of orthonormal directions Q."""

    def __init__(self, operator: Operator):
        self.operator = operator
        n, d = operator.shape
        self._Q = np.empty((d, 16), order="F")
        self._Z = np.empty((n, 16), order="F")
        self.size = 0

    @property
    def shape(self) -> tuple[int, int]:
        return self._Z.shape[0], self.size

    @property
    def work(self) -> int:
        return self._Z.shape[0] * self.size

    @property
    def Q(self) -> np.ndarray:
        return self._Q[:, : self.size]

    @property
    def Z(self) -> np.ndarray:
        return self._Z[:, : self.size]

    def matvec(self, w: np.ndarray) -> np.ndarray:
        return self.Z @ w

    def rmatvec(self, g: np.ndarray) -> np.ndarray:
        return self.Z.T @ g

    def coordinates(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of the vectors (columns), and what of them lies outside of the span."""
        inside = self.Q.T @ vectors
        outside = vectors - self.Q @ inside
        again = self.Q.T @ outside
        return inside + again, outside - self.Q @ again

    def widen(self, vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Add the directions of vectors that are new; one pass. Coordinates, new columns of Z."""
        inside, outside = self.coordinates(vectors)
        norms = np.linalg.norm(vectors, axis=0)
        # pivoting puts what depends on other columns last, where the cut loses nothing
        relative = outside / np.where(norms > 0.0, norms, 1.0)
        directions, upper, _ = scipy.linalg.qr(relative, mode="economic", pivoting=True)
        n_new = np.count_nonzero(np.abs(upper.diagonal()) > 1e-10)
        _, directions = self.coordinates(directions[:, :n_new])
        directions, _ = np.linalg.qr(directions)
        scores = self.operator.matvec(directions)
        k = self.size
        self._reserve(k + directions.shape[1])
        self._Q[:, k : k + directions.shape[1]] = directions
        self._Z[:, k : k + directions.shape[1]] = scores
        self.size += directions.shape[1]
        return np.concatenate([inside, directions.T @ outside]), scores

    def _reserve(self, columns: int) -> None:
        if columns <= self._Q.shape[1]:
            return
        for name in ("_Q", "_Z"):
            old = getattr(self, name)
            new = np.empty((old.shape[0], 2 * columns), order="F")
            new[:, : self.size] = old[:, : self.size]
            setattr(self, name, new)


class SubspacePlanes:
    """The state of the method; ``primal`` and ``dual`` bound the whole problem.

    It takes over from ``before``, with all that is known there, in the span of its planes.
    """

    def __init__(self, before: CuttingPlanes, qps: tuple[QP, QP]):
        self.operator = before.operator
        self.history = before.history
        self.basis = Basis(before.operator)
        self.dual = before.dual
        with self.history.product("data"):
            vectors = np.column_stack([before.w, before.planes.normals[1:].T])
            coordinates, _ = self.basis.widen(vectors)
        normals = np.vstack([np.zeros(self.basis.size), coordinates[:, 1:].T])
        self.true_planes = before.planes.with_normals(normals, qps[0])
        self.inner = copy(before)
        self.inner.operator = self.basis
        self.inner.planes = before.planes.with_normals(normals, qps[1])
        self.inner.best = replace(before.best, w=coordinates[:, 0])
        self.inner.max_idle = MAX_IDLE
        self.inner.products = "oracle"

    @property
    def primal(self) -> float:
        return self.inner.primal

    @property
    def w(self) -> np.ndarray:
        # an interrupt may come between the widening of the basis and that of the point
        return self.basis.Q[:, : self.inner.w.size] @ self.inner.w

    @property
    def planes(self) -> PlaneSet:
        return self.inner.planes

    def finish(self, tol: float) -> None:
        """Evaluate the best point anew, with scores from the data."""
        with self.history.product("data"):
            scores = self.operator.matvec(self.w)
        self.inner.best = self.inner.evaluate(self.inner.w, scores)

    def step(self, target: float) -> None:
        """Solve the problem in the subspace, then widen it: two passes over the data."""
        inner = self.inner
        inner.dual = 0.0  # bounds of a smaller subspace do not hold in this one
        target = INNER_SHARE * max(target, self.primal - self.dual)
        for _ in range(MAX_INNER):
            inner.step(target)
            if inner.primal - inner.dual <= target:
                break
        if self.basis.size == self.basis.Q.shape[0]:
            self.dual = max(self.dual, inner.dual)
            return
        self.widen(*self.aggregates())
        with self.history.time("qp"):
            _, dual = self.true_planes.solve(QP_SHARE * target)
            self.true_planes.prune(MAX_IDLE)
        self.dual = max(self.dual, dual)

    def widen(self, gradients: np.ndarray, offsets: np.ndarray) -> None:
        """Project planes in score space back and take their directions into the basis."""
        inner = self.inner
        with self.history.product("data"):
            vectors = self.operator.rmatvec(gradients)
        before = self.basis.size
        with self.history.product("data"):
            coordinates, scores = self.basis.widen(vectors)
        with self.history.time("qp"):
            n_new = self.basis.size - before
            self.true_planes.widen(np.zeros((self.true_planes.size, n_new)))
            for normal, offset in zip(coordinates.T, offsets, strict=True):
                self.true_planes.add(normal, offset)
            data, indices, indptr = self._stacked_gradients()
            columns = [_products.csr_matvec(data, indices, indptr, s) for s in scores.T]
            inner.planes.widen(np.array(columns).reshape(n_new, inner.planes.size).T)
        inner.best = replace(inner.best, w=np.append(inner.w, np.zeros(n_new)))

    def aggregates(self) -> tuple[np.ndarray, np.ndarray]:
        """Means of the planes' score gradients and offsets, weighted by the multipliers."""
        planes = self.inner.planes
        support = 1 + np.flatnonzero(planes.a[1:])
        support = support[np.argsort(-planes.a[support], kind="stable")]
        data, indices, indptr = self._stacked_gradients()
        n_parts = min(N_AGGREGATES, support.size)
        gradients = np.empty((self.operator.shape[0], n_parts), order="F")
        offsets = np.empty(n_parts)
        for part in range(n_parts):
            chosen = support[part::n_parts]
            weights = np.zeros(planes.size)
            weights[chosen] = planes.a[chosen] / planes.a[chosen].sum()
            gradients[:, part] = _products.csr_rmatvec(
                data, indices, indptr, chosen, weights, gradients.shape[0]
            )
            offsets[part] = weights @ planes.offsets
        return gradients, offsets

    def _stacked_gradients(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows, values = zip(*self.inner.gradients, strict=True)
        indptr = np.concatenate([[0], np.cumsum([r.size for r in rows])])
        return np.concatenate(values), np.concatenate(rows), indptr
