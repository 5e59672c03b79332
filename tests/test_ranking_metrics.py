import pickle
import warnings
from functools import partial
from itertools import chain, permutations, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import average_precision_score, ndcg_score
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, label_binarize

from skrank._gains import GAINS, apply_gain, check_grades
from skrank.metrics import (
    make_ranking_scorer,
    mean_average_precision,
    mean_average_precision_scorer,
    mean_ndcg,
    mean_ndcg_scorer,
    mean_precision_at_k,
    mean_precision_at_k_scorer,
    mean_reciprocal_rank,
    mean_reciprocal_rank_scorer,
)


def rankings(y, scores):
    """The relevance from the top down, in each order of the rows that the scores allow."""
    tied = [permutations(y[scores == score]) for score in sorted(set(scores), reverse=True)]
    for blocks in product(*tied):
        yield list(chain(*blocks))


def mean_over_rankings(measure):
    """A measure of the relevance from the top down, averaged over all orders of tied rows."""
    return lambda y, scores: np.mean([measure(ranking) for ranking in rankings(y, scores)])


def slow_ndcg(y, scores, k=None, gain="exponential"):
    if y.size == 1:  # which scikit-learn refuses
        return 1.0
    gains = 2.0**y - 1.0 if gain == "exponential" else y
    return ndcg_score([gains], [scores], k=k)


@mean_over_rankings
def slow_reciprocal_rank(ranking):
    return 1 / (1 + ranking.index(1))


def slow_precision_at(k):
    return mean_over_rankings(lambda ranking: sum(ranking[:k]) / k)


def loop_over_queries(of_query, y_true, y_score, qid, query_weight=None):
    """Mean over the queries with positive relevance, one call of the reference for each."""
    y_true, y_score, qid = np.asarray(y_true, float), np.asarray(y_score), np.asarray(qid)
    weight = np.ones(y_true.size) if query_weight is None else np.asarray(query_weight)
    queries = [qid == query for query in np.unique(qid) if np.any(y_true[qid == query] > 0)]
    values = [of_query(y_true[rows], y_score[rows]) for rows in queries]
    weights = [weight[rows][0] for rows in queries]
    return np.average(values, weights=weights) if sum(weights) else 0.0


CASES = [
    pytest.param(mean_average_precision, average_precision_score, id="average precision"),
    pytest.param(mean_reciprocal_rank, slow_reciprocal_rank, id="reciprocal rank"),
    *(
        pytest.param(
            partial(mean_precision_at_k, k=k), slow_precision_at(k), id=f"precision at {k}"
        )
        for k in [1, 2, 4, 10]
    ),
    *(
        pytest.param(
            partial(mean_ndcg, k=k, gain=gain),
            partial(slow_ndcg, k=k, gain=gain),
            id=f"NDCG {k} {gain}",
        )
        for k, gain in product([None, 1, 3, 100], GAINS)
    ),
]
all_metrics = pytest.mark.parametrize(
    "metric",
    [
        mean_average_precision,
        mean_ndcg,
        partial(mean_ndcg, k=3, gain="linear"),
        mean_reciprocal_rank,
        partial(mean_precision_at_k, k=3),
    ],
)
binary_metrics = pytest.mark.parametrize(
    "metric",
    [mean_average_precision, mean_reciprocal_rank, partial(mean_precision_at_k, k=3)],
)


