import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits, load_iris
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import average_precision_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, label_binarize
from sklearn.svm import SVC

from skrank import APSVC
from skrank.metrics import (
    average_precision_per_query,
    mean_average_precision,
    mean_average_precision_scorer,
    mean_over_classes,
)


def loop_over_queries(y_true, y_score, qid):
    """Mean over the queries with a relevant row, one call of scikit-learn for each."""
    y_true, y_score, qid = np.asarray(y_true), np.asarray(y_score), np.asarray(qid)
    scores = [
        average_precision_score(y_true[qid == query], y_score[qid == query])
        for query in np.unique(qid)
        if np.any(y_true[qid == query] == 1)
    ]
    return np.mean(scores) if scores else 0.0


rows = st.lists(
    st.tuples(
        st.booleans(),
        st.one_of(st.integers(-2, 2).map(float), st.floats(-1e12, 1e12)),
        st.sampled_from(["b", "a", "query 10", "query 9"]),
    ),
    min_size=1,
    max_size=40,
)


@given(rows=rows)
def test_equals_a_loop_over_the_queries(rows):
    y_true, y_score, qid = (np.array(column) for column in zip(*rows, strict=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        attained = mean_average_precision(y_true, y_score, qid=qid)
    assert attained == pytest.approx(loop_over_queries(y_true, y_score, qid), abs=1e-12)


@given(rows=rows.filter(lambda drawn: any(label for label, _, _ in drawn)))
def test_equals_scikit_learn_on_one_query(rows):
    y_true, y_score, _ = (np.array(column) for column in zip(*rows, strict=True))
    expected = average_precision_score(y_true, y_score)
    assert mean_average_precision(y_true, y_score) == pytest.approx(expected, abs=1e-12)
    one = np.full(y_true.size, "only")
    assert mean_average_precision(y_true, y_score, qid=one) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_queries", [1, 7, 400])
def test_equals_a_loop_on_many_rows(n_queries):
    rng = np.random.default_rng(n_queries)
    y_true = rng.random(2_000) < 0.5
    y_score = rng.integers(0, 50, 2_000)
    qid = rng.permutation(np.arange(2_000) % n_queries)
    expected = loop_over_queries(y_true, y_score, qid)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        assert mean_average_precision(y_true, y_score, qid=qid) == pytest.approx(expected)


def test_row_order_never_changes_the_result():
    rng = np.random.default_rng(0)
    y_true = np.tile([0, 1], 50)
    y_score = rng.integers(0, 4, 100)
    qid = np.repeat(np.arange(5), 20)
    expected = mean_average_precision(y_true, y_score, qid=qid)
    for _ in range(10):
        order = rng.permutation(100)
        shuffled = mean_average_precision(y_true[order], y_score[order], qid=qid[order])
        assert shuffled == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8, bool, object])
def test_scores_of_any_real_type(dtype):
    y_true = np.array([1, 0, 1, 0])
    y_score = np.array([1, 0, 0, 1]).astype(dtype)
    assert mean_average_precision(y_true, y_score) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("negative", "positive", "pos_label"),
    [
        (0, 1, 1),
        (-1, 1, 1),
        (False, True, 1),
        (False, True, True),
        (0.0, 1.0, 1),
        ("ham", "spam", "spam"),
        (1, 2, 2),
        (1, 0, 0),
    ],
)
@pytest.mark.parametrize("container", [list, np.array, pd.Series])
def test_labels(negative, positive, pos_label, container):
    y_true = container([negative, positive, negative, positive])
    value = mean_average_precision(y_true, [0.1, 0.9, 0.8, 0.3], pos_label=pos_label)
    assert value == pytest.approx((1 + 2 / 3) / 2)


def test_query_with_only_relevant_rows_counts_one():
    y_true, y_score = [1, 1, 0, 1], [0.1, 0.2, 0.9, 0.8]
    assert mean_average_precision(y_true, y_score, qid=[7, 7, 3, 3]) == pytest.approx(0.75)


def test_queries_without_a_relevant_row_are_left_out_with_one_warning():
    y_true, y_score = [0, 0, 0, 1, 0], [0.1, 0.2, 0.9, 0.8, 0.5]
    with pytest.warns(UndefinedMetricWarning, match="2 of 3 queries.*label 1.*left out") as caught:
        value = mean_average_precision(y_true, y_score, qid=["c", "c", "b", "b", "a"])
    assert len(caught) == 1
    assert value == 0.5


