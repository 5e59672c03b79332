"""Estimators."""

from skrank.estimators._apsvc import APSVC
from skrank.estimators._lovasz import LovaszHingeClassifier
from skrank.estimators._ndcgsvc import NDCGSVC
from skrank.estimators._ranksvc import RankSVC
from skrank.estimators._structrank import StructRankSVM

__all__ = ["APSVC", "NDCGSVC", "LovaszHingeClassifier", "RankSVC", "StructRankSVM"]
