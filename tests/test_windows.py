"""Made-up windows of images: what their documentation promises, against slow references."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from skrank import StructRankSVM
from skrank.datasets import make_windows
from skrank.metrics import ranking_risk

SMALL = {"n_windows": 60, "n_objects": 2, "n_clutter": 3, "random_state": 0}


def area(box):
    """Of a box; 0 if its sides are crossed."""
    left, top, right, bottom = box
    return max(right - left, 0.0) * max(bottom - top, 0.0)


def shared_area(one, other):
    """Of the intersection of two boxes."""
    return area([*np.maximum(one[:2], other[:2]), *np.minimum(one[2:], other[2:])])


def overlap(one, other):
    """Area of the intersection over area of the union."""
    shared = shared_area(one, other)
    return shared / (area(one) + area(other) - shared)


@pytest.mark.parametrize("sizes", [(4, 30, 2, 5, 7), (1, 1, 1, 0, 1), (2, 50, 1, 3, 4)])
def test_shapes(sizes):
    n_images, n_windows, n_objects, n_clutter, n_features = sizes
    X, y, qid, boxes, objects = make_windows(
        n_images,
        n_windows=n_windows,
        n_objects=n_objects,
        n_clutter=n_clutter,
        n_features=n_features,
        random_state=0,
    )
    n_rows = n_images * n_windows
    assert X.shape == (n_rows, n_features)
    assert y.shape == (n_rows,)
    assert boxes.shape == (n_rows, 4)
    assert objects.shape == (n_images, n_objects, 4)
    assert_array_equal(qid, [image for image in range(n_images) for _ in range(n_windows)])
    assert np.all(np.isfinite(X))


def test_relevance_is_the_largest_overlap_with_an_object_of_the_image():
    _, y, qid, boxes, objects = make_windows(3, **SMALL)
    slow = [
        max(overlap(box, thing) for thing in objects[image])
        for box, image in zip(boxes, qid, strict=True)
    ]
    assert_allclose(y, slow, atol=1e-12)
    assert y.min() == 0  # there are windows far from any object
    assert 0.7 < y.max() <= 1  # and close fits


def test_boxes_lie_in_the_image():
    _, _, _, boxes, objects = make_windows(30, n_windows=300, random_state=0)
    for some in (boxes, objects.reshape(-1, 4)):
        assert some.min() >= 0
        assert some.max() <= 1
        assert np.all(some[:, 2:] > some[:, :2])


def test_the_seed_makes_the_data():
    first, again = make_windows(3, **SMALL), make_windows(3, **SMALL)
    for one, other in zip(first, again, strict=True):
        assert_array_equal(one, other)
    other_seed = make_windows(3, **{**SMALL, "random_state": 1})
    assert not np.allclose(first[0], other_seed[0])
    generator = make_windows(3, **{**SMALL, "random_state": np.random.RandomState(0)})
    assert_array_equal(first[0], generator[0])


def test_more_images_begin_with_the_same_ones():
    few, many = make_windows(2, **SMALL), make_windows(5, **SMALL)
    for one, other in zip(few, many, strict=True):
        assert_array_equal(one, other[: len(one)])


def test_features_without_noise_are_sums_of_cues():
    # one object and no clutter: in each image they are linear in the three cues and a constant
    X, y, qid, boxes, objects = make_windows(
        3, n_windows=100, n_objects=1, n_clutter=0, noise=0, random_state=0
    )
    shared = [shared_area(box, objects[image, 0]) for box, image in zip(boxes, qid, strict=True)]
    sizes = [area(box) for box in boxes]
    whole = [area(objects[image, 0]) for image in qid]
    cues = np.column_stack([y, np.divide(shared, sizes), np.divide(shared, whole), np.ones(len(y))])
    slopes = []
    for image in range(3):
        rows = qid == image
        solution, *_ = np.linalg.lstsq(cues[rows], X[rows], rcond=None)
        assert_allclose(cues[rows] @ solution, X[rows], atol=1e-10)
        slopes.append(solution[:3])
    # images differ in contrast and brightness, but not in the weights of the cues
    for one in slopes[1:]:
        assert np.all(one > 0)
        assert_allclose(one / one.sum(), slopes[0] / slopes[0].sum(), atol=1e-10)


def test_noise_buries_the_signal():
    scores = []
    for noise in (0.1, 10.0):
        X, y, qid, _, _ = make_windows(20, n_windows=200, noise=noise, random_state=0)
        model = StructRankSVM().fit(X[qid < 10], y[qid < 10], qid=qid[qid < 10])
        test = qid >= 10
        scores.append(1 - ranking_risk(y[test], model.predict(X[test]), qid=qid[test]))
    assert scores[0] > 0.8
    assert 0.45 < scores[1] < scores[0] - 0.1


@pytest.mark.parametrize("name", ["n_images", "n_windows", "n_objects", "n_features"])
def test_counts_are_checked(name):
    with pytest.raises(ValueError, match=f"{name}=0 was given, but it must be at least 1"):
        make_windows(**{name: 0})
    with pytest.raises(TypeError, match=f"{name} must be a whole number"):
        make_windows(**{name: 2.5})


def test_clutter_is_checked():
    with pytest.raises(ValueError, match=r"n_clutter=-1 was given.*have n_clutter=0"):
        make_windows(n_clutter=-1)
    with pytest.raises(TypeError, match="n_clutter must be a whole number"):
        make_windows(n_clutter="some")


@pytest.mark.parametrize("noise", [-0.1, np.inf, np.nan])
def test_noise_is_checked(noise):
    with pytest.raises(ValueError, match=r"noise=.* it must (not be neg|be a finite)"):
        make_windows(noise=noise)


def test_noise_must_be_a_number():
    with pytest.raises(TypeError, match="noise must be a number"):
        make_windows(noise="much")
