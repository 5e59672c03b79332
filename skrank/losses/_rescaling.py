"""Margin and slack rescaling of set losses."""

from __future__ import annotations

import numpy as np

from skrank._groups import Groups
from skrank.kernels import _subsets
from skrank.losses._set_objective import SetObjective
from skrank.losses._sets import all_subsets, same_sizes

# Margin and slack rescaling try all sets of mistakes of up to so many elements.
MAX_EXACT = 16
# The losses of all sets of mistakes are kept for each different truth, up to so many numbers.
MAX_TABLES = 2**22


class Rescaling(SetObjective):
    """Margin or slack rescaling: over all sets of mistakes if they are small, or else greedily."""

    longest_short = MAX_EXACT

    def __init__(self, loss, y, groups: Groups | None, rescaling: int):
        super().__init__(loss, y, groups)
        if loss._interchangeable:  # with the positives first there are fewer different truths
            sets = self._sets
            codes = np.repeat(np.arange(self.n_sets), np.diff(sets.pointers))
            order = np.lexsort((~sets.positive, codes))
            self._sets = sets._replace(rows=sets.rows[order], positive=sets.positive[order])
        self._rescaling = rescaling
        self.exact = self._n_short == self.n_sets
        self._rule = None
        if hasattr(loss, "_rule"):
            self._rule = loss._rule(np.diff(self._sets.pointers))
        self._tables, self._which = self._make_tables()

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
            truths, of_set = self._loss._truths(self._sets.positive[entries])
            n_masks = 2 ** entries.shape[1]
            starts[which] = n_numbers + n_masks * of_set
            n_numbers += n_masks * len(truths)
            if n_numbers > MAX_TABLES:
                raise ValueError(
                    f"The sets have {len(truths)} different truths for {entries.shape[1]} "
                    f"elements, and each needs the losses of {n_masks} sets of mistakes: too many "
                    "to keep. Use surrogate='lovasz', which needs none, or fewer rows."
                )
            wrong = all_subsets(entries.shape[1])
            tables += [
                self._loss.losses(wrong, np.broadcast_to(truth, wrong.shape)) for truth in truths
            ]
        return np.concatenate(tables), starts

    def _greedy(self, q: int, scores, gradient, value) -> None:
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
