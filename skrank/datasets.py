"""Made-up data on which losses of whole sets and rankings differ from losses of single rows."""

from __future__ import annotations

import numpy as np
from sklearn.utils import check_random_state

from skrank._validation import check_count, check_real, check_whole

__all__ = ["make_early_detection", "make_windows"]

# Where positive elements lie early and late in a sequence; negative ones lie around zero.
EARLY, LATE = (2.0, 0.0), (-1.0, 2.0)
# The shortest and the longest side of boxes in an image whose sides are 1.
SHORT, LONG = 0.1, 0.5
# The share of windows near an object or clutter, and the largest spread of these about it.
NEAR, FAR_OFF = 2 / 3, 0.5
# How much the contrast of images differs.
CONTRAST = 0.5


def make_early_detection(n_bags=1000, *, n_elements=15, n_early=5, random_state=None):
    """Sequences in which early positives look different from late ones.

    As in the synthetic problem of [1]_: a bag is a sequence of elements with two features. Each
    element is positive or negative with equal probability. Negative elements are drawn around the
    origin all along, positive ones around (2, 0) among the first elements and around (-1, 2)
    later, all with unit variance. No line separates the negative elements from both kinds of
    positive ones, so a linear model has to choose; a loss that counts early mistakes most, such as
    :class:`~skrank.losses.EarlyDetection`, makes it choose the early ones.

    Parameters
    ----------
    n_bags : int, default=1000
        The number of sequences.
    n_elements : int, default=15
        The number of elements in each.
    n_early : int, default=5
        How many elements of each are early.
    random_state : int, RandomState instance or None, default=None
        Seed for reproducible data.

    Returns
    -------
    X : ndarray of shape (n_bags, n_elements, 2)
        Features of each element.
    y : ndarray of int of shape (n_bags, n_elements)
        1 for positive elements.

    References
    ----------
    .. [1] J. Yu, M. B. Blaschko, "The Lovász hinge: a convex surrogate for submodular losses",
       2015.

    Examples
    --------
    >>> from skrank.datasets import make_early_detection
    >>> X, y = make_early_detection(200, random_state=0)
    >>> X.shape, y.shape
    ((200, 15, 2), (200, 15))
    """
    check_count("n_bags", n_bags, hint="It is the number of sequences.")
    check_count("n_elements", n_elements, hint="It is the length of each sequence.")
    check_whole("n_early", n_early, hint="It is the number of early elements in each sequence.")
    if not 0 <= n_early <= n_elements:
        raise ValueError(
            f"n_early={n_early} was given for sequences of {n_elements} elements, but it must lie "
            "between 0 and that number."
        )
    rng = check_random_state(random_state)
    y = rng.randint(2, size=(n_bags, n_elements))
    X = rng.standard_normal(size=(n_bags, n_elements, 2))
    is_early = np.arange(n_elements)[:, None] < n_early
    X += y[:, :, None] * np.where(is_early, EARLY, LATE)
    return X, y


