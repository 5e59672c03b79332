"""What every measure asks of the labels, scores, queries and weights it is given."""

from __future__ import annotations

from numbers import Real
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d

from skrank._groups import Groups, encode_qid, weight_of_each_query

# What to do about values that are no labels, and about rows of several labels.
ADVICE = {
    "y_true": "Turn it into labels first, for example with y_true == 1 or y_true >= threshold.",
    "y_pred": (
        "Pass the labels that predict gives, not values of decision_function or probabilities."
    ),
}
LISTS = (
    "Of sets of labels make an indicator of zeros and ones, with "
    "sklearn.preprocessing.MultiLabelBinarizer."
)


class Queries(NamedTuple):
    """The query of each row, numbered 0..Q-1, how many there are, and the weight of each."""

    codes: np.ndarray
    n_queries: int
    weight: np.ndarray


class Sets(NamedTuple):
    """Which elements are positive in truth and in prediction, and the weight of each set.

    Without `groups` each row of the two arrays is a set.
    """

    truth: np.ndarray
    predicted: np.ndarray
    groups: Groups | None
    weight: np.ndarray


def read_queries(qid, query_weight, n_rows: int) -> Queries:
    """Queries and their weights; without `qid` all rows are one query."""
    if qid is None:
        codes, n_queries = np.zeros(n_rows, dtype=np.int64), 1
    else:
        codes, n_queries = encode_qid(qid, n_rows)
    return Queries(codes, n_queries, weight_of_each_query(query_weight, codes, n_queries))


def read_rows(y_true, y_score, qid, query_weight) -> tuple[np.ndarray, np.ndarray, Queries]:
    """Labels or grades as they are, finite scores, and the queries of the rows."""
    y_true = _one_for_each_row(
        y_true,
        "y_true",
        "Score one column at a time; or, if each row is a list to rank, pass y_true.ravel() and "
        "y_score.ravel() with qid=np.repeat(np.arange(n_lists), length_of_a_list).",
    )
    y_score = _one_for_each_row(
        y_score,
        "y_score",
        "Of probabilities, pass the column of the relevant class, such as y_score[:, 1].",
    )
    if y_score.dtype.kind not in "fiu":
        y_score = y_score.astype(np.float64)
    check_consistent_length(y_true, y_score)
    if y_true.size == 0:
        raise ValueError("y_true and y_score are empty; at least one row is needed.")
    assert_all_finite(y_score, input_name="y_score")
    return y_true, y_score, read_queries(qid, query_weight, y_true.size)


def _one_for_each_row(values, name: str, advice: str) -> np.ndarray:
    shape = np.shape(values)
    if len(shape) > 1 and shape[1:] != (1,):
        raise ValueError(
            f"{name} has shape {shape}, but a 1d array with one value for each row is expected. "
            f"{advice}"
        )
    return column_or_1d(values, input_name=name)


def find_relevant(y_true, pos_label) -> np.ndarray:
    """Which rows carry the positive label; an error unless the labels are binary."""
    labels = _distinct(y_true, "y_true")
    if labels.size > 2:
        raise ValueError(
            f"y_true has {_show(labels)}, but this measure needs binary relevance. Turn it into "
            "relevant or not first, for example with y_true == label or y_true >= grade; mean_ndcg "
            "takes grades as they are."
        )
    _check_pos_label(pos_label, labels, "y_true")
    return np.asarray(y_true == pos_label, dtype=bool)


def read_sets(y_true, y_pred, qid, query_weight, pos_label) -> Sets:
    """Sets of labels by the row, or of rows by the query."""
    y_true, y_pred = _as_array(y_true, "y_true"), _as_array(y_pred, "y_pred")
    shape, other = (y.shape[:1] if y.shape[1:] == (1,) else y.shape for y in (y_true, y_pred))
    if shape != other or len(shape) not in (1, 2):
        raise ValueError(
            f"y_true has shape {y_true.shape} and y_pred has shape {y_pred.shape}, but the same "
            "shape is expected of both: one label for each row, or an indicator of zeros and ones "
            "with a row for each set. Pass y_pred as predict gives it."
        )
    if y_true.size == 0:
        raise ValueError(
            f"y_true and y_pred are empty, of shape {y_true.shape}; at least one element is needed."
        )
    if len(shape) == 1:
        y_true = column_or_1d(y_true, warn=True, input_name="y_true")
        y_pred = column_or_1d(y_pred, warn=True, input_name="y_pred")
        truth, predicted = _find_positive(y_true, y_pred, pos_label)
        groups = Groups.from_qid(qid, y_true.size)
        weight = weight_of_each_query(query_weight, groups.codes(), groups.n_groups)
        return Sets(truth, predicted, groups, weight)
    if qid is not None:
        raise ValueError(
            f"qid was given, but y_true has shape {shape}: each of its rows is a set already, with "
            "an element in each column. Leave qid out, or give one label for each row."
        )
    if pos_label != 1:
        raise ValueError(
            f"pos_label={pos_label!r} was given, but y_true has shape {shape}, and in an indicator "
            "1 is positive. Leave pos_label out; y_true == label makes an indicator of another one."
        )
    truth, predicted = _read_indicator(y_true, "y_true"), _read_indicator(y_pred, "y_pred")
    rows = np.arange(len(truth))
    return Sets(truth, predicted, None, weight_of_each_query(query_weight, rows, rows.size))


