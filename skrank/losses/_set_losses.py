"""Losses of sets: functions of which elements of a set are mispredicted."""

from __future__ import annotations

from numbers import Real

import numpy as np

from skrank._validation import check_positive
from skrank.kernels._set_rules import CAPPED, CONCAVE, EARLY, JACCARD, MODULAR
from skrank.losses._set_loss import RuleLoss
from skrank.losses._set_objective import JaccardHinge

NO_WEIGHTS = np.empty(0)
# Sums of weights stay finite up to here.
LARGEST = 1e100


class Jaccard(RuleLoss):
    """One minus the Jaccard index: what the true and the predicted positives have in common.

    With m positives, of which n are missed, and p false positives the loss is (n + p) / (m + p).
    Without positives in either it is 0, and 1 as soon as one is predicted where there is none.

    Its Lovász hinge takes the mistakes from the largest s = 1 - t g down (t = 1 or -1 is the truth
    and g the score) and charges for each what it adds to the loss; it is a convex bound of the
    loss, equal to it where every s is 0 or 1. A set of n elements takes O(n log n).

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import Jaccard
    >>> y = np.array([[True, True, False], [False, False, False]])
    >>> Jaccard().loss_of_each_set(y, ~y)
    array([1., 1.])
    >>> objective = Jaccard().bind(y)
    >>> value, gradient = objective(np.where(y, 0.5, -1.0))
    >>> value
    0.25
    >>> gradient
    array([[-0.25, -0.25,  0.  ],
           [ 0.  ,  0.  ,  0.  ]])
    """

    _looks_at = "number of positives"

    def _raw_rule(self, longest):
        return JACCARD, 0.0, NO_WEIGHTS, 1.0

    def _hinge(self, y, groups):
        return JaccardHinge(self, y, groups)


class Hamming(RuleLoss):
    """The share of a set's elements that are mispredicted.

    It is the loss that decomposes over elements: its Lovász hinge is the mean of the hinge losses
    of the elements, as in an ordinary support vector machine.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import Hamming
    >>> y = np.array([[True, False, False, False]])
    >>> Hamming().loss_of_each_set(y, np.ones((1, 4), bool))
    array([0.75])
    """

    def _raw_rule(self, longest):
        return MODULAR, 0.0, NO_WEIGHTS, 1.0


class CappedWeighted(RuleLoss):
    """The weights of mispredicted elements up to a cap, as a share of the most it can be.

    Once the cap is reached further mistakes cost nothing: some sets count as lost.

    Parameters
    ----------
    weights : array-like of shape (n_elements,), default=None
        What a mistake at each column of a two-dimensional `y` costs. None makes it 1 for every
        element, of sets of any kind.
    cap : float, default=1.0
        The most that a set can cost. With the default a set is either all right or lost.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import CappedWeighted
    >>> y = np.array([[True, False, False]])
    >>> loss = CappedWeighted(weights=[1.0, 0.5, 0.2], cap=1.3)
    >>> loss.loss_of_each_set(y, np.array([[True, True, True]])).round(4)
    array([0.5385])
    """

    def __init__(self, weights=None, cap=1.0):
        self.weights = weights
        self.cap = cap

    def check(self) -> None:
        """Raise an error unless the parameters are of the right kind."""
        check_positive("cap", self.cap, hint="It is the most that a set can cost.")
        _check_weights(self.weights)
        if self.weights is not None and not np.any(_as_weights(self.weights)):
            raise ValueError("weights are all 0, so no mistake would cost anything.")

    def _check_truth(self, y) -> None:
        _check_columns(self.weights, y)

    def _raw_rule(self, longest):
        return CAPPED, float(self.cap), _as_weights(self.weights), 1.0


