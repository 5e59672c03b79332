"""Average precision."""

from __future__ import annotations

import numpy as np

from skrank._groups import Groups
from skrank.kernels._interleaving import compile_function
from skrank.losses._arguments import check_binary, check_scores
from skrank.losses._binary import BinaryLoss
from skrank.losses._lists import in_lists
from skrank.losses._objective import CompiledLoss, check_algorithm
from skrank.metrics._average_precision import average_precision_per_query


@compile_function
def step(j, i, n_pos, n_neg, table):
    """j/(j+i) - (j-1)/(j+i-1), written without the cancellation."""
    return i / (float(j + i) * float(j + i - 1))


@compile_function
def cost(n, i, n_pos, n_neg, table):
    """One minus the precision at the i-th positive, with n negatives above it."""
    return n / float(i + n)


class AveragePrecision(BinaryLoss):
    """One minus the average precision of each list, and its structured hinge bound.

    The bound of a list is the maximum, over all rankings R of its rows, of

        1 - AP(R) + F(R) - F(R*),    F(R) = mean over pairs of R_ij (s_i - s_j),

    where pairs join a relevant row i with an irrelevant row j, R_ij is 1 if i stands above j
    and -1 otherwise, and R* ranks all relevant rows first. Lists count alike, those without a
    relevant or without an irrelevant row not at all. Tied rows share their gradient equally,
    so that no result depends on the order of the rows.

    Parameters
    ----------
    algorithm : {"auto", "quicksort", "select", "search", "greedy", "dynamic"}, default="auto"
        How the most violating ranking is found, among P relevant and N irrelevant rows. All give
        the same result, up to rounding; time is for one list.

        - "auto" sorts only rows that may stand above a relevant one; a guess of their number
          is kept from one evaluation to the next;
        - "quicksort" partitions irrelevant rows as far as needed, in O(N log P) [1]_;
        - "select" finds by quickselect the rows that "search" must sort [2]_;
        - "search" sorts, and bisects for most ranks, in O(N log N + P^2 + N log P) [2]_;
        - "greedy" sorts, and tries all ranks for each irrelevant row, in O(N log N + P N) [3]_;
        - "dynamic" is a dynamic programme in O(N log N + P N), which needs P N bits of memory.

    References
    ----------
    .. [1] Mohapatra, Rolinek, Jawahar, Kolmogorov, Kumar: Efficient Optimization for Rank-based
       Loss Functions. CVPR 2018.
    .. [2] Mohapatra, Jawahar, Kumar: Efficient Optimization for Average Precision SVM. NIPS 2014.
    .. [3] Yue, Finley, Radlinski, Joachims: A Support Vector Method for Optimizing Average
       Precision. SIGIR 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import AveragePrecision
    >>> y = np.array([True, False, False])
    >>> objective = AveragePrecision().bind(y)
    >>> value, gradient = objective(np.array([0.25, 0.0, 0.0]))
    >>> value
    0.25
    >>> gradient
    array([-1. ,  0.5,  0.5])
    """

    def __init__(self, algorithm="auto"):
        self.algorithm = algorithm

    def check(self) -> None:
        """Raise an error unless the algorithm is known."""
        check_algorithm(self.algorithm)

    def _compiled(self, n_pos: np.ndarray, n_neg: np.ndarray) -> CompiledLoss:
        return CompiledLoss(step=step, cost=cost, unit=n_pos.astype(np.float64))

    def loss_of_each_list(self, y: np.ndarray, scores: np.ndarray, groups: Groups) -> np.ndarray:
        """The loss of the ranking by score; nan without a relevant row.

        Tied rows count together, as in :func:`skrank.metrics.mean_average_precision`.
        """
        y, groups = check_binary(y, groups)
        y, scores, codes = in_lists(groups, y, check_scores(scores, y.size))
        return 1.0 - average_precision_per_query(y, scores, codes, groups.n_groups)
