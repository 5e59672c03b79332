"""Compile kernels with numba, cached on disk wherever a cache can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba


def jit(
    function: Callable[..., Any] | None = None,
    *,
    parallel: bool = False,
    reorder: bool = False,
    inline: bool = False,
) -> Any:
    """Compile ``function`` in nopython mode, without the GIL, and cache the machine code.

    ``reorder`` lets sums be taken in any order, which vectorises them; infinities and nan keep
    their meaning. ``inline`` copies the function into each that calls it, for what is called in
    innermost loops: there a call with several arrays costs as much as the work.

    A container may offer no writable folder for the cache. numba then refuses to decorate at all;
    compiling anew in each process is the better answer.
    """
    if function is None:
        return lambda f: jit(f, parallel=parallel, reorder=reorder, inline=inline)
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "parallel": parallel}
    if inline:
        options["inline"] = "always"
    if reorder:
        options["fastmath"] = {"reassoc", "contract", "nsz"}
    try:
        return numba.njit(cache=True, **options)(function)
    except RuntimeError as error:
        if "cache" not in str(error):
            raise
        return numba.njit(**options)(function)
