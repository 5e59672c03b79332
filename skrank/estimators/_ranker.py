"""What rankers share: a linear score for each row, trained for a loss of rankings."""

from __future__ import annotations

import inspect
import warnings

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array, check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from skrank._gains import as_numbers
from skrank._graphs import Graph
from skrank._groups import Groups, weight_of_each_query
from skrank._operators import as_operator
from skrank.estimators._base import StructuredSVM, solve_each
from skrank.losses._objective import InterleavingObjective
from skrank.losses._ranking_risk import PairObjective, RankingRisk
from skrank.metrics import mean_over_queries
from skrank.solvers import minimise
from skrank.solvers._qp import make_qp

# More different values than that are measurements rather than grades.
MANY_GRADES = 20
# Why zero weights may be as good as any, and what to do.
TOP_HEAVY = (
    "Either no list can lose anything, or the loss asks more of the top of the lists than these "
    "features can do. Drop or raise a cut-off k, or try another loss, such as "
    "RankSVC(loss='roc_auc')."
)
OUTLIERS = (
    "Either the features say nothing of y, or C is too small, or a few values of y are so far from "
    "the others that their pairs are all that counts. Look at y for outliers, raise C, or take "
    "pair_weight='uniform'."
)


class Ranker(StructuredSVM, BaseEstimator):
    """A linear score for each row, trained for a loss of the rankings that it makes."""

    coef_: np.ndarray

    # Requested by default, so that pipelines and searches with metadata routing pass queries on.
    __metadata_request__fit = {"qid": True, "query_weight": True}
    __metadata_request__score = {"qid": True, "query_weight": True}

    def _make_loss(self):
        """The loss as an object, its parameters checked."""
        raise NotImplementedError

    def fit(self, X, y, *, qid=None, query_weight=None):
        """Train on rows X with relevance y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. float32 and float64 are not copied unless neither C- nor F-contiguous,
            or sparse and not CSR; other numbers are converted.
        y : array-like of shape (n_samples,)
            Relevance of each row, the higher the more relevant.
        qid : array-like of shape (n_samples,), default=None
            The query of each row, in any order and of any sortable type: rows are ranked within
            their query only. Queries whose rows are all of one relevance have nothing to rank and
            are left out; a warning says how many they are. None makes all rows one query.
        query_weight : array-like of shape (n_samples,), default=None
            Weight of each row's query, the same for all rows of a query. A query of weight 2
            counts like two queries.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        options = self._check_common()
        loss = self._make_loss()
        make_qp(self.qp_solver)
        warm = self.warm_start and hasattr(self, "coef_")
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_min_samples=2,
            reset=not warm,
        )
        groups = Groups.from_qid(qid, X.shape[0])
        weight = weight_of_each_query(query_weight, groups.codes(), groups.n_groups)
        y = as_numbers(y, "y")
        lowest = y.min()
        if _is_graded(loss):
            relevance = y.astype(np.float64, copy=False)
        else:
            _warn_of_real_values(y)
            relevance = y > lowest
        _check_rankable(loss, relevance, groups, weight)
        objective = _bind(loss, relevance, groups, None if query_weight is None else weight)
        operator = as_operator(X)
        start = self.coef_ if warm else None

        def solve(stop):
            return (
                minimise(objective, operator, float(self.C), start=start, stop=stop, **options),
            )

        ((solution,),) = solve_each([solve], n_jobs=None)
        self._lowest = lowest
        self._n_queries = groups.n_groups
        self.coef_ = solution.coef
        self.intercept_ = 0.0
        self._store([solution], single=True)
        if solution.idle:
            warnings.warn(
                "Zero weights are as good as any for the bound of this loss, so the ranking means "
                f"nothing. {OUTLIERS if _is_real_valued(loss) else TOP_HEAVY}",
                UserWarning,
                stacklevel=2,
            )
        return self

    def predict(self, X):
        """Score rows: within a query, the higher the more relevant.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Each row's score depends on the row alone; rank a query's rows by it.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
        return as_operator(X).scores(self.coef_[None])[:, 0]

    def decision_function(self, X):
        """The same as `predict`, by the name that classifiers have for scores.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            The higher the more relevant.
        """
        return self.predict(X)

    def score(self, X, y, sample_weight=None, *, qid=None, query_weight=None):
        """One minus the loss of the rankings: the measure that the estimator is trained for.

        Of the ranking risk all pairs count, by their differences of relevance, whichever of them
        the estimator is trained on.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score.
        y : array-like of shape (n_samples,)
            Their relevance.
        sample_weight : None
            Not used: rankings have no weights of rows. It is here because scikit-learn's
            pipelines name it; give `query_weight` instead.
        qid : array-like of shape (n_samples,), default=None
            The query of each row; None makes all rows one query.
        query_weight : array-like of shape (n_samples,), default=None
            Weight of each row's query, the same for all rows of a query.

        Returns
        -------
        score : float
            The mean over queries for which it is defined, by the ranking risk over the pairs of
            all queries; 0, with a warning, if there is none.
        """
        scores = self.predict(X)
        if sample_weight is not None:
            raise ValueError(
                "sample_weight was given, but a ranking has no weights of single rows. Weigh "
                "queries with query_weight=..., and pass queries as qid=..."
            )
        loss = self._make_loss()
        if not hasattr(loss, "loss_of_each_list"):
            raise TypeError(
                f"{type(loss).__name__} has no method loss_of_each_list(y, scores, groups), so "
                "score does not know the loss of a ranking. Add it, or use a metric of "
                "skrank.metrics with predict."
            )
        y = column_or_1d(check_array(y, ensure_2d=False, dtype=None, input_name="y"), warn=True)
        y = as_numbers(y, "y")
        check_consistent_length(scores, y)
        if qid is None:
            self._warn_of_lost_queries()
        groups = Groups.from_qid(qid, scores.size)
        weight = weight_of_each_query(query_weight, groups.codes(), groups.n_groups)
        relevance = y if _is_graded(loss) else y > self._lowest
        losses = loss.loss_of_each_list(relevance, scores, groups)
        if hasattr(loss, "weight_of_each_list"):
            weight = weight * loss.weight_of_each_list(relevance, groups)
        why = "no two rows of a query differ in relevance"
        if not _is_real_valued(loss):
            highest = np.maximum.reduceat(relevance[groups.rows], groups.pointers[:-1])
            why = "there is no relevant row"
            if np.any(np.isnan(losses) & (highest > 0)):
                why += ", or no irrelevant one to compare it with"
        return mean_over_queries(1.0 - losses, weight, "The score", why)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _is_graded(loss) -> bool:
    """Whether a loss takes grades of relevance, or relevant and irrelevant rows only."""
    return getattr(loss, "graded", False)


