"""Every oracle against enumeration, against the other oracles, and against what must hold."""

import ctypes
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import reference
from cases import ROUTES, SOLVERS, bind, random_case, small_cases, split, tolerance
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from skrank._groups import Groups
from skrank.losses import AveragePrecision, Hinge, _average_precision


@pytest.mark.parametrize("solver", SOLVERS)
class TestAgainstEnumeration:
    @given(case=small_cases())
    @example(case=(np.array([True, False]), np.zeros(2)))
    @example(case=(np.array([False, True]), np.array([1e12, -1e12])))
    def test_value_and_gradient(self, solver, case):
        y, scores = case
        values, gradients = reference.violations(y, scores)
        best = values.max()
        value, gradient = bind(solver, y)(scores)
        assert value == pytest.approx(best, abs=tolerance(scores))
        shared = np.array([reference.average_ties(y, scores, g) for g in gradients])
        maximal = shared[values > best - 1e-9 * max(1.0, np.abs(scores).max())]
        if np.ptp(maximal, axis=0).max() < 1e-12:
            assert_allclose(gradient, maximal[0], atol=1e-13)

    @given(case=small_cases(max_rows=6), other=st.lists(st.floats(-9, 9), min_size=6, max_size=6))
    def test_subgradient(self, solver, case, other):
        y, scores = case
        _, gradient = bind(solver, y)(scores)
        best = reference.violations(y, scores)[0].max()
        there = np.array(other[: y.size])
        bound = best + gradient @ (there - scores)
        assert reference.violations(y, there)[0].max() >= bound - 10 * tolerance(scores, there)


@given(case=small_cases(max_rows=5))
def test_interleavings_suffice(case):
    y, scores = case
    best = reference.violations(y, scores)[0].max()
    best_of_all = reference.violations(y, scores, reference.all_rankings)[0].max()
    assert best == pytest.approx(best_of_all, abs=tolerance(scores))


class TestAgreement:
    @pytest.mark.parametrize(
        ("n_cases", "max_rows", "max_lists"), [(1600, 30, 5), (400, 200, 40), (12, 4000, 3)]
    )
    def test_all_solvers(self, n_cases, max_rows, max_lists):
        rng = np.random.default_rng(max_rows)
        for _ in range(n_cases):
            y, groups, scores = random_case(rng, max_rows, max_lists)
            results = [bind(solver, y, groups)(scores) for solver in SOLVERS]
            for value, gradient in results[1:]:
                assert value == pytest.approx(results[0][0], abs=10 * tolerance(scores))
                assert_allclose(gradient, results[0][1], atol=1e-13)

    def test_ranks_that_change_inside_ties(self):
        # scores so close that ranks change with the position alone, at j near the ones drawn
        rng = np.random.default_rng(0)
        for _ in range(600):
            n_pos, n_neg = int(rng.integers(1, 6)), int(rng.integers(5, 300))
            y = np.arange(n_pos + n_neg) < n_pos
            scores = np.empty(y.size)
            j = rng.integers(1, n_neg, size=n_pos)
            scores[y] = n_neg / 2 / (j * (j + np.sqrt(0.2)))
            scores[~y] = -1e-6 * np.sqrt(2.0) * rng.integers(0, rng.integers(1, 12), size=n_neg)
            value, gradient = bind("greedy", y)(scores)
            for solver in SOLVERS:
                other_value, other_gradient = bind(solver, y)(scores)
                assert other_value == pytest.approx(value, abs=tolerance(scores))
                assert_allclose(other_gradient, gradient, atol=1e-13)

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_order_of_rows(self, solver):
        rng = np.random.default_rng(1)
        for _ in range(150):
            y, groups, scores = random_case(rng, 60, 4)
            value, gradient = bind(solver, y, groups)(scores)
            order = rng.permutation(y.size)
            shuffled = Groups.from_qid(groups.codes()[order], y.size)
            other_value, other_gradient = bind(solver, y[order], shuffled)(scores[order])
            assert other_value == pytest.approx(value, abs=tolerance(scores))
            assert_array_equal(other_gradient, gradient[order])

    @pytest.mark.parametrize("route", ROUTES)
    def test_expectation_never_shows(self, route):
        rng = np.random.default_rng(2)
        for n_rows, max_lists in [(300, 1), (3000, 20)]:
            y, groups, _ = random_case(rng, n_rows, max_lists)
            objective = bind(f"auto-{route}", y, groups)
            for k in range(60):
                scores = rng.standard_normal(y.size) + rng.choice([-5.0, 0.0, 1.0, 5.0]) * y
                scores *= 10.0 ** rng.integers(-9, 9)
                value, gradient = objective(scores)
                fresh = bind(f"auto-{route}", y, groups)
                fresh_value, fresh_gradient = fresh(scores)
                assert value == fresh_value
                assert_array_equal(gradient, fresh_gradient)
                assert objective.n_active == fresh.n_active
                assert objective.n_calls == k + 1


