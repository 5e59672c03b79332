"""Set losses and their convex bounds against enumeration; own losses and what is refused."""

import pickle

import numpy as np
import pytest
import set_reference as reference
from cases import split, tolerance
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from skrank import _threads
from skrank.losses import (
    CappedWeighted,
    ConcaveCardinality,
    EarlyDetection,
    Groups,
    Hamming,
    Hinge,
    Jaccard,
    SetLoss,
    _inspection,
    _rescaling,
    _set_objective,
)

WEIGHTS = [1.0, 0.5, 0.2, 0.0, 2.0, 0.7, 0.3]
SURROGATES = ("lovasz", "margin", "slack")


def weighted(make):
    """A loss with as many weights as there are elements."""
    return lambda n: make(WEIGHTS[:n])


# loss and definition, for a number of elements
LOSSES = {
    "jaccard": (lambda n: Jaccard(), lambda n: reference.jaccard),
    "hamming": (lambda n: Hamming(), lambda n: reference.hamming),
    "capped": (
        weighted(lambda w: CappedWeighted(w, cap=1.3)),
        weighted(lambda w: reference.capped_weighted(w, 1.3)),
    ),
    "capped alike": (
        lambda n: CappedWeighted(cap=1.5),
        lambda n: reference.capped_weighted(np.ones(n), 1.5),
    ),
    "concave": (
        lambda n: ConcaveCardinality(alpha=0.7),
        lambda n: reference.concave_cardinality(0.7),
    ),
    "concave weighted": (
        weighted(lambda w: ConcaveCardinality(weights=w)),
        weighted(lambda w: reference.concave_cardinality(1.0, w)),
    ),
    "early": (lambda n: EarlyDetection(), lambda n: reference.early_detection(1.0)),
    "early alike": (lambda n: EarlyDetection(decay=0), lambda n: reference.early_detection(0.0)),
}
ORDERED = {"capped", "concave weighted", "early", "early alike"}
ROUTES = {"short": (10**9, 10**9), "parallel": (10**9, 0), "long": (0, 10**9)}


def bind(route, loss, y, groups=None, **options):
    """An objective by one of the ways there are to evaluate it."""
    long_set, parallel_rows = ROUTES[route]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_set_objective.SetObjective, "longest_short", long_set)
        patch.setattr(_threads, "PARALLEL_ROWS", parallel_rows)
        objective = loss.bind(y, groups, **options)
        if route == "parallel" and objective.n_sets > 1 and _threads.several():
            assert objective.parallel
    return objective


def evaluate(route, objective, scores):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_threads, "PARALLEL_ROWS", ROUTES[route][1])
        return objective(scores)


def on_all_routes(loss, y, scores, groups=None, **options):
    for route in ROUTES:
        yield evaluate(route, bind(route, loss, y, groups, **options), scores)


@st.composite
def small_sets(draw, max_size=5, max_sets=1):
    """Truths of one size and scores, many of them tied or exactly at a margin of 1 or 0."""
    size = draw(st.integers(1, max_size))
    n_sets = draw(st.integers(1, max_sets))
    shape = (n_sets, size)
    y = np.array(draw(st.lists(st.booleans(), min_size=n_sets * size, max_size=n_sets * size)))
    score = draw(
        st.sampled_from(
            [st.integers(-2, 2).map(float), st.floats(-4.0, 4.0, allow_subnormal=False)]
        )
    )
    scores = draw(st.lists(score, min_size=y.size, max_size=y.size))
    scale = draw(st.sampled_from([1e-12, 0.5, 1.0, np.sqrt(2.0), 1e12]))
    return y.reshape(shape), scale * np.array(scores).reshape(shape)


def is_subgradient(objective, value, gradient, scores, seed=0):
    """Whether the plane stays below the objective at other points."""
    rng = np.random.default_rng(seed)
    flat = scores.reshape(-1)
    others = [flat + rng.standard_normal(flat.size), rng.permutation(flat), -flat, 0.0 * flat]
    for there in others:
        there = there.reshape(scores.shape)
        bound = value + np.sum(gradient * (there - scores))
        if objective(there)[0] < bound - 10 * tolerance(scores, there):
            return False
    return True


