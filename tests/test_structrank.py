"""StructRankSVM as people use it, against independent solutions."""

import warnings
from decimal import Decimal
from itertools import product

import cvxpy as cp
import numpy as np
import pair_reference as reference
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import is_classifier, is_regressor
from sklearn.exceptions import ConvergenceWarning, UndefinedMetricWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skrank import RankSVC, StructRankSVM
from skrank.losses import Groups, RankingRisk
from skrank.metrics import ranking_risk, ranking_risk_scorer

PRECISE = {"tol": 1e-8, "max_iter": 5000}
GRAPHS = [
    {"graph": "complete"},
    {"graph": "star"},
    {"graph": "bipartite", "top": 4},
    {"graph": "bipartite", "relevance_threshold": 0.0},
]


@parametrize_with_checks(
    [
        StructRankSVM(),
        StructRankSVM(graph="star", rescaling="margin"),
        StructRankSVM(pair_weight="uniform"),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def measured():
    """Rows of 20 queries in random order with real relevance, and scores that shift by query."""
    rng = np.random.default_rng(0)
    qid = rng.integers(20, size=500)
    X = rng.standard_normal((500, 5))
    y = X[:, 0] - 0.5 * X[:, 1] + rng.standard_normal(500)
    X[:, 2] += 3 * rng.standard_normal(20)[qid]
    return X, y, qid


def independent(X, y, qid, weight, C, rescaling, pair_weight, **graph):
    """The solution with a variable hinge for each pair."""
    groups = Groups.from_qid(qid, y.size)
    i, j, which = reference.pairs_of(y, groups, **graph)
    weight = weight[which]
    difference = y[i] - y[j] if pair_weight == "difference" else np.ones(i.size)
    w = cp.Variable(X.shape[1])
    d = (X[i] - X[j]) @ w
    if rescaling == "slack":
        share = weight * difference / (weight @ difference)
        hinges = cp.pos(1.0 - d)
    else:
        share = weight / weight.sum()
        hinges = cp.pos(difference / (share @ difference) - d)
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * (share @ hinges)))
    problem.solve(solver=cp.CLARABEL)
    return problem.value, w.value


@pytest.mark.parametrize("graph", GRAPHS, ids=lambda graph: "-".join(map(str, graph.values())))
@pytest.mark.parametrize("rescaling", ["slack", "margin"])
@pytest.mark.parametrize("pair_weight", ["difference", "uniform"])
def test_independent_solution(graph, rescaling, pair_weight):
    """Real relevance with ties, weighted queries of different lengths."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((60, 4))
    y = np.round(2.0 * (X[:, 0] + rng.standard_normal(60))) / 2.0
    qid = np.repeat([3, 1, 2], [10, 20, 30])
    weight = np.array([1.0, 0.5, 2.0])
    options = dict(graph, rescaling=rescaling, pair_weight=pair_weight)
    value, w = independent(X, y, qid, weight, 20.0, **options)
    model = StructRankSVM(C=20.0, **options, **PRECISE)
    model.fit(X, y, qid=qid, query_weight=weight[qid - 1])
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    assert_allclose(model.coef_, w, atol=1e-4)


def test_two_grades_are_the_classic_ranking_svm():
    """dlib's objective: 1/2 ||w||^2 plus C times the mean hinge over pairs of two grades."""
    rng = np.random.default_rng(2)
    X = rng.standard_normal((80, 5))
    y = np.where(X[:, 0] + rng.standard_normal(80) > 0.5, 7.0, -3.0)
    w = cp.Variable(5)
    pairs = (X[y > 0][:, None] - X[y < 0][None]).reshape(-1, 5)
    risk = cp.sum(cp.pos(1.0 - pairs @ w)) / len(pairs)
    cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + 5.0 * risk)).solve(solver=cp.CLARABEL)
    for options in ({"pair_weight": "uniform"}, {}, {"rescaling": "margin"}, {"graph": "star"}):
        model = StructRankSVM(C=5.0, **options, **PRECISE).fit(X, y)
        assert_allclose(model.coef_, w.value, atol=1e-4)
    ranksvc = RankSVC(C=1.25, **PRECISE).fit(X, y)
    assert_allclose(2.0 * ranksvc.coef_, w.value, atol=1e-4)


