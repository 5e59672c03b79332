"""Measures of rankings and of sets of labels, and scorers made from them."""

# The alias marks names that the rest of the package uses.
from skrank.metrics._average_precision import (
    average_precision_per_query as average_precision_per_query,
)
from skrank.metrics._average_precision import mean_average_precision
from skrank.metrics._average_precision import mean_over_classes as mean_over_classes
from skrank.metrics._inputs import read_queries as read_queries
from skrank.metrics._ndcg import log2_discount as log2_discount
from skrank.metrics._ndcg import mean_ndcg
from skrank.metrics._ndcg import ndcg_per_query as ndcg_per_query
from skrank.metrics._precision_at_k import mean_precision_at_k
from skrank.metrics._ranking import mean_over_queries as mean_over_queries
from skrank.metrics._ranking_risk import ranking_risk
from skrank.metrics._reciprocal_rank import mean_reciprocal_rank
from skrank.metrics._scorers import MeanAveragePrecisionScorer as MeanAveragePrecisionScorer
from skrank.metrics._scorers import (
    make_ranking_scorer,
    make_set_scorer,
    mean_average_precision_scorer,
    mean_dice_scorer,
    mean_jaccard_scorer,
    mean_ndcg_scorer,
    mean_precision_at_k_scorer,
    mean_reciprocal_rank_scorer,
    ranking_risk_scorer,
)
from skrank.metrics._sets import dice_loss, jaccard_loss, set_loss

__all__ = [
    "dice_loss",
    "jaccard_loss",
    "make_ranking_scorer",
    "make_set_scorer",
    "mean_average_precision",
    "mean_average_precision_scorer",
    "mean_dice_scorer",
    "mean_jaccard_scorer",
    "mean_ndcg",
    "mean_ndcg_scorer",
    "mean_precision_at_k",
    "mean_precision_at_k_scorer",
    "mean_reciprocal_rank",
    "mean_reciprocal_rank_scorer",
    "ranking_risk",
    "ranking_risk_scorer",
    "set_loss",
]
