import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_multilabel_classification
from sklearn.ensemble import IsolationForest
from sklearn.exceptions import DataConversionWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import f1_score, hamming_loss, jaccard_score
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, cross_validate
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from skrank import LovaszHingeClassifier
from skrank.losses import (
    AveragePrecision,
    CappedWeighted,
    ConcaveCardinality,
    EarlyDetection,
    Hamming,
    Jaccard,
    SetLoss,
)
from skrank.metrics import (
    dice_loss,
    jaccard_loss,
    make_set_scorer,
    mean_dice_scorer,
    mean_jaccard_scorer,
    set_loss,
)


def slow_jaccard(truth, predicted):
    either = sum(t or p for t, p in zip(truth, predicted, strict=True))
    both = sum(t and p for t, p in zip(truth, predicted, strict=True))
    return 1 - both / either if either else 0.0


def slow_dice(truth, predicted):
    total = sum(truth) + sum(predicted)
    both = sum(t and p for t, p in zip(truth, predicted, strict=True))
    return 1 - 2 * both / total if total else 0.0


def slow_hamming(truth, predicted):
    return sum(t != p for t, p in zip(truth, predicted, strict=True)) / len(truth)


def slow_lost(truth, predicted):
    return float(list(truth) != list(predicted))


def root_of_share(mispredicted, y_true):
    return np.sqrt(mispredicted.mean())


def slow_root_of_share(truth, predicted):
    return slow_hamming(truth, predicted) ** 0.5


class RootOfShare:
    """The same by its marginals."""

    def marginals(self, order, y_true):
        size = order.shape[1]
        return np.broadcast_to(np.diff(np.sqrt(np.arange(size + 1) / size)), order.shape)


METRICS = [
    pytest.param(set_loss, slow_jaccard, id="default"),
    pytest.param(jaccard_loss, slow_jaccard, id="jaccard"),
    pytest.param(dice_loss, slow_dice, id="dice"),
    pytest.param(partial(set_loss, loss="jaccard"), slow_jaccard, id="named jaccard"),
    pytest.param(partial(set_loss, loss="hamming"), slow_hamming, id="hamming"),
    pytest.param(partial(set_loss, loss=CappedWeighted()), slow_lost, id="capped"),
    pytest.param(partial(set_loss, loss=root_of_share), slow_root_of_share, id="function"),
    pytest.param(partial(set_loss, loss=RootOfShare()), slow_root_of_share, id="marginals"),
    pytest.param(
        partial(set_loss, loss=SetLoss(root_of_share)), slow_root_of_share, id="a set loss"
    ),
]
all_metrics = pytest.mark.parametrize(("metric", "of_set"), METRICS)
plain_metrics = pytest.mark.parametrize("metric", [set_loss, jaccard_loss, dice_loss])


@st.composite
def rows_of_sets(draw):
    """Labels, predictions and sets of rows in mixed order, and weights of the sets."""
    pairs = st.tuples(st.integers(0, 1), st.integers(0, 1))
    sets = draw(st.lists(st.lists(pairs, min_size=1, max_size=6), min_size=1, max_size=4))
    names = ["image 10", "b", "image 9", "a"]
    weight = draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=4, max_size=4))
    rows = [(*pair, names[s], weight[s]) for s, pairs in enumerate(sets) for pair in pairs]
    rows = draw(st.permutations(rows))
    return tuple(np.array(column) for column in zip(*rows, strict=True))


@st.composite
def indicators(draw):
    """An indicator, a prediction of it, and weights of the rows."""
    n_sets, size = draw(st.integers(1, 5)), draw(st.integers(2, 5))
    bits = st.lists(st.integers(0, 1), min_size=n_sets * size, max_size=n_sets * size)
    y_true, y_pred = (np.array(draw(bits)).reshape(n_sets, size) for _ in range(2))
    weight = draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n_sets, max_size=n_sets))
    return y_true, y_pred, np.array(weight)


def loop_over_queries(of_set, y_true, y_pred, qid, weight):
    names = np.unique(qid)
    values = [of_set(y_true[qid == name].tolist(), y_pred[qid == name].tolist()) for name in names]
    return np.average(values, weights=[weight[qid == name][0] for name in names])


@all_metrics
@given(problem=rows_of_sets())
def test_equals_a_loop_over_the_sets_of_rows(metric, of_set, problem):
    y_true, y_pred, qid, weight = problem
    expected = loop_over_queries(of_set, y_true, y_pred, qid, np.ones(qid.size))
    assert metric(y_true, y_pred, qid=qid) == pytest.approx(expected, abs=1e-12)
    expected = loop_over_queries(of_set, y_true, y_pred, qid, weight)
    attained = metric(y_true, y_pred, qid=qid, query_weight=weight)
    assert attained == pytest.approx(expected, abs=1e-12)
    expected = of_set(y_true.tolist(), y_pred.tolist())
    assert metric(y_true, y_pred) == pytest.approx(expected, abs=1e-12)


