"""NDCGSVC: a linear ranker trained for normalised discounted cumulative gain."""

from __future__ import annotations

from skrank.estimators._ranker import Ranker
from skrank.losses import NDCG


class NDCGSVC(Ranker):
    """Linear support vector ranker trained for normalised discounted cumulative gain (NDCG).

    Minimises ``1/2 ||w||^2 + C * R(Xw)``, where ``R`` is the structured hinge bound of one minus
    the NDCG with which the scores ``Xw`` rank the rows of each query, averaged over queries.
    Relevance may have any number of grades, which is handled as a combination of binary problems.
    Training stops at a proven relative duality gap of `tol`.

    It is a ranker: `predict` gives scores to sort a query's rows by, neither labels nor estimates
    of the grades. scikit-learn knows no such kind of estimator, so this is neither a classifier
    nor a regressor to it: as a classifier it would owe labels, as a regressor values close to y,
    and tools for those kinds, such as calibration or R^2, would mean nothing here.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the loss, which lies between 0 and 1 on any data at ``w = 0``, against the
        norm of the weights. Scale the features before comparing values.
    k : int or None, default=None
        Train for NDCG at k: only the first k places of a ranking count. None counts all places,
        which is faster, and often not worse at k either. On long lists a small k can make the bound
        so loose that zero weights minimise it, which a warning says.
    gain : {"exponential", "linear"}, default="exponential"
        What a row of grade y is worth: ``2**y - 1``, as is usual in search, or ``y``, as in
        :func:`sklearn.metrics.ndcg_score`.
    algorithm : {"auto", "quicksort", "greedy", "dynamic"}, default="auto"
        How the most violated ranking is found. All are exact; "auto" is the fastest, the
        others are kept for comparison. With a cut-off k above 1, "auto" and "dynamic" alone work.
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
    APSVC : A classifier trained for average precision.
    RankSVC : A ranker for other losses, also for one's own.
    skrank.metrics.mean_ndcg : The measure that `score` gives.

    Notes
    -----
    `y` holds grades that are not negative, 0 for irrelevant rows. Queries whose rows are all of
    one grade have nothing to rank: they carry no loss, are left out of the mean, and one warning
    says how many they are.

    In cross-validation keep queries whole, with metadata routing enabled and
    ``cv=GroupKFold().set_split_request(groups="qid")``. Where all rows are one list, use
    ``cv=StratifiedKFold()``: for what is not a classifier scikit-learn takes an unstratified
    KFold, and on rows sorted by relevance that leaves folds without a relevant row.

    Ctrl-C ends `fit` after the current iteration and keeps the best weights found so far, with a
    warning.

    References
    ----------
    .. [1] S. Chakrabarti, R. Khanna, U. Sawant, C. Bhattacharyya, "Structured learning for
       non-smooth ranking losses", KDD 2008.
    .. [2] P. Mohapatra, M. Rolinek, C. V. Jawahar, V. Kolmogorov, M. P. Kumar, "Efficient
       optimization for rank-based loss functions", CVPR 2018.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank import NDCGSVC
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> grades = np.clip(np.round(X[:, 0] + rng.normal(size=200)), 0, 2)
    >>> qid = np.repeat(np.arange(20), 10)
    >>> model = NDCGSVC().fit(X, grades, qid=qid)
    >>> model.converged_
    True
    >>> model.score(X, grades, qid=qid) > 0.8
    True
    """

    def __init__(
        self,
        C=10.0,
        *,
        k=None,
        gain="exponential",
        algorithm="auto",
        tol=1e-3,
        max_iter=1000,
        qp_solver="auto",
        warm_start=False,
        verbose=0,
    ):
        self.C = C
        self.k = k
        self.gain = gain
        self.algorithm = algorithm
        self.tol = tol
        self.max_iter = max_iter
        self.qp_solver = qp_solver
        self.warm_start = warm_start
        self.verbose = verbose

    def _make_loss(self) -> NDCG:
        loss = NDCG(k=self.k, gain=self.gain, algorithm=self.algorithm)
        loss.check()
        return loss
