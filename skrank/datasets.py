"""Made-up data on which losses of whole sets and rankings differ from losses of single rows."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from skrank._validation import check_count, check_whole

__all__ = ["make_early_detection"]

# Where positive elements lie early and late in a sequence; negative ones lie around zero.
EARLY, LATE = (2.0, 0.0), (-1.0, 2.0)


def make_early_detection(n_bags=1000, *, n_elements=15, n_early=5, random_state=None):
    """Sequences in which early positives look different from late ones.

    As in the synthetic problem of [1]_: a bag is a sequence of elements with two features. Each
    element is positive or negative with equal probability. Negative elements are drawn around the
    origin all along, positive ones around (2, 0) among the first elements and around (-1, 2)
    later, all with unit variance. No line separates the negative elements from both kinds of
    positive ones, so a linear model has to choose; a loss that counts early mistakes most, such as
    :class:`~skrank.losses.EarlyDetection`, makes it choose the early ones.

    Parameters
    ----------
    n_bags : int, default=1000
        The number of sequences.
    n_elements : int, default=15
        The number of elements in each.
    n_early : int, default=5
        How many elements of each are early.
    random_state : int, RandomState instance or None, default=None
        Seed for reproducible data.

    Returns
    -------
    X : ndarray of shape (n_bags, n_elements, 2)
        Features of each element.
    y : ndarray of int of shape (n_bags, n_elements)
        1 for positive elements.

    References
    ----------
    .. [1] J. Yu, M. B. Blaschko, "The Lovász hinge: a convex surrogate for submodular losses",
       2015.

    Examples
    --------
    >>> from skrank.datasets import make_early_detection
    >>> X, y = make_early_detection(200, random_state=0)
    >>> X.shape, y.shape
    ((200, 15, 2), (200, 15))
    """
    check_count("n_bags", n_bags, hint="It is the number of sequences.")
    check_count("n_elements", n_elements, hint="It is the length of each sequence.")
    check_whole("n_early", n_early, hint="It is the number of early elements in each sequence.")
    if not 0 <= n_early <= n_elements:
        raise ValueError(
            f"n_early={n_early} was given for sequences of {n_elements} elements, but it must lie "
            "between 0 and that number."
        )
    rng = check_random_state(random_state)
    y = rng.randint(2, size=(n_bags, n_elements))
    X = rng.standard_normal(size=(n_bags, n_elements, 2))
    is_early = np.arange(n_elements)[:, None] < n_early
    X += y[:, :, None] * np.where(is_early, EARLY, LATE)
    return X, y