@pytest.mark.parametrize("qid", [None, [1, 1, 2]])
@pytest.mark.parametrize("negative", [0, -1, False])
def test_nothing_relevant_is_zero_with_a_warning(qid, negative):
    with pytest.warns(UndefinedMetricWarning, match="set to 0.0") as caught:
        assert mean_average_precision([negative] * 3, [0.1, 0.2, 0.3], qid=qid) == 0.0
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("y_true", "y_score", "options", "message"),
    [
        ([0, 1], [0.1, np.nan], {}, "y_score contains NaN"),
        ([0, 1], [0.1, np.inf], {}, "y_score contains infinity"),
        ([0, np.nan], [0.1, 0.2], {}, "y_true contains NaN"),
        ([0, 1, 1], [0.1, 0.2], {}, "inconsistent numbers of samples"),
        ([0, 1], [0.1, 0.2], {"qid": [1, 1, 2]}, "qid has 3 entries"),
        ([0, 1, 2], [0.1, 0.2, 0.3], {}, r"3 distinct labels \(0, 1, 2\).*binary"),
        (list("abcdefg"), np.arange(7), {"pos_label": "a"}, r"7 distinct labels .*, \.\.\.\)"),
        (["ham", "spam"], [0.1, 0.2], {}, r"pos_label=1 is not among .*\['ham', 'spam'\]"),
        (["ham", "ham"], [0.1, 0.2], {}, r"pos_label=1 is not among .*\['ham'\]"),
        ([0, 0], [0.1, 0.2], {"pos_label": "spam"}, "pos_label='spam' is not among"),
        ([1, 2], [0.1, 0.2], {"pos_label": 3}, "pos_label=3 is not among"),
        ([], [], {}, "empty"),
        ([0, 1], [[0.9, 0.1], [0.2, 0.8]], {}, r"y_score has shape \(2, 2\).*y_score\[:, 1\]"),
        ([0, None, 1], [0.1, 0.2, 0.3], {}, "y_true has labels that cannot be compared"),
        ([[0, 1], [1, 0]], [0.1, 0.2], {}, "1d array"),
    ],
)
def test_bad_input(y_true, y_score, options, message):
    with pytest.raises(ValueError, match=message):
        mean_average_precision(y_true, y_score, **options)


@pytest.fixture
def problem():
    """Rows of 30 queries in mixed order, with a shift of the features for each query."""
    rng = np.random.default_rng(3)
    qid = rng.permutation(np.repeat([f"query {q}" for q in range(30)], 8))
    y = rng.integers(0, 2, qid.size)
    X = rng.normal(size=(qid.size, 4)) + y[:, None] * [1.0, 0.5, 0.0, 0.0]
    for query in np.unique(qid):
        X[qid == query] += rng.normal(scale=2.0, size=4)
        y[np.flatnonzero(qid == query)[0]] = 1
    return X, y, qid


def fold_scores(model, X, y, qid, folds, *, grouped):
    """Score of each fold, by hand."""
    scores = []
    for train, test in folds.split(X, y, groups=qid):
        decision = model.fit(X[train], y[train]).decision_function(X[test])
        scores.append(
            loop_over_queries(y[test], decision, qid[test])
            if grouped
            else average_precision_score(y[test], decision)
        )
    return np.array(scores)


def test_scorer_in_grid_search_with_routing(problem):
    X, y, qid = problem
    with config_context(enable_metadata_routing=True):
        folds = GroupKFold(3).set_split_request(groups="qid")
        pipeline = make_pipeline(StandardScaler(), LogisticRegression())
        grid = {"logisticregression__C": [0.01, 1.0]}
        search = GridSearchCV(pipeline, grid, scoring=mean_average_precision_scorer, cv=folds)
        search.fit(X, y, qid=qid)
        value = search.score(X, y, qid=qid)
    for number, C in enumerate([0.01, 1.0]):
        model = make_pipeline(StandardScaler(), LogisticRegression(C=C))
        expected = fold_scores(model, X, y, qid, GroupKFold(3), grouped=True)
        attained = [search.cv_results_[f"split{split}_test_score"][number] for split in range(3)]
        np.testing.assert_allclose(attained, expected)
    expected = mean_average_precision(y, search.decision_function(X), qid=qid)
    assert value == pytest.approx(expected)


def test_scorer_in_cross_validate_with_params(problem):
    X, y, qid = problem
    model = LogisticRegression()
    with config_context(enable_metadata_routing=True):
        result = cross_validate(
            model,
            X,
            y,
            params={"qid": qid},
            scoring=mean_average_precision_scorer,
            cv=GroupKFold(3).set_split_request(groups="qid"),
        )
    expected = fold_scores(model, X, y, qid, GroupKFold(3), grouped=True)
    np.testing.assert_allclose(result["test_score"], expected)


