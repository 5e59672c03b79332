"""What every objective asks of the scores it is given."""

from __future__ import annotations

import numpy as np

from skrank._jit import jit

# Sums and differences of scores stay finite up to here.
LARGEST = 1e300


@jit(reorder=True)
def any_out_of_range(scores):
    """Whether a score is nan, infinite or larger than kernels can compute with."""
    count = 0
    for row in range(scores.size):
        count += not abs(scores[row]) <= LARGEST
    return count > 0


def check_scores(scores, n_rows: int) -> np.ndarray:
    """Scores as kernels want them: one for each row, float64, contiguous, in range."""
    scores = np.require(scores, np.float64, ["C", "W"])
    if scores.shape != (n_rows,):
        raise ValueError(
            f"scores have shape {scores.shape}, but the loss was bound to {n_rows} rows. Give one "
            f"score for each row, of shape ({n_rows},)."
        )
    if any_out_of_range(scores):
        raise FloatingPointError(
            f"scores must be finite and at most {LARGEST:g} in size. Scale the features, or look "
            "for values among them that are out of all proportion."
        )
    return scores
