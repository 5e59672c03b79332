"""NDCG and losses of one's own against enumeration; what is checked of them and what is refused."""

import pickle
from functools import partial
from itertools import permutations

import numba
import numpy as np
import pytest
import reference
from cases import ROUTES, bind, random_case, small_cases, split, tolerance
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from skrank._groups import Groups
from skrank.losses import (
    NDCG,
    AveragePrecision,
    PositionLoss,
    PrecisionAtK,
    QSLoss,
    ReciprocalRank,
    ROCArea,
    _own,
)

AUTO = [f"auto-{route}" for route in ROUTES]
QS = [*AUTO, "quicksort", "greedy", "dynamic"]
ANY = [*AUTO, "dynamic"]
GAINS = {"exponential": lambda y: 2.0**y - 1.0, "linear": float}


def log_discount(place):
    return 1.0 / np.log2(1.0 + place)


def chakrabarti(places):
    """Equal for the first two places, and so not convex."""
    return 1.0 / np.log2(np.maximum(places, 2.0))


def ap_increment(j, i, n_pos, n_neg):
    return (j / (i + j) - (j - 1) / (i + j - 1)) / n_pos


def ap_cost(i, j, n_pos, n_neg):
    return j / (i + j) / n_pos


def dcg_cost(i, j):
    return 1.0 / np.log2(1.0 + i) - 1.0 / np.log2(1.0 + i + j)


def jagged_cost(i, j):
    """Neither concave nor monotone, with a cost of its own for no negatives at all."""
    return 0.5 + (((3 * i + 5 * j) % 7) / 7.0 if j > 0 else 0.0)


def median_cost(i, j, n_pos, n_neg):
    """The loss is one if the middle positive stands below the middle of the list."""
    return 1.0 if 2 * i == n_pos + n_pos % 2 and 2 * (i + j) > n_pos + n_neg + 1 else 0.0


def convex_increment(j, i, n_pos, n_neg):
    """Rises at j = 3, for the second positive."""
    return 0.3 if i == 2 and j >= 3 else 0.2


def cost_of(function):
    """With four arguments."""
    return lambda i, j, p, n: function(i, j)


def precision_cost(k):
    return lambda i, j, p, n: (1.0 / min(k, p) - (i + j <= k) / k) if i <= k else 0.0


# loss, costs by the definition, and ways to solve it
OWN = {
    "AP by increments": (QSLoss(ap_increment), ap_cost, QS),
    "AP by costs": (PositionLoss(ap_cost), ap_cost, QS),
    "DCG": (PositionLoss(dcg_cost), cost_of(dcg_cost), QS),
    "reciprocal rank": (ReciprocalRank(), lambda i, j, p, n: (i == 1) * j / (1 + j), QS),
    "ROC area": (ROCArea(), lambda i, j, p, n: j / (p * n), QS),
    "precision at 1": (PrecisionAtK(1), precision_cost(1), QS),
    "precision at 2": (PrecisionAtK(2), precision_cost(2), ANY),
    "precision at 4": (PrecisionAtK(4), precision_cost(4), ANY),
    "precision at 20": (PrecisionAtK(20), precision_cost(20), ANY),
    "jagged": (PositionLoss(jagged_cost), cost_of(jagged_cost), ANY),
    "median": (PositionLoss(median_cost), median_cost, ANY),
}
OWN_SOLVERS = [(name, solver) for name, (_, _, solvers) in OWN.items() for solver in solvers]


def best_violation(y, scores, loss, rankings=reference.interleavings):
    return reference.violations(y, scores, rankings, loss)[0].max()


def is_subgradient(objective, value, gradient, scores, seed):
    """Whether the plane stays below the objective at other points."""
    rng = np.random.default_rng(seed)
    for there in (scores + rng.standard_normal(scores.size), rng.permutation(scores)):
        bound = value + gradient @ (there - scores)
        if objective(there)[0] < bound - 10 * tolerance(scores, there):
            return False
    return True


