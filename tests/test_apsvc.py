"""APSVC as people use it: in pipelines and searches, with queries, with all kinds of labels."""

import os
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from joblib import parallel_config
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, make_classification, make_multilabel_classification
from sklearn.exceptions import (
    ConvergenceWarning,
    DataConversionWarning,
    UndefinedMetricWarning,
)
from sklearn.metrics import average_precision_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    TunedThresholdClassifierCV,
    cross_val_score,
    cross_validate,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skrank import APSVC
from skrank.metrics import mean_average_precision, mean_average_precision_scorer
from skrank.solvers import _qp
from skrank.solvers._planes import PlaneSet


@parametrize_with_checks([APSVC(), APSVC(easy_fraction=0.5)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def binary():
    return make_classification(
        n_samples=300, n_features=12, weights=[0.8], class_sep=0.7, random_state=0
    )


@pytest.fixture(scope="module")
def ranked():
    """Rows of 20 queries in random order, with scores that shift from query to query."""
    rng = np.random.default_rng(0)
    qid = rng.integers(20, size=400)
    X = rng.standard_normal((400, 5))
    signal = X[:, 0] + 0.5 * rng.standard_normal(400)
    shift = rng.standard_normal(20)[qid]
    y = (signal > 0.8).astype(int)
    X[:, 1] += 3 * shift
    return X, y, qid


def test_the_readme_search():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(StandardScaler(), APSVC())
    search = GridSearchCV(model, {"apsvc__C": [1, 10, 100]}).fit(X, y)
    assert search.best_score_ > 0.99
    scores = search.decision_function(X)
    assert search.score(X, y) == pytest.approx(average_precision_score(y, scores))


def test_attributes_of_a_binary_fit(binary):
    X, y = binary
    model = APSVC().fit(X, y)
    assert model.coef_.shape == (1, 12)
    assert model.intercept_.shape == (1,)
    assert model.converged_ is True
    assert 0 <= model.dual_gap_ <= model.tol
    assert model.n_iter_ == model.history_["primal"].size
    assert model.objective_ == pytest.approx(model.history_["primal"][-1], rel=1e-12)
    np.testing.assert_allclose(
        model.decision_function(X), X @ model.coef_[0] + model.intercept_[0], rtol=1e-12
    )
    np.testing.assert_array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))
    assert model.score(X, y) == pytest.approx(
        average_precision_score(y, model.decision_function(X))
    )


def test_trains_for_average_precision(binary):
    X, y = binary
    model = APSVC(C=1e4).fit(X, y)
    rng = np.random.default_rng(0)
    for _ in range(20):
        w = model.coef_[0] + rng.standard_normal(12) * np.abs(model.coef_[0]).max()
        assert model.score(X, y) >= average_precision_score(y, X @ w)


def test_algorithms_give_the_same_model(binary):
    X, y = binary
    models = [
        APSVC(algorithm=name, tol=1e-8).fit(X, y)
        for name in ("auto", "quicksort", "select", "search", "greedy", "dynamic")
    ]
    for model in models[1:]:
        np.testing.assert_allclose(model.coef_, models[0].coef_, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("qp_solver", ["active-set", "cvxpy", "CLARABEL"])
def test_backends_give_the_same_model(binary, qp_solver):
    X, y = binary
    expected = APSVC(tol=1e-8).fit(X, y)
    model = APSVC(tol=1e-8, qp_solver=qp_solver).fit(X, y)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize(
    "convert",
    [
        np.asfortranarray,
        sp.csr_array,
        sp.csc_matrix,
        lambda X: pd.DataFrame(X, columns=[f"f{k}" for k in range(X.shape[1])]),
        lambda X: X.astype(np.float32),
        lambda X: np.asfortranarray(X.astype(np.float32)),
        lambda X: sp.csr_array(X.astype(np.float32)),
        lambda X: X.tolist(),
    ],
    ids=["fortran", "csr", "csc", "frame", "float32", "float32-fortran", "csr-float32", "list"],
)
def test_kinds_of_data(binary, convert):
    X, y = binary
    expected = APSVC(tol=1e-6).fit(X, y)
    converted = convert(X)
    model = APSVC(tol=1e-6).fit(converted, y)
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-4)
    np.testing.assert_allclose(
        model.decision_function(converted), expected.decision_function(X), atol=0.02
    )
    assert hasattr(model, "feature_names_in_") == isinstance(converted, pd.DataFrame)


