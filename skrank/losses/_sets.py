"""Sets of elements, each positive or not, as kernels take them."""

from __future__ import annotations

import numpy as np

from skrank._groups import Groups
from skrank.kernels._sets import Sets
from skrank.losses._arguments import check_groups


def read_truth(y, groups: Groups | None) -> tuple[np.ndarray, Groups]:
    """Labels as booleans, of one or two dimensions, and the sets of their numbers in memory."""
    y = np.asarray(y)
    if y.dtype != np.bool_ or y.ndim not in (1, 2):
        raise ValueError(
            f"y has dtype {y.dtype} and shape {y.shape}, but a boolean array of one or two "
            "dimensions was expected, True for positive elements. Compare the labels with the "
            "positive class, for example y == 1."
        )
    if y.ndim == 1:
        return y, check_groups(groups, y.size)
    if groups is not None:
        raise ValueError(
            f"y has shape {y.shape}, so each of its rows is a set, but groups were given too. "
            "Leave them out, or give y one dimension."
        )
    n_sets, size = y.shape
    return y, Groups(np.arange(y.size), np.arange(n_sets + 1) * size)


def as_sets(y: np.ndarray, groups: Groups) -> Sets:
    """The sets of ``groups`` for kernels."""
    rows = groups.rows.astype(np.int64)
    positive = y.reshape(-1)[rows]
    n_before = np.concatenate([[0], np.cumsum(positive)])
    n_pos = np.diff(n_before[groups.pointers])
    return Sets(rows, groups.pointers.astype(np.int64), positive, n_pos)


def not_empty(groups: Groups) -> Groups:
    """The groups without those that have no rows."""
    sizes = np.diff(groups.pointers)
    pointers = np.append(groups.pointers[:-1][sizes > 0], groups.n_rows)
    return Groups(groups.rows, pointers)


def short_first(groups: Groups, longest: int) -> tuple[Groups, int]:
    """The groups, those of at most ``longest`` rows first, and how many these are."""
    sizes = np.diff(groups.pointers)
    is_long = sizes > longest
    order = np.argsort(is_long, kind="stable")
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    rows = groups.rows[np.argsort(place[groups.in_order()], kind="stable")]
    pointers = np.concatenate([[0], np.cumsum(sizes[order])])
    return Groups(rows, pointers), int(np.count_nonzero(~is_long))


def same_sizes(sets: Sets):
    """For each size of a set: which sets have it, and their entries, a row for each set."""
    sizes = np.diff(sets.pointers)
    for size in np.unique(sizes):
        which = np.flatnonzero(sizes == size)
        yield which, sets.pointers[which][:, None] + np.arange(size)


def all_subsets(size: int) -> np.ndarray:
    """A row for each set of elements, numbered so that bit i stands for element i."""
    return (np.arange(2**size)[:, None] >> np.arange(size) & 1).astype(bool)