@pytest.mark.parametrize("name", LOSSES)
def test_losses_by_their_definition(name):
    make, define = LOSSES[name]
    for n in range(1, 6):
        loss, definition = make(n), define(n)
        sets = reference.subsets(n)
        wrong = np.array([reference.indicator(members, n) for members in sets])
        for members in sets:
            y = reference.indicator(members, n)
            truths = np.broadcast_to(y, wrong.shape)
            expected = [definition(members, y) for members in sets]
            assert_allclose(loss.loss_of_each_set(truths, truths ^ wrong), expected, atol=1e-14)
            assert_allclose(loss.losses(wrong, truths), expected, atol=1e-14)
            assert 0.0 <= min(expected)
            assert max(expected) <= 1.0 + 1e-14
        rng = np.random.default_rng(n)
        order = np.argsort(rng.random((20, n)), axis=1)
        truths = rng.random((20, n)) < 0.5
        gains = [
            reference.gains_along(definition, tuple(o), y)
            for o, y in zip(order.tolist(), truths, strict=True)
        ]
        assert_allclose(loss.marginals(order, truths), gains, atol=1e-14)


@pytest.mark.parametrize("name", LOSSES)
@settings(max_examples=60)
@given(case=small_sets())
def test_lovasz_hinge_by_enumeration(name, case):
    y, scores = case
    make, define = LOSSES[name]
    n = y.shape[1]
    best = reference.lovasz_hinge(define(n), y[0], scores[0])
    for value, gradient in on_all_routes(make(n), y, scores):
        assert value == pytest.approx(best, abs=10 * tolerance(scores))
        assert is_subgradient(make(n).bind(y), value, gradient, scores)


@pytest.mark.parametrize("surrogate", ["margin", "slack"])
@pytest.mark.parametrize("name", LOSSES)
@settings(max_examples=60)
@given(case=small_sets(max_sets=3))
def test_rescaling_by_enumeration(name, surrogate, case):
    y, scores = case
    make, define = LOSSES[name]
    n = y.shape[1]
    best = np.mean(
        [reference.rescaled(surrogate, define(n), *each) for each in zip(y, scores, strict=True)]
    )
    objective = make(n).bind(y, surrogate=surrogate)
    assert objective.exact
    value, gradient = objective(scores)
    assert value == pytest.approx(best, abs=10 * tolerance(scores))
    assert is_subgradient(objective, value, gradient, scores)


@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize("name", LOSSES)
@settings(max_examples=30)
@given(case=small_sets(max_size=7, max_sets=4), t=st.floats(0.0, 1.0))
def test_convex(name, surrogate, case, t):
    y, scores = case
    rng = np.random.default_rng(0)
    other = scores + rng.standard_normal(scores.shape)
    objective = LOSSES[name][0](y.shape[1]).bind(y, surrogate=surrogate)
    between = objective(t * scores + (1.0 - t) * other)[0]
    above = t * objective(scores)[0] + (1.0 - t) * objective(other)[0]
    assert between <= above + 10 * tolerance(scores, other)


def random_groups(rng, n, max_sets):
    groups = Groups.from_qid(rng.integers(0, max_sets, size=n), n)
    if rng.random() < 0.3:  # some rows in no set, some sets without rows
        stay = rng.random(n) < 0.8
        pointers = np.concatenate([[0], np.cumsum(stay[groups.rows])])[groups.pointers]
        groups = Groups(groups.rows[stay[groups.rows]], pointers)
    return groups


@pytest.mark.parametrize("name", sorted(set(LOSSES) - ORDERED))
def test_ways_agree_on_sets_of_all_sizes(name):
    """Also that the order of rows never matters, and what each way does with rows left out."""
    rng = np.random.default_rng(0)
    loss, definition = LOSSES[name][0](0), SetLoss(LOSSES[name][0](0))
    for _ in range(40):
        n = int(rng.integers(2, 700))
        groups = random_groups(rng, n, int(rng.integers(1, 8)))
        y = rng.random(n) < rng.choice([0.02, 0.5, 0.95])
        scores = rng.standard_normal(n) * 10.0 ** rng.integers(-3, 4)
        if rng.random() < 0.5:
            scores = np.round(scores, 1)
        results = list(on_all_routes(loss, y, scores, groups))
        results.append(definition.bind(y, groups)(scores))
        value, gradient = results[0]
        for other_value, other_gradient in results[1:-1]:
            assert other_value == pytest.approx(value, abs=100 * tolerance(scores))
            assert_allclose(other_gradient, gradient, atol=1e-13)
        assert results[-1][0] == pytest.approx(value, abs=100 * tolerance(scores))
        outside = np.setdiff1d(np.arange(n), groups.rows)
        assert not gradient[outside].any()

        order = rng.permutation(n)
        place = np.argsort(order)
        shuffled = Groups(place[groups.rows], groups.pointers)
        for other_value, other_gradient in on_all_routes(loss, y[order], scores[order], shuffled):
            assert other_value == pytest.approx(value, abs=100 * tolerance(scores))
            assert_allclose(other_gradient, gradient[order], atol=1e-13)


