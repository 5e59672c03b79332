"""Estimators."""

from skrank.estimators._apsvc import APSVC

__all__ = ["APSVC"]
