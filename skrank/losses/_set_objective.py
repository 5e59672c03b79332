"""Convex bounds of set losses as functions of scores."""

from __future__ import annotations

import numpy as np

from skrank import _threads
from skrank._groups import Groups
from skrank.kernels import _jaccard, _set_rules
from skrank.kernels._sort import refine
from skrank.losses._arguments import check_scores
from skrank.losses._inspection import inspect_sets
from skrank.losses._sets import as_sets, not_empty, read_truth, same_sizes, short_first

# Above this many elements NumPy's vectorised sort is faster than counting all pairs.
LONG_SET = 256


class SetObjective:
    """The mean over sets of a convex bound of their losses.

    It keeps scratch space from one call to the next: each thread needs an objective of its own.

    Parameters
    ----------
    loss : SetLoss
        The loss.
    y : array of bool, shape (n,) or (n_sets, n_elements)
        The truth.
    groups : Groups, optional
        The sets, if `y` has one dimension.

    Attributes
    ----------
    n_sets : int
        Sets that count: those with elements.
    n_calls : int
        Evaluations so far.
    exact : bool
        Whether values are those of the bound, and not only below it.
    """

    exact = True
    longest_short = LONG_SET  # sets up to this size come first

    def __init__(self, loss, y, groups: Groups | None = None):
        y, groups = read_truth(y, groups)
        if groups.n_rows == 0:
            raise ValueError("There are no elements in any set; at least one is needed.")
        groups, self._n_short = short_first(not_empty(groups), self.longest_short)
        self._loss = loss
        self._sets = as_sets(y, groups)
        self._n_rows = y.size
        self._shape = y.shape
        self._weight = 1.0 / groups.n_groups
        self._work = int(self._sets.pointers[self._n_short])  # of what may be done in parallel
        self.n_sets = groups.n_groups
        self.n_calls = 0

    @property
    def parallel(self) -> bool:
        """Whether evaluations use several threads."""
        return self._n_short > 1 and self._work >= _threads.PARALLEL_ROWS and _threads.several()

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """The value and one subgradient at ``scores``, which may be flat or shaped as ``y``."""
        shape = np.shape(scores)
        if shape == self._shape:
            scores = np.reshape(scores, -1)
        scores = check_scores(scores, self._n_rows)
        gradient = np.zeros(self._n_rows)
        value = np.empty(self.n_sets)
        self._evaluate(scores, gradient, value)
        self.n_calls += 1
        return float(value.sum()), gradient.reshape(shape)

    def _evaluate(self, scores: np.ndarray, gradient: np.ndarray, value: np.ndarray) -> None:
        """Fill in the gradient, and the value of each set times its weight."""
        raise NotImplementedError

    def _run(self, some, every, n_sets: int, *arguments) -> None:
        """Call a kernel for the first sets, on several threads if they are worth it."""
        if self.parallel:
            _threads.run_in_parts(every, n_sets, *arguments)
        elif n_sets:
            some(0, n_sets, *arguments)


class JaccardHinge(SetObjective):
    """The Lovász hinge of the Jaccard loss: short sets by counting, long ones by a sort."""

    def __init__(self, loss, y, groups: Groups | None = None):
        super().__init__(loss, y, groups)
        longest = np.diff(self._sets.pointers)[self._n_short :].max(initial=0)
        self._s, self._share = np.empty((2, longest))
        self._keys = np.empty(longest, np.int64)

    def _evaluate(self, scores, gradient, value) -> None:
        arguments = (self._sets, scores, self._weight, gradient, value)
        self._run(_jaccard.some_sets, _jaccard.all_sets, self._n_short, *arguments)
        for q in range(self._n_short, self.n_sets):
            value[q] = self._long_set(q, scores, gradient)

    def _long_set(self, q: int, scores, gradient) -> float:
        start, end = self._sets.pointers[q : q + 2]
        rows, positive = self._sets.rows[start:end], self._sets.positive[start:end]
        s, share = self._s[: rows.size], self._share[: rows.size]
        # as many bits as number the entries, and one more
        low = int(rows.size - 1).bit_length() + 1
        lowest, highest = _jaccard.find_mistakes(scores, rows, positive, s)
        if lowest == highest:
            _jaccard.walk_ties(s, positive, self._sets.n_pos[q], share)
        else:
            count, missing = _jaccard.make_keys(s, positive, low, lowest, highest, self._keys)
            keys = self._keys[:count]
            keys.sort()
            if missing:
                refine(keys, low, low - 1, s)
            _jaccard.walk(keys, low, s, self._sets.n_pos[q], share)
        return _jaccard.gather(s, share, rows, positive, self._weight, gradient)


class RuleHinge(SetObjective):
    """The Lovász hinge of a loss that kernels know a rule of, sets of any size by a sort."""

    longest_short = np.iinfo(np.int64).max

    def __init__(self, loss, y, groups: Groups | None = None):
        super().__init__(loss, y, groups)
        self._rule = loss._rule(np.diff(self._sets.pointers))

    def _evaluate(self, scores, gradient, value) -> None:
        arguments = (self._rule, self._sets, scores, self._weight, gradient, value)
        self._run(_set_rules.some_sets, _set_rules.all_sets, self.n_sets, *arguments)


class OwnHinge(SetObjective):
    """The Lovász hinge of a loss of one's own, by its marginals along an order."""

    def __init__(self, loss, y, groups: Groups | None = None):
        super().__init__(loss, y, groups)
        self._tables = inspect_sets(loss, self._sets)
        self._by_size = list(same_sizes(self._sets))

    @property
    def parallel(self) -> bool:
        """Whether evaluations use several threads."""
        return False

    def _evaluate(self, scores, gradient, value) -> None:
        sets = self._sets
        for which, entries in self._by_size:
            rows, positive = sets.rows[entries], sets.positive[entries]
            signs = np.where(positive, 1.0, -1.0)
            s = 1.0 - signs * scores[rows]
            order = np.argsort(-s, axis=1, kind="stable")
            gains = np.empty(s.shape)
            np.put_along_axis(gains, order, self._marginals(order, positive), axis=1)
            if self._loss._is_increasing:
                gains[s <= 0.0] = 0.0
            totals = (gains * s).sum(axis=1)
            gains[totals <= 0.0] = 0.0
            value[which] = self._weight * np.maximum(totals, 0.0)
            gradient[rows] = -self._weight * signs * gains

    def _marginals(self, order, positive) -> np.ndarray:
        size = order.shape[1]
        if size not in self._tables:
            return self._loss.marginals(order, positive)
        losses, of_set = self._tables[size]
        masks = np.cumsum(1 << order, axis=1)
        return np.diff(losses[of_set[:, None], masks], axis=1, prepend=0.0)