class TestBinaryNDCG:
    @pytest.mark.parametrize("solver", QS)
    @given(case=small_cases(max_rows=7))
    def test_enumeration(self, solver, case):
        y, scores = case
        best = best_violation(y, scores, reference.discount_loss(log_discount))
        objective = bind(solver, y, loss=NDCG())
        value, gradient = objective(scores)
        assert value == pytest.approx(best, abs=tolerance(scores))
        assert is_subgradient(objective, value, gradient, scores, 0)

    @pytest.mark.parametrize("k", [1, 2, 3, 6])
    @pytest.mark.parametrize("solver", ANY)
    @settings(max_examples=60)
    @given(case=small_cases(max_rows=7))
    def test_cut_off(self, k, solver, case):
        y, scores = case
        loss = reference.discount_loss(lambda place: log_discount(place) * (place <= k))
        objective = bind(solver, y, loss=NDCG(k=k))
        value, gradient = objective(scores)
        assert value == pytest.approx(best_violation(y, scores, loss), abs=tolerance(scores))
        assert is_subgradient(objective, value, gradient, scores, 1)

    @given(case=small_cases(max_rows=6), k=st.integers(1, 6))
    def test_interleavings_suffice(self, case, k):
        y, scores = case
        loss = reference.discount_loss(lambda place: log_discount(place) * (place <= k))
        best = best_violation(y, scores, loss)
        assert best == pytest.approx(
            best_violation(y, scores, loss, reference.all_rankings), abs=tolerance(scores)
        )

    @pytest.mark.parametrize("solver", ANY)
    @given(case=small_cases(max_rows=7))
    def test_discount_that_is_not_convex(self, solver, case):
        y, scores = case
        loss = reference.discount_loss(chakrabarti)
        value, _ = bind(solver, y, loss=NDCG(discount=chakrabarti))(scores)
        assert value == pytest.approx(best_violation(y, scores, loss), abs=tolerance(scores))

    def test_counter_example_of_the_paper(self):
        # negatives at 3e and e, the positive at 5e: ranks found one by one would be (2, 1)
        y, scores = np.array([False, False, True]), 1e-3 * np.array([3.0, 1.0, 5.0])
        best = best_violation(y, scores, reference.discount_loss(chakrabarti))
        value, gradient = NDCG(discount=chakrabarti).bind(y)(scores)
        assert value == pytest.approx(best, abs=1e-15)
        assert_allclose(gradient, [1.0, 1.0, -2.0])
        for algorithm in ("quicksort", "greedy"):
            with pytest.raises(ValueError, match=r"not convex.*auto, dynamic"):
                NDCG(discount=chakrabarti, algorithm=algorithm).bind(y)
        # the quick way would put the second negative alone above the positive, which is no ranking
        convex = PositionLoss(dcg_cost).bind(y)
        assert convex._reach == -1
        assert NDCG(discount=chakrabarti).bind(y)._reach > 0

    @pytest.mark.parametrize(
        "discount",
        [lambda p: 1.0 / p, lambda p: np.exp(-0.1 * p), lambda p: np.maximum(9.0 - p, 0)],
    )
    @pytest.mark.parametrize("solver", QS)
    @settings(max_examples=25)
    @given(case=small_cases(max_rows=6))
    def test_other_convex_discounts(self, discount, solver, case):
        y, scores = case
        value, _ = bind(solver, y, loss=NDCG(discount=discount))(scores)
        best = best_violation(y, scores, reference.discount_loss(discount))
        assert value == pytest.approx(best, abs=tolerance(scores))

    def test_long_lists_are_convex_in_spite_of_rounding(self):
        y = np.arange(3_000_000) % 100_000 == 0
        assert NDCG().bind(y)._reach == -1

    @pytest.mark.parametrize(
        ("discount", "message"),
        [
            ("log", r"Unknown discount 'log'"),
            (lambda p: p, r"rises from 1 at place 1 to 2 at place 2"),
            (lambda p: -p, "negative or not finite"),
            (lambda p: 0 * p, "zero for the first"),
            (lambda p: p[:-1], "one discount for each place"),
        ],
    )
    def test_wrong_discounts(self, discount, message):
        with pytest.raises(ValueError, match=message):
            NDCG(discount=discount).bind(np.array([True, False, False]))


