"""Average precision on held-out rows: APSVC, LinearSVC and LogisticRegression.

Every model gets its C from the same inner validation (three stratified folds of the training
part), on five stratified splits into 70 % training and 30 % test rows. Also shown: the test
average precision at each C of APSVC's grid and at its default, and that of APSVC with
easy_fraction=0.5 at the C chosen for APSVC.
"""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np
import scipy.sparse as sp
from _common import (
    available_sets,
    load_binary,
    look,
    mean_and_error,
    new_figure,
    parse_arguments,
    print_table,
    save_figure,
    write_json,
)
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import (
    StratifiedKFold,
    StratifiedShuffleSplit,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import LinearSVC

from skrank import APSVC

N_SPLITS = 5
N_JOBS = 2
AP_GRID = np.logspace(-3, 5, 9)
MODELS = {
    "APSVC": (APSVC, AP_GRID),
    "LinearSVC": (partial(LinearSVC, dual="auto"), np.logspace(-5, 2, 8)),
    "LogisticRegression": (partial(LogisticRegression, max_iter=10_000), np.logspace(-4, 3, 8)),
}
# A fixed C is compared with the best one from 0.1 on, and good if it is as close as this.
FROM = 2
CLOSE = 0.02


def evaluate(folder, name, max_rows, split):
    """Inner validation score and test score of every model at every C, on one split."""
    X, y = load_binary(folder, name, max_rows)
    outer = StratifiedShuffleSplit(N_SPLITS, test_size=0.3, random_state=0)
    train, test = list(outer.split(np.zeros(y.size), y))[split]
    inner = StratifiedKFold(3, shuffle=True, random_state=split)
    scale = FunctionTransformer(accept_sparse=True) if sp.issparse(X) else StandardScaler()
    results = {}
    for model, (make, grid) in MODELS.items():
        validation, tested, late = [], [], []
        for C in grid:
            pipeline = make_pipeline(scale, make(C=C))
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always", ConvergenceWarning)
                validation.append(
                    cross_val_score(
                        pipeline, X[train], y[train], cv=inner, scoring="average_precision"
                    ).mean()
                )
                pipeline.fit(X[train], y[train])
            tested.append(average_precision_score(y[test], pipeline.decision_function(X[test])))
            late.append(sum(issubclass(w.category, ConvergenceWarning) for w in caught))
        results[model] = {"validation": validation, "test": tested, "not_converged": late}
    C = AP_GRID[np.argmax(results["APSVC"]["validation"])]
    for variant, estimator in (("default", APSVC()), ("easy", APSVC(C=C, easy_fraction=0.5))):
        pipeline = make_pipeline(scale, estimator).fit(X[train], y[train])
        scores = pipeline.decision_function(X[test])
        results[variant] = average_precision_score(y[test], scores)
    return name, results


def summarise(splits: list[dict]) -> dict:
    """Test scores at the C chosen on each split, and at each fixed C."""
    summary = {}
    for model, (_, grid) in MODELS.items():
        chosen = [int(np.argmax(split[model]["validation"])) for split in splits]
        tests = np.array([split[model]["test"] for split in splits])
        summary[model] = {
            "grid": grid,
            "chosen_C": grid[chosen],
            "test": tests[np.arange(len(splits)), chosen],
            "test_by_C": tests,
            "validation_by_C": [split[model]["validation"] for split in splits],
            "at_edge": sum(k in (0, grid.size - 1) for k in chosen),
            "not_converged": np.sum([split[model]["not_converged"] for split in splits], axis=0),
        }
    for variant in ("default", "easy"):
        summary[variant] = [split[variant] for split in splits]
    return summary


def report(summaries: dict[str, dict]) -> dict:
    """Print what was found; the part of it that the tables do not derive from stored arrays."""
    print_table(
        "Test average precision, C tuned by inner validation: mean ± standard error",
        ["set", *MODELS, "APSVC default C", "APSVC easy 0.5"],
        [
            [
                name,
                *(mean_and_error(summary[model]["test"]) for model in MODELS),
                mean_and_error(summary["default"]),
                mean_and_error(summary["easy"]),
            ]
            for name, summary in summaries.items()
        ],
    )
    print_table(
        "C chosen in each split (and how often at an end of the grid)",
        ["set", *MODELS],
        [
            [
                name,
                *(
                    " ".join(f"{C:g}" for C in summary[model]["chosen_C"])
                    + f" ({summary[model]['at_edge']})"
                    for model in MODELS
                ),
            ]
            for name, summary in summaries.items()
        ],
    )
    close = {}
    rows = []
    for name, summary in summaries.items():
        by_C = summary["APSVC"]["test_by_C"].mean(axis=0)
        best = by_C[FROM:].max()
        short = best - by_C
        close[name] = {f"{C:g}": loss for C, loss in zip(AP_GRID, short, strict=True)}
        shortfall = best - np.mean(summary["default"])
        rows.append([name, *by_C, np.mean(summary["default"]), shortfall])
    print_table(
        "APSVC: mean test average precision at each C, and at the default",
        ["set", *(f"{C:g}" for C in AP_GRID), "default", "below best"],
        rows,
    )
    print_table(
        f"Sets on which a fixed C of APSVC is within {CLOSE} of the best one >= {AP_GRID[FROM]:g}",
        ["C", "sets", "largest shortfall"],
        [
            [
                f"{C:g}",
                f"{sum(c[f'{C:g}'] <= CLOSE for c in close.values())} of {len(close)}",
                max(c[f"{C:g}"] for c in close.values()),
            ]
            for C in AP_GRID[FROM:]
        ],
    )
    return {"below_best_by_C": close}


def draw(summaries: dict[str, dict]):
    """Test score against C, a panel for each set; tuned scores as bars of their error."""
    n_columns = 4 if len(summaries) > 4 else len(summaries)
    n_rows = -(-len(summaries) // n_columns)
    figure, axes = new_figure(n_rows, n_columns, 3.8, 3.4)
    for axis in axes.flat[len(summaries) :]:
        axis.remove()
    handles = []
    for axis, (name, summary) in zip(axes.flat, summaries.items(), strict=False):
        handles = []
        lowest = 1.0
        for k, (model, (_, grid)) in enumerate(MODELS.items()):
            curve = summary[model]["test_by_C"].mean(axis=0)
            tuned = np.mean(summary[model]["test"])
            handles += axis.plot(grid, curve, label=model, lw=1.2, **look(k))
            axis.axhline(tuned, color=look(k)["color"], lw=0.9, ls=":")
            # the left ends of the curves say little and would squeeze the rest
            lowest = min(lowest, tuned, np.median(curve))
        highest = max(summary[m]["test_by_C"].mean(axis=0).max() for m in MODELS)
        room = max(highest - lowest, 0.01)
        axis.set_ylim(lowest - 0.5 * room, highest + 0.15 * room)
        axis.set_xscale("log")
        axis.axvline(APSVC().C, color="#999999", lw=0.8)
        axis.set_title(name, fontsize=11)
    figure.supxlabel("C (grey line: the default of APSVC; dotted: tuned C)", fontsize=10)
    figure.supylabel("test average precision, mean over splits", fontsize=10)
    figure.legend(handles=handles, loc="outside upper center", ncols=len(handles), fontsize=10)
    return figure


def main():
    arguments = parse_arguments(__doc__)
    names = available_sets(arguments.data)
    if not names:
        return
    max_rows = None
    if arguments.small:
        names, max_rows = names[:3], 600
    # the largest first, so that both processes end at about the same time
    order = sorted(names, key=lambda n: -(arguments.data / f"{n}.npz").stat().st_size)
    results = Parallel(n_jobs=N_JOBS, verbose=10)(
        delayed(evaluate)(arguments.data, name, max_rows, split)
        for name in order
        for split in range(N_SPLITS)
    )
    summaries = {name: summarise([found for of, found in results if of == name]) for name in names}
    extra = report(summaries)
    print()
    write_json(arguments, "quality", {"sets": summaries, **extra})
    save_figure(arguments, "quality", draw(summaries))


if __name__ == "__main__":
    main()
