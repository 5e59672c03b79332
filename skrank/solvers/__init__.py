"""Solvers for 1/2 ||w||^2 + C R(Xw): they know neither X nor the loss."""

from skrank.solvers._minimise import Solution, minimise

__all__ = ["Solution", "minimise"]