def _find_positive(y_true, y_pred, pos_label) -> tuple[np.ndarray, np.ndarray]:
    """Which rows have the positive label in truth and in prediction, of two labels in all."""
    of_true, of_pred = _distinct(y_true, "y_true"), _distinct(y_pred, "y_pred")
    for labels, name in [(of_true, "y_true"), (of_pred, "y_pred")]:
        if labels.dtype.kind == "f" and np.any(labels != np.floor(labels)):
            raise ValueError(
                f"{name} has values such as {labels[labels != np.floor(labels)].tolist()[0]}, but "
                f"labels are expected. {ADVICE[name]}"
            )
    if _are_texts(of_true) != _are_texts(of_pred):
        raise ValueError(
            f"y_true has the label {of_true.tolist()[0]!r} and y_pred {of_pred.tolist()[0]!r}, but "
            "labels of one type are expected. Convert one of them."
        )
    labels = _distinct(np.concatenate([of_true, of_pred]), "y_true or y_pred")
    if labels.size > 2:
        raise ValueError(
            f"y_true and y_pred have {_show(labels)}, but elements of a set are positive or not. "
            "Score one class against the rest, with y_true == label and y_pred == label."
        )
    _check_pos_label(pos_label, labels, "y_true and y_pred")
    truth, predicted = (np.asarray(y == pos_label, dtype=bool) for y in (y_true, y_pred))
    return truth, predicted


def _as_array(values, name: str) -> np.ndarray:
    if sp.issparse(values):
        return values.toarray()
    try:
        array = np.asarray(values)
    except ValueError as error:
        raise ValueError(f"{name} is not an array: {error} {LISTS}") from error
    if array.dtype == object and array.size and isinstance(array.flat[0], set | list | tuple):
        raise ValueError(f"{name} holds a collection of labels in each row. {LISTS}")
    return array


def _read_indicator(values: np.ndarray, name: str) -> np.ndarray:
    """An array of zeros and ones as booleans."""
    try:
        positive = np.asarray(values == 1, dtype=bool)
        wrong = np.argwhere(~(positive | np.asarray(values == 0, dtype=bool)))
    except TypeError as error:  # missing values of pandas
        raise ValueError(
            f"{name} has values that are neither 0 nor 1: {error}. Drop the rows that have them."
        ) from error
    if wrong.size:
        row, column = wrong[0].tolist()
        raise ValueError(
            f"{name} has the value {values[row].tolist()[column]!r} at row {row}, column {column}, "
            f"but in two dimensions an indicator of zeros and ones is expected. {ADVICE[name]}"
        )
    return positive


def _distinct(y, name: str) -> np.ndarray:
    """The labels that occur, none of them missing."""
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name=name)
    try:
        labels = np.unique(y)
        missing = bool(np.any(labels != labels))
    except TypeError as error:
        raise ValueError(
            f"{name} has labels that cannot be compared: {error}. Drop rows without a label, and "
            "give the others labels of one type."
        ) from error
    if missing:
        raise ValueError(f"{name} has missing labels. Drop rows without a label.")
    return labels


def _show(labels: np.ndarray) -> str:
    shown = ", ".join(repr(label) for label in labels[:5].tolist())
    return f"{labels.size} distinct labels ({shown}{', ...' * (labels.size > 5)})"


def _are_texts(labels: np.ndarray) -> bool:
    return labels.dtype.kind in "OSUT" and not isinstance(labels[0], (Real, np.bool_))


def _check_pos_label(pos_label, labels: np.ndarray, name: str) -> None:
    """Raise an error if the positive label cannot be one of these; it need not occur."""
    mismatch = _are_texts(labels) != isinstance(pos_label, (str, bytes))
    if (labels.size == 2 and pos_label not in labels.tolist()) or mismatch:
        raise ValueError(
            f"pos_label={pos_label!r} is not among the labels of {name}, "
            f"{labels.tolist()}. Pass the label of the positive rows as pos_label."
        )
