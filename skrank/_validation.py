"""Checks of constructor parameters, made at the top of ``fit``."""

from __future__ import annotations

from math import isfinite
from numbers import Integral, Real

import numpy as np


def check_positive(name: str, value: object, *, hint: str) -> float:
    """A real number above zero, as float."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a positive number, but {value!r} was given. {hint}")
    number = float(value)
    if not 0 < number < np.inf:
        raise ValueError(f"{name}={value!r} was given, but it must be above 0 and finite. {hint}")
    return number


def check_whole(name: str, value: object, *, hint: str) -> int:
    """A whole number."""
    if not isinstance(value, Integral):
        raise TypeError(f"{name} must be a whole number, but {value!r} was given. {hint}")
    return int(value)


def check_count(name: str, value: object, *, hint: str) -> int:
    """A whole number of at least one."""
    if isinstance(value, bool):
        raise TypeError(f"{name} must be a whole number, but {value!r} was given. {hint}")
    if check_whole(name, value, hint=hint) < 1:
        raise ValueError(f"{name}={value!r} was given, but it must be at least 1. {hint}")
    return int(value)  # type: ignore[call-overload]


def check_jobs(n_jobs: object) -> None:
    """None or a whole number other than zero, as joblib reads it."""
    if n_jobs is None:
        return
    hint = "None and 1 run one at a time, -1 uses all processors."
    if check_whole("n_jobs", n_jobs, hint=hint) == 0:
        raise ValueError(f"n_jobs=0 was given, but it must not be 0. {hint}")


def check_flag(name: str, value: object) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, but {value!r} was given.")
    return bool(value)


def check_fraction(name: str, value: object, *, hint: str) -> float:
    """A real number in [0, 1]."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number from 0 to 1, but {value!r} was given. {hint}")
    number = float(value)
    if not 0 <= number <= 1:
        raise ValueError(f"{name}={value!r} was given, but it must lie between 0 and 1. {hint}")
    return number


def check_choice(name: str, value: object, known: tuple[str, ...]) -> None:
    """Raise a ValueError unless the value is a known one."""
    if not (isinstance(value, str) and value in known):
        raise ValueError(f"Unknown {name} {value!r}. Choose one of {', '.join(known)}.")


def check_real(name: str, value: object) -> None:
    """Raise an error unless the value is a finite number."""
    if not isinstance(value, Real) or isinstance(value, bool):
        raise TypeError(f"{name} must be a number, but {value!r} was given.")
    try:
        finite = isfinite(value)
    except OverflowError:  # a whole number that no float64 can hold
        finite = False
    if not finite:
        raise ValueError(f"{name}={value!r} was given, but it must be a finite float64.")
