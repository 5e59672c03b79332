"""Set losses of one's own: a plain function, or an object that gives marginals along an order."""

from __future__ import annotations

import numpy as np

from skrank._groups import Groups
from skrank._validation import check_flag
from skrank.losses._inspection import check_values, inspect_large_sets, members
from skrank.losses._set_loss import BaseSetLoss
from skrank.losses._set_objective import OwnHinge, SetObjective
from skrank.losses._sets import all_subsets, as_sets, read_truth, same_sizes


class SetLoss(BaseSetLoss):
    """A submodular set loss of one's own.

    It must be 0 for a set without mistakes, nowhere negative, and submodular: a mistake adds no
    more to the loss of many mistakes than to that of a part of them. All of this is verified when
    the loss is bound to data, for sets of up to 10 elements completely and for larger ones on a
    sample of them, and an error shows the two sets of mistakes that violate it.

    Parameters
    ----------
    loss : callable or object
        Either a function ``loss(mispredicted, y_true)`` of two boolean arrays of shape
        (n_elements,), the second of which says what is positive, that returns a number. Or, which
        is faster for large sets, an object with a method ``marginals(order, y_true)``. Both its
        arguments have the shape (n_sets, n_elements): the elements of each set in the order in
        which they become mistakes, and which elements are positive. It returns, in that order, what
        each further mistake adds.
    increasing : bool or None, default=None
        Whether further mistakes never lower the loss; None takes the attribute ``increasing`` of
        `loss` where it has one, and else True. If so its Lovász hinge is that of
        Definition 5 of [1]_, which ignores elements on the right side of the margin; otherwise
        that of Definition 6. A loss that falls though it is declared to increase is an error.

    Notes
    -----
    Margin and slack rescaling take losses that are neither submodular nor increasing, too; for
    these only the values are verified.

    When it is bound a function is called for all sets of mistakes in up to 10 elements and each
    different truth, and then never again for these. Larger sets need a call for each element in
    every evaluation. Elements with equal scores become mistakes in the order of the rows.
    Losses between 0 and 1 make `C` and scores comparable with those of other losses.

    References
    ----------
    .. [1] J. Yu, M. B. Blaschko, "The Lovász hinge: a convex surrogate for submodular losses",
       2015.

    Examples
    --------
    The square root of the share of mistakes, as a function:

    >>> import numpy as np
    >>> from skrank.losses import SetLoss
    >>> loss = SetLoss(lambda mispredicted, y_true: np.sqrt(mispredicted.mean()))
    >>> y = np.array([[True, False, True, False]])
    >>> loss.loss_of_each_set(y, np.array([[True, False, False, False]]))
    array([0.5])
    >>> value, gradient = loss.bind(y)(np.zeros((1, 4)))
    >>> value
    1.0

    The same by its marginals, all sets at once:

    >>> class RootOfShare:
    ...     def marginals(self, order, y_true):
    ...         size = order.shape[1]
    ...         steps = np.diff(np.sqrt(np.arange(size + 1) / size))
    ...         return np.broadcast_to(steps, order.shape)
    >>> SetLoss(RootOfShare()).bind(y)(np.zeros((1, 4)))[0]
    1.0

    The square is not submodular:

    >>> SetLoss(lambda mispredicted, y_true: mispredicted.mean() ** 2).bind(y)
    Traceback (most recent call last):
    ...
    ValueError: The loss is not submodular: a mistake at element 0 adds 0.0625 to the mistakes [],
    but 0.1875 to the mistakes [1]...
    """

    def __init__(self, loss, increasing=None):
        self.loss = loss
        self.increasing = increasing

    def check(self) -> None:
        """Raise an error unless the parameters are of the right kind."""
        if self.increasing is not None:
            check_flag("increasing", self.increasing)
        if isinstance(self.loss, type) or not (self._has_marginals or callable(self.loss)):
            raise TypeError(
                f"loss={self.loss!r} was given, but a function loss(mispredicted, y_true) or an "
                "object with a method marginals(order, y_true) was expected."
            )

    def losses(self, mispredicted: np.ndarray, y_true: np.ndarray) -> np.ndarray:
        """The loss of sets of one size; see the base class."""
        mispredicted, y_true = _read_only(mispredicted), _read_only(y_true)
        if self._has_marginals:
            order = np.argsort(~mispredicted, axis=1, kind="stable")
            first = np.arange(order.shape[1]) < mispredicted.sum(axis=1)[:, None]
            return np.where(first, self.marginals(order, y_true), 0.0).sum(axis=1)
        values = [self.loss(*pair) for pair in zip(mispredicted, y_true, strict=True)]
        losses = _as_numbers("The loss", values, (len(mispredicted),))
        for k in np.flatnonzero(~np.isfinite(losses))[:1]:
            raise ValueError(
                f"The loss of the mistakes {members(mispredicted[k])} is {losses[k]} (positive "
                f"elements: {members(y_true[k])}), but it must be finite."
            )
        return losses

    def marginals(self, order: np.ndarray, y_true: np.ndarray) -> np.ndarray:
        """What each mistake adds to those before it; see the base class."""
        order, y_true = _read_only(order), _read_only(y_true)
        if self._has_marginals:
            gains = _as_numbers("marginals", self.loss.marginals(order, y_true), order.shape)
            if not np.all(np.isfinite(gains)):
                raise ValueError("marginals gave values that are not finite.")
            return gains
        place = np.argsort(order, axis=1)
        losses = np.zeros((order.shape[0], order.shape[1] + 1))
        for count in range(1, order.shape[1] + 1):
            losses[:, count] = self.losses(place < count, y_true)
        return np.diff(losses, axis=1)

    @property
    def _has_marginals(self) -> bool:
        return hasattr(self.loss, "marginals")

    @property
    def _is_increasing(self) -> bool:  # type: ignore[override]
        declared = getattr(self.loss, "increasing", None)
        if self.increasing is not None:
            declared = self.increasing
        return declared is None or bool(declared)

    def _check_truth(self, y: np.ndarray) -> None:
        if isinstance(self.loss, BaseSetLoss):
            self.loss.check()
            self.loss._check_truth(y)

    def _all_losses(self, truths: np.ndarray) -> np.ndarray:
        losses = super()._all_losses(truths)
        for values, truth in zip(losses, truths, strict=True):
            check_values(values, all_subsets(truth.size), truth)
        return losses

    def _losses_of_sets(self, sets, wrong: np.ndarray) -> np.ndarray:
        losses = np.zeros(sets.n_pos.size)
        for which, entries in same_sizes(sets):
            if entries.shape[1]:
                losses[which] = self.losses(wrong[entries], sets.positive[entries])
        return losses

    def _hinge(self, y: np.ndarray, groups: Groups | None) -> SetObjective:
        return OwnHinge(self, y, groups)

    def _rescaling(self, y: np.ndarray, groups: Groups | None, rescaling: int) -> SetObjective:
        # they bound any loss from above, submodular or not
        inspect_large_sets(self, as_sets(*read_truth(y, groups)), gains=False)
        return super()._rescaling(y, groups, rescaling)


def _read_only(array) -> np.ndarray:
    """A view that a user's function cannot change."""
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def _as_numbers(what: str, values, shape: tuple[int, ...]) -> np.ndarray:
    """What a user's function gave, as numbers; an error if they are none."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(f"{what} must be numbers, but reading them failed: {error}.") from error
    if numbers.shape != shape:
        each = "set" if len(shape) == 1 else "element of each set"
        raise ValueError(
            f"{what} gave values of shape {numbers.shape}, but {shape} was expected: one number "
            f"for each {each}."
        )
    return numbers
