"""A look at all values of a set loss of one's own, or at a sample of them where they are many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skrank.losses._sets import all_subsets, same_sizes

# Up to so many elements all sets of mistakes are looked at.
MAX_COMPLETE = 10
# Of larger sets so many are looked at, and of each up to three times so many sets of mistakes, or
# fewer if they have more numbers than this together.
N_SETS = 10
N_SAMPLES = 500
MAX_NUMBERS = 300_000
# What counts as rounding, relative to the largest loss.
ROUNDING = 1e-9


class Tables(NamedTuple):
    """The losses of all sets of mistakes by truth, and the truth of each set of this size.

    Mistakes are numbered so that bit i stands for element i.
    """

    losses: np.ndarray
    of_set: np.ndarray


def inspect_sets(loss, sets) -> dict[int, Tables]:
    """Raise an error unless the loss is as it must be; its values by the size of sets, if small.

    It must be zero without mistakes, never negative, submodular, and increasing if it says so.
    """
    tables = {}
    for _, entries in same_sizes(sets):
        size = entries.shape[1]
        if not 0 < size <= MAX_COMPLETE:
            continue
        truths, of_set = np.unique(sets.positive[entries], axis=0, return_inverse=True)
        for truth in _some(truths):
            _check_orders(loss, truth)
        losses = loss._all_losses(truths)
        _check_all_gains(loss, losses, truths)
        tables[size] = Tables(losses, of_set.reshape(-1))
    inspect_large_sets(loss, sets, gains=True)
    return tables


def inspect_large_sets(loss, sets, *, gains: bool) -> None:
    """The same for a sample of the others, and without ``gains`` for the values alone."""
    for k in _some(np.flatnonzero(np.diff(sets.pointers) > MAX_COMPLETE)):
        truth = sets.positive[sets.pointers[k] : sets.pointers[k + 1]]
        _check_orders(loss, truth)
        _sample(loss, truth, gains)


def check_values(losses, wrong, truth) -> None:
    """Zero without mistakes, and nowhere negative; the first set of mistakes is empty."""
    rounding = ROUNDING * np.abs(losses).max()
    if abs(losses[0]) > rounding:
        raise ValueError(
            f"The loss is {losses[0]:.6g} without any mistake (positive elements: "
            f"{members(truth)}), but it must be 0 there. It is called as loss(mispredicted, "
            "y_true), with what is predicted wrong, not with predictions."
        )
    lowest = int(np.argmin(losses))
    if losses[lowest] < -rounding:
        raise ValueError(
            f"The loss of the mistakes {members(wrong[lowest])} is {losses[lowest]:.6g} (positive "
            f"elements: {members(truth)}), but it must not be negative."
        )


def members(indicator: np.ndarray) -> list:
    """Numbers of the elements, of a large set the first of them."""
    numbers = np.flatnonzero(indicator).tolist()
    return numbers if len(numbers) <= 20 else [*numbers[:20], "..."]


def _some(items):
    """A part of many items, spread evenly."""
    if len(items) == 0:
        return items
    return items[np.unique(np.linspace(0, len(items) - 1, N_SETS).astype(int))]


def _check_all_gains(loss, losses, truths) -> None:
    """Diminishing returns for each pair of elements, and no gain below zero."""
    size = truths.shape[1]
    masks = np.arange(2**size)
    wrong = all_subsets(size)
    for i in range(size):
        rest = masks[masks >> i & 1 == 0]
        gain = losses[:, rest | 1 << i] - losses[:, rest]
        sets = wrong[rest], wrong[rest]
        _compare(loss, np.full(rest.size, i), *sets, gain, gain, losses, truths)
        for j in range(i + 1, size):
            fewer = masks[masks & (1 << i | 1 << j) == 0]
            gain = losses[:, fewer | 1 << i] - losses[:, fewer]
            later = losses[:, fewer | 1 << i | 1 << j] - losses[:, fewer | 1 << j]
            sets = wrong[fewer], wrong[fewer | 1 << j]
            _compare(loss, np.full(fewer.size, i), *sets, gain, later, losses, truths)


def _sample(loss, truth: np.ndarray, gains: bool) -> None:
    """Look at some sets of mistakes, and at what an element adds before and after another one."""
    size = truth.size
    fewer, added, other = _draw(size, int(np.clip(MAX_NUMBERS // (3 * size), 2, N_SAMPLES)))
    rows = np.arange(added.size)
    more, with_added = fewer.copy(), fewer.copy()
    more[rows, other] = with_added[rows, added] = True
    whole = more.copy()
    whole[rows, added] = True
    sets = [fewer, with_added, more, whole]
    truths = np.broadcast_to(truth, fewer.shape)
    losses = [loss.losses(wrong, truths) for wrong in sets]
    ends = np.array([np.zeros(size, bool), np.ones(size, bool)])
    at_ends = loss.losses(ends, np.broadcast_to(truth, ends.shape))
    everything = np.concatenate([at_ends, *losses])
    check_values(everything, np.concatenate([ends, *sets]), truth)
    if gains:
        gain, later = losses[1] - losses[0], losses[3] - losses[2]
        _compare(loss, added, fewer, more, gain[None], later[None], everything, truth[None])


def _draw(size: int, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sets of mistakes and two further elements for each, with a fixed seed.

    There are n sets of any size, no mistakes with n pairs, or all of them if these are no more, and
    n steps on the way from no mistakes to all.
    """
    rng = np.random.default_rng(0)
    order = np.argsort(rng.random((n, size)), axis=1)
    counts = rng.integers(0, size - 1, n)
    any_size = np.argsort(order, axis=1) < counts[:, None]
    first, second = np.triu_indices(size, 1) if size * (size - 1) <= 2 * n else order[:, :2].T
    way, last = order[0, :-1], order[0, -1]
    steps = np.arange(size - 1) if size <= n else np.sort(rng.choice(size - 1, n, replace=False))
    on_the_way = np.argsort(order[0]) < steps[:, None]
    rows = np.arange(n)
    return (
        np.concatenate([any_size, np.zeros((first.size, size), bool), on_the_way]),
        np.concatenate([order[rows, counts], first, np.full(steps.size, last)]),
        np.concatenate([order[rows, counts + 1], second, way[steps]]),
    )


