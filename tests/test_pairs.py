"""Losses of pairs and the ranking risk against all pairs, one by one."""

import pickle
from functools import partial
from itertools import product

import numpy as np
import pair_reference as reference
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import kendalltau
from sklearn.base import clone
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import Ridge
from sklearn.metrics import roc_auc_score

from skrank import _pairs, _threads
from skrank.kernels import _pairs as kernels
from skrank.losses import Groups, RankingRisk
from skrank.metrics import (
    make_ranking_scorer,
    mean_average_precision,
    ranking_risk,
    ranking_risk_scorer,
)
from skrank.solvers._cutting_plane import WORK_OF_A_ROW

GRAPHS = [
    {"graph": "complete"},
    {"graph": "star"},
    {"graph": "bipartite", "top": 3},
    {"graph": "bipartite", "relevance_threshold": 0.5},
]
BOUNDS = [
    dict(graph, rescaling=rescaling, pair_weight=pair_weight)
    for graph, rescaling, pair_weight in product(
        GRAPHS, ["slack", "margin"], ["difference", "uniform"]
    )
]
# rows up to which all pairs are looked at; from which threads are used, and all for one node
ROUTES = {
    "auto": (kernels.SMALL, _threads.PARALLEL_ROWS, _pairs.WIDE),
    "trees": (1, 10**9, 10**9),
    "parallel": (1, 0, 10**9),
    "wide": (1, 0, 2),
    "quadratic": (kernels.SMALL, _threads.PARALLEL_ROWS, _pairs.WIDE),
    "quadratic, parallel": (kernels.SMALL, 0, 2),
}


def bind(route, y, groups=None, list_weight=None, **options):
    """An objective that takes one of the ways there are."""
    small, parallel_rows, _ = ROUTES[route]
    algorithm = "quadratic" if "quadratic" in route else "auto"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernels, "SMALL", small)
        patch.setattr(_threads, "PARALLEL_ROWS", parallel_rows)
        objective = RankingRisk(algorithm=algorithm, **options).bind(y, groups, list_weight)
        assert objective.parallel == (parallel_rows == 0 and _threads.several())
    return objective


def evaluate(route, objective, scores):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_pairs, "WIDE", ROUTES[route][2])
        return objective(scores)


def random_case(rng, n, max_lists=1):
    """Relevance, lists, their weights and scores; often with ties in both."""
    y = rng.standard_normal(n) * rng.choice([1.0, 30.0])
    scores = 0.3 * y + rng.standard_normal(n)
    if rng.random() < 0.5:
        y = np.round(y * rng.choice([1.0, 4.0]))
    if rng.random() < 0.5:
        scores = np.round(scores * 4.0) / 4.0
    groups = Groups.from_qid(rng.integers(rng.integers(1, max_lists + 1), size=n), n)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], size=groups.n_groups)
    weight[rng.integers(groups.n_groups)] = 1.0
    return y, groups, weight, scores * rng.choice([0.01, 1.0, 10.0])


def check(route, y, groups, weight, scores, bound):
    graph = {name: bound[name] for name in bound if name not in ("rescaling", "pair_weight")}
    if not any(weight[which] > 0.0 for which in reference.pairs_of(y, groups, **graph)[2]):
        with pytest.raises(ValueError, match="lists"):
            bind(route, y, groups, weight, **bound)
        return
    objective = bind(route, y, groups, weight, **bound)
    value, gradient = evaluate(route, objective, scores)
    expected, expected_gradient = reference.bound(y, scores, groups, weight, **bound)
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-9)
    assert_allclose(gradient, expected_gradient, atol=1e-9)


@pytest.mark.parametrize("route", ROUTES)
def test_small_lists(route):
    rng = np.random.default_rng(0)
    for trial in range(300 if route in ("auto", "trees", "quadratic") else 60):
        n = int(rng.integers(2, 40))
        check(route, *random_case(rng, n, 4), BOUNDS[trial % len(BOUNDS)])


@pytest.mark.parametrize("bound", BOUNDS, ids=lambda bound: "-".join(map(str, bound.values())))
@pytest.mark.parametrize("route", ROUTES)
def test_long_lists(route, bound):
    """More grades than a tree has leaves, so that there are nodes of several levels."""
    rng = np.random.default_rng(1)
    for max_lists in (1, 5):
        check(route, *random_case(rng, 2500, max_lists), bound)