@all_metrics
@given(problem=indicators())
def test_equals_a_loop_over_the_rows_of_an_indicator(metric, of_set, problem):
    y_true, y_pred, weight = problem
    losses = [of_set(*pair) for pair in zip(y_true.tolist(), y_pred.tolist(), strict=True)]
    assert metric(y_true, y_pred) == pytest.approx(np.mean(losses), abs=1e-12)
    attained = metric(y_true, y_pred, query_weight=weight)
    assert attained == pytest.approx(np.average(losses, weights=weight), abs=1e-12)
    # the same sets as queries
    qid = np.repeat(np.arange(len(y_true)), y_true.shape[1])
    assert metric(y_true.ravel(), y_pred.ravel(), qid=qid) == pytest.approx(np.mean(losses))


@given(problem=indicators())
def test_equals_scikit_learn_on_an_indicator(problem):
    y_true, y_pred, weight = problem
    samples = {"average": "samples", "zero_division": 1}
    expected = 1 - jaccard_score(y_true, y_pred, **samples)
    assert jaccard_loss(y_true, y_pred) == pytest.approx(expected, abs=1e-12)
    expected = 1 - jaccard_score(y_true, y_pred, sample_weight=weight, **samples)
    attained = jaccard_loss(y_true, y_pred, query_weight=weight)
    assert attained == pytest.approx(expected, abs=1e-12)
    expected = 1 - f1_score(y_true, y_pred, **samples)
    assert dice_loss(y_true, y_pred) == pytest.approx(expected, abs=1e-12)
    expected = 1 - f1_score(y_true, y_pred, sample_weight=weight, **samples)
    assert dice_loss(y_true, y_pred, query_weight=weight) == pytest.approx(expected, abs=1e-12)
    expected = hamming_loss(y_true, y_pred)
    assert set_loss(y_true, y_pred, loss="hamming") == pytest.approx(expected, abs=1e-12)
    expected = hamming_loss(y_true, y_pred, sample_weight=weight)
    attained = set_loss(y_true, y_pred, loss=Hamming(), query_weight=weight)
    assert attained == pytest.approx(expected, abs=1e-12)


@given(problem=rows_of_sets())
def test_equals_scikit_learn_on_one_set_of_rows(problem):
    y_true, y_pred, _, _ = problem
    expected = 1 - jaccard_score(y_true, y_pred, zero_division=1)
    assert jaccard_loss(y_true, y_pred) == pytest.approx(expected, abs=1e-12)
    expected = 1 - f1_score(y_true, y_pred, zero_division=1)
    assert dice_loss(y_true, y_pred) == pytest.approx(expected, abs=1e-12)
    expected = hamming_loss(y_true, y_pred)
    assert set_loss(y_true, y_pred, loss="hamming") == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("metric", [jaccard_loss, dice_loss])
def test_sets_without_positives(metric):
    nothing, something = [[0, 0, 0]], [[0, 1, 0]]
    assert metric(nothing, nothing) == 0.0
    assert metric(nothing, something) == 1.0
    assert metric(something, nothing) == 1.0
    assert metric(nothing[0], nothing[0]) == 0.0
    assert metric(nothing[0], something[0]) == 1.0
    # where scikit-learn counts the empty set as lost unless it is told otherwise
    score = jaccard_score if metric is jaccard_loss else f1_score
    assert 1 - score(nothing, nothing, average="samples", zero_division=1) == 0.0
    assert 1 - score(nothing, nothing, average="samples", zero_division=0) == 1.0


@given(problem=indicators())
def test_dice_follows_from_jaccard(problem):
    y_true, y_pred, _ = problem
    for truth, predicted in zip(y_true, y_pred, strict=True):
        jaccard = jaccard_loss(truth, predicted)
        assert dice_loss(truth, predicted) == pytest.approx(jaccard / (2 - jaccard), abs=1e-12)


def test_dice_is_not_submodular():
    y_true = np.array([1, 1])
    one, other, both = ([0, 1], [1, 0], [0, 0])
    assert dice_loss(y_true, one) + dice_loss(y_true, other) < dice_loss(y_true, both)
    assert jaccard_loss(y_true, one) + jaccard_loss(y_true, other) == jaccard_loss(y_true, both)
    truth = y_true.astype(bool)[None]
    as_loss = SetLoss(lambda mispredicted, y: dice_loss(y, y ^ mispredicted))
    with pytest.raises(ValueError, match="not submodular"):
        as_loss.bind(truth)


