"""Operators against plain products, for all kinds of storage."""

import numpy as np
import pytest
import scipy.sparse as sp

from skrank._operators import ForEachLabel, WithConstant, as_operator

KINDS = {
    "C float64": np.ascontiguousarray,
    "F float64": np.asfortranarray,
    "C float32": lambda X: X.astype(np.float32),
    "F float32": lambda X: np.asfortranarray(X, dtype=np.float32),
    "slice": lambda X: np.repeat(X, 2, axis=1)[:, ::2],
    "csr float64": sp.csr_array,
    "csr float32": lambda X: sp.csr_array(X.astype(np.float32)),
    "csr int64": lambda X: sp.csr_array(
        (sp.csr_array(X).data, *map(np.int64, (sp.csr_array(X).indices, sp.csr_array(X).indptr))),
        shape=X.shape,
    ),
}


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_products(kind, constant):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 7)) * (rng.random((40, 7)) < 0.5)
    # sums of float32 in float64 leave only the rounding of the data
    X = X.astype(np.float32).astype(np.float64)
    operator = as_operator(KINDS[kind](X))
    if constant:
        operator = WithConstant(operator)
        X = np.column_stack([X, np.ones(40)])
    assert operator.shape == X.shape
    w, g = rng.standard_normal((X.shape[1], 3)), rng.standard_normal((40, 3))
    few = g * (rng.random((40, 3)) < 0.2)
    np.testing.assert_allclose(operator.matvec(w[:, 0]), X @ w[:, 0], atol=1e-12)
    for gradient in (g[:, 0], few[:, 0], np.zeros(40)):
        product = operator.rmatvec(gradient)
        assert product.dtype == np.float64
        np.testing.assert_allclose(product, X.T @ gradient, atol=1e-12)
    np.testing.assert_allclose(operator.matvec(w), X @ w, atol=1e-12)
    for gradients in (g, few * (np.arange(40) < 9)[:, None], np.zeros((40, 3))):
        np.testing.assert_allclose(operator.rmatvec(gradients), X.T @ gradients, atol=1e-12)
    assert operator.matvec(w[:, :0]).shape == (40, 0)
    assert operator.rmatvec(g[:, :0]).shape == (X.shape[1], 0)
    np.testing.assert_allclose(operator.rows(np.array([3, 1])), X[[3, 1]])
    assert operator.rows(np.array([3, 1])).dtype == np.float64


@pytest.mark.parametrize("constant", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_each_label_has_weights_of_its_own(kind, constant):
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20, 6)).astype(np.float32).astype(np.float64)
    data = as_operator(KINDS[kind](X))
    if constant:
        data = WithConstant(data)
        X = np.column_stack([X, np.ones(20)])
    operator = ForEachLabel(data, 3)
    whole = np.kron(X, np.eye(3))
    assert operator.shape == whole.shape
    assert operator.work == 3 * data.work
    w, g = rng.standard_normal((whole.shape[1], 2)), rng.standard_normal((60, 2))
    for columns in (slice(0, 2), 0, slice(0, 0)):
        np.testing.assert_allclose(
            operator.matvec(w[:, columns]), whole @ w[:, columns], atol=1e-12
        )
        product = operator.rmatvec(g[:, columns])
        np.testing.assert_allclose(product, whole.T @ g[:, columns], atol=1e-12)
    np.testing.assert_allclose(operator.matvec(np.asfortranarray(w)), whole @ w, atol=1e-12)
