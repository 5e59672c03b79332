"""Time of a whole fit: on real data against other linear models, in a hard regime, and at first.

C weighs the mean loss in APSVC and in dlib's svm_rank_trainer, and the sum over rows in
LinearSVC and LogisticRegression, which therefore get C divided by the number of rows.

APSVC stops at a proven relative gap of 1e-3. dlib stops at an absolute gap epsilon of the risk.
It is run with smaller and smaller epsilon until C * epsilon proves its objective to 1e-4, and two
times are taken: that of the first run whose objective happens to be within 1e-3 of the lowest one
found, which nobody knows beforehand ("dlib"), and that of a run whose C * epsilon proves as much
("dlib, proven"). Copying the data into dlib's own vectors is not counted. LinearSVC and
LogisticRegression have the tolerances of their defaults, which bound gradients and are not
comparable.
"""

from __future__ import annotations

import subprocess
import sys
import warnings
from functools import partial
from time import perf_counter

import numpy as np
import scipy.sparse as sp
from _common import (
    available_sets,
    gaussian,
    load_binary,
    log_scale,
    look,
    new_figure,
    parse_arguments,
    print_table,
    save_figure,
    standardise,
    write_json,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from skrank import APSVC, RankSVC, StructRankSVM

try:
    import dlib
except ImportError:
    dlib = None

SETS = (
    "letter_img",
    "mammography",
    "page_blocks0",
    "internet_ads",
    "cifar10_r18_c0",
    "campaign",
    "a9a",
)
TOL = 1e-3
METHODS = ("APSVC", "dlib", "hinge", "squared hinge", "logistic")
LABELS = {
    "APSVC": "APSVC",
    "dlib": "dlib svm_rank_trainer",
    "hinge": "LinearSVC, hinge",
    "squared hinge": "LinearSVC, squared hinge",
    "logistic": "LogisticRegression",
}
DLIB_TIMES = {"seconds": "dlib", "proven_seconds": "dlib, proven"}
# Fits are repeated, the fast ones more often: the best of up to five runs within these seconds.
MAX_RUNS = 5
REPEAT_FOR = 4.0
# Gaps to show in the hard regime, and where to stop; the aim is 1e-2.
HARD_ITERATIONS = (50, 100, 200, 300)
HARD_TOL = 5e-3


def timed(function, *arguments):
    """The function's result and its seconds."""
    start = perf_counter()
    result = function(*arguments)
    return result, perf_counter() - start


def fit_scikit_learn(model, X, y) -> dict:
    """Fit one of scikit-learn's models."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        model, seconds = timed(model.fit, X, y)
    return {"seconds": seconds, "iterations": np.max(model.n_iter_), "converged": not caught}


def fit_skrank(C, X, y) -> dict:
    """Fit APSVC, with what its history tells."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model, seconds = timed(APSVC(C=C, tol=TOL, max_iter=5000).fit, X, y)
    history = model.history_
    return {
        "seconds": seconds,
        "iterations": model.n_iter_,
        "passes": history["passes"][-1],
        "oracle_calls": history["oracle_calls"][-1],
        "qp_share": history["seconds_qp"][-1] / history["seconds"][-1],
        "oracle_share": history["seconds_oracle"][-1] / history["seconds"][-1],
        "data_share": history["seconds_data"][-1] / history["seconds"][-1],
        "gap": model.dual_gap_,
        "converged": model.converged_,
        "gap_by_iteration": (history["primal"] - history["dual"]) / history["primal"],
        "seconds_by_iteration": history["seconds"],
    }


def dlib_pair(X, y):
    """The data as dlib's vectors, relevant and not, and a trainer that takes them."""
    if sp.issparse(X):
        trainer, pair = dlib.svm_rank_trainer_sparse(), dlib.sparse_ranking_pair()
    else:
        trainer, pair = dlib.svm_rank_trainer(), dlib.ranking_pair()
    for row, relevant in enumerate(y):
        if sp.issparse(X):
            part = slice(X.indptr[row], X.indptr[row + 1])
            vector = dlib.sparse_vector()
            for column, value in zip(X.indices[part], X.data[part], strict=True):
                vector.append(dlib.pair(int(column), float(value)))
        else:
            vector = dlib.vector(X[row])
        (pair.relevant if relevant else pair.nonrelevant).append(vector)
    return trainer, pair


def dlib_objective(w, C, X, y) -> float:
    """1/2 ||w||^2 + C mean over pairs of max(0, 1 - (s_i - s_j))."""
    scores = X @ w
    positive, negative = scores[y], np.sort(scores[~y])
    sums = np.append(np.cumsum(negative[::-1])[::-1], 0.0)
    first = np.searchsorted(negative, positive - 1.0, side="right")
    total = np.sum((negative.size - first) * (1.0 - positive) + sums[first])
    return 0.5 * float(w @ w) + C * float(total) / (positive.size * negative.size)


def fit_dlib(C, trainer, pair, X, y) -> dict:
    """Train with ever smaller epsilon; the first run that was good enough."""
    trainer.c = C
    runs = []
    for epsilon in np.logspace(-1, -7, 13):
        trainer.epsilon = epsilon
        function, seconds = timed(trainer.train, pair)
        if sp.issparse(X):
            w = np.zeros(X.shape[1])
            for entry in function.weights:
                w[entry.first] = entry.second
        else:
            w = np.array(function.weights).ravel()
        runs.append((epsilon, seconds, dlib_objective(w, C, X, y)))
        if C * epsilon <= 1e-4 * runs[-1][2]:
            break
    lowest = min(objective for *_, objective in runs)
    enough = next(run for run in runs if run[2] <= (1.0 + TOL) * lowest)
    trainer.epsilon = TOL * lowest / C
    _, proven = timed(trainer.train, pair)
    return {
        "seconds": enough[1],
        "proven_seconds": proven,
        "epsilon": enough[0],
        "relative_gap": enough[2] / lowest - 1.0,
        "converged": C * runs[-1][0] <= 1e-4 * runs[-1][2],
    }


def same_weights(small) -> list[dict]:
    """Rankers of pairs against dlib.

    StructRankSVM with uniform pairs has its weights, and twice those of RankSVC for the ROC area
    at C are dlib's at 4C.
    """
    results = []
    if dlib is None:
        return results
    for n, d, n_pos in ((300, 10, 60), (1000, 20, 100), (2000, 50, 100))[: 1 if small else None]:
        X, y = gaussian(n, d, n_pos, 1.5, seed=0)
        trainer, pair = dlib_pair(X, y)
        for C in (1.0, 10.0, 100.0):
            trainer.c, trainer.epsilon = 4.0 * C, 1e-9
            theirs = np.array(trainer.train(pair).weights).ravel()
            precise = {"tol": 1e-8, "max_iter": 10_000}
            for factor, model in (
                (2.0, RankSVC(C=C, loss="roc_auc", **precise)),
                (1.0, StructRankSVM(C=4.0 * C, pair_weight="uniform", **precise)),
            ):
                model.fit(X, y)
                difference = np.abs(factor * model.coef_ - theirs).max() / np.abs(theirs).max()
                facts = {"model": type(model).__name__, "n": n, "d": d, "C": model.C}
                results.append({**facts, "gap": model.dual_gap_, "off by": difference})
    print_table(
        "RankSVC(loss='roc_auc') and StructRankSVM(pair_weight='uniform') at tol 1e-8 and dlib's "
        "svm_rank_trainer:\nlargest difference of the weights, relative to the largest (target: "
        "<= 1e-3)",
        list(results[0]),
        [list(result.values()) for result in results],
    )
    return results


def compare(X, y, C, for_dlib) -> dict:
    """All methods at one C, in turns; the best of some runs."""
    per_row = C / y.size
    methods = {
        "APSVC": partial(fit_skrank, C, X, y),
        "hinge": partial(fit_scikit_learn, LinearSVC(C=per_row, loss="hinge"), X, y),
        "squared hinge": partial(fit_scikit_learn, LinearSVC(C=per_row, dual="auto"), X, y),
        "logistic": partial(fit_scikit_learn, LogisticRegression(C=per_row, max_iter=10_000), X, y),
    }
    if for_dlib is not None:
        methods["dlib"] = partial(fit_dlib, C, *for_dlib, X, y)
    found = {name: method() for name, method in methods.items()}
    for run in range(1, MAX_RUNS):
        for name, method in methods.items():
            if run * found[name]["seconds"] < REPEAT_FOR:
                found[name] = min(found[name], method(), key=lambda result: result["seconds"])
    return found


def real_sets(folder, small) -> dict:
    """Fits on all sets at all C."""
    results = {}
    for name in available_sets(folder, SETS)[: 2 if small else None]:
        X, y = load_binary(folder, name, 2000 if small else None)
        X = standardise(X)
        for_dlib = dlib_pair(X, y) if dlib is not None else None
        results[name] = {
            f"{C:g}": compare(X, y, C, for_dlib)
            for C in (np.logspace(0, 3, 4) if small else np.logspace(0, 5, 6))
        }
        report_set(name, X, y, results[name])
    return results


def report_set(name, X, y, by_C) -> None:
    """A table of the fits on one set; * marks fits that did not converge."""
    rows = []
    for C, found in by_C.items():
        ours = found["APSVC"]
        times = []
        for method in METHODS:
            if method not in found:
                times.append(None)
                continue
            mark = "" if found[method]["converged"] else "*"
            times.append(f"{found[method]['seconds']:.3g}{mark}")
        rows.append(
            [
                C,
                ours["iterations"],
                ours["passes"],
                ours["oracle_calls"],
                *(f"{ours[f'{part}_share']:.0%}" for part in ("qp", "oracle", "data")),
                *times,
                *(
                    ours["seconds"] / found["dlib"][kind] if "dlib" in found else None
                    for kind in DLIB_TIMES
                ),
            ]
        )
    print_table(
        f"{name}, {X.shape[0]:,} x {X.shape[1]:,}, {np.mean(y):.1%} positive: APSVC's work, "
        "and seconds of each method",
        [
            "C",
            "iterations",
            "passes",
            "oracle calls",
            "QP",
            "oracle",
            "data",
            *METHODS,
            *(f"APSVC / {kind}" for kind in DLIB_TIMES.values()),
        ],
        rows,
    )


def report_targets(results) -> None:
    """The targets, over all real sets."""
    fits = [(name, float(C), fit) for name, by_C in results.items() for C, fit in by_C.items()]
    name, C, fit = max(
        (entry for entry in fits if entry[1] <= 1e3), key=lambda e: e[2]["APSVC"]["qp_share"]
    )
    print(
        f"\nLargest share of the QP for C <= 1e3: {fit['APSVC']['qp_share']:.1%} "
        f"({name}, C = {C:g}; target: <= 10 %)"
    )
    for kind, name in DLIB_TIMES.items():
        against = [fit["APSVC"]["seconds"] / fit["dlib"][kind] for *_, fit in fits if "dlib" in fit]
        if against:
            slower = sum(r > 1.0 for r in against)
            print(
                f"APSVC against {name}: median ratio of seconds {np.median(against):.2f}, largest "
                f"{max(against):.2f}, slower in {slower} of {len(against)} fits (target: no slower)"
            )


def hard_regime(small) -> list[dict]:
    """Gaussian data with nearly as many columns as rows, large C."""
    n, d, n_pos = (335, 240, 23) if small else (3347, 2404, 227)
    results = []
    for kind, shift in (("random labels", 0.0), ("mean shift 3", 3.0)):
        for C in (1e3, 1e4, 1e5):
            for seed in range(1 if small else 3):
                X, y = gaussian(n, d, n_pos, shift, seed)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    model = APSVC(C=C, tol=HARD_TOL, max_iter=max(HARD_ITERATIONS)).fit(X, y)
                history = model.history_
                gap = (history["primal"] - history["dual"]) / history["primal"]
                results.append(
                    {
                        "kind": kind,
                        "C": C,
                        "seed": seed,
                        "gap": gap,
                        "passes": history["passes"],
                        "seconds": history["seconds"],
                        "qp_share": history["seconds_qp"][-1] / history["seconds"][-1],
                        "below_1e-2": int(np.argmax(gap <= 1e-2)) + 1 if gap[-1] <= 1e-2 else None,
                    }
                )
    print_table(
        f"Hard regime, {n:,} x {d:,}, {n_pos} positives: gap after so many iterations "
        f"(stopped at {HARD_TOL:g}; target: <= 0.01 within 300)",
        [
            "labels",
            "C",
            "seed",
            *map(str, HARD_ITERATIONS),
            "iterations",
            "passes",
            "seconds",
            "QP",
            "gap <= 0.01 at",
        ],
        [
            [
                r["kind"],
                f"{r['C']:g}",
                r["seed"],
                *(f"{r['gap'][min(k, r['gap'].size) - 1]:.1e}" for k in HARD_ITERATIONS),
                r["gap"].size,
                r["passes"][-1],
                r["seconds"][-1],
                f"{r['qp_share']:.0%}",
                r["below_1e-2"],
            ]
            for r in results
        ],
    )
    return results


IMPORT = """
from time import perf_counter
start = perf_counter()
import skrank
print(perf_counter() - start)
"""
FIRST_FIT = """
from time import perf_counter
import numpy as np
from skrank import APSVC, RankSVC
rng = np.random.default_rng(0)
y = rng.random(1000) < 0.2
X = rng.standard_normal((1000, 20)) + 0.5 * y[:, None]
start = perf_counter()
APSVC().fit(X, y)
print(perf_counter() - start)
"""


def first_use(repeats: int) -> dict:
    """Import and first fit in fresh processes; one more goes before, to fill the kernel cache."""
    results = {}
    for name, script, target in (("import", IMPORT, 1.5), ("first fit", FIRST_FIT, 1.0)):
        seconds = []
        for _ in range(repeats + 1):
            run = subprocess.run(
                [sys.executable, "-c", script], capture_output=True, text=True, check=True
            )
            seconds.append(float(run.stdout))
        results[name] = {"seconds": seconds[1:], "target": target}
    print_table(
        f"Fresh processes with cached kernels: median seconds of {repeats}",
        ["what", "seconds", "fastest", "slowest", "target"],
        [
            [
                name,
                np.median(r["seconds"]),
                min(r["seconds"]),
                max(r["seconds"]),
                f"< {r['target']}",
            ]
            for name, r in results.items()
        ],
    )
    return results


def draw_seconds(results):
    """Seconds against C, a panel for each set."""
    n_columns = min(4, len(results))
    figure, axes = new_figure(-(-len(results) // n_columns), n_columns, 3.8, 3.2)
    for axis in axes.flat[len(results) :]:
        axis.remove()
    handles = []
    for axis, (name, by_C) in zip(axes.flat, results.items(), strict=False):
        handles = []
        for k, method in enumerate(METHODS):
            points = [
                (float(C), fit[method]["seconds"]) for C, fit in by_C.items() if method in fit
            ]
            if points:
                curve = zip(*points, strict=True)
                handles += axis.plot(*curve, label=LABELS[method], lw=1.2, **look(k))
        log_scale(axis)
        axis.set_title(name, fontsize=11)
    figure.supxlabel("C (for the sum of losses over rows: divided by their number)", fontsize=10)
    figure.supylabel("seconds", fontsize=10)
    figure.legend(handles=handles, loc="outside upper center", ncols=min(3, len(handles)))
    return figure


def draw_gaps(results):
    """APSVC's gap against iterations and seconds, for a moderate and a large C."""
    all_C = list(next(iter(results.values())))
    chosen = [all_C[len(all_C) // 2], all_C[-1]]
    figure, axes = new_figure(2, 2, 5.0, 3.6)
    handles = []
    for row, C in zip(axes, chosen, strict=True):
        handles = []
        for k, (name, by_C) in enumerate(results.items()):
            fit = by_C[C]["APSVC"]
            gap = fit["gap_by_iteration"]
            style = {"color": look(k)["color"], "lw": 1.4, "label": name}
            handles += row[0].plot(np.arange(1, gap.size + 1), gap, **style)
            row[1].plot(fit["seconds_by_iteration"], gap, **style)
        row[0].set_ylabel(f"relative gap, C = {float(C):g}")
        for axis in row:
            log_scale(axis)
            axis.axhline(TOL, color="#999999", lw=0.8)
    axes[1, 0].set_xlabel("iteration")
    axes[1, 1].set_xlabel("seconds")
    figure.legend(handles=handles, loc="outside upper center", ncols=4)
    return figure


def draw_hard(results):
    """Gap against iterations and seconds in the hard regime; one curve for each seed."""
    kinds = list(dict.fromkeys(r["kind"] for r in results))
    all_C = sorted({r["C"] for r in results})
    figure, axes = new_figure(len(kinds), 2, 5.0, 3.4)
    handles = {}
    for result in results:
        row = axes[kinds.index(result["kind"])]
        C = result["C"]
        style = {"color": look(all_C.index(C))["color"], "lw": 1.2, "label": f"C = {C:g}"}
        gap = result["gap"]
        (handles[C],) = row[0].plot(np.arange(1, gap.size + 1), gap, **style)
        row[1].plot(result["seconds"], gap, **style)
    for kind, row in zip(kinds, axes, strict=True):
        row[0].set_ylabel(f"relative gap, {kind}")
        for axis in row:
            log_scale(axis, "y")
            axis.axhline(1e-2, color="#999999", lw=0.8)
    axes[-1, 0].set_xlabel("iteration")
    axes[-1, 1].set_xlabel("seconds")
    figure.legend(handles=handles.values(), loc="outside upper center", ncols=len(handles))
    return figure


def main():
    arguments = parse_arguments(__doc__)
    if dlib is None:
        print("dlib is not installed: its trainer is left out.")
    APSVC().fit(*gaussian(100, 5, 20, 1.0, seed=0))  # load the kernels
    first = first_use(2 if arguments.small else 5)
    weights = same_weights(arguments.small)
    hard = hard_regime(arguments.small)
    real = real_sets(arguments.data, arguments.small)
    if real:
        report_targets(real)
    print()
    results = {"first_use": first, "dlib": weights, "hard_regime": hard, "real_sets": real}
    write_json(arguments, "fit", results)
    save_figure(arguments, "fit_hard", draw_hard(hard))
    if real:
        save_figure(arguments, "fit_seconds", draw_seconds(real))
        save_figure(arguments, "fit_gap", draw_gaps(real))


if __name__ == "__main__":
    main()
