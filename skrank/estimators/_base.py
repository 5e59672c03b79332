"""What the estimators share: common parameters, one problem for each label, fitted attributes."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from dataclasses import replace
from time import monotonic

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.exceptions import ConvergenceWarning

from skrank._validation import check_count, check_positive
from skrank.solvers import Solution

# Seconds within which a second interrupt counts as a repetition of the first.
SECOND_INTERRUPT = 3.0
_last_interrupt = -np.inf


class StructuredSVM:
    """Mixin: checks of the common parameters and storage of solutions."""

    C: float
    tol: float
    max_iter: int
    qp_solver: str
    verbose: int

    def _check_common(self) -> dict:
        """The solver's keyword arguments, checked."""
        check_positive("C", self.C, hint="It weighs the loss against the norm of the weights.")
        check_positive("tol", self.tol, hint="It is the relative duality gap to stop at.")
        check_count("max_iter", self.max_iter, hint="It bounds the solver's iterations.")
        return {
            "tol": float(self.tol),
            "max_iter": int(self.max_iter),
            "qp_solver": self.qp_solver,
            "verbose": self.verbose,
        }

    def _store(self, solutions: list[Solution], *, single: bool) -> None:
        """Set the attributes that tell how fitting went, and warn unless it converged."""
        columns: dict[str, list] = {
            "n_iter_": [s.n_iter for s in solutions],
            "objective_": [s.primal for s in solutions],
            "dual_gap_": [s.gap for s in solutions],
            "converged_": [s.status == "converged" for s in solutions],
        }
        for name, values in columns.items():
            setattr(self, name, values[0] if single else np.array(values))
        histories = [s.history for s in solutions]
        self.history_ = histories[0] if single else histories
        _warn_unless_converged(solutions, self.tol)


def solve_each(problems: Iterable, *, n_jobs: int | None) -> list[tuple]:
    """Call the problems, in parallel if asked; an interrupt ends them early.

    A problem is a function that returns a tuple which starts with a Solution. After an interrupt
    those not yet solved are called with ``give_up=True``, to make do with one iteration, and what
    was solved is kept. A second interrupt soon after the first is passed on: it is meant for
    more than this fit, such as the search that it is part of.
    """
    global _last_interrupt
    problems = list(problems)
    results: list[tuple] = []
    interrupted = False
    try:
        for result in _call(problems, n_jobs):
            results.append(result)
            interrupted = result[0].status == "interrupted"
            if interrupted:
                break
    except KeyboardInterrupt:
        interrupted = True
    if interrupted:
        before, _last_interrupt = _last_interrupt, monotonic()
        if _last_interrupt - before < SECOND_INTERRUPT:
            raise KeyboardInterrupt
        for problem in problems[len(results) :]:
            solution, *rest = problem(give_up=True)
            results.append((replace(solution, status="interrupted"), *rest))
    return results


def _call(problems: list, n_jobs: int | None) -> Iterable:
    """Results of the problems, one by one where the backend can give them so."""
    if len(problems) == 1 or effective_n_jobs(n_jobs) == 1:
        return (problem() for problem in problems)
    tasks = [delayed(problem)() for problem in problems]
    try:
        return Parallel(n_jobs=n_jobs, return_as="generator")(tasks)
    except ValueError:  # some backends, such as multiprocessing, return lists only
        return Parallel(n_jobs=n_jobs)(tasks)


def _warn_unless_converged(solutions: list[Solution], tol: float) -> None:
    failed = [s for s in solutions if s.status != "converged"]
    if not failed:
        return
    worst = max(failed, key=lambda s: s.gap)
    what = {
        "interrupted": "was interrupted",
        "max_iter": "did not converge",
        "failed": "stopped because numbers grew out of range",
    }[worst.status]
    scope = f" for {len(failed)} of {len(solutions)} classes" if len(solutions) > 1 else ""
    warnings.warn(
        f"The solver {what}{scope}: after {worst.n_iter} iterations the relative duality gap is "
        f"{worst.gap:.2g}, above tol={tol:g}. The best weights found so far are kept. Increase "
        "max_iter or tol, decrease C, or scale the features.",
        ConvergenceWarning,
        stacklevel=4,
    )