def quiet(metric, *arguments, **options):
    """The metric, with no word about queries that are left out."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UndefinedMetricWarning)
        return metric(*arguments, **options)


@st.composite
def problems(draw, labels):
    """Rows of up to four short queries in mixed order, with many ties; weights of the queries."""
    scores = st.one_of(st.integers(-1, 1).map(float), st.floats(-1e12, 1e12))
    lists = draw(
        st.lists(
            st.lists(st.tuples(labels, scores), min_size=1, max_size=6), min_size=1, max_size=4
        )
    )
    names = ["query 10", "b", "query 9", "a"]
    weight = draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=4, max_size=4))
    rows = [(*row, names[q], weight[q]) for q, rows in enumerate(lists) for row in rows]
    rows = draw(st.permutations(rows))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


@pytest.mark.parametrize(("metric", "of_query"), CASES)
@given(problem=problems(st.integers(0, 1)))
def test_equals_a_loop_over_the_queries(metric, of_query, problem):
    y_true, y_score, qid, weight = problem
    expected = loop_over_queries(of_query, y_true, y_score, qid)
    assert quiet(metric, y_true, y_score, qid=qid) == pytest.approx(expected, abs=1e-12)
    expected = loop_over_queries(of_query, y_true, y_score, qid, weight)
    attained = quiet(metric, y_true, y_score, qid=qid, query_weight=weight)
    assert attained == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("k", [None, 1, 3, 100])
@pytest.mark.parametrize("gain", list(GAINS))
@given(problem=problems(st.one_of(st.integers(0, 4), st.integers(1, 400).map(lambda i: i / 16))))
def test_ndcg_of_grades_equals_scikit_learn(k, gain, problem):
    y_true, y_score, qid, weight = problem
    expected = loop_over_queries(partial(slow_ndcg, k=k, gain=gain), y_true, y_score, qid, weight)
    attained = quiet(mean_ndcg, y_true, y_score, qid=qid, query_weight=weight, k=k, gain=gain)
    assert attained == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_queries", [1, 7, 400])
@pytest.mark.parametrize("k", [None, 10])
def test_ndcg_equals_scikit_learn_on_many_rows(n_queries, k):
    rng = np.random.default_rng(n_queries)
    y_true, y_score = rng.integers(0, 5, 2_000), rng.integers(0, 50, 2_000)
    qid = rng.permutation(np.arange(2_000) % n_queries)
    for gain in GAINS:
        expected = loop_over_queries(partial(slow_ndcg, k=k, gain=gain), y_true, y_score, qid)
        attained = quiet(mean_ndcg, y_true, y_score, qid=qid, k=k, gain=gain)
        assert attained == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n_before", [0, 3])
def test_reciprocal_rank_of_a_million_tied_rows(n_before):
    n_tied = 1_000_000
    y_score = np.r_[np.ones(n_before), np.zeros(n_tied)]
    y_true = np.zeros(y_score.size, dtype=int)
    y_true[-1] = 1  # on each of the places with the same probability
    expected = np.mean(1 / np.arange(n_before + 1, n_before + n_tied + 1))
    assert mean_reciprocal_rank(y_true, y_score) == pytest.approx(expected, rel=1e-12)
    y_true[n_before:] = 1
    assert mean_reciprocal_rank(y_true, y_score) == 1 / (1 + n_before)
    y_true[n_before::2] = 0  # nearly independent: the first at place p with probability 2**-p
    place = np.arange(1, 60)
    expected = np.sum(0.5**place / (n_before + place))
    assert mean_reciprocal_rank(y_true, y_score) == pytest.approx(expected, rel=1e-5)


@all_metrics
def test_row_order_never_changes_the_result(metric):
    rng = np.random.default_rng(0)
    y_true = np.tile([0, 1], 50)
    y_score = rng.integers(0, 4, 100)
    qid = np.repeat(["e", "d", "c", "a", "b"], 20)
    weight = np.repeat([1.0, 2.0, 0.0, 0.3, 5.0], 20)
    expected = metric(y_true, y_score, qid=qid, query_weight=weight)
    for _ in range(10):
        rows = rng.permutation(100)
        shuffled = metric(y_true[rows], y_score[rows], qid=qid[rows], query_weight=weight[rows])
        assert shuffled == pytest.approx(expected, abs=1e-15)


@pytest.fixture
def lists():
    """Four queries with ties; the last has no relevant row."""
    rng = np.random.default_rng(8)
    qid = np.repeat([0, 1, 2, 3], [4, 6, 7, 3])
    y_true = np.where(qid == 3, 0, rng.integers(0, 2, 20))
    return y_true, rng.integers(0, 4, 20), qid


@all_metrics
def test_weight_two_equals_the_query_twice(metric, lists):
    y_true, y_score, qid = lists
    twice = np.flatnonzero(qid == 1)
    rows = np.r_[np.arange(20), twice]
    again = np.r_[qid, np.full(twice.size, 9)]
    expected = quiet(metric, y_true[rows], y_score[rows], qid=again)
    for scale in [1.0, 1e308, 1e-310]:
        weight = np.where(qid == 1, 1.0, 0.5) * scale
        attained = quiet(metric, y_true, y_score, qid=qid, query_weight=weight)
        assert attained == pytest.approx(expected, abs=1e-12)


@all_metrics
def test_weight_zero_equals_leaving_the_query_out(metric, lists):
    y_true, y_score, qid = lists
    for left_out in [[0], [0, 2]]:
        kept = ~np.isin(qid, left_out)
        expected = quiet(metric, y_true[kept], y_score[kept], qid=qid[kept])
        with pytest.warns(UndefinedMetricWarning) as caught:
            attained = metric(y_true, y_score, qid=qid, query_weight=kept)
        assert attained == pytest.approx(expected, abs=1e-15)
        assert f"1 of {4 - len(left_out)} queries of positive weight" in str(caught[0].message)
    # a query that does not count is no reason to warn
    metric(y_true, y_score, qid=qid, query_weight=qid != 3)


@all_metrics
def test_only_queries_of_weight_zero_are_defined(metric, lists):
    y_true, y_score, qid = lists
    with pytest.warns(UndefinedMetricWarning, match="1 of 1 queries of.*set to 0.0") as caught:
        assert metric(y_true, y_score, qid=qid, query_weight=qid == 3) == 0.0
    assert len(caught) == 1


@all_metrics
@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        ([1, 1], ValueError, r"query_weight has shape \(2,\)"),
        ([1, 2, 1], ValueError, "another row of the same query"),
        ([1, 1, -1], ValueError, "query_weight is -1.0 at row 2"),
        ([1, 1, np.nan], ValueError, "query_weight is nan at row 2"),
        ([0, 0, 0], ValueError, "0 for every query"),
        (["a", "a", "b"], TypeError, "must hold numbers"),
    ],
)
def test_bad_weights(metric, weight, error, message):
    with pytest.raises(error, match=message):
        metric([0, 1, 1], [0.1, 0.2, 0.3], qid=[0, 0, 1], query_weight=weight)


@all_metrics
def test_weight_of_a_single_query_does_not_matter(metric):
    y_true, y_score = [0, 1, 0, 1], [4, 3, 2, 1]
    assert metric(y_true, y_score, query_weight=[7] * 4) == metric(y_true, y_score)


@pytest.mark.parametrize(
    ("metric", "expected"),
    [
        (mean_average_precision, 1.0),
        (mean_ndcg, 1.0),
        (mean_reciprocal_rank, 1.0),
        (partial(mean_precision_at_k, k=4), 0.25),
    ],
)
def test_one_row(metric, expected):
    assert metric([1], [-0.3]) == expected
    with pytest.warns(UndefinedMetricWarning, match=r"undefined: there is no .*row.*set to 0.0"):
        assert metric([0], [-0.3]) == 0.0


@all_metrics
def test_queries_without_a_relevant_row_are_left_out_with_one_warning(metric):
    y_true, y_score = [0, 0, 0, 1, 0], [0.1, 0.2, 0.9, 0.8, 0.5]
    with pytest.warns(UndefinedMetricWarning, match=r"2 of 3 queries: .*left out") as caught:
        value = metric(y_true, y_score, qid=["c", "c", "b", "b", "a"])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert value == metric([0, 1], [0.9, 0.8])
    with pytest.warns(UndefinedMetricWarning, match="3 of 3 queries: .*set to 0.0") as caught:
        assert metric([0] * 5, y_score, qid=["c", "c", "b", "b", "a"]) == 0.0
    assert len(caught) == 1


@all_metrics
def test_the_best_ranking_counts_exactly_one(metric):
    rng = np.random.default_rng(5)
    y_true = np.r_[np.ones(3, dtype=int), rng.integers(0, 2, 40)]
    assert metric(y_true, y_true + np.linspace(0, 0.5, 43)) == 1.0
    assert metric(y_true, y_true) == pytest.approx(1.0, abs=1e-15)


def test_rounding_never_leads_beyond_one():
    rng = np.random.default_rng(0)
    for size in range(2, 100):
        grades = np.r_[1, rng.integers(0, 4, size)]
        assert 1.0 - 1e-14 < mean_ndcg(grades, grades) <= 1.0


@pytest.mark.parametrize("k", [7, 10**30])
def test_k_larger_than_the_list(k):
    y_true, y_score, qid = [1, 0, 2, 1], [0.3, 0.2, 0.1, 0.9], ["a", "b", "b", "a"]
    expected = mean_ndcg(y_true, y_score, qid=qid)
    assert mean_ndcg(y_true, y_score, qid=qid, k=k) == expected
    relevant = np.array(y_true) > 0
    value = mean_precision_at_k(relevant, y_score, qid=qid, k=k)
    assert value == pytest.approx((2 / k + 1 / k) / 2)


@binary_metrics
@pytest.mark.parametrize(
    ("negative", "positive", "pos_label"),
    [(-1, 1, 1), (False, True, True), ("ham", "spam", "spam"), (1, 2, 2), (1, 0, 0)],
)
@pytest.mark.parametrize("container", [list, np.array, pd.Series])
def test_labels(metric, negative, positive, pos_label, container):
    y_true = container([negative, positive, negative, positive])
    y_score = container([0.1, 0.7, 0.8, 0.3])
    expected = metric([0, 1, 0, 1], y_score)
    assert metric(y_true, y_score, pos_label=pos_label) == expected


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64, np.float32, object])
def test_grades_of_any_real_type(dtype):
    y_true, y_score = np.array([0, 1, 0, 1]), [4, 3, 2, 1]
    assert mean_ndcg(y_true.astype(dtype), y_score) == mean_ndcg(y_true, y_score)
    assert mean_ndcg(pd.Series(y_true, dtype="Int64"), y_score) == mean_ndcg(y_true, y_score)
    assert mean_ndcg(y_true[:, None], y_score) == mean_ndcg(y_true, y_score)


def test_gains():
    grades = np.arange(50)
    assert apply_gain(grades, "exponential").tolist() == [2**grade - 1 for grade in range(50)]
    assert apply_gain(grades, "linear").tolist() == grades.tolist()
    small = np.array([0.0, 5e-324, 1e-300, 1e-17, 0.5, 1 - 1e-16, 1.0, 1.5, 1000.0])
    for gain in GAINS:
        gains = apply_gain(small, gain)
        assert gains.dtype == np.float64
        assert gains[0] == 0.0
        assert np.all(np.diff(gains) >= 0)
        assert gains[1] > 0.0


@pytest.mark.parametrize("gain", list(GAINS))
@pytest.mark.parametrize("grade", [1e-320, 1e-20, 1000.0])
def test_scale_of_the_gains_does_not_matter(gain, grade):
    y_true, y_score = np.array([0, 1, 0, 1]), [4, 3, 2, 1]
    expected = mean_ndcg(y_true, y_score)
    value = mean_ndcg(y_true * grade, y_score, gain=gain)
    assert value == pytest.approx(expected, abs=1e-12)
    # nor do those of other queries
    both = mean_ndcg(
        np.r_[y_true * grade, y_true], [*y_score, *y_score], qid=np.arange(8) // 4, gain=gain
    )
    assert both == pytest.approx(expected, abs=1e-12)


def test_largest_linear_gains():
    y_true, y_score = np.array([0, 1, 1, 1]), [4, 3, 2, 1]
    expected = mean_ndcg(y_true, y_score)
    assert mean_ndcg(y_true * 1.7e308, y_score, gain="linear") == pytest.approx(expected)


@all_metrics
@pytest.mark.parametrize(
    ("y_true", "y_score", "qid", "message"),
    [
        ([0, 1], [0.1, np.nan], None, "y_score contains NaN"),
        ([0, 1], [0.1, -np.inf], None, "y_score contains infinity"),
        ([0, 1, 1], [0.1, 0.2], None, "inconsistent numbers of samples"),
        ([0, 1], [0.1, 0.2], [1, 1, 2], "qid has 3 entries"),
        ([], [], None, "empty"),
        ([0, 1], [[0.9, 0.1], [0.2, 0.8]], None, r"y_score has shape \(2, 2\).*y_score\[:, 1\]"),
        (np.eye(3), np.eye(3), None, r"y_true has shape \(3, 3\).*1d array.*y_true\.ravel"),
        ([0, np.nan], [0.1, 0.2], None, "y_true (contains NaN|is nan at row 1)"),
        ([0, np.inf], [0.1, 0.2], None, "y_true (contains infinity|is inf at row 1)"),
        ([0, None, 1], [0.1, 0.2, 0.3], None, "y_true has .*Drop rows without"),
    ],
)
def test_bad_input(metric, y_true, y_score, qid, message):
    with pytest.raises(ValueError, match=message):
        metric(y_true, y_score, qid=qid)


@binary_metrics
@pytest.mark.parametrize(
    ("y_true", "pos_label", "message"),
    [
        ([0, 1, 2], 1, r"3 distinct labels \(0, 1, 2\).*binary.*mean_ndcg takes grades"),
        (["ham", "spam", "spam"], 1, r"pos_label=1 is not among .*\['ham', 'spam'\]"),
        ([1, 2, 2], 3, "pos_label=3 is not among"),
    ],
)
def test_bad_labels(metric, y_true, pos_label, message):
    with pytest.raises(ValueError, match=message):
        metric(y_true, [0.1, 0.2, 0.3], pos_label=pos_label)


@pytest.mark.parametrize(
    ("y_true", "message"),
    [
        ([-1, 1], r"y_true is -1.0 at row 0.*not negative.*\(y == 1\)"),
        (["0", "1"], r"y_true has dtype <U1.*numbers"),
        (np.array(["low", 1], dtype=object), r"y_true has dtype .*numbers"),
        (pd.array([1, None], dtype="Int64"), "y_true (has dtype object|is nan at row 1)"),
        (np.array(["2020", "2021"], "M8[Y]"), "y_true has dtype datetime64.*numbers"),
        ([0, 1001], r"grade of relevance is 1001.*up to 1000.*gain='linear' or smaller"),
    ],
)
def test_bad_grades(y_true, message):
    with pytest.raises(ValueError, match=message):
        mean_ndcg(y_true, [0.1, 0.2])


def test_grades_beyond_the_exponential_gain_have_linear_gains():
    assert mean_ndcg([0, 1001], [0.1, 0.2], gain="linear") == 1.0


def test_grades_of_two_dimensions():
    with pytest.raises(ValueError, match=r"y has shape \(3, 3\), but one number for each row"):
        check_grades(np.eye(3), "y")


@pytest.mark.parametrize("gain", ["square", None, ["linear"]])
def test_unknown_gain(gain):
    with pytest.raises(ValueError, match=r"Unknown gain .*exponential, linear"):
        mean_ndcg([0, 1], [0.1, 0.2], gain=gain)


@pytest.mark.parametrize("metric", [mean_ndcg, mean_precision_at_k])
@pytest.mark.parametrize(
    ("k", "error", "message"),
    [
        (0, ValueError, "k=0 was given, but it must be at least 1"),
        (2.0, TypeError, "k must be a whole number, but 2.0"),
        (True, TypeError, "k must be a whole number, but True"),
        ("all", TypeError, "k must be a whole number, but 'all'"),
    ],
)
def test_bad_k(metric, k, error, message):
    with pytest.raises(error, match=message):
        metric([0, 1], [0.1, 0.2], k=k)


# scorers


def plain_metric(y_true, y_score, *, qid=None, query_weight=None, place=1):
    """A user's own: the share of queries with a relevant row at a place."""
    y_true, y_score = np.asarray(y_true), np.asarray(y_score)
    qid = np.zeros(y_true.size) if qid is None else np.asarray(qid)
    hits = []
    for query in np.unique(qid):
        rows = np.flatnonzero(qid == query)
        hits.append(y_true[rows[np.argsort(-y_score[rows])[place - 1]]])
    return float(np.mean(hits))