def make_windows(
    n_images=50,
    *,
    n_windows=1000,
    n_objects=3,
    n_clutter=20,
    n_features=10,
    noise=0.2,
    random_state=None,
):
    """Candidate windows of images, to rank by how well they fit an object.

    A model of what a detector of objects gets to see, as in the experiment of [1]_. An image has
    sides of 1. In it there are objects, which are to be found, and clutter, which looks somewhat
    like them; both are boxes and differ in how clearly they stand out. Two thirds of the windows
    are near one of these boxes, moved and stretched at random, and one third is anywhere.

    The features are such as measures of objectness give. Each is a sum of six cues: how much a
    window overlaps with the object that fits it best, which share of the window lies in the
    object, and which share of the object in the window, all times how clearly it stands out; and
    the same for clutter. All images have the same weights of the cues, which are drawn for each
    feature. To the sum comes noise. Then the features of an image are multiplied by its contrast,
    and shifted by its brightness, so that they are comparable within the image only.

    Parameters
    ----------
    n_images : int, default=50
        The number of images. With the same seed, more images begin with the same ones.
    n_windows : int, default=1000
        The number of windows in each image.
    n_objects : int, default=3
        The number of objects in each image.
    n_clutter : int, default=20
        The number of boxes of clutter in each image.
    n_features : int, default=10
        The number of features of a window.
    noise : float, default=0.2
        Standard deviation of the noise in each feature, before contrast. A cue is at most 1.
    random_state : int, RandomState instance or None, default=None
        Seed for reproducible data.

    Returns
    -------
    X : ndarray of shape (n_images * n_windows, n_features)
        Features of each window, those of the first image first.
    y : ndarray of shape (n_images * n_windows,)
        Relevance: the largest overlap of the window with an object of its image, as area of the
        intersection over area of the union.
    qid : ndarray of int of shape (n_images * n_windows,)
        The image of each window: 0, 1, ...
    boxes : ndarray of shape (n_images * n_windows, 4)
        The windows themselves, as left, top, right and bottom.
    objects : ndarray of shape (n_images, n_objects, 4)
        The objects of each image, in the same form. ``objects[qid]`` has those of each window.

    See Also
    --------
    skrank.StructRankSVM : A ranker for real-valued relevance such as y.

    References
    ----------
    .. [1] M. B. Blaschko, A. Mittal, E. Rahtu, "An O(n log n) cutting plane algorithm for
       structured output ranking", GCPR 2014.

    Examples
    --------
    >>> from skrank.datasets import make_windows
    >>> X, y, qid, boxes, objects = make_windows(4, n_windows=200, random_state=0)
    >>> X.shape, y.shape, boxes.shape, objects.shape
    ((800, 10), (800,), (800, 4), (4, 3, 4))

    A model is trained on some images and ranks the windows of others.

    >>> from skrank import StructRankSVM
    >>> train = qid < 3
    >>> model = StructRankSVM().fit(X[train], y[train], qid=qid[train])
    >>> model.score(X[~train], y[~train], qid=qid[~train]) > 0.75
    True
    """
    check_count("n_images", n_images, hint="It is the number of images.")
    check_count("n_windows", n_windows, hint="It is the number of windows in each image.")
    check_count("n_objects", n_objects, hint="It is the number of objects in each image.")
    check_whole("n_clutter", n_clutter, hint="It is the number of boxes of clutter in each image.")
    if n_clutter < 0:
        raise ValueError(
            f"n_clutter={n_clutter} was given, but it must not be negative. Images without "
            "clutter have n_clutter=0."
        )
    check_count("n_features", n_features, hint="It is the number of features of a window.")
    check_real("noise", noise)
    if noise < 0:
        raise ValueError(f"noise={noise!r} was given, but it must not be negative.")
    rng = check_random_state(random_state)
    weights = rng.uniform(size=(6, n_features))
    X = np.empty((n_images, n_windows, n_features))
    y = np.empty((n_images, n_windows))
    boxes = np.empty((n_images, n_windows, 4))
    objects = np.empty((n_images, n_objects, 4))
    for image in range(n_images):
        things = _boxes_anywhere(rng, n_objects + n_clutter)
        clarity = rng.uniform(size=len(things))
        windows = boxes[image] = _windows_about(rng, things, n_windows)
        true, clutter = slice(n_objects), slice(n_objects, None)
        objects[image] = things[true]
        object_cues, y[image] = _cues(windows, things[true], clarity[true])
        clutter_cues, _ = _cues(windows, things[clutter], clarity[clutter])
        seen = np.hstack([object_cues, clutter_cues]) @ weights
        seen += noise * rng.standard_normal(seen.shape)
        contrast = np.exp(CONTRAST * rng.standard_normal())
        X[image] = contrast * seen + rng.standard_normal(n_features)
    qid = np.repeat(np.arange(n_images), n_windows)
    return X.reshape(-1, n_features), y.ravel(), qid, boxes.reshape(-1, 4), objects


def _boxes_anywhere(rng, n: int) -> np.ndarray:
    """Boxes of all sizes, as likely anywhere in the image."""
    size = np.exp(rng.uniform(np.log(SHORT), np.log(LONG), size=(n, 2)))
    return _box(rng.uniform(size=(n, 2)) * (1 - size), size)


def _windows_about(rng, things: np.ndarray, n: int) -> np.ndarray:
    """Windows near one of the things, moved and stretched, or anywhere."""
    thing = things[rng.randint(len(things), size=n)]
    thing_size = thing[:, 2:] - thing[:, :2]
    off = rng.uniform(0, FAR_OFF, size=(n, 1))  # small for some, so that there are close fits
    size = np.minimum(thing_size * np.exp(off * rng.standard_normal((n, 2))), 1)
    centre = thing[:, :2] + thing_size * (0.5 + off * rng.standard_normal((n, 2)))
    near = _box(np.clip(centre - size / 2, 0, 1 - size), size)
    is_near = rng.uniform(size=(n, 1)) < NEAR
    return np.where(is_near, near, _boxes_anywhere(rng, n))


def _box(corner: np.ndarray, size: np.ndarray) -> np.ndarray:
    """Left, top, right and bottom; rounding does not lead out of the image."""
    return np.hstack([corner, np.minimum(corner + size, 1)])


def _cues(windows: np.ndarray, things: np.ndarray, clarity: np.ndarray):
    """Three cues of each window from the thing that fits it best, and its overlap with that."""
    if len(things) == 0:
        return np.zeros((len(windows), 3)), np.zeros(len(windows))
    sides = np.minimum(windows[:, None, 2:], things[:, 2:])
    sides -= np.maximum(windows[:, None, :2], things[:, :2])
    shared = np.prod(np.maximum(sides, 0), axis=-1)
    of_window = np.prod(windows[:, 2:] - windows[:, :2], axis=1)[:, None]
    of_thing = np.prod(things[:, 2:] - things[:, :2], axis=1)
    overlap = shared / (of_window + of_thing - shared)
    every, best = np.arange(len(windows)), overlap.argmax(axis=1)
    values = [share[every, best] for share in (overlap, shared / of_window, shared / of_thing)]
    return np.column_stack(values) * clarity[best, None], values[0]