@all_metrics
@given(problem=rows_of_sets(), seed=st.integers(0, 1000))
def test_row_order_never_changes_the_result(metric, of_set, problem, seed):
    y_true, y_pred, qid, weight = problem
    order = np.random.default_rng(seed).permutation(qid.size)
    expected = metric(y_true, y_pred, qid=qid, query_weight=weight)
    shuffled = [values[order] for values in (y_true, y_pred, qid, weight)]
    attained = metric(*shuffled[:2], qid=shuffled[2], query_weight=shuffled[3])
    assert attained == pytest.approx(expected, abs=1e-15)


@all_metrics
@given(problem=rows_of_sets())
def test_weight_two_equals_the_set_twice(metric, of_set, problem):
    y_true, y_pred, qid, _ = problem
    twice = qid == qid[0]
    again = np.r_[qid, np.full(twice.sum(), "zz")]
    expected = metric(np.r_[y_true, y_true[twice]], np.r_[y_pred, y_pred[twice]], qid=again)
    for scale in [1.0, 1e308, 1e-310]:
        weight = np.where(twice, 1.0, 0.5) * scale
        attained = metric(y_true, y_pred, qid=qid, query_weight=weight)
        assert attained == pytest.approx(expected, abs=1e-12)


@all_metrics
@given(problem=indicators())
def test_weights_of_the_rows_of_an_indicator(metric, of_set, problem):
    y_true, y_pred, _ = problem
    last = np.arange(len(y_true)) == len(y_true) - 1
    expected = metric(np.r_[y_true, y_true[last]], np.r_[y_pred, y_pred[last]])
    attained = metric(y_true, y_pred, query_weight=np.where(last, 2, 1))
    assert attained == pytest.approx(expected, abs=1e-12)
    # a set of weight zero is as if it were not there
    attained = metric(y_true, y_pred, query_weight=last)
    assert attained == pytest.approx(metric(y_true[last], y_pred[last]), abs=1e-12)


@plain_metrics
@pytest.mark.parametrize(
    ("negative", "positive", "pos_label"),
    [
        (0, 1, 1),
        (-1, 1, 1),
        (0.0, 1.0, 1),
        (False, True, True),
        (False, True, 1),
        ("ham", "spam", "spam"),
        (1, 2, 2),
        (1, 0, 0),
    ],
)
@pytest.mark.parametrize("container", [list, np.array, pd.Series, partial(np.array, dtype=object)])
def test_labels(metric, negative, positive, pos_label, container):
    names = np.array([negative, positive])
    truth, predicted = np.array([0, 1, 1, 0, 0]), np.array([1, 1, 0, 0, 0])
    expected = metric(truth, predicted)
    attained = metric(
        container(names[truth].tolist()),
        container(names[predicted].tolist()),
        pos_label=pos_label,
    )
    assert attained == expected
    assert (
        metric(container(names[truth].tolist()), names[predicted], pos_label=pos_label) == expected
    )


@plain_metrics
@pytest.mark.parametrize(
    ("y_true", "y_pred", "pos_label", "expected"),
    [
        ([1, 1], [1, 1], 1, 0.0),
        ([0, 0], [0, 0], 1, 0.0),
        ([0], [0], 1, 0.0),
        ([0, 0], [1, 1], 1, 1.0),
        ([-1, -1], [-1, -1], 1, 0.0),
        (["ham"], ["ham"], "spam", 0.0),
        (["ham"], ["spam"], "spam", 1.0),
        (["spam"], ["spam"], "spam", 0.0),
        ([True], [True], True, 0.0),
    ],
)
def test_sets_of_one_label(metric, y_true, y_pred, pos_label, expected):
    assert metric(y_true, y_pred, pos_label=pos_label) == expected


@plain_metrics
@pytest.mark.parametrize(
    "convert",
    [
        np.ndarray.tolist,
        lambda y: y.astype(bool),
        lambda y: y.astype(np.float32),
        lambda y: y.astype(np.uint8),
        lambda y: y.astype(object),
        np.asfortranarray,
        pd.DataFrame,
        lambda y: pd.DataFrame(y).astype("Int64"),
        lambda y: pd.DataFrame({"a": y[:, 0], "b": y[:, 1].astype(bool), "c": y[:, 2]}),
        sp.csr_matrix,
        sp.csc_array,
        sp.coo_array,
    ],
)
def test_indicators_of_any_kind(metric, convert):
    y_true = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 1, 1]])
    y_pred = np.array([[1, 1, 0], [0, 0, 0], [0, 1, 0], [0, 1, 1]])
    expected = metric(y_true, y_pred)
    assert 0.0 < expected < 1.0
    assert metric(convert(y_true), convert(y_pred)) == expected
    assert metric(y_true, convert(y_pred)) == expected
    assert metric(convert(y_true), y_pred) == expected