def test_one_large_set_with_all_kinds_of_scores():
    """Keys keep a part of the digits only; what they cannot tell apart is sorted again."""
    rng = np.random.default_rng(1)
    n = 20_000
    y = rng.random(n) < 0.2
    noise = rng.standard_normal(n)
    kinds = {
        "noise": noise,
        "close to zero": 1e-13 * noise,
        "all scales": noise * 10.0 ** rng.integers(-200, 200, size=n),
        "outlier": np.append(noise[1:], 1e300),
        "few values": np.round(noise),
        "float32": noise.astype(np.float32).astype(float),
        "zero": np.zeros(n),
        "right": np.where(y, 1e3, -1e3),
    }
    marginals = SetLoss(Jaccard())
    for name, scores in kinds.items():
        value, gradient = Jaccard().bind(y)(scores)
        other, _ = marginals.bind(y)(scores)
        assert value == pytest.approx(other, rel=1e-11, abs=1e-13), name
        assert abs(gradient).sum() <= 1.0 + 1e-9
        shuffled = rng.permutation(n)
        value_again, gradient_again = Jaccard().bind(y[shuffled])(scores[shuffled])
        assert value_again == pytest.approx(value, rel=1e-12, abs=1e-14), name
        assert_allclose(gradient_again, gradient[shuffled], rtol=1e-9, atol=1e-16)


def test_hamming_is_the_mean_hinge_loss():
    rng = np.random.default_rng(2)
    y, scores = rng.random((30, 6)) < 0.4, 2.0 * rng.standard_normal((30, 6))
    expected, expected_gradient = Hinge().bind(y.ravel())(scores.ravel())
    for value, gradient in on_all_routes(Hamming(), y, scores):
        assert value == pytest.approx(expected, rel=1e-13)
        assert_allclose(gradient.ravel(), expected_gradient, atol=1e-16)


class TestExtensions:
    """Which bounds equal which losses where all s are 0 or 1, for all sets of mistakes."""

    @staticmethod
    def random_table(rng, n, kind):
        """The losses of all sets of mistakes, bit i of a number standing for element i."""
        masks = np.arange(2**n)
        bits = (masks[:, None] >> np.arange(n) & 1).astype(float)
        coverage = bits @ (rng.random((n, 6)) < 0.4)
        increasing = np.minimum(coverage, 1.0) @ rng.random(6)
        increasing += np.sqrt(bits @ rng.random(n))
        if kind == "increasing":
            return increasing
        # a cut is submodular, zero for none and for all, and so not increasing
        weights = np.triu(rng.random((n, n)), 1)
        cut = np.einsum("ai,ij,aj->a", bits, weights + weights.T, 1.0 - bits)
        if kind == "submodular":
            return cut + 0.3 * increasing
        square = (bits @ rng.random(n)) ** 2
        return square if kind == "supermodular" else rng.random(masks.size) * (masks > 0)

    @staticmethod
    def is_increasing(table, n):
        masks = np.arange(2**n)
        return all(np.all(table[masks | 1 << i] >= table[masks] - 1e-12) for i in range(n))

    @staticmethod
    def bounded_by_difference(table, n):
        """l(A) - l(B) is at most the number of elements of A that are not in B."""
        masks = np.arange(2**n)
        extra = (masks[:, None] & ~masks[None])[..., None] >> np.arange(n) & 1
        return np.all(table[:, None] - table[None] <= extra.sum(axis=2) + 1e-12)

    @pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
    @pytest.mark.parametrize("kind", ["increasing", "submodular", "supermodular", "any"])
    def test_vertices(self, kind, n):
        rng = np.random.default_rng(n)
        seen = set()
        for scale in (0.05, 0.3, 1.0, 3.0):
            table = scale * self.random_table(rng, n, kind)
            bits = 1 << np.arange(n)
            function = SetLoss(
                lambda wrong, y, table=table, bits=bits: table[wrong @ bits],
                increasing=bool(self.is_increasing(table, n)),
            )
            y = rng.random(n) < 0.5
            wrong = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)
            # the vertex of a set of mistakes: margins of 0 there and of 1 elsewhere
            vertices = np.where(y, 1.0, -1.0) * ~wrong
            extends = {}
            for surrogate in SURROGATES:
                if surrogate == "lovasz" and kind in ("supermodular", "any") and n > 1:
                    continue
                objective = function.bind(y[None], surrogate=surrogate)
                values = [objective(vertex[None])[0] for vertex in vertices]
                extends[surrogate] = np.allclose(values, table, rtol=0.0, atol=1e-12)
            assert extends.get("lovasz", True)
            assert extends["slack"] == self.is_increasing(table, n)
            assert extends["margin"] == self.bounded_by_difference(table, n)
            seen.add(extends["margin"])
        if kind == "increasing":
            assert seen == {True, False}

    @pytest.mark.parametrize("name", LOSSES)
    def test_losses_of_the_library(self, name):
        make, define = LOSSES[name]
        n = 6
        y = np.array([True, False, True, True, False, False])
        loss, definition = make(n), define(n)
        for members in reference.subsets(n):
            vertex = np.where(y, 1.0, -1.0) * ~reference.indicator(members, n)
            for surrogate in SURROGATES:  # no set costs more than 1, so margins suffice
                value, _ = loss.bind(y[None], surrogate=surrogate)(vertex[None])
                assert value == pytest.approx(definition(members, y), abs=1e-12)


