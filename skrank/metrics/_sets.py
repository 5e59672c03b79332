"""Losses of whole sets of labels, averaged over the sets."""

from __future__ import annotations

import numpy as np

from skrank.losses._named_sets import as_set_loss
from skrank.metrics._inputs import read_sets
from skrank.metrics._ranking import weighted_mean


def set_loss(y_true, y_pred, *, loss="jaccard", qid=None, query_weight=None, pos_label=1) -> float:
    """Mean loss of sets of predicted labels, for any loss of sets.

    Of two-dimensional labels each row is a set, and its elements are the columns; of
    one-dimensional labels the rows of a query are a set, such as the pixels of an image.
    With the default loss this is :func:`jaccard_loss`.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or {array-like, sparse matrix} of shape \
            (n_sets, n_elements)
        The true labels: two at most, of any type, of which `pos_label` is the positive
        one; or an indicator of zeros and ones.
    y_pred : array-like or sparse matrix of the same shape
        The predicted labels, as ``predict`` gives them.
    loss : str, object or callable, default="jaccard"
        "jaccard", "hamming", "capped_weighted", "concave_cardinality" or
        "early_detection"; or a set loss of :mod:`skrank.losses`, such as
        ``CappedWeighted(weights, cap)``; or one of your own, as a function
        ``loss(mispredicted, y_true)`` or an object with a method
        ``marginals(order, y_true)``, as in :class:`~skrank.losses.SetLoss`. To measure
        predictions it need not be submodular.
    qid : array-like of shape (n_samples,), default=None
        The set of each row of one-dimensional labels, in any order and of any sortable
        type. ``None`` makes all rows one set. With an indicator it is an error.
    query_weight : array-like of shape (n_samples,) or (n_sets,), default=None
        For each row the weight of its set in the mean, the same for all rows of a set.
        A set of weight 2 counts as if it were there twice, one of weight 0 as if it were
        not there. ``None`` makes all sets count alike.
    pos_label : int, float, bool or str, default=1
        The label of the positive rows of one-dimensional labels.

    Returns
    -------
    loss : float
        The mean over the sets; 0 if no element is mispredicted.

    See Also
    --------
    skrank.LovaszHingeClassifier : Trains for these losses.
    make_set_scorer : Makes scorers for model selection.

    Examples
    --------
    Each row is a set of three labels; the first has one mistake, the second two:

    >>> import numpy as np
    >>> from skrank.metrics import set_loss
    >>> y_true = np.array([[1, 1, 0], [0, 1, 0]])
    >>> y_pred = np.array([[1, 0, 0], [1, 0, 0]])
    >>> set_loss(y_true, y_pred, loss="hamming")
    0.5

    A loss of one's own, the share of sets with any mistake, and another weight for the
    second set:

    >>> set_loss(y_true, y_pred, loss=lambda mispredicted, y_true: mispredicted.any())
    1.0
    >>> set_loss(y_true, y_pred, query_weight=[1, 2])  # Jaccard losses 1/2 and 1
    0.83...

    Rows of two images, each of which is a set:

    >>> y_true, image = ["sky", "sea", "sky", "sea"], ["a", "a", "b", "b"]
    >>> set_loss(y_true, ["sky", "sky", "sky", "sea"], qid=image, pos_label="sky")
    0.25
    """
    loss = as_set_loss(loss)
    sets = read_sets(y_true, y_pred, qid, query_weight, pos_label)
    losses = loss.loss_of_each_set(sets.truth, sets.predicted, sets.groups)
    return weighted_mean(losses, sets.weight)