@plain_metrics
def test_one_column_counts_as_one_dimension(metric):
    y_true, y_pred, qid = np.array([0, 1, 1, 0]), np.array([1, 1, 0, 0]), [0, 0, 1, 1]
    expected = metric(y_true, y_pred, qid=qid)
    for column in (y_true[:, None], pd.DataFrame(y_true), sp.csr_array(y_true[:, None])):
        with pytest.warns(DataConversionWarning):
            assert metric(column, y_pred, qid=qid) == expected
    with pytest.warns(DataConversionWarning):
        assert metric(y_true, y_pred[:, None], qid=qid) == expected
    with pytest.warns(DataConversionWarning):
        assert metric(y_true[:, None], y_pred[:, None], qid=np.array(qid)[:, None]) == expected


def test_losses_that_look_at_columns():
    y_true, y_pred = np.zeros((2, 3), int), np.array([[1, 0, 0], [0, 0, 1]])
    weighted = CappedWeighted(weights=[1.0, 0.5, 0.2], cap=1.3)
    assert set_loss(y_true, y_pred, loss=weighted) == pytest.approx(0.6 / 1.3)
    early = EarlyDetection().loss_of_each_set(y_true == 1, y_pred == 1).mean()
    assert set_loss(y_true, y_pred, loss="early_detection") == pytest.approx(early)
    with pytest.raises(ValueError, match="2 weights were given for a y of 3 columns"):
        set_loss(y_true, y_pred, loss=CappedWeighted(weights=[1.0, 0.5]))
    for loss in (weighted, "early_detection"):
        with pytest.raises(ValueError, match="two-dimensional y, but y has one dimension"):
            set_loss(y_true[0], y_pred[0], loss=loss)


@pytest.mark.parametrize(
    ("loss", "error", "message"),
    [
        ("iou", ValueError, "Unknown loss 'iou'. Choose one of jaccard, hamming"),
        (Jaccard, TypeError, r"the name of a set loss, .* such as Jaccard\(\)"),
        (AveragePrecision(), TypeError, "the name of a set loss"),
        (None, TypeError, "loss=None was given"),
        (CappedWeighted(cap=0.0), ValueError, "cap"),
        (lambda mispredicted, y_true: np.nan, ValueError, "must be finite"),
        (lambda mispredicted, y_true: "much", TypeError, "must be numbers"),
    ],
)
def test_bad_losses(loss, error, message):
    with pytest.raises(error, match=message):
        set_loss([0, 1], [1, 1], loss=loss)


ONES = np.ones((3, 2), int)


@plain_metrics
@pytest.mark.parametrize(
    ("y_true", "y_pred", "message"),
    [
        # shapes
        ([0, 1, 1], [0, 1], r"y_true has shape \(3,\) and y_pred has shape \(2,\).*same shape"),
        (ONES, ONES[:2], r"y_true has shape \(3, 2\) and y_pred has shape \(2, 2\)"),
        (ONES, ONES[:, :1], r"y_pred has shape \(3, 1\).*as predict gives it"),
        ([0, 1, 1], ONES, r"y_true has shape \(3,\) and y_pred has shape \(3, 2\).*one label"),
        (1, 1, r"y_true has shape \(\)"),
        (ONES[None], ONES[None], r"y_true has shape \(1, 3, 2\).*a row for each set"),
        ([], [], r"empty, of shape \(0,\); at least one element"),
        (ONES[:0], ONES[:0], r"empty, of shape \(0, 2\)"),
        (ONES[:, :0], ONES[:, :0], r"empty, of shape \(3, 0\)"),
        # sets as lists of labels
        ([[1], [1, 2]], ONES[:2], "y_true is not an array.*MultiLabelBinarizer"),
        (ONES[:2], [[1], [1, 2]], "y_pred is not an array.*MultiLabelBinarizer"),
        ([{1}, {2}], [{1}, {1}], "y_true holds a collection.*MultiLabelBinarizer"),
        (pd.Series([["a"], ["b", "c"]]), [0, 1], "y_true holds a collection"),
        # no labels
        (
            [0, 1],
            [0.3, -1.2],
            "y_pred has values such as -1.2.*labels that predict gives.*decision",
        ),
        ([0, 1], [0.3, 0.3], "y_pred has values such as 0.3"),
        ([0.5, 1], [0, 1], r"y_true has values such as 0.5.*y_true >= threshold"),
        (ONES, ONES * 0.7, r"y_pred has the value 0.7 at row 0, column 0.*decision_function"),
        (ONES * 2, ONES, r"y_true has the value 2 at row 0, column 0.*zeros and ones"),
        (ONES, 2 * ONES - 3, r"y_pred has the value -1 at row 0"),
        (ONES.astype(str), ONES, r"y_true has the value '1' at row 0"),
        (ONES.astype(str).astype(object), ONES, r"y_true has the value '1' at row 0"),
        (sp.csr_array(ONES * 0.5), sp.csr_array(ONES), "y_true has the value 0.5"),
        # missing values
        ([0, np.nan], [0, 1], "y_true contains NaN"),
        ([0, 1], [0, np.inf], "y_pred contains infinity"),
        ([0, None, 1], [0, 1, 1], "y_true has labels that cannot be compared.*Drop rows"),
        ([0, 1], np.array([np.nan, 1], object), "y_pred has missing labels"),
        ([1], pd.array([None], dtype="Int64"), "y_pred "),
        (ONES * np.nan, ONES, "y_true has the value nan at row 0"),
        (ONES, ONES * np.inf, "y_pred has the value inf at row 0"),
        (pd.DataFrame(ONES, dtype="Int64").replace(1, pd.NA), ONES, "y_true has "),
        # labels
        ([0, 1, 2], [0, 1, 1], r"3 distinct labels \(0, 1, 2\).*y_true == label and y_pred =="),
        ([0, 1], [0, 2], r"3 distinct labels \(0, 1, 2\)"),
        (range(9), range(9), r"9 distinct labels \(0, 1, 2, 3, 4, \.\.\.\)"),
        (list("abc"), list("abb"), r"3 distinct labels \('a', 'b', 'c'\)"),
        (["0", "1"], [0, 1], "y_true has the label '0' and y_pred 0, but labels of one type"),
    ],
)
def test_bad_input(metric, y_true, y_pred, message):
    with pytest.raises(ValueError, match=message):
        metric(y_true, y_pred)