@given(data=st.data())
@settings(max_examples=60)
def test_ties_everywhere(data):
    n = data.draw(st.integers(2, 9))
    whole = st.lists(st.integers(0, 3), min_size=n, max_size=n)
    y = np.array(data.draw(whole), dtype=float)
    scores = np.array(data.draw(whole)) / data.draw(st.sampled_from([1.0, 2.0, 3.0]))
    groups = Groups.from_qid(data.draw(whole), n)
    bound = data.draw(st.sampled_from(BOUNDS))
    for route in ("auto", "trees", "quadratic"):
        check(route, y, groups, np.ones(groups.n_groups), scores, bound)


@pytest.mark.parametrize("bound", BOUNDS[:4], ids=lambda bound: "-".join(map(str, bound.values())))
def test_subgradient(bound):
    rng = np.random.default_rng(2)
    y, groups, weight, scores = random_case(rng, 500, 3)
    objective = bind("auto", y, groups, weight, **bound)
    value, gradient = objective(scores)
    for _ in range(50):
        other = scores + rng.standard_normal(500) * rng.choice([0.01, 1.0, 5.0])
        assert objective(other)[0] >= value + gradient @ (other - scores) - 1e-10


@pytest.mark.parametrize("route", ["auto", "trees", "wide"])
def test_row_order_never_matters(route):
    rng = np.random.default_rng(3)
    for bound in BOUNDS:
        y, groups, weight, scores = random_case(rng, 1500, 3)
        qid = groups.codes()
        value, gradient = evaluate(route, bind(route, y, groups, weight, **bound), scores)
        order = rng.permutation(y.size)
        moved = bind(route, y[order], Groups.from_qid(qid[order], y.size), weight, **bound)
        moved_value, moved_gradient = evaluate(route, moved, scores[order])
        assert moved_value == pytest.approx(value, rel=1e-13)
        assert_allclose(moved_gradient, gradient[order], atol=1e-13)


@pytest.mark.parametrize("rescaling", ["slack", "margin"])
def test_same_at_any_size_and_unit(rescaling):
    rng = np.random.default_rng(4)
    y, groups, weight, scores = random_case(rng, 300, 3)
    qid = groups.codes()
    loss = RankingRisk(rescaling=rescaling)
    value, gradient = loss.bind(y, groups, weight)(scores)
    assert loss.bind(y, groups, weight)(np.zeros(300))[0] == pytest.approx(1.0, rel=1e-12)
    huge = loss.bind(y, groups, 1e305 * weight)(scores)
    assert huge[0] == pytest.approx(value, rel=1e-12)
    for unit in (0.01, 3.0, 1e-300, 1e305):
        other, other_gradient = loss.bind(unit * y + unit, groups, weight)(scores)
        assert other == pytest.approx(value, rel=1e-9)
        assert_allclose(other_gradient, gradient, atol=1e-12)
    thrice = Groups.from_qid(np.tile(qid, 3), 900)
    repeated, repeated_gradient = loss.bind(np.tile(y, 3), thrice, weight)(np.tile(scores, 3))
    assert repeated == pytest.approx(value, rel=1e-12)
    assert_allclose(repeated_gradient, np.tile(gradient, 3) / 3.0, atol=1e-14)


def test_two_grades_are_the_classic_loss():
    rng = np.random.default_rng(5)
    y = (rng.random(400) < 0.3).astype(float)
    scores = rng.standard_normal(400) + y
    hinges = np.maximum(0.0, 1.0 - (scores[y == 1][:, None] - scores[y == 0]))
    for bound in BOUNDS:
        if bound.get("top") is None:
            value, _ = RankingRisk(**bound).bind(5.0 * y)(scores)
            assert value == pytest.approx(hinges.mean(), rel=1e-12)


@pytest.mark.parametrize("route", ["auto", "wide"])
def test_scores_out_of_all_proportion(route):
    """Steps of equal length tell nothing apart where one score is far away."""
    rng = np.random.default_rng(6)
    y = rng.standard_normal(3000)
    scores = rng.standard_normal(3000)
    for far in ([1e14], [1e300, -1e300], [-1e14] * 100):
        scores[: len(far)] = far
        objective = bind(route, y)
        value, gradient = evaluate(route, objective, scores)
        groups, weight = Groups.single(y.size), np.ones(1)
        expected = reference.bound(
            y, scores, groups, weight, "slack", "difference", graph="complete"
        )
        i, j, _ = reference.pairs_of(y, groups, "complete")
        assert value == pytest.approx(expected[0], rel=1e-9)
        active = np.zeros(y.size)
        near = scores[i] - scores[j] < 1.0
        np.add.at(active, j, (y[i] - y[j]) * near)
        np.add.at(active, i, -(y[i] - y[j]) * near)
        assert_allclose(gradient, active / (y[i] - y[j]).sum(), atol=1e-9)
    with pytest.raises(FloatingPointError, match="finite and at most 1e"):
        objective(np.full(y.size, np.inf))


