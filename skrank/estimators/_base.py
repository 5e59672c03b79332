"""What the estimators share: common parameters, one problem for each label, fitted attributes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from dataclasses import replace

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from sklearn.exceptions import ConvergenceWarning

from skrank._validation import check_count, check_flag, check_positive, check_whole
from skrank.estimators._interrupt import Stop, interruptible, stop_on_interrupt
from skrank.solvers import Solution


class StructuredSVM:
    """Mixin: checks of the common parameters and storage of solutions."""

    C: float
    tol: float
    max_iter: int
    qp_solver: str
    warm_start: bool
    verbose: int
    _n_queries: int

    def _check_common(self) -> dict:
        """The solver's keyword arguments, checked."""
        check_positive("C", self.C, hint="It weighs the loss against the norm of the weights.")
        check_positive("tol", self.tol, hint="It is the relative duality gap to stop at.")
        check_count("max_iter", self.max_iter, hint="It bounds the solver's iterations.")
        check_flag("warm_start", self.warm_start)
        check_whole("verbose", self.verbose, hint="0 is silent, 1 shows a progress bar.")
        return {
            "tol": float(self.tol),
            "max_iter": int(self.max_iter),
            "qp_solver": self.qp_solver,
            "verbose": self.verbose,
        }

    def _store(self, solutions: list[Solution], *, single: bool, unproven: str = "") -> None:
        """Set the attributes that tell how fitting went, and warn unless it converged.

        ``unproven`` says why the bounds prove nothing, if so: then there is no gap.
        """
        if unproven:
            solutions = [replace(s, gap=np.nan, status="unproven") for s in solutions]
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
        if unproven:
            warnings.warn(unproven, ConvergenceWarning, stacklevel=3)
            return
        _warn_unless_converged(solutions, self.tol)

    def _warn_of_lost_queries(self, remark: str = "", so: str = "are ranked as one list") -> None:
        """Say that rows are scored together, if they were not so in fit."""
        if self._n_queries > 1:
            warnings.warn(
                f"fit had {self._n_queries} queries but score has no qid{remark}, so all rows "
                f"{so}. Pass score(X, y, qid=qid); in a Pipeline or a search, enable "
                "scikit-learn's metadata routing and pass it there.",
                UserWarning,
                stacklevel=3,
            )


# A problem of its own, given the flag that ends it; its result starts with a Solution.
Problem = Callable[[Stop], tuple]


def solve_each(problems: Sequence[Problem], *, n_jobs: int | None) -> list[tuple]:
    """Solve the problems, in parallel if asked, and return what they return.

    After Ctrl-C those under way end with what they have, and the rest make do with one iteration.
    """
    parallel = len(problems) > 1 and effective_n_jobs(n_jobs) > 1
    results: dict[int, tuple] = {}
    with interruptible(processes=parallel) as stop:
        if parallel:
            try:
                results.update(_solve_in_parallel(problems, n_jobs, stop))
            except KeyboardInterrupt:  # raised by a handler of the user's own
                stop.set()
            except BrokenExecutor as error:
                warnings.warn(
                    f"A worker process died, perhaps for lack of memory ({error}). What it worked "
                    "on is fitted in this process. Decrease n_jobs to avoid this.",
                    RuntimeWarning,
                    stacklevel=3,
                )
        for k, problem in enumerate(problems):
            if k not in results:
                results[k] = problem(stop)
                if results[k][0].status == "interrupted":
                    stop.set()
    return [results[k] for k in range(len(problems))]


def _solve_in_parallel(
    problems: Sequence[Problem], n_jobs: int | None, stop: Stop
) -> Iterator[tuple[int, tuple]]:
    """Numbers and results of the problems, as they come where the backend can do that."""
    tasks = [delayed(_solve)(k, problem, stop) for k, problem in enumerate(problems)]
    try:
        return Parallel(n_jobs=n_jobs, return_as="generator_unordered")(tasks)
    except ValueError:  # some backends, such as multiprocessing, return lists only
        return iter(Parallel(n_jobs=n_jobs)(tasks))


def _solve(k: int, problem: Problem, stop: Stop) -> tuple[int, tuple]:
    """Solve a problem in a worker, which Ctrl-C in a terminal reaches too."""
    with stop_on_interrupt(stop):
        return k, problem(stop)


def _warn_unless_converged(solutions: list[Solution], tol: float) -> None:
    failed = [s for s in solutions if s.status != "converged"]
    if not failed:
        return
    worst = max(failed, key=lambda s: s.gap)
    what, advice = {
        "interrupted": (
            "was interrupted",
            "A second Ctrl-C within three seconds stops more than this fit, such as a search.",
        ),
        "max_iter": (
            "did not converge",
            "Increase max_iter or tol, decrease C, or scale the features.",
        ),
        "failed": ("failed", "Scale the features, or decrease C."),
    }[worst.status]
    scope = f" for {len(failed)} of {len(solutions)} classes" if len(solutions) > 1 else ""
    reason = f" ({worst.reason.rstrip('.')})" if worst.reason else ""
    iterations = "1 iteration" if worst.n_iter == 1 else f"{worst.n_iter} iterations"
    above = f", above tol={tol:g}" if worst.gap > tol else ""
    warnings.warn(
        f"The solver {what}{scope}{reason}: after {iterations} the relative duality gap is "
        f"{worst.gap:.2g}{above}. The best weights found so far are kept. {advice}",
        ConvergenceWarning,
        stacklevel=4,
    )
