"""Products with data that BLAS and scipy do not do as we need them.

All accumulate in float64 whatever the data are stored as, and skip rows that do not count.
Stored indices are read as unsigned: for signed ones numba adds the size to those below zero, and
asking each of them takes as long as the product itself.
"""

from __future__ import annotations

import numpy as np

from skrank._jit import jit


@jit(reorder=True)
def dense_matvec(X, w):
    """X w by rows."""
    out = np.empty(X.shape[0])
    for i in range(X.shape[0]):
        total = 0.0
        for k in range(X.shape[1]):
            total += X[i, k] * w[k]
        out[i] = total
    return out


@jit(reorder=True)
def dense_scores(X, coef):
    """X coef' by rows, each summed alike wherever it stands: equal rows have equal scores."""
    out = np.empty((X.shape[0], coef.shape[0]))
    for i in range(X.shape[0]):
        for c in range(coef.shape[0]):
            total = 0.0
            for k in range(X.shape[1]):
                total += X[i, k] * coef[c, k]
            out[i, c] = total
    return out


@jit(reorder=True)
def dense_rmatvec(X, active, g):
    """X' g over the active rows."""
    out = np.zeros(X.shape[1])
    for t in range(active.size):
        i = active[t]
        weight = g[i]
        for k in range(X.shape[1]):
            out[k] += weight * X[i, k]
    return out


@jit(reorder=True)
def csr_matvec(data, indices, indptr, w):
    """X w for a CSR matrix."""
    out = np.empty(indptr.size - 1)
    for i in range(out.size):
        total = 0.0
        for t in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            total += data[t] * w[np.uint64(indices[t])]
        out[i] = total
    return out


@jit(reorder=True)
def csr_matmat(data, indices, indptr, W):
    """X W for a CSR matrix X and a matrix W."""
    out = np.zeros((indptr.size - 1, W.shape[1]))
    for i in range(out.shape[0]):
        for t in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            value, row = data[t], np.uint64(indices[t])
            for k in range(W.shape[1]):
                out[i, k] += value * W[row, k]
    return out


@jit(reorder=True)
def csr_rmatmat(data, indices, indptr, active, G, n_columns):
    """X' G over the active rows of a CSR matrix X, for a matrix G."""
    out = np.zeros((n_columns, G.shape[1]))
    for a in range(active.size):
        i = active[a]
        for t in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            value, row = data[t], np.uint64(indices[t])
            for k in range(G.shape[1]):
                out[row, k] += value * G[i, k]
    return out


@jit(reorder=True)
def csr_rmatvec(data, indices, indptr, active, g, n_columns):
    """X' g over the active rows of a CSR matrix."""
    out = np.zeros(n_columns)
    for a in range(active.size):
        i = active[a]
        weight = g[i]
        for t in range(np.uint64(indptr[i]), np.uint64(indptr[i + 1])):
            out[np.uint64(indices[t])] += weight * data[t]
    return out
