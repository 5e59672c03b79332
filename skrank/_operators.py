"""Operators: the only code that touches X. ``matvec`` makes scores, ``rmatvec`` projects back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from skrank.kernels import _products


class Operator(Protocol):
    """What solvers ask of data: the number of rows and columns and two products.

    Vectors come in and go out as float64, whatever the data are stored as; two-dimensional
    arguments stand for several vectors, one a column, and are counted as one pass over the data.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""

    @property
    def work(self) -> int:
        """Multiplications in a product with one vector."""

    def matvec(self, w: np.ndarray) -> np.ndarray:
        """X w, of shape (n,) or (n, k)."""

    def rmatvec(self, g: np.ndarray) -> np.ndarray:
        """X' g, of shape (d,) or (d, k)."""


class RowOperator(Operator, Protocol):
    """Data whose rows can be had one by one."""

    def rows(self, index: np.ndarray) -> np.ndarray:
        """The rows named by ``index``, dense, as float64."""


class ScoringOperator(RowOperator, Protocol):
    """Data whose rows can be compared by their scores."""

    def scores(self, coef: np.ndarray) -> np.ndarray:
        """X coef', of shape (n, k) for weights of shape (k, d); equal rows have equal scores.

        BLAS sums rows at the end of a block in another order than the rest, which is as exact,
        but would rank equal rows by where they stand.
        """


class DenseOperator:
    """Products with a two-dimensional array in either memory order, without a copy of it.

    BLAS serves float64. Sums of float32 are taken in float64 too: by compiled loops, or on blocks
    of rows that are converted one at a time. The loops also skip rows that do not count.
    """

    def __init__(self, X: np.ndarray):
        self.X = X if X.flags.forc else np.ascontiguousarray(X)
        self.shape = X.shape
        self.work = X.size

    def matvec(self, w: np.ndarray) -> np.ndarray:
        X = self.X
        if X.dtype == np.float64:
            return X @ w
        if w.ndim == 1 and X.flags.c_contiguous:
            return _products.dense_matvec(X, np.ascontiguousarray(w, dtype=np.float64))
        out = np.empty((X.shape[0], *w.shape[1:]))
        for block in self._blocks():
            out[block] = X[block].astype(np.float64) @ w
        return out

    def rmatvec(self, g: np.ndarray) -> np.ndarray:
        X = self.X
        if g.ndim == 1 and X.flags.c_contiguous:
            active = np.flatnonzero(g)
            if X.dtype != np.float64 or 2 * active.size < g.size:
                return _products.dense_rmatvec(X, active, g)
        if g.ndim == 2:
            active = np.flatnonzero(g.any(axis=1))
            if 4 * active.size < X.shape[0]:  # so few that a copy of them pays
                return X[active].T.astype(np.float64, copy=False) @ g[active]
        if X.dtype == np.float64:
            return X.T @ g
        out = np.zeros((X.shape[1], *g.shape[1:]))
        for block in self._blocks():
            out += X[block].T.astype(np.float64) @ g[block]
        return out

    def scores(self, coef: np.ndarray) -> np.ndarray:
        coef = np.ascontiguousarray(coef, dtype=np.float64)
        if self.X.flags.c_contiguous:
            return _products.dense_scores(self.X, coef)
        parts = [_products.dense_scores(self.X[b].copy("C"), coef) for b in self._blocks()]
        return np.concatenate(parts)

    def _blocks(self) -> Iterator[slice]:
        """Blocks of rows, of some megabytes each."""
        size = max(1, 2**20 // max(1, self.shape[1]))
        for first in range(0, self.shape[0], size):
            yield slice(first, first + size)

    def rows(self, index: np.ndarray) -> np.ndarray:
        return self.X[index].astype(np.float64)


class SparseOperator:
    """Products with a CSR matrix; rows whose coefficient is zero are not read."""

    def __init__(self, X: sp.csr_array):
        self.X = X
        self.shape = X.shape
        self.work = X.nnz

    def matvec(self, w: np.ndarray) -> np.ndarray:
        X = self.X
        product = _products.csr_matvec if w.ndim == 1 else _products.csr_matmat
        return product(X.data, X.indices, X.indptr, np.ascontiguousarray(w))

    def rmatvec(self, g: np.ndarray) -> np.ndarray:
        X = self.X
        active = np.flatnonzero(g if g.ndim == 1 else g.any(axis=1))
        if g.ndim == 2:
            G = np.ascontiguousarray(g)
            return _products.csr_rmatmat(X.data, X.indices, X.indptr, active, G, self.shape[1])
        return _products.csr_rmatvec(X.data, X.indices, X.indptr, active, g, self.shape[1])

    def scores(self, coef: np.ndarray) -> np.ndarray:
        return self.matvec(np.asarray(coef, dtype=np.float64).T)

    def rows(self, index: np.ndarray) -> np.ndarray:
        return self.X[index].toarray().astype(np.float64)


class WithConstant:
    """Another operator with a column of ones after its last."""

    def __init__(self, operator: RowOperator):
        self.operator = operator
        self.shape = (operator.shape[0], operator.shape[1] + 1)
        self.work = operator.work

    def matvec(self, w: np.ndarray) -> np.ndarray:
        return self.operator.matvec(w[:-1]) + w[-1]

    def rmatvec(self, g: np.ndarray) -> np.ndarray:
        return np.concatenate([self.operator.rmatvec(g), g.sum(axis=0, keepdims=True)])

    def rows(self, index: np.ndarray) -> np.ndarray:
        rows = self.operator.rows(index)
        return np.concatenate([rows, np.ones((rows.shape[0], 1))], axis=1)


class ForEachLabel:
    """Another operator with weights and scores of their own for each of several labels.

    Both are laid out as matrices with a column for each label, row by row.
    """

    def __init__(self, operator: Operator, n_labels: int):
        self.operator = operator
        self.n_labels = n_labels
        n, d = operator.shape
        self.shape = (n * n_labels, d * n_labels)
        self.work = operator.work * n_labels

    def matvec(self, w: np.ndarray) -> np.ndarray:
        return self._product(self.operator.matvec, w)

    def rmatvec(self, g: np.ndarray) -> np.ndarray:
        return self._product(self.operator.rmatvec, g)

    def _product(self, product: Callable, vectors: np.ndarray) -> np.ndarray:
        """All labels and, of two-dimensional arguments, all vectors in one pass."""
        n_rows = vectors.shape[0] // self.n_labels
        n_columns = self.n_labels * int(np.prod(vectors.shape[1:]))
        out = product(vectors.reshape(n_rows, n_columns))
        return out.reshape(out.shape[0] * self.n_labels, *vectors.shape[1:])


def as_operator(X) -> ScoringOperator:
    """Choose the operator for validated data."""
    if sp.issparse(X):
        return SparseOperator(X)
    return DenseOperator(X)
