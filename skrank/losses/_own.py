"""Losses of one's own: from the steps of a loss, or from the costs of which it is a sum."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numba
import numpy as np
from numba.core.errors import NumbaError

from skrank._groups import Groups
from skrank.kernels import _inspection
from skrank.kernels._interleaving import compile_function
from skrank.losses._arguments import check_binary, check_scores
from skrank.losses._binary import BinaryLoss
from skrank.losses._lists import whole_lists
from skrank.losses._objective import (
    ANY_ALGORITHMS,
    QS_ALGORITHMS,
    CompiledLoss,
    check_algorithm,
)

# With more pairs of a positive and a negative than this, a part of the positives is looked at.
MAX_PAIRS = 10**8
# Exceptions are looked for more slowly, at fewer of them.
MAX_PROBES = 10**7
# Running sums of increments are kept for every 16th number of negatives, or fewer of a long list.
MIN_SHIFT = 4
MAX_SUMS = 2**22
# What counts as rounding of a step and of a sum of them, relative to the largest step.
ROUNDING = 1e-12
ROUNDING_OF_SUMS = 1e-9


class OwnLoss(BinaryLoss):
    """What the two kinds of losses of one's own have in common."""

    # whether the function may do things that compiled code cannot report
    _of_a_user = True

    def loss_of_each_list(self, y: np.ndarray, scores: np.ndarray, groups: Groups) -> np.ndarray:
        """The loss of the ranking by score, the mean over the orders of tied rows.

        It is nan for lists without a relevant row.
        """
        self.check()
        y, groups = check_binary(y, groups)
        scores = check_scores(scores, y.size)
        rows, start, middle, end = whole_lists(y, groups)
        loss = self._compiled(middle - start, end - middle, whole=True)
        losses = np.empty(start.size)
        compiled = (loss.step.address, loss.cost.address)
        _inspection.expected_costs(compiled, loss.tables, scores, rows, start, middle, end, losses)
        return np.where(middle > start, losses, np.nan)

    def check(self) -> None:
        """Raise an error unless the parameters are of the right kind; compiles the function."""
        check_algorithm(self.algorithm, QS_ALGORITHMS)
        self._functions()

    def _functions(self) -> dict[str, Any]:
        """The compiled functions by name."""
        raise NotImplementedError

    def _compiled(
        self, n_pos: np.ndarray, n_neg: np.ndarray, *, whole: bool = False
    ) -> CompiledLoss:
        """The loss of lists of these sizes, after a look at all its values.

        ``whole`` asks for the costs as they are, not for how much they are above the lowest.
        """
        raise NotImplementedError


