"""Structured losses as functions of scores: ``loss.bind(y, groups)`` gives the objective.

An objective maps scores to the value and one subgradient of a convex, piecewise linear bound of
the loss. It knows labels and lists, never the data.
"""

from skrank._groups import Groups
from skrank.losses._average_precision import AveragePrecision
from skrank.losses._hinge import Hinge
from skrank.losses._ndcg import NDCG
from skrank.losses._own import PositionLoss, QSLoss
from skrank.losses._own_sets import SetLoss
from skrank.losses._ranking_risk import RankingRisk
from skrank.losses._set_losses import (
    CappedWeighted,
    ConcaveCardinality,
    EarlyDetection,
    Hamming,
    Jaccard,
)
from skrank.losses._shipped import PrecisionAtK, ReciprocalRank, ROCArea

__all__ = [
    "NDCG",
    "AveragePrecision",
    "CappedWeighted",
    "ConcaveCardinality",
    "EarlyDetection",
    "Groups",
    "Hamming",
    "Hinge",
    "Jaccard",
    "PositionLoss",
    "PrecisionAtK",
    "QSLoss",
    "ROCArea",
    "RankingRisk",
    "ReciprocalRank",
    "SetLoss",
]