@st.composite
def graded_cases(draw, max_rows=6):
    n = draw(st.integers(2, max_rows))
    grades = np.array(draw(st.lists(st.sampled_from([0.0, 1.0, 2.0, 4.0]), min_size=n, max_size=n)))
    if np.ptp(grades) == 0.0:
        grades[0] += 1.0
    score = st.sampled_from([st.integers(-2, 2).map(float), st.floats(-4.0, 4.0)])
    scores = np.array(draw(st.lists(draw(score), min_size=n, max_size=n)))
    return grades, draw(st.sampled_from([0.1, 1.0, np.sqrt(2.0), 1e6])) * scores


class TestGradedNDCG:
    @given(case=graded_cases(max_rows=5), k=st.integers(1, 6), gain=st.sampled_from([*GAINS]))
    def test_loss_is_a_combination_of_binary_ones(self, case, k, gain):
        grades, _ = case

        def discount(place):
            return log_discount(place) * (place <= k)

        parts = reference.graded_parts(grades, GAINS[gain], discount)
        assert sum(weight for weight, _ in parts) == pytest.approx(1.0)
        binary = reference.discount_loss(discount)
        for ranking in permutations(range(grades.size)):
            order = list(ranking)
            combined = sum(weight * binary(y[order]) for weight, y in parts)
            whole = reference.ndcg_loss(grades[order].tolist(), GAINS[gain], discount)
            assert combined == pytest.approx(whole, abs=1e-12)

    @pytest.mark.parametrize("gain", GAINS)
    @pytest.mark.parametrize("k", [None, 1, 2, 3])
    @pytest.mark.parametrize("solver", AUTO)
    @settings(max_examples=50)
    @given(case=graded_cases())
    def test_enumeration(self, gain, k, solver, case):
        grades, scores = case

        def discount(place):
            return log_discount(place) * (k is None or place <= k)

        best = sum(
            weight * best_violation(y, scores, reference.discount_loss(discount))
            for weight, y in reference.graded_parts(grades, GAINS[gain], discount)
            if not y.all()
        )
        objective = bind(solver, grades, loss=NDCG(k=k, gain=gain))
        value, gradient = objective(scores)
        assert value == pytest.approx(best, abs=10 * tolerance(scores))
        assert is_subgradient(objective, value, gradient, scores, 2)

    @pytest.mark.parametrize("solver", QS)
    def test_all_ways_agree_on_many_lists(self, solver):
        rng = np.random.default_rng(0)
        for _ in range(60):
            _, groups, scores = random_case(rng, 150, 8)
            grades = rng.integers(0, 5, size=scores.size)
            value, gradient = bind("auto-short", grades, groups, NDCG())(scores)
            other_value, other_gradient = bind(solver, grades, groups, NDCG())(scores)
            assert other_value == pytest.approx(value, abs=10 * tolerance(scores))
            assert_allclose(other_gradient, gradient, atol=1e-13)

    @pytest.mark.parametrize("k", [None, 4])
    @pytest.mark.parametrize("solver", AUTO)
    def test_bounds_the_loss_and_sums_to_zero(self, k, solver):
        rng = np.random.default_rng(1)
        for _ in range(40):
            _, groups, scores = random_case(rng, 80, 5)
            grades = rng.integers(0, 4, size=scores.size).astype(float)
            loss = NDCG(k=k)
            try:
                objective = bind(solver, grades, groups, loss)
            except ValueError:  # lists of one row only
                continue
            value, gradient = objective(scores)
            losses = loss.loss_of_each_list(grades, scores, groups)
            graded = [np.ptp(grades[rows]) > 0 for rows in split(groups)]
            assert value >= losses[graded].mean() - tolerance(scores)
            for rows in split(groups):
                assert gradient[rows].sum() == pytest.approx(0.0, abs=1e-13)

    @pytest.mark.parametrize("solver", AUTO)
    def test_order_of_rows(self, solver):
        rng = np.random.default_rng(2)
        for _ in range(60):
            _, groups, scores = random_case(rng, 60, 4)
            grades = rng.integers(0, 4, size=scores.size)
            value, gradient = bind(solver, grades, groups, NDCG(k=7))(scores)
            order = rng.permutation(scores.size)
            shuffled = Groups.from_qid(groups.codes()[order], scores.size)
            other_value, other = bind(solver, grades[order], shuffled, NDCG(k=7))(scores[order])
            assert other_value == pytest.approx(value, abs=tolerance(scores))
            assert_allclose(other, gradient[order], atol=1e-15)

    def test_two_grades_are_the_binary_case(self):
        y, groups, scores = random_case(np.random.default_rng(3), 200, 6)
        expected = NDCG().bind(y, groups)(scores)
        for grades in (3 * y, 0.5 * y, y.astype(np.int8)):
            value, gradient = NDCG().bind(grades, groups)(scores)
            assert value == pytest.approx(expected[0])
            assert_allclose(gradient, expected[1])

    def test_lowest_grade_above_zero(self):
        # what all rows have can neither be gained nor lost, but has its part in the ideal
        grades, scores = np.array([2, 1, 1]), np.zeros(3)
        value, _ = NDCG().bind(grades)(scores)
        weight, y = reference.graded_parts(
            grades.astype(float), GAINS["exponential"], log_discount
        )[1]
        best = best_violation(y, scores, reference.discount_loss(log_discount))
        assert value == pytest.approx(weight * best)
        assert weight < 0.5

    def test_weights_and_queries_without_anything_to_rank(self):
        rng = np.random.default_rng(4)
        grades = rng.integers(0, 3, size=60)
        qid = np.repeat(np.arange(6), 10)
        grades[qid == 0], grades[qid == 1] = 0, 2
        scores = rng.standard_normal(60)
        groups = Groups.from_qid(qid, 60)
        objective = NDCG().bind(grades, groups)
        assert (objective.n_queries, objective.n_skipped) == (4, 2)
        weight = np.array([5.0, 5.0, 1.0, 2.0, 0.0, 4.0])
        value, gradient = NDCG().bind(grades, groups, weight)(scores)
        alone = [
            NDCG().bind(grades, Groups(rows, np.array([0, 10])))(scores)
            for rows in np.split(groups.rows, 6)[2:]
        ]
        share = weight[2:] / weight[2:].sum()
        assert value == pytest.approx(sum(v * s for (v, _), s in zip(alone, share, strict=True)))
        assert_allclose(gradient, sum(g * s for (_, g), s in zip(alone, share, strict=True)))

    @pytest.mark.parametrize(
        ("y", "message"),
        [
            ([0, -1], "must be finite and not negative"),
            ([0, np.nan], "must be finite and not negative"),
            (["a", "b"], "relevance is given by numbers"),
            ([[0, 1]], "one number for each row"),
            ([0, 2000], "gain='linear' or smaller grades"),
            ([1, 1], "rows of different relevance"),
        ],
    )
    def test_wrong_grades(self, y, message):
        with pytest.raises(ValueError, match=message):
            NDCG().bind(np.array(y))

    def test_wrong_parameters(self):
        y = np.array([2, 1, 0])
        with pytest.raises(ValueError, match="k=0"):
            NDCG(k=0).bind(y)
        with pytest.raises(TypeError, match="whole number"):
            NDCG(k=1.5).bind(y)
        with pytest.raises(ValueError, match=r"Unknown gain.*exponential, linear"):
            NDCG(gain="cubic").bind(y)
        with pytest.raises(ValueError, match=r"'search' does not serve this loss"):
            NDCG(algorithm="search").bind(y)
        with pytest.raises(ValueError, match=r"cut-off is not convex"):
            NDCG(k=2, algorithm="greedy").bind(y)


