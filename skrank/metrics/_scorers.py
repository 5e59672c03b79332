"""Scorers for searches and cross-validation, which pass queries and their weights on."""

from __future__ import annotations

import inspect
from functools import partial
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.multiclass import type_of_target

from skrank._labels import true_indicator
from skrank.losses._named_sets import as_set_loss
from skrank.metrics._average_precision import mean_average_precision, mean_over_classes
from skrank.metrics._inputs import read_queries
from skrank.metrics._ndcg import mean_ndcg
from skrank.metrics._precision_at_k import mean_precision_at_k
from skrank.metrics._ranking_risk import ranking_risk
from skrank.metrics._reciprocal_rank import mean_reciprocal_rank
from skrank.metrics._sets import dice_loss, jaccard_loss, set_loss


def make_ranking_scorer(metric, *, greater_is_better=True, **options):
    """Make a scorer of a ranking measure, for searches and cross-validation.

    The scorer is called as ``scorer(estimator, X, y, qid=qid, query_weight=query_weight)``.
    With metadata routing enabled it asks for `qid` and `query_weight` by default; without,
    all rows of a fold are one query.

    Classifiers are scored by their ``decision_function``, or else by the probabilities of
    the second of their two `classes_`; rows of that class have relevance 1, the others 0.
    Everything else is scored by ``predict``, with `y` as it is: grades of relevance for
    :func:`mean_ndcg`, any numbers for :func:`ranking_risk`, 1 for relevant rows for the measures of
    binary relevance.

    Parameters
    ----------
    metric : callable
        One of :func:`mean_average_precision`, :func:`mean_ndcg`,
        :func:`mean_reciprocal_rank` and :func:`mean_precision_at_k`; :func:`ranking_risk`, of
        which the score is one minus it; or a function of your own,
        ``metric(y_true, y_score, *, qid=None, query_weight=None, **options)``.
    greater_is_better : bool, default=True
        False for a function of your own that gives lower values to better rankings, also if it
        does no more than call :func:`ranking_risk`: the score is minus its value, as with
        :func:`sklearn.metrics.make_scorer`. Of :func:`ranking_risk` itself it changes nothing.
    **options
        Keyword arguments for the metric, such as `k`.

    Returns
    -------
    scorer : callable
        For the ``scoring`` parameter of :class:`~sklearn.model_selection.GridSearchCV`,
        :func:`~sklearn.model_selection.cross_validate` and the like. Of
        :func:`mean_average_precision` it is like `mean_average_precision_scorer`, which
        takes multiclass and multilabel classifiers as well; the others refuse them.

    See Also
    --------
    sklearn.metrics.make_scorer : For measures that know no queries.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skrank.metrics import make_ranking_scorer, mean_ndcg
    >>> X, grades, qid = [[0], [1], [2], [3]], [0, 1, 0, 2], [1, 1, 2, 2]
    >>> scorer = make_ranking_scorer(mean_ndcg, k=10)
    >>> scorer
    make_ranking_scorer(mean_ndcg, k=10)
    >>> scorer(Ridge().fit(X, grades), X, grades, qid=qid)
    1.0
    """
    _check_options("make_ranking_scorer", metric, options, "y_score", "such as k")
    if metric is mean_average_precision and greater_is_better:
        return MeanAveragePrecisionScorer()
    return RankingScorer(metric, options, greater_is_better)