def test_string_labels(binary):
    X, y = binary
    names = np.array(["ham", "spam"])[y]
    model = APSVC().fit(X, names)
    assert model.classes_.tolist() == ["ham", "spam"]
    assert set(model.predict(X)) <= {"ham", "spam"}
    np.testing.assert_array_equal(model.coef_, APSVC().fit(X, y).coef_)
    assert model.score(X, names) == APSVC().fit(X, y).score(X, y)


def test_a_column_of_labels_warns(binary):
    X, y = binary
    with pytest.warns(DataConversionWarning):
        model = APSVC().fit(X, y[:, None])
    np.testing.assert_array_equal(model.coef_, APSVC().fit(X, y).coef_)


def test_row_order_does_not_matter(binary):
    X, y = binary
    order = np.random.default_rng(0).permutation(y.size)
    first = APSVC(tol=1e-8).fit(X, y)
    second = APSVC(tol=1e-8).fit(X[order], y[order])
    np.testing.assert_allclose(first.coef_, second.coef_, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(first.intercept_, second.intercept_, rtol=1e-4, atol=1e-5)


def test_clone_and_pickle(binary):
    X, y = binary
    model = APSVC(C=3.0, threshold="accuracy").fit(X, y)
    assert clone(model).get_params() == model.get_params()
    restored = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(restored.predict(X), model.predict(X))
    assert restored.score(X, y) == model.score(X, y)


def test_set_output_on_a_pipeline(binary):
    X, y = binary
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(X.shape[1])])
    model = make_pipeline(StandardScaler(), APSVC()).set_output(transform="pandas")
    assert model.fit(frame, y)[-1].feature_names_in_.tolist() == frame.columns.tolist()


def test_warm_start(binary):
    X, y = binary
    model = APSVC(C=1e3, warm_start=True).fit(X, y)
    cold, objective = model.n_iter_, model.objective_
    model.fit(X, y)
    assert model.n_iter_ < cold
    assert model.objective_ <= objective
    with pytest.raises(ValueError, match="X has 5 features, but APSVC is expecting 12"):
        model.fit(X[:, :5], y)
    with pytest.raises(ValueError, match=r"warm_start.*binary.*\[0, 1\], but y is.*has \[1, 2\]"):
        model.fit(X, y + 1)
    with pytest.raises(ValueError, match=r"but y is multilabel and has \[0, 1\]"):
        model.fit(X, np.column_stack([y, 1 - y]))
    model.set_params(warm_start=False).fit(X[:, :5], y + 1)


@pytest.mark.parametrize("factor", [1e160, 1e307, np.nan])
def test_a_warm_start_out_of_range_starts_anew(binary, factor):
    X, y = binary
    model = APSVC(warm_start=True).fit(X, y)
    expected = model.objective_
    model.coef_ = model.coef_ * factor
    assert model.fit(X, y).objective_ == pytest.approx(expected, rel=1e-3)


def test_equal_rows_are_equal_wherever_they_stand():
    rng = np.random.default_rng(0)
    for _ in range(20):
        distinct = rng.standard_normal((4, 37))
        rows = rng.integers(4, size=203)
        X, y = distinct[rows], rng.random(203) < 0.2 + 0.2 * (rows == 1)
        model = APSVC().fit(X, y)
        for data in (X, np.asfortranarray(X), X.astype(np.float32), sp.csr_array(X)):
            scores = model.decision_function(data)
            assert np.unique(scores).size <= 4
            by_row = [model.decision_function(data[[k]])[0] for k in range(10)]
            np.testing.assert_array_equal(scores[:10], by_row)
        order = rng.permutation(203)
        assert model.score(X, y) == pytest.approx(model.score(X[order], y[order]), abs=1e-12)