SCORERS = [
    (mean_average_precision_scorer, mean_average_precision),
    (mean_ndcg_scorer, mean_ndcg),
    (mean_reciprocal_rank_scorer, mean_reciprocal_rank),
    (mean_precision_at_k_scorer, partial(mean_precision_at_k, k=10)),
    (make_ranking_scorer(mean_ndcg, k=3, gain="linear"), partial(mean_ndcg, k=3, gain="linear")),
    (make_ranking_scorer(mean_average_precision), mean_average_precision),
    (make_ranking_scorer(plain_metric, place=2), partial(plain_metric, place=2)),
]
all_scorers = pytest.mark.parametrize(("scorer", "metric"), SCORERS)


@pytest.fixture
def problem():
    """Rows of 30 queries in mixed order, with weights of the queries."""
    rng = np.random.default_rng(3)
    query = rng.permutation(np.repeat(np.arange(30), 8))
    y = rng.integers(0, 2, query.size)
    X = rng.normal(size=(query.size, 4)) + y[:, None] * [1.0, 0.5, 0.0, 0.0]
    y[np.unique(query, return_index=True)[1]] = 1
    qid = np.array([f"query {q}" for q in range(30)])[query]
    return X, y, qid, rng.choice([0.0, 1.0, 2.5], 30)[query]