@pytest.mark.parametrize("solver", SOLVERS)
class TestProperties:
    @pytest.fixture
    def cases(self):
        rng = np.random.default_rng(3)
        return [random_case(rng, 120, 6) for _ in range(60)]

    def test_convex_along_segments(self, solver, cases):
        rng = np.random.default_rng(4)
        for y, groups, start in cases:
            objective = bind(solver, y, groups)
            end = rng.permutation(start) + rng.standard_normal(y.size)
            steps = np.linspace(0.0, 1.0, 9)
            values = [objective(start + t * (end - start))[0] for t in steps]
            assert np.diff(values, 2).min() >= -10 * tolerance(start, end)

    def test_gradient_bounds_from_below(self, solver, cases):
        rng = np.random.default_rng(5)
        for y, groups, scores in cases:
            objective = bind(solver, y, groups)
            value, gradient = objective(scores)
            for there in (scores + rng.standard_normal(y.size), rng.permutation(scores)):
                bound = value + gradient @ (there - scores)
                assert objective(there)[0] >= bound - 10 * tolerance(scores, there)

    def test_value_is_not_negative(self, solver, cases):
        for y, groups, scores in cases:
            assert bind(solver, y, groups)(scores)[0] >= -tolerance(scores)

    def test_bounds_the_loss(self, solver, cases):
        for y, groups, scores in cases:
            scores = scores + 1e-9 * np.arange(y.size) * np.abs(scores).max()
            losses = [
                reference.average_precision_loss(y[rows[np.argsort(-scores[rows])]])
                for rows in split(groups)
                if 0 < y[rows].sum() < rows.size
            ]
            value, _ = bind(solver, y, groups)(scores)
            assert value >= np.mean(losses) - tolerance(scores)

    def test_gradient_sums_to_zero_in_each_list(self, solver, cases):
        for y, groups, scores in cases:
            _, gradient = bind(solver, y, groups)(scores)
            for rows in split(groups):
                assert gradient[rows].sum() == pytest.approx(0.0, abs=1e-13)

    def test_largest_of_equally_good_ranks(self, solver):
        # four negatives: the first gains exactly 1/2 - (2/4) (1 - 0) = 0 by standing on top
        y = np.arange(5) < 1
        objective = bind(solver, y)
        value, gradient = objective(1.0 * y)
        assert value == 0.0
        assert_array_equal(gradient, 0.0)
        assert objective.n_active == 0

    def test_perfect_and_reversed(self, solver):
        y = np.arange(50) < 20
        value, gradient = bind(solver, y)(1e3 * y)
        assert value == 0.0
        assert_array_equal(gradient, 0.0)
        objective = bind(solver, y)
        value, gradient = objective(-1e3 * y)
        assert value > 2e3
        assert_allclose(gradient, np.where(y, -2 / 20, 2 / 30))
        assert objective.n_active == 30


@pytest.mark.parametrize("solver", [*SOLVERS, "hinge"])
class TestScoresOutOfRange:
    @pytest.fixture
    def objective(self, solver):
        y = np.arange(6) < 2
        return Hinge().bind(y, Groups.single(6)) if solver == "hinge" else bind(solver, y)

    @pytest.mark.parametrize("row", [0, 4])
    @pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e308, -1e308])
    def test_not_finite(self, objective, row, value):
        scores = np.linspace(0.0, 1.0, 6)
        scores[row] = value
        with pytest.raises(FloatingPointError, match="must be finite"):
            objective(scores)

    @pytest.mark.parametrize("shape", [(2,), (20,), (6, 1), ()])
    def test_wrong_shape(self, objective, shape):
        with pytest.raises(ValueError, match="bound to 6 rows"):
            objective(np.zeros(shape))

    def test_the_largest_that_are_allowed(self, objective):
        value, gradient = objective(np.array([-1e300, 1e300, 1e300, 0.0, -1e300, 1e300]))
        assert np.isfinite(value)
        assert np.all(np.isfinite(gradient))


