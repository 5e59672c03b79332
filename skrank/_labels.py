"""From labels of any kind to one binary problem for each class, and back."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target

from skrank._groups import Groups


@dataclass(frozen=True)
class Labels:
    """The classes, and which of them each row has: a boolean column for each problem.

    Two classes make one problem, in which the second class is the relevant one.
    """

    kind: str
    classes: np.ndarray
    indicator: np.ndarray

    @classmethod
    def from_y(cls, y) -> Labels:
        """Read labels: binary, multiclass or a multilabel indicator."""
        kind = type_of_target(y, input_name="y")
        if kind == "multilabel-indicator":
            indicator = read_indicator(y)
            return cls("multilabel", np.arange(indicator.shape[1]), indicator)
        if kind.endswith("multioutput"):
            raise ValueError(
                f"y is {kind} of shape {np.shape(y)}, but one label a row or an indicator of zeros "
                "and ones, a column for each label, is expected. Fit one estimator for each output."
            )
        y = column_or_1d(y, warn=True)
        if kind == "unknown":
            types = sorted({type(label).__name__ for label in y})
            raise ValueError(
                f"Unknown label type: y has dtype {y.dtype} and holds {', '.join(types)}, but "
                "integers, booleans or strings alone are expected. Drop rows without a label and "
                "convert the rest, for example with y.astype(int) or y.astype(str)."
            )
        if kind not in ("binary", "multiclass"):
            check_classification_targets(y)  # says what is wrong
        classes, codes = np.unique(y, return_inverse=True)
        if classes.size == 1:
            raise ValueError(
                f"y holds one class only, {classes.tolist()[0]!r}, but rows of at least "
                "two classes are needed. Check how y was made or split."
            )
        if classes.size == 2:
            return cls("binary", classes, (codes == 1)[:, None])
        return cls("multiclass", classes, codes[:, None] == np.arange(classes.size))

    @property
    def names(self) -> list:
        """The relevant class of each problem."""
        return self.classes[1:].tolist() if self.kind == "binary" else self.classes.tolist()


def find_rankable(labels: Labels, groups: Groups, weight: np.ndarray | None) -> np.ndarray:
    """Which problems have something to rank; warns of queries and classes that have not.

    Queries of weight zero are as if they were not there.
    """
    codes = groups.codes()
    n_rows = np.diff(groups.pointers)[:, None]
    n_pos = np.column_stack(
        [np.bincount(codes[column], minlength=groups.n_groups) for column in labels.indicator.T]
    )
    counted = np.ones(groups.n_groups, bool) if weight is None else weight > 0.0
    both = (n_pos > 0) & (n_pos < n_rows) & counted[:, None]
    rankable = np.asarray(both.any(axis=0))
    if not rankable.any() and groups.n_groups == 1:
        raise ValueError(
            "y has no label that some rows have and others have not, so there is nothing to rank. "
            "Check how y was made or split."
        )
    if not rankable.any():
        classes = "" if labels.kind == "binary" else " of any class"
        weighty = "" if counted.all() else " of positive weight"
        raise ValueError(
            f"None of the {np.count_nonzero(counted)} queries{weighty} has both relevant and "
            f"irrelevant rows{classes}, so there is nothing to rank. Check y and qid: rows to be "
            "ranked against each other have the same qid."
        )
    if labels.kind == "binary":
        n_skipped = np.count_nonzero(counted) - np.count_nonzero(both)
        if n_skipped:
            warnings.warn(
                f"{n_skipped} of {np.count_nonzero(counted)} queries have rows of one class only. "
                "They have nothing to rank and are left out.",
                UserWarning,
                stacklevel=3,
            )
        return rankable
    if labels.kind == "multiclass" and groups.n_groups > 1 and labels.classes.dtype.kind in "iuf":
        warnings.warn(
            f"y has {labels.classes.size} numbers as labels, and there are queries: each label is "
            "ranked against the others by a model of its own. If they are grades of relevance, "
            "use NDCGSVC, or fit y >= grade; if they are classes, strings avoid this warning.",
            UserWarning,
            stacklevel=3,
        )
    if not rankable.all():
        names = [name for name, fine in zip(labels.names, rankable, strict=True) if not fine]
        some = "no query has rows both with and without them"
        why = some if groups.n_groups > 1 else "each is in all rows or in none"
        warnings.warn(
            f"{len(names)} of {rankable.size} classes, among them {names[:3]}, have nothing to "
            f"rank: {why}. Their scores are constant.",
            UserWarning,
            stacklevel=3,
        )
    return rankable


def read_indicator(y) -> np.ndarray:
    """A multilabel indicator as booleans; an error unless it holds zeros and ones."""
    dense = y.toarray() if sp.issparse(y) else np.asarray(y)
    try:
        values = np.unique(dense)
    except TypeError as error:
        raise TypeError(f"y must be an indicator of zeros and ones: {error}.") from error
    if not np.all((values == 0) | (values == 1)):
        raise ValueError(
            f"y is a multilabel indicator with the values {values.tolist()}, but 1 for rows that "
            "have a label and 0 for the others are expected. Convert it, for example with "
            "(y == 1).astype(int)."
        )
    return dense.astype(bool)


def true_indicator(y, kind: str, classes: np.ndarray) -> np.ndarray:
    """Labels to score predictions with: a boolean column for each problem of the fit."""
    if kind == "multilabel":
        target = type_of_target(y, input_name="y")
        indicator = read_indicator(y) if target == "multilabel-indicator" else np.empty((0, 0))
        if indicator.shape[1] != len(classes):
            raise ValueError(
                f"y is {target} of shape {np.shape(y)}, but the estimator was fitted with a "
                f"multilabel indicator of {len(classes)} columns."
            )
        return indicator
    y = column_or_1d(y, warn=True)
    known = np.isin(y, classes)
    if not np.all(known):
        raise ValueError(
            f"y has labels that fit did not see, such as {y[~known][:3].tolist()}; the classes "
            f"are {classes[:10].tolist()}."
        )
    return y[:, None] == (classes[1:] if kind == "binary" else classes)


def predict_labels(kind: str, classes: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The labels that scores stand for, with thresholds at zero."""
    if kind == "binary":
        return classes[(scores > 0).astype(int)]
    if kind == "multilabel":
        return (scores > 0).astype(int)
    return classes[scores.argmax(axis=1)]