@plain_metrics
@pytest.mark.parametrize(
    ("y_true", "y_pred", "pos_label", "message"),
    [
        (["ham", "spam"], ["ham", "ham"], 1, r"pos_label=1 is not among .*\['ham', 'spam'\].*Pass"),
        (["ham", "ham"], ["ham", "ham"], 1, r"pos_label=1 is not among .*\['ham'\]"),
        (["ham", "spam"], ["ham", "ham"], "Spam", "pos_label='Spam' is not among"),
        ([0, 1], [0, 1], "1", "pos_label='1' is not among the labels of y_true and y_pred"),
        ([1, 2], [1, 2], 3, "pos_label=3 is not among"),
        (ONES, ONES, 0, r"pos_label=0 was given, but y_true has shape \(3, 2\).*1 is positive"),
    ],
)
def test_bad_positive_label(metric, y_true, y_pred, pos_label, message):
    with pytest.raises(ValueError, match=message):
        metric(y_true, y_pred, pos_label=pos_label)


@plain_metrics
def test_bad_sets(metric):
    with pytest.raises(ValueError, match=r"each of its rows is a set already.*Leave qid out"):
        metric(ONES, ONES, qid=[1, 2, 3])
    with pytest.raises(ValueError, match="qid has 3 entries, but there are 2 rows"):
        metric([0, 1], [0, 1], qid=[1, 1, 2])
    with pytest.raises(ValueError, match="qid has a missing value"):
        metric([0, 1], [0, 1], qid=[1, None])


@plain_metrics
@pytest.mark.parametrize(
    ("weight", "error", "message"),
    [
        ([1, 1], ValueError, r"query_weight has shape \(2,\), but there are 3 rows"),
        ([1, 1, -1], ValueError, "query_weight is -1.0 at row 2"),
        ([1, 1, np.nan], ValueError, "query_weight is nan at row 2"),
        ([0, 0, 0], ValueError, "0 for every query"),
        (["a", "a", "b"], TypeError, "must hold numbers"),
    ],
)
def test_bad_weights(metric, weight, error, message):
    with pytest.raises(error, match=message):
        metric([0, 1, 1], [0, 1, 1], qid=[0, 0, 1], query_weight=weight)
    with pytest.raises(error, match=message):
        metric(ONES, ONES, query_weight=weight)
    with pytest.raises(ValueError, match="another row of the same query"):
        metric([0, 1, 1], [0, 1, 1], qid=[0, 0, 1], query_weight=[1, 2, 1])


@pytest.mark.parametrize("module", ["skrank", "skrank.losses", "skrank.metrics"])
def test_imports_do_not_go_round_in_circles(module):
    code = f"import {module}; from skrank.metrics import set_loss"
    finished = subprocess.run(
        [sys.executable, "-c", code], check=False, capture_output=True, text=True
    )
    assert finished.returncode == 0, finished.stderr


# scorers


def share_of_mistakes(y_true, y_pred, *, qid=None, query_weight=None, power=1.0):
    """A user's own, for labels of any shape."""
    assert set(np.unique(y_true)) <= {0, 1}
    return float(np.mean(np.asarray(y_true) != np.asarray(y_pred))) ** power