class TestLists:
    @pytest.mark.parametrize("solver", SOLVERS)
    def test_mean_over_lists_with_both_classes(self, solver):
        rng = np.random.default_rng(6)
        groups = Groups.from_qid(rng.integers(0, 12, size=90), 90)
        y = rng.random(90) < 0.4
        for rows in split(groups):
            y[rows[:2]] = [True, False]
        y[split(groups)[0]] = True
        y[split(groups)[1]] = False
        scores = rng.standard_normal(90)
        objective = bind(solver, y, groups)
        value, gradient = objective(scores)
        alone = [
            bind(solver, y, Groups(rows, np.array([0, rows.size])))(scores)
            for rows in split(groups)[2:]
        ]
        assert (objective.n_queries, objective.n_skipped) == (10, 2)
        assert value == pytest.approx(np.mean([value for value, _ in alone]))
        assert_allclose(gradient, np.mean([gradient for _, gradient in alone], axis=0), atol=1e-15)

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_weights(self, solver):
        rng = np.random.default_rng(7)
        y = np.tile([True, False, False], 20)
        groups = Groups.from_qid(rng.permutation(np.repeat([0, 1, 2], 20)), 60)
        scores = rng.standard_normal(60)
        weight = np.array([1.0, 2.0, 5.0])
        alone = [
            bind(solver, y, groups, list_weight=np.arange(3) == q)(scores)[0] for q in range(3)
        ]
        value, _ = bind(solver, y, groups, list_weight=weight)(scores)
        assert value == pytest.approx(np.average(alone, weights=weight))

    @pytest.mark.parametrize("solver", SOLVERS)
    def test_subset_of_rows(self, solver):
        rng = np.random.default_rng(8)
        y = rng.random(80) < 0.3
        rows = rng.permutation(80)[:50]
        scores = rng.standard_normal(80)
        value, gradient = bind(solver, y, Groups(rows, np.array([0, 20, 50])))(scores)
        part = Groups(np.arange(50), np.array([0, 20, 50]))
        part_value, part_gradient = bind(solver, y[rows], part)(scores[rows])
        assert value == pytest.approx(part_value)
        assert_array_equal(gradient[rows], part_gradient)
        assert_array_equal(np.delete(gradient, rows), 0.0)

    def test_long_and_short_lists_together(self):
        rng = np.random.default_rng(9)
        sizes = np.array([3, 900, 40, 2000, 7])
        y = rng.random(sizes.sum()) < 0.3
        y[:2] = [True, False]
        groups = Groups.from_qid(np.repeat(np.arange(5), sizes), y.size)
        scores = np.round(rng.standard_normal(y.size), 1) * np.sqrt(2.0)
        value, gradient = AveragePrecision().bind(y, groups)(scores)
        greedy_value, greedy_gradient = AveragePrecision("greedy").bind(y, groups)(scores)
        assert value == pytest.approx(greedy_value)
        assert_allclose(gradient, greedy_gradient, atol=1e-13)

    def test_arrays_need_not_be_writable(self):
        y, groups, scores = random_case(np.random.default_rng(10), 50)
        expected, _ = AveragePrecision().bind(y, groups)(scores)
        for array in (y, groups.rows, groups.pointers, scores):
            array.flags.writeable = False
        assert AveragePrecision().bind(y, groups)(scores)[0] == expected

    def test_threads_may_call_objectives_of_their_own_at_once(self):
        y, groups, scores = random_case(np.random.default_rng(11), 3000, 100)
        objectives = [bind("auto-parallel", y, groups) for _ in range(8)]
        with ThreadPoolExecutor(4) as pool:
            values = list(pool.map(lambda objective: objective(scores)[0], objectives))
        assert len(set(values)) == 1


