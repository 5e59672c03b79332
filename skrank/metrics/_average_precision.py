"""Average precision, averaged over queries and over classes."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import UndefinedMetricWarning

from skrank._jit import jit
from skrank.metrics._inputs import find_relevant, read_rows
from skrank.metrics._ranking import (
    mean_over_queries,
    rank_rows,
    scale_in_queries,
    weighted_mean,
)


def mean_average_precision(y_true, y_score, *, qid=None, query_weight=None, pos_label=1) -> float:
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
    query_weight : array-like of shape (n_samples,), default=None
        For each row the weight of its query in the mean, the same for all rows of a
        query. A query of weight 2 counts as if it were there twice, one of weight 0 as
        if it were not there. ``None`` makes all queries count alike.
    pos_label : int, float, bool or str, default=1
        The label of the relevant rows.

    Returns
    -------
    score : float
        The mean over the queries that have at least one relevant row. The others have
        no average precision: they are left out, and one
        :class:`~sklearn.exceptions.UndefinedMetricWarning` says how many they are. If
        that leaves no query of positive weight the result is 0.0. A query with only
        relevant rows counts 1.

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
    >>> qid = ["a", "b", "b", "b", "a"]
    >>> mean_average_precision(y_true, y_score, qid=qid)
    0.75
    >>> mean_average_precision(y_true, y_score, qid=qid, query_weight=[4, 1, 1, 1, 4])
    0.9
    """
    y_true, y_score, queries = read_rows(y_true, y_score, qid, query_weight)
    relevant = find_relevant(y_true, pos_label)
    values = average_precision_per_query(relevant, y_score, queries.codes, queries.n_queries)
    why = f"there is no row with the label {pos_label!r}"
    return mean_over_queries(values, queries.weight, "Average precision", why)


def average_precision_per_query(
    relevant, y_score, codes, n_queries, sample_weight=None
) -> np.ndarray:
    """Average precision of each of the queries 0..Q-1; NaN where nothing is relevant.

    With R the relevant rows of a query, r of them and n rows in all at or above the end of
    a block of equal scores, the block with m relevant rows adds (m / R) (r / n). Rows count
    by their weights.
    """
    if sample_weight is None:
        weight = np.ones(codes.size)
    else:
        weight = scale_in_queries(sample_weight, codes, n_queries)
    ranking = rank_rows(y_score, codes)
    opens_query = ranking.n_before == 0
    gained = ranking.sums(weight * relevant)
    relevant_to_end = running_sums(gained, opens_query)
    rows_to_end = running_sums(ranking.sums(weight), opens_query)
    precision = np.divide(
        relevant_to_end, rows_to_end, out=np.zeros(gained.size), where=rows_to_end > 0
    )
    total = np.bincount(ranking.queries, weights=gained * precision, minlength=n_queries)
    n_relevant = np.bincount(ranking.queries, weights=gained, minlength=n_queries)
    return np.divide(total, n_relevant, out=np.full(n_queries, np.nan), where=n_relevant > 0)


@jit
def running_sums(values, starts_anew):
    """Sums up to each value from the last start on, free of rounding from before it."""
    sums = np.empty(values.size)
    total = 0.0
    for place in range(values.size):
        total = values[place] + (0.0 if starts_anew[place] else total)
        sums[place] = total
    return sums


def mean_over_classes(
    indicator, scores, codes, n_queries, sample_weight=None, query_weight=None
) -> float:
    """Average precision, averaged over queries and then over classes, where it is defined.

    Rows count by `sample_weight` in the precisions, queries by `query_weight` (one for each
    query) in the mean over them, and classes alike.
    """
    of_query = np.ones(n_queries) if query_weight is None else query_weight
    values = []
    for positive, column in zip(indicator.T, scores.reshape(indicator.shape).T, strict=True):
        each = average_precision_per_query(positive, column, codes, n_queries, sample_weight)
        values.append(weighted_mean(each, of_query))
    defined = ~np.isnan(values)
    if defined.any():
        return float(np.mean(np.array(values)[defined]))
    all_count = sample_weight is None and np.all(of_query > 0.0)
    what = "relevant row" if all_count else "relevant row of positive weight"
    warnings.warn(
        f"Average precision is undefined, since y has no {what}. The score is set to 0.0. In "
        "cross-validation, use folds that have rows of all classes, such as StratifiedKFold or "
        "StratifiedGroupKFold makes.",
        UndefinedMetricWarning,
        stacklevel=3,
    )
    return 0.0