class QSLoss(OwnLoss):
    """A loss of one's own, given by what it grows by when a negative moves above a positive.

    It must be a sum over pairs of a positive and a negative that stands above it: if these are the
    i-th positive from the top and the j-th negative from the top, the pair adds
    ``increment(j, i, n_pos, n_neg)``. This increment must not rise with j, condition (C2) of [1]_:
    each further negative above a positive does no more harm than the one before. Every value is
    looked at when the loss is bound to data, and a rise is an error that names j and i. For losses
    with rises, or whose costs are easier to write down, see :class:`PositionLoss`.

    Parameters
    ----------
    increment : callable
        Function of four integers, ``increment(j, i, n_pos, n_neg)`` with j in 1..n_neg and i in
        1..n_pos, compiled by numba: a plain function of numbers, or one that is compiled already.
        Numbers that it takes from outside are those of its first use.
    algorithm : {"auto", "quicksort", "greedy", "dynamic"}, default="auto"
        How the most violating ranking is found; see :class:`AveragePrecision`.

    Notes
    -----
    The loss itself is a sum of up to ``n_pos * n_neg`` increments. When it is bound to data all of
    them are evaluated, and running sums are stored so that later on a few suffice.

    References
    ----------
    .. [1] Mohapatra, Rolinek, Jawahar, Kolmogorov, Kumar: Efficient Optimization for Rank-based
       Loss Functions. CVPR 2018.

    Examples
    --------
    Average precision:

    >>> import numpy as np
    >>> from skrank.losses import AveragePrecision, QSLoss
    >>> def increment(j, i, n_pos, n_neg):
    ...     return (j / (i + j) - (j - 1) / (i + j - 1)) / n_pos
    >>> y, scores = np.array([True, False, True]), np.array([0.1, 0.3, 0.2])
    >>> value, gradient = QSLoss(increment).bind(y)(scores)
    >>> same, _ = AveragePrecision().bind(y)(scores)
    >>> bool(np.isclose(value, same))
    True
    """

    def __init__(self, increment, algorithm="auto"):
        self.increment = increment
        self.algorithm = algorithm

    def _functions(self) -> dict[str, Any]:
        return compile_own(self.increment, "increment", (4,), _from_increment)

    def _compiled(self, n_pos, n_neg, *, whole=False):
        functions = self._functions()
        stored = {}
        shapes = _shapes(n_pos, n_neg)
        for p, n in shapes:
            shift = MIN_SHIFT
            while p * ((n >> shift) + 1) > MAX_SUMS // len(shapes) and n >> shift:
                shift += 1
            # the shift itself comes first
            table = np.empty(1 + p * ((n >> shift) + 1))
            table[0] = shift
            loss = (functions["step"].address, 0, 0, p, n)
            positives = np.arange(1, p + 1)
            _try(functions["probe"], "increment", 1, p, n)
            found = _inspect(loss, positives, shift, table[1:].reshape(p, (n >> shift) + 1))
            _check_steps(found, positives, "increment(j={j}, i={i}, n_pos={p}, n_neg={n})", p, n)
            rise = _largest_rise(found, positives)
            if rise is not None and not whole:
                j, i = rise
                step = functions["inner"]
                raise ValueError(
                    f"The increment rises with j, from {step(j - 1, i, p, n):.6g} at j={j - 1}, "
                    f"i={i} to {step(j, i, p, n):.6g} at j={j}, i={i} (n_pos={p}, n_neg={n}), so "
                    "the loss is not QS-suitable. Give it as a PositionLoss, which any sum of "
                    "costs over the positives can be."
                )
            stored[p, n] = table
        of_lists = zip(n_pos.tolist(), n_neg.tolist(), strict=True)
        return CompiledLoss(
            step=functions["step"],
            cost=functions["cost"],
            unit=np.ones(n_pos.size),
            tables=np.array([stored[shape].ctypes.data for shape in of_lists], np.int64),
            alive=stored,
        )


class PositionLoss(OwnLoss):
    """A loss of one's own that is a sum of costs over the relevant rows.

    ``cost(i, j)`` is the cost of the i-th relevant row from the top when j irrelevant rows stand
    above it, which is then at place i + j. Any loss that is a sum of such costs will do, as long
    as no cost is below ``cost(i, 0)``. All values are looked at when the loss is bound to data (of
    a part of the positives where there are more than 10^8 pairs): if every ``cost(i, .)`` is
    concave in j, as for average precision, the fast algorithms for QS-suitable losses are exact
    and used; otherwise a dynamic programme.

    Parameters
    ----------
    cost : callable
        Function of two integers, ``cost(i, j)``, or of four, ``cost(i, j, n_pos, n_neg)``, with i
        in 1..n_pos and j in 0..n_neg, compiled by numba: a plain function of numbers, or one that
        is compiled already. Numbers that it takes from outside are those of its first use.
    algorithm : {"auto", "quicksort", "greedy", "dynamic"}, default="auto"
        How the most violating ranking is found; see :class:`AveragePrecision`. "quicksort" and
        "greedy" are an error where costs are not concave.

    Notes
    -----
    The bound is one of how much the loss is above that of the best ranking, the sum of
    ``cost(i, 0)``.

    The dynamic programme takes O(N log N + P J) and P J bits of memory for P relevant and N
    irrelevant rows, where J is the largest j at which a cost changes: few where only the first
    places count.

    Examples
    --------
    The share of relevant rows that are not among the first five:

    >>> import numpy as np
    >>> from skrank.losses import PositionLoss
    >>> def cost(i, j, n_pos, n_neg):
    ...     return 1.0 / n_pos if i + j > 5 else 0.0
    >>> y = np.arange(20) % 5 == 0
    >>> value, gradient = PositionLoss(cost).bind(y)(np.linspace(0.0, 0.1, 20))
    >>> round(value, 2)
    1.05
    """

    def __init__(self, cost, algorithm="auto"):
        self.cost = cost
        self.algorithm = algorithm

    def _functions(self) -> dict[str, Any]:
        return compile_own(self.cost, "cost", (2, 4), _from_cost)

    def _compiled(self, n_pos, n_neg, *, whole=False):
        functions = self._functions()
        reach, concave = 0, True
        for p, n in [] if whole else _shapes(n_pos, n_neg):
            positives = _some_positives(p, n, MAX_PAIRS)
            if self._of_a_user:
                _try(functions["probe"], "cost", 0, p, n)
            loss = (functions["step"].address, functions["whole"].address, 0, p, n)
            found = _inspect(loss, positives, 0, np.empty((p, 0)))
            _check_steps(found, positives, "cost(i={i}, j={j}, n_pos={p}, n_neg={n})", p, n)
            concave &= _largest_rise(found, positives) is None
            reach = max(
                reach, int(found.reach.max()) if positives.size == p else self._last_step(n)
            )
        if not concave:
            why = ", whose costs are not concave in j"
            check_algorithm(self.algorithm, ANY_ALGORITHMS, why)
        return CompiledLoss(
            step=functions["step"],
            cost=functions["whole" if whole else "cost"],
            unit=np.ones(n_pos.size),
            reach=-1 if concave else reach,
            tables=np.zeros(n_pos.size, np.int64),
        )

    def _last_step(self, n_neg: int) -> int:
        """The largest j at which a cost may change, where not all costs are looked at."""
        return n_neg