def make_set_scorer(metric=set_loss, **options):
    """Make a scorer of a loss of sets of labels, for searches and cross-validation.

    The score is one minus the mean loss of the labels that ``predict`` gives, so that
    higher is better. The scorer is called as
    ``scorer(estimator, X, y, qid=qid, query_weight=query_weight)``. With metadata routing
    enabled it asks for `qid` and `query_weight` by default; without, all rows of a fold
    with one-dimensional labels are one set.

    Of two-dimensional labels each row is a set. Of one-dimensional labels the positive one
    is the second of a classifier's two `classes_`; more than two are taken each against the
    rest, and the score is the mean over all of them, as in
    :meth:`skrank.LovaszHingeClassifier.score`. For estimators that are no classifiers the
    positive label is 1.

    Parameters
    ----------
    metric : callable, str or set loss, default=set_loss
        One of :func:`set_loss`, :func:`jaccard_loss` and :func:`dice_loss`, or a function
        of your own, ``metric(y_true, y_pred, *, qid=None, query_weight=None, **options)``,
        that gives lower values to better predictions and takes zeros and ones as labels.
        The name of a loss, or a set loss of :mod:`skrank.losses`, stands for
        :func:`set_loss` with that loss.
    **options
        Keyword arguments for the metric, such as `loss`.

    Returns
    -------
    scorer : callable
        For the ``scoring`` parameter of :class:`~sklearn.model_selection.GridSearchCV`,
        :func:`~sklearn.model_selection.cross_validate` and the like.

    See Also
    --------
    make_ranking_scorer : For measures of rankings.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from skrank.losses import ConcaveCardinality
    >>> from skrank.metrics import dice_loss, make_set_scorer
    >>> X, Y = make_multilabel_classification(random_state=0)
    >>> scorer = make_set_scorer("hamming")
    >>> scorer
    make_set_scorer(loss='hamming')
    >>> scorer(KNeighborsClassifier().fit(X, Y), X, Y)
    0.802

    Others, and a loss of one's own:

    >>> make_set_scorer(ConcaveCardinality(alpha=2.0))
    make_set_scorer(loss=ConcaveCardinality(alpha=2.0))
    >>> make_set_scorer(dice_loss)
    make_set_scorer(dice_loss)
    >>> any_mistake = make_set_scorer(loss=lambda mispredicted, y_true: mispredicted.any())
    """
    if isinstance(metric, str) or hasattr(metric, "marginals"):
        if "loss" in options:
            raise TypeError(
                f"make_set_scorer was given the loss {metric!r} and loss={options['loss']!r} as "
                "well. Leave out one of them."
            )
        metric, options = set_loss, {"loss": metric, **options}
    own = "A loss(mispredicted, y_true) of your own is given as make_set_scorer(loss=loss). "
    _check_options("make_set_scorer", metric, options, "y_pred", "such as loss", own)
    if metric is set_loss and "loss" in options:
        as_set_loss(options["loss"])
    return SetScorer(metric, options)


def _check_options(
    maker: str, metric, options: dict, values: str, such: str, own: str = ""
) -> None:
    """Raise an error unless the metric takes the options next to what a scorer gives it."""
    reserved = ("y_true", values, "qid", "query_weight", "pos_label")
    given = [name for name in reserved if name in options]
    if given:
        raise TypeError(
            f"{maker} was given {', '.join(given)}, but only options {such} are fixed in advance. "
            "Pass qid and query_weight when scoring. The relevant class is the second of a "
            "classifier's classes_, and 1 for other estimators: pass y == label to score another."
        )
    try:
        inspect.signature(metric).bind(None, None, qid=None, query_weight=None, **options)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"{maker} was given {_name(metric)} with the options {options}, but a function "
            f"metric(y_true, {values}, *, qid=None, query_weight=None, **options) that takes them "
            f"is expected: {error}. {own}Change the options or the function's parameters."
        ) from error


class QueryScorer(BaseEstimator):
    """A scorer as scikit-learn calls it, with the requests that all have in common."""

    # Requested by default, so that searches with metadata routing pass queries on.
    __metadata_request__score: ClassVar[dict] = {
        "qid": True,
        "query_weight": True,
        "estimator": UNUSED,
    }

    def __call__(self, estimator, X, y, *, qid=None, query_weight=None) -> float:
        """The measure of the estimator on X and y."""
        return self.score(estimator, X, y, qid=qid, query_weight=query_weight)

    def score(self, estimator, X, y, *, qid=None, query_weight=None) -> float:
        """The same by the name under which routing knows it."""
        raise NotImplementedError


class MetricScorer(QueryScorer):
    """A scorer that a function has checked and made, from a metric and its options."""

    _maker: ClassVar[str]

    def __init__(self, metric, options):
        self.metric = metric
        self.options = options

    def __repr__(self) -> str:
        metric = [] if self.metric is set_loss else [_name(self.metric)]
        options = [f"{name}={value!r}" for name, value in self.options.items()]
        return f"{self._maker}({', '.join([*metric, *options])})"


class RankingScorer(MetricScorer):
    """Scores a fitted estimator by a metric; :func:`make_ranking_scorer` checks and makes it."""

    _maker = "make_ranking_scorer"

    def __init__(self, metric, options, greater_is_better=True):
        super().__init__(metric, options)
        self.greater_is_better = greater_is_better

    def __repr__(self) -> str:
        made = super().__repr__()
        return made if self.greater_is_better else f"{made[:-1]}, greater_is_better=False)"

    def score(self, estimator, X, y, *, qid=None, query_weight=None) -> float:
        """The metric of the estimator on X and y."""
        if is_classifier(estimator):
            classes = estimator.classes_
            several = isinstance(classes, list) or type_of_target(y).startswith("multilabel")
            if several or len(classes) != 2:
                given = "a multilabel y" if several else f"{len(classes)} classes"
                raise ValueError(
                    f"{type(estimator).__name__} was given to a scorer of {_name(self.metric)} "
                    f"with {given}, but a classifier of two classes is expected. Score one class "
                    "at a time, fitted with y == label; use mean_average_precision_scorer, which "
                    "takes the mean over classes; or predict grades by a regressor or a ranker."
                )
            y = true_indicator(y, "binary", np.asarray(classes))[:, 0].astype(np.int64)
            scores = _of_second_class(_class_scores(estimator, X))
        else:
            if "pos_label" in inspect.signature(self.metric).parameters:
                _check_ones(y)
            scores = estimator.predict(X)
        value = self.metric(y, scores, qid=qid, query_weight=query_weight, **self.options)
        if _of_partial(self.metric) is ranking_risk:
            return 1.0 - value
        return value if self.greater_is_better else -value