@pytest.mark.parametrize("rescaling", ["slack", "margin"])
def test_c_means_the_same_at_any_size_and_unit(measured, rescaling):
    X, y, qid = measured
    expected = StructRankSVM(rescaling=rescaling, **PRECISE).fit(X, y, qid=qid).coef_
    for unit in (1e-3, 1e6):
        model = StructRankSVM(rescaling=rescaling, **PRECISE).fit(X, unit * y + unit, qid=qid)
        assert_allclose(model.coef_, expected, atol=1e-5)
    rows = np.repeat(np.arange(y.size), 3)
    model = StructRankSVM(rescaling=rescaling, **PRECISE).fit(X[rows], y[rows], qid=qid[rows])
    assert_allclose(model.coef_, expected, atol=1e-5)


def test_svm_rank_has_another_c(measured):
    """A sum over pairs, divided by the number of queries."""
    X, y, qid = measured
    i, j, _ = reference.pairs_of(y, Groups.from_qid(qid, y.size), "complete")
    w = cp.Variable(5)
    total = cp.sum(cp.pos(1.0 - (X[i] - X[j]) @ w)) / 20
    C = 0.02
    cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + C * total)).solve(solver=cp.CLARABEL)
    model = StructRankSVM(C * i.size / 20, pair_weight="uniform", **PRECISE).fit(X, y, qid=qid)
    assert_allclose(model.coef_, w.value, atol=1e-4)


def test_attributes(measured):
    X, y, qid = measured
    frame = pd.DataFrame(X, columns=list("abcde"))
    model = StructRankSVM().fit(frame, y, qid=qid)
    assert model.coef_.shape == (5,)
    assert model.intercept_ == 0.0
    assert model.converged_ is True
    assert 0.0 <= model.dual_gap_ <= 1e-3
    assert len(model.history_["primal"]) == model.n_iter_
    assert np.all(np.diff(model.history_["dual"]) >= 0.0)
    assert model.feature_names_in_.tolist() == list("abcde")
    assert not is_classifier(model)
    assert not is_regressor(model)
    assert_allclose(model.predict(frame[:3]), X[:3] @ model.coef_)


@pytest.mark.parametrize("options", [{}, {"pair_weight": "uniform"}, {"graph": "star"}])
def test_score_is_one_minus_the_ranking_risk(measured, options):
    X, y, qid = measured
    model = StructRankSVM(**options).fit(X, y, qid=qid)
    weight = 1.0 + qid % 3
    risk = ranking_risk(y, model.predict(X), qid=qid, query_weight=weight)
    assert model.score(X, y, qid=qid, query_weight=weight) == pytest.approx(1.0 - risk, rel=1e-12)
    groups = Groups.from_qid(qid, y.size)
    expected = reference.risk(y, model.predict(X), groups, 1.0 + np.arange(20) % 3)
    assert risk == pytest.approx(expected, rel=1e-9)
    with pytest.warns(UserWarning, match="ranked as one list"):
        assert model.score(X, y) == pytest.approx(1.0 - ranking_risk(y, model.predict(X)))


