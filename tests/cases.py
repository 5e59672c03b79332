"""Data for oracles, and the ways there are to run one."""

import numpy as np
import pytest
from hypothesis import strategies as st
from sklearn.base import clone

from skrank import _threads
from skrank._groups import Groups
from skrank.losses import AveragePrecision, _lists
from skrank.losses._objective import ALGORITHMS

CLASSIC = [name for name in ALGORITHMS if name != "auto"]
ROUTES = {"short": (10**9, 10**9), "parallel": (10**9, 0), "long": (0, 10**9)}
SOLVERS = [*(f"auto-{route}" for route in ROUTES), *CLASSIC]


def bind(solver, y, groups=None, loss=None, **options):
    """An objective by the name of an algorithm, or by one of the ways "auto" may take."""
    algorithm, _, route = solver.partition("-")
    loss = AveragePrecision() if loss is None else loss
    loss = clone(loss).set_params(algorithm=algorithm)
    groups = Groups.single(y.size) if groups is None else groups
    with pytest.MonkeyPatch.context() as patch:
        if route:
            long_list, parallel_rows = ROUTES[route]
            patch.setattr(_lists, "LONG_LIST", long_list)
            patch.setattr(_threads, "PARALLEL_ROWS", parallel_rows)
        return loss.bind(y, groups, **options)


def tolerance(*scores):
    """Rounding is relative to the largest score, or to the loss if that is larger."""
    return 1e-13 * max(1.0, *(np.abs(s).max() for s in scores))


def random_case(rng, max_rows, max_lists=1):
    """Labels, lists and scores, some tied.

    Tied scores are multiples of an irrational number, as are all their differences; gains are
    rational up to those, hence never exactly zero, and the best ranking is unique up to ties.
    """
    n = int(rng.integers(2, max_rows + 1))
    y = rng.random(n) < rng.choice([0.1, 0.5, 0.9])
    y[rng.choice(n, size=2, replace=False)] = [True, False]
    groups = Groups.from_qid(rng.integers(0, rng.integers(1, max_lists + 1), size=n), n)
    if not any(0 < y[rows].sum() < rows.size for rows in split(groups)):
        groups = Groups.single(n)
    scores = rng.standard_normal(n) + rng.choice([0.0, 1.0, 4.0]) * y
    if rng.random() < 0.6:
        scores = np.round(scores * rng.choice([1.0, 3.0])) * np.sqrt(2.0)
    return y, groups, scores * 10.0 ** rng.integers(-3, 5)


def split(groups):
    return np.split(groups.rows, groups.pointers[1:-1])


@st.composite
def small_cases(draw, max_rows=8):
    n_pos = draw(st.integers(1, max_rows - 1))
    n_neg = draw(st.integers(1, max_rows - n_pos))
    y = np.array(draw(st.permutations([True] * n_pos + [False] * n_neg)))
    score = draw(
        st.sampled_from(
            [st.integers(-2, 2).map(float), st.floats(-4.0, 4.0, allow_subnormal=False)]
        )
    )
    scores = draw(st.lists(score, min_size=y.size, max_size=y.size))
    scale = draw(st.sampled_from([1e-12, 0.1, 1.0, np.sqrt(2.0), 30.0, 1e12]))
    return y, scale * np.array(scores)