def fold_scores(metric, model, X, y, qid, weight, *, routed):
    """Score of each fold, by hand."""
    scores = []
    for train, test in GroupKFold(3).split(X, y, groups=qid):
        decision = model.fit(X[train], y[train]).decision_function(X[test])
        known = {"qid": qid[test], "query_weight": weight[test]} if routed else {}
        scores.append(metric(y[test], decision, **known))
    return np.array(scores)


@all_scorers
def test_scorer_in_grid_search_with_routing(scorer, metric, problem):
    X, y, qid, weight = problem
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            make_pipeline(StandardScaler(), LogisticRegression()),
            {"logisticregression__C": [0.001, 1.0]},
            scoring=scorer,
            cv=GroupKFold(3).set_split_request(groups="qid"),
        ).fit(X, y, qid=qid, query_weight=weight)
        value = search.score(X, y, qid=qid, query_weight=weight)
    for number, C in enumerate([0.001, 1.0]):
        model = make_pipeline(StandardScaler(), LogisticRegression(C=C))
        attained = [search.cv_results_[f"split{split}_test_score"][number] for split in range(3)]
        expected = fold_scores(metric, model, X, y, qid, weight, routed=True)
        np.testing.assert_allclose(attained, expected)
    expected = metric(y, search.decision_function(X), qid=qid, query_weight=weight)
    assert value == pytest.approx(expected)