SCORERS = [
    pytest.param(mean_jaccard_scorer, jaccard_loss, id="jaccard"),
    pytest.param(mean_dice_scorer, dice_loss, id="dice"),
    pytest.param(make_set_scorer(), jaccard_loss, id="default"),
    pytest.param(make_set_scorer("hamming"), partial(set_loss, loss="hamming"), id="hamming"),
    pytest.param(
        make_set_scorer(ConcaveCardinality(alpha=0.5)),
        partial(set_loss, loss=ConcaveCardinality(alpha=0.5)),
        id="set loss",
    ),
    pytest.param(
        make_set_scorer(loss=root_of_share), partial(set_loss, loss=root_of_share), id="function"
    ),
    pytest.param(
        make_set_scorer(share_of_mistakes, power=2.0),
        partial(share_of_mistakes, power=2.0),
        id="own metric",
    ),
]
all_scorers = pytest.mark.parametrize(("scorer", "metric"), SCORERS)


@pytest.fixture
def problem():
    """Rows of 12 sets in mixed order, with weights of the sets."""
    rng = np.random.default_rng(3)
    image = rng.permutation(np.repeat(np.arange(12), 20))
    X = rng.normal(size=(image.size, 4))
    y = (X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=image.size) > 0.6).astype(int)
    return (
        X,
        y,
        np.array([f"image {i}" for i in range(12)])[image],
        rng.choice([0, 1, 2.5], 12)[image],
    )


@pytest.fixture
def multilabel():
    X, Y = make_multilabel_classification(120, n_classes=4, random_state=0)
    return X / X.max(), Y


def fold_scores(metric, model, X, y, qid, weight, *, routed):
    """Score of each fold, by hand."""
    scores = []
    for train, test in GroupKFold(3).split(X, y, groups=qid):
        predicted = model.fit(X[train], y[train]).predict(X[test])
        known = {"qid": qid[test], "query_weight": weight[test]} if routed else {}
        scores.append(1 - metric(y[test], predicted, **known))
    return np.array(scores)


@all_scorers
def test_scorer_in_grid_search_with_routing(scorer, metric, problem):
    X, y, qid, weight = problem
    with config_context(enable_metadata_routing=True):
        search = GridSearchCV(
            make_pipeline(StandardScaler(), LogisticRegression()),
            {"logisticregression__C": [0.01, 1.0]},
            scoring=scorer,
            cv=GroupKFold(3).set_split_request(groups="qid"),
        ).fit(X, y, qid=qid, query_weight=weight)
        value = search.score(X, y, qid=qid, query_weight=weight)
    for number, C in enumerate([0.01, 1.0]):
        model = make_pipeline(StandardScaler(), LogisticRegression(C=C))
        attained = [search.cv_results_[f"split{split}_test_score"][number] for split in range(3)]
        expected = fold_scores(metric, model, X, y, qid, weight, routed=True)
        np.testing.assert_allclose(attained, expected)
    expected = 1 - metric(y, search.predict(X), qid=qid, query_weight=weight)
    assert value == pytest.approx(expected)
    # a search is a classifier as well
    assert scorer(search, X, y, qid=qid, query_weight=weight) == pytest.approx(expected)


@all_scorers
def test_scorer_without_routing_takes_all_rows_as_one_set(scorer, metric, problem):
    X, y, qid, weight = problem
    model = LogisticRegression()
    search = GridSearchCV(model, {"C": [1.0]}, scoring=scorer, cv=GroupKFold(3))
    search.fit(X, y, groups=qid)
    attained = [search.cv_results_[f"split{split}_test_score"][0] for split in range(3)]
    expected = fold_scores(metric, model, X, y, qid, weight, routed=False)
    np.testing.assert_allclose(attained, expected)


def test_scorers_in_cross_validate_with_routing(problem):
    X, y, qid, weight = problem
    model = LogisticRegression()
    with config_context(enable_metadata_routing=True):
        results = cross_validate(
            model,
            X,
            y,
            params={"qid": qid, "query_weight": weight},
            scoring={"jaccard": mean_jaccard_scorer, "dice": mean_dice_scorer},
            cv=GroupKFold(3).set_split_request(groups="qid"),
        )
    for name, metric in [("jaccard", jaccard_loss), ("dice", dice_loss)]:
        expected = fold_scores(metric, model, X, y, qid, weight, routed=True)
        np.testing.assert_allclose(results[f"test_{name}"], expected)


@all_scorers
@pytest.mark.parametrize("names", [[0, 1], [-1, 1], [1, 2], ["no", "yes"], [False, True]])
def test_second_class_is_positive(scorer, metric, names, problem):
    X, y, qid, weight = problem
    labels = np.array(names)[y]
    known = {"qid": qid, "query_weight": weight}
    for model in (
        LogisticRegression(),
        make_pipeline(StandardScaler(), LinearSVC()),
        GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}),
    ):
        model.fit(X, labels)
        positive = (model.predict(X) == names[1]).astype(int)
        expected = 1 - metric(y, positive, **known)
        assert scorer(model, X, labels, **known) == pytest.approx(expected)
        assert scorer(model, X, labels.tolist(), **known) == pytest.approx(expected)
        series = pd.Series(labels, index=np.arange(y.size)[::-1])
        assert scorer(model, X, series, **known) == pytest.approx(expected)