def test_multiclass_and_parallel_fitting():
    X, y = make_classification(
        n_samples=240, n_classes=4, n_informative=6, n_redundant=0, random_state=0
    )
    names = np.array(["a", "b", "c", "d"])[y]
    model = APSVC().fit(X, names)
    assert model.coef_.shape == (4, 20)
    assert model.intercept_.shape == model.n_iter_.shape == model.converged_.shape == (4,)
    assert len(model.history_) == 4
    scores = model.decision_function(X)
    assert scores.shape == (240, 4)
    np.testing.assert_array_equal(model.predict(X), model.classes_[scores.argmax(axis=1)])
    expected = np.mean([average_precision_score(y == k, scores[:, k]) for k in range(4)])
    assert model.score(X, names) == pytest.approx(expected)
    # a class that the fold lacks is left out of the average
    some = y < 3
    expected = np.mean([average_precision_score(y[some] == k, scores[some, k]) for k in range(3)])
    assert model.score(X[some], names[some]) == pytest.approx(expected)
    for k in range(4):
        single = APSVC().fit(X, y == k)
        np.testing.assert_allclose(model.coef_[k], single.coef_[0])
    parallel = APSVC(n_jobs=2).fit(X, names)
    np.testing.assert_allclose(parallel.coef_, model.coef_)


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, pd.DataFrame, np.ndarray.tolist])
def test_multilabel(kind):
    X, Y = make_multilabel_classification(n_samples=150, n_classes=4, random_state=0)
    model = APSVC(C=10).fit(X, kind(Y))
    assert model.predict(X).shape == (150, 4)
    scores = model.decision_function(X)
    expected = average_precision_score(Y, scores, average="macro")
    assert model.score(X, kind(Y)) == pytest.approx(expected)
    with pytest.raises(ValueError, match="multilabel indicator of 4 columns"):
        model.score(X, Y[:, :2])


def test_indicators_of_other_values():
    X, Y = make_multilabel_classification(n_samples=50, n_classes=3, random_state=0)
    for wrong in (2 * Y - 1, Y - 1, Y + 1):
        with pytest.raises(ValueError, match="multilabel indicator with the values"):
            APSVC().fit(X, wrong)


def test_an_indicator_with_nothing_to_rank():
    X, Y = make_multilabel_classification(n_samples=50, n_classes=3, random_state=0)
    with pytest.raises(ValueError, match="no label that some rows have and others have not"):
        APSVC().fit(X, 0 * Y)


def test_constant_labels_of_an_indicator():
    X, Y = make_multilabel_classification(n_samples=100, n_classes=3, random_state=0)
    Y[:, 0], Y[:, 2] = 0, 1
    with pytest.warns(UserWarning, match=r"2 of 3 classes, among them \[0, 2\]"):
        model = APSVC(C=1.0).fit(X, Y)
    predicted = model.predict(X)
    assert not predicted[:, 0].any()
    assert predicted[:, 2].all()
    assert model.converged_.all()
    assert model.score(X, Y[:, [0, 1, 2]]) > 0.5


def test_queries(ranked):
    X, y, qid = ranked
    model = APSVC().fit(X, y, qid=qid)
    scores = model.decision_function(X)
    assert model.score(X, y, qid=qid) == pytest.approx(mean_average_precision(y, scores, qid=qid))
    assert model.score(X, y, qid=qid) > APSVC().fit(X, y).score(X, y) + 0.01
    names = np.array([f"query {q}" for q in qid])
    np.testing.assert_allclose(APSVC().fit(X, y, qid=names).coef_, model.coef_)
    order = np.argsort(qid, kind="stable")
    in_order = APSVC(tol=1e-8).fit(X[order], y[order], qid=qid[order])
    unsorted = APSVC(tol=1e-8).fit(X, y, qid=qid)
    np.testing.assert_allclose(in_order.coef_, unsorted.coef_, rtol=1e-4, atol=1e-6)


