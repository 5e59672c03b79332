"""Normalised discounted cumulative gain, averaged over queries."""

from __future__ import annotations

from functools import partial

import numpy as np

from skrank._gains import apply_gain, check_gain, check_grades
from skrank._validation import check_count
from skrank.metrics._inputs import read_rows
from skrank.metrics._ranking import mean_over_queries, rank_rows, scale_in_queries


def mean_ndcg(y_true, y_score, *, qid=None, query_weight=None, k=None, gain="exponential") -> float:
    """Normalised discounted cumulative gain of each query, averaged over the queries.

    The discounted cumulative gain of a query is the sum over its rows, ranked by
    descending scores, of their gains times ``1 / log2(1 + place)``; normalised, it is
    divided by that of the best ranking. Rows with equal scores share the discounts of
    their places equally, so their order never counts. On a single query this is
    :func:`sklearn.metrics.ndcg_score` of the gains.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance of each row: numbers that are not negative, such as the grades 0, 1
        and 2, or booleans.
    y_score : array-like of shape (n_samples,)
        Scores, the higher the more relevant.
    qid : array-like of shape (n_samples,), default=None
        The query of each row, in any order and of any sortable type. ``None`` makes all
        rows one query.
    query_weight : array-like of shape (n_samples,), default=None
        For each row the weight of its query in the mean, the same for all rows of a
        query. A query of weight 2 counts as if it were there twice, one of weight 0 as
        if it were not there. ``None`` makes all queries count alike.
    k : int, default=None
        Only the first `k` places count, in the best ranking as well. ``None`` counts all.
    gain : {"exponential", "linear"}, default="exponential"
        What a row of relevance y is worth: ``2**y - 1`` or ``y``. The two agree on
        binary relevance.

    Returns
    -------
    score : float
        The mean over the queries that have a row of positive relevance. The others have
        no best ranking: they are left out, and one
        :class:`~sklearn.exceptions.UndefinedMetricWarning` says how many they are. If
        that leaves no query of positive weight the result is 0.0.

    See Also
    --------
    sklearn.metrics.ndcg_score : For lists of one length, with linear gains.
    mean_ndcg_scorer : The same measure as a scorer for model selection.
    make_ranking_scorer : Makes scorers with other values of `k` and `gain`.

    Examples
    --------
    >>> from skrank.metrics import mean_ndcg
    >>> y_true = [2, 0, 1, 0, 1]
    >>> y_score = [0.8, 0.9, 0.3, 0.2, 0.7]
    >>> mean_ndcg(y_true, y_score)
    0.68...
    >>> mean_ndcg(y_true, y_score, k=3, gain="linear")
    0.56...
    >>> mean_ndcg(y_true, y_score, qid=["a", "a", "b", "b", "b"])
    0.81...
    """
    check_gain(gain)
    if k is not None:
        check_count("k", k, hint="It is the number of places that count; None counts all.")
    y_true, y_score, queries = read_rows(y_true, y_score, qid, query_weight)
    grades = check_grades(y_true, "y_true")
    gains = apply_gain(grades, gain)
    discount = partial(log2_discount, k=k)
    values = ndcg_per_query(gains, y_score, queries.codes, queries.n_queries, discount)
    return mean_over_queries(values, queries.weight, "NDCG")


def log2_discount(places: np.ndarray, k: int | None = None) -> np.ndarray:
    """1 / log2(1 + place), and zero past place k if it is given."""
    discount = 1.0 / np.log2(1.0 + places)
    if k is not None:
        discount[places > k] = 0.0
    return discount


def ndcg_per_query(gains, y_score, codes, n_queries, discount) -> np.ndarray:
    """NDCG of each of the queries 0..Q-1; NaN where nothing has a positive gain.

    A block of equal scores adds its mean gain times the sum of the discounts of its places.
    ``discount`` is a function of places.
    """
    gains = scale_in_queries(gains, codes, n_queries)
    ranking, best = rank_rows(y_score, codes), rank_rows(gains, codes)
    discounts = discount(ranking.places)
    attained = np.bincount(
        ranking.queries,
        weights=ranking.sums(gains) / ranking.n_rows * np.add.reduceat(discounts, ranking.starts),
        minlength=n_queries,
    )
    # places are the same in both rankings, since the queries follow each other alike
    ideal = np.bincount(
        codes[best.order], weights=gains[best.order] * discounts, minlength=n_queries
    )
    ndcg = np.divide(attained, ideal, out=np.full(n_queries, np.nan), where=ideal > 0)
    return np.minimum(ndcg, 1.0)  # rounding may lead beyond
