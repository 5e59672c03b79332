"""RankSVC: a linear ranker trained for a loss of the user's choice."""

from __future__ import annotations

from skrank.estimators._ranker import Ranker
from skrank.losses import NDCG, AveragePrecision, PrecisionAtK, ReciprocalRank, ROCArea

LOSSES = {
    "average_precision": AveragePrecision,
    "ndcg": NDCG,
    "precision_at_k": PrecisionAtK,
    "reciprocal_rank": ReciprocalRank,
    "roc_auc": ROCArea,
}


class RankSVC(Ranker):
    """Linear support vector ranker trained for a loss of your choice, or of your own.

    Minimises ``1/2 ||w||^2 + C * R(Xw)``, where ``R`` is the structured hinge bound of the loss of
    the rankings that the scores ``Xw`` make of each query's rows, averaged over queries. Training
    stops at a proven relative duality gap of `tol`.

    It is a ranker: `predict` gives scores to sort a query's rows by. To scikit-learn it is
    neither a classifier nor a regressor; :class:`NDCGSVC` says why, and which `cv` to use.

    Parameters
    ----------
    C : float, default=10.0
        Weight of the mean loss against the norm of the weights. Scale the features before
        comparing values.
    loss : str or object, default="roc_auc"
        One of "average_precision", "ndcg", "precision_at_k" (at 10), "reciprocal_rank" and
        "roc_auc"; or a loss of :mod:`skrank.losses`, such as ``PrecisionAtK(k=5)``,
        ``NDCG(k=10, gain="linear")``, or a :class:`~skrank.losses.QSLoss` or
        :class:`~skrank.losses.PositionLoss` made of a function of your own; or any object whose
        ``bind(y, groups)`` gives a function from scores to the value and a subgradient of a convex
        bound that is not negative (a third parameter gets the weights of the queries; the user
        guide has the attributes that it may have). Parameters of a loss can be searched, as
        ``loss__k``, with a fixed ``scoring``: `score` changes with the loss.
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
    NDCGSVC : A ranker for graded relevance.
    StructRankSVM : A ranker for real-valued relevance, by all pairs of rows.
    APSVC : A classifier trained for average precision, for several classes too.

    Notes
    -----
    All losses but NDCG and the ranking risk know relevant and irrelevant rows only: rows with the
    lowest `y` of the training data are irrelevant and all others relevant, so grades count as
    relevant from the second on. NDCG takes grades that are not negative, 0 for irrelevant rows, and
    :class:`~skrank.losses.RankingRisk` any numbers.

    `score` is one minus the mean loss of the rankings, and so the measure itself: the mean
    reciprocal rank, the area under the ROC curve, and so on. Tied rows count by the mean over
    their orders (for average precision together, as in scikit-learn). A loss that is an object of
    your own needs a method ``loss_of_each_list(y, scores, groups)`` for it.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank import RankSVC
    >>> from skrank.losses import PositionLoss
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5))
    >>> y = X[:, 0] + rng.normal(size=200) > 1.0
    >>> RankSVC().fit(X, y).score(X, y) > 0.7
    True

    A loss of one's own: the share of relevant rows that are not in the first third.

    >>> def cost(i, j, n_pos, n_neg):
    ...     return 1.0 / n_pos if 3 * (i + j) > n_pos + n_neg else 0.0
    >>> model = RankSVC(loss=PositionLoss(cost)).fit(X, y)
    >>> model.score(X, y) > 0.6
    True
    """

    def __init__(
        self,
        C=10.0,
        *,
        loss="roc_auc",
        tol=1e-3,
        max_iter=1000,
        qp_solver="auto",
        warm_start=False,
        verbose=0,
    ):
        self.C = C
        self.loss = loss
        self.tol = tol
        self.max_iter = max_iter
        self.qp_solver = qp_solver
        self.warm_start = warm_start
        self.verbose = verbose

    def _make_loss(self):
        if isinstance(self.loss, str):
            if self.loss not in LOSSES:
                raise ValueError(
                    f"Unknown loss {self.loss!r}. Choose one of {', '.join(LOSSES)}, or give a "
                    "loss of skrank.losses."
                )
            return LOSSES[self.loss]()
        if isinstance(self.loss, type) or not hasattr(self.loss, "bind"):
            raise TypeError(
                f"loss={self.loss!r} was given, but a name, a loss of skrank.losses such as "
                "ROCArea(), or an object with a method bind(y, groups) was expected. A function of "
                "your own goes into QSLoss(increment) or PositionLoss(cost)."
            )
        if hasattr(self.loss, "check"):
            self.loss.check()
        return self.loss
