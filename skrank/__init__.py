"""Structured support vector machines for ranking losses, at home in scikit-learn."""

from skrank.estimators import APSVC

__all__ = ["APSVC", "__version__"]
__version__ = "0.1.0.dev0"
