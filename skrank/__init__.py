"""Structured support vector machines for losses of rankings and sets, at home in scikit-learn."""

from skrank.estimators import APSVC, NDCGSVC, LovaszHingeClassifier, RankSVC, StructRankSVM

__all__ = ["APSVC", "NDCGSVC", "LovaszHingeClassifier", "RankSVC", "StructRankSVM", "__version__"]
__version__ = "0.1.0.dev0"
