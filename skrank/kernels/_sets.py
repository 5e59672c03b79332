"""Sets of elements as kernels take them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Sets(NamedTuple):
    """Set q has the entries pointers[q], ..., pointers[q + 1] - 1; the rest is for each entry."""

    rows: np.ndarray  # where in the scores
    pointers: np.ndarray
    positive: np.ndarray
    n_pos: np.ndarray  # of each set
