"""Ctrl-C, workers that die: what was fitted so far is kept."""

import os
import signal
import threading
import time

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning

from skrank import APSVC
from skrank.estimators import _interrupt
from skrank.estimators._base import solve_each
from skrank.solvers import Solution
from skrank.solvers._cutting_plane import CuttingPlanes


@pytest.fixture(scope="module")
def binary():
    return make_classification(
        n_samples=300, n_features=12, weights=[0.8], class_sep=0.7, random_state=0
    )


def press():
    """Ctrl-C."""
    signal.raise_signal(signal.SIGINT)


def interrupt_after(monkeypatch, n_steps, interrupt=press):
    """Press Ctrl-C during the n-th iteration of all solvers together."""
    monkeypatch.setattr(_interrupt, "_last_interrupt", -np.inf)
    press_again_after(monkeypatch, n_steps, interrupt)


def press_again_after(monkeypatch, n_steps, interrupt=press):
    step = getattr(CuttingPlanes.step, "original", CuttingPlanes.step)
    taken = []

    def interrupted(self, precision):
        taken.append(None)
        if len(taken) == n_steps:
            interrupt()
        step(self, precision)

    interrupted.original = step
    monkeypatch.setattr(CuttingPlanes, "step", interrupted)


def raise_interrupt():
    """What a handler of the user's own may do, at any place."""
    raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("interrupt", "n_iter"),
    [(press, 10), (raise_interrupt, 9)],
)
def test_an_interrupt_keeps_the_model(binary, monkeypatch, interrupt, n_iter):
    X, y = binary
    handler = signal.getsignal(signal.SIGINT)
    interrupt_after(monkeypatch, 10, interrupt)
    with pytest.warns(ConvergenceWarning, match=f"was interrupted: after {n_iter} iterations"):
        model = APSVC(C=1e4).fit(X, y)
    assert model.converged_ is False
    assert model.n_iter_ == n_iter
    assert model.score(X, y) > 0.6
    assert signal.getsignal(signal.SIGINT) is handler


def test_an_interrupt_keeps_the_classes_fitted_so_far(monkeypatch):
    X, y = make_classification(n_samples=90, n_classes=3, n_informative=4, random_state=0)
    expected = APSVC().fit(X, y)
    interrupt_after(monkeypatch, expected.n_iter_[0] + 3)
    with pytest.warns(ConvergenceWarning, match="was interrupted for 2 of 3 classes"):
        model = APSVC().fit(X, y)
    assert model.converged_.tolist() == [True, False, False]
    np.testing.assert_array_equal(model.coef_[0], expected.coef_[0])
    assert model.n_iter_[1:].tolist() == [3, 1]
    assert model.predict(X).shape == (90,)


def test_a_late_interrupt_keeps_the_solution(binary, monkeypatch):
    X, y = binary
    expected = APSVC(C=1e3).fit(X, y)
    interrupt_after(monkeypatch, expected.n_iter_)
    model = APSVC(C=1e3).fit(X, y)
    assert model.converged_
    np.testing.assert_array_equal(model.coef_, expected.coef_)


def test_an_interrupt_of_the_first_stage_keeps_its_weights(binary, monkeypatch):
    X, y = binary
    interrupt_after(monkeypatch, 8)
    with pytest.warns(ConvergenceWarning, match="was interrupted"):
        model = APSVC(easy_fraction=0.0).fit(X, y)
    assert model.score(X, y) > 0.6


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_an_interrupt_reaches_the_workers(monkeypatch, backend):
    monkeypatch.setattr(_interrupt, "_last_interrupt", -np.inf)

    def waiting(stop):
        for _ in range(6000):
            if stop():
                return Solution.trivial(1), "stopped"
            time.sleep(0.01)

    def finished(stop):
        return Solution.trivial(1), "finished"

    timer = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    with parallel_config(backend):
        timer.start()
        results = solve_each([waiting, finished, finished, waiting], n_jobs=2)
    timer.join()
    assert [result for _, result in results] == ["stopped", "finished", "finished", "stopped"]


def test_a_worker_that_dies_loses_nothing(monkeypatch):
    parent = os.getpid()

    def dying(stop):
        if os.getpid() != parent:
            os._exit(1)
        return Solution.trivial(1), os.getpid()

    with pytest.warns(RuntimeWarning, match="A worker process died"):
        results = solve_each([dying] * 3, n_jobs=2)
    assert [pid for _, pid in results] == [parent] * 3


def test_a_second_interrupt_is_passed_on(binary, monkeypatch):
    X, y = binary
    interrupt_after(monkeypatch, 5)
    with pytest.warns(ConvergenceWarning, match="was interrupted"):
        APSVC(C=1e4).fit(X, y)
    press_again_after(monkeypatch, 5)
    with pytest.raises(KeyboardInterrupt):
        APSVC(C=1e4).fit(X, y)


def test_a_second_interrupt_in_the_same_fit_is_passed_on(binary, monkeypatch):
    X, y = binary
    handler = signal.getsignal(signal.SIGINT)
    interrupt_after(monkeypatch, 5, lambda: [press(), press()])
    with pytest.raises(KeyboardInterrupt):
        APSVC(C=1e4).fit(X, y)
    assert signal.getsignal(signal.SIGINT) is handler
