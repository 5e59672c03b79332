"""StructRankSVM: a linear ranker trained for the ranking risk."""

from __future__ import annotations

from skrank.estimators._ranker import Ranker
from skrank.losses import RankingRisk


class StructRankSVM(Ranker):
    """Linear support vector ranker trained on all pairs of rows of real-valued relevance.

    Minimises ``1/2 ||w||^2 + C * R(Xw)``, where ``R`` is a convex bound of the ranking risk: the
    share of pairs in the wrong order, weighted by their differences of relevance. All pairs of a
    query count, or those of a sparser preference graph; there may be 10^15 of them, since a
    pass over the pairs of n rows takes ``O(n log n)``. Training stops at a proven relative duality
    gap of `tol`.

    It is a ranker: `predict` gives scores to sort a query's rows by, no estimates of the
    relevance. To scikit-learn it is neither a classifier nor a regressor; :class:`NDCGSVC` says
    why.

    Parameters
    ----------
    C : float, default=100.0
        Weight of the loss, which is 1 at ``w = 0`` on any data, against the norm of the weights.
        It means the same for any number of rows and any unit of y. Scale the features before
        comparing values.
    graph : {"complete", "bipartite", "star"}, default="complete"
        Which pairs of rows of a query count: all pairs of different relevance; the best rows
        against the others, with `top` or `relevance_threshold` to say which are the best; or the
        best row, and rows tied with it, against the others.
    rescaling : {"slack", "margin"}, default="slack"
        How the hinge of a pair depends on its difference of relevance. "slack" weighs the hinge
        by it: ``(y_i - y_j) * max(0, 1 - d)``, where d is the difference of scores. "margin" asks
        for a difference of scores as large: ``max(0, (y_i - y_j) / m - d)``, with m the mean
        difference of a pair.
    pair_weight : {"difference", "uniform"}, default="difference"
        "uniform" counts all pairs alike, whatever their difference of relevance, and `rescaling`
        makes no difference then. It is the classic ranking SVM.
    top : int, default=None
        For ``graph="bipartite"``: how many rows of each query are the best. Rows tied with the last
        of them are best as well, unless that would leave no others: then the best are the
        rows above the lowest relevance. Queries of no more than `top` rows have nothing to rank.
    relevance_threshold : float, default=None
        For ``graph="bipartite"``, instead of `top`: rows of at least this relevance are the best.
        Both are compared as float64, in which 0.7 of a float32 `y` is less than 0.7.
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
        Start from the `coef_` of the last fit, on the same features.
    verbose : int, default=0
        1 shows a progress bar with the objective and the gap.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        Weights of the features.
    intercept_ : float
        Always 0: rankings do not change when all scores shift.
    n_iter_ : int
        Iterations.
    objective_ : float
        The value of the minimised objective.
    dual_gap_ : float
        The relative duality gap reached: ``objective_`` is above the optimum by at most this
        part of itself.
    converged_ : bool
        Whether the gap is at most `tol`.
    history_ : dict
        For each iteration: ``primal`` and ``dual`` bound, number of ``planes``, and running
        totals of ``oracle_calls``, ``passes`` over X, ``seconds``, and the seconds spent in
        the oracle, the QP and on the data (``seconds_oracle``, ``seconds_qp``,
        ``seconds_data``).
    n_features_in_ : int
        Number of features seen in fit.
    feature_names_in_ : ndarray of shape (`n_features_in_`,)
        Their names, if X had names that are all strings.

    See Also
    --------
    skrank.metrics.ranking_risk : One minus this is the `score`.
    skrank.losses.RankingRisk : The loss by itself, for scores.
    RankSVC : A ranker for other losses of binary relevance, also for one's own.
    NDCGSVC : A ranker for grades of relevance, by which the top of the list counts most.

    Notes
    -----
    **Queries.** `y` holds any finite numbers, higher for rows that are to rank higher. Pairs are
    of rows of the same query, and the loss is the weighted mean over the pairs of all queries
    together, so that long queries and those with large differences count most; `query_weight`
    multiplies the weights of a query's pairs. Queries whose rows are all of one relevance have no
    pairs; one warning says how many they are.

    **The score.** `score` is one minus the ranking risk over all pairs, weighted by differences of
    relevance, whatever `graph`, `rescaling` and `pair_weight` are. So they can be searched like
    `C`, and what they lead to is compared by one measure: 1 for a perfect ranking, 1/2 for a
    random one.

    **C in other libraries.** The loss is the mean over all pairs. dlib's ``svm_rank_trainer``
    has the same objective for two grades of relevance and ``pair_weight="uniform"``, with the same
    C. SVM-rank sums over the pairs of a query and divides by the number of queries:
    ``C_skrank = C_svmrank * n_pairs / n_queries``.

    **Memory.** Besides X and y, an evaluation of the loss keeps 58 bytes for each row, a little
    more than seven arrays of float64.

    **Threads.** Sums are taken in parts, whose number depends on that of the threads, so that the
    last digits of the weights do, too.

    In cross-validation keep queries whole, with metadata routing enabled and
    ``cv=GroupKFold().set_split_request(groups="qid")``. Where all rows are one list, sorted data
    need ``cv=KFold(shuffle=True)``.

    Ctrl-C ends `fit` after the current iteration and keeps the best weights found so far, with a
    warning.

    References
    ----------
    .. [1] M. B. Blaschko, A. Mittal, E. Rahtu, "An O(n log n) cutting plane algorithm for
       structured output ranking", GCPR 2014.
    .. [2] T. Joachims, "Training linear SVMs in linear time", KDD 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank import StructRankSVM
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 5))
    >>> y = X[:, 0] - X[:, 1] + rng.normal(size=500)
    >>> model = StructRankSVM().fit(X, y)
    >>> model.converged_
    True
    >>> model.score(X, y) > 0.85
    True
    """

    def __init__(
        self,
        C=100.0,
        *,
        graph="complete",
        rescaling="slack",
        pair_weight="difference",
        top=None,
        relevance_threshold=None,
        tol=1e-3,
        max_iter=1000,
        qp_solver="auto",
        warm_start=False,
        verbose=0,
    ):
        self.C = C
        self.graph = graph
        self.rescaling = rescaling
        self.pair_weight = pair_weight
        self.top = top
        self.relevance_threshold = relevance_threshold
        self.tol = tol
        self.max_iter = max_iter
        self.qp_solver = qp_solver
        self.warm_start = warm_start
        self.verbose = verbose

    def _make_loss(self) -> RankingRisk:
        loss = RankingRisk(
            graph=self.graph,
            rescaling=self.rescaling,
            pair_weight=self.pair_weight,
            top=self.top,
            relevance_threshold=self.relevance_threshold,
        )
        loss.check()
        return loss
