"""Sorting what is short."""

from __future__ import annotations

import numpy as np

from skrank._jit import jit

# Counting is quadratic, but vectorised: up to here it is the faster way, by several times.
COUNT_UP_TO = 256


@jit
def ascending_order(values):
    """The order that sorts ``values``, equals in their order of appearance.

    A value belongs at the place #(smaller ones), and behind its equals that came before.
    """
    n = values.size
    if n > COUNT_UP_TO:
        return np.argsort(values, kind="mergesort")
    order = np.empty(n, np.int64)
    equals = np.zeros(n, np.int64)
    for i in range(n):
        value = values[i]
        place = 0
        for k in range(n):
            place += values[k] < value
        order[place + equals[place]] = i
        equals[place] += 1
    return order
