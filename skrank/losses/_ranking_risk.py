"""The ranking risk: differences of relevance over all pairs in the wrong order."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator

from skrank._gains import check_real_relevance
from skrank._graphs import Graph
from skrank._groups import Groups
from skrank._pairs import WEIGHTS, PairLists, PairSums
from skrank._validation import check_choice
from skrank.losses._arguments import check_groups, check_list_weight, check_scores
from skrank.metrics._ranking_risk import risk_of_each_list

RESCALINGS = ("slack", "margin")
ALGORITHMS = ("auto", "quadratic")
# Multiplications of a pass over dense data that take as long as the oracle does for a row.
WORK_OF_A_ROW = 150


class PairObjective:
    """Weighted mean of the hinge losses of all pairs that count.

    It keeps scratch space from one call to the next: each thread needs an objective of its own.

    Attributes
    ----------
    n_queries, n_skipped : int
        Lists that count, and lists left out because there is nothing to rank in them.
    n_calls : int
        Evaluations so far.
    n_pairs : int
        Pairs that count.
    """

    def __init__(self, lists: PairLists, weight: np.ndarray, loss: RankingRisk, n_skipped: int):
        self.n_queries = lists.kept.size
        self.n_skipped = n_skipped
        self.n_calls = 0
        self.n_pairs = int(lists.count.sum())
        by_margin = loss.rescaling == "margin" and loss.pair_weight == "difference"
        pair_weight = "uniform" if by_margin else loss.pair_weight
        self._sums = PairSums(lists, pair_weight, quadratic=loss.algorithm == "quadratic")
        differences, n_pairs = weight @ lists.weight, weight @ lists.count
        self._margin = 0.0 if by_margin else 1.0
        # margins are in units of the mean difference of a pair
        self._slope = float(n_pairs / differences) if by_margin else 0.0
        self._scale = weight / (n_pairs if pair_weight == "uniform" else differences)

    @property
    def parallel(self) -> bool:
        """Whether evaluations use several threads."""
        return self._sums.parallel

    @property
    def work(self) -> int:
        """What a call costs, in multiplications of a pass over dense data."""
        return WORK_OF_A_ROW * self._sums.lists.row_of.size

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """The value and one subgradient at ``scores``."""
        n_rows = self._sums.lists.n_rows
        scores = check_scores(scores, n_rows)
        active = self._sums.evaluate(scores, self._margin, self._slope)
        gradient = np.zeros(n_rows)
        value = self._sums.gather(scores, self._slope, self._scale, gradient)
        self.n_calls += 1
        # rounding alone takes a sum of hinges below zero
        return max(float(value + self._margin * (self._scale @ active)), 0.0), gradient


class RankingRisk(BaseEstimator):
    """The ranking risk over a preference graph, and its structured hinge bounds.

    A pair is a row i and a row j of the same list where i is of higher relevance, y_i > y_j. It
    weighs w_ij = y_i - y_j, in the bounds also 1. The risk is the weight of the pairs in the wrong
    order, ties counted by half, divided by the weight of all pairs of all lists together: 0 for
    perfect, 1 for reversed rankings, and 1/2 where all scores are tied. With d_ij = s_i - s_j, the
    bounds are

    - slack rescaling, the mean of max(0, 1 - d_ij) over pairs, weighted by w_ij;
    - margin rescaling, the mean of max(0, w_ij / m - d_ij), with m the mean w_ij of a pair.

    Both are 1 at scores of zero, whatever the number of rows and the unit of y. Margins are asked
    in units of m for the same reason. For pairs that weigh alike they are the same bound.

    Parameters
    ----------
    graph : {"complete", "bipartite", "star"}, default="complete"
        Which pairs count: all; those of one of the best rows of a list with one of the others; or
        those of the best row with one of the others, where rows tied for the best are best alike.
    rescaling : {"slack", "margin"}, default="slack"
        Whether the loss of a pair weighs its hinge, or is the margin asked of it.
    pair_weight : {"difference", "uniform"}, default="difference"
        Whether pairs weigh by their difference of relevance, or alike.
    top : int, optional
        For a bipartite graph: how many rows of each list are the best. Rows tied with the last of
        them are best, too, unless no others were left: then the best are those above the lowest.
        Lists of no more than ``top`` rows have nothing to rank.
    relevance_threshold : float, optional
        For a bipartite graph, instead of ``top``: rows of at least this relevance are the best.
    algorithm : {"auto", "quadratic"}, default="auto"
        "auto" takes O(n log n) for a list of n rows, and less where there are few grades of
        relevance. "quadratic" looks at all pairs, for comparison.

    References
    ----------
    .. [1] M. B. Blaschko, A. Mittal, E. Rahtu, "An O(n log n) cutting plane algorithm for
       structured output ranking", GCPR 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import RankingRisk
    >>> objective = RankingRisk().bind(np.array([3.0, 1.0, 0.0]))
    >>> value, gradient = objective(np.array([0.5, 1.0, 0.0]))
    >>> round(value, 3)
    0.75
    """

    graded = True
    # any number may stand for a relevance, so that none says "irrelevant"
    real_valued = True

    def __init__(
        self,
        graph="complete",
        rescaling="slack",
        pair_weight="difference",
        top=None,
        relevance_threshold=None,
        algorithm="auto",
    ):
        self.graph = graph
        self.rescaling = rescaling
        self.pair_weight = pair_weight
        self.top = top
        self.relevance_threshold = relevance_threshold
        self.algorithm = algorithm

    def check(self) -> Graph:
        """The graph; raises an error unless the parameters are of the right kind."""
        check_choice("rescaling", self.rescaling, RESCALINGS)
        check_choice("pair_weight", self.pair_weight, WEIGHTS)
        check_choice("algorithm", self.algorithm, ALGORITHMS)
        graph = Graph(self.graph, self.top, self.relevance_threshold)
        graph.check()
        return graph

    def bind(
        self,
        y: np.ndarray,
        groups: Groups | None = None,
        list_weight: np.ndarray | None = None,
    ) -> PairObjective:
        """The bound as a function of scores.

        Parameters
        ----------
        y : array of shape (n,)
            Relevance, any finite numbers.
        groups : Groups, optional
            The lists; they may leave out rows. The default is one list of all rows.
        list_weight : array of float, shape (n_groups,), optional
            Weights of the lists: each multiplies those of the list's pairs.

        Returns
        -------
        objective : PairObjective
            ``objective(scores)`` is the pair of the value and a subgradient, of shape (n,).
        """
        graph = self.check()
        y = check_real_relevance(y, "y")
        groups = check_groups(groups, y.size)
        list_weight = check_list_weight(list_weight, groups)
        if list_weight is None:
            list_weight = np.ones(groups.n_groups)
        lists = PairLists(y, groups, graph, list_weight > 0.0)
        if lists.kept.size == 0:
            raise ValueError(_nothing_to_rank(y, lists, groups, graph))
        weight = list_weight[lists.kept]
        n_skipped = groups.n_groups - lists.n_rankable
        return PairObjective(lists, weight / weight.max(), self, n_skipped)

    def loss_of_each_list(self, y: np.ndarray, scores: np.ndarray, groups: Groups) -> np.ndarray:
        """The ranking risk of each list, over all its pairs weighted by differences of relevance.

        It is the same for all parameters of the bound, so that bounds can be compared by it.
        Lists of rows of one relevance have nan.
        """
        self.check()
        y = check_real_relevance(y, "y")
        groups = check_groups(groups, y.size)
        return risk_of_each_list(y, check_scores(scores, y.size), groups, "difference")[0]

    def weight_of_each_list(self, y: np.ndarray, groups: Groups) -> np.ndarray:
        """What each list weighs in the risk of all: the sum of differences over its pairs."""
        y = check_real_relevance(y, "y")
        groups = check_groups(groups, y.size)
        lists = PairLists(y, groups, Graph())
        weight = np.zeros(groups.n_groups)
        weight[lists.kept] = lists.weight
        return weight


def _nothing_to_rank(y: np.ndarray, lists: PairLists, groups: Groups, graph: Graph) -> str:
    if lists.n_rankable:
        return (
            f"list_weight is 0 for all {lists.n_rankable} lists that have rows to rank. Give at "
            "least one of them a positive weight."
        )
    relevance = y[groups.rows]
    span = f", from {relevance.min():g} to {relevance.max():g}" if relevance.size else ""
    return (
        f"None of the {groups.n_groups} lists given has {graph.lacking(y, groups)[1]} (there are "
        f"{relevance.size} rows{span}). Check y, put the rows into larger lists"
        f"{'' if graph.kind == 'complete' else ', or choose another graph'}."
    )
