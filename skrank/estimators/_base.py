"""What the estimators share: common parameters, one problem for each label, fitted attributes."""

from __future__ import annotations

import warnings
from collections.abc import Generator, Iterable

import numpy as np
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning

from skrank._validation import check_count, check_positive
from skrank.solvers import Solution


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


def solve_each(problems: Iterable, *, n_jobs: int | None) -> list:
    """Call the problems, in parallel if asked; an interrupt ends them early.

    A problem is a function with a keyword ``give_up``: with True it makes do with one iteration.
    After an interrupt the problems not yet solved are called so, and what was solved is kept.
    """
    problems = list(problems)
    results: list = []
    pending: Generator = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(problem)() for problem in problems
    )
    try:
        for result in pending:
            results.append(result)
            if result[0].status == "interrupted":
                break
    except KeyboardInterrupt:
        pass
    finally:
        pending.close()
    return results + [problem(give_up=True) for problem in problems[len(results) :]]


def _warn_unless_converged(solutions: list[Solution], tol: float) -> None:
    failed = [s for s in solutions if s.status != "converged"]
    if not failed:
        return
    worst = max(failed, key=lambda s: s.gap)
    what = "was interrupted" if worst.status == "interrupted" else "did not converge"
    scope = f" for {len(failed)} of {len(solutions)} classes" if len(solutions) > 1 else ""
    warnings.warn(
        f"The solver {what}{scope}: after {worst.n_iter} iterations the relative duality gap is "
        f"{worst.gap:.2g}, above tol={tol:g}. The best weights found so far are kept. Increase "
        "max_iter or tol, decrease C, or scale the features.",
        ConvergenceWarning,
        stacklevel=4,
    )
