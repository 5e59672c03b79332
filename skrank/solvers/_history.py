"""What a solver did, iteration by iteration."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from time import perf_counter

import numpy as np

_TIMED = ("oracle", "qp", "data")
_COLUMNS = ("primal", "dual", "planes", "oracle_calls", "passes", "seconds")


def relative_gap(primal: float, dual: float) -> float:
    """(primal - dual) / primal: how far above the optimum the objective can be, relatively."""
    return 0.0 if primal == 0.0 else max(primal - dual, 0.0) / primal


class History:
    """Counts and times of a run; all but primal, dual and planes are running totals."""

    def __init__(self) -> None:
        self.oracle_calls = 0
        self.passes = 0
        self._start = perf_counter()
        self._spent = dict.fromkeys(_TIMED, 0.0)
        self._rows: list[tuple[float, ...]] = []

    @contextmanager
    def time(self, what: str) -> Iterator[None]:
        """Add the time of the block to "oracle", "qp" or "data"."""
        start = perf_counter()
        try:
            yield
        finally:
            self._spent[what] += perf_counter() - start

    def product(self, account: str) -> AbstractContextManager[None]:
        """Time a product with the operator; on the account "data" it is a pass over X."""
        self.passes += account == "data"
        return self.time(account)

    def record(self, primal: float, dual: float, planes: int) -> None:
        """End an iteration."""
        seconds = perf_counter() - self._start
        self._rows.append(
            (primal, dual, planes, self.oracle_calls, self.passes, seconds, *self._spent.values())
        )

    def forecast(self, tol: float, window: int = 25) -> float:
        """How many more iterations a gap of ``tol`` takes if it closes as of late.

        log(dual / (primal - dual)) grows by about the same amount in each iteration, from the
        first ones, where the dual is near zero, to the last, where the gap is.
        """
        if len(self._rows) < 2 * window:
            return 0.0
        earlier, now = (
            np.log(max(dual, 1e-300) / max(primal - dual, 1e-300))
            for primal, dual, *_ in (self._rows[-window - 1], self._rows[-1])
        )
        return float((-np.log(tol) - now) * window / max(now - earlier, 1e-300))

    def as_dict(self) -> dict[str, np.ndarray]:
        """One array for each quantity, with an entry for each iteration."""
        names = (*_COLUMNS, *(f"seconds_{what}" for what in _TIMED))
        columns = np.array(self._rows).reshape(-1, len(names)).T
        counts = {"planes", "oracle_calls", "passes"}
        return {
            name: column.astype(np.int64) if name in counts else column
            for name, column in zip(names, columns, strict=True)
        }