@pytest.mark.parametrize("solver", [name for name in SOLVERS if name not in ("greedy", "dynamic")])
def test_ties_are_not_quadratic(solver):
    # some 10^12 steps, and so the better part of an hour, if they were
    n, n_pos = 1_000_000, 500
    y = np.arange(n) % (n // n_pos) == 0
    value, gradient = bind(solver, y)(np.zeros(n))
    n_neg = n - n_pos
    assert value == pytest.approx(np.mean(n_neg / (np.arange(1, n_pos + 1) + n_neg)))
    assert_allclose(gradient, np.where(y, -2 / n_pos, 2 / n_neg))


class TestErrors:
    def test_no_list_with_both_classes(self):
        y = np.array([True, True, False])
        with pytest.raises(ValueError, match="None of the 2 lists given has rows of different"):
            AveragePrecision().bind(y, Groups.from_qid([0, 0, 1], 3))

    def test_weights_of_the_lists_that_count(self):
        y = np.array([True, True, False])
        with pytest.raises(ValueError, match="list_weight"):
            AveragePrecision().bind(y, Groups.from_qid([0, 1, 1], 3), np.array([1.0, 0.0]))
        with pytest.raises(ValueError, match=r"shape \(1,\), but there are 2 lists"):
            AveragePrecision().bind(y, Groups.from_qid([0, 1, 1], 3), np.array([1.0]))

    def test_unknown_algorithm(self):
        with pytest.raises(ValueError, match=r"'fast'.*auto, quicksort, select"):
            AveragePrecision("fast").bind(np.array([True, False]), Groups.single(2))

    @pytest.mark.parametrize("loss", [AveragePrecision(), Hinge()])
    def test_arguments_of_the_wrong_kind(self, loss):
        y = np.array([True, False])
        with pytest.raises(ValueError, match=r"dtype int64 and shape \(2,\), but .* boolean"):
            loss.bind(np.array([1, -1]), Groups.single(2))
        with pytest.raises(ValueError, match=r"shape \(2, 1\)"):
            loss.bind(y[:, None])
        with pytest.raises(TypeError, match=r"groups is of type list.*Groups.from_qid"):
            loss.bind(y, [0, 0])
        with pytest.raises(ValueError, match="rows from 0 to 2, but y has 2 rows"):
            loss.bind(y, Groups.single(3))
        with pytest.raises(ValueError, match="rows more than once"):
            loss.bind(y, Groups(np.array([0, 1, 0]), np.array([0, 3])))

    @pytest.mark.parametrize("loss", [AveragePrecision(), Hinge()])
    def test_one_list_by_default(self, loss):
        y, scores = np.array([True, False, True]), np.array([0.1, 0.3, -0.2])
        value, gradient = loss.bind(y)(scores)
        expected_value, expected_gradient = loss.bind(y, Groups.single(3))(scores)
        assert value == expected_value
        assert_array_equal(gradient, expected_gradient)

    def test_hinge_without_rows(self):
        with pytest.raises(ValueError, match="no rows"):
            Hinge().bind(np.zeros(0, dtype=bool), Groups.single(0))


def test_step_is_the_difference_of_costs():
    table = (ctypes.c_double * 1)()
    for i in range(1, 40):
        for j in range(1, 60):
            after, before = (_average_precision.cost.ctypes(n, i, 0, 0, table) for n in (j, j - 1))
            step = _average_precision.step.ctypes(j, i, 0, 0, table)
            assert step == pytest.approx(after - before, abs=1e-15)


class TestHinge:
    def test_against_the_definition(self):
        rng = np.random.default_rng(12)
        y = rng.random(70) < 0.4
        scores = 2.0 * rng.standard_normal(70)
        sign = np.where(y, 1.0, -1.0)
        value, gradient = Hinge().bind(y, Groups.single(70))(scores)
        assert value == pytest.approx(np.maximum(0.0, 1.0 - sign * scores).mean())
        assert_allclose(gradient, np.where(sign * scores < 1.0, -sign / 70, 0.0))

    def test_subset_of_rows(self):
        y = np.array([True, False, True, False])
        scores = np.array([0.5, 9.0, -1.0, 0.0])
        value, gradient = Hinge().bind(y, Groups(np.array([3, 0]), np.array([0, 2])))(scores)
        assert value == pytest.approx((0.5 + 1.0) / 2)
        assert_array_equal(gradient, [-0.5, 0.0, 0.0, 0.5])