def compile_own(
    function: Callable, name: str, arities: tuple[int, ...], derive: Callable
) -> dict[str, Any]:
    """What kernels need of a user's function, compiled at its first use."""
    python = getattr(function, "py_func", function)
    if not inspect.isfunction(python):
        raise TypeError(
            f"{name} is of type {type(function).__name__}, but a function of numbers was expected, "
            "written with def or lambda. What it needs besides, it may take from around it."
        )
    parameters = inspect.signature(python).parameters.values()
    n_arguments = sum(parameter.default is parameter.empty for parameter in parameters)
    if n_arguments not in arities:
        expected = " or ".join(map(str, arities))
        raise TypeError(f"{name} takes {n_arguments} arguments, but must take {expected}.")
    try:
        return _compile(python, n_arguments, derive)
    except (NumbaError, AttributeError) as error:
        raise ValueError(
            f"numba could not compile {name}. It must be a function of whole numbers that gives a "
            "number, made of arithmetic, comparisons and functions of math or NumPy; write "
            f"'1.0 if i + j > k else 0.0' for the number of a truth value. numba says: {error}"
        ) from error


@lru_cache(maxsize=64)
def _compile(python: Callable, n_arguments: int, derive: Callable) -> dict[str, Any]:
    # kernels cannot report exceptions, so the same is compiled once more to look for them
    fast = derive(numba.njit(error_model="numpy")(python), n_arguments)
    safe = numba.njit(error_model="python", boundscheck=True)(python)
    return fast | {"probe": _make_probe(safe, n_arguments, derive is _from_increment)}


def _make_probe(safe, n_arguments: int, by_increment: bool) -> Callable:
    """A function that evaluates a user's one everywhere, and lets exceptions through."""
    if by_increment:
        evaluate = numba.njit(lambda i, j, n_pos, n_neg: safe(j, i, n_pos, n_neg))
    elif n_arguments == 2:
        evaluate = numba.njit(lambda i, j, n_pos, n_neg: safe(i, j))
    else:
        evaluate = safe

    @numba.njit
    def probe(positives, first, n_pos, n_neg, place):
        total = 0.0
        for t in range(positives.size):
            for j in range(first, n_neg + 1):
                place[0], place[1] = positives[t], j
                total += evaluate(positives[t], j, n_pos, n_neg)
        return total

    return probe


def _try(probe: Callable, name: str, first: int, n_pos: int, n_neg: int) -> None:
    """Raise an error that says where the user's function raises one."""
    place = np.zeros(2, np.int64)
    try:
        probe(_some_positives(n_pos, n_neg, MAX_PROBES), first, n_pos, n_neg, place)
    except NumbaError:
        raise
    except Exception as error:
        i, j = place.tolist()
        raise ValueError(
            f"{name} raises {type(error).__name__} ({error}) at i={i}, j={j} (n_pos={n_pos}, "
            f"n_neg={n_neg}). It must return a number for every i and j."
        ) from error


