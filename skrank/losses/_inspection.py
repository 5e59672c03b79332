"""A look at all values of a set loss of one's own, or at a sample of them where they are many."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from skrank.losses._sets import all_subsets, same_sizes

# Up to so many elements all sets of mistakes are looked at.
MAX_COMPLETE = 10
# Of larger sets so many are looked at, and of each so many sets of mistakes, or fewer if they have
# more numbers than this together.
N_SETS = 10
N_SAMPLES = 100
MAX_NUMBERS = 10**6
# What counts as rounding, relative to the largest loss.
ROUNDING = 1e-9


class Tables(NamedTuple):
    """The losses of all sets of mistakes by truth, and the truth of each set of this size.

    Mistakes are numbered so that bit i stands for element i.
    """

    losses: np.ndarray
    of_set: np.ndarray


def inspect_sets(loss, sets, *, gains: bool = True) -> dict[int, Tables]:
    """Raise an error unless the loss is as it must be; its values by the size of sets, if small.

    A loss must be zero without mistakes and never negative. If its ``gains`` by further mistakes
    matter it must be submodular, and increasing if it says so.
    """
    tables = {}
    for _, entries in same_sizes(sets):
        size = entries.shape[1]
        if not 0 < size <= MAX_COMPLETE:
            continue
        truths, of_set = np.unique(sets.positive[entries], axis=0, return_inverse=True)
        if hasattr(loss.loss, "marginals"):
            _check_orders(loss, truths)
        losses = np.array([_complete(loss, truth, gains) for truth in truths])
        tables[size] = Tables(losses, of_set.reshape(-1))
    large = np.flatnonzero(np.diff(sets.pointers) > MAX_COMPLETE)
    for k in np.unique(np.linspace(0, large.size - 1, N_SETS).astype(int)) if large.size else ():
        truth = sets.positive[sets.pointers[large[k]] : sets.pointers[large[k] + 1]]
        if hasattr(loss.loss, "marginals"):
            _check_orders(loss, truth[None])
        _sample(loss, truth, gains)
    return tables


def _complete(loss, truth: np.ndarray, gains: bool) -> np.ndarray:
    """The losses of all sets of mistakes."""
    size = truth.size
    wrong = all_subsets(size)
    losses = loss.losses(wrong, np.broadcast_to(truth, wrong.shape))
    masks = np.arange(2**size)
    _check_values(loss, wrong, losses, truth)
    for i in range(size if gains else 0):
        others = masks[masks >> i & 1 == 0]
        _check_gains(loss, wrong, i, others, others, losses, truth)
        for j in range(size):
            if j != i:
                fewer = others[others >> j & 1 == 0]
                _check_gains(loss, wrong, i, fewer, fewer | 1 << j, losses, truth)
    return losses


def _check_gains(loss, wrong, i, fewer, more, losses, truth) -> None:
    """What a mistake at i adds to a few mistakes and to more of them."""
    gain = losses[fewer | 1 << i] - losses[fewer]
    later = losses[more | 1 << i] - losses[more]
    _compare(loss, np.full(fewer.size, i), wrong[fewer], wrong[more], gain, later, losses, truth)


def _sample(loss, truth: np.ndarray, gains: bool) -> None:
    """Look at sets of mistakes of all sizes, small ones above all, drawn with a fixed seed."""
    rng = np.random.default_rng(0)
    size = truth.size
    n_samples = int(np.clip(MAX_NUMBERS // size, 4, N_SAMPLES))
    few, any_number = rng.integers(0, 4, n_samples), rng.integers(0, size - 1, n_samples)
    n_mistakes = np.where(np.arange(n_samples) % 2, few, any_number)
    order = np.argsort(rng.random((n_samples, size)), axis=1)
    place = np.argsort(order, axis=1)
    counts = n_mistakes[:, None]
    # the next two elements in the order are added to the mistakes, one by one and both
    first, second = place == counts, place == counts + 1
    sets = [place < counts, place <= counts, (place < counts) | second, place <= counts + 1]
    truths = np.broadcast_to(truth, place.shape)
    losses = [loss.losses(wrong, truths) for wrong in sets]
    everything = np.concatenate(losses)
    added = np.argmax(first, axis=1)
    gain, later = losses[1] - losses[0], losses[3] - losses[2]
    nothing, whole = np.zeros((1, size), bool), np.ones((1, size), bool)
    ends = np.concatenate([nothing, whole])
    at_ends = loss.losses(ends, np.broadcast_to(truth, ends.shape))
    wrong = np.concatenate([ends, *sets])
    _check_values(loss, wrong, np.concatenate([at_ends, everything]), truth)
    if gains:
        _compare(loss, added, sets[0], sets[2], gain, later, everything, truth)


def _check_orders(loss, truths: np.ndarray) -> None:
    """Marginals must sum up to the same loss in any order."""
    order = np.argsort(np.random.default_rng(0).random(truths.shape), axis=1)
    forward = loss.marginals(order, truths).sum(axis=1)
    backward = loss.marginals(np.ascontiguousarray(order[:, ::-1]), truths).sum(axis=1)
    differs = np.abs(forward - backward) > ROUNDING * np.abs(forward).max()
    if np.any(differs):
        k = int(np.flatnonzero(differs)[0])
        raise ValueError(
            f"The marginals of all {order.shape[1]} elements sum up to {forward[k]:.6g} in one "
            f"order and to {backward[k]:.6g} in another, but the loss of mistakes must not "
            "depend on their order. Each marginal is the loss of all mistakes up to it, less that "
            "of those before it."
        )


def _compare(loss, added, fewer, more, gain, later, losses, truth) -> None:
    """Diminishing returns, and no loss by further mistakes if the loss says so."""
    rounding = ROUNDING * np.abs(losses).max()
    wrong = np.flatnonzero(later > gain + rounding)
    if wrong.size:
        k = wrong[0]
        raise ValueError(
            f"The loss is not submodular: a mistake at element {added[k]} adds {gain[k]:.6g} to "
            f"the mistakes {_members(fewer[k])}, but {later[k]:.6g} to the mistakes "
            f"{_members(more[k])}, which are more (positive elements: {_members(truth)}). Only "
            "submodular losses have convex Lovász hinges: further mistakes must add less, or as "
            "much."
        )
    falls = np.flatnonzero(later < -rounding)
    if loss.increasing and falls.size:
        k = falls[0]
        raise ValueError(
            f"The loss is not increasing: a mistake at element {added[k]} lowers it by "
            f"{-later[k]:.6g} if the mistakes {_members(more[k])} are made already (positive "
            f"elements: {_members(truth)}). Declare it with SetLoss(loss, increasing=False)."
        )


def _check_values(loss, wrong, losses, truth) -> None:
    """Zero without mistakes, and nowhere negative."""
    rounding = ROUNDING * np.abs(losses).max()
    if abs(losses[0]) > rounding:
        raise ValueError(
            f"The loss is {losses[0]:.6g} without any mistake (positive elements: "
            f"{_members(truth)}), but it must be 0 there. Subtract it."
        )
    lowest = int(np.argmin(losses))
    if losses[lowest] < -rounding:
        raise ValueError(
            f"The loss of the mistakes {_members(wrong[lowest])} is {losses[lowest]:.6g} (positive "
            f"elements: {_members(truth)}), but it must not be negative."
        )


def _members(indicator: np.ndarray) -> list:
    """Numbers of the elements, of a large set the first of them."""
    members = np.flatnonzero(indicator).tolist()
    return members if len(members) <= 20 else [*members[:20], "..."]
