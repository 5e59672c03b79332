"""What every loss asks of the labels, lists and scores it is given."""

from __future__ import annotations

import numpy as np

from skrank._gains import check_grades
from skrank._groups import Groups
from skrank._jit import jit

# Sums and differences of scores stay finite up to here.
LARGEST = 1e300


@jit(reorder=True)
def any_out_of_range(scores):
    """Whether a score is nan, infinite or larger than kernels can compute with."""
    count = 0
    for row in range(scores.size):
        count += not abs(scores[row]) <= LARGEST
    return count > 0


def check_scores(scores, n_rows: int) -> np.ndarray:
    """Scores as kernels want them: one for each row, float64, contiguous, in range."""
    if not (isinstance(scores, np.ndarray) and scores.dtype == np.float64 and scores.flags.carray):
        scores = np.require(scores, np.float64, ["C", "W"])
    if scores.shape != (n_rows,):
        raise ValueError(
            f"scores have shape {scores.shape}, but the loss was bound to {n_rows} rows. Give one "
            f"score for each row, of shape ({n_rows},)."
        )
    if any_out_of_range(scores):
        raise FloatingPointError(
            f"scores must be finite and at most {LARGEST:g} in size. Scale the features, or look "
            "for values among them that are out of all proportion."
        )
    return scores


def check_binary(y, groups: Groups | None) -> tuple[np.ndarray, Groups]:
    """Labels as booleans, and the lists; without any, all rows are one list."""
    y = np.asarray(y)
    if y.dtype != np.bool_ or y.ndim != 1:
        raise ValueError(
            f"y has dtype {y.dtype} and shape {y.shape}, but a one-dimensional boolean array was "
            "expected, True for relevant rows. Compare the labels with the relevant class, for "
            "example y == 1."
        )
    return y, check_groups(groups, y.size)


def check_relevance(y, groups: Groups | None) -> tuple[np.ndarray, Groups]:
    """Grades as float64, none below zero, and the lists."""
    y = check_grades(y, "y")
    return y, check_groups(groups, y.size)


def check_groups(groups: Groups | None, n_rows: int) -> Groups:
    """The lists, each row in one of them at most; without any, all rows are one list."""
    if groups is None:
        return Groups.single(n_rows)
    if not isinstance(groups, Groups):
        raise TypeError(
            f"groups is of type {type(groups).__name__}, but lists are given as Groups. Make them "
            "from query identifiers with Groups.from_qid(qid, n_rows)."
        )
    if groups.n_rows and not 0 <= groups.rows.min() <= groups.rows.max() < n_rows:
        raise ValueError(
            f"groups has rows from {groups.rows.min()} to {groups.rows.max()}, but y has {n_rows} "
            "rows, which are numbered from 0. Make the groups for these rows."
        )
    if groups.n_rows and np.bincount(groups.rows).max() > 1:
        raise ValueError("groups has rows more than once. Put each row into one list at most.")
    return groups


def check_list_weight(list_weight, groups: Groups) -> np.ndarray | None:
    """None, or one finite weight of at least zero for each list."""
    if list_weight is None:
        return None
    weight = np.asarray(list_weight, dtype=np.float64)
    if weight.shape != (groups.n_groups,):
        raise ValueError(
            f"list_weight has shape {weight.shape}, but there are {groups.n_groups} lists. Give "
            "one weight for each list."
        )
    if weight.size and not 0.0 <= weight.min() <= weight.max() < np.inf:
        raise ValueError(
            f"list_weight ranges from {weight.min()} to {weight.max()}, but weights must be finite "
            "and not negative."
        )
    return weight