def _is_real_valued(loss) -> bool:
    """Whether a loss takes relevance of any sign, none of which says "irrelevant"."""
    return getattr(loss, "real_valued", False)


def _bind(loss, relevance: np.ndarray, groups: Groups, weight: np.ndarray | None):
    """The objective; losses of a user's own need not know weights unless there are some."""
    if weight is None:
        return _check_objective(loss, loss.bind(relevance, groups), relevance.size)
    try:
        inspect.signature(loss.bind).bind(relevance, groups, weight)
    except TypeError as error:
        raise TypeError(
            f"query_weight was given, but bind of {type(loss).__name__} does not take it: {error}. "
            "Give it a third parameter, for an array with one weight for each list."
        ) from error
    return _check_objective(loss, loss.bind(relevance, groups, weight), relevance.size)


def _check_objective(loss, objective, n_rows: int):
    """Call what a user's loss gave once, and say what is wrong with the result."""
    if isinstance(objective, InterleavingObjective | PairObjective):
        return objective
    name = type(loss).__name__
    if not callable(objective):
        raise TypeError(
            f"bind of {name} gave {objective!r}, but a function from scores to the pair of a value "
            "and a subgradient was expected."
        )
    result = objective(np.zeros(n_rows))
    fine = isinstance(result, tuple) and len(result) == 2
    if not fine or not isinstance(result[1], np.ndarray) or result[1].shape != (n_rows,):
        given = [getattr(part, "shape", type(part).__name__) for part in result] if fine else result
        raise TypeError(
            f"The objective of {name} gave {given!r}, but the pair of a number and an array of "
            f"shape ({n_rows},), the subgradient by the scores, was expected."
        )
    return objective