def test_calls_are_dearer_than_those_of_other_losses():
    """The line search spends fewer of them then."""
    assert RankingRisk().bind(np.arange(100.0)).work > 100 * WORK_OF_A_ROW


def test_threads_are_asked_for_at_each_call():
    """A forked process has but one."""
    rng = np.random.default_rng(0)
    y, scores = rng.standard_normal((2, 2 * _threads.PARALLEL_ROWS))
    objective = RankingRisk().bind(y)
    expected, _ = objective(scores)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_threads, "FORKED", True)
        assert objective.parallel is False
        assert objective(scores)[0] == pytest.approx(expected, rel=1e-12)


def test_shift_of_scores_costs_no_digits():
    rng = np.random.default_rng(7)
    y = rng.standard_normal(1000)
    scores = np.round(rng.standard_normal(1000) * 64) / 64
    objective = RankingRisk().bind(y)
    value, gradient = objective(scores)
    shifted, shifted_gradient = objective(scores + 2.0**30)
    assert shifted == pytest.approx(value, rel=1e-12)
    assert_allclose(shifted_gradient, gradient, atol=1e-14)


def test_lists_with_nothing_to_rank():
    y = np.array([1.0, 1.0, 2.0, 3.0, 5.0, 0.0])
    groups = Groups.from_qid([0, 0, 1, 1, 2, 2], 6)
    objective = RankingRisk().bind(y, groups, np.array([1.0, 1.0, 0.0]))
    assert (objective.n_queries, objective.n_skipped, objective.n_pairs) == (1, 1, 1)
    value, gradient = objective(np.zeros(6))
    assert value == 1.0
    assert_array_equal(gradient, [0, 0, 1, -1, 0, 0])
    with pytest.raises(ValueError, match="list_weight is 0 for all 2 lists"):
        RankingRisk().bind(y, groups, np.array([1.0, 0.0, 0.0]))
    with pytest.raises(ValueError, match=r"different relevance beside top=2 .*from 0 to 5"):
        RankingRisk(graph="bipartite", top=2).bind(y, groups)
    # a list without rows at the end
    with pytest.raises(ValueError, match="None of the 3 lists given has rows of different rel"):
        RankingRisk().bind(np.ones(3), Groups(np.arange(3), np.array([0, 0, 3, 3])))
    # rows in no list at all
    part = Groups(np.array([2, 3]), np.array([0, 2]))
    assert_array_equal(RankingRisk().bind(y, part)(np.zeros(6))[1], [0, 0, 1, -1, 0, 0])


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"graph": "ring"}, ValueError, "Unknown graph 'ring'. Choose one of complete"),
        ({"rescaling": None}, ValueError, "Unknown rescaling None"),
        ({"pair_weight": "gain"}, ValueError, "Unknown pair_weight 'gain'"),
        ({"algorithm": "merge"}, ValueError, "Unknown algorithm 'merge'"),
        ({"top": 3}, ValueError, "top=3 was given with graph='complete'"),
        ({"graph": "star", "relevance_threshold": 3}, ValueError, "relevance_threshold=3 was"),
        ({"graph": "bipartite"}, ValueError, "one of top and .* Given: none"),
        (
            {"graph": "bipartite", "top": 3, "relevance_threshold": 1},
            ValueError,
            "Given: top=3 and relevance_threshold=1",
        ),
        ({"graph": "bipartite", "top": 0}, ValueError, "top=0 was given"),
        ({"graph": "bipartite", "top": 0.5}, TypeError, "top must be a whole number"),
        (
            {"graph": "bipartite", "relevance_threshold": "high"},
            TypeError,
            "relevance_threshold must be a number",
        ),
        (
            {"graph": "bipartite", "relevance_threshold": np.nan},
            ValueError,
            "relevance_threshold=nan was given",
        ),
        ({"graph": "bipartite", "relevance_threshold": 10**400}, ValueError, "finite"),
        ({"graph": "bipartite", "top": 2**70}, ValueError, "None of the 1 lists"),
    ],
)
def test_parameters_are_checked(options, error, match):
    with pytest.raises(error, match=match):
        RankingRisk(**options).bind(np.arange(4.0))


