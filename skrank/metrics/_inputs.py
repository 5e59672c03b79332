"""What every measure asks of the labels, scores, queries and weights it is given."""

from __future__ import annotations

from numbers import Real
from typing import NamedTuple

import numpy as np
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d

from skrank._groups import encode_qid, weight_of_each_query


class Queries(NamedTuple):
    """The query of each row, numbered 0..Q-1, how many there are, and the weight of each."""

    codes: np.ndarray
    n_queries: int
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
    if y_true.dtype.kind == "f":
        assert_all_finite(y_true, input_name="y_true")
    try:
        labels = np.unique(y_true)
    except TypeError as error:
        raise ValueError(
            f"y_true has labels that cannot be compared: {error}. Drop rows without a label, and "
            "give the others labels of one type."
        ) from error
    if labels.size > 2:
        shown = ", ".join(repr(label) for label in labels[:5].tolist())
        raise ValueError(
            f"y_true has {labels.size} distinct labels ({shown}{', ...' * (labels.size > 5)}), but "
            "this measure needs binary relevance. Turn it into relevant or not first, for example "
            "with y_true == label or y_true >= grade; mean_ndcg takes grades as they are."
        )
    textual = labels.dtype.kind in "OSUT" and not isinstance(labels[0], (Real, np.bool_))
    mismatch = textual != isinstance(pos_label, (str, bytes))
    if (labels.size == 2 and pos_label not in labels.tolist()) or mismatch:
        raise ValueError(
            f"pos_label={pos_label!r} is not among the labels of y_true, "
            f"{labels.tolist()}. Pass the label of the relevant rows as pos_label."
        )
    return np.asarray(y_true == pos_label, dtype=bool)
