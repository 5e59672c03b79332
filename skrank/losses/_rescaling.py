"""Margin and slack rescaling of set losses."""

from __future__ import annotations

import numpy as np

from skrank._groups import Groups
from skrank.kernels import _subsets
from skrank.losses._set_objective import SetObjective
from skrank.losses._sets import same_sizes

# Margin and slack rescaling try all sets of mistakes of up to so many elements.
MAX_EXACT = 16
# The losses of all sets of mistakes are kept for each different truth, up to so many numbers.
MAX_TABLES = 2**22
# The greedy search asks losses of one's own for about the square of a set's size.
MAX_GREEDY = 1000


class Rescaling(SetObjective):
    """Margin or slack rescaling: over all sets of mistakes if they are small, or else greedily."""

    longest_short = MAX_EXACT

    def __init__(self, loss, y, groups: Groups | None, rescaling: int):
        super().__init__(loss, y, groups)
        if loss._looks_at == "number of positives":  # with these first there are fewer truths
            sets = self._sets
            codes = np.repeat(np.arange(self.n_sets), np.diff(sets.pointers))
            order = np.lexsort((~sets.positive, codes))
            self._sets = sets._replace(rows=sets.rows[order], positive=sets.positive[order])
        self._rescaling = rescaling
        self.exact = self._n_short == self.n_sets
        sizes = np.diff(self._sets.pointers)
        self._rule = loss._rule(sizes) if hasattr(loss, "_rule") else None
        if self._rule is None and sizes.max() > MAX_GREEDY:
            raise ValueError(
                f"There is a set of {sizes.max()} elements, but surrogates other than 'lovasz' "
                f"take losses of one's own for up to {MAX_GREEDY}. Use surrogate='lovasz'."
            )
        self._tables, self._which = self._make_tables()
        self._work = int((1 << sizes[: self._n_short]).sum())

    def _evaluate(self, scores, gradient, value) -> None:
        arguments = (self._sets, scores, self._weight, gradient, value)
        self._run(
            _subsets.some_best,
            _subsets.all_best,
            self._n_short,
            self._rescaling,
            self._tables,
            self._which,
            *arguments,
        )
        if self._rule is not None:
            _subsets.some_greedy(
                self._n_short, self.n_sets, self._rescaling, self._rule, *arguments
            )
            return
        for q in range(self._n_short, self.n_sets):
            self._greedy(q, scores, gradient, value)

    def _make_tables(self) -> tuple[np.ndarray, np.ndarray]:
        """The losses of all sets of mistakes for each truth there is, and where they start."""
        tables: list[np.ndarray] = [np.empty(0)]
        starts = np.zeros(self.n_sets, np.int64)
        n_numbers = 0
        for which, entries in same_sizes(self._sets):
            if which[0] >= self._n_short:
                continue
            positive = self._sets.positive[entries]
            if self._loss._looks_at == "nothing":
                positive = np.zeros_like(positive)
            truths, of_set = np.unique(positive, axis=0, return_inverse=True)
            n_masks = 2 ** entries.shape[1]
            starts[which] = n_numbers + n_masks * of_set.reshape(-1)
            n_numbers += n_masks * len(truths)
            if n_numbers > MAX_TABLES:
                raise ValueError(
                    f"The losses of all sets of mistakes are {n_numbers:,} numbers or more, "
                    f"2^{entries.shape[1]} for each of {len(truths)} different truths of as many "
                    f"elements, but at most {MAX_TABLES:,} are kept. Use surrogate='lovasz', which "
                    "needs none of them, or fewer sets."
                )
            tables.append(self._loss._all_losses(truths).reshape(-1))
        return np.concatenate(tables), starts

    def _greedy(self, q: int, scores, gradient, value) -> None:
        """A set of mistakes made one by one, by calls of the loss for each that may be next."""
        start, end = self._sets.pointers[q : q + 2]
        rows, positive = self._sets.rows[start:end], self._sets.positive[start:end]
        signs = np.where(positive, 1.0, -1.0)
        margins = signs * scores[rows]
        chosen = np.zeros(rows.size, bool)
        best = loss = 0.0
        while not chosen.all():
            rest = np.flatnonzero(~chosen)
            trials = np.repeat(chosen[None], rest.size, axis=0)
            trials[np.arange(rest.size), rest] = True
            losses = self._loss.losses(trials, np.broadcast_to(positive, trials.shape))
            sums = margins[chosen].sum() + margins[rest]
            values = losses - sums if self._rescaling == _subsets.MARGIN else losses * (1.0 - sums)
            k = int(np.argmax(values))
            if values[k] <= best:
                break
            best, loss = values[k], losses[k]
            chosen[rest[k]] = True
        slope = 1.0 if self._rescaling == _subsets.MARGIN else loss
        value[q] = self._weight * best
        gradient[rows] = -self._weight * slope * signs * chosen
