"""APSVC: a linear classifier trained for average precision."""

from __future__ import annotations

from functools import partial

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from skrank._groups import Groups, weight_of_each_query
from skrank._labels import Labels, find_rankable, predict_labels, true_indicator
from skrank._operators import as_operator
from skrank._threshold import check_criterion, choose_threshold
from skrank._validation import check_fraction, check_jobs
from skrank.estimators._appx import fit_with_easy_rows
from skrank.estimators._base import StructuredSVM, solve_each
from skrank.losses import AveragePrecision
from skrank.losses._objective import check_algorithm
from skrank.metrics import mean_over_classes, read_queries
from skrank.solvers import Solution, minimise
from skrank.solvers._qp import make_qp


class APSVC(StructuredSVM, ClassifierMixin, BaseEstimator):
    """Linear support vector classifier trained for average precision.

    Minimises ``1/2 ||w||^2 + C * R(Xw)``, where ``R`` is the structured hinge bound of one minus
    the average precision with which the scores ``Xw`` rank the rows (of each query, if there
    are queries). Training stops at a proven relative duality gap of `tol`.

    Of two classes the second in sorted order is the relevant one: 1 of 0 and 1, ``"spam"`` of
    ``"ham"`` and ``"spam"``. To rank the other class first, fit ``y == other``.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the loss, which lies between 0 and 1 on any data at ``w = 0``, against the
        norm of the weights. Scale the features before comparing values.
    algorithm : {"auto", "quicksort", "select", "search", "greedy", "dynamic"}, default="auto"
        How the most violated ranking is found. All are exact; "auto" is the fastest, the
        others are kept for comparison.
    easy_fraction : float in [0, 1] or None, default=None
        If given, an approximation is fitted: a binary SVM is trained first, this fraction of
        the rows that it classifies with a margin of at least 1, those with the largest margins,
        is held at a margin of 1 by hard constraints, and the average precision counts over the
        remaining rows only. Where the remaining rows (of a query) lack a class, all rows of
        that class (and query) count; if the binary SVM finds all rows easy this is the exact
        problem. `objective_`, `dual_gap_`, `n_iter_` and `history_` are then those of the second
        stage, whose weights include one for a constant feature; `converged_` speaks for both. The
        larger it is, the faster and the coarser; 0.5 is a value to try first.
    threshold : {"f1", "accuracy", "balanced_accuracy"} or float, default="f1"
        Average precision does not change when all scores shift, so labels need a threshold: the
        one that is best on the training scores by this measure, or the number given.
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
        Start from the `coef_` of the last fit, on the same features and classes. Nothing else is
        kept, so many short fits in a row get less far than one long one. Without effect where
        `easy_fraction` is given, which starts from its binary SVM.
    n_jobs : int or None, default=None
        Number of classes fitted at a time, if there are more than two or labels are
        multilabel. ``None`` means 1 unless in a :obj:`joblib.parallel_backend` context.
    verbose : int, default=0
        1 shows a progress bar with the objective and the gap.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels; with two of them the second is the relevant one. For a multilabel
        indicator, the numbers of its columns.
    coef_ : ndarray of shape (1, n_features) or (n_classes, n_features)
        Weights; one row for a binary problem.
    intercept_ : ndarray of shape (1,) or (n_classes,)
        Minus the threshold, so that positive scores mean the relevant class.
    n_iter_ : int or ndarray of int of shape (n_classes,)
        Iterations; for more than one problem this and the next three are arrays with an entry
        for each class.
    objective_ : float or ndarray of shape (n_classes,)
        The value of the minimised objective.
    dual_gap_ : float or ndarray of shape (n_classes,)
        The relative duality gap reached: ``objective_`` is above the optimum by at most this
        part of itself.
    converged_ : bool or ndarray of bool of shape (n_classes,)
        Whether the gap is at most `tol`.
    history_ : dict or list of dict
        For each iteration: ``primal`` and ``dual`` bound, number of ``planes``, and running
        totals of ``oracle_calls``, ``passes`` over X, ``seconds``, and the seconds spent in
        the oracle, the QP and on the data (``seconds_oracle``, ``seconds_qp``,
        ``seconds_data``). A list of such dicts for more than one problem.
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if X had names that are all strings.

    See Also
    --------
    sklearn.svm.LinearSVC : Trains for accuracy.
    skrank.metrics.mean_average_precision : The measure that `score` gives.

    Notes
    -----
    There are no `sample_weight` and `class_weight` in `fit`: a ranking has no loss of single rows
    to weigh. Ctrl-C ends `fit` after the current iteration and keeps the best weights found so
    far, with a warning; classes not begun yet make do with one iteration. Pressed twice within
    three seconds it stops a search or script as usual.

    Labels depend on `threshold`, rankings do not. To choose a threshold by cross-validation wrap
    the estimator in :class:`~sklearn.model_selection.TunedThresholdClassifierCV`, to get
    probabilities in :class:`~sklearn.calibration.CalibratedClassifierCV`.

    References
    ----------
    .. [1] Y. Yue, T. Finley, F. Radlinski, T. Joachims, "A support vector method for optimizing
       average precision", SIGIR 2007.
    .. [2] P. Mohapatra, C. V. Jawahar, M. P. Kumar, "Efficient optimization for average
       precision SVM", NIPS 2014.
    .. [3] P. Mohapatra, M. Rolinek, C. V. Jawahar, V. Kolmogorov, M. P. Kumar, "Efficient
       optimization for rank-based loss functions", CVPR 2018.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from skrank import APSVC
    >>> X, y = make_classification(n_samples=500, weights=[0.9], random_state=0)
    >>> model = APSVC().fit(X, y)
    >>> model.converged_
    True
    >>> model.score(X, y) > 0.7
    True
    """

    # Requested by default, so that pipelines and searches with metadata routing pass queries on.
    __metadata_request__fit = {"qid": True, "query_weight": True}
    __metadata_request__score = {"qid": True, "query_weight": True}

    def __init__(
        self,
        C=10.0,
        *,
        algorithm="auto",
        easy_fraction=None,
        threshold="f1",
        tol=1e-3,
        max_iter=1000,
        qp_solver="auto",
        warm_start=False,
        n_jobs=None,
        verbose=0,
    ):
        self.C = C
        self.algorithm = algorithm
        self.easy_fraction = easy_fraction
        self.threshold = threshold
        self.tol = tol
        self.max_iter = max_iter
        self.qp_solver = qp_solver
        self.warm_start = warm_start
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X, y, *, qid=None, query_weight=None):
        """Train on rows X with labels y.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data. float32 and float64 are not copied unless neither C- nor F-contiguous,
            or sparse and not CSR; other numbers are converted.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Integers, booleans or strings: two classes, of which the second is the relevant one,
            or more (each against the rest), or a multilabel indicator of zeros and ones.
        qid : array-like of shape (n_samples,), default=None
            The query of each row, in any order and of any sortable type: rows are ranked within
            their query only and the loss is the mean over queries. Queries that lack relevant or
            irrelevant rows have nothing to rank and are left out, for each class by itself; with
            two classes a warning says how many they are.
        query_weight : array-like of shape (n_samples,), default=None
            Weight of each row's query in the mean, the same for all rows of a query. A query of
            weight 2 counts like two queries, in the choice of the threshold as well.

        Returns
        -------
        self : APSVC
            The fitted estimator.
        """
        options = self._check_common()
        check_criterion(self.threshold)
        check_algorithm(self.algorithm)
        make_qp(self.qp_solver)
        check_jobs(self.n_jobs)
        if self.easy_fraction is not None:
            hint = "It is the part of the easy rows to keep out of the ranking; None for none."
            check_fraction("easy_fraction", self.easy_fraction, hint=hint)
        warm = self.warm_start and hasattr(self, "coef_")
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            multi_output=True,
            reset=not warm,
        )
        labels = Labels.from_y(y)
        groups = Groups.from_qid(qid, X.shape[0])
        weight = None
        if query_weight is not None:
            weight = weight_of_each_query(query_weight, groups.codes(), groups.n_groups)
        rankable = find_rankable(labels, groups, weight)
        starts = self._starts(labels) if warm else [None] * len(labels.names)
        operator = as_operator(X)
        single = labels.kind == "binary"
        names = ["fit"] if single else [f"class {name!r}" for name in labels.names]
        problems = [
            partial(
                _fit_one,
                operator,
                positive,
                groups,
                weight,
                C=float(self.C),
                loss=AveragePrecision(algorithm=self.algorithm),
                easy_fraction=self.easy_fraction,
                threshold=self.threshold,
                rankable=bool(rankable[k]),
                start=starts[k],
                options=options | {"description": names[k]},
            )
            for k, positive in enumerate(labels.indicator.T)
        ]
        fitted = solve_each(problems, n_jobs=self.n_jobs)
        solutions, thresholds = zip(*fitted, strict=True)
        self.classes_ = labels.classes
        self._kind = labels.kind
        self._n_queries = groups.n_groups
        self.coef_ = np.array([solution.coef for solution in solutions])
        self.intercept_ = -np.array(thresholds)
        self._store(list(solutions), single=single)
        return self

    def decision_function(self, X):
        """Score rows: the higher, the more relevant; above zero means the relevant class.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score.

        Returns
        -------
        scores : ndarray of shape (n_samples,) or (n_samples, n_classes)
            One column for each class if there are more than two or labels are multilabel.
        """
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False)
        scores = as_operator(X).scores(self.coef_) + self.intercept_
        return scores[:, 0] if self._kind == "binary" else scores

    def predict(self, X):
        """Label rows: the class with the highest score, or with scores above zero.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to label.

        Returns
        -------
        labels : ndarray of shape (n_samples,) or (n_samples, n_labels)
            Values of `classes_`; an indicator for multilabel problems.
        """
        scores = self.decision_function(X)
        return predict_labels(self._kind, self.classes_, scores)

    def score(self, X, y, sample_weight=None, *, qid=None, query_weight=None):
        """Mean average precision, the measure that the estimator is trained for.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Rows to score.
        y : array-like of shape (n_samples,) or (n_samples, n_labels)
            Their true labels.
        sample_weight : array-like of shape (n_samples,), default=None
            Weights of the rows in the precisions and recalls.
        qid : array-like of shape (n_samples,), default=None
            The query of each row; the mean is over queries with a relevant row.
        query_weight : array-like of shape (n_samples,), default=None
            Weight of each row's query in the mean, the same for all rows of a query.

        Returns
        -------
        score : float
            Average precision, averaged over queries and then, with equal weights, over the
            classes that occur in `y`. Classes and queries without a relevant row are left out
            of the averages; if none is left the result is 0.
        """
        scores = self.decision_function(X)
        indicator = true_indicator(y, self._kind, self.classes_)
        check_consistent_length(scores, indicator, sample_weight)
        if qid is None:
            third = "" if sample_weight is None else " (the third argument is sample_weight)"
            self._warn_of_lost_queries(third)
        codes, n_queries, query_weight = read_queries(qid, query_weight, indicator.shape[0])
        if sample_weight is not None:
            sample_weight = column_or_1d(sample_weight, dtype=np.float64)
            if not (np.all(sample_weight >= 0.0) and np.all(np.isfinite(sample_weight))):
                raise ValueError(
                    "sample_weight has values that are negative, infinite or nan. Give weights of "
                    "at least 0; queries go into qid."
                )
        return mean_over_classes(indicator, scores, codes, n_queries, sample_weight, query_weight)

    def _starts(self, labels: Labels) -> list[np.ndarray]:
        """The last fit's weights, if they are for the same classes."""
        if labels.kind != self._kind or not np.array_equal(labels.classes, self.classes_):
            raise ValueError(
                f"warm_start needs the {self._kind} labels of the last fit, of the classes "
                f"{self.classes_.tolist()}, but y is {labels.kind} and has "
                f"{labels.classes.tolist()}. Set warm_start=False or fit a clone."
            )
        return list(self.coef_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags


def _fit_one(
    operator,
    positive,
    groups,
    weight,
    stop,
    *,
    C,
    loss,
    easy_fraction,
    threshold,
    rankable,
    start,
    options,
) -> tuple[Solution, float]:
    """Weights and threshold of one binary problem."""
    options = options | {"stop": stop}
    if not rankable:
        solution = Solution.trivial(operator.shape[1])
    elif easy_fraction is None:
        objective = loss.bind(positive, groups, weight)
        solution = minimise(objective, operator, C, start=start, **options)
    else:
        solution = fit_with_easy_rows(
            operator, positive, groups, weight, C, loss, easy_fraction, options
        )
    scores = operator.scores(solution.coef[None])[:, 0]
    of_row = None if weight is None else weight[groups.codes()]
    return solution, choose_threshold(scores, positive, threshold, of_row)
