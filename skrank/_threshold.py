"""From scores to labels: ranking losses ignore a shift of the scores, labels do not."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real

import numpy as np


def _f1(tp, fp, n_pos, n_neg):
    """2 TP / (2 TP + FP + FN), and 0 where nothing is positive nor predicted so."""
    total = tp + fp + n_pos
    return 2 * tp / np.where(total > 0, total, 1)


def _accuracy(tp, fp, n_pos, n_neg):
    """TP + TN: n times the accuracy, exact for whole weights."""
    return tp - fp + n_neg


def _balanced_accuracy(tp, fp, n_pos, n_neg):
    """N TP + P TN: 2PN times the balanced accuracy; of one class alone, only that counts."""
    return (n_neg or 1) * tp + (n_pos or 1) * (n_neg - fp)


CRITERIA: dict[str, Callable] = {
    "f1": _f1,
    "accuracy": _accuracy,
    "balanced_accuracy": _balanced_accuracy,
}


def check_criterion(criterion: str | float) -> None:
    """Raise a ValueError unless `criterion` is the name of a criterion or a finite number."""
    known = isinstance(criterion, str) and criterion in CRITERIA
    number = isinstance(criterion, Real) and not isinstance(criterion, (bool, np.bool_))
    if not known and not (number and np.isfinite(float(criterion))):
        names = ", ".join(repr(name) for name in CRITERIA)
        raise ValueError(
            f"threshold={criterion!r} is not known. Choose one of {names}, or give a finite "
            "number to compare the scores with."
        )


def choose_threshold(scores, positive, criterion: str | float, weight=None) -> float:
    """Threshold on `scores` above which a row is best called positive.

    Parameters
    ----------
    scores : ndarray of shape (n_samples,)
        Finite training scores.
    positive : ndarray of bool of shape (n_samples,)
        Whether each row is positive.
    criterion : {"f1", "accuracy", "balanced_accuracy"} or float
        What to maximise over all thresholds; a number is the threshold itself.
    weight : ndarray of shape (n_samples,), optional
        How many times each row counts.

    Returns
    -------
    threshold : float
        Rows with ``score > threshold`` are positive. It lies midway between two
        neighbouring distinct scores, below the lowest or above the highest score. Where
        several are equally good it is the highest.

    Examples
    --------
    >>> import numpy as np
    >>> choose_threshold(np.array([0.0, 1.0, 3.0]), np.array([False, False, True]), "f1")
    2.0
    """
    check_criterion(criterion)
    if not isinstance(criterion, str):
        return float(criterion)
    scores = np.asarray(scores, dtype=np.float64)
    positive = np.asarray(positive, dtype=bool)
    if weight is not None and not np.all(weight > 0.0):
        counted = weight > 0.0  # the others leave no trace, not even as a neighbouring score
        scores, positive, weight = scores[counted], positive[counted], weight[counted]

    order = np.argsort(scores)
    in_order = scores[order]
    # the last of each block of equal scores
    ends = np.append(np.flatnonzero(in_order[1:] != in_order[:-1]), scores.size - 1)
    values = in_order[ends]
    # equal weights become ones, whose sums are exact
    weight = np.ones(scores.size) if weight is None else weight[order] / weight.max()
    pos_below = np.concatenate([[0.0], np.cumsum(weight * positive[order])[ends]])
    rows_below = np.concatenate([[0.0], np.cumsum(weight)[ends]])
    n_pos = pos_below[-1]
    n_neg = rows_below[-1] - n_pos
    tp = n_pos - pos_below
    fp = n_neg - (rows_below - pos_below)
    quality = CRITERIA[criterion](tp, fp, n_pos, n_neg)
    below = values.size - int(np.argmax(quality[::-1]))
    return _between(values, below)


def _between(values, below: int) -> float:
    """A number t with exactly the first `below` of the ascending `values` at or below it.

    Outside of their range it keeps as much distance as they span: more would round off, and
    tie, scores that are close to each other.
    """
    span = values[-1] - values[0] or 1.0
    if below == 0:
        lowest = values[0]
        return float(min(lowest - span, np.nextafter(lowest, -np.inf)))
    lower = values[below - 1]
    if below == values.size:
        return float(lower + span)
    upper = values[below]
    middle = lower / 2 + upper / 2
    return float(middle if lower <= middle < upper else lower)
