"""Ranking measures over many queries, and scorers made from them."""

from __future__ import annotations

import warnings
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.utils import assert_all_finite, check_consistent_length, column_or_1d
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.multiclass import type_of_target

from skrank._groups import encode_qid
from skrank._labels import true_indicator

__all__ = ["mean_average_precision", "mean_average_precision_scorer"]


def mean_average_precision(y_true, y_score, *, qid=None, pos_label=1) -> float:
    """Average precision of each query, averaged over the queries.

    The average precision of a query is the sum over its distinct scores, from the
    highest down, of the recall gained there times the precision reached there. Rows
    with equal scores enter together, so their order never counts. On a single query
    this is :func:`sklearn.metrics.average_precision_score`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance of each row: one or two distinct labels, of which `pos_label` is the
        relevant one.
    y_score : array-like of shape (n_samples,)
        Scores, the higher the more relevant: values of ``decision_function`` or
        probabilities.
    qid : array-like of shape (n_samples,), default=None
        The query of each row, in any order and of any sortable type. ``None`` makes all
        rows one query.
    pos_label : int, float, bool or str, default=1
        The label of the relevant rows.

    Returns
    -------
    score : float
        The mean over the queries that have at least one relevant row. The others have
        no average precision: they are left out, and one
        :class:`~sklearn.exceptions.UndefinedMetricWarning` says how many they are. If
        that leaves no query the result is 0.0. A query with only relevant rows counts 1.

    See Also
    --------
    sklearn.metrics.average_precision_score : The same on one query, with sample weights.
    mean_average_precision_scorer : The same measure as a scorer for model selection.

    Examples
    --------
    >>> from skrank.metrics import mean_average_precision
    >>> y_true = [1, 0, 0, 1, 0]
    >>> y_score = [0.9, 0.1, 0.8, 0.3, 0.2]
    >>> mean_average_precision(y_true, y_score)
    0.83...
    >>> mean_average_precision(y_true, y_score, qid=["a", "b", "b", "b", "a"])
    0.75
    """
    if np.ndim(y_score) == 2 and np.shape(y_score)[1] > 1:
        raise ValueError(
            f"y_score has shape {np.shape(y_score)}, but one score for each row is expected. Of "
            "probabilities, pass the column of the relevant class, such as y_score[:, 1]."
        )
    y_score = column_or_1d(y_score, input_name="y_score")
    if y_score.dtype.kind not in "fiu":
        y_score = y_score.astype(np.float64)
    y_true = column_or_1d(y_true, input_name="y_true")
    check_consistent_length(y_true, y_score)
    if y_true.size == 0:
        raise ValueError("y_true and y_score are empty; at least one row is needed.")
    assert_all_finite(y_score, input_name="y_score")
    relevant = _relevant(y_true, pos_label)
    if qid is None:
        codes, n_queries = np.zeros(relevant.size, dtype=np.int64), 1
    else:
        codes, n_queries = encode_qid(qid, relevant.size)

    precisions = average_precision_per_query(relevant, y_score, codes, n_queries)
    defined = ~np.isnan(precisions)
    n_undefined = n_queries - np.count_nonzero(defined)
    if n_undefined:
        outcome = "They are left out of the mean." if defined.any() else "The result is set to 0.0."
        where = "" if qid is None else f" for {n_undefined} of {n_queries} queries"
        warnings.warn(
            f"Average precision is undefined{where}: there is no row with the label "
            f"{pos_label!r}. {outcome}",
            UndefinedMetricWarning,
            stacklevel=2,
        )
    return float(precisions[defined].mean()) if defined.any() else 0.0


def average_precision_per_query(
    relevant, y_score, codes, n_queries, sample_weight=None
) -> np.ndarray:
    """Average precision of each of the queries 0..Q-1; NaN where nothing is relevant.

    One sort orders the rows by query and descending score. With R the relevant rows of a
    query, r of them and n rows in all at or above the end of a block of equal scores,
    the block with m relevant rows adds (m / R) (r / n). Rows count by their weights.
    """
    if sample_weight is None:
        weight = np.ones(codes.size)
    else:
        # next to the weights of another query those of one could vanish in the sums
        largest = np.zeros(n_queries)
        np.maximum.at(largest, codes, sample_weight)
        weight = sample_weight / np.where(largest > 0.0, largest, 1.0)[codes]
    order = np.lexsort((y_score, codes))[::-1]
    y_score, codes, weight = y_score[order], codes[order], weight[order]
    weight_relevant = weight * relevant[order]
    n_relevant = np.bincount(codes, weights=weight_relevant, minlength=n_queries)

    first = np.empty(codes.size, dtype=bool)
    first[0] = True
    first[1:] = codes[1:] != codes[:-1]
    last = np.empty(codes.size, dtype=bool)
    last[-1] = True
    last[:-1] = first[1:] | (y_score[1:] != y_score[:-1])
    starts, ends = np.flatnonzero(first), np.flatnonzero(last)
    queries = codes[ends]

    def at_ends(values):
        """Sums over the rows of the same query up to the end of each block."""
        sums = np.cumsum(values)
        before = np.zeros(n_queries)
        before[codes[starts]] = sums[starts] - values[starts]
        return sums[ends] - before[queries]

    relevant_to_end, rows_to_end = at_ends(weight_relevant), at_ends(weight)
    gained = np.add.reduceat(weight_relevant, np.concatenate([[0], ends[:-1] + 1]))
    precision = np.divide(
        relevant_to_end, rows_to_end, out=np.zeros(ends.size), where=rows_to_end > 0
    )
    total = np.bincount(queries, weights=gained * precision, minlength=n_queries)
    return np.divide(total, n_relevant, out=np.full(n_queries, np.nan), where=n_relevant > 0)


