"""Sorting what is short, and by whole numbers what is long."""

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


@jit
def refine(keys, low, n_entry_bits, values):
    """Put sorted keys right where their bits above ``low`` do not tell entries apart.

    The last bits of a key are the number of the entry, by whose value it is sorted.
    """
    entry = (np.int64(1) << n_entry_bits) - 1
    last = 0
    while last < keys.size:
        first = last
        last += 1
        differ = False
        while last < keys.size and keys[last] >> low == keys[first] >> low:
            differ |= values[keys[last] & entry] != values[keys[first] & entry]
            last += 1
        if not differ:
            continue
        run = keys[first:last].copy()
        run_values = np.empty(run.size)
        for k in range(run.size):
            run_values[k] = values[run[k] & entry]
        order = np.argsort(run_values, kind="mergesort")
        for k in range(run.size):
            keys[first + k] = run[order[k]]