def test_scorer_without_routing_takes_all_rows_as_one_query(problem):
    X, y, qid = problem
    model = LogisticRegression()
    search = GridSearchCV(
        model, {"C": [1.0]}, scoring=mean_average_precision_scorer, cv=GroupKFold(3)
    ).fit(X, y, groups=qid)
    attained = [search.cv_results_[f"split{split}_test_score"][0] for split in range(3)]
    expected = fold_scores(model, X, y, qid, GroupKFold(3), grouped=False)
    np.testing.assert_allclose(attained, expected)


def test_scorer_called_by_hand(problem):
    X, y, qid = problem
    model = LogisticRegression().fit(X, y)
    expected = mean_average_precision(y, model.decision_function(X), qid=qid)
    assert mean_average_precision_scorer(model, X, y, qid=qid) == pytest.approx(expected)
    assert mean_average_precision_scorer(model, X, y) == pytest.approx(
        average_precision_score(y, model.decision_function(X))
    )


@pytest.mark.filterwarnings("ignore:1 of 30 queries have rows of one class only")
@pytest.mark.parametrize("names", [[0, 1], [1, 2], [-1, 1], ["no", "yes"], [False, True]])
def test_scorer_gives_the_score_of_apsvc(problem, names):
    X, y, qid = problem
    labels = np.array(names)[y]
    model = APSVC().fit(X, labels, qid=qid)
    assert mean_average_precision_scorer(model, X, labels, qid=qid) == model.score(
        X, labels, qid=qid
    )


def test_scorer_for_more_classes_and_labels():
    X, y = load_iris(return_X_y=True)
    for model in (APSVC(), LogisticRegression(max_iter=1000)):
        model.fit(X, y)
        expected = average_precision_score(
            label_binarize(y, classes=[0, 1, 2]), model.decision_function(X)
        )
        assert mean_average_precision_scorer(model, X, y) == pytest.approx(expected)
    Y = label_binarize(y, classes=[0, 1, 2])
    model = APSVC().fit(X, Y)
    assert mean_average_precision_scorer(model, X, Y) == model.score(X, Y)
    results = cross_validate(
        APSVC(), X, y, scoring={"map": mean_average_precision_scorer, "accuracy": "accuracy"}
    )
    assert results["test_map"].min() > 0.7


def test_scorer_of_classifiers_with_probabilities_for_each_label():
    X, y = load_iris(return_X_y=True)
    Y = label_binarize(y, classes=[0, 1, 2])
    for model in (KNeighborsClassifier(), MultiOutputClassifier(LogisticRegression(max_iter=1000))):
        model.fit(X, Y)
        scores = np.column_stack([p[:, 1] for p in model.predict_proba(X)])
        expected = average_precision_score(Y, scores)
        assert mean_average_precision_scorer(model, X, Y) == pytest.approx(expected)
    # labels that no row, or every row, had in training have one column of probabilities
    constant = KNeighborsClassifier().fit(X, np.column_stack([0 * y, Y[:, 1], 0 * y + 1]))
    expected = average_precision_score(Y[:, 1], constant.predict_proba(X)[1][:, 1])
    value = mean_average_precision_scorer(constant, X, Y)
    assert value == pytest.approx((1 / 3 + expected + 1 / 3) / 3)


def test_scorer_refuses_scores_of_pairs_of_classes():
    for load in (load_iris, load_digits):
        X, y = load(return_X_y=True)
        svc = SVC(decision_function_shape="ovo")
        for model in (svc, make_pipeline(StandardScaler(), svc)):
            model.fit(X, y)
            with pytest.raises(ValueError, match="has a column for each pair of classes"):
                mean_average_precision_scorer(model, X, y)


def test_scorer_with_labels_of_another_kind_than_those_of_the_fit():
    X, y = load_iris(return_X_y=True)
    Y = label_binarize(y, classes=[0, 1, 2])
    for model in (APSVC().fit(X, y == 1), LogisticRegression().fit(X, y == 1)):
        with pytest.raises(ValueError, match="multilabel indicator of 1 columns"):
            mean_average_precision_scorer(model, X, Y)
    with pytest.raises(ValueError, match="multilabel indicator of 3 columns"):
        mean_average_precision_scorer(KNeighborsClassifier().fit(X, Y), X, y)


def test_scorer_of_a_regressor(problem):
    X, y, qid = problem
    model = Ridge().fit(X, y)
    expected = mean_average_precision(y, model.predict(X), qid=qid)
    assert mean_average_precision_scorer(model, X, y, qid=qid) == pytest.approx(expected)