@pytest.mark.parametrize(
    "convert",
    [
        lambda X: X.astype(np.float32),
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        sp.csr_array,
        sp.csc_matrix,
        pd.DataFrame,
    ],
)
def test_kinds_of_data(measured, convert):
    X, y, qid = measured
    expected = StructRankSVM(**PRECISE).fit(X, y, qid=qid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # float32 has not the digits for 1e-8
        model = StructRankSVM(**PRECISE).fit(convert(X), y, qid=qid)
    assert_allclose(model.coef_, expected.coef_, atol=1e-4)
    assert_allclose(model.predict(convert(X)), expected.predict(X), atol=1e-3)


def test_kinds_of_relevance(measured):
    X, y, qid = measured
    y = np.round(y)
    expected = StructRankSVM().fit(X, y, qid=qid).coef_
    for relevance in (y.astype(int), y.astype(np.float32), pd.Series(y), y.astype(object)):
        assert_allclose(StructRankSVM().fit(X, relevance, qid=qid).coef_, expected, rtol=1e-12)
    assert_allclose(StructRankSVM().fit(X, y - 100.0, qid=qid).coef_, expected, rtol=1e-9)


def test_order_of_rows_and_names_of_queries(measured):
    X, y, qid = measured
    model = StructRankSVM(**PRECISE).fit(X, y, qid=qid)
    order = np.random.default_rng(3).permutation(y.size)
    names = np.array([f"query {q}" for q in qid])
    other = StructRankSVM(**PRECISE).fit(X[order], y[order], qid=names[order])
    assert_allclose(other.coef_, model.coef_, atol=1e-5)
    assert other.score(X, y, qid=names) == pytest.approx(model.score(X, y, qid=qid))


def test_shifts_of_queries_do_not_matter(measured):
    """Neither of features nor of relevance."""
    X, y, qid = measured
    rng = np.random.default_rng(4)
    model = StructRankSVM(**PRECISE).fit(X, y, qid=qid)
    shifted = X + rng.standard_normal((20, 5))[qid]
    other = StructRankSVM(**PRECISE).fit(shifted, y + rng.standard_normal(20)[qid], qid=qid)
    assert_allclose(other.coef_, model.coef_, atol=1e-4)


def test_a_weight_of_two_is_a_query_that_is_there_twice(measured):
    X, y, qid = measured
    weight = np.where(qid == 0, 2.0, np.where(qid == 1, 0.0, 1.0))
    model = StructRankSVM(**PRECISE).fit(X, y, qid=qid, query_weight=weight)
    rows = np.concatenate([np.flatnonzero(qid != 1), np.flatnonzero(qid == 0)])
    copies = np.where(np.arange(rows.size) < np.count_nonzero(qid != 1), qid[rows], 99)
    other = StructRankSVM(**PRECISE).fit(X[rows], y[rows], qid=copies)
    assert_allclose(other.coef_, model.coef_, atol=1e-5)


def test_warm_start(measured):
    X, y, qid = measured
    model = StructRankSVM(warm_start=True, tol=1e-6).fit(X, y, qid=qid)
    cold, coef = model.history_["oracle_calls"][-1], model.coef_
    model.fit(X, y, qid=qid)
    assert model.history_["oracle_calls"][-1] < cold
    assert_allclose(model.coef_, coef, atol=1e-2)


def test_queries_with_nothing_to_rank_are_counted(measured):
    X, y, qid = measured
    kept = qid > 3
    y = np.where(kept, y, -5.0)
    with pytest.warns(UserWarning, match=r"4 of 20 queries have no rows of diff.*rank") as seen:
        model = StructRankSVM(**PRECISE).fit(X, y, qid=qid)
    assert len(seen) == 1
    assert "without a relevant row" not in str(seen[0].message)
    expected = StructRankSVM(**PRECISE).fit(X[kept], y[kept], qid=qid[kept])
    assert_allclose(model.coef_, expected.coef_, atol=1e-4)
    # in a sum over all pairs these queries are not missing
    assert model.score(X, y, qid=qid) == model.score(X[kept], y[kept], qid=qid[kept])
    with pytest.warns(UserWarning, match="have no rows on both sides of relevance_threshold=2"):
        StructRankSVM(graph="bipartite", relevance_threshold=2).fit(X, y, qid=qid)
    short = np.concatenate([np.flatnonzero(qid == 5)[:3], np.flatnonzero(kept & (qid != 5))])
    with pytest.warns(UserWarning, match=r"1 of 16 queries .* beside top=3"):
        StructRankSVM(graph="bipartite", top=3).fit(X[short], y[short], qid=qid[short])


def test_nothing_to_rank_at_all(measured):
    X, y, qid = measured
    with pytest.raises(ValueError, match=r"All 500 rows are of the same .*KFold\(shuffle=True\)"):
        StructRankSVM().fit(X, np.ones(500))
    with pytest.raises(ValueError, match="None of the 20 queries has rows of different relevance"):
        StructRankSVM().fit(X, qid, qid=qid)
    with pytest.raises(ValueError, match=r"There are no rows on both sides of r.*=99.* y is from"):
        StructRankSVM(graph="bipartite", relevance_threshold=99).fit(X, y)
    with pytest.raises(ValueError, match=r"There are no .* beside top=500 among the 500 rows"):
        StructRankSVM(graph="bipartite", top=500).fit(X, y)
    longest = np.bincount(qid).max()
    with pytest.raises(ValueError, match=rf"The longest query has {longest} rows: lower top"):
        StructRankSVM(graph="bipartite", top=100).fit(X, y, qid=qid)
    model = StructRankSVM().fit(X, y, qid=qid)
    with pytest.warns(UndefinedMetricWarning, match="no two rows of a query differ"):
        assert model.score(X[:2], [1, 1], qid=[0, 0]) == 0.0


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"graph": "tree"}, ValueError, "Unknown graph 'tree'"),
        ({"graph": "bipartite"}, ValueError, "one of top and .* Given: none"),
        ({"top": 5}, ValueError, "has no use for it"),
        ({"rescaling": "both"}, ValueError, "Unknown rescaling 'both'"),
        ({"pair_weight": 1}, ValueError, "Unknown pair_weight 1"),
        ({"C": 0}, ValueError, "C=0 was given"),
        ({"tol": "1e-3"}, TypeError, "tol must be a positive number"),
        ({"qp_solver": "none"}, ValueError, "none"),
    ],
)
def test_parameters_are_checked(measured, options, error, match):
    X, y, qid = measured
    with pytest.raises(error, match=match):
        StructRankSVM(**options).fit(X, y, qid=qid)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda y: y.astype(str), r"relevance is given by numbers.*astype\(float\)"),
        (lambda y: y.astype("timedelta64[s]"), "Count time in a unit, as in y / np"),
        (lambda y: y.astype("datetime64[s]"), r"as in \(y - y.min\(\)\) / np.timedelta64"),
        (lambda y: pd.Series(np.where(y > 0, "hi", "lo")), r"y == 'spam'"),
        (lambda y: np.where(y > 0, np.nan, y), "NaN"),
        (lambda y: np.column_stack([y, y]), "1d array"),
    ],
)
def test_relevance_is_numbers(measured, change, match):
    X, y, qid = measured
    with pytest.raises(ValueError, match=match):
        StructRankSVM().fit(X, change(y), qid=qid)


