"""The ranking risk: what share of the differences of relevance is ranked the wrong way."""

from __future__ import annotations

import numpy as np

from skrank._gains import check_real_relevance
from skrank._graphs import Graph
from skrank._groups import Groups
from skrank._pairs import WEIGHTS, PairLists, PairSums
from skrank._validation import check_choice
from skrank.metrics._inputs import read_rows
from skrank.metrics._ranking import mean_over_queries


def ranking_risk(
    y_true, y_score, *, qid=None, query_weight=None, pair_weight="difference"
) -> float:
    """Share of the pairs of rows that are in the wrong order, weighted by relevance differences.

    All pairs of rows of the same query with different relevance count, those of all queries
    together. A pair of tied scores is half wrong. The risk is 0 for a perfect ranking, 1 for a
    reversed one and 1/2 for equal or random scores. It takes ``O(n log n)`` for n rows.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,)
        Relevance of each row: any numbers, the higher the more relevant.
    y_score : array-like of shape (n_samples,)
        Scores, the higher the more relevant.
    qid : array-like of shape (n_samples,), default=None
        The query of each row, in any order and of any sortable type. ``None`` makes all
        rows one query.
    query_weight : array-like of shape (n_samples,), default=None
        For each row the weight of its query, the same for all rows of a query. It multiplies the
        weights of the query's pairs.
    pair_weight : {"difference", "uniform"}, default="difference"
        Whether a pair weighs its difference of relevance, or as much as any other. With "uniform"
        and one query of n rows without ties in relevance or scores, the risk is
        ``(1 - tau) / 2`` for Kendall's tau.

    Returns
    -------
    risk : float
        Between 0 and 1. Where no two rows of a query differ in relevance it is undefined: then
        it is 1.0, with a warning.

    See Also
    --------
    skrank.StructRankSVM : A ranker trained for it.
    scipy.stats.kendalltau : A measure of rank correlation that knows no weights.

    Notes
    -----
    Queries without two rows of different relevance have no part in it. Since pairs are counted
    over all queries, those of a long query with large differences outweigh those of a short one:
    give ``query_weight`` to balance them.

    References
    ----------
    .. [1] M. B. Blaschko, A. Mittal, E. Rahtu, "An O(n log n) cutting plane algorithm for
       structured output ranking", GCPR 2014.

    Examples
    --------
    The pair with the difference 1 is in the wrong order, those with 2 and 3 are not.

    >>> from skrank.metrics import ranking_risk
    >>> round(ranking_risk([3.0, 1.0, 0.0], [2.5, 0.2, 0.3]), 3)
    0.167
    >>> round(ranking_risk([3.0, 1.0, 0.0], [2.5, 0.2, 0.3], pair_weight="uniform"), 3)
    0.333
    """
    check_choice("pair_weight", pair_weight, WEIGHTS)
    y_true, y_score, queries = read_rows(y_true, y_score, qid, query_weight)
    relevance = check_real_relevance(y_true, "y_true")
    groups = Groups.from_codes(queries.codes, queries.n_queries)
    risks, weight = risk_of_each_list(relevance, y_score, groups, pair_weight)
    why = "no two rows of a query differ in relevance"
    return mean_over_queries(risks, queries.weight * weight, "The ranking risk", why, worst=1.0)


def risk_of_each_list(
    y: np.ndarray, scores: np.ndarray, groups: Groups, pair_weight: str
) -> tuple[np.ndarray, np.ndarray]:
    """The ranking risk of each list, nan without pairs, and the weight of its pairs.

    Differences of relevance weigh in units of the largest one.
    """
    lists = PairLists(y, groups, Graph())
    total = lists.count if pair_weight == "uniform" else lists.weight
    risks = np.full(groups.n_groups, np.nan)
    weight = np.zeros(groups.n_groups)
    if lists.kept.size == 0:
        return risks, weight
    # ranks of scores, so that a margin of one half is one of no more than a tie
    ranks = np.unique(scores, return_inverse=True)[1].astype(np.float64)
    sums = PairSums(lists, pair_weight)
    wrong, wrong_or_tied = (sums.evaluate(ranks, margin, 0.0) for margin in (0.0, 0.5))
    # differences may be nothing beside those of other lists
    counts = total > 0.0
    share = 0.5 * (wrong + wrong_or_tied)[counts] / total[counts]
    risks[lists.kept[counts]] = np.clip(share, 0.0, 1.0)
    weight[lists.kept] = total
    return risks, weight