class SetScorer(MetricScorer):
    """Scores a fitted estimator by one minus a loss; :func:`make_set_scorer` makes it."""

    _maker = "make_set_scorer"

    def score(self, estimator, X, y, *, qid=None, query_weight=None) -> float:
        """One minus the loss of the labels that the estimator predicts on X."""
        predicted = estimator.predict(X)
        known = {"qid": qid, "query_weight": query_weight, **self.options}
        one_a_row = all(np.shape(values)[1:] in [(), (1,)] for values in (y, predicted))
        if not (one_a_row and is_classifier(estimator)):
            return 1.0 - self.metric(y, predicted, **known)
        classes = np.ravel(estimator.classes_)  # some have a list, with an array for each column
        kind = "binary" if classes.size == 2 else "multiclass"
        truth, chosen = (
            true_indicator(labels, kind, classes).astype(np.int64) for labels in (y, predicted)
        )
        losses = [self.metric(*pair, **known) for pair in zip(truth.T, chosen.T, strict=True)]
        return float(1.0 - np.mean(losses))


class MeanAveragePrecisionScorer(QueryScorer):
    """Scores a fitted estimator by the measure that ``APSVC.score`` gives.

    For a classifier the relevant class is the second of its `classes_`; with more classes, or for a
    multilabel indicator, the mean is over those that occur. Other estimators are scored by
    the values that they predict, with 1 for relevant rows.
    """

    def score(self, estimator, X, y, *, qid=None, query_weight=None) -> float:
        """Mean average precision of the estimator on X and y."""
        if not is_classifier(estimator):
            _check_ones(y)
            scores = estimator.predict(X)
            return mean_average_precision(y, scores, qid=qid, query_weight=query_weight)
        scores = _class_scores(estimator, X)
        if isinstance(scores, list):  # of probabilities, with an array for each label
            scores = _second_columns(scores, estimator.classes_)
            kind, classes = "multilabel", np.arange(scores.shape[1])
        elif type_of_target(y, input_name="y") == "multilabel-indicator":
            kind, classes = "multilabel", np.arange(1 if scores.ndim == 1 else scores.shape[1])
        else:
            classes = np.asarray(estimator.classes_)
            kind = "binary" if classes.size == 2 else "multiclass"
            if kind == "binary":
                scores = _of_second_class(scores)
            if kind == "multiclass" and _scores_pairs(estimator, scores, classes):
                raise ValueError(
                    f"decision_function of {type(estimator).__name__} has a column for each pair "
                    "of classes, but scores for each class are needed. Set "
                    "decision_function_shape='ovr'."
                )
        indicator = true_indicator(y, kind, classes)
        check_consistent_length(scores, indicator)
        codes, n_queries, weight = read_queries(qid, query_weight, len(scores))
        return mean_over_classes(indicator, scores, codes, n_queries, query_weight=weight)


def _check_ones(y) -> None:
    """Of two labels 1 must be the higher one: a ranker takes that as the relevant one."""
    labels = np.unique(column_or_1d(y))
    if labels.size == 2 and labels[0] == 1:
        raise ValueError(
            f"y has the labels {labels.tolist()}, of which this scorer would take 1 as the "
            f"relevant one, but rankers take the higher. Pass y == {labels.tolist()[1]!r}."
        )


def _of_partial(metric):
    """The function of which some arguments are fixed."""
    while isinstance(metric, partial):
        metric = metric.func
    return metric


def _name(metric) -> str:
    return getattr(metric, "__name__", repr(metric))


def _class_scores(estimator, X):
    """Values of the decision function, or else probabilities."""
    method = "decision_function" if hasattr(estimator, "decision_function") else "predict_proba"
    return getattr(estimator, method)(X)


def _of_second_class(scores) -> np.ndarray:
    """Scores of the second of two classes; probabilities have a column for each."""
    return scores[:, 1] if scores.ndim == 2 else scores


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


mean_average_precision_scorer = MeanAveragePrecisionScorer()
mean_ndcg_scorer = make_ranking_scorer(mean_ndcg)
mean_reciprocal_rank_scorer = make_ranking_scorer(mean_reciprocal_rank)
mean_precision_at_k_scorer = make_ranking_scorer(mean_precision_at_k, k=10)
ranking_risk_scorer = make_ranking_scorer(ranking_risk)
mean_jaccard_scorer = make_set_scorer(jaccard_loss)
mean_dice_scorer = make_set_scorer(dice_loss)