def test_numbers_of_any_type(measured):
    X, y, qid = measured
    y = np.round(10 * y)
    expected = StructRankSVM().fit(X, y, qid=qid)
    for same in (y.astype(int), y.astype(object), [Decimal(int(value)) for value in y]):
        assert_array_equal(StructRankSVM().fit(X, same, qid=qid).coef_, expected.coef_)


def test_relevance_is_compared_as_float64(measured):
    """What the warning counts is what is left out."""
    X = measured[0][:6]
    y = np.array([0.7, 0.1, 0.8, 0.2, 0.7, 0.1], np.float32)
    loss = {"graph": "bipartite", "relevance_threshold": 0.7}
    with pytest.warns(UserWarning, match="2 of 3 queries have no rows on both sides"):
        StructRankSVM(**loss).fit(X, y, qid=[0, 0, 1, 1, 2, 2])
    with pytest.raises(ValueError, match="None of the 3 queries"):
        StructRankSVM().fit(X, 2**53 + np.array([0, 1] * 3), qid=[0, 0, 1, 1, 2, 2])


def test_thresholds_of_any_type(measured):
    X, y, _ = measured
    y = y.astype(np.float32)
    cut = np.quantile(y, 0.8)
    assert isinstance(cut, np.float32)
    loss = {"graph": "bipartite"}
    model = StructRankSVM(relevance_threshold=cut, **loss).fit(X, y)
    same = StructRankSVM(relevance_threshold=float(cut), **loss).fit(X, y)
    assert_array_equal(model.coef_, same.coef_)
    with pytest.raises(ValueError, match="must be a finite"):
        StructRankSVM(relevance_threshold=np.float32("inf"), **loss).fit(X, y)