def test_relevance_is_checked():
    for y, match in [
        (["high", "low"], "y has dtype"),
        ([1.0, np.inf], "y is inf at row 1"),
        ([[1.0, 2.0]], "y has shape"),
        ([1.7e308, -1.7e308], "infinite as float64"),
    ]:
        with pytest.raises(ValueError, match=match):
            RankingRisk().bind(np.array(y))


def test_memory():
    """As the documentation says: 58 bytes a row, the gradient included."""
    n = 20_000
    objective = RankingRisk().bind(np.random.default_rng(0).standard_normal(n))
    sums, lists = objective._sums, objective._sums.lists
    arrays = [sums._z, sums._number, sums._digit, sums.pull]
    arrays += [lists.row_of, lists.grade, lists.value]
    assert sum(array.nbytes for array in arrays) + 8 * n == 58 * n
    others = [value for value in vars(sums).values() if isinstance(value, np.ndarray)]
    assert sum(array.size >= n for array in others) == 4
    # nodes of few rows would be many
    for n in (1500, 40_000, 100_000):
        sums = RankingRisk().bind(np.arange(float(n)))._sums
        assert sum(len(nodes) for nodes in sums._levels) <= n / 30


@pytest.mark.parametrize("rescaling", ["slack", "margin"])
@pytest.mark.parametrize("far", [1e9, 1e12, 1e15])
def test_far_outliers_cost_no_digits(far, rescaling):
    """On either side: all other relevances are the same number up to rounding of the distance."""
    rng = np.random.default_rng(12)
    y, scores = np.round(3.0 * rng.standard_normal(2000)), rng.standard_normal(2000)
    groups, weight = Groups.single(2000), np.ones(1)
    for outlier in (-far, far):
        # its own pairs are in order, so that only those of the others are left
        y[17], scores[17] = outlier, np.sign(outlier) * 100.0
        value, gradient = RankingRisk(rescaling=rescaling).bind(y)(scores)
        expected = reference.bound(
            y, scores, groups, weight, rescaling, "difference", graph="complete"
        )
        assert value == pytest.approx(expected[0], rel=1e-9)
        assert_allclose(gradient, expected[1], atol=1e-9 * np.abs(expected[1]).max())


def test_a_bound_is_never_negative():
    """Nor the risk, where what is wrong is next to nothing beside what is right."""
    n = 200_000
    rng = np.random.default_rng(13)
    y = 1.0 + 1e-13 * rng.integers(3, size=n)
    y[0] = 0.0
    scores = np.where(y < 0.5, -10.0, rng.standard_normal(n))
    value, _ = RankingRisk().bind(y)(scores)
    assert 0.0 <= value < 1e-7
    assert 0.0 <= ranking_risk(y, scores) < 1e-7


@pytest.mark.parametrize("bound", BOUNDS[:4], ids=lambda bound: "-".join(map(str, bound.values())))
def test_mirrored(bound):
    """With relevance and scores of the other sign each pair has its rows in turned roles."""
    rng = np.random.default_rng(14)
    y, groups, weight, scores = random_case(rng, 1500, 3)
    value, gradient = bind("auto", y, groups, weight, **bound)(scores)
    mirrored, mirrored_gradient = bind("auto", -y, groups, weight, **bound)(-scores)
    assert mirrored == pytest.approx(value, rel=1e-12)
    assert_allclose(mirrored_gradient, -gradient, atol=1e-15)


def test_lists_of_all_lengths():
    """Long ones are sorted together, and short ones are looked at pair by pair."""
    rng = np.random.default_rng(15)
    small = kernels.SMALL
    sizes = [1, 2, small - 1, small, small + 1, 3 * small, 0, 40, 3 * small]
    groups = Groups.from_codes(rng.permutation(np.repeat(np.arange(9), sizes)), 9)
    weight = rng.random(9)
    for bound, far in product(BOUNDS, [0.0, 1e4]):
        y, scores = rng.standard_normal((2, sum(sizes)))
        scores[3] += far
        for route in ("auto", "trees", "wide"):
            check(route, y, groups, weight, scores, bound)


def test_a_loss_is_an_estimator():
    loss = RankingRisk("bipartite", top=3)
    assert repr(clone(loss)) == "RankingRisk(graph='bipartite', top=3)"
    y = np.arange(5.0)
    assert pickle.loads(pickle.dumps(loss)).bind(y)(y)[0] == loss.bind(y)(y)[0]