@pytest.mark.parametrize(("name", "solver"), OWN_SOLVERS)
@settings(max_examples=50)
@given(case=small_cases(max_rows=7))
def test_own_losses(name, solver, case):
    y, scores = case
    loss, cost, _ = OWN[name]
    objective = bind(solver, y, loss=loss)
    value, gradient = objective(scores)
    best = best_violation(y, scores, reference.excess_loss(cost))
    assert value == pytest.approx(best, abs=tolerance(scores))
    assert is_subgradient(objective, value, gradient, scores, 3)


@pytest.mark.parametrize("name", OWN)
@settings(max_examples=40)
@given(case=small_cases(max_rows=6))
def test_loss_of_rankings_with_ties(name, case):
    y, scores = case
    loss, cost, _ = OWN[name]
    (attained,) = loss.loss_of_each_list(y, scores, Groups.single(y.size))
    expected = reference.mean_over_ties(reference.position_loss(cost), y, scores)
    assert attained == pytest.approx(expected, abs=1e-12)


class TestOwnLosses:
    @pytest.mark.parametrize("name", ["AP by increments", "AP by costs"])
    def test_average_precision_on_lists_of_many_sizes(self, name):
        rng = np.random.default_rng(5)
        loss = OWN[name][0]
        for max_rows, max_lists in [(60, 5), (3000, 40), (5000, 1)]:
            y, groups, scores = random_case(rng, max_rows, max_lists)
            value, gradient = AveragePrecision().bind(y, groups)(scores)
            own_value, own_gradient = loss.bind(y, groups)(scores)
            assert own_value == pytest.approx(value, abs=10 * tolerance(scores))
            assert_allclose(own_gradient, gradient, atol=1e-13)

    def test_sums_of_increments_are_stored_more_sparsely_for_long_lists(self, monkeypatch):
        y, groups, scores = random_case(np.random.default_rng(6), 3000)
        expected, _ = AveragePrecision().bind(y, groups)(scores)
        for most in (1, 1000, 10**9):
            monkeypatch.setattr(_own, "MAX_SUMS", most)
            assert QSLoss(ap_increment).bind(y, groups)(scores)[0] == pytest.approx(expected)

    def test_part_of_the_positives_is_looked_at_where_there_are_many_pairs(self, monkeypatch):
        monkeypatch.setattr(_own, "MAX_PAIRS", 1000)
        y = np.arange(400) < 100
        assert PositionLoss(ap_cost).bind(y)._reach == -1
        assert PositionLoss(jagged_cost).bind(y)._reach == 300

    @pytest.mark.parametrize("name", ["ROC area", "AP by costs", "AP by increments", "DCG"])
    def test_rounding_is_no_violation(self, name):
        for n_neg in (10_000, 300_000):
            y = np.arange(n_neg + 20) < 20
            assert OWN[name][0].bind(y)._reach == -1

    def test_lists_of_several_sizes_of_which_some_are_concave(self):
        def dcg_at_5(i, j):
            first = 1.0 / np.log2(1.0 + i) if i <= 5 else 0.0
            return first - (1.0 / np.log2(1.0 + i + j) if i + j <= 5 else 0.0)

        loss = PositionLoss(dcg_at_5)
        rng = np.random.default_rng(11)
        for _ in range(60):
            qid = np.repeat([0, 1, 2], rng.integers(3, 8, size=3))
            y = rng.random(qid.size) < 0.5
            for query in range(3):
                y[np.flatnonzero(qid == query)[:2]] = [True, False]
            scores = np.round(rng.standard_normal(qid.size), 1)
            value, _ = loss.bind(y, Groups.from_qid(qid, qid.size))(scores)
            cost = reference.excess_loss(lambda i, j, p, n: dcg_at_5(i, j))
            best = [
                best_violation(y[qid == query], scores[qid == query], cost) for query in range(3)
            ]
            assert value == pytest.approx(np.mean(best), abs=1e-12)

    def test_precision_at_k_is_quick_on_long_lists(self, monkeypatch):
        monkeypatch.setattr(_own, "MAX_PAIRS", 1000)
        assert PrecisionAtK(7).bind(np.arange(400) < 100)._reach == 7

    @pytest.mark.parametrize(
        ("function", "message"),
        [
            ("lambda i, j: 1.0 if i + j > 5 else None", "at i=1, j=0"),
            ("lambda i, j: table[j]", r"IndexError.*at i=1, j=3"),
            ("lambda i, j: 1.0 * (1 // j)", r"ZeroDivisionError.*at i=1, j=0"),
            ("lambda i, j: 1.0 / j", r"ZeroDivisionError.*at i=1, j=0"),
        ],
    )
    def test_exceptions_of_the_function_are_reported(self, function, message, capfd):
        cost = eval(function, {"table": np.array([0.0, 0.5, 0.8])})
        with pytest.raises(ValueError, match=rf"cost raises .*{message}"):
            PositionLoss(cost).bind(np.arange(10) < 3)
        assert capfd.readouterr().err == ""

    def test_exceptions_of_an_increment_are_reported(self):
        def increment(j, i, n_pos, n_neg):
            if j > 4:
                raise ValueError("too many")
            return 1.0

        with pytest.raises(
            ValueError, match=r"increment raises ValueError \(too many\) at i=1, j=5"
        ):
            QSLoss(increment).bind(np.arange(10) < 3)

    def test_parameters_with_defaults(self):
        y, groups, scores = random_case(np.random.default_rng(12), 40)
        expected, _ = PositionLoss(jagged_cost).bind(y, groups)(scores)
        other = PositionLoss(lambda i, j, a=7: 0.5 + (((3 * i + 5 * j) % a) / a if j > 0 else 0.0))
        assert other.bind(y, groups)(scores)[0] == pytest.approx(expected)

    @pytest.mark.parametrize("loss", [ROCArea(), QSLoss(ap_increment), AveragePrecision(), NDCG()])
    def test_loss_of_lists_that_leave_out_rows(self, loss):
        rng = np.random.default_rng(13)
        y, scores = np.arange(12) % 3 == 0, rng.standard_normal(12)
        groups = Groups(np.array([0, 1, 2, 6, 7, 8, 9]), np.array([0, 3, 7]))
        losses = loss.loss_of_each_list(y, scores, groups)
        for rows, attained in zip(split(groups), losses, strict=True):
            (alone,) = loss.loss_of_each_list(y[rows], scores[rows], None)
            assert attained == pytest.approx(alone)
        with pytest.raises(ValueError, match="bound to 12 rows"):
            loss.loss_of_each_list(y, scores[:5], groups)
        with pytest.raises(ValueError, match=r"boolean|relevance is given by numbers"):
            loss.loss_of_each_list(y.astype(str), scores, groups)

    def test_large_weights_and_gains(self):
        y, groups, scores = random_case(np.random.default_rng(14), 60, 4)
        weight = np.ones(groups.n_groups)
        expected, _ = NDCG().bind(y, groups)(scores)
        assert NDCG().bind(y, groups, 1e308 * weight)(scores)[0] == pytest.approx(expected)
        assert NDCG(gain="linear").bind(1e307 * y, groups)(scores)[0] == pytest.approx(expected)

    def test_rounding_of_costs_on_top_of_a_large_one(self):
        y = np.arange(5000) < 20
        assert PositionLoss(lambda i, j: 1e6 + j / (i + j)).bind(y)._reach == -1

    def test_reach(self):
        y = np.arange(400) < 100
        assert PrecisionAtK(5).bind(y)._reach == 5
        assert PrecisionAtK(1).bind(y)._reach == -1
        assert NDCG(k=7).bind(y)._reach == 7
        assert NDCG(k=1).bind(y)._reach == -1
        assert NDCG(k=400).bind(y)._reach == -1

    def test_violation_is_named(self):
        y = np.arange(10) < 3
        message = r"from 0\.2 at j=2, i=2 to 0\.3 at j=3, i=2 \(n_pos=3, n_neg=7\).*PositionLoss"
        with pytest.raises(ValueError, match=message):
            QSLoss(convex_increment).bind(y)

    def test_violation_in_one_of_many_lists(self):
        def increment(j, i, n_pos, n_neg):
            return 0.1 * j if n_pos == 3 else 0.1

        y = np.array([True, False, False, True, True, True, False, False])
        with pytest.raises(ValueError, match=r"j=2, i=1 \(n_pos=3, n_neg=2\)"):
            QSLoss(increment).bind(y, Groups.from_qid([0, 0, 0, 1, 1, 1, 1, 1], 8))
        QSLoss(increment).bind(y[:3])

    @pytest.mark.parametrize(
        ("loss", "error", "message"),
        [
            (QSLoss(lambda j, i, p, n: -1.0 / j), ValueError, "loss is lower than with none"),
            (
                QSLoss(lambda j, i, p, n: np.log(2.0 - i)),
                ValueError,
                r"increment\(j=1, i=2.*finite",
            ),
            (PositionLoss(lambda i, j: -j), ValueError, "lower than with none, by 7"),
            (PositionLoss(lambda i, j: np.log(j - 3)), ValueError, r"cost\(i=1, j=1.*not finite"),
            (QSLoss(lambda j, i: 1.0), TypeError, "takes 2 arguments, but must take 4"),
            (PositionLoss(lambda i: 1.0), TypeError, "takes 1 arguments, but must take 2 or 4"),
            (QSLoss("ap"), TypeError, "increment is of type str"),
            (PositionLoss(None), TypeError, "cost is of type NoneType"),
            (PositionLoss(partial(jagged_cost, 1)), TypeError, "cost is of type partial"),
            (PositionLoss(lambda i, j: np.bogus(i)), ValueError, "could not compile cost"),
            (PositionLoss(lambda i, j: "a"), ValueError, "numba could not compile cost"),
            (QSLoss(lambda j, i, p, n: open("x")), ValueError, "could not compile increment"),
            (QSLoss(ap_increment, algorithm="select"), ValueError, "does not serve this loss"),
            (PositionLoss(jagged_cost, "greedy"), ValueError, "costs are not concave in j"),
            (PrecisionAtK(0), ValueError, "k=0"),
            (PrecisionAtK(2.0), TypeError, "whole number"),
        ],
    )
    def test_what_is_refused(self, loss, error, message):
        with pytest.raises(error, match=message):
            loss.bind(np.arange(10) < 3)

    def test_functions_that_are_compiled_already(self):
        y, groups, scores = random_case(np.random.default_rng(7), 40)
        expected, _ = QSLoss(ap_increment).bind(y, groups)(scores)
        assert QSLoss(numba.njit(ap_increment)).bind(y, groups)(scores)[0] == expected

    def test_compiled_once(self):
        functions = PositionLoss(ap_cost)._functions()
        assert clone(PositionLoss(ap_cost))._functions() is functions

    @pytest.mark.parametrize("name", OWN)
    def test_clone_and_pickle(self, name):
        y, groups, scores = random_case(np.random.default_rng(8), 40, 3)
        loss = OWN[name][0]
        expected, gradient = loss.bind(y, groups)(scores)
        for other in (clone(loss), pickle.loads(pickle.dumps(loss))):
            value, other_gradient = other.bind(y, groups)(scores)
            assert value == expected
            assert_array_equal(other_gradient, gradient)

    def test_roc_area_is_a_mean_over_pairs(self):
        y, _, scores = random_case(np.random.default_rng(9), 300)
        value, _ = ROCArea().bind(y)(scores)
        difference = scores[y][:, None] - scores[~y]
        assert value == pytest.approx(np.maximum(1.0 - 2.0 * difference, 0.0).mean())

    def test_many_ties(self):
        # probabilities in a tied block of 10^5 rows underflow unless taken relative to each other
        y, scores, groups = np.arange(100_000) % 10 == 0, np.zeros(100_000), Groups.single(100_000)
        assert ROCArea().loss_of_each_list(y, scores, groups)[0] == pytest.approx(0.5)
        assert PrecisionAtK(10).loss_of_each_list(y, scores, groups)[0] == pytest.approx(0.9)

    def test_lists_without_a_relevant_row(self):
        y, qid = np.array([False, False, True, True]), [0, 0, 1, 1]
        for loss in (ReciprocalRank(), QSLoss(ap_increment), AveragePrecision(), NDCG()):
            losses = loss.loss_of_each_list(y, np.zeros(4), Groups.from_qid(qid, 4))
            assert_array_equal(losses, [np.nan, 0.0])


@pytest.mark.parametrize("reach", [0, 1, 3, 10, 60, 1000])
def test_programme_up_to_the_last_step(reach):
    """With a reach the programme skips columns, and finds the same."""
    rng = np.random.default_rng(10)
    loss = NDCG(k=reach) if reach else PositionLoss(lambda i, j: 1.0)
    for _ in range(80):
        y, groups, scores = random_case(rng, 100, 3)
        value, gradient = bind("auto-long", y, groups, loss)(scores)
        whole = bind("dynamic", y, groups, loss)
        whole._reach = 10**6
        whole_value, whole_gradient = whole(scores)
        assert value == pytest.approx(whole_value, abs=10 * tolerance(scores))
        assert_allclose(gradient, whole_gradient, atol=1e-13)