class TestOwn:
    @staticmethod
    def cut(wrong, y):
        """Neighbours of which one is right and one wrong: submodular, not increasing."""
        return np.count_nonzero(wrong[1:] != wrong[:-1]) + float(wrong[0])

    @settings(max_examples=60)
    @given(case=small_sets())
    def test_not_increasing_by_enumeration(self, case):
        y, scores = case
        n = y.shape[1]
        loss = SetLoss(self.cut, increasing=False)

        def definition(members, y):
            return self.cut(reference.indicator(members, n), y)

        best = reference.lovasz_hinge(definition, y[0], scores[0], increasing=False)
        objective = loss.bind(y)
        value, gradient = objective(scores)
        assert value == pytest.approx(best, abs=100 * tolerance(scores))
        assert is_subgradient(objective, value, gradient, scores)

    @pytest.mark.parametrize("size", [4, 10, 11, 14])
    def test_function_and_marginals_are_the_same(self, size):
        """Tables of small sets, and calls for larger ones."""
        rng = np.random.default_rng(size)
        y, scores = rng.random((5, size)) < 0.5, rng.standard_normal((5, size))

        def function(wrong, y):
            members = tuple(np.flatnonzero(wrong).tolist())
            return reference.jaccard(members, y)

        for surrogate in SURROGATES if size < 11 else ("lovasz",):
            expected, expected_gradient = Jaccard().bind(y, surrogate=surrogate)(scores)
            for loss in (SetLoss(function), SetLoss(Jaccard())):
                value, gradient = loss.bind(y, surrogate=surrogate)(scores)
                assert value == pytest.approx(expected, abs=1e-13)
                assert_allclose(gradient, expected_gradient, atol=1e-13)
        predicted = rng.random((5, size)) < 0.5
        assert_allclose(
            SetLoss(function).loss_of_each_set(y, predicted),
            Jaccard().loss_of_each_set(y, predicted),
        )

    def test_marginals_that_depend_on_the_order_but_not_in_sum(self):
        class Shifts:
            def marginals(self, order, y_true):
                gains = np.full(order.shape, 1.0 / order.shape[1])
                gains[:, 0] += 0.001 * order[:, 0]
                gains[:, -1] -= 0.001 * order[:, 0]
                return gains

        for size in (5, 12, 60):
            with pytest.raises(ValueError, match="must not depend on their order"):
                SetLoss(Shifts()).bind(np.arange(size)[None] < 3)

    def test_pairs_of_larger_sets(self):
        """What is wrong at two elements only is found among 30."""

        def pair(wrong, y):
            return wrong.mean() + (5.0 if wrong[3] & wrong[17] else 0.0)

        with pytest.raises(ValueError, match="not submodular"):
            SetLoss(pair).bind(np.arange(30)[None] < 4)

    def test_increasing_is_an_attribute_too(self):
        loss = SetLoss(self.cut)
        with pytest.raises(ValueError, match="not increasing"):
            loss.bind(np.ones((1, 4), bool))

        def same(wrong, y):
            return self.cut(wrong, y)

        same.increasing = False
        value, _ = SetLoss(same).bind(np.ones((1, 4), bool))(np.zeros((1, 4)))
        assert (
            value
            == SetLoss(self.cut, increasing=False).bind(np.ones((1, 4), bool))(np.zeros((1, 4)))[0]
        )

    def test_functions_cannot_change_what_they_are_given(self):
        def function(wrong, y):
            wrong[:] = True
            return 1.0

        with pytest.raises(ValueError, match="read-only"):
            SetLoss(function).bind(np.ones((1, 3), bool))

    def test_called_for_every_set_of_mistakes_once(self):
        calls = []

        def function(wrong, y):
            calls.append(1)
            return np.sqrt(wrong.mean())

        y = np.array([[True, False, False]] * 4 + [[True, True, False]])
        objective = SetLoss(function).bind(y)
        assert len(calls) == 2 * 8
        objective(np.zeros(y.shape))
        assert len(calls) == 2 * 8
        assert not objective.parallel
        SetLoss(function).bind(y, surrogate="slack")(np.zeros(y.shape))
        assert len(calls) == 4 * 8

    @pytest.mark.parametrize("size", [4, 30])
    def test_what_is_not_submodular(self, size):
        y = np.arange(size)[None] < 2
        with pytest.raises(ValueError, match=r"not submodular: .* adds .* to the mistakes \["):
            SetLoss(lambda wrong, y: wrong.mean() ** 2).bind(y)
        # the bounds by rescaling take it
        assert SetLoss(lambda wrong, y: wrong.mean() ** 2).bind(y, surrogate="slack")

    @pytest.mark.parametrize("size", [4, 30])
    def test_what_is_not_increasing(self, size):
        y = np.arange(size)[None] < 2

        def function(wrong, y):
            return wrong.mean() * (1.0 - wrong.mean())

        with pytest.raises(ValueError, match=r"not increasing: .*increasing=False"):
            SetLoss(function).bind(y)
        assert SetLoss(function, increasing=False).bind(y)(np.zeros((1, size)))[0] == 0.0

    @pytest.mark.parametrize("size", [3, 20])
    @pytest.mark.parametrize(
        ("function", "error", "message"),
        [
            (lambda wrong, y: 1.0, ValueError, r"is 1 without any mistake"),
            (lambda wrong, y: -wrong.mean(), ValueError, r"must not be negative"),
            (lambda wrong, y: np.nan * wrong.any(), ValueError, r"is nan .* must be finite"),
            (lambda wrong, y: "much", TypeError, r"must be numbers"),
            (lambda wrong, y: wrong * 1.0, ValueError, r"one number for each set"),
        ],
    )
    def test_wrong_values(self, size, function, error, message):
        with pytest.raises(error, match=message):
            SetLoss(function).bind(np.arange(size)[None] < 2)

    def test_marginals_that_depend_on_the_order(self):
        class First:
            def marginals(self, order, y_true):
                return (order + 1.0) * (np.arange(order.shape[1]) == 0)

        for size in (4, 20):
            with pytest.raises(ValueError, match="must not depend on their order"):
                SetLoss(First()).bind(np.arange(size)[None] < 2)

    def test_wrong_shape_of_marginals(self):
        class Short:
            def marginals(self, order, y_true):
                return np.ones(order.shape[1])

        with pytest.raises(ValueError, match=r"shape \(3,\), but \(1, 3\)"):
            SetLoss(Short()).bind(np.array([[True, False, False]]))

    @pytest.mark.parametrize("loss", [3, None, Jaccard, "jaccard"])
    def test_wrong_kind(self, loss):
        with pytest.raises(TypeError, match=r"a function loss\(mispredicted, y_true\)"):
            SetLoss(loss).check()


