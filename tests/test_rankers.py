"""NDCGSVC and RankSVC as people use them, and query weights in all estimators."""

import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
import reference
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning, UndefinedMetricWarning
from sklearn.metrics import ndcg_score, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    StratifiedKFold,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from threadpoolctl import threadpool_info, threadpool_limits

from skrank import APSVC, NDCGSVC, RankSVC
from skrank.losses import NDCG, Hinge, PositionLoss, PrecisionAtK, QSLoss, ROCArea
from skrank.metrics import (
    make_ranking_scorer,
    mean_average_precision,
    mean_ndcg,
    mean_ndcg_scorer,
    mean_precision_at_k,
    mean_reciprocal_rank,
)

PRECISE = {"tol": 1e-8, "max_iter": 5000}


@pytest.mark.filterwarnings("ignore:Zero weights")  # some checks have labels drawn at random
@parametrize_with_checks(
    [NDCGSVC(), NDCGSVC(k=3, gain="linear"), RankSVC(), RankSVC(loss="precision_at_k")]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def graded():
    """Rows of 30 queries in random order, with four grades and scores that shift by query."""
    rng = np.random.default_rng(0)
    qid = rng.integers(30, size=600)
    X = rng.standard_normal((600, 6))
    signal = X[:, 0] - 0.5 * X[:, 1] + 0.7 * rng.standard_normal(600)
    X[:, 2] += 3 * rng.standard_normal(30)[qid]
    return X, np.digitize(signal, [0.3, 1.0, 1.8]), qid


def constraint_values(X, y, w, loss):
    """Everything that the bound of one list is the maximum of, as affine functions of w."""
    truth = reference.pair_gradient(np.argsort(~y, kind="stable"), y)
    for ranking in reference.all_rankings(y, None):
        gradient = reference.pair_gradient(ranking, y) - truth
        yield loss(y[list(ranking)]) + (X.T @ gradient) @ w


@pytest.mark.parametrize("k", [None, 2])
@pytest.mark.parametrize("gain", ["exponential", "linear"])
def test_independent_solution(k, gain):
    """All constraints of a small problem at once, one for each ranking, query and grade."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((15, 3))
    y = np.array([0, 1, 2, 0, 1, 0, 0, 2, 2, 1, 3, 0, 0, 1, 0])
    qid = np.repeat([7, 3, 5], 5)
    weight = np.array([1.0, 2.0, 0.5])
    gains = {"exponential": lambda g: 2.0**g - 1.0, "linear": float}[gain]

    def discount(place):
        return (k is None or place <= k) / np.log2(1.0 + place)

    loss = reference.discount_loss(discount)
    w = cp.Variable(3)
    risk, constraints = 0.0, []
    for query, share in zip([7, 3, 5], weight / weight.sum(), strict=True):
        rows = qid == query
        for part, positive in reference.graded_parts(y[rows].astype(float), gains, discount):
            if positive.all():
                continue
            bound = cp.Variable()
            risk = risk + share * part * bound
            values = constraint_values(X[rows], positive, w, loss)
            constraints += [bound >= value for value in values]
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + 3.0 * risk), constraints)
    problem.solve(solver=cp.CLARABEL)

    order = rng.permutation(15)
    model = NDCGSVC(C=3.0, k=k, gain=gain, **PRECISE)
    query_weight = weight[np.repeat([0, 1, 2], 5)]
    model.fit(X[order], y[order], qid=qid[order], query_weight=query_weight[order])
    assert model.objective_ == pytest.approx(problem.value, rel=1e-6)
    assert_allclose(model.coef_, w.value, atol=1e-4)


def test_roc_area_is_the_ranking_svm():
    """The mean over pairs of a query, as an ordinary hinge loss of differences."""
    rng = np.random.default_rng(2)
    X, qid = rng.standard_normal((40, 4)), np.repeat([0, 1], 20)
    y = X[:, 0] + rng.standard_normal(40) > 0.5
    w = cp.Variable(4)
    risk = 0.0
    for query in (0, 1):
        pos, neg = X[(qid == query) & y], X[(qid == query) & ~y]
        pairs = (pos[:, None] - neg[None]).reshape(-1, 4)
        risk = risk + cp.sum(cp.pos(1.0 - pairs @ w)) / len(pairs) / 2
    C = 5.0
    cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + 4.0 * C * risk)).solve(solver=cp.CLARABEL)
    model = RankSVC(C=C, **PRECISE).fit(X, y, qid=qid)
    assert_allclose(2.0 * model.coef_, w.value, atol=1e-4)


def test_attributes(graded):
    X, y, qid = graded
    model = NDCGSVC().fit(pd.DataFrame(X, columns=list("abcdef")), y, qid=qid)
    assert model.coef_.shape == (6,)
    assert model.intercept_ == 0.0
    assert model.converged_ is True
    assert 0.0 <= model.dual_gap_ <= 1e-3
    assert len(model.history_["primal"]) == model.n_iter_
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert not is_classifier(model)
    assert not is_regressor(model)


def test_scores(graded):
    X, y, qid = graded
    model = NDCGSVC().fit(X, y, qid=qid)
    assert_allclose(model.predict(X), X @ model.coef_)
    assert_array_equal(model.predict(X), model.decision_function(X))
    assert_array_equal(model.predict(X[:1]), model.predict(X)[:1])


@pytest.mark.parametrize(("k", "gain"), [(None, "exponential"), (5, "exponential"), (3, "linear")])
def test_score_of_ndcgsvc(graded, k, gain):
    X, y, qid = graded
    model = NDCGSVC(k=k, gain=gain).fit(X, y, qid=qid)
    scores = model.predict(X)
    gains = 2.0**y - 1.0 if gain == "exponential" else y
    each = [ndcg_score([gains[qid == q]], [scores[qid == q]], k=k) for q in np.unique(qid)]
    assert model.score(X, y, qid=qid) == pytest.approx(np.mean(each))
    assert model.score(X, y, qid=qid) == mean_ndcg(y, scores, qid=qid, k=k, gain=gain)


@pytest.mark.parametrize(
    ("loss", "metric"),
    [
        ("average_precision", mean_average_precision),
        ("reciprocal_rank", mean_reciprocal_rank),
        (PrecisionAtK(3), lambda *a, **o: mean_precision_at_k(*a, k=3, **o)),
        ("precision_at_k", lambda *a, **o: mean_precision_at_k(*a, k=10, **o)),
        (NDCG(k=4), lambda y, s, **o: mean_ndcg(y, s, k=4, **o)),
    ],
)
@pytest.mark.parametrize("rounded", [False, True])
def test_score_of_ranksvc(graded, loss, metric, rounded):
    X, y, qid = graded
    X, y = np.round(X) if rounded else X, (y > 0).astype(int)
    model = RankSVC(loss=loss).fit(X, y, qid=qid)
    weight = 1.0 + (qid % 3)
    options = {"qid": qid, "query_weight": weight}
    expected = metric(y, model.predict(X), **options)
    assert model.score(X, y, **options) == pytest.approx(expected)


def test_score_of_the_roc_area(graded):
    X, y, _ = graded
    model = RankSVC().fit(X, y > 0)
    assert model.score(X, y > 0) == pytest.approx(roc_auc_score(y > 0, model.predict(X)))


def test_roc_area_of_queries_without_an_irrelevant_row(graded):
    X, y, qid = graded
    y = (y > 0) | (qid == 0)
    with pytest.warns(UserWarning, match=r"1 of 30 queries.*\(0 of them without"):
        model = RankSVC().fit(X, y, qid=qid)
    with pytest.warns(UndefinedMetricWarning, match="1 of 30 queries.*or no irrelevant one"):
        score = model.score(X, y, qid=qid)
    assert score == model.score(X[qid > 0], y[qid > 0], qid=qid[qid > 0])


def test_binary_relevance_on_one_list():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), NDCGSVC())
    assert model.fit(X, y == 0).score(X, y == 0) > 0.99
    order = np.argsort(y, kind="stable")
    folds = StratifiedKFold()
    assert cross_val_score(model, X[order], y[order], cv=folds).mean() > 0.99
    # folds of scikit-learn's own choice have rows of one class only
    with pytest.raises(ValueError, match=r"nothing to rank.*StratifiedKFold"):
        NDCGSVC().fit(X[order][:100], y[order][:100])
    with pytest.warns(UndefinedMetricWarning, match="score is undefined: there is no relevant row"):
        cross_val_score(model, X[order], y[order], cv=KFold(5))


@pytest.mark.parametrize("loss", ["ndcg", "roc_auc"])
def test_relevance_of_several_kinds(graded, loss):
    X, y, qid = graded
    model = RankSVC(loss=loss)
    expected = clone(model).fit(X, (y > 0).astype(int), qid=qid).coef_
    for relevance in (y > 0, (y > 0).astype(np.float32), pd.Series(y > 0), (y > 0).tolist()):
        assert_array_equal(clone(model).fit(X, relevance, qid=qid).coef_, expected)
    with pytest.warns(DataConversionWarning):
        assert_array_equal(clone(model).fit(X, (y > 0)[:, None], qid=qid).coef_, expected)


def test_losses_of_binary_relevance_take_all_but_the_lowest_as_relevant(graded):
    X, y, qid = graded
    expected = RankSVC().fit(X, y > 0, qid=qid)
    for relevance in (y, np.where(y > 0, 1, -1), np.where(y > 0, 2, 1)):
        model = RankSVC().fit(X, relevance, qid=qid)
        assert_array_equal(model.coef_, expected.coef_)
        assert model.score(X, relevance, qid=qid) == expected.score(X, y > 0, qid=qid)


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
def test_kinds_of_data(graded, convert):
    X, y, qid = graded
    expected = NDCGSVC(**PRECISE).fit(X, y, qid=qid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # float32 has not the digits for 1e-8
        model = NDCGSVC(**PRECISE).fit(convert(X), y, qid=qid)
    assert_allclose(model.coef_, expected.coef_, atol=1e-4)
    assert_allclose(model.predict(convert(X)), expected.predict(X), atol=1e-3)


def test_order_of_rows_and_names_of_queries(graded):
    X, y, qid = graded
    model = NDCGSVC(**PRECISE).fit(X, y, qid=qid)
    order = np.random.default_rng(3).permutation(y.size)
    names = np.array([f"query {q}" for q in qid])
    other = NDCGSVC(**PRECISE).fit(X[order], y[order], qid=names[order])
    assert_allclose(other.coef_, model.coef_, atol=1e-5)
    assert other.score(X, y, qid=names) == pytest.approx(model.score(X, y, qid=qid))


def test_shifts_of_queries_do_not_matter(graded):
    X, y, qid = graded
    shifted = X + np.random.default_rng(4).standard_normal((30, 6))[qid]
    model = NDCGSVC(**PRECISE).fit(X, y, qid=qid)
    assert_allclose(NDCGSVC(**PRECISE).fit(shifted, y, qid=qid).coef_, model.coef_, atol=1e-4)


def test_algorithms_give_the_same_model(graded):
    X, y, qid = graded
    models = [
        NDCGSVC(algorithm=algorithm, **PRECISE).fit(X, y, qid=qid)
        for algorithm in ("auto", "quicksort", "greedy", "dynamic")
    ]
    for model in models[1:]:
        assert model.objective_ == pytest.approx(models[0].objective_, rel=1e-7)
        assert_allclose(model.coef_, models[0].coef_, atol=1e-4)


def test_queries_with_nothing_to_rank_are_counted(graded):
    X, y, qid = graded
    y = y.copy()
    y[np.isin(qid, [0, 1, 2])] = 0
    y[qid == 3] = 2
    with pytest.warns(
        UserWarning, match=r"4 of 30 queries.*\(3 of them without a relevant"
    ) as seen:
        model = NDCGSVC().fit(X, y, qid=qid)
    assert len(seen) == 1
    kept = qid > 3
    assert_allclose(model.coef_, NDCGSVC().fit(X[kept], y[kept], qid=qid[kept]).coef_)
    with pytest.warns(UndefinedMetricWarning, match="for 3 of 30 queries"):
        score = model.score(X, y, qid=qid)
    rest = model.score(X[kept], y[kept], qid=qid[kept])
    assert score == pytest.approx((26 * rest + 1.0) / 27)


def test_nothing_to_rank_at_all(graded):
    X, y, qid = graded
    with pytest.raises(ValueError, match="None of the 30 queries has rows of different relevance"):
        NDCGSVC().fit(X, qid % 3, qid=qid)
    with pytest.raises(ValueError, match="All 600 rows are of the same relevance"):
        RankSVC().fit(X, np.ones(600))
    with pytest.raises(ValueError, match="None of the 1 queries of positive weight"):
        NDCGSVC().fit(X, np.where(qid == 0, 1, y), qid=qid, query_weight=qid == 0)


class TestQueryWeight:
    @pytest.mark.parametrize(
        "model",
        [
            NDCGSVC(**PRECISE),
            NDCGSVC(k=5, **PRECISE),
            RankSVC(loss="reciprocal_rank", **PRECISE),
            RankSVC(loss=Hinge(), **PRECISE),
            APSVC(**PRECISE),
            APSVC(easy_fraction=0.5, C=100.0, threshold="balanced_accuracy", **PRECISE),
        ],
        ids=str,
    )
    def test_weight_two_is_the_query_twice(self, graded, model):
        X, y, qid = graded
        y = y > 0 if not isinstance(model, NDCGSVC) else y
        weight = qid % 3
        rows = np.repeat(np.arange(qid.size), weight)
        copy = np.concatenate([np.arange(count) for count in weight])
        weighted = clone(model).fit(X, y, qid=qid, query_weight=weight)
        repeated = clone(model).fit(X[rows], y[rows], qid=100 * qid[rows] + copy)
        assert weighted.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
        assert_allclose(weighted.coef_, repeated.coef_, atol=2e-4)
        assert_allclose(weighted.intercept_, repeated.intercept_, atol=2e-3)

    @pytest.mark.parametrize("model", [NDCGSVC(), RankSVC(), APSVC()])
    def test_in_score(self, graded, model):
        X, y, qid = graded
        y = y if isinstance(model, NDCGSVC) else y > 0
        model.fit(X, y, qid=qid)
        weight = qid % 3
        rows = np.repeat(np.arange(qid.size), weight)
        copy = np.concatenate([np.arange(count) for count in weight])
        weighted = model.score(X, y, qid=qid, query_weight=weight)
        repeated = model.score(X[rows], y[rows], qid=100 * qid[rows] + copy)
        assert weighted == pytest.approx(repeated)

    @pytest.mark.parametrize("model", [NDCGSVC(), RankSVC(), APSVC()])
    @pytest.mark.parametrize(
        ("weight", "error", "message"),
        [
            (lambda qid: np.arange(qid.size), ValueError, "at another row of the same query"),
            (lambda qid: -1.0 * qid, ValueError, "finite and not negative"),
            (lambda qid: np.where(qid == 0, np.nan, 1.0), ValueError, "finite and not negative"),
            (lambda qid: np.ones(3), ValueError, r"shape \(3,\), but there are 600 rows"),
            (lambda qid: 0 * qid, ValueError, "0 for every query"),
            (lambda qid: np.full(qid.size, "a"), TypeError, "must hold numbers"),
        ],
    )
    def test_errors(self, graded, model, weight, error, message):
        X, y, qid = graded
        model = clone(model)
        with pytest.raises(error, match=message):
            model.fit(X, y > 0, qid=qid, query_weight=weight(qid))
        model.fit(X, y > 0, qid=qid)
        with pytest.raises(error, match=message):
            model.score(X, y > 0, qid=qid, query_weight=weight(qid))

    def test_one_query_has_one_weight(self, graded):
        X, y, qid = graded
        with pytest.raises(ValueError, match="without qid all rows are one query"):
            NDCGSVC().fit(X, y, query_weight=1.0 + qid)
        model = NDCGSVC().fit(X, y, query_weight=np.full(600, 3.0))
        assert_allclose(model.coef_, NDCGSVC().fit(X, y).coef_)


class TestSearches:
    def test_with_routing(self, graded):
        X, y, qid = graded
        weight = 1.0 + qid % 2
        model = make_pipeline(StandardScaler(), NDCGSVC())
        with config_context(enable_metadata_routing=True):
            folds = GroupKFold(3).set_split_request(groups="qid")
            search = GridSearchCV(model, {"ndcgsvc__C": [0.1, 10.0]}, cv=folds)
            search.fit(X, y, qid=qid, query_weight=weight)
            params = {"qid": qid, "query_weight": weight}
            each = cross_validate(
                search.best_estimator_, X, y, cv=folds, params=params, scoring=mean_ndcg_scorer
            )
            assert each["test_score"].mean() == pytest.approx(search.best_score_)
            score = search.score(X, y, qid=qid, query_weight=weight)
        best = search.best_estimator_
        assert score == best[-1].score(best[0].transform(X), y, qid=qid, query_weight=weight)
        by_hand = []
        for train, test in GroupKFold(3).split(X, y, qid):
            scaler = StandardScaler().fit(X[train])
            fitted = clone(best[-1]).fit(
                scaler.transform(X[train]), y[train], qid=qid[train], query_weight=weight[train]
            )
            scores = fitted.predict(scaler.transform(X[test]))
            by_hand.append(mean_ndcg(y[test], scores, qid=qid[test], query_weight=weight[test]))
        assert np.mean(by_hand) == pytest.approx(search.best_score_)

    def test_scorers_of_other_measures(self, graded):
        X, y, qid = graded
        scoring = {"ndcg@5": make_ranking_scorer(mean_ndcg, k=5), "ndcg": mean_ndcg_scorer}
        with config_context(enable_metadata_routing=True):
            folds = GroupKFold(3).set_split_request(groups="qid")
            results = cross_validate(
                NDCGSVC(), X, y, cv=folds, params={"qid": qid}, scoring=scoring
            )
        assert np.all(results["test_ndcg@5"] < results["test_ndcg"])

    def test_without_routing(self, graded):
        X, y, qid = graded
        search = GridSearchCV(NDCGSVC(), {"C": [10.0]}, cv=3)
        with pytest.warns(UserWarning, match="queries but score has no qid"):
            search.fit(X, y, qid=qid)

    def test_parameters_of_a_loss(self, graded):
        X, y, _ = graded
        search = GridSearchCV(
            RankSVC(loss=NDCG()),
            {"loss__gain": ["linear", "exponential"], "loss__k": [None, 100]},
            scoring=mean_ndcg_scorer,
            cv=3,
        )
        search.fit(X, y)
        assert search.best_estimator_.loss.k in (None, 100)

    def test_own_loss_in_other_processes(self, graded):
        X, y, _ = graded

        def cost(i, j, n_pos, n_neg):
            return j / (i + j) / n_pos

        search = GridSearchCV(RankSVC(loss=PositionLoss(cost)), {"C": [1.0, 10.0]}, cv=2, n_jobs=2)
        search.fit(X, y > 0)
        expected = GridSearchCV(RankSVC(loss="average_precision"), {"C": [1.0, 10.0]}, cv=2)
        expected.fit(X, y > 0)
        assert_allclose(search.best_estimator_.coef_, expected.best_estimator_.coef_, atol=1e-3)


class TestLosses:
    def test_own_average_precision(self, graded):
        X, y, qid = graded

        def increment(j, i, n_pos, n_neg):
            return i / (float(i + j) * (i + j - 1)) / n_pos

        own = RankSVC(loss=QSLoss(increment), **PRECISE).fit(X, y > 0, qid=qid)
        built_in = APSVC(**PRECISE).fit(X, y > 0, qid=qid)
        assert_allclose(own.coef_, built_in.coef_[0], atol=1e-5)

    def test_violation_of_the_condition(self, graded):
        X, y, qid = graded
        with pytest.raises(ValueError, match=r"j=2, i=1 \(n_pos"):
            RankSVC(loss=QSLoss(lambda j, i, p, n: 1.0 * j)).fit(X, y, qid=qid)

    def test_any_object_with_a_bound(self, graded):
        X, y, qid = graded

        class Bound:
            """Knows nothing of weights, nor of the loss of a ranking."""

            def bind(self, y, groups):
                return ROCArea().bind(y, groups)

        model = RankSVC(loss=Bound()).fit(X, y > 0, qid=qid)
        assert_allclose(model.coef_, RankSVC().fit(X, y > 0, qid=qid).coef_)
        with pytest.raises(TypeError, match="no method loss_of_each_list"):
            model.score(X, y > 0, qid=qid)
        with pytest.raises(TypeError, match=r"bind of Bound does not take it.*third parameter"):
            model.fit(X, y > 0, qid=qid, query_weight=np.ones(600))

    @pytest.mark.parametrize(
        ("result", "message"),
        [
            (None, "gave None, but a function from scores"),
            (lambda scores: 1.0, "gave 1.0, but the pair"),
            (lambda scores: (1.0, [0.0]), r"gave \['float', 'list'\]"),
            (lambda scores: (1.0, scores[:, None]), r"shape \(600,\)"),
        ],
    )
    def test_objects_that_give_something_else(self, graded, result, message):
        X, y, qid = graded

        class Bound:
            def bind(self, y, groups):
                return result

        with pytest.raises(TypeError, match=message):
            RankSVC(loss=Bound()).fit(X, y, qid=qid)

    @pytest.mark.parametrize(
        ("loss", "error", "message"),
        [
            ("auc", ValueError, r"Unknown loss 'auc'.*average_precision, ndcg"),
            (ROCArea, TypeError, r"such as ROCArea\(\)"),
            (lambda i, j: j, TypeError, r"PositionLoss\(cost\)"),
            (None, TypeError, "loss=None"),
            (PrecisionAtK(-1), ValueError, "k=-1"),
        ],
    )
    def test_errors(self, graded, loss, error, message):
        X, y, _ = graded
        with pytest.raises(error, match=message):
            RankSVC(loss=loss).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"C": 0}, ValueError, "C=0"),
        ({"k": 0}, ValueError, "k=0"),
        ({"k": "ten"}, TypeError, "whole number"),
        ({"gain": "log"}, ValueError, "Unknown gain 'log'"),
        ({"algorithm": "select"}, ValueError, "does not serve this loss"),
        ({"algorithm": "greedy", "k": 3}, ValueError, "not convex"),
        ({"algorithm": "best"}, ValueError, "Unknown algorithm"),
        ({"tol": -1.0}, ValueError, "tol"),
        ({"max_iter": 0}, ValueError, "max_iter"),
        ({"qp_solver": "none"}, ValueError, "none"),
        ({"warm_start": 1}, TypeError, "warm_start"),
    ],
)
def test_bad_parameters(graded, parameters, error, message):
    X, y, qid = graded
    with pytest.raises(error, match=message):
        NDCGSVC(**parameters).fit(X, y, qid=qid)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (lambda X, y, qid: (X, y - 1, qid), ValueError, "must be finite and not negative"),
        (lambda X, y, qid: (X, y.astype(str), qid), ValueError, "relevance is given by numbers"),
        (lambda X, y, qid: (X, np.where(y, np.nan, y), qid), ValueError, "NaN"),
        (lambda X, y, qid: (X, [None, *y[1:]], qid), ValueError, "dtype object.*Drop rows without"),
        (lambda X, y, qid: (X, y[:-1], qid), ValueError, "inconsistent"),
        (lambda X, y, qid: (X, y, qid[:-1]), ValueError, "qid has 599 entries"),
        (lambda X, y, qid: (np.where(X > 2, np.inf, X), y, qid), ValueError, "infinity"),
        (lambda X, y, qid: (X, np.column_stack([y, y]), qid), ValueError, "1d array"),
    ],
)
def test_bad_data(graded, change, error, message):
    X, y, qid = change(*graded)
    with pytest.raises(error, match=message):
        NDCGSVC().fit(X, y, qid=qid)


def test_missing_relevance_for_a_binary_loss(graded):
    X, y, qid = graded
    with pytest.raises(ValueError, match=r"dtype object.*Drop rows without"):
        RankSVC().fit(X, [None, *y[1:]], qid=qid)


def test_queries_and_weights_are_keyword_only(graded):
    X, y, qid = graded
    with pytest.raises(TypeError):
        NDCGSVC().fit(X, y, qid)
    model = NDCGSVC().fit(X, y, qid=qid)
    with pytest.raises(ValueError, match=r"sample_weight was given.*qid="):
        model.score(X, y, qid)
    with pytest.raises(ValueError, match="relevance is given by numbers"):
        model.score(X, y.astype(str), qid=qid)
    with pytest.raises(ValueError, match="inconsistent"):
        model.score(X, y[:-1])


def test_warm_start(graded):
    X, y, qid = graded
    model = NDCGSVC(warm_start=True, tol=1e-6).fit(X, y, qid=qid)
    first = model.n_iter_
    assert model.fit(X, y, qid=qid).n_iter_ < first
    with pytest.raises(ValueError, match="features"):
        model.fit(X[:, :3], y, qid=qid)


def test_non_convergence_warns_with_the_gap(graded):
    X, y, qid = graded
    with pytest.warns(ConvergenceWarning, match=r"after 2 iterations the relative duality gap"):
        model = NDCGSVC(max_iter=2, C=1e4).fit(X, y, qid=qid)
    assert not model.converged_
    assert model.dual_gap_ > model.tol


@pytest.mark.parametrize("model", [NDCGSVC(k=3), RankSVC(loss=PrecisionAtK(4))])
def test_clone_and_pickle(graded, model):
    X, y, qid = graded
    fitted = clone(model).fit(X, y, qid=qid)
    assert repr(clone(fitted)) == repr(model)
    copied = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(copied.predict(X), fitted.predict(X))
    assert copied.score(X, y, qid=qid) == fitted.score(X, y, qid=qid)


def test_zero_weights_are_reported():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((200, 3))
    y = np.abs(X[:, 0]) < 0.2
    with pytest.warns(UserWarning, match="Zero weights are as good as any"):
        model = RankSVC(loss=PrecisionAtK(5)).fit(X, y)
    assert np.abs(model.coef_).max() < 1e-9


def test_a_loss_that_no_list_can_have_is_reported(graded):
    X, y, _ = graded
    with pytest.warns(UserWarning, match="no list can lose anything"):
        RankSVC(loss="precision_at_k").fit(X, y > 0, qid=np.arange(600) // 8)


@pytest.mark.parametrize(("C", "scale"), [(1e-12, 1.0), (10.0, 1e-10), (10.0, 1e-30)])
def test_small_weights_are_not_reported_as_zero(graded, C, scale):
    X, y, qid = graded
    model = NDCGSVC(C=C).fit(scale * X, y, qid=qid)
    assert model.score(X, y, qid=qid) > 0.8


def test_real_values_for_a_binary_loss_warn(graded):
    X, _, _ = graded
    for y in (X[:, 0], np.arange(600), np.arange(600.0)):
        with pytest.warns(UserWarning, match=r"600 different values.*1 rows with.*StructRankSVM"):
            RankSVC().fit(X, y)


def test_numbers_as_objects(graded):
    X, y, qid = graded
    for model in (NDCGSVC(), RankSVC()):
        expected = clone(model).fit(X, y, qid=qid).score(X, y, qid=qid)
        objects = y.astype(object)
        assert clone(model).fit(X, objects, qid=qid).score(X, objects, qid=qid) == expected


def test_threads_of_blas_are_restored():
    rng = np.random.default_rng(8)
    X, qid = rng.standard_normal((12_000, 3)), np.arange(12_000) // 20
    y = rng.integers(0, 3, size=12_000)
    with threadpool_limits(2, user_api="blas"):
        before = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda C: NDCGSVC(C=C).fit(X, y, qid=qid), [0.1, 1.0, 10.0, 100.0]))
        after = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    assert after == before


def test_many_grades_in_short_lists(graded):
    """Real-valued relevance is a grade for each row."""
    X, _, qid = graded
    y = np.maximum(X[:, 0] + np.random.default_rng(5).standard_normal(600), 0.0)
    model = NDCGSVC(gain="linear").fit(X, y, qid=qid)
    assert model.converged_
    assert model.score(X, y, qid=qid) > 0.8


def test_a_grade_for_each_row_of_a_long_list():
    X = np.random.default_rng(6).standard_normal((50_000, 2))
    with pytest.raises(ValueError, match=r"50000 different grades.*Round y"):
        NDCGSVC(gain="linear").fit(X, np.arange(50_000.0))


def test_verbose_shows_a_bar(graded, capsys):
    X, y, qid = graded
    NDCGSVC(verbose=1).fit(X, y, qid=qid)
    assert "objective=" in capsys.readouterr().err