@all_scorers
def test_mean_over_more_than_two_classes(scorer, metric):
    X, y = load_iris(return_X_y=True)
    names = np.array(["setosa", "versicolor", "virginica"])
    qid = np.random.default_rng(0).integers(0, 5, y.size)
    weight = np.array([0.0, 1.0, 2.0, 0.5, 3.0])[qid]
    for labels in (y, names[y]):
        model = LogisticRegression(max_iter=1000, C=0.01).fit(X[::2, 1:2], labels[::2])
        predicted = model.predict(X[:, 1:2])
        expected = [
            1 - metric(labels == c, predicted == c, qid=qid, query_weight=weight)
            for c in np.unique(labels)
        ]
        value = scorer(model, X[:, 1:2], labels, qid=qid, query_weight=weight)
        assert value == pytest.approx(np.mean(expected))


def test_class_that_neither_occurs_nor_is_predicted_has_no_mistakes():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=1000).fit(X, y)
    some = y == 0
    assert mean_jaccard_scorer(model, X[some], y[some]) == 1.0
    expected = jaccard_score(y, model.predict(X), average="macro")
    assert mean_jaccard_scorer(model, X, y) == pytest.approx(expected)


@all_scorers
def test_scorer_of_sets_of_labels(scorer, metric, multilabel):
    X, Y = multilabel
    for model in (
        OneVsRestClassifier(LinearSVC()),
        make_pipeline(StandardScaler(), OneVsRestClassifier(LogisticRegression())),
        KNeighborsClassifier(),
        MultiOutputClassifier(LogisticRegression()),
    ):
        model.fit(X, Y)
        expected = 1 - metric(Y, model.predict(X))
        assert 0.3 < expected <= 1
        assert scorer(model, X, Y) == pytest.approx(expected)
    results = cross_validate(
        OneVsRestClassifier(LinearSVC()), X, Y, scoring={"sets": scorer}, cv=KFold(3)
    )
    assert np.all(np.isfinite(results["test_sets"]))


def test_scorer_of_sparse_and_weighted_sets_of_labels(multilabel):
    X, Y = multilabel
    model = OneVsRestClassifier(LinearSVC()).fit(X, sp.csr_matrix(Y))
    assert sp.issparse(model.predict(X))
    weight = np.arange(len(Y))
    expected = jaccard_score(
        Y, model.predict(X).toarray(), average="samples", zero_division=1, sample_weight=weight
    )
    for truth in (Y, sp.csr_matrix(Y), pd.DataFrame(Y)):
        value = mean_jaccard_scorer(model, X, truth, query_weight=weight)
        assert value == pytest.approx(expected)
    with config_context(enable_metadata_routing=True):
        results = cross_validate(
            OneVsRestClassifier(LinearSVC()),
            X,
            Y,
            params={"query_weight": weight},
            scoring=mean_jaccard_scorer,
            cv=[(np.arange(60), np.arange(60, 120))],
        )
    model = OneVsRestClassifier(LinearSVC()).fit(X[:60], Y[:60])
    expected = 1 - jaccard_loss(Y[60:], model.predict(X[60:]), query_weight=weight[60:])
    assert results["test_score"] == pytest.approx([expected])
    with pytest.raises(ValueError, match="Leave qid out"):
        mean_jaccard_scorer(model, X, Y, qid=weight)


def test_scorer_of_one_column(problem):
    X, y, qid, _ = problem
    names = np.array([1, 2])
    column = names[y][:, None]
    model = LogisticRegression().fit(X, column.ravel())
    expected = mean_jaccard_scorer(model, X, column.ravel(), qid=qid)
    with pytest.warns(DataConversionWarning):
        assert mean_jaccard_scorer(model, X, column, qid=qid) == expected
    # whose predictions are a column too, and whose classes_ is a list of one array
    model = MultiOutputClassifier(LogisticRegression()).fit(X, column)
    with pytest.warns(DataConversionWarning):
        assert mean_jaccard_scorer(model, X, column, qid=qid) == expected


@pytest.mark.filterwarnings("ignore:Zero weights are as good as any")  # for the middle iris
def test_scorer_gives_the_score_of_the_classifier_that_trains_for_it(problem, multilabel):
    X, y, qid, _ = problem
    for labels in (np.array(["no", "yes"])[y], y):
        model = LovaszHingeClassifier().fit(X, labels, qid=qid)
        value = mean_jaccard_scorer(model, X, labels, qid=qid)
        assert value == pytest.approx(model.score(X, labels, qid=qid), abs=1e-15)
    X, Y = multilabel
    model = LovaszHingeClassifier(loss="hamming").fit(X, Y)
    assert make_set_scorer("hamming")(model, X, Y) == pytest.approx(model.score(X, Y), abs=1e-15)
    X, y = load_iris(return_X_y=True)
    model = LovaszHingeClassifier().fit(X, y)
    assert mean_jaccard_scorer(model, X, y) == pytest.approx(model.score(X, y), abs=1e-15)