class TestGreedy:
    """Sets of more than 16 elements: a lower bound, and planes that are true ones."""

    @pytest.mark.parametrize("surrogate", ["margin", "slack"])
    @pytest.mark.parametrize("name", ["jaccard", "concave", "early"])
    def test_below_the_exact_bound(self, name, surrogate):
        rng = np.random.default_rng(0)
        loss = LOSSES[name][0](10)
        gaps = []
        for _ in range(60):
            y, scores = rng.random((3, 10)) < 0.4, 0.3 * rng.standard_normal((3, 10))
            exact = loss.bind(y, surrogate=surrogate)
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(_rescaling.Rescaling, "longest_short", 4)
                greedy = loss.bind(y, surrogate=surrogate)
                own = SetLoss(loss).bind(y, surrogate=surrogate)
            assert exact.exact
            assert not greedy.exact
            assert not own.exact
            value, gradient = greedy(scores)
            gaps.append(exact(scores)[0] - value)
            other_value, other_gradient = own(scores)
            assert other_value == pytest.approx(value, abs=1e-13)
            assert_allclose(other_gradient, gradient, atol=1e-13)
            there = rng.standard_normal(scores.shape)
            assert exact(there)[0] >= value + np.sum(gradient * (there - scores)) - 1e-12
        assert min(gaps) >= -1e-13

    def test_many_sets_of_mixed_sizes(self):
        rng = np.random.default_rng(1)
        qid = np.repeat(np.arange(40), rng.integers(1, 40, size=40))
        y = rng.random(qid.size) < 0.4
        groups = Groups.from_qid(qid, qid.size)
        scores = rng.standard_normal(qid.size)
        objective = Jaccard().bind(y, groups, surrogate="slack")
        assert not objective.exact
        value, gradient = objective(scores)
        parts = [Jaccard().bind(y[rows], surrogate="slack")(scores[rows]) for rows in split(groups)]
        assert value == pytest.approx(np.mean([v for v, _ in parts]), rel=1e-12)
        for rows, (_, part) in zip(split(groups), parts, strict=True):
            assert_allclose(gradient[rows], part / len(parts), atol=1e-14)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_threads, "PARALLEL_ROWS", 0)
            parallel_value, parallel_gradient = objective(scores)
        assert parallel_value == pytest.approx(value, rel=1e-14)
        assert_array_equal(parallel_gradient, gradient)


