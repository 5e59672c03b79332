"""The planes found so far: lower bounds of the risk that are linear in the weights."""

from __future__ import annotations

from math import isfinite

import numpy as np

from skrank.kernels import _active_set
from skrank.solvers._qp import QP, Programme, QPError


class PlaneSet:
    """Planes R(w) >= b_k + p_k'w, their Gram matrix and the multipliers of the dual problem.

    With total weight C the model's minimiser of 1/2 ||w||^2 + C max_k (b_k + p_k'w) is
    w = -sum a_k p_k. Plane 0 is the zero plane, since the risk is not negative. A plane that is
    not capped is a hard constraint b_k + p_k'w <= 0, whose multiplier has no bound.
    """

    def __init__(self, n_columns: int, C: float, qp: QP):
        self.C = C
        self.qp = qp
        self.size = 1
        self._a = np.zeros(16)
        self._a[0] = C
        self._normals = np.zeros((16, n_columns))
        self._offsets = np.zeros(16)
        self._capped = np.ones(16)
        self._gram = np.zeros((16, 16))
        self._idle = np.zeros(16, np.int64)
        self._longest_idle = 0

    @property
    def a(self) -> np.ndarray:
        """The multipliers."""
        return self._a[: self.size]

    @property
    def normals(self) -> np.ndarray:
        return self._normals[: self.size]

    @property
    def offsets(self) -> np.ndarray:
        return self._offsets[: self.size]

    @property
    def capped(self) -> np.ndarray:
        """Whether each plane's multiplier counts towards the total."""
        return self._capped[: self.size] > 0.0

    @property
    def gram(self) -> np.ndarray:
        return self._gram[: self.size, : self.size]

    def add(self, normal: np.ndarray, offset: float, *, capped: bool = True) -> None:
        """Append a plane with multiplier zero."""
        k = self.size
        # never full: kernels would be compiled once more for a contiguous Gram matrix
        if k + 1 == self._offsets.size:
            self._reserve(2 * k + 2)
        self._normals[k] = normal
        self._offsets[k] = offset
        self._capped[k] = capped
        self._gram[k, :k] = self._gram[:k, k] = self._normals[:k] @ normal
        self._gram[k, k] = normal @ normal
        self._idle[k] = 0
        self._a[k] = 0.0
        self.size += 1

    def solve(self, precision: float) -> tuple[np.ndarray, float]:
        """The model's minimiser and its dual value, a lower bound of the whole problem.

        The value is that of the multipliers made feasible, so that the bound holds however
        inexact the quadratic programme's answer is.
        """
        m = self.size
        capped = self._capped[:m]
        programme = Programme(self.normals, self.gram, self.offsets, capped, self.C)
        a = self.qp.solve(programme, self.a, precision)
        self._longest_idle = _active_set.settle(a, capped, self.C, self._a[:m], self._idle[:m])
        w = self.minimiser()
        dual = float(self.a @ self.offsets) - 0.5 * float(w @ w)
        if not isfinite(dual):
            raise QPError("the weights found for the planes are out of range.")
        return w, dual

    def minimiser(self) -> np.ndarray:
        """The weights that the multipliers stand for."""
        return -(self.a @ self.normals)

    def prune(self, max_idle: int) -> np.ndarray | None:
        """Forget planes without a multiplier for long; returns those that stay, if any went."""
        if self._longest_idle <= max_idle:
            return None
        stay = self._idle[: self.size] <= max_idle
        stay[0] = True
        # moving the Gram matrix costs more than a few idle planes do
        if np.count_nonzero(~stay) <= 8 + self.size // 8:
            return None
        index = np.flatnonzero(stay)
        m = index.size
        self._normals[:m] = self._normals[index]
        self._offsets[:m] = self._offsets[index]
        self._capped[:m] = self._capped[index]
        self._gram[:m, :m] = self._gram[np.ix_(index, index)]
        self._idle[:m] = self._idle[index]
        self._a[:m] = self._a[index]
        self.size = m
        self.qp.keep(index)
        return index

    def widen(self, columns: np.ndarray) -> None:
        """Append columns to the normals: the planes in a space of more dimensions."""
        m = self.size
        normals = np.zeros((self._offsets.size, self._normals.shape[1] + columns.shape[1]))
        normals[:m, : self._normals.shape[1]] = self.normals
        normals[:m, self._normals.shape[1] :] = columns
        self._normals = normals
        if np.any(columns):
            self._gram[:m, :m] += columns @ columns.T
            self.qp.reset()

    def with_normals(self, normals: np.ndarray, qp: QP) -> PlaneSet:
        """The same planes in other coordinates, with the same products of normals."""
        other = PlaneSet(normals.shape[1], self.C, qp)
        other._reserve(self._offsets.size)
        other._normals[: self.size] = normals
        for name in ("_a", "_offsets", "_capped", "_gram", "_idle"):
            getattr(other, name)[...] = getattr(self, name)
        other.size = self.size
        return other

    def _reserve(self, capacity: int) -> None:
        m = self.size
        for name in ("_a", "_normals", "_offsets", "_capped", "_idle"):
            old = getattr(self, name)
            new = np.zeros((capacity, *old.shape[1:]), old.dtype)
            new[:m] = old[:m]
            setattr(self, name, new)
        gram = np.zeros((capacity, capacity))
        gram[:m, :m] = self._gram[:m, :m]
        self._gram = gram