def _relevant(y_true, pos_label) -> np.ndarray:
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
            "average precision needs binary relevance. Turn it into relevant or not first, for "
            "example with y_true == label or y_true >= grade."
        )
    textual = labels.dtype.kind in "OSUT" and not isinstance(labels[0], (bool, int, float))
    mismatch = textual != isinstance(pos_label, (str, bytes))
    if (labels.size == 2 and pos_label not in labels.tolist()) or mismatch:
        raise ValueError(
            f"pos_label={pos_label!r} is not among the labels of y_true, "
            f"{labels.tolist()}. Pass the label of the relevant rows as pos_label."
        )
    return np.asarray(y_true == pos_label, dtype=bool)


class MeanAveragePrecisionScorer(BaseEstimator):
    """Scores a fitted estimator by the measure that ``APSVC.score`` gives.

    For a classifier the relevant class is the second of its `classes_`; with more classes, or for a
    multilabel indicator, the mean is over those that occur. Other estimators are scored by
    the values that they predict, with 1 for relevant rows.
    """

    # Requested by default, so that searches with metadata routing pass queries on.
    __metadata_request__score: ClassVar[dict] = {"qid": True, "estimator": UNUSED}

    def __call__(self, estimator, X, y, *, qid=None) -> float:
        """Mean average precision of the estimator on X and y."""
        return self.score(estimator, X, y, qid=qid)

    def score(self, estimator, X, y, *, qid=None) -> float:
        """The same by the name under which routing knows it."""
        if not is_classifier(estimator):
            return mean_average_precision(y, estimator.predict(X), qid=qid)
        method = "decision_function" if hasattr(estimator, "decision_function") else "predict_proba"
        scores = getattr(estimator, method)(X)
        if isinstance(scores, list):  # of probabilities, with an array for each label
            scores = _second_columns(scores, estimator.classes_)
            kind, classes = "multilabel", np.arange(scores.shape[1])
        elif type_of_target(y, input_name="y") == "multilabel-indicator":
            kind, classes = "multilabel", np.arange(1 if scores.ndim == 1 else scores.shape[1])
        else:
            classes = np.asarray(estimator.classes_)
            kind = "binary" if classes.size == 2 else "multiclass"
            if kind == "binary" and scores.ndim == 2:
                scores = scores[:, 1]
            if kind == "multiclass" and _scores_pairs(estimator, scores, classes):
                raise ValueError(
                    f"decision_function of {type(estimator).__name__} has a column for each pair "
                    "of classes, but scores for each class are needed. Set "
                    "decision_function_shape='ovr'."
                )
        indicator = true_indicator(y, kind, classes)
        check_consistent_length(scores, indicator)
        codes, n_queries = (np.zeros(len(scores), np.int64), 1)
        if qid is not None:
            codes, n_queries = encode_qid(qid, len(scores))
        return mean_over_classes(indicator, scores, codes, n_queries)


def _scores_pairs(estimator, scores, classes) -> bool:
    """Whether columns stand for pairs of classes; three classes have three pairs, too."""
    return scores.shape[1] != classes.size or any(
        name.endswith("decision_function_shape") and value == "ovo"
        for name, value in estimator.get_params(deep=True).items()
    )


def _second_columns(probabilities: list, classes) -> np.ndarray:
    """Of each label's probabilities those of having it, a column for each label.

    A label that no row, or every row, had in training has one column, for the class it was.
    """
    columns = [
        p[:, 1] if p.shape[1] == 2 else p[:, 0] * np.asarray(known)[0]
        for p, known in zip(probabilities, classes, strict=True)
    ]
    return np.column_stack(columns)


def mean_over_classes(indicator, scores, codes, n_queries, sample_weight=None) -> float:
    """Average precision, averaged over queries and then over classes, where it is defined."""
    values = []
    for positive, column in zip(indicator.T, scores.reshape(indicator.shape).T, strict=True):
        each = average_precision_per_query(positive, column, codes, n_queries, sample_weight)
        if not np.all(np.isnan(each)):
            values.append(np.nanmean(each))
    if values:
        return float(np.mean(values))
    what = "relevant row" if sample_weight is None else "relevant row of positive weight"
    warnings.warn(
        f"Average precision is undefined, since y has no {what}. The score is set to 0.0. In "
        "cross-validation, use folds that have rows of all classes, such as StratifiedKFold or "
        "StratifiedGroupKFold makes.",
        UndefinedMetricWarning,
        stacklevel=3,
    )
    return 0.0


mean_average_precision_scorer = MeanAveragePrecisionScorer()
