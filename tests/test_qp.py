"""The two backends of the quadratic programme against each other and against the conditions."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skrank.kernels._active_set import feasible
from skrank.solvers import _qp
from skrank.solvers._planes import PlaneSet
from skrank.solvers._qp import ActiveSetQP, AutoQP, CvxpyQP, Programme, QPError, make_qp


def programme(m, d, seed, total, repeats=0, uncapped=0):
    """Planes with normals in d dimensions, the first the zero plane, some given twice."""
    rng = np.random.default_rng(seed)
    normals = 0.3 * rng.standard_normal((m, d))
    b = rng.random(m)
    normals[0], b[0] = 0, 0
    for k in range(min(repeats, m // 2 - 1)):
        normals[m - 1 - k], b[m - 1 - k] = normals[1 + k], b[1 + k] - 0.1 * (k % 2)
    capped = np.ones(m)
    if uncapped:
        # constraints that one direction satisfies, so that the multipliers are bounded
        capped[-uncapped:] = 0.0
        normals[-uncapped:, 0] = -0.5
        b[-uncapped:] = 0.1
    return Programme(normals, normals @ normals.T, b, capped, total)


@given(
    m=st.integers(2, 40),
    d=st.integers(1, 30),
    seed=st.integers(0, 10**6),
    repeats=st.integers(0, 5),
    total=st.sampled_from([1e-2, 1.0, 1e3, 1e5]),
)
def test_active_set_is_optimal_and_agrees_with_cvxpy(m, d, seed, repeats, total):
    p = programme(m, d, seed, total, repeats)
    start = np.zeros(m)
    start[0] = total
    a = ActiveSetQP().solve(p, start, 0.0)
    assert np.all(a >= 0)
    assert a.sum() == pytest.approx(total, rel=1e-9)
    optimum = p.value(a)
    slack = p.b - p.gram @ a
    # the price of the sum is the largest slack; all weight is on planes that have it
    assert total * slack.max() - a @ slack <= 1e-7 * max(optimum, 1e-3)
    if seed % 5 == 0:
        other = CvxpyQP().solve(p, start, 0.0)
        assert p.value(other) == pytest.approx(optimum, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("seed", range(20))
def test_backends_agree_with_multipliers_outside_of_the_sum(seed):
    p = programme(15, 8, seed, 50.0, uncapped=4)
    start = np.zeros(15)
    start[0] = 50.0
    first = ActiveSetQP().solve(p, start, 0.0)
    second = CvxpyQP().solve(p, start, 0.0)
    assert p.capped @ first == pytest.approx(50.0)
    assert p.value(first) == pytest.approx(p.value(second), rel=1e-6)


def plane_set(backend, C, seed, n_planes):
    rng = np.random.default_rng(seed)
    planes = PlaneSet(6, C, backend)
    duals = []
    for _ in range(n_planes):
        planes.add(0.3 * rng.standard_normal(6), rng.random())
        w, dual = planes.solve(0.0)
        duals.append(dual)
        assert np.allclose(w, -planes.a @ planes.normals)
    return np.array(duals)


@pytest.mark.parametrize("C", [1.0, 1e4])
def test_warm_started_sequences_agree(C):
    expected = plane_set(make_qp("cvxpy"), C, 0, 40)
    assert np.allclose(plane_set(make_qp("active-set"), C, 0, 40), expected, rtol=1e-6)
    assert np.allclose(plane_set(make_qp("auto"), C, 0, 40), expected, rtol=1e-6)
    assert np.all(np.diff(expected) >= -1e-6 * expected[-1])


def test_idle_planes_go_and_the_zero_plane_stays():
    rng = np.random.default_rng(0)
    planes = PlaneSet(4, 1.0, ActiveSetQP())
    for _ in range(60):
        planes.add(rng.standard_normal(4), rng.random())
    for _ in range(5):
        _, before = planes.solve(0.0)
    staying = planes.prune(2)
    assert staying[0] == 0
    assert planes.size == staying.size < 61
    assert planes.solve(0.0)[1] == pytest.approx(before)
    assert planes.prune(2) is None


def test_widening_keeps_the_programme_consistent():
    rng = np.random.default_rng(1)
    planes = PlaneSet(3, 10.0, ActiveSetQP())
    for _ in range(10):
        planes.add(rng.standard_normal(3), rng.random())
    planes.solve(0.0)
    planes.widen(np.vstack([np.zeros(2), rng.standard_normal((10, 2))]))
    assert np.allclose(planes.gram, planes.normals @ planes.normals.T)
    w, _ = planes.solve(0.0)
    assert w.size == 5


def test_auto_hands_over_to_cvxpy(monkeypatch):
    p = programme(10, 5, 0, 1.0)
    start = np.eye(10)[0]
    expected = AutoQP().solve(p, start, 0.0)
    monkeypatch.setattr(_qp, "MAX_PIVOTS", 1)
    with pytest.raises(QPError, match="auto"):
        ActiveSetQP().solve(p, start, 0.0)
    a = AutoQP().solve(p, start, 0.0)
    assert p.value(a) == pytest.approx(p.value(expected), rel=1e-6)


def test_auto_gives_up_on_cvxpy_where_it_does_no_better(monkeypatch):
    p = programme(10, 5, 0, 1.0)
    start = np.eye(10)[0]
    monkeypatch.setattr(_qp, "MAX_PIVOTS", 1)
    calls = []

    def fail(*arguments):
        calls.append(arguments)
        raise QPError("failed")

    monkeypatch.setattr(CvxpyQP, "solve", fail)
    backend = AutoQP()
    for _ in range(10):
        assert np.all(np.isfinite(backend.solve(p, start, 0.0)))
    assert len(calls) == _qp.MAX_IN_VAIN


def test_a_status_other_than_optimal_is_retried_then_raised(monkeypatch):
    p = programme(10, 5, 0, 1.0)
    start = np.eye(10)[0]
    solve = cp.Problem.solve
    tried = []

    def flaky(self, solver, **options):
        tried.append(solver)
        if len(tried) == 1:
            raise cp.error.SolverError("it broke")
        if len(tried) == 2:
            self._status = cp.OPTIMAL_INACCURATE
            return None
        return solve(self, solver=solver, **options)

    monkeypatch.setattr(cp.Problem, "solve", flaky)
    a = CvxpyQP("OSQP").solve(p, start, 0.0)
    assert tried[:2] == ["OSQP", "CLARABEL"]
    assert len(tried) == 3
    assert a.sum() == pytest.approx(1.0)

    def broken(self, solver, **options):
        raise cp.error.SolverError("it broke")

    monkeypatch.setattr(cp.Problem, "solve", broken)
    with pytest.raises(QPError, match="CLARABEL: it broke"):
        CvxpyQP().solve(p, start, 0.0)


def test_feasible():
    capped = np.array([1.0, 1.0, 1.0, 0.0])
    assert np.allclose(feasible(np.array([0.5, 0.2, -0.1, 3.0]), capped, 1.0), [0.8, 0.2, 0, 3])
    assert np.allclose(feasible(np.array([0.0, 1.0, 3.0, 1.0]), capped, 2.0), [0, 0.5, 1.5, 1])
    assert np.allclose(feasible(np.array([0.0, 0.5, 0.5, 0.0]), capped, 2.0), [0, 1, 1, 0])


def test_names():
    assert isinstance(make_qp("auto"), AutoQP)
    assert make_qp("clarabel").solvers[0] == "CLARABEL"
    with pytest.raises(ValueError, match=r"qp_solver='simplex' is not known.*CLARABEL.*OSQP"):
        make_qp("simplex")
    with pytest.raises(ValueError, match="qp_solver=3 is not known"):
        make_qp(3)
