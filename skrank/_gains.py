"""Grades of relevance and what they are worth: one definition for measures and losses."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np

# Sums of this many powers of two stay finite for any list that fits into memory.
LARGEST_GRADE = 1000.0


def check_grades(y, name: str) -> np.ndarray:
    """Grades as float64; an error unless they are finite numbers that are not negative."""
    grades = as_numbers(y, name).astype(np.float64, copy=False)
    fine = (grades >= 0.0) & (grades < np.inf)
    if not np.all(fine):
        row = int(np.flatnonzero(~fine)[0])
        raise ValueError(
            f"{name} is {grades[row]} at row {row}, but grades of relevance must be finite and not "
            "negative. Use 0 for irrelevant rows, for example with (y == 1) for labels -1 and 1, "
            "and drop rows without a grade."
        )
    return grades


def check_real_relevance(y, name: str) -> np.ndarray:
    """Relevance as float64; an error unless all are finite numbers."""
    relevance = as_numbers(y, name).astype(np.float64, copy=False)
    if not np.all(np.isfinite(relevance)):
        row = int(np.flatnonzero(~np.isfinite(relevance))[0])
        raise ValueError(
            f"{name} is {relevance[row]} at row {row}, but relevance must be finite. Drop rows "
            "without a known relevance."
        )
    return relevance


def as_numbers(y, name: str) -> np.ndarray:
    """An array of a number for each row, of its own type; an error if it is none."""
    relevance = np.asarray(y)
    if relevance.dtype.kind == "O":
        relevance = _of_objects(relevance)
    if relevance.dtype.kind not in "fiub":
        if relevance.dtype.kind in "mM":
            times = "y" if relevance.dtype.kind == "m" else "(y - y.min())"
            advice = f"Count time in a unit, as in {times} / np.timedelta64(1, 's')."
        else:
            advice = (
                "Give names of grades numbers, such as 0, 1 and 2, or compare labels with the "
                "relevant one, as in y == 'spam'; strings of numbers need astype(float)."
            )
        raise ValueError(
            f"{name} has dtype {relevance.dtype}, but relevance is given by numbers, higher for "
            f"more relevant rows. {advice} Drop rows without a known relevance."
        )
    if relevance.ndim != 1:
        raise ValueError(
            f"{name} has shape {relevance.shape}, but one number for each row is expected. Pass a "
            "1d array, and say with qid which rows are ranked together."
        )
    return relevance


def _of_objects(values: np.ndarray) -> np.ndarray:
    """Numbers among objects get their own type again; what is not all numbers stays as it is."""
    values = np.array(values.tolist())
    if values.dtype.kind == "O":
        with suppress(TypeError, ValueError):
            numbers = values.astype(np.float64)  # of decimals, say; None would become nan
            return values if np.isnan(numbers).any() else numbers
    return values


def check_gain(gain: object) -> None:
    """Raise a ValueError unless there is a gain of this name."""
    if not isinstance(gain, str) or gain not in GAINS:
        raise ValueError(f"Unknown gain {gain!r}. Choose one of {', '.join(GAINS)}.")


def apply_gain(y, gain: str) -> np.ndarray:
    """The gain of each grade, as float64; positive just where the grade is."""
    return GAINS[gain](np.asarray(y, dtype=np.float64))


def _exponential(grades: np.ndarray) -> np.ndarray:
    largest = grades.max(initial=0.0)
    if largest > LARGEST_GRADE:
        raise ValueError(
            f"The largest grade of relevance is {largest:g}, but the exponential gain 2**y - 1 is "
            f"for grades up to {LARGEST_GRADE:g}. Use gain='linear' or smaller grades."
        )
    # powers keep whole grades exact, expm1 keeps the smallest fractions above zero
    return np.where(grades < 1.0, np.expm1(grades * np.log(2.0)), np.exp2(grades) - 1.0)


def _linear(grades: np.ndarray) -> np.ndarray:
    return grades


GAINS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exponential": _exponential,
    "linear": _linear,
}