class Stump(BaseEstimator):
    """Predicts labels without saying that it is a classifier."""

    def fit(self, X, y):
        return self

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


def test_scorer_of_estimators_that_are_no_classifiers(problem):
    X, y, qid, weight = problem
    known = {"qid": qid, "query_weight": weight}
    expected = 1 - jaccard_loss(y, X[:, 0] > 0, **known)
    assert mean_jaccard_scorer(Stump(), X, y, **known) == pytest.approx(expected)
    forest = IsolationForest(random_state=0).fit(X)
    expected = 1 - jaccard_loss(2 * y - 1, forest.predict(X), **known)
    assert mean_jaccard_scorer(forest, X, 2 * y - 1, **known) == pytest.approx(expected)
    clusters = KMeans(2, n_init=1, random_state=0).fit(X)
    expected = 1 - jaccard_loss(y, clusters.predict(X), **known)
    assert mean_jaccard_scorer(clusters, X, y, **known) == pytest.approx(expected)
    with pytest.raises(ValueError, match=r"y_pred has values such as .*labels that predict gives"):
        mean_jaccard_scorer(Ridge().fit(X, y), X, y)


def test_scorer_with_labels_of_another_kind_than_those_of_the_fit(problem, multilabel):
    X, y, _, _ = problem
    model = LogisticRegression().fit(X, y)
    with pytest.raises(ValueError, match="labels that fit did not see"):
        mean_jaccard_scorer(model, X, y + 1)
    with pytest.raises(ValueError, match=r"y_true has shape \(240, 2\) and y_pred has shape"):
        mean_jaccard_scorer(model, X, np.column_stack([y, y]))
    X, Y = multilabel
    with pytest.raises(ValueError, match=r"y_true has shape \(120,\) and y_pred has shape"):
        mean_jaccard_scorer(KNeighborsClassifier().fit(X, Y), X, Y[:, 0])
    with pytest.raises(ValueError, match=r"y_true has shape \(119,\) and y_pred has shape \(120,"):
        mean_jaccard_scorer(KNeighborsClassifier().fit(X, Y[:, 0]), X, Y[1:, 0])


@all_scorers
def test_scorer_survives_cloning_and_pickling(scorer, metric, problem):
    X, y, qid, weight = problem
    model = LogisticRegression().fit(X, y)
    expected = 1 - metric(y, model.predict(X), qid=qid, query_weight=weight)
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
    assert repr(mean_jaccard_scorer) == "make_set_scorer(jaccard_loss)"
    assert repr(mean_dice_scorer) == "make_set_scorer(dice_loss)"
    assert repr(make_set_scorer()) == "make_set_scorer()"
    assert repr(make_set_scorer("hamming")) == "make_set_scorer(loss='hamming')"
    assert repr(make_set_scorer(set_loss, loss="hamming")) == "make_set_scorer(loss='hamming')"
    scorer = make_set_scorer(CappedWeighted(cap=2.0))
    assert repr(scorer) == "make_set_scorer(loss=CappedWeighted(cap=2.0))"
    assert repr(scorer) in repr(GridSearchCV(LogisticRegression(), {}, scoring=scorer))
    own = make_set_scorer(share_of_mistakes, power=2.0)
    assert repr(own) == "make_set_scorer(share_of_mistakes, power=2.0)"


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (["iou"], {}, ValueError, "Unknown loss 'iou'"),
        ([], {"loss": "iou"}, ValueError, "Unknown loss 'iou'"),
        ([CappedWeighted(cap=-1.0)], {}, ValueError, "cap=-1.0"),
        ([Jaccard], {}, TypeError, r"such as Jaccard\(\)"),
        ([AveragePrecision()], {}, TypeError, r"AveragePrecision\(\) with the options {}"),
        (["jaccard"], {"loss": "hamming"}, TypeError, "'jaccard' and loss='hamming' as well"),
        ([jaccard_loss], {"loss": "hamming"}, TypeError, "jaccard_loss with the options.*'loss'"),
        ([root_of_share], {}, TypeError, r"root_of_share with.*make_set_scorer\(loss=loss\)"),
        ([], {"qid": [1, 2]}, TypeError, "make_set_scorer was given qid, .*such as loss"),
        ([dice_loss], {"pos_label": 2}, TypeError, "given pos_label, .*pass y == label"),
        ([jaccard_score], {}, TypeError, "unexpected keyword argument 'qid'"),
        ([None], {}, TypeError, "None with the options {}.*callable"),
    ],
)
def test_bad_options_of_a_scorer(arguments, options, error, message):
    with pytest.raises(error, match=message):
        make_set_scorer(*arguments, **options)
