"""Kernels on several threads: from how many rows on, in how many parts, and one at a time."""

from __future__ import annotations

import os
import threading

import numba

# With fewer rows in all, starting the threads takes as long as they save.
PARALLEL_ROWS = 8192
# How many parts the work is cut into for each thread: they take unequally long.
PARTS_A_THREAD = 8
# numba's portable threading layer aborts when two threads enter parallel kernels at once.
LOCK = threading.Lock()
# GNU's threads do not survive a fork: a forked process runs its kernels on one thread.
FORKED = False


def _after_fork() -> None:
    global FORKED, LOCK
    FORKED = True
    LOCK = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def several() -> bool:
    """Whether there are several threads to run on."""
    return not FORKED and numba.get_num_threads() > 1


def n_parts(n: int) -> int:
    """In how many parts n things are done."""
    return min(PARTS_A_THREAD * numba.get_num_threads(), n)


def run_in_parts(kernel, n: int, *arguments) -> None:
    """Call a parallel kernel with the number of parts, of things to do, and its arguments."""
    with LOCK:
        kernel(n_parts(n), n, *arguments)