class ConcaveCardinality(RuleLoss):
    """1 - exp(-alpha k) of k mispredicted elements, and what they weigh, as a share of the most.

    The first mistake costs most, and each further one less.

    Parameters
    ----------
    alpha : float, default=1.0
        How quickly the cost levels off.
    weights : array-like of shape (n_elements,), default=None
        What a mistake at each column of a two-dimensional `y` costs on top of that. None adds
        nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import ConcaveCardinality
    >>> y = np.zeros((3, 3), bool)
    >>> predicted = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0]], bool)
    >>> ConcaveCardinality().loss_of_each_set(y, predicted).round(3)
    array([0.   , 0.665, 0.91 ])
    """

    def __init__(self, alpha=1.0, weights=None):
        self.alpha = alpha
        self.weights = weights

    def check(self) -> None:
        """Raise an error unless the parameters are of the right kind."""
        check_positive("alpha", self.alpha, hint="It says how quickly the cost levels off.")
        _check_weights(self.weights)

    def _check_truth(self, y) -> None:
        _check_columns(self.weights, y)

    def _raw_rule(self, longest):
        return CONCAVE, float(self.alpha), _as_weights(self.weights), 0.0


class EarlyDetection(RuleLoss):
    """Mistakes along a sequence, the earlier the dearer.

    The sum over i = 1, 2, ... of exp(-decay i) min(k_i, i / 2), where k_i is how many of the first
    i elements are mispredicted, as a share of what it is if all are. The elements are the columns
    of a two-dimensional `y`, in their order. Sequences of n elements take O(n^2).

    Parameters
    ----------
    decay : float, default=1.0
        How quickly later elements lose in importance; 0 for not at all.

    Examples
    --------
    >>> import numpy as np
    >>> from skrank.losses import EarlyDetection
    >>> y = np.zeros((2, 3), bool)
    >>> predicted = np.array([[1, 0, 0], [0, 0, 1]], bool)
    >>> EarlyDetection().loss_of_each_set(y, predicted).round(3)
    array([0.937, 0.126])
    """

    def __init__(self, decay=1.0):
        self.decay = decay

    def check(self) -> None:
        """Raise an error unless the parameters are of the right kind."""
        if not isinstance(self.decay, Real) or isinstance(self.decay, bool):
            raise TypeError(f"decay must be a number, but {self.decay!r} was given.")
        if not 0 <= float(self.decay) < np.inf:
            raise ValueError(
                f"decay={self.decay!r} was given, but it must be finite and not negative: later "
                "elements count less, or as much."
            )

    def _check_truth(self, y) -> None:
        if np.ndim(y) == 1:
            raise ValueError(
                "EarlyDetection needs elements in an order, the columns of a two-dimensional y, "
                "but y has one dimension. Give y a row for each sequence."
            )

    def _raw_rule(self, longest):
        return EARLY, 0.0, np.exp(-float(self.decay) * np.arange(longest)), 0.0


def _as_weights(weights) -> np.ndarray:
    return NO_WEIGHTS if weights is None else np.array(weights, dtype=np.float64)


def _check_weights(weights) -> None:
    if weights is None:
        return
    given = np.asarray(weights)
    if given.dtype.kind not in "buif":
        raise TypeError(
            f"weights have dtype {given.dtype}, but numbers are expected, one for each column."
        )
    if given.ndim != 1 or given.size == 0:
        raise ValueError(
            f"weights have shape {given.shape}, but one weight for each column of y is expected."
        )
    fine = (given >= 0.0) & (given <= LARGEST)
    if not np.all(fine):
        column = int(np.flatnonzero(~fine)[0])
        raise ValueError(
            f"The weight of column {column} is {given[column]}, but weights must not be negative, "
            f"and at most {LARGEST:g}."
        )


def _check_columns(weights, y) -> None:
    if weights is None:
        return
    shape = np.shape(y)
    if len(shape) == 1:
        raise ValueError(
            "weights are for the columns of a two-dimensional y, but y has one dimension. Set "
            "weights=None, which makes all elements count alike."
        )
    if shape[1] != np.size(weights):
        raise ValueError(
            f"{np.size(weights)} weights were given for a y of {shape[1]} columns. Give one for "
            "each column."
        )