def test_scorer_falls_back_to_probabilities(problem):
    X, y, qid = problem
    model = CalibratedClassifierCV(LogisticRegression(), cv=3).fit(X, y)
    with config_context(enable_metadata_routing=True):
        value = mean_average_precision_scorer(model, X, y, qid=qid)
    expected = mean_average_precision(y, model.predict_proba(X)[:, 1], qid=qid)
    assert value == pytest.approx(expected)


def test_scorer_survives_pickling(problem):
    X, y, qid = problem
    model = LogisticRegression().fit(X, y)
    again = pickle.loads(pickle.dumps(mean_average_precision_scorer))
    with config_context(enable_metadata_routing=True):
        expected = mean_average_precision_scorer(model, X, y, qid=qid)
        assert again(model, X, y, qid=qid) == expected


@pytest.mark.parametrize("n_queries", [1, 5])
def test_weights_of_rows_equal_scikit_learn(n_queries):
    rng = np.random.default_rng(1)
    relevant = rng.random(200) < 0.4
    y_score = rng.integers(0, 20, 200).astype(float)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], 200)
    codes = rng.permutation(np.arange(200) % n_queries)
    expected = [
        average_precision_score(relevant[rows], y_score[rows], sample_weight=weight[rows])
        for rows in (codes == query for query in range(n_queries))
    ]
    attained = average_precision_per_query(relevant, y_score, codes, n_queries, weight)
    np.testing.assert_allclose(attained, expected)


def test_weights_of_one_query_do_not_drown_in_those_of_another():
    rng = np.random.default_rng(2)
    relevant = rng.random(40) < 0.4
    y_score = rng.standard_normal(40)
    codes = np.arange(40) % 2
    weight = np.where(codes == 0, 1.0, 1e17)
    expected = average_precision_per_query(relevant, y_score, codes, 2)
    attained = average_precision_per_query(relevant, y_score, codes, 2, weight)
    np.testing.assert_allclose(attained, expected)


@pytest.mark.parametrize("largest", [1e10, 1e308])
def test_light_rows_do_not_drown_in_the_heavy_ones_of_other_queries(largest):
    rng = np.random.default_rng(6)
    relevant, y_score, codes = rng.random(90) < 0.4, rng.integers(0, 40, 90), np.arange(90) % 3
    weight = rng.choice([0.0, 1.0, 1e10], 90)
    expected = [
        average_precision_score(relevant[rows], y_score[rows], sample_weight=weight[rows])
        for rows in (codes == query for query in range(3))
    ]
    scaled = weight * (largest / 1e10)
    attained = average_precision_per_query(relevant, y_score, codes, 3, scaled)
    np.testing.assert_allclose(attained, expected, rtol=1e-12)


def test_weights_of_queries_in_the_mean_over_classes():
    rng = np.random.default_rng(4)
    scores, codes = rng.standard_normal((60, 3)), np.arange(60) % 4
    indicator = rng.random((60, 3)) < 0.3
    indicator[codes == 2, 1] = False  # undefined there
    indicator[:, 2] = codes == 1  # defined in a query of weight zero only
    weight = np.array([1.0, 0.0, 2.0, 0.5])
    expected = [
        mean_average_precision(
            indicator[rows, column],
            scores[rows, column],
            qid=codes[rows],
            query_weight=weight[codes[rows]],
        )
        for column, rows in [(0, codes >= 0), (1, codes != 2)]
    ]
    attained = mean_over_classes(indicator, scores, codes, 4, query_weight=weight)
    assert attained == pytest.approx(np.mean(expected), abs=1e-15)
    alike = mean_over_classes(indicator, scores, codes, 4, query_weight=np.full(4, 3.0))
    assert alike == pytest.approx(mean_over_classes(indicator, scores, codes, 4), abs=1e-15)
    with pytest.warns(UndefinedMetricWarning, match="no relevant row of positive weight"):
        assert mean_over_classes(indicator[:, 2:], scores[:, 2:], codes, 4, None, weight) == 0.0


def test_scorer_weighs_the_queries_of_each_class():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X[::3], y[::3])
    qid = np.arange(150) % 5
    weight = np.array([0.0, 1.0, 2.0, 0.5, 3.0])[qid]
    scores = model.decision_function(X)
    expected = [
        mean_average_precision(y == label, scores[:, label], qid=qid, query_weight=weight)
        for label in range(3)
    ]
    value = mean_average_precision_scorer(model, X, y, qid=qid, query_weight=weight)
    assert value == pytest.approx(np.mean(expected), abs=1e-15)
