"""From labels of any kind to one binary problem for each class, and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.utils import column_or_1d
from sklearn.utils.multiclass import check_classification_targets, type_of_target


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
            dense = y.toarray() if sp.issparse(y) else np.asarray(y)
            return cls("multilabel", np.arange(dense.shape[1]), dense.astype(bool))
        if kind.endswith("multioutput"):
            raise ValueError(
                f"y is {kind} of shape {np.shape(y)}, but one label a row or an indicator of zeros "
                "and ones, a column for each label, is expected. Fit one estimator for each output."
            )
        y = column_or_1d(y, warn=True)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        if classes.size == 1:
            raise ValueError(
                f"y holds one class only, {classes.tolist()[0]!r}, but ranking needs rows of at "
                "least two classes. Check how y was made or split."
            )
        if classes.size == 2:
            return cls("binary", classes, (codes == 1)[:, None])
        return cls("multiclass", classes, codes[:, None] == np.arange(classes.size))

    @property
    def names(self) -> list:
        """The relevant class of each problem."""
        return self.classes[1:].tolist() if self.kind == "binary" else self.classes.tolist()


def predict_labels(kind: str, classes: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """The labels that scores stand for, with thresholds at zero."""
    if kind == "binary":
        return classes[(scores > 0).astype(int)]
    if kind == "multilabel":
        return (scores > 0).astype(int)
    return classes[scores.argmax(axis=1)]