def test_queries_with_nothing_to_rank(ranked):
    X, y, qid = ranked
    y = np.where(qid == 3, 0, np.where(qid == 5, 1, y))
    with pytest.warns(UserWarning, match="2 of 20 queries have rows of one class only"):
        model = APSVC().fit(X, y, qid=qid)
    both = ~np.isin(qid, [3, 5])
    np.testing.assert_allclose(model.coef_, APSVC().fit(X[both], y[both], qid=qid[both]).coef_)
    with pytest.raises(ValueError, match=r"None of the 400 queries has both .* rows, so"):
        APSVC().fit(X, y, qid=np.arange(400))


def test_grades_with_queries_warn(ranked):
    X, y, qid = ranked
    grades = y + (X[:, 0] > 1)
    with pytest.warns(UserWarning, match=r"3 numbers as labels.* fit y >= grade"):
        model = APSVC().fit(X, grades, qid=qid)
    named = APSVC().fit(X, np.array(["a", "b", "c"])[grades], qid=qid)
    np.testing.assert_allclose(named.coef_, model.coef_)


def test_score_without_queries_warns(ranked):
    X, y, qid = ranked
    model = APSVC().fit(X, y, qid=qid)
    with pytest.warns(UserWarning, match="fit had 20 queries but score has no qid"):
        model.score(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        APSVC().fit(X, y).score(X, y)


def test_weighted_score(binary):
    X, y = binary
    model = APSVC().fit(X, y)
    weight = np.random.default_rng(0).random(y.size)
    weight[:10] = 0
    expected = average_precision_score(y, model.decision_function(X), sample_weight=weight)
    assert model.score(X, y, sample_weight=weight) == pytest.approx(expected)


def test_queries_in_searches_with_routing(ranked):
    X, y, qid = ranked
    with config_context(enable_metadata_routing=True):
        cv = GroupKFold(4).set_split_request(groups="qid")
        model = make_pipeline(StandardScaler(), APSVC())
        search = GridSearchCV(model, {"apsvc__C": [1, 100]}, cv=cv).fit(X, y, qid=qid)
        folds = [
            clone(model)
            .set_params(apsvc__C=100)
            .fit(X[train], y[train], qid=qid[train])
            .score(X[test], y[test], qid=qid[test])
            for train, test in GroupKFold(4).split(X, y, qid)
        ]
        at_100 = search.cv_results_["params"].index({"apsvc__C": 100})
        assert search.cv_results_["mean_test_score"][at_100] == pytest.approx(np.mean(folds))
        assert search.score(X, y, qid=qid) == pytest.approx(
            mean_average_precision(y, search.decision_function(X), qid=qid)
        )
        result = cross_validate(
            model, X, y, cv=cv, scoring=mean_average_precision_scorer, params={"qid": qid}
        )
        by_name = cross_val_score(model, X, y, cv=cv, params={"qid": qid})
        np.testing.assert_allclose(result["test_score"], by_name)


def test_queries_in_searches_without_routing(ranked):
    X, y, qid = ranked
    search = GridSearchCV(APSVC(), {"C": [1, 10]}, cv=GroupKFold(4))
    with pytest.warns(UserWarning, match="score has no qid"):
        search.fit(X, y, groups=qid, qid=qid)
    np.testing.assert_allclose(
        search.best_estimator_.coef_, clone(search.best_estimator_).fit(X, y, qid=qid).coef_
    )


def test_qid_is_keyword_only(binary):
    X, y = binary
    with pytest.raises(TypeError, match="positional"):
        APSVC().fit(X, y, np.ones(y.size))


@pytest.mark.parametrize("criterion", ["f1", "accuracy", "balanced_accuracy"])
def test_thresholds(binary, criterion):
    from sklearn.metrics import get_scorer

    X, y = binary
    model = APSVC(threshold=criterion).fit(X, y)
    scores = X @ model.coef_[0]
    scorer = get_scorer(criterion)
    best = max(
        scorer._score_func(y, scores > cut) for cut in np.append(np.sort(scores), scores.min() - 1)
    )
    assert scorer(model, X, y) == pytest.approx(best)
    by_row = np.concatenate([model.predict(row[None]) for row in X])
    np.testing.assert_array_equal(model.predict(X), by_row)


def test_a_number_as_threshold(binary):
    X, y = binary
    assert APSVC(threshold=0.25).fit(X, y).intercept_ == [-0.25]


def test_tuned_thresholds_and_calibration(binary):
    X, y = binary
    tuned = TunedThresholdClassifierCV(APSVC(), scoring="balanced_accuracy").fit(X, y)
    assert set(tuned.predict(X)) <= {0, 1}
    for method in ("sigmoid", "isotonic"):
        calibrated = CalibratedClassifierCV(APSVC(), method=method).fit(X, y)
        probability = calibrated.predict_proba(X)
        np.testing.assert_allclose(probability.sum(axis=1), 1)
        assert average_precision_score(y, probability[:, 1]) > 0.5


@pytest.mark.filterwarnings("ignore:.*queries have rows of one class only")
def test_tuned_thresholds_and_calibration_with_queries(ranked):
    X, y, qid = ranked
    with config_context(enable_metadata_routing=True):
        for wrapper in (
            TunedThresholdClassifierCV(APSVC(), cv=3),
            CalibratedClassifierCV(APSVC(), cv=3),
        ):
            wrapper.fit(X, y, qid=qid)
            assert set(wrapper.predict(X)) <= {0, 1}


def test_non_convergence_warns_with_the_gap(binary):
    X, y = binary
    with pytest.warns(ConvergenceWarning, match=r"after 2 iterations the relative duality gap is"):
        model = APSVC(C=1e4, max_iter=2).fit(X, y)
    assert model.converged_ is False
    assert model.dual_gap_ > model.tol
    X, y = make_classification(n_samples=90, n_classes=3, n_informative=4, random_state=0)
    with pytest.warns(ConvergenceWarning, match="for 3 of 3 classes"):
        APSVC(C=1e4, max_iter=2).fit(X, y)


def test_a_failure_on_the_way_keeps_the_model(binary, monkeypatch):
    X, y = binary
    add = PlaneSet.add

    def failing(self, *arguments, **options):
        if self.size == 10:
            raise MemoryError("no room for a plane")
        add(self, *arguments, **options)

    monkeypatch.setattr(PlaneSet, "add", failing)
    with pytest.warns(ConvergenceWarning, match=r"failed \(no room for a plane\): after 8"):
        model = APSVC(C=1e4).fit(X, y)
    assert model.converged_ is False
    assert model.score(X, y) > 0.6


def test_a_backend_that_fails_is_named(binary, monkeypatch):
    X, y = binary
    monkeypatch.setattr(_qp, "MAX_PIVOTS", 2)
    with pytest.warns(ConvergenceWarning, match=r'failed \(the active-set.*qp_solver="auto"'):
        APSVC(C=1e4, qp_solver="active-set").fit(X, y)
    assert APSVC(C=1e3).fit(X, y).converged_


def test_converged_means_a_gap_below_tol():
    rng = np.random.default_rng(0)
    y = rng.random(200) < 0.2
    X = rng.standard_normal((200, 300)) + 0.5 * y[:, None]
    for offset, C in [(1e6, 1e9), (1e8, 1e6), (1e10, 1e6), (1e10, 1e9)]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = APSVC(C, max_iter=60).fit(X + offset * (np.arange(300) == 0), y)
        assert model.converged_ == (model.dual_gap_ <= model.tol)


FORK = """
import os
import numpy as np
from skrank import APSVC

rng = np.random.default_rng(0)
y = rng.random(12_000) < 0.3
X = rng.standard_normal((12_000, 4)) + y[:, None]
qid = np.arange(12_000) // 40
expected = APSVC().fit(X, y, qid=qid).coef_
child = os.fork()
if child == 0:
    os._exit(0 if np.allclose(APSVC().fit(X, y, qid=qid).coef_, expected) else 1)
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_fitting_after_a_fork():
    subprocess.run([sys.executable, "-c", FORK], check=True, timeout=300)


def test_backends_of_joblib(binary):
    X, y = make_classification(n_samples=90, n_classes=3, n_informative=4, random_state=0)
    expected = APSVC().fit(X, y).coef_
    for backend in ("threading", "multiprocessing"):
        with parallel_config(backend, n_jobs=2):
            np.testing.assert_allclose(APSVC().fit(X, y).coef_, expected)


@pytest.mark.parametrize(
    "scale", [0.0, 1e-300, 1e-160, 1e-100, 1e-20, 1e8, 1e10, 1e20, 1e100, 1e154, 1e160, 1e307]
)
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value", "ignore:divide")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_extreme_scales_end(binary, scale):
    X, y = binary
    model = APSVC(max_iter=300).fit(scale * X, y)
    assert np.all(np.isfinite(model.coef_))
    assert 0 <= model.dual_gap_ <= 1
    if scale < 1:
        assert model.converged_


@pytest.mark.parametrize("C", [1e-300, 1e-10, 1e6, 1e9])
def test_extreme_weights_of_the_loss(binary, C):
    X, y = binary
    assert APSVC(C).fit(X, y).converged_


@pytest.mark.parametrize("scale", [1e-3, 1e-6, 1e-10, 1e-100])
def test_small_features_or_weights_of_the_loss_still_rank(binary, scale):
    """Zero weights are within tol of the optimum there, but rank nothing."""
    X, y = binary
    fair = APSVC(C=1e-3).fit(X, y).score(X, y)
    for model in (APSVC().fit(scale * X, y), APSVC(C=scale**2).fit(X, y)):
        assert model.converged_
        assert np.any(model.coef_)
        assert model.score(X, y) > fair - 0.05


@pytest.mark.parametrize("tol", [1e-3, 0.1])
def test_a_weak_signal_is_not_given_up(tol):
    """Zero weights are within tol here, too, without anything being small."""
    rng = np.random.default_rng(0)
    y = rng.random(2000) < 0.2
    X = 10 * rng.standard_normal((2000, 5)) + 0.5 * y[:, None]
    model = APSVC(C=1, tol=tol).fit(X, y)
    assert model.converged_
    assert np.any(model.coef_)
    assert model.score(X, y) > APSVC(C=1, tol=1e-6).fit(X, y).score(X, y) - 0.01


def test_nothing_to_learn():
    """Where no weights are better than none the fit says so at once."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((60, 3)), np.arange(60) % 3 == 0
    qid = np.arange(60) // 6
    cases = [
        (np.zeros((60, 3)), y, None),
        (np.ones((60, 3)), y, None),
        (X[qid], y, qid),
        (np.vstack([X, X]), np.concatenate([y, ~y]), None),
        ([[1.0, 2.0], [1.0, 2.0]], [0, 1], None),
    ]
    for data, labels, queries in cases:
        model = APSVC(max_iter=50).fit(data, labels, qid=queries)
        assert model.converged_
        np.testing.assert_allclose(model.coef_, 0, atol=1e-6)


def test_verbose_shows_a_bar(binary, capsys):
    X, y = binary
    APSVC(verbose=1).fit(X, y)
    assert "gap=" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"C": 0}, ValueError, r"C=0 was given, but it must be above 0"),
        ({"C": -1.0}, ValueError, r"C=-1.0 was given"),
        ({"C": np.nan}, ValueError, r"C=nan was given"),
        ({"C": "big"}, TypeError, r"C must be a positive number, but 'big' was given"),
        ({"tol": 0}, ValueError, r"tol=0 was given"),
        ({"max_iter": 0}, ValueError, r"max_iter=0 was given, but it must be at least 1"),
        ({"max_iter": 1.5}, TypeError, r"max_iter must be a whole number, but 1.5 was given"),
        ({"algorithm": "magic"}, ValueError, r"'magic'.*auto, quicksort, select, search, greedy"),
        ({"qp_solver": "magic"}, ValueError, r"'magic' is not known.*active-set.*CLARABEL"),
        ({"threshold": "magic"}, ValueError, r"'magic' is not known.*'f1', 'accuracy'"),
        ({"threshold": None}, ValueError, r"threshold=None is not known"),
        ({"verbose": None}, TypeError, r"verbose must be a whole number, but None was given"),
        ({"n_jobs": 0}, ValueError, r"n_jobs=0 was given, but it must not be 0"),
        ({"n_jobs": "all"}, TypeError, r"n_jobs must be a whole number, but 'all' was given"),
        ({"warm_start": "no"}, TypeError, r"warm_start must be True or False, but 'no' was given"),
        ({"easy_fraction": 2}, ValueError, r"easy_fraction=2 .*between 0 and 1"),
        ({"easy_fraction": "half"}, TypeError, r"easy_fraction must be a number from 0 to 1"),
    ],
)
def test_bad_parameters(binary, parameters, error, message):
    X, y = binary
    with pytest.raises(error, match=message):
        APSVC(**parameters).fit(X, y)


