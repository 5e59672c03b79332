"""Reciprocal rank, averaged over queries."""

from __future__ import annotations

import numpy as np

from skrank._jit import jit
from skrank.metrics._inputs import find_relevant, read_rows
from skrank.metrics._ranking import mean_over_queries, rank_rows


def mean_reciprocal_rank(y_true, y_score, *, qid=None, query_weight=None, pos_label=1) -> float:
    """One over the place of the first relevant row of each query, averaged over the queries.

    Rows are ranked by descending scores. Where equal scores leave the place open it is
    the mean over all orders of the tied rows, so the order of the data never counts.

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
        The mean over the queries that have at least one relevant row. The others are
        left out, and one :class:`~sklearn.exceptions.UndefinedMetricWarning` says how
        many they are. If that leaves no query of positive weight the result is 0.0.

    See Also
    --------
    mean_reciprocal_rank_scorer : The same measure as a scorer for model selection.

    Examples
    --------
    >>> from skrank.metrics import mean_reciprocal_rank
    >>> y_true = [0, 1, 0, 0, 1]
    >>> y_score = [0.9, 0.8, 0.1, 0.5, 0.5]
    >>> mean_reciprocal_rank(y_true, y_score)
    0.5
    >>> qid = ["a", "a", "a", "b", "b"]
    >>> mean_reciprocal_rank(y_true, y_score, qid=qid)  # of query b, 1 or 1/2
    0.625
    """
    y_true, y_score, queries = read_rows(y_true, y_score, qid, query_weight)
    relevant = find_relevant(y_true, pos_label)
    ranking = rank_rows(y_score, queries.codes)
    n_relevant = ranking.sums(relevant).astype(np.int64)
    some = np.flatnonzero(n_relevant)
    defined, first = np.unique(ranking.queries[some], return_index=True)
    blocks = some[first]
    values = np.full(queries.n_queries, np.nan)
    values[defined] = expected_reciprocal(
        ranking.n_before[blocks], ranking.n_rows[blocks], n_relevant[blocks]
    )
    why = f"there is no row with the label {pos_label!r}"
    return mean_over_queries(values, queries.weight, "Reciprocal rank", why)


@jit
def expected_reciprocal(n_before, n_rows, n_relevant):
    """Mean of 1 / place of the first relevant row over all orders of each block.

    Let a rows stand ahead of a block of m rows, r of them relevant, and let e(p) be the mean
    if none is relevant ahead of place p of the block. The row at p is relevant with the
    probability h = r / (m - p + 1), which is 1 at the last place possible, p = m - r + 1:

        e(p) = h / (a + p) + (1 - h) e(p + 1).
    """
    means = np.empty(n_before.size)
    for block in range(n_before.size):
        a, m, r = n_before[block], n_rows[block], n_relevant[block]
        mean = 0.0
        for p in range(m - r + 1, 0, -1):
            mean += (1.0 / (a + p) - mean) * (r / (m - p + 1))
        means[block] = mean
    return means
