"""The solver against independent solutions, and what it promises about bounds."""

import cvxpy as cp
import numpy as np
import pytest
from reference import all_rankings, violations

from skrank._groups import Groups
from skrank._operators import as_operator
from skrank.losses import AveragePrecision, Hinge, RankingRisk, ROCArea
from skrank.solvers import _history, _minimise, minimise
from skrank.solvers._constraints import ConstrainedPlanes
from skrank.solvers._cutting_plane import (
    FURTHEST,
    LONGER,
    NEAREST,
    SHORTER,
    STRIDE,
    CuttingPlanes,
    _lowest,
)
from skrank.solvers._history import History
from skrank.solvers._qp import make_qp
from skrank.solvers._subspace import Basis

BACKENDS = ["auto", "active-set", "cvxpy"]


def problem(n=200, d=10, share=0.2, shift=0.5, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < share
    y[:2] = True, False
    return rng.standard_normal((n, d)) + shift * y[:, None], y


def bind(y):
    return AveragePrecision().bind(y, Groups.single(y.size))


def full_solution(X, y, C, lists=None, signs=None):
    """The whole problem with every ranking of every list as a constraint."""
    lists = [np.arange(y.size)] if lists is None else lists
    w = cp.Variable(X.shape[1])
    slack = cp.Variable(len(lists))
    constraints = [slack >= 0]
    for q, rows in enumerate(lists):
        # at scores of zero the values are the losses; the gradients do not depend on scores
        losses, gradients = violations(y[rows], np.zeros(rows.size), rankings=all_rankings)
        planes = np.unique(np.column_stack([losses, gradients]).round(12), axis=0)
        constraints.append(slack[q] >= planes[:, 0] + planes[:, 1:] @ X[rows] @ w)
    if signs is not None:
        easy = np.flatnonzero(signs)
        constraints.append(cp.multiply(signs[easy], X[easy] @ w) >= 1)
    objective = cp.Minimize(0.5 * cp.sum_squares(w) + C / len(lists) * cp.sum(slack))
    full = cp.Problem(objective, constraints)
    full.solve(solver="CLARABEL", tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
    assert full.status == cp.OPTIMAL
    return full.value


@pytest.mark.parametrize("qp_solver", BACKENDS)
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_equals_the_solution_of_the_full_problem(qp_solver, C):
    rng = np.random.default_rng(1)
    for y in ([1, 0, 1, 0, 0, 0], [1, 0, 0, 0, 0], [1, 1, 1, 0], [1, 1, 0, 0, 1, 0]):
        y = np.array(y, bool)
        X = rng.standard_normal((y.size, 3))
        solution = minimise(bind(y), as_operator(X), C, tol=1e-8, qp_solver=qp_solver)
        assert solution.status == "converged"
        assert solution.primal == pytest.approx(full_solution(X, y, C), rel=1e-6)


def test_a_solver_of_low_accuracy_still_gives_valid_bounds():
    X, y = problem(60, 4)
    exact = minimise(bind(y), as_operator(X), 10.0, tol=1e-8)
    rough = minimise(bind(y), as_operator(X), 10.0, tol=1e-3, qp_solver="OSQP")
    assert rough.status == "converged"
    assert rough.dual <= exact.primal * (1 + 1e-9)
    assert rough.primal == pytest.approx(exact.primal, rel=1e-3)


def test_equals_the_solution_of_the_full_problem_with_queries():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((15, 4))
    y = np.array([1, 0, 0, 1, 0] * 3, bool)
    qid = rng.permutation(np.repeat(["a", "b", "c"], 5))
    lists = [np.flatnonzero(qid == q) for q in "abc"]
    y[lists[0]] = [1, 0, 0, 1, 0]
    y[lists[1]] = [1, 0, 0, 0, 0]
    y[lists[2]] = [0, 1, 1, 0, 1]
    objective = AveragePrecision().bind(y, Groups.from_qid(qid, 15))
    solution = minimise(objective, as_operator(X), 50.0, tol=1e-8)
    assert solution.primal == pytest.approx(full_solution(X, y, 50.0, lists), rel=1e-6)


def test_hard_constraints_equal_the_solution_of_the_full_problem():
    rng = np.random.default_rng(3)
    y = np.array([1, 1, 0, 0, 0, 0, 1, 0, 1, 0], bool)
    X = np.column_stack([rng.standard_normal((10, 3)), np.ones(10)])
    direction = rng.standard_normal(4)
    easy = np.arange(10) >= 5
    truth = np.where(y, 1.0, -1.0)
    X[easy] += np.outer(truth[easy], direction) * 1.5
    signs = np.where(easy, truth, 0.0)
    start = 20 * direction
    assert (truth * (X @ start))[easy].min() >= 1
    rows = np.flatnonzero(~easy)
    objective = AveragePrecision().bind(y, Groups(rows, np.array([0, rows.size])))
    for C in (0.01, 1.0, 100.0):
        solution = minimise(objective, as_operator(X), C, tol=1e-7, start=start, signs=signs)
        assert solution.status == "converged"
        expected = full_solution(X, y, C, [rows], signs)
        assert solution.primal == pytest.approx(expected, rel=1e-6)
        assert solution.dual <= expected * (1 + 1e-9)
        assert (truth * (X @ solution.coef))[easy].min() >= 1 - 2e-6


def test_bounds_enclose_the_optimum_and_never_get_worse():
    X, y = problem()
    for C in (1.0, 1e3, 1e5):
        solution = minimise(bind(y), as_operator(X), C, tol=1e-4)
        history = solution.history
        # the last value is evaluated anew: it may differ by rounding
        assert np.all(np.diff(history["primal"])[:-1] <= 0)
        assert history["primal"][-1] <= history["primal"][-2] * (1 + 1e-12)
        assert np.all(np.diff(history["dual"]) >= 0)
        assert np.all(history["dual"] <= history["primal"])
        assert solution.gap <= 1e-4
        assert solution.gap == pytest.approx((solution.primal - solution.dual) / solution.primal)
        w = solution.coef
        assert 0.5 * w @ w + C * bind(y)(X @ w)[0] == pytest.approx(solution.primal, rel=1e-10)


def test_history_counts_what_was_done():
    X, y = problem()
    objective = bind(y)
    solution = minimise(objective, as_operator(X), 100.0)
    history = solution.history
    assert {values.size for values in history.values()} == {solution.n_iter}
    assert history["oracle_calls"][-1] == objective.n_calls
    # a pass before the first iteration, two in each; in the last the two may be saved, and one
    # is for the objective that is reported
    steps = np.diff(history["passes"], prepend=1)
    assert np.all(steps[:-1] == 2)
    assert steps[-1] in (1, 3)
    parts = history["seconds_oracle"] + history["seconds_qp"] + history["seconds_data"]
    assert np.all(parts <= history["seconds"])


def test_no_scores_are_evaluated_twice():
    X, y = problem()
    objective = bind(y)
    seen = []

    def recording(scores):
        seen.append(scores.round(12).tobytes())
        return objective(scores)

    for C in (0.1, 1.0, 100.0):
        seen.clear()
        minimise(recording, as_operator(X), C)
        # but for the objective that is reported
        assert len(set(seen[:-1])) == len(seen) - 1


class Priced:
    """An objective that says what a call costs, in multiplications of a pass."""

    def __init__(self, objective, work):
        self.objective = objective
        self.work = work

    def __call__(self, scores):
        return self.objective(scores)


@pytest.mark.parametrize("loss", [RankingRisk(), ROCArea()])
def test_line_search_weighs_the_oracle_against_the_data(loss):
    X, y = problem(400, 30, shift=0.3)
    objective = loss.bind(y, Groups.single(400))
    cheap, dear = (
        minimise(Priced(objective, work), as_operator(X), 10.0, tol=1e-4) for work in (1, 10**9)
    )
    assert cheap.status == dear.status == "converged"
    # one call at the start, one an iteration, which the last may save, and one for what is reported
    assert dear.history["oracle_calls"][-1] <= dear.n_iter + 2
    assert cheap.history["oracle_calls"][-1] > cheap.n_iter + 2
    assert dear.history["passes"][-1] > cheap.history["passes"][-1]


def test_same_data_same_weights():
    """What is spent is counted, not timed."""
    X, y = problem()
    first, again = (minimise(bind(y), as_operator(X), 100.0) for _ in range(2))
    assert np.array_equal(first.coef, again.coef)
    assert first.history["oracle_calls"].tolist() == again.history["oracle_calls"].tolist()


def test_max_iter_is_reported():
    X, y = problem()
    solution = minimise(bind(y), as_operator(X), 1e4, max_iter=3)
    assert (solution.status, solution.n_iter) == ("max_iter", 3)
    assert solution.gap > 1e-3


def test_starting_at_the_optimum_takes_less():
    X, y = problem()
    cold = minimise(bind(y), as_operator(X), 1e3)
    warm = minimise(bind(y), as_operator(X), 1e3, start=cold.coef)
    assert warm.n_iter < cold.n_iter
    assert warm.primal <= cold.primal


def always_in_a_subspace(monkeypatch):
    monkeypatch.setattr(_minimise, "WIDE", 1)
    monkeypatch.setattr(_minimise, "PATIENCE", -1)
    monkeypatch.setattr(_minimise, "CHECK_EVERY", 1)


@pytest.mark.parametrize("shape", [(150, 8), (150, 300)])
@pytest.mark.parametrize("C", [1.0, 1e3, 1e5])
def test_subspace_finds_the_same_optimum(monkeypatch, shape, C):
    X, y = problem(*shape, shift=0.1)
    plain = minimise(bind(y), as_operator(X), C, tol=1e-6, max_iter=5000)
    always_in_a_subspace(monkeypatch)
    subspace = minimise(bind(y), as_operator(X), C, tol=1e-6)
    assert subspace.status == "converged"
    assert subspace.n_iter < plain.n_iter
    assert subspace.primal == pytest.approx(plain.primal, rel=2e-6)
    assert subspace.dual <= plain.primal * (1 + 1e-9)
    assert np.all(np.diff(subspace.history["dual"]) >= 0)
    w = subspace.coef
    assert 0.5 * w @ w + C * bind(y)(X @ w)[0] == pytest.approx(subspace.primal, rel=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_coordinates_of_dependent_vectors(seed):
    rng = np.random.default_rng(seed)
    basis = Basis(as_operator(rng.standard_normal((30, 12))))
    for n_columns in (3, 4, 5, 6):
        vectors = rng.standard_normal((12, n_columns)) * 10.0 ** rng.integers(-6, 6, n_columns)
        vectors[:, 1] = 3 * vectors[:, 0]
        vectors[:, 2] = 0 if n_columns == 3 else vectors[:, 0] - vectors[:, 3]
        coordinates, scores = basis.widen(vectors)
        np.testing.assert_allclose(basis.Q.T @ basis.Q, np.eye(basis.size), atol=1e-12)
        norms = np.linalg.norm(vectors, axis=0) + 1e-300
        error = np.linalg.norm(basis.Q @ coordinates - vectors, axis=0) / norms
        assert error.max() < 1e-9
        assert scores.shape[0] == 30
    assert basis.size == 1 + 2 + 3 + 4


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("subspace", [False, True])
def test_single_precision_reports_the_objective_of_its_weights(monkeypatch, order, subspace):
    X, y = problem(150, 60, shift=0.1)
    X[:, 0] += 1e3
    if subspace:
        always_in_a_subspace(monkeypatch)
    single = np.asarray(X, dtype=np.float32, order=order)
    solution = minimise(bind(y), as_operator(single), 100.0, tol=1e-4)
    exact = minimise(bind(y), as_operator(single.astype(np.float64)), 100.0, tol=1e-6)
    w = solution.coef
    primal = 0.5 * w @ w + 100.0 * bind(y)(single.astype(np.float64) @ w)[0]
    assert solution.primal == pytest.approx(primal, rel=1e-9)
    assert solution.dual <= exact.primal * (1 + 1e-9)
    assert solution.primal == pytest.approx(exact.primal, rel=2e-4)


def test_slow_progress_on_wide_data_leads_to_the_subspace():
    X, y = problem(400, 300, share=0.1, shift=0.0)
    solution = minimise(bind(y), as_operator(X), 1e4, tol=1e-2, max_iter=400)
    assert solution.status == "converged"
    calls = np.diff(solution.history["oracle_calls"])
    assert calls[:40].max() <= 8
    assert calls[50:].max() > 20


def test_forecast():
    history = _history.History()
    for k in range(50):
        history.record(1.0, 1 - 0.9**k / 2, 1)
    remaining = history.forecast(1e-6)
    assert remaining == pytest.approx(np.log(1e-6) / np.log(0.9) - 50, abs=10)


class Interrupting:
    """An objective during whose n-th evaluation the user presses Ctrl-C."""

    def __init__(self, objective, after):
        self.objective, self.after = objective, after

    def __call__(self, scores):
        self.after -= 1
        if self.after == 0:
            raise KeyboardInterrupt
        return self.objective(scores)


@pytest.mark.parametrize("subspace", [False, True])
@pytest.mark.parametrize("after", [5, 12, 40])
def test_an_interrupt_keeps_the_best_weights(monkeypatch, subspace, after):
    X, y = problem(150, 300, shift=0.1)
    if subspace:
        always_in_a_subspace(monkeypatch)
    solution = minimise(Interrupting(bind(y), after), as_operator(X), 1e3)
    assert solution.status == "interrupted"
    w = solution.coef
    assert 0.5 * w @ w + 1e3 * bind(y)(X @ w)[0] == pytest.approx(solution.primal, rel=1e-9)
    assert solution.primal <= 1e3 * bind(y)(np.zeros(150))[0]


def test_progress_bar(capsys):
    X, y = problem()
    minimise(bind(y), as_operator(X), 10.0, verbose=1, description="class 1")
    shown = capsys.readouterr().err
    assert "class 1" in shown
    assert "gap=" in shown
    assert "objective=" in shown


def test_hinge_equals_cvxpy():
    X, y = problem(60, 5)
    t = np.where(y, 1.0, -1.0)
    w = cp.Variable(5)
    risk = cp.sum(cp.pos(1 - cp.multiply(t, X @ w))) / 60
    full = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + 20 * risk))
    full.solve(solver="CLARABEL")
    solution = minimise(Hinge().bind(y, Groups.single(60)), as_operator(X), 20.0, tol=1e-7)
    assert solution.primal == pytest.approx(full.value, rel=1e-6)


def test_lowest_point_of_a_parabola_and_two_lines():
    rng = np.random.default_rng(0)
    for _ in range(300):
        linear, left = rng.normal(), (rng.normal(), rng.normal())
        curvature = rng.random() + 0.01
        right = (rng.normal(), left[1] + 3 * rng.random())
        u, value = _lowest(linear, curvature, left, right)
        grid = u + np.linspace(-3, 3, 2001)
        lines = np.maximum(left[0] + grid * left[1], right[0] + grid * right[1])
        assert value <= (linear * grid + curvature * grid**2 / 2 + lines).min() + 1e-12
        u, value = _lowest(linear, curvature, left, None)
        parabola = linear * grid + curvature * grid**2 / 2 + left[0] + grid * left[1]
        assert value <= parabola.min() + 1e-12
    assert _lowest(1.0, 0.0, (2.0, 0.0), None) == (0.0, 2.0)


class Kinks:
    """A convex function of one score, piecewise linear, that remembers where it was asked."""

    def __init__(self, rng):
        self.slopes = rng.normal(size=6) * rng.choice([0.1, 1.0, 30.0], size=6)
        self.slopes[:2] = -1.0, 1.0
        self.offsets = rng.normal(size=6)
        self.seen = []
        i, j = np.triu_indices(6, 1)
        kinks = (self.offsets[j] - self.offsets[i]) / (self.slopes[i] - self.slopes[j])
        self.lowest = 0.0
        self.lowest = -min(self.value(kink) for kink in kinks)

    def __call__(self, scores):
        self.seen.append(scores[0])
        lines = self.offsets + self.slopes * scores[0]
        return self.value(scores[0]), self.slopes[[lines.argmax()]]

    def value(self, score):
        return float(self.lowest + np.max(self.offsets + self.slopes * score))


def test_line_search_gives_the_lowest_point_tried():
    rng = np.random.default_rng(0)
    not_the_last = 0
    for _ in range(300):
        objective = Kinks(rng)
        solver = CuttingPlanes(
            objective, as_operator(np.ones((1, 1))), 1.0, make_qp("auto"), History(), None
        )
        solver.objective = Priced(objective, 1)
        solver.reach = reach = rng.uniform(NEAREST, FURTHEST)
        objective.seen.clear()
        to = rng.normal(size=1) * 10.0
        point = solver.line_search(to, to)
        steps = np.array(objective.seen) / to
        heights = [0.5 * s * s + objective.value(s) for s in objective.seen]
        assert point.primal == pytest.approx(min(heights), rel=1e-12)
        assert solver.primal <= point.primal
        not_the_last += heights[-1] > min(heights)
        # it begins where the last one led to, and goes on in strides
        assert steps[0] == pytest.approx(reach)
        assert np.all(steps[1:] <= STRIDE * steps[:-1] * (1 + 1e-12))
        grid = np.linspace(0.0, 1.5, 1501)
        curve = [0.5 * s * s + objective.value(s) for s in grid * to]
        minimum = grid[np.argmin(curve)]
        # the next one begins further on, or nearer, as the minimum is
        if minimum == 0.0 or minimum > 1.01 * max(*steps, reach):
            factor = SHORTER if minimum == 0.0 else LONGER
            assert solver.reach == pytest.approx(min(max(factor * reach, NEAREST), FURTHEST))
    assert not_the_last > 0


def test_line_search_ends_where_a_constraint_would_break():
    signs = np.array([1.0, 0.0])
    X = np.ones((2, 1))
    solver = ConstrainedPlanes(
        lambda scores: (0.0, np.zeros(2)),
        as_operator(X),
        1.0,
        make_qp("auto"),
        History(),
        np.array([1.2]),
        signs,
    )
    assert solver.reach > 0.2 / 1.2
    solver.advance(np.zeros(1), np.zeros(2))
    assert solver.best.w == pytest.approx(1.0, abs=1e-5)


def test_hard_constraints_need_a_start_that_respects_them():
    X, y = problem()
    signs = np.where(np.arange(y.size) < 3, 1.0, 0.0)
    for start in (None, np.zeros(X.shape[1])):
        with pytest.raises(ValueError, match="the start has margins down to 0"):
            minimise(bind(y), as_operator(X), 1.0, start=start, signs=signs)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize("part", ["value", "gradient"])
def test_a_loss_that_is_not_finite_ends_the_fit(wrong, part):
    X, y = problem()
    objective = bind(y)

    def failing(scores):
        value, gradient = objective(scores)
        if objective.n_calls < 8:
            return value, gradient
        return (wrong, gradient) if part == "value" else (value, wrong * gradient)

    with np.errstate(invalid="ignore"):
        solution = minimise(failing, as_operator(X), 1e3)
    assert solution.status == "failed"
    assert "loss" in solution.reason
    assert solution.gap > 0


def test_errors_of_a_loss_are_not_hidden():
    X, _ = problem()
    with pytest.raises(ValueError, match="never below zero"):
        minimise(lambda scores: (-1.0, np.zeros(scores.size)), as_operator(X), 1.0)
    with pytest.raises(ZeroDivisionError):
        minimise(lambda scores: (1 / 0, scores), as_operator(X), 1.0)


@pytest.mark.parametrize("scale", [1e3, 1e6, 3e6])
def test_one_large_column(scale):
    """The planes' normals cancel along it to many digits."""
    X, y = problem(d=4)
    for seed in range(4):
        X[:, 3] = scale * np.random.default_rng(seed).standard_normal(y.size)
        solution = minimise(bind(y), as_operator(X), 10.0, max_iter=100)
        assert solution.status == "converged"


def test_one_column_too_large():
    """At 1e7 rounding in the normals decides how many iterations it takes; the gap still holds."""
    X, y = problem(d=4)
    for seed in range(4):
        X[:, 3] = 1e7 * np.random.default_rng(seed).standard_normal(y.size)
        solution = minimise(bind(y), as_operator(X), 10.0, max_iter=100)
        assert solution.gap < 0.03