@pytest.mark.parametrize("name", LOSSES)
def test_many_sets_on_all_routes(name):
    rng = np.random.default_rng(5)
    n = len(WEIGHTS)
    y, scores = rng.random((200, n)) < 0.4, np.round(rng.standard_normal((200, n)), 1)
    loss = LOSSES[name][0](n)
    parts = [loss.bind(each[None])(s[None]) for each, s in zip(y, scores, strict=True)]
    for value, gradient in on_all_routes(loss, y, scores):
        assert value == pytest.approx(np.mean([v for v, _ in parts]), rel=1e-12)
        assert_allclose(gradient, np.concatenate([g for _, g in parts]) / 200, atol=1e-15)


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_exact(name):
    """All wrong costs 1, and no order of rows changes a digit."""
    rng = np.random.default_rng(6)
    for n in (1, 3, 7):
        y = rng.random((50, n)) < 0.4
        assert_array_equal(LOSSES[name][0](n).loss_of_each_set(y, ~y), 1.0)
    if name in ORDERED:
        return
    loss = LOSSES[name][0](0)
    y, predicted = rng.random(2000) < 0.3, rng.random(2000) < 0.3
    order = rng.permutation(2000)
    assert loss.loss_of_each_set(y, predicted) == loss.loss_of_each_set(y[order], predicted[order])
    assert_array_equal(loss.loss_of_each_set(y, ~y), 1.0)


