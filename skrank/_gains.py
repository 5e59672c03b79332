"""Gains of grades, for the metric and for the loss."""

from __future__ import annotations

import numpy as np

GAINS = ("exponential", "linear")


def check_gain(gain: str) -> None:
    """Raise a ValueError unless the gain is known."""
    if gain not in GAINS:
        raise ValueError(f"Unknown gain {gain!r}. Choose one of {', '.join(GAINS)}.")


def apply_gain(grades: np.ndarray, gain: str) -> np.ndarray:
    """2**y - 1 or y."""
    return np.exp2(grades) - 1.0 if gain == "exponential" else grades