def test_all_scorers_at_once_with_routing(problem):
    X, y, qid, weight = problem
    model = LogisticRegression()
    with config_context(enable_metadata_routing=True):
        results = cross_validate(
            model,
            X,
            y,
            params={"qid": qid, "query_weight": weight},
            scoring={str(number): scorer for number, (scorer, _) in enumerate(SCORERS)},
            cv=GroupKFold(3).set_split_request(groups="qid"),
        )
    for number, (_, metric) in enumerate(SCORERS):
        expected = fold_scores(metric, model, X, y, qid, weight, routed=True)
        np.testing.assert_allclose(results[f"test_{number}"], expected)


@all_scorers
def test_scorer_without_routing_takes_all_rows_as_one_query(scorer, metric, problem):
    X, y, qid, weight = problem
    model = LogisticRegression()
    search = GridSearchCV(model, {"C": [1.0]}, scoring=scorer, cv=GroupKFold(3))
    search.fit(X, y, groups=qid)
    attained = [search.cv_results_[f"split{split}_test_score"][0] for split in range(3)]
    expected = fold_scores(metric, model, X, y, qid, weight, routed=False)
    np.testing.assert_allclose(attained, expected)


@all_scorers
def test_scorer_survives_cloning_and_pickling(scorer, metric, problem):
    X, y, qid, weight = problem
    model = LogisticRegression().fit(X, y)
    expected = metric(y, model.decision_function(X), qid=qid, query_weight=weight)
    for again in (scorer, clone(scorer), pickle.loads(pickle.dumps(scorer))):
        assert again(model, X, y, qid=qid, query_weight=weight) == pytest.approx(expected)
        assert repr(again) == repr(scorer)
        assert again._repr_html_()
    with config_context(enable_metadata_routing=True):
        silent = clone(scorer).set_score_request(qid=False)
        requested = silent.get_metadata_routing().consumes("score", ["qid", "query_weight"])
        assert requested == {"query_weight"}
        assert scorer.get_metadata_routing().consumes("score", ["qid"]) == {"qid"}