def replaced(X, value):
    X = X.copy()
    X[3, 4] = value
    return X


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X, y: (replaced(X, np.nan), y, None), "contains NaN"),
        (lambda X, y: (replaced(X, np.inf), y, None), "contains infinity"),
        (lambda X, y: (X[:0], y[:0], None), "0 sample"),
        (lambda X, y: (X[:, :0], y, None), "0 feature"),
        (lambda X, y: (X, np.ones_like(y), None), "y holds one class only, 1"),
        (lambda X, y: (X, y[:-1], None), "inconsistent numbers of samples"),
        (lambda X, y: (X, y + 0.5, None), "Unknown label type"),
        (lambda X, y: (X, y.astype(object), None), "Unknown label type: y has dtype object.* int"),
        (lambda X, y: (X, np.where(y, "a", None), None), "holds NoneType, str"),
        (lambda X, y: (X, np.column_stack([y, y + 1]), None), "multiclass-multioutput"),
        (lambda X, y: (X, y, y[:-1]), "qid has 299 entries, but there are 300 rows"),
        (lambda X, y: (X, y, np.where(y, np.nan, 1)), "qid has a missing value at row"),
        (lambda X, y: (X, y, np.arange(y.size)), "None of the 300 queries has both"),
        (lambda X, y: (X, None, None), "requires y to be passed"),
    ],
)
def test_bad_data(binary, change, message):
    X, y, qid = change(*binary)
    with pytest.raises(ValueError, match=message):
        APSVC().fit(X, y, qid=qid)


def test_scoring_with_labels_that_make_no_sense(binary):
    X, y = binary
    model = APSVC().fit(X, y)
    for wrong in (np.array(["no", "yes"])[y], y + 5, X[:, 0], np.where(y, np.nan, 0.0)):
        with pytest.raises(ValueError, match="labels that fit did not see"):
            model.score(X, wrong)
    with pytest.warns(UndefinedMetricWarning, match="no relevant row"):
        assert model.score(X, np.zeros_like(y)) == 0
    with pytest.raises(ValueError, match="sample_weight has values that are negative"):
        model.score(X, y, sample_weight=-np.ones(y.size))
    with pytest.raises(ValueError, match="1d array"):
        model.score(X, np.column_stack([y, y]))


def test_classes_with_nothing_to_rank_at_all():
    X, y = make_classification(n_samples=90, n_classes=3, n_informative=4, random_state=0)
    with pytest.raises(ValueError, match=r"None of the 3 queries has both .* of any class"):
        APSVC().fit(X, y, qid=y)


def test_predicting_with_other_features(binary):
    X, y = binary
    model = APSVC().fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :5])
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(X, y[:-1])
    with pytest.raises(ValueError, match="qid has 2 entries"):
        model.score(X, y, qid=[1, 2])