def test_zero_weights_point_to_outliers(measured):
    X, y, _ = measured
    y = np.where(np.arange(500) == 7, 1e12, y)
    with pytest.warns(UserWarning, match="Zero weights are as good .* for outliers, raise C"):
        StructRankSVM(C=1e-3, rescaling="margin").fit(np.where(y[:, None] > 1e6, 0.0, X), y)


def test_a_fit_that_does_not_converge_says_so(measured):
    X, y, qid = measured
    with pytest.warns(ConvergenceWarning, match="the relative duality gap is .* above tol"):
        model = StructRankSVM(C=1e4, tol=1e-9, max_iter=3).fit(X, y, qid=qid)
    assert model.converged_ is False
    assert model.score(X, y, qid=qid) > 0.7


def test_search_with_queries(measured):
    X, y, qid = measured
    grid = {
        "structranksvm__C": [0.1, 10.0],
        "structranksvm__rescaling": ["slack", "margin"],
        "structranksvm__graph": ["complete", "star"],
    }
    with config_context(enable_metadata_routing=True):
        folds = GroupKFold(3).set_split_request(groups="qid")
        model = make_pipeline(StandardScaler(), StructRankSVM())
        search = GridSearchCV(model, grid, cv=folds)
        search.fit(X, y, qid=qid)
        best = search.best_estimator_
        assert search.score(X, y, qid=qid) == best[-1].score(best[:-1].transform(X), y, qid=qid)
        other = GridSearchCV(model, grid, cv=folds, scoring=ranking_risk_scorer)
        other.fit(X, y, qid=qid)
        for name in ("mean_test_score", "rank_test_score"):
            assert_allclose(other.cv_results_[name], search.cv_results_[name], rtol=1e-12)
    assert search.best_score_ > 0.75


def test_one_list_in_cross_validation(measured):
    X, y, _ = measured
    order = np.argsort(y)
    folds = KFold(shuffle=True, random_state=0)
    scores = cross_val_score(StructRankSVM(), X[order], y[order], cv=folds)
    ridge = cross_val_score(Ridge(), X[order], y[order], cv=folds, scoring=ranking_risk_scorer)
    assert scores.mean() == pytest.approx(ridge.mean(), abs=0.02)


def test_as_a_loss_of_ranksvc(measured):
    X, y, qid = measured
    for options in ({}, {"graph": "bipartite", "top": 5}):
        expected = StructRankSVM(**options).fit(X, y, qid=qid)
        model = RankSVC(loss=RankingRisk(**options), C=expected.C).fit(X, y, qid=qid)
        assert_array_equal(model.coef_, expected.coef_)
        assert model.score(X, y, qid=qid) == expected.score(X, y, qid=qid)


def test_what_is_trained_for_is_what_is_best(measured):
    """Each bound is lowest where it is minimised."""
    X, y, qid = measured
    groups = Groups.from_qid(qid, y.size)
    choices = [
        {"rescaling": rescaling, "pair_weight": pair_weight}
        for rescaling, pair_weight in product(["slack", "margin"], ["difference", "uniform"])
    ]
    models = [StructRankSVM(C=10.0, **PRECISE, **choice).fit(X, y, qid=qid) for choice in choices]
    for choice in choices:
        objective = RankingRisk(**choice).bind(y, groups)
        values = [0.5 * m.coef_ @ m.coef_ + 10.0 * objective(m.predict(X))[0] for m in models]
        assert values[choices.index(choice)] == pytest.approx(min(values), rel=1e-7)