def jaccard_loss(y_true, y_pred, *, qid=None, query_weight=None, pos_label=1) -> float:
    """One minus the Jaccard index of each set, averaged over the sets.

    The Jaccard index, or intersection over union, is the number of elements that are
    positive in truth and prediction over the number of those that are in either. The
    result is one minus :func:`sklearn.metrics.jaccard_score` with ``zero_division=1``:
    for an indicator with ``average="samples"``, for the rows of a single set with
    ``average="binary"``.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or {array-like, sparse matrix} of shape \
            (n_sets, n_elements)
        The true labels: two at most, of any type, of which `pos_label` is the positive
        one; or an indicator of zeros and ones, each row of which is a set.
    y_pred : array-like or sparse matrix of the same shape
        The predicted labels, as ``predict`` gives them.
    qid : array-like of shape (n_samples,), default=None
        The set of each row of one-dimensional labels, in any order and of any sortable
        type. ``None`` makes all rows one set. With an indicator it is an error.
    query_weight : array-like of shape (n_samples,) or (n_sets,), default=None
        For each row the weight of its set in the mean, the same for all rows of a set.
        ``None`` makes all sets count alike.
    pos_label : int, float, bool or str, default=1
        The label of the positive rows of one-dimensional labels.

    Returns
    -------
    loss : float
        The mean over the sets. A set without positives in truth and prediction has loss 0,
        and one with positives in one of them only has loss 1.

    See Also
    --------
    skrank.losses.Jaccard : The loss to train for, with its convex bounds.
    set_loss : The mean of other losses of sets.
    mean_jaccard_scorer : One minus this measure as a scorer for model selection.

    Examples
    --------
    >>> from skrank.metrics import jaccard_loss
    >>> jaccard_loss([[1, 1, 0], [0, 0, 0]], [[1, 0, 0], [0, 0, 0]])
    0.25
    >>> jaccard_loss([1, 1, 0, 0], [1, 0, 0, 1], qid=["a", "a", "a", "b"])
    0.75
    """
    return set_loss(
        y_true, y_pred, loss="jaccard", qid=qid, query_weight=query_weight, pos_label=pos_label
    )


def dice_loss(y_true, y_pred, *, qid=None, query_weight=None, pos_label=1) -> float:
    """One minus the Dice coefficient of each set, averaged over the sets.

    With true positives TP, false positives FP and false negatives FN the loss of a set is
    1 - 2 TP / (2 TP + FP + FN). The result is one minus :func:`sklearn.metrics.f1_score`
    with ``zero_division=1``: for an indicator with ``average="samples"``, for the rows of a
    single set with ``average="binary"``.

    It is for measuring only: the loss is not submodular, so it has no Lovász hinge to
    train for. Train for the Jaccard loss, which of two predictions of a set prefers the
    same one.

    Parameters
    ----------
    y_true : array-like of shape (n_samples,) or {array-like, sparse matrix} of shape \
            (n_sets, n_elements)
        The true labels: two at most, of any type, of which `pos_label` is the positive
        one; or an indicator of zeros and ones, each row of which is a set.
    y_pred : array-like or sparse matrix of the same shape
        The predicted labels, as ``predict`` gives them.
    qid : array-like of shape (n_samples,), default=None
        The set of each row of one-dimensional labels, in any order and of any sortable
        type. ``None`` makes all rows one set. With an indicator it is an error.
    query_weight : array-like of shape (n_samples,) or (n_sets,), default=None
        For each row the weight of its set in the mean, the same for all rows of a set.
        ``None`` makes all sets count alike.
    pos_label : int, float, bool or str, default=1
        The label of the positive rows of one-dimensional labels.

    Returns
    -------
    loss : float
        The mean over the sets. A set without positives in truth and prediction has loss 0,
        and one with positives in one of them only has loss 1.

    See Also
    --------
    jaccard_loss : The loss J of which this is J / (2 - J), set by set.
    mean_dice_scorer : One minus this measure as a scorer for model selection.

    Examples
    --------
    >>> from skrank.metrics import dice_loss
    >>> dice_loss([[1, 1, 0, 0], [0, 0, 0, 0]], [[1, 0, 1, 0], [0, 0, 0, 0]])
    0.25
    >>> dice_loss([1, 1, 0, 0], [1, 0, 0, 1], qid=["a", "a", "a", "b"])
    0.66...
    """
    sets = read_sets(y_true, y_pred, qid, query_weight, pos_label)

    def count(elements):
        if sets.groups is None:
            return elements.sum(axis=1)
        return np.bincount(sets.groups.codes(), weights=elements, minlength=sets.weight.size)

    n_wrong = count(sets.truth != sets.predicted)
    n_positive = count(sets.truth) + count(sets.predicted)  # 2 TP + FP + FN
    losses = np.divide(n_wrong, n_positive, out=np.zeros(sets.weight.size), where=n_positive > 0)
    return weighted_mean(losses, sets.weight)