def _from_increment(inner, n_arguments: int) -> dict[str, Any]:
    def step(j, i, n_pos, n_neg, table):
        return inner(j, i, n_pos, n_neg)

    def cost(n, i, n_pos, n_neg, table):
        """From the nearest sum that is stored."""
        shift = int(table[0])
        last = n_neg >> shift
        t = min((n + ((1 << shift) >> 1)) >> shift, last)
        total = table[1 + (i - 1) * (last + 1) + t]
        for j in range((t << shift) + 1, n + 1):
            total += inner(j, i, n_pos, n_neg)
        for j in range(n + 1, (t << shift) + 1):
            total -= inner(j, i, n_pos, n_neg)
        return total

    functions = {f.__name__: compile_function(f, cache=False) for f in (step, cost)}
    return functions | {"inner": inner}


def _from_cost(inner, n_arguments: int) -> dict[str, Any]:
    if n_arguments == 2:
        of_two = inner
        inner = numba.njit(lambda i, j, n_pos, n_neg: of_two(i, j))

    def step(j, i, n_pos, n_neg, table):
        return inner(i, j, n_pos, n_neg) - inner(i, j - 1, n_pos, n_neg)

    def cost(n, i, n_pos, n_neg, table):
        return inner(i, n, n_pos, n_neg) - inner(i, 0, n_pos, n_neg)

    def whole(n, i, n_pos, n_neg, table):
        return inner(i, n, n_pos, n_neg)

    return {f.__name__: compile_function(f, cache=False) for f in (step, cost, whole)}


def _shapes(n_pos: np.ndarray, n_neg: np.ndarray) -> list[tuple[int, int]]:
    """The different pairs of numbers of positives and negatives."""
    return sorted(set(zip(n_pos.tolist(), n_neg.tolist(), strict=True)))


def _some_positives(n_pos: int, n_neg: int, max_pairs: int) -> np.ndarray:
    """Positives to look at, from the first to the last: all, or as many as may be, at least two."""
    n = int(np.clip(max_pairs // max(n_neg, 1), min(2, n_pos), n_pos))
    return np.unique(np.linspace(1, n_pos, n).astype(np.int64))


def _inspect(loss, positives, shift, sums) -> _inspection.Findings:
    number, place = np.zeros(positives.size), np.zeros(positives.size, np.int64)
    found = _inspection.Findings(
        rise=number.copy(),
        rise_at=place.copy(),
        least=number.copy(),
        least_at=place.copy(),
        size=number.copy(),
        size_at=place.copy(),
        scale=number.copy(),
        reach=place.copy(),
    )
    _inspection.inspect(loss, positives, shift, sums, found)
    return found


def _check_steps(found, positives, call: str, p: int, n: int) -> None:
    """Steps must be finite, and must not sum up to less than nothing."""
    if positives.size == 0:
        return
    wrong = np.flatnonzero(~np.isfinite(found.size))
    if wrong.size:
        where = call.format(i=positives[wrong[0]], j=found.size_at[wrong[0]], p=p, n=n)
        raise ValueError(f"{where} is not finite. The loss must be finite for every ranking.")
    lowest = int(np.argmin(found.least))
    if found.least[lowest] < -ROUNDING_OF_SUMS * found.size.max():
        i, j = positives[lowest], found.least_at[lowest]
        raise ValueError(
            f"With {j} negatives above positive number {i} the loss is lower than with none, by "
            f"{-found.least[lowest]:.6g} (n_pos={p}, n_neg={n}). The ranking with all positives "
            "first must have the lowest loss: increments and costs say what rankings lose."
        )


def _largest_rise(found, positives) -> tuple[int, int] | None:
    """(j, i) where a step exceeds the one before by most, or None if none does."""
    if positives.size == 0:
        return None
    worst = int(np.argmax(found.rise))
    # of a difference of costs the rounding is one of the costs
    rounding = ROUNDING * found.size.max() + 4.0 * np.finfo(float).eps * found.scale.max()
    if found.rise[worst] <= rounding:
        return None
    return int(found.rise_at[worst]), int(positives[worst])
