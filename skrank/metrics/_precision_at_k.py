"""Precision among the first places, averaged over queries."""

from __future__ import annotations

import numpy as np

from skrank._validation import check_count
from skrank.metrics._inputs import find_relevant, read_rows
from skrank.metrics._ranking import mean_over_queries, rank_rows


def mean_precision_at_k(y_true, y_score, *, k, qid=None, query_weight=None, pos_label=1) -> float:
    """Share of relevant rows on the first k places of each query, averaged over the queries.

    Rows are ranked by descending scores. Where equal scores leave open which rows are
    among the first `k` it is the mean over all orders of the tied rows, so the order of
    the data never counts.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance of each row: one or two distinct labels, of which `pos_label` is the
        relevant one.
    y_score : array-like of shape (n_samples,)
        Scores, the higher the more relevant: values of ``decision_function`` or
        probabilities.
    k : int
        The number of places that count. The share is always one of `k` places: those
        that a query with fewer rows leaves empty count as irrelevant.
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
        The mean over the queries that have at least one relevant row. The others, which
        no ranking could score above zero, are left out as in the other measures, and one
        :class:`~sklearn.exceptions.UndefinedMetricWarning` says how many they are. If
        that leaves no query of positive weight the result is 0.0.

    See Also
    --------
    mean_precision_at_k_scorer : The same measure, with k = 10, as a scorer.
    make_ranking_scorer : Makes scorers with other values of `k`.

    Examples
    --------
    >>> from skrank.metrics import mean_precision_at_k
    >>> y_true = [0, 1, 1, 0, 1]
    >>> y_score = [0.9, 0.8, 0.7, 0.5, 0.5]
    >>> mean_precision_at_k(y_true, y_score, k=2)
    0.5
    >>> qid = ["a", "a", "a", "b", "b"]
    >>> mean_precision_at_k(y_true, y_score, k=1, qid=qid)  # of query b, 0 or 1
    0.25
    """
    check_count("k", k, hint="It is the number of places that count.")
    y_true, y_score, queries = read_rows(y_true, y_score, qid, query_weight)
    relevant = find_relevant(y_true, pos_label)
    ranking = rank_rows(y_score, queries.codes)
    n_relevant = ranking.sums(relevant)
    n_counted = np.clip(min(k, y_true.size) - ranking.n_before, 0, ranking.n_rows)
    found = np.bincount(ranking.queries, weights=n_relevant / ranking.n_rows * n_counted)
    defined = np.bincount(ranking.queries, weights=n_relevant) > 0
    values = np.where(defined, found / k, np.nan)
    why = f"there is no row with the label {pos_label!r}"
    return mean_over_queries(values, queries.weight, f"Precision at {k}", why)