def test_representation():
    assert repr(mean_average_precision_scorer) == "MeanAveragePrecisionScorer()"
    assert repr(mean_ndcg_scorer) == "make_ranking_scorer(mean_ndcg)"
    assert repr(mean_precision_at_k_scorer) == "make_ranking_scorer(mean_precision_at_k, k=10)"
    scorer = make_ranking_scorer(mean_ndcg, k=3, gain="linear")
    assert repr(scorer) == "make_ranking_scorer(mean_ndcg, k=3, gain='linear')"
    assert repr(scorer) in repr(GridSearchCV(Ridge(), {}, scoring=scorer))


@all_scorers
@pytest.mark.parametrize("names", [[0, 1], [-1, 1], [1, 2], ["no", "yes"], [False, True]])
def test_scorer_of_a_classifier_takes_the_second_class_as_relevant(scorer, metric, names, problem):
    X, y, qid, weight = problem
    labels = np.array(names)[y]
    known = {"qid": qid, "query_weight": weight}
    model = LogisticRegression().fit(X, labels)
    expected = metric(y, model.decision_function(X), **known)
    assert scorer(model, X, labels, **known) == pytest.approx(expected)
    model = KNeighborsClassifier(7, weights="distance").fit(X[::2], labels[::2])
    expected = metric(y, model.predict_proba(X)[:, 1], **known)
    assert scorer(model, X, labels, **known) == pytest.approx(expected)


