"""Structured support vector machines for ranking losses, at home in scikit-learn."""

from skrank.estimators import APSVC, NDCGSVC, RankSVC

__all__ = ["APSVC", "NDCGSVC", "RankSVC", "__version__"]
__version__ = "0.1.0.dev0"
