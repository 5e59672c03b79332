import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.metrics import accuracy_score, balanced_accuracy_score, f1_score

from skrank._threshold import CRITERIA, choose_threshold

MEASURES = {
    "f1": lambda y, prediction: f1_score(y, prediction, zero_division=0.0),
    "accuracy": accuracy_score,
    "balanced_accuracy": balanced_accuracy_score,
}
NAMES = sorted(MEASURES)


def brute_force(scores, positive, criterion):
    """Best value of the criterion over every way to cut the sorted scores."""
    cuts = np.concatenate([[-np.inf], np.unique(scores)])
    return max(MEASURES[criterion](positive, scores > cut) for cut in cuts)


def test_every_criterion_is_tested():
    assert set(CRITERIA) == set(MEASURES)


def labelled_scores(scores):
    rows = st.lists(st.tuples(scores, st.booleans()), min_size=2, max_size=12)
    return rows.filter(lambda drawn: len({label for _, label in drawn}) == 2)


@pytest.mark.parametrize("criterion", NAMES)
@given(rows=labelled_scores(st.one_of(st.integers(-3, 3).map(float), st.floats(-1e12, 1e12))))
@example(rows=[(1.0, True), (np.nextafter(1.0, 2.0), False)])
@example(rows=[(1.0, False), (np.nextafter(1.0, 2.0), True)])
@example(rows=[(5e-324, True), (0.0, False), (-0.0, True)])
@example(rows=[(1e300, True), (-1e300, False)])
@example(rows=[(0.0, True), (0.0, False)])
def test_is_as_good_as_the_best_of_all_cuts(criterion, rows):
    scores = np.array([score for score, _ in rows])
    positive = np.array([label for _, label in rows])
    threshold = choose_threshold(scores, positive, criterion)
    assert np.isfinite(threshold)
    attained = MEASURES[criterion](positive, scores > threshold)
    assert attained == pytest.approx(brute_force(scores, positive, criterion), abs=1e-12)


@pytest.mark.parametrize("criterion", NAMES)
@given(rows=labelled_scores(st.integers(-3, 3).map(float)), seed=st.integers(0, 99))
def test_does_not_depend_on_the_order_of_the_rows(criterion, rows, seed):
    scores = np.array([score for score, _ in rows])
    positive = np.array([label for _, label in rows])
    shuffled = np.random.default_rng(seed).permutation(len(rows))
    assert choose_threshold(scores, positive, criterion) == choose_threshold(
        scores[shuffled], positive[shuffled], criterion
    )


@pytest.mark.parametrize("criterion", NAMES)
def test_lies_midway_between_separated_classes(criterion):
    scores = np.array([4.0, -1.0, 0.0, 2.0])
    positive = np.array([True, False, False, True])
    assert choose_threshold(scores, positive, criterion) == 1.0


def test_midpoint_of_adjacent_floats_separates_them():
    for lower in (1.0, -1.0, 0.0, 1e-30, 3e30, -7.5):
        upper = np.nextafter(lower, np.inf)
        threshold = choose_threshold(np.array([lower, upper]), np.array([False, True]), "f1")
        assert lower <= threshold < upper


@pytest.mark.parametrize("lowest", [-3.0, 0.0, -1e30, 1e30])
def test_everything_may_be_positive(lowest):
    scores = np.array([lowest, lowest])
    threshold = choose_threshold(scores, np.array([True, False]), "f1")
    assert np.all(scores > threshold)


@pytest.mark.parametrize("highest", [-3.0, 0.0, 1e30])
def test_everything_may_be_negative(highest):
    scores = np.array([highest, highest, highest])
    threshold = choose_threshold(scores, np.array([True, False, False]), "accuracy")
    assert not np.any(scores > threshold)


def test_highest_of_equally_good_thresholds_wins():
    scores = np.array([1.0, 2.0, 3.0, 4.0])
    positive = np.array([False, True, False, True])
    assert choose_threshold(scores, positive, "accuracy") == 3.5


@pytest.mark.parametrize("criterion", NAMES)
@pytest.mark.parametrize("label", [True, False])
def test_one_class_is_predicted_throughout(criterion, label):
    scores = np.array([1.0, 2.0, 3.0])
    threshold = choose_threshold(scores, np.full(3, label), criterion)
    assert np.all((scores > threshold) == label)


def test_integer_scores():
    assert choose_threshold(np.array([0, 1]), np.array([False, True]), "f1") == 0.5


@pytest.mark.parametrize("number", [0.25, -3, np.float32(1.5), np.int64(2)])
def test_a_number_is_the_threshold(number):
    threshold = choose_threshold(np.array([0.0, 1.0]), np.array([True, False]), number)
    assert isinstance(threshold, float)
    assert threshold == number


@pytest.mark.parametrize("criterion", ["F1", "precision", None, True, [0.5], np.nan, np.inf])
def test_unknown_criterion_lists_the_known_ones(criterion):
    with pytest.raises(ValueError, match=r"'f1', 'accuracy', 'balanced_accuracy'.*number"):
        choose_threshold(np.array([0.0, 1.0]), np.array([True, False]), criterion)


@pytest.mark.parametrize("criterion", NAMES)
@pytest.mark.parametrize("label", [True, False])
def test_small_scores_are_still_apart_next_to_the_threshold(criterion, label):
    scores = 1e-17 * np.arange(10.0)
    threshold = choose_threshold(scores, np.full(10, label), criterion)
    assert np.all(np.diff(scores - threshold) > 0)


@pytest.mark.parametrize("criterion", NAMES)
def test_rows_of_weight_zero_leave_no_trace(criterion):
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores, positive = rng.standard_normal(12), rng.random(12) < 0.5
        weight = rng.integers(0, 3, 12).astype(float)
        weight[:2] = 1.0
        rows = np.repeat(np.arange(12), weight.astype(int))
        expected = choose_threshold(scores[rows], positive[rows], criterion)
        assert choose_threshold(scores, positive, criterion, weight) == expected