@all_scorers
def test_scorer_of_a_regressor(scorer, metric, problem):
    X, y, qid, weight = problem
    model = Ridge().fit(X, y)
    expected = metric(y, model.predict(X), qid=qid, query_weight=weight)
    assert scorer(model, X, y, qid=qid, query_weight=weight) == pytest.approx(expected)


def test_scorer_of_a_regressor_of_grades(problem):
    X, y, qid, weight = problem
    grades = y * np.random.default_rng(0).integers(1, 4, y.size)
    model = Ridge().fit(X, grades)
    value = mean_ndcg_scorer(model, X, grades, qid=qid, query_weight=weight)
    expected = mean_ndcg(grades, model.predict(X), qid=qid, query_weight=weight)
    assert value == pytest.approx(expected)
    with pytest.raises(ValueError, match="4 distinct labels"):
        mean_reciprocal_rank_scorer(model, X, grades, qid=qid)


@pytest.mark.parametrize(
    "scorer", [mean_ndcg_scorer, mean_reciprocal_rank_scorer, mean_precision_at_k_scorer]
)
def test_scorer_refuses_several_classes_and_labels(scorer):
    X, y = load_iris(return_X_y=True)
    Y = label_binarize(y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match=r"LogisticRegression .* with 3 classes.*y == label"):
        scorer(LogisticRegression(max_iter=1000).fit(X, y), X, y)
    several = MultiOutputClassifier(LogisticRegression(max_iter=1000)).fit(X, Y)
    with pytest.raises(ValueError, match="multilabel y, but a classifier of two classes"):
        scorer(several, X, Y)
    with pytest.raises(ValueError, match="multilabel y, but a classifier of two classes"):
        scorer(LogisticRegression().fit(X, y == 1), X, Y)
    with pytest.raises(ValueError, match="labels that fit did not see"):
        scorer(LogisticRegression().fit(X, y == 1), X, y)


@pytest.mark.parametrize(
    ("metric", "options", "message"),
    [
        (mean_ndcg, {"qid": [1, 2]}, "given qid, .*Pass qid and query_weight when scoring"),
        (mean_reciprocal_rank, {"pos_label": "spam"}, "given pos_label, .*pass y == label"),
        (mean_precision_at_k, {}, "mean_precision_at_k with the options {}.*missing.*'k'"),
        (mean_average_precision, {"k": 3}, "options {'k': 3}.*unexpected.*'k'"),
        (average_precision_score, {}, "unexpected keyword argument 'qid'"),
        ("ndcg", {}, "'ndcg' with the options {}.*callable"),
    ],
)
def test_bad_options_of_a_scorer(metric, options, message):
    with pytest.raises(TypeError, match=message):
        make_ranking_scorer(metric, **options)


@pytest.mark.parametrize("scorer", [mean_reciprocal_rank_scorer, mean_average_precision_scorer])
def test_scorers_refuse_labels_of_which_1_is_the_lower(scorer):
    X, y = np.arange(6.0)[:, None], np.array([1, 1, 2, 1, 2, 2])
    model = Ridge().fit(X, y)
    with pytest.raises(ValueError, match=r"labels \[1, 2\].*Pass y == 2"):
        scorer(model, X, y)
    assert scorer(model, X, y == 2) > 0.0


def test_labels_that_are_numpy_numbers_among_objects():
    y = np.array([np.int64(0), np.int64(1)], dtype=object)
    assert mean_reciprocal_rank(y, [0.0, 1.0]) == 1.0