class TestArguments:
    def test_shapes_of_public_methods(self):
        y = np.ones((2, 3), bool)
        with pytest.raises(ValueError, match=r"booleans of shape \(2, 3\)"):
            Jaccard().losses(np.ones((2, 4), bool), y)
        for order in (np.zeros((2, 3)), np.array([[0, 1, 3]] * 2), np.arange(3)[None]):
            with pytest.raises(ValueError, match="name all elements of its set once"):
                Jaccard().marginals(order, y)
        with pytest.raises(ValueError, match=r"2 weights .* 3 columns"):
            CappedWeighted([1.0, 2.0]).losses(y, y)
        with pytest.raises(ValueError, match=r"2 weights .* 3 columns"):
            SetLoss(CappedWeighted([1.0, 2.0])).bind(y)
        with pytest.raises(ValueError, match="columns of a two-dimensional y"):
            SetLoss(EarlyDetection()).bind(y[0])

    def test_greedy_search_of_own_losses_is_for_small_sets(self):
        y = np.ones((1, _rescaling.MAX_GREEDY + 1), bool)
        with pytest.raises(ValueError, match=r"up to 1000\. Use surrogate='lovasz'"):
            SetLoss(CountingMarginals()).bind(y, surrogate="slack")

    @pytest.mark.parametrize(
        ("loss", "y", "message"),
        [
            (EarlyDetection(), np.array([True, False]), "columns of a two-dimensional y"),
            (CappedWeighted([1.0, 2.0]), np.array([True, False]), "y has one dimension"),
            (CappedWeighted([1.0, 2.0]), np.ones((2, 3), bool), "2 weights .* 3 columns"),
            (ConcaveCardinality(weights=[1.0]), np.ones((2, 3), bool), "1 weights .* 3 columns"),
            (CappedWeighted([0.0, 0.0]), np.ones((2, 2), bool), "weights are all 0"),
            (CappedWeighted([-1.0, 2.0]), np.ones((2, 2), bool), "column 0 is -1.0"),
            (CappedWeighted([1e200, 2.0]), np.ones((2, 2), bool), "at most 1e[+]100"),
            (CappedWeighted([[1.0]]), np.ones((2, 1), bool), r"shape \(1, 1\)"),
            (CappedWeighted(cap=0.0), np.ones((2, 2), bool), "cap=0.0"),
            (ConcaveCardinality(alpha=np.inf), np.ones((2, 2), bool), "alpha=inf"),
            (EarlyDetection(decay=-1.0), np.ones((2, 2), bool), "decay=-1.0"),
            (Jaccard(), np.ones((2, 2)), "boolean array of one or two dimensions"),
            (Jaccard(), np.ones((2, 2, 2), bool), "boolean array of one or two dimensions"),
            (Jaccard(), np.ones((0, 3), bool), "no elements in any set"),
        ],
    )
    def test_values(self, loss, y, message):
        with pytest.raises(ValueError, match=message):
            loss.bind(y)

    @pytest.mark.parametrize(
        "loss", [CappedWeighted("heavy"), EarlyDetection("fast"), ConcaveCardinality(None)]
    )
    def test_types(self, loss):
        with pytest.raises(TypeError, match="number"):
            loss.bind(np.ones((2, 2), bool))

    def test_groups_for_two_dimensions(self):
        with pytest.raises(ValueError, match="each of its rows is a set"):
            Jaccard().bind(np.ones((2, 2), bool), Groups.single(4))

    def test_surrogate(self):
        with pytest.raises(ValueError, match="Choose one of lovasz, margin, slack"):
            Jaccard().bind(np.ones((2, 2), bool), surrogate="hinge")

    def test_scores(self):
        objective = Jaccard().bind(np.ones((2, 2), bool))
        with pytest.raises(ValueError, match="scores have shape"):
            objective(np.zeros(3))
        with pytest.raises(FloatingPointError, match="finite"):
            objective(np.full((2, 2), np.nan))
        # flat scores are those of the rows one after another
        value, gradient = objective(np.zeros(4))
        assert value == 1.0
        assert gradient.shape == (4,)
        assert objective.n_calls == 1

    def test_predictions(self):
        with pytest.raises(ValueError, match=r"booleans of shape \(2, 2\)"):
            Jaccard().loss_of_each_set(np.ones((2, 2), bool), np.ones((2, 3), bool))

    def test_too_many_truths_for_tables(self):
        y = np.random.default_rng(0).random((3000, 16)) < 0.5
        with pytest.raises(ValueError, match="surrogate='lovasz'"):
            SetLoss(CountingMarginals()).bind(y, surrogate="margin")

    def test_sample_of_large_sets_has_a_fixed_seed(self):
        y = np.random.default_rng(0).random((30, 40)) < 0.5
        seen = []

        def function(wrong, y):
            seen.append(wrong.copy())
            return wrong.mean()

        SetLoss(function).bind(y)
        first = len(seen)
        assert 0 < first <= _inspection.N_SETS * (12 * _inspection.N_SAMPLES + 2)
        SetLoss(function).bind(y)
        assert_array_equal(seen[:first], seen[first:])


class CountingMarginals:
    def marginals(self, order, y_true):
        return np.full(order.shape, 1.0 / order.shape[1])


@pytest.mark.parametrize("name", LOSSES)
def test_losses_are_estimators(name):
    loss = LOSSES[name][0](3)
    copy = pickle.loads(pickle.dumps(clone(loss)))
    assert repr(copy) == repr(loss)
    y, predicted = np.array([[True, False, False]]), np.array([[False, True, False]])
    assert copy.loss_of_each_set(y, predicted) == loss.loss_of_each_set(y, predicted)
