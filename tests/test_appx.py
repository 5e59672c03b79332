"""The two-stage approximation."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from skrank import APSVC
from skrank._groups import Groups
from skrank.estimators._appx import easy_rows


def data(seed=0, **options):
    return make_classification(
        n_samples=400, n_features=8, weights=[0.8], class_sep=0.8, random_state=seed, **options
    )


def test_easy_rows_are_those_with_the_largest_margins():
    margins = np.array([0.5, 1.0, 3.0, 2.0, -1.0, 2.0, 0.0, 0.3])
    positive = np.array([1, 1, 0, 0, 0, 0, 1, 0], bool)
    groups = Groups.single(8)
    for fraction, rows in [(0, []), (0.2, [2]), (0.5, [2, 3, 5]), (1, [1, 2, 3, 5])]:
        easy = easy_rows(margins, positive, groups, fraction)
        assert np.flatnonzero(easy).tolist() == rows


def test_a_class_without_difficult_rows_counts_whole():
    margins = np.array([2.0, 3.0, 0.5, 0.0, 2.0, 2.0])
    positive = np.array([1, 1, 0, 0, 0, 1], bool)
    easy = easy_rows(margins, positive, Groups.single(6), 1.0)
    assert np.flatnonzero(easy).tolist() == [4]
    # query by query: in the first no positive is difficult, in the second nothing is
    groups = Groups.from_qid([0, 0, 0, 0, 1, 1], 6)
    assert not easy_rows(margins, positive, groups, 1.0).any()
    # where all rows are easy the problem is the exact one
    assert not easy_rows(np.arange(1.0, 7.0), positive, Groups.single(6), 1.0).any()


def test_no_easy_rows_make_it_exact():
    X, y = data()
    exact = APSVC(tol=1e-9).fit(X, y)
    model = APSVC(tol=1e-9, easy_fraction=0.0).fit(X, y)
    np.testing.assert_allclose(model.coef_, exact.coef_, rtol=1e-3, atol=1e-5)


def test_which_rows_are_easy_depends_on_the_data_alone():
    X, y = data()
    objectives = [APSVC(easy_fraction=0.9, tol=tol).fit(X, y).objective_ for tol in (1e-3, 1e-7)]
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-3)
    model = APSVC(easy_fraction=0.9, tol=1e-7, warm_start=True).fit(X, y)
    assert model.fit(X, y).objective_ == pytest.approx(objectives[1], rel=1e-7)


def test_a_first_stage_that_does_not_converge_shows():
    X, y = data()
    with pytest.warns(ConvergenceWarning, match="in the binary SVM that finds the easy rows, gap"):
        model = APSVC(1e4, easy_fraction=0.5, max_iter=12).fit(X, y)
    assert model.converged_ is False


@pytest.mark.parametrize("fraction", [0.25, 0.5, 1.0])
@pytest.mark.parametrize("C", [100.0, 1e4])
def test_ranks_nearly_as_well(fraction, C):
    X, y = data()
    model = APSVC(C, easy_fraction=fraction).fit(X, y)
    assert model.converged_
    assert model.score(X, y) > APSVC(C).fit(X, y).score(X, y) - 0.05


def test_with_queries_and_more_classes():
    X, y = data()
    qid = np.arange(400) % 7
    model = APSVC(easy_fraction=0.5).fit(X, y, qid=qid)
    assert model.converged_
    X, y = make_classification(
        n_samples=200, n_features=8, n_classes=3, n_informative=5, random_state=0
    )
    assert APSVC(easy_fraction=0.5).fit(X, y).coef_.shape == (3, 8)


def test_an_interrupt_in_the_first_stage(monkeypatch):
    from skrank.losses._hinge import HingeObjective

    evaluate = HingeObjective.__call__

    def interrupted(self, scores):
        if self.n_calls == 8:
            self.n_calls += 1
            raise KeyboardInterrupt
        return evaluate(self, scores)

    monkeypatch.setattr(HingeObjective, "__call__", interrupted)
    X, y = data()
    with pytest.warns(ConvergenceWarning, match="was interrupted"):
        model = APSVC(easy_fraction=0.5).fit(X, y)
    assert model.converged_ is False
    assert model.score(X, y) > 0.5
