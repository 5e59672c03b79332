"""Set losses by their names, and whatever else can be made one."""

from __future__ import annotations

from skrank.losses._own_sets import SetLoss
from skrank.losses._set_loss import BaseSetLoss
from skrank.losses._set_losses import (
    CappedWeighted,
    ConcaveCardinality,
    EarlyDetection,
    Hamming,
    Jaccard,
)

NAMED: dict[str, type[BaseSetLoss]] = {
    "jaccard": Jaccard,
    "hamming": Hamming,
    "capped_weighted": CappedWeighted,
    "concave_cardinality": ConcaveCardinality,
    "early_detection": EarlyDetection,
}


def as_set_loss(loss) -> BaseSetLoss:
    """A set loss, checked, from its name, a loss, or what can be made one."""
    if isinstance(loss, str):
        if loss not in NAMED:
            raise ValueError(
                f"Unknown loss {loss!r}. Choose one of {', '.join(NAMED)}, or give a loss of "
                "skrank.losses, or a function loss(mispredicted, y_true) of your own. Dice is a "
                "metric only, skrank.metrics.dice_loss: it is not submodular."
            )
        return NAMED[loss]()
    made = isinstance(loss, BaseSetLoss)
    if isinstance(loss, type) or not (made or hasattr(loss, "marginals") or callable(loss)):
        raise TypeError(
            f"loss={loss!r} was given, but the name of a set loss, a set loss of skrank.losses "
            "such as Jaccard(), a function loss(mispredicted, y_true), or an object with a method "
            "marginals(order, y_true) was expected."
        )
    if not made:
        loss = SetLoss(loss)
    loss.check()
    return loss
