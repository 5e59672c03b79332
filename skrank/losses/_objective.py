"""The objective of every loss that depends on an interleaving of positives and negatives alone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from skrank import _threads
from skrank.kernels import _classic, _interleaving, _lists
from skrank.losses._arguments import check_scores
from skrank.losses._lists import Thresholds

ALGORITHMS: dict[str, Any] = {
    "auto": None,
    "quicksort": _classic.quicksort,
    "select": _classic.select,
    "search": _classic.search,
    "greedy": _classic.greedy,
    "dynamic": _classic.dynamic,
}
# What works for losses other than average precision, and for those without condition (C2).
QS_ALGORITHMS = ("auto", "quicksort", "greedy", "dynamic")
ANY_ALGORITHMS = ("auto", "dynamic")


def check_algorithm(algorithm: str, known=tuple(ALGORITHMS), why: str = "") -> None:
    """Raise a ValueError unless the algorithm is a known one."""
    if isinstance(algorithm, str) and algorithm in known:
        return
    what = f"Unknown algorithm {algorithm!r}"
    if isinstance(algorithm, str) and algorithm in ALGORITHMS:
        what = f"algorithm={algorithm!r} does not serve this loss{why}"
    raise ValueError(f"{what}. Choose one of {', '.join(known)}.")


@dataclass(frozen=True)
class CompiledLoss:
    """A loss as kernels take it: the sum of cost(i, n_i) over the positives, divided by Z.

    ``step`` and ``cost`` come from ``compile_function``, and ``unit`` is Z for each list. ``reach``
    is -1 if step(j, i) does not increase in j, condition (C2). Otherwise it is a number of
    negatives past which there are no steps. ``tables`` has for each list the address of what the
    two functions read; ``alive`` keeps that in memory.
    """

    step: Any
    cost: Any
    unit: np.ndarray
    reach: int = -1
    tables: np.ndarray | None = None
    alive: Any = field(default=None, repr=False)


class InterleavingObjective:
    """Structured hinge bound of a loss that is a sum of costs over the positives.

    It keeps scratch space from one call to the next: each thread needs an objective of its own.

    Parameters
    ----------
    lists : Thresholds
        The lists and their weights.
    loss : CompiledLoss
        Their loss.
    algorithm : str
        One of ``ALGORITHMS``.

    Attributes
    ----------
    n_queries, n_skipped : int
        Queries that count, and queries left out because there is nothing to rank in them.
    n_calls : int
        Evaluations so far.
    n_active : int
        In the last evaluation, negatives that stand above at least one positive, in all lists.
    """

    def __init__(self, lists: Thresholds, loss: CompiledLoss, algorithm: str = "auto"):
        self.n_queries = lists.queries.size - 1
        self.n_skipped = lists.n_skipped
        self.n_calls = 0
        self.n_active = 0
        n_pos, n_neg = lists.n_pos, lists.n_neg
        tables = np.zeros(n_pos.size, np.int64) if loss.tables is None else loss.tables
        self._loss = loss
        self._compiled = (loss.step.address, loss.cost.address)
        self._lists = _lists.Lists(
            rows=lists.rows,
            queries=lists.queries,
            start=lists.start,
            middle=lists.middle,
            end=lists.end,
            tables=tables,
            margin=2.0 * loss.unit / (n_pos * n_neg),
            scale=2.0 * lists.weight / (n_pos * n_neg),
            weight=lists.weight / loss.unit,
            expected=np.ones(n_pos.size, np.int64),
        )
        self._n_rows = lists.n_rows
        self._algorithm = ALGORITHMS[algorithm]
        self._reach = loss.reach
        # queries are solved in one compiled loop up to here, and their lists one by one from here
        self._n_short = lists.n_short if algorithm == "auto" else 0
        first_long = lists.queries[self._n_short]
        longest = n_neg[first_long:].max(initial=0) + 1
        self._values = np.empty(longest)
        self._chosen = np.empty(longest, np.int64)
        n_short_rows = (lists.end - lists.start)[:first_long].sum()
        self._many_rows = self._n_short > 1 and n_short_rows >= _threads.PARALLEL_ROWS

    @property
    def parallel(self) -> bool:
        """Whether evaluations use several threads."""
        return self._many_rows and _threads.several()

    def __call__(self, scores: np.ndarray) -> tuple[float, np.ndarray]:
        """The value and one subgradient at ``scores``."""
        scores = check_scores(scores, self._n_rows)
        gradient = np.zeros(self._n_rows)
        n_lists = self._lists.start.size
        value = np.empty(n_lists)
        active = np.empty(n_lists, np.int64)
        if self._n_short:
            self._solve_short(scores, gradient, value, active)
        for k in range(self._lists.queries[self._n_short], n_lists):
            value[k], active[k] = self._solve_long(k, scores, gradient)
        self.n_calls += 1
        self.n_active = _lists.expect(active, self._lists.expected)
        return float(value.sum()), gradient

    def _solve_short(self, scores, gradient, value, active) -> None:
        arguments = (self._compiled, self._reach, self._lists, scores, gradient, value, active)
        if self.parallel:
            _threads.run_in_parts(_lists.all_queries, self._n_short, *arguments)
        else:
            _lists.some_queries(0, self._n_short, *arguments)

    def _solve_long(self, k: int, scores, gradient) -> tuple[float, int]:
        lists = self._lists
        start, middle, end = int(lists.start[k]), int(lists.middle[k]), int(lists.end[k])
        pos_rows, neg_rows = lists.rows[start:middle], lists.rows[middle:end]
        loss = (*self._compiled, int(lists.tables[k]), middle - start, end - middle)
        margin, scale, weight = lists.margin[k], lists.scale[k], lists.weight[k]
        above = np.empty(pos_rows.size, np.int64)
        unsorted = scores.take(pos_rows)
        order = unsorted.argsort()
        if self._algorithm is None and self._reach < 0:
            pos = np.empty(order.size)
            count = _interleaving.candidates(
                loss,
                scores,
                neg_rows,
                unsorted,
                order,
                lists.expected[k],
                margin,
                pos,
                self._values,
                self._chosen,
            )
            values = self._values[:count]
            value = _lists.interleave(
                loss,
                pos,
                order,
                pos_rows,
                np.sort(values),
                values,
                self._chosen,
                margin,
                scale,
                weight,
                above,
                gradient,
            )
            return value, above[-1]
        pos = unsorted[order[::-1]]
        values = scores.take(neg_rows)
        if self._reach >= 0:
            neg = _classic.dynamic_up_to(self._reach, loss, pos, values, margin, above)
        else:
            neg = self._algorithm(loss, pos, values, margin, above)
        value = _lists.gather(
            loss, pos, order, pos_rows, neg, values, neg_rows, scale, weight, above, gradient
        )
        return value, above[-1]