class TestRankingRisk:
    @pytest.mark.parametrize("pair_weight", ["difference", "uniform"])
    def test_all_pairs(self, pair_weight):
        rng = np.random.default_rng(8)
        for _ in range(100):
            y, groups, weight, scores = random_case(rng, int(rng.choice([40, 400])), 3)
            qid = groups.codes()
            expected = reference.risk(y, scores, groups, weight, pair_weight)
            risk = ranking_risk(
                y, scores, qid=qid, query_weight=weight[qid], pair_weight=pair_weight
            )
            assert risk == pytest.approx(expected, rel=1e-9, abs=1e-12)

    def test_known_measures(self):
        rng = np.random.default_rng(9)
        y, scores = rng.standard_normal((2, 3000))
        tau = kendalltau(y, scores).statistic
        assert ranking_risk(y, scores, pair_weight="uniform") == pytest.approx((1 - tau) / 2)
        scores = np.round(scores)
        area = roc_auc_score(y > 0, scores)
        for pair_weight in ("difference", "uniform"):
            risk = ranking_risk(y > 0, scores, pair_weight=pair_weight)
            assert risk == pytest.approx(1 - area)

    @pytest.mark.parametrize("n", [2, 70, 3000])
    def test_extremes_are_exact(self, n):
        y = np.random.default_rng(10).standard_normal(n)
        assert ranking_risk(y, y) == 0.0
        assert ranking_risk(y, -y) == pytest.approx(1.0, rel=1e-12)
        assert ranking_risk(y, -y) <= 1.0
        assert ranking_risk(y, np.ones(n)) == pytest.approx(0.5, rel=1e-12)

    def test_large_and_small_numbers(self):
        scores = np.array([1, 2**63 - 1, 2**63 - 2])  # tied as float64
        assert ranking_risk([0, 2, 1], scores) == 0.0
        assert ranking_risk([0.0, 2e300, 1e300], scores) == 0.0
        assert ranking_risk([0.0, 2e-320, 1e-320], -scores) == 1.0

    def test_undefined(self):
        with pytest.warns(UndefinedMetricWarning, match="no two rows of a query differ.*to 1.0"):
            assert ranking_risk([1.0, 1.0], [1.0, 2.0]) == 1.0
        with pytest.warns(UndefinedMetricWarning):
            assert ranking_risk([1.0, 2.0], [1.0, 2.0], qid=[0, 1]) == 1.0
        with pytest.warns(UserWarning, match="undefined: no two rows"):
            ranking_risk([1.0, 2.0], [1.0, 2.0], qid=[0, 1])
        # differences that are nothing beside those of other queries
        assert ranking_risk([0, 1e308, 0, 1e-20], [1, 2, 2, 1], qid=[0, 0, 1, 1]) == 0.0
        # queries without pairs have no part in it, and that is no news
        assert ranking_risk([1, 2, 3, 3], [1, 2, 1, 2], qid=[0, 0, 1, 1]) == 0.0

    def test_bad_input(self):
        with pytest.raises(ValueError, match="Unknown pair_weight"):
            ranking_risk([1, 2], [1, 2], pair_weight="half")
        with pytest.raises(ValueError, match="y_true is nan at row 1"):
            ranking_risk([1.0, np.nan], [1, 2])
        with pytest.raises(ValueError, match="y_true has dtype"):
            ranking_risk(["a", "b"], [1, 2])

    def test_scorer(self):
        rng = np.random.default_rng(11)
        X = rng.standard_normal((60, 3))
        y = X[:, 0] + rng.standard_normal(60)
        qid = np.repeat(np.arange(6), 10)
        model = Ridge().fit(X, y)
        risk = ranking_risk(y, model.predict(X), qid=qid)
        assert ranking_risk_scorer(model, X, y, qid=qid) == pytest.approx(1.0 - risk)
        scorer = make_ranking_scorer(ranking_risk, pair_weight="uniform")
        risk = ranking_risk(y, model.predict(X), pair_weight="uniform")
        assert scorer(model, X, y) == pytest.approx(1.0 - risk)
        fixed = make_ranking_scorer(partial(ranking_risk, pair_weight="uniform"))
        assert fixed(model, X, y) == scorer(model, X, y)

        def own(y_true, y_score, *, qid=None, query_weight=None):
            return ranking_risk(y_true, y_score, qid=qid)

        scorer = make_ranking_scorer(own, greater_is_better=False)
        assert scorer(model, X, y, qid=qid) == -ranking_risk(y, model.predict(X), qid=qid)
        assert repr(scorer) == "make_ranking_scorer(own, greater_is_better=False)"
        assert repr(clone(scorer)) == repr(scorer)
        lower = make_ranking_scorer(mean_average_precision, greater_is_better=False)
        assert lower(model, X, y > 0) == -mean_average_precision(y > 0, model.predict(X))
