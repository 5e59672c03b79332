"""LovaszHingeClassifier: a linear classifier trained for a loss of whole sets of labels."""

from __future__ import annotations

import warnings
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from skrank._groups import Groups
from skrank._labels import Labels, predict_labels, read_indicator, true_indicator
from skrank._operators import ForEachLabel, Operator, WithConstant, as_operator
from skrank._validation import check_flag, check_jobs
from skrank.estimators._base import StructuredSVM, solve_each
from skrank.losses._named_sets import as_set_loss
from skrank.losses._rescaling import MAX_EXACT
from skrank.losses._set_loss import check_surrogate
from skrank.solvers import Solution, minimise
from skrank.solvers._qp import make_qp

# What scikit-learn is to make of data.
ACCEPTED: dict[str, Any] = {"accept_sparse": "csr", "dtype": (np.float64, np.float32)}


class LovaszHingeClassifier(StructuredSVM, ClassifierMixin, BaseEstimator):
    """Linear classifier trained for the Jaccard loss or another submodular loss of sets.

    Minimises ``1/2 ||w||^2 + C * R(Xw)``, where ``R`` is the Lovász hinge [1]_ of a loss that looks
    at all predictions of a set at once, averaged over sets: a convex bound of the loss that is
    equal to it wherever each element is either right with a margin of 1 or on the boundary. A set
    is

    - a row of a two-dimensional `y`, the labels of a sample: each label has weights of its own;
    - the rows of a query, or all rows, of a one-dimensional `y`, such as the pixels of an image:
      all share the weights.

    Training stops at a proven relative duality gap of `tol`.

    Parameters
    ----------
    C : float, default=30.0
        Weight of the mean loss of the sets against the norm of the weights. Scale the features
        before comparing values. With ``loss="hamming"`` it is the `C` of
        :class:`~sklearn.svm.LinearSVC` (with the hinge loss) times the number of elements in all
        sets, if these are of one size.
    loss : str, object or callable, default="jaccard"
        "jaccard", "hamming", "capped_weighted", "concave_cardinality" or "early_detection"; or a
        set loss of :mod:`skrank.losses`, such as ``CappedWeighted(weights, cap)``; or one of your
        own, as a function ``loss(mispredicted, y_true)`` or an object with a method
        ``marginals(order, y_true)``. See :class:`~skrank.losses.SetLoss`, which says what they
        must be like; wrap them in it to declare a loss that is not increasing. Parameters of a
        loss can be searched, as ``loss__cap``, with a fixed ``scoring``: `score` changes with the
        loss.
    surrogate : {"lovasz", "margin", "slack"}, default="lovasz"
        The convex bound: the Lovász hinge, or margin or slack rescaling, the usual ones for
        structured support vector machines. These two try all sets of mistakes of up to 16
        elements. For larger sets they add mistakes greedily, which finds a value below that of the
        bound: there is no gap to report then, and `fit` says so.
    fit_intercept : bool, default=True
        Whether to add a constant feature. Its weight, the intercept, is regularised like the
        others.
    tol : float, default=1e-3
        Relative duality gap at which to stop. Where zero weights come this close to the optimum,
        as with very small `C` or features or a weak signal, the gap must be below a tenth of what
        can be gained over them as well.
    max_iter : int, default=1000
        Bound on the number of iterations. A fit that ends there warns with its gap.
    qp_solver : str, default="auto"
        Backend for the quadratic programmes: "active-set", "cvxpy" (CLARABEL), the name of a
        QP solver installed with cvxpy, or "auto": the active set, checked, and cvxpy where
        the check fails.
    warm_start : bool, default=False
        Start from `coef_` and `intercept_` of the last fit, on the same features and classes.
    n_jobs : int or None, default=None
        Number of classes fitted at a time if a one-dimensional `y` has more than two. ``None``
        means 1 unless in a :obj:`joblib.parallel_backend` context.
    verbose : int, default=0
        1 shows a progress bar with the objective and the gap.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels; of two the second is the positive one. For a two-dimensional `y` the numbers
        of its columns, and 0 and 1 for three-dimensional data.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights; one row for a binary `y` and for three-dimensional data.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Weights of the constant feature, 0 without it.
    n_iter_ : int or ndarray of int of shape (n_classes,)
        Iterations; for more than two classes of a one-dimensional `y` this and the next three are
        arrays with an entry for each class.
    objective_ : float or ndarray of shape (n_classes,)
        The value of the minimised objective.
    dual_gap_ : float or ndarray of shape (n_classes,)
        The relative duality gap reached: ``objective_`` is above the optimum by at most this
        part of itself. nan where mistakes were found greedily.
    converged_ : bool or ndarray of bool of shape (n_classes,)
        Whether the gap is at most `tol`.
    history_ : dict or list of dict
        For each iteration: ``primal`` and ``dual`` bound, number of ``planes``, and running
        totals of ``oracle_calls``, ``passes`` over X, ``seconds``, and the seconds spent in
        the oracle, the QP and on the data (``seconds_oracle``, ``seconds_qp``,
        ``seconds_data``). A list of such dicts for more than two classes.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if X had names that are all strings.

    See Also
    --------
    sklearn.svm.LinearSVC : Trains for the mean of the losses of elements.
    skrank.metrics.set_loss : The mean loss of predictions, for any of the losses.

    Notes
    -----
    There is no `sample_weight` in `fit`. Ctrl-C ends `fit` after the current iteration and keeps
    the best weights found so far, with a warning.

    References
    ----------
    .. [1] J. Yu, M. B. Blaschko, "The Lovász hinge: a convex surrogate for submodular losses",
       2015.

    Examples
    --------
    Sets of labels:

    >>> from sklearn.datasets import make_multilabel_classification
    >>> from skrank import LovaszHingeClassifier
    >>> X, Y = make_multilabel_classification(n_samples=300, random_state=0)
    >>> model = LovaszHingeClassifier(C=100).fit(X / 10, Y)
    >>> model.score(X / 10, Y) > 0.6  # the mean Jaccard index of the rows
    True

    Pixels of images, which share the weights:

    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> image, pixels = np.repeat(np.arange(20), 100), rng.normal(size=(2000, 3))
    >>> y = pixels[:, 0] + 0.5 * rng.normal(size=2000) > 1.0
    >>> model = LovaszHingeClassifier(C=100).fit(pixels, y, qid=image)
    >>> model.score(pixels, y, qid=image) > 0.5
    True
    """

    # Requested by default, so that pipelines and searches with metadata routing pass queries on.
    __metadata_request__fit = {"qid": True}
    __metadata_request__score = {"qid": True}

    def __init__(
        self,
        C=30.0,
        *,
        loss="jaccard",
        surrogate="lovasz",
        fit_intercept=True,
        tol=1e-3,
        max_iter=1000,
        qp_solver="auto",
        warm_start=False,
        n_jobs=None,
        verbose=0,
    ):
        self.C = C
        self.loss = loss
        self.surrogate = surrogate
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.qp_solver = qp_solver
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y, *, qid=None):
        """Train on rows X with labels y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or array-like of shape \
                (n_sets, n_elements, n_features)
            Training data. float32 and float64 are not copied unless neither C- nor F-contiguous,
            or sparse and not CSR; other numbers are converted. In a three-dimensional array each
            element of a set has features of its own, and all share the weights.
        y : array-like of shape (n_samples,), (n_samples, n_labels) or (n_sets, n_elements)
            Integers, booleans or strings: two classes, of which the second is the positive one,
            or more (each against the rest). Or an indicator of zeros and ones, dense or sparse:
            each of its rows is a set. It belongs to three-dimensional data as well.
        qid : array-like of shape (n_samples,), default=None
            The set of each row if `y` is one-dimensional, in any order and of any sortable type.
            None makes all rows one set.

        Returns
        -------
        self : LovaszHingeClassifier
            The fitted estimator.
        """
        options = self._check_common()
        loss = as_set_loss(self.loss)
        check_surrogate(self.surrogate)
        check_flag("fit_intercept", self.fit_intercept)
        make_qp(self.qp_solver)
        check_jobs(self.n_jobs)
        warm = self.warm_start and hasattr(self, "coef_")
        rows, shape = _as_rows(X)
        stacked = shape is not None
        if stacked:
            X = validate_data(self, rows, reset=not warm, **ACCEPTED)
            labels = _read_elements(y, shape)
        else:
            X, y = validate_data(self, X, y, multi_output=True, reset=not warm, **ACCEPTED)
            labels = Labels.from_y(y)
        groups = _read_groups(qid, X.shape[0], labels.kind)
        starts = self._starts(labels, stacked) if warm else None
        data = as_operator(X)
        operator: Operator = WithConstant(data) if self.fit_intercept else data
        n_columns = operator.shape[1]
        if labels.kind == "multilabel" and not stacked:
            operator = ForEachLabel(operator, labels.classes.size)
        single = labels.kind != "multiclass"
        names = ["fit"] if single else [f"class {name!r}" for name in labels.names]
        truths = [labels.indicator] if labels.kind == "multilabel" else labels.indicator.T
        problems = [
            partial(
                _fit_one,
                operator,
                truth,
                groups,
                C=float(self.C),
                loss=loss,
                surrogate=self.surrogate,
                start=None if starts is None else starts[k],
                options=options | {"description": names[k]},
            )
            for k, truth in enumerate(truths)
        ]
        solutions, exact = zip(*solve_each(problems, n_jobs=self.n_jobs), strict=True)
        self.classes_ = labels.classes
        self._kind = labels.kind
        self._stacked = stacked
        self._n_queries = 1 if groups is None else groups.n_groups
        # a column for each label, the weight of the constant feature below the others
        weights = np.column_stack([s.coef.reshape(n_columns, -1) for s in solutions])
        self.coef_ = np.ascontiguousarray(weights[: X.shape[1]].T)
        self.intercept_ = weights[X.shape[1] :].sum(axis=0)
        if all(exact):
            self._store(list(solutions), single=single)
            idle = [name for name, s in zip(names, solutions, strict=True) if s.idle]
            if idle:
                self._warn_of_zero_weights("" if single else " for " + ", ".join(idle))
        else:
            unproven = (
                f"There are sets of more than {MAX_EXACT} elements, where surrogate="
                f"{self.surrogate!r} finds mistakes greedily. That underestimates the objective: "
                "objective_ is a lower estimate, dual_gap_ is nan, and the weights may be far from "
                "the optimum. surrogate='lovasz' is exact for sets of any size."
            )
            self._store(list(solutions), single=single, unproven=unproven)
        return self

    def decision_function(self, X):
        """Score elements: above zero means positive.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or array-like of shape \
                (n_sets, n_elements, n_features)
            Rows to score, or sets of them if fit had sets.

        Returns
        -------
        scores : ndarray of shape (n_samples,), (n_samples, n_classes) or (n_sets, n_elements)
            One column for each class if there are more than two or `y` was two-dimensional.
        """
        check_is_fitted(self)
        rows, shape = _as_rows(X)
        if (shape is not None) != self._stacked:
            before, now = ("three", "two") if self._stacked else ("two", "three")
            raise ValueError(
                f"X had {before} dimensions in fit, but has {now} now. Give rows of features with "
                "two dimensions, or sets of such rows with three, in both."
            )
        X = validate_data(self, rows, reset=False, **ACCEPTED)
        scores = as_operator(X).scores(self.coef_) + self.intercept_
        if shape is not None:
            return scores.reshape(shape)
        return scores[:, 0] if self._kind == "binary" else scores

    def predict(self, X):
        """Label elements: positive where the score is, or the class with the highest score.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or array-like of shape \
                (n_sets, n_elements, n_features)
            Rows to label, or sets of them if fit had sets.

        Returns
        -------
        labels : ndarray of shape (n_samples,), (n_samples, n_labels) or (n_sets, n_elements)
            Values of `classes_`; an indicator if `y` was two-dimensional.
        """
        scores = self.decision_function(X)
        return predict_labels(self._kind, self.classes_, scores)

    def score(self, X, y, sample_weight=None, *, qid=None):
        """One minus the mean loss of the sets, the measure that the estimator is trained for.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or array-like of shape \
                (n_sets, n_elements, n_features)
            Rows to predict, or sets of them if fit had sets.
        y : array-like of shape (n_samples,), (n_samples, n_labels) or (n_sets, n_elements)
            Their true labels.
        sample_weight : array-like of shape (n_samples,) or (n_sets,), default=None
            Weights of the sets in the mean if `y` is two-dimensional. For a one-dimensional `y`
            it is an error: a loss of a whole set has no weights of single elements.
        qid : array-like of shape (n_samples,), default=None
            The set of each row if `y` is one-dimensional; None makes all rows one set.

        Returns
        -------
        score : float
            With the Jaccard loss the mean Jaccard index of the sets, where a set without positives
            in truth and prediction counts 1. More than two classes of a one-dimensional `y` are
            taken each against the rest, and the mean is over all of `classes_`: one that neither
            occurs nor is predicted has no mistakes, and counts 1.
        """
        predicted = self.predict(X)
        loss = as_set_loss(self.loss)
        if self._stacked:
            truth = _read_elements(y, predicted.shape).indicator
        else:
            truth = true_indicator(y, self._kind, self.classes_)
        check_consistent_length(predicted, truth, sample_weight)
        groups = _read_groups(qid, len(truth), self._kind)
        if self._kind == "multilabel":
            losses = loss.loss_of_each_set(truth, predicted > 0)
            weight = None if sample_weight is None else _read_weight(sample_weight)
            return float(1.0 - np.average(losses, weights=weight))
        if sample_weight is not None:
            raise ValueError(
                "sample_weight was given, but a loss of whole sets has no weights of single rows. "
                "Leave it out; the set of each row goes into qid."
            )
        if qid is None:
            self._warn_of_lost_queries(so="are one set")
        chosen = true_indicator(predicted, self._kind, self.classes_)
        pairs = zip(truth.T, chosen.T, strict=True)
        return float(1.0 - np.mean([loss.loss_of_each_set(*pair, groups) for pair in pairs]))

    def _starts(self, labels: Labels, stacked: bool) -> list[np.ndarray]:
        """The last fit's weights, if they are for the same classes."""
        same = labels.kind == self._kind and stacked == self._stacked
        if not same or not np.array_equal(labels.classes, self.classes_):
            raise ValueError(
                f"warm_start needs the {self._kind} labels of the last fit, of the classes "
                f"{self.classes_.tolist()}, but y is {labels.kind} and has "
                f"{labels.classes.tolist()}. Set warm_start=False or fit a clone."
            )
        weights = self.coef_
        if self.fit_intercept:
            weights = np.column_stack([weights, self.intercept_])
        return [weights.T.ravel()] if self._kind == "multilabel" and not stacked else list(weights)

    def _warn_of_zero_weights(self, where: str) -> None:
        other = "surrogate='lovasz'"
        if self.surrogate == "lovasz":
            other = f"surrogate='slack' for sets of up to {MAX_EXACT} elements, or loss='hamming'"
        warnings.warn(
            f"Zero weights are as good as any, or nearly so,{where} for the bound of this loss, so "
            "the predictions mean little. Increase C. Where that changes nothing, the bound is far "
            f"above the loss: try {other} with a larger C, or a classifier with a threshold tuned "
            "for the measure.",
            UserWarning,
            stacklevel=3,
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.three_d_array = True
        tags.classifier_tags.multi_label = True
        return tags


def _as_rows(X) -> tuple[Any, tuple[int, int] | None]:
    """Sets in three dimensions as rows, and the numbers of sets and of elements; others as is."""
    if isinstance(X, list | tuple):
        with suppress(ValueError):  # scikit-learn has an error for ragged lists
            X = np.asarray(X)
    if getattr(X, "ndim", 2) != 3:
        return X, None
    X = np.asarray(X)
    return X.reshape(X.shape[0] * X.shape[1], X.shape[2]), X.shape[:2]


def _read_elements(y, shape) -> Labels:
    """Labels of the elements of three-dimensional data."""
    if np.shape(y) != shape:
        raise ValueError(
            f"X has {shape[0]} sets of {shape[1]} elements, but y has the shape {np.shape(y)}. "
            f"Three-dimensional data need an indicator of zeros and ones of the shape {shape}."
        )
    return Labels("multilabel", np.array([0, 1]), read_indicator(y))


def _read_groups(qid, n_rows: int, kind: str) -> Groups | None:
    """The sets of a one-dimensional y; those of a two-dimensional one are its rows."""
    if kind != "multilabel":
        return Groups.from_qid(qid, n_rows)
    if qid is not None:
        raise ValueError(
            "qid was given, but y is two-dimensional, so each of its rows is a set already. Leave "
            "qid out, or give a y with one label for each row of X."
        )
    return None


def _read_weight(sample_weight) -> np.ndarray:
    weight = column_or_1d(sample_weight, dtype=np.float64)
    if not (np.all((weight >= 0.0) & (weight < np.inf)) and np.any(weight > 0.0)):
        raise ValueError(
            "sample_weight has values that are negative, infinite or nan, or is 0 for all sets. "
            "Give weights of at least 0, not all of them 0."
        )
    return weight / weight.max()


def _fit_one(
    operator, truth, groups, stop, *, C, loss, surrogate, start, options
) -> tuple[Solution, bool]:
    """The solution of one problem, and whether its bounds are exact."""
    objective = loss.bind(truth, groups, surrogate=surrogate)
    solution = minimise(objective, operator, C, start=start, stop=stop, **options)
    return solution, objective.exact