def _warn_of_real_values(y: np.ndarray) -> None:
    """Grades count as relevant from the second on; for measurements that is hardly meant."""
    n_values = np.unique(y).size
    whole = y.dtype.kind != "f" or np.all(y == np.round(y))
    if n_values > (MANY_GRADES if whole else 2):
        n_lowest = int(np.count_nonzero(y == y.min()))
        warnings.warn(
            f"y has {n_values} different values, but this loss knows relevant and irrelevant rows "
            f"only: {n_lowest} rows with the lowest value are irrelevant and the other "
            f"{y.size - n_lowest} relevant. Compare y with a threshold, y > threshold, or take "
            "StructRankSVM, to which all differences count.",
            UserWarning,
            stacklevel=3,
        )


def _check_rankable(loss, relevance: np.ndarray, groups: Groups, weight: np.ndarray) -> None:
    """Count the queries with nothing to rank; warn of them, or raise if they are all."""
    graph = loss.check() if isinstance(loss, RankingRisk) else Graph()
    lacking, what = graph.lacking(relevance, groups)
    counted = weight > 0.0
    lacking &= counted
    n_lacking, n_queries = int(np.count_nonzero(lacking)), int(np.count_nonzero(counted))
    if n_lacking == n_queries:
        if groups.n_groups > 1:
            weighty = "" if counted.all() else " of positive weight"
            what = f"None of the {n_queries} queries{weighty} has {what}"
        elif relevance.min() == relevance.max():
            what = f"All {relevance.size} rows are of the same relevance"
        else:
            what = f"There are no {what} among the {relevance.size} rows"
        advice = _what_to_do(graph, relevance, groups, _is_real_valued(loss))
        raise ValueError(f"{what}, so there is nothing to rank. {advice}")
    if n_lacking:
        ordered = relevance[groups.rows]
        highest = np.maximum.reduceat(ordered, groups.pointers[:-1])
        n_irrelevant = int(np.count_nonzero(lacking & (highest == relevance.min())))
        remark = (
            "" if _is_real_valued(loss) else f" ({n_irrelevant} of them without a relevant row)"
        )
        warnings.warn(
            f"{n_lacking} of {n_queries} queries have no {what}{remark}. They have nothing to rank "
            "and are left out.",
            UserWarning,
            stacklevel=3,
        )


def _what_to_do(graph: Graph, relevance: np.ndarray, groups: Groups, real_valued: bool) -> str:
    """Advice for data without a pair."""
    lowest, highest = relevance.min(), relevance.max()
    longest = np.diff(groups.pointers).max()
    if lowest < highest:
        if graph.top is not None and graph.top >= longest:
            return f"The longest query has {longest} rows: lower top."
        if graph.relevance_threshold is not None and not (
            lowest < graph.relevance_threshold <= highest
        ):
            return f"y is from {lowest:g} to {highest:g}: give a relevance_threshold in between."
    if groups.n_groups > 1:
        return "Check y and qid: rows to be ranked against each other have the same qid."
    folds = "stratified ones, cv=StratifiedKFold()"
    if real_valued:
        folds = "mixed ones, cv=KFold(shuffle=True)"
    return f"Check how y was made or split; a search over folds of one list needs {folds}."