def _check_orders(loss, truth: np.ndarray) -> None:
    """Marginals must sum up to the same loss of mistakes in any order."""
    if not loss._has_marginals:
        return
    order = np.random.default_rng(0).permutation(truth.size)
    sums = np.cumsum(loss.marginals(order[None], truth[None])[0])
    counts = np.unique(np.linspace(1, truth.size, 8).astype(int))
    wrong = np.argsort(order) < counts[:, None]
    losses = loss.losses(wrong, np.broadcast_to(truth, wrong.shape))
    differs = np.abs(losses - sums[counts - 1]) > ROUNDING * np.abs(losses).max()
    if np.any(differs):
        k = int(np.flatnonzero(differs)[0])
        raise ValueError(
            f"The marginals of the mistakes {members(wrong[k])} sum up to {losses[k]:.6g} in one "
            f"order and to {sums[counts[k] - 1]:.6g} in another (positive elements: "
            f"{members(truth)}), but the loss of mistakes must not depend on their order. Each "
            "marginal is the loss of all mistakes up to it, less that of those before it; order "
            "holds numbers of elements, so y_true in that order is "
            "np.take_along_axis(y_true, order, axis=1)."
        )


def _compare(loss, added, fewer, more, gain, later, losses, truths) -> None:
    """Gains by truth and by set of mistakes: they diminish, and are not negative unless allowed."""
    rounding = ROUNDING * np.abs(losses).max()
    for t, k in np.argwhere(later > gain + rounding)[:1]:
        raise ValueError(
            f"The loss is not submodular: a mistake at element {added[k]} adds {gain[t, k]:.6g} to "
            f"the mistakes {members(fewer[k])}, but {later[t, k]:.6g} to the mistakes "
            f"{members(more[k])}, which are more (positive elements: {members(truths[t])}). Only "
            "submodular losses have convex Lovász hinges: further mistakes must add less, or as "
            "much."
        )
    for t, k in np.argwhere(later < -rounding)[: int(loss._is_increasing)]:
        raise ValueError(
            f"The loss is not increasing: a mistake at element {added[k]} lowers it by "
            f"{-later[t, k]:.6g} if the mistakes {members(more[k])} are made already (positive "
            f"elements: {members(truths[t])}). Declare it with SetLoss(loss, increasing=False)."
        )
