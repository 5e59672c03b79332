"""The Jaccard loss of sets of labels: one call of the oracle, quality, and time of a fit.

The oracle is timed against NumPy's sorts on scores that change a little from call to call, as
bench_oracle.py explains.

Quality is the mean Jaccard index on test rows: that of a row's labels, or of the pixels of an
image; 1 where there is no positive in truth and prediction. Every model gets its C from the same
five-fold inner validation by that measure, and features standardised on training rows. Sets of
labels are split as their makers did, where standard errors are those over test rows, and at
random into parts of the same size, where they are those over splits; these share rows, so their
errors are on the low side. On bibtex there is one fold of validation and a coarse grid. The
images of isbi_membrane_px are split once, and no image is in both parts.
"""

from __future__ import annotations

import warnings
from functools import partial
from time import perf_counter

import numba
import numpy as np
import scipy.sparse as sp
from _common import (
    LABEL_SETS,
    LabelSets,
    available_sets,
    in_turn,
    interleaved,
    load_label_sets,
    log_scale,
    look,
    mean_and_error,
    new_figure,
    parse_arguments,
    print_table,
    save_figure,
    threads,
    versions,
    write_json,
)
from joblib import Parallel, delayed
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, KFold
from sklearn.multiclass import OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils.validation import has_fit_parameter

from skrank import LovaszHingeClassifier
from skrank.losses import Jaccard

N_JOBS = 2
ALL_THREADS = numba.config.NUMBA_NUM_THREADS

# The oracle: shares of positives, and what scores are like.
SHARES = (0.01, 0.2, 0.5)
SCORES = {
    "noise": lambda truth, noise: noise,
    "separated": lambda truth, noise: noise + 2.0 * truth,
    "nearly tied": lambda truth, noise: 1e-6 * noise,
}
# As at the start of training. NumPy is much faster on these than on any others.
TIED = {"tied": lambda truth, noise: 0.0 * noise}

# Quality. Splits at random, besides the official one, which is number 0.
N_SPLITS = 5
N_FOLDS = 5
JACCARD, ONE_SET = "Lovász, Jaccard", "Lovász, Jaccard, one set"
HAMMING = "Lovász, Hamming"
LOVASZ = (JACCARD, ONE_SET, HAMMING)
MODELS = {
    JACCARD: LovaszHingeClassifier,
    ONE_SET: LovaszHingeClassifier,
    HAMMING: partial(LovaszHingeClassifier, loss="hamming"),
    "LinearSVC": LinearSVC,
    "LinearSVC, hinge": partial(LinearSVC, loss="hinge"),
    "LogisticRegression": partial(LogisticRegression, max_iter=10_000),
}
# The least and the largest C of each model; those between are 1, 3, 10 and so on, or on a coarse
# grid every second one of these.
GRIDS = {
    "bibtex": {JACCARD: (1, 1000), "LinearSVC": (0.03, 3), "LogisticRegression": (1, 100)},
    "scene": {
        JACCARD: (0.3, 300),
        HAMMING: (1, 1000),
        "LinearSVC": (1e-5, 0.1),
        "LogisticRegression": (1e-3, 1),
    },
    "yeast": {
        JACCARD: (0.3, 3000),
        HAMMING: (10, 3000),
        "LinearSVC": (1e-5, 1),
        "LogisticRegression": (1e-3, 10),
    },
    "isbi_membrane_px": {
        JACCARD: (1, 100_000),
        ONE_SET: (1, 100_000),
        HAMMING: (1, 100_000),
        "LinearSVC": (1e-4, 10),
        "LinearSVC, hinge": (1e-5, 0.1),
        "LogisticRegression": (1e-3, 100),
    },
    "emotions": {
        JACCARD: (0.1, 3000),
        HAMMING: (0.1, 3000),
        "LinearSVC": (1e-6, 0.1),
        "LogisticRegression": (1e-3, 100),
    },
}
COMMON = (1, 3, 10, 30, 100, 300, 1000)
COARSE = ("bibtex",)
DEFAULT = LovaszHingeClassifier().C

# Fits.
PIXELS = "isbi_membrane_px"
FIT_C = (10, 100, 1000)
SVC_C = (1.0, 0.01)
AGREEMENT = {"name": "emotions", "C": (0.001, 0.01, 0.1), "tol": 1e-5, "target": 1e-4}


def one_set(size: int, share: float, kind: str, rounds: int, budget: float = 1.5) -> dict:
    """Milliseconds of a call on one set, and of NumPy's sorts of its scores."""
    rng = np.random.default_rng(0)
    y = rng.random(size) < share
    make = {**SCORES, **TIED}[kind]
    changing = versions(make(np.where(y, 1.0, -1.0), rng.standard_normal(size)))
    functions = {"oracle": Jaccard().bind(y), "argsort": np.argsort, "sort": np.sort}
    seconds = interleaved({k: in_turn(f, changing) for k, f in functions.items()}, rounds, budget)
    return {k: 1e3 * v for k, v in seconds.items()}


def rows_of_labels(shape: tuple[int, int], share: float, kind: str, rounds: int) -> dict:
    """Milliseconds of a call on sets of labels, and of NumPy's sort of each of them."""
    rng = np.random.default_rng(0)
    y = rng.random(shape) < share
    make = {**SCORES, **TIED}[kind]
    changing = versions(make(np.where(y, 1.0, -1.0), rng.standard_normal(shape)).ravel())
    functions = {"oracle": Jaccard().bind(y), "sort": lambda g: np.sort(g.reshape(shape), axis=1)}
    seconds = interleaved({k: in_turn(f, changing) for k, f in functions.items()}, rounds, 1.5)
    return {k: 1e3 * v for k, v in seconds.items()}


def oracle(size: int, shapes: dict[tuple[int, int], tuple[float, ...]], rounds: int) -> dict:
    """One large set, and many small ones, at several shares of positives and kinds of scores."""
    long, short = [], []
    cases = [(share, kind) for share in SHARES for kind in SCORES] + [(SHARES[1], "tied")]
    for number in sorted({1, ALL_THREADS}):
        with threads(number):
            for share, kind in cases:
                times = one_set(size, share, kind, rounds)
                long.append({"positive": share, "scores": kind, "threads": number, **times})
    for shape, shares in shapes.items():
        for share in shares:
            for kind in (*SCORES, *TIED):
                for number in sorted({1, ALL_THREADS}):
                    with threads(number):
                        times = rows_of_labels(shape, share, kind, rounds)
                    case = {"rows": shape[0], "labels": shape[1], "positive": share}
                    short.append({**case, "scores": kind, "threads": number, **times})
    print_table(
        f"One call on a set of {size:,} elements: milliseconds "
        "(target: at most 2 times np.argsort, better 1.5)",
        ["positive", "scores", "threads", "oracle", "argsort", "sort", "/ argsort", "/ sort"],
        [[*r.values(), r["oracle"] / r["argsort"], r["oracle"] / r["sort"]] for r in long],
    )
    print_table(
        "One call on rows of labels: milliseconds "
        "(target for 20 labels: at most 4 times np.sort of each row, better 3)",
        ["rows", "labels", "positive", "scores", "threads", "oracle", "sort", "/ sort"],
        [[*r.values(), r["oracle"] / r["sort"]] for r in short],
    )
    return {"one_set": long, "rows_of_labels": short, "size": size}


def growth(sizes: list[int], rounds: int) -> list[dict]:
    """A call on one set of growing size, a fifth of it positive."""
    results = []
    for kind in ("noise", "separated"):
        for size in sizes:
            times = one_set(size, 0.2, kind, rounds, 2.0)
            results.append({"scores": kind, "size": size, **times})
    print_table(
        "Growth, one set, a fifth of it positive: milliseconds a call",
        ["scores", "size", "oracle", "argsort", "sort", "/ argsort"],
        [[*r.values(), r["oracle"] / r["argsort"]] for r in results],
    )
    return results


def steps(low: float, high: float) -> np.ndarray:
    """1, 3, 10, 30 and so on, from low to high."""
    grid = np.array([float(f"{m}e{k}") for k in range(-9, 9) for m in (1, 3)])
    return grid[(grid >= 0.99 * low) & (grid <= 1.01 * high)]


def make_grid(name: str, model: str, small: bool) -> np.ndarray:
    """Values of C to choose from."""
    grid = steps(*GRIDS[name][model])
    if name in COARSE:
        grid = grid[::2]
    return grid[len(grid) // 2 - 1 :][:3] if small else grid


def make_model(model: str, C: float, y: np.ndarray):
    """The model; one for each label if it takes one label at a time."""
    made = MODELS[model](C=C)
    return made if y.ndim == 1 or model in LOVASZ else OneVsRestClassifier(made)


def jaccards(y: np.ndarray, predicted: np.ndarray, image: np.ndarray | None) -> np.ndarray:
    """The Jaccard index of each row or image; 1 without positives in truth and prediction."""
    common, either = y & predicted, y | predicted
    if image is None:
        common, either = common.sum(axis=1), either.sum(axis=1)
    else:
        _, image = np.unique(image, return_inverse=True)
        common, either = np.bincount(image, common), np.bincount(image, either)
    return np.divide(common, either, out=np.ones(len(either)), where=either > 0)


def fit_and_score(data: LabelSets, model: str, C: float, train, test) -> dict:
    """The Jaccard indices of test sets by a model fitted on training rows."""
    if sp.issparse(data.X):
        X = data.X
    else:
        X = StandardScaler().fit(data.X[train]).transform(data.X)
    made = make_model(model, C, data.y)
    by_image = data.image is not None and model == JACCARD
    queries = {"qid": data.image[train]} if by_image else {}
    assert not by_image or has_fit_parameter(made, "qid")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = perf_counter()
        made.fit(X[train], data.y[train].astype(int), **queries)
        seconds = perf_counter() - start
    image = None if data.image is None else data.image[test]
    return {
        "jaccards": jaccards(data.y[test], made.predict(X[test]) > 0, image),
        "seconds": seconds,
        "late": any(issubclass(w.category, ConvergenceWarning) for w in caught),
    }


def outer_split(data: LabelSets, split: int) -> tuple[np.ndarray, np.ndarray]:
    """Training and test rows: the official ones, or random ones, as many."""
    test = data.test if split == 0 else np.random.default_rng(split).permutation(data.test)
    return np.flatnonzero(~test), np.flatnonzero(test)


def validate(folder, name: str, every: int, split: int, model: str, C: float) -> dict:
    """Mean Jaccard index on the folds of the inner validation."""
    data = load_label_sets(folder, name, every)
    train, _ = outer_split(data, split)
    if data.image is None:
        folds = KFold(N_FOLDS, shuffle=True, random_state=0).split(train)
    else:
        folds = GroupKFold(N_FOLDS).split(train, groups=data.image[train])
    parts = list(folds)[: 1 if name in COARSE else None]
    found = [fit_and_score(data, model, C, train[fit], train[check]) for fit, check in parts]
    return {
        "jaccard": np.mean([f["jaccards"].mean() for f in found]),
        "late": sum(f["late"] for f in found),
    }


def final(folder, name: str, every: int, split: int, model: str, C: float) -> dict:
    """Jaccard indices of the test part."""
    data = load_label_sets(folder, name, every)
    return fit_and_score(data, model, C, *outer_split(data, split))


def in_parallel(function, tasks: list[tuple], *shared) -> list:
    """Results of the function for all tasks, in their order."""
    return Parallel(n_jobs=N_JOBS, verbose=1)(delayed(function)(*shared, *task) for task in tasks)


def quality(folder, names: list[str], small: bool) -> dict:
    """All models with tuned C on all sets."""
    every = 16 if small else 1
    n_random = 1 if small else N_SPLITS
    official = [name for name in names if name in COARSE or name == PIXELS]
    # what takes longest first, so that the processes end at about the same time
    tasks = [
        (name, every, split, model, C)
        for name in GRIDS
        if name in names
        for split in range(1 if name in official else 1 + n_random)
        for model in GRIDS[name]
        for C in make_grid(name, model, small)[::-1]
    ]
    validated = in_parallel(validate, tasks, folder)
    curves: dict = {name: {} for name in names}
    for (name, _, split, model, _), found in zip(tasks, validated, strict=True):
        curves[name].setdefault(model, {}).setdefault(split, []).insert(0, found)
    chosen = {}
    for name, by_model in curves.items():
        for model, by_split in by_model.items():
            for split, curve in by_split.items():
                best = int(np.argmax([point["jaccard"] for point in curve]))
                chosen[name, split, model] = best
    finals = [
        (name, every, split, model, make_grid(name, model, small)[best])
        for (name, split, model), best in chosen.items()
    ]
    defaults = [
        (name, every, split, model, DEFAULT)
        for name, split, model in chosen
        if model in (JACCARD, ONE_SET)
    ]
    tested = dict(
        zip([*finals, *defaults], in_parallel(final, finals + defaults, folder), strict=True)
    )
    results = {}
    for name in names:
        models = {}
        for model, by_split in curves[name].items():
            grid = make_grid(name, model, small)
            best = [chosen[name, split, model] for split in by_split]
            tests = [
                tested[name, every, split, model, grid[k]]
                for split, k in zip(by_split, best, strict=True)
            ]
            models[model] = {
                "grid": grid,
                "validation_by_C": [[p["jaccard"] for p in curve] for curve in by_split.values()],
                "late": sum(p["late"] for curve in by_split.values() for p in curve),
                "chosen_C": grid[best],
                "at_end": [k in (0, grid.size - 1) for k in best],
                "seconds": [t["seconds"] for t in tests],
                "test": [t["jaccards"] for t in tests],
            }
            if model in (JACCARD, ONE_SET):
                models[model]["test_default"] = [
                    tested[name, every, split, model, DEFAULT]["jaccards"] for split in by_split
                ]
        results[name] = {
            "n_elements": load_label_sets(folder, name, every).n_elements,
            "models": models,
        }
    report_official(results)
    report_random(results)
    report_by_C(results)
    return {name: shorten(result) for name, result in results.items()}


def shorten(result: dict) -> dict:
    """The same with mean and standard error in place of the index of each test row."""
    for model in result["models"].values():
        model["test_error_official"] = model["test"][0].std(ddof=1) / np.sqrt(len(model["test"][0]))
        for key in {"test", "test_default"} & set(model):
            model[key] = [values.mean() for values in model[key]]
    return result


def report_official(results: dict) -> None:
    """Test values on the official split, and differences test row by test row."""
    rows = []
    for name, result in results.items():
        first = result["models"][JACCARD]["test"][0]
        for model, found in result["models"].items():
            test = found["test"][0]
            rows.append(
                [
                    name,
                    model,
                    mean_and_error(test),
                    None if model == JACCARD else mean_and_error(first - test, "+.4f"),
                    f"{found['chosen_C'][0]:g}" + (" (end)" if found["at_end"][0] else ""),
                    found["seconds"][0],
                    found["test_default"][0].mean() if "test_default" in found else None,
                ]
            )
    print_table(
        "Official split: test mean Jaccard index (one minus it is the loss) ± standard error over "
        "rows or images;\nhow much higher that of the Lovász hinge of the Jaccard loss is, of rows "
        "or each image; fits in seconds",
        ["set", "model", "test", f"{JACCARD} - it", "C", "seconds", f"C = {DEFAULT:g}"],
        rows,
    )


def report_random(results: dict) -> None:
    """Test values on random splits, and differences split by split."""
    rows = []
    for name, result in results.items():
        means = {
            model: np.array([values.mean() for values in found["test"][1:]])
            for model, found in result["models"].items()
        }
        if means[JACCARD].size < 2:
            continue
        for model, found in result["models"].items():
            default = found.get("test_default")
            rows.append(
                [
                    name,
                    model,
                    mean_and_error(means[model]),
                    None
                    if model == JACCARD
                    else mean_and_error(means[JACCARD] - means[model], "+.4f"),
                    " ".join(f"{C:g}" for C in found["chosen_C"][1:]),
                    sum(found["at_end"][1:]),
                    np.mean([d.mean() for d in default[1:]]) if default else None,
                ]
            )
    if rows:
        print_table(
            "Random splits: mean of the test mean Jaccard index ± standard error over splits",
            ["set", "model", "test", f"{JACCARD} - it", "C", "at end", f"C = {DEFAULT:g}"],
            rows,
        )


def report_by_C(results: dict) -> None:
    """Validation values by C, and what a fixed C loses."""
    rows, lost = [], []
    for name, result in results.items():
        for model, found in result["models"].items():
            if model not in LOVASZ:
                continue
            curve = dict(zip(found["grid"], np.mean(found["validation_by_C"], axis=0), strict=True))
            at = [curve.get(C) for C in COMMON]
            best = max(curve.values())
            where = max(curve, key=curve.get)
            rows.append([name, model, *at, f"{best:.4f} at {where:g}"])
            if model != HAMMING:
                lost.append([np.nan if value is None else best - value for value in at])
    print_table(
        "Mean Jaccard index by C on the inner validation, mean over splits, and the best of all C",
        ["set", "model", *(f"{C:g}" for C in COMMON), "best"],
        rows,
    )
    columns = {C: c[~np.isnan(c)] for C, c in zip(COMMON, np.transpose(lost), strict=True)}
    print_table(
        "What a fixed C of LovaszHingeClassifier with the Jaccard loss loses against the best C",
        ["C", "of how many", "mean", "largest"],
        [[f"{C:g}", c.size, c.mean(), c.max()] for C, c in columns.items() if c.size],
    )


def fit_seconds(folder, small: bool) -> list[dict]:
    """Fits on the pixels of the training images, in turns."""
    data = load_label_sets(folder, PIXELS, 16 if small else 1)
    train = ~data.test
    X = StandardScaler().fit_transform(data.X[train])
    y, image = data.y[train], data.image[train]
    models, functions = {}, {}
    for C in FIT_C:
        for label, queries in (("each image", {"qid": image}), ("one set", {})):
            model = models[f"Jaccard, {label}, C = {C:g}"] = LovaszHingeClassifier(C)
            functions[f"Jaccard, {label}, C = {C:g}"] = partial(model.fit, X, y, **queries)
    for C in SVC_C:
        for label, loss in (("LinearSVC", "squared_hinge"), ("LinearSVC, hinge", "hinge")):
            model = models[f"{label}, C = {C:g}"] = LinearSVC(C=C, loss=loss, random_state=0)
            functions[f"{label}, C = {C:g}"] = partial(model.fit, X, y)
    results = []
    for number in sorted({1, ALL_THREADS}):
        with threads(number), warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            seconds = interleaved(functions, 1 if small else 4, budget=2.0)
        for label, model in models.items():
            result = {
                "model": label,
                "threads": number,
                "seconds": seconds[label],
                "/ LinearSVC": seconds[label] / seconds[f"LinearSVC, C = {SVC_C[0]:g}"],
                "/ hinge": seconds[label] / seconds[f"LinearSVC, hinge, C = {SVC_C[0]:g}"],
                "iterations": model.n_iter_,
            }
            if isinstance(model, LovaszHingeClassifier):
                history = model.history_
                result["converged"] = model.converged_
                result |= {count: history[count][-1] for count in ("passes", "oracle_calls")}
                for part in ("oracle", "qp", "data"):
                    result[part] = history[f"seconds_{part}"][-1] / history["seconds"][-1]
            else:
                result["converged"] = model.n_iter_ < model.max_iter
            results.append(result)
    columns = ("model", "threads", "seconds", "/ LinearSVC", "/ hinge", "iterations", "converged")
    counts, shares = ("passes", "oracle_calls"), ("oracle", "qp", "data")
    print_table(
        f"{PIXELS}, {y.size:,} x {X.shape[1]}, {np.unique(image).size} images: fits, in units of "
        "LinearSVC with its default loss and C = 1 and with the hinge loss\nand C = 1, and shares "
        "of the time in oracle, QP and passes over X (target: <= 10 times LinearSVC)",
        [*columns, *counts, *shares],
        [
            [
                *map(r.get, columns),
                *map(r.get, counts),
                *(f"{r[s]:.0%}" if s in r else None for s in shares),
            ]
            for r in results
        ],
    )
    return results


def agreement(folder, small: bool) -> list[dict]:
    """Objectives of the Hamming loss against LinearSVC's, the sum over labels.

    With intercept_scaling=1 LinearSVC regularises the intercept like a weight.
    """
    data = load_label_sets(folder, AGREEMENT["name"], 4 if small else 1)
    X = StandardScaler().fit_transform(data.X[~data.test])
    y = data.y[~data.test]
    signs = np.where(y, 1.0, -1.0)
    model = partial(LovaszHingeClassifier, loss="hamming", tol=AGREEMENT["tol"], max_iter=20_000)
    settings = {"loss": "hinge", "dual": True, "tol": 1e-8, "max_iter": 10**7, "random_state": 0}
    results = []
    for C in AGREEMENT["C"]:
        theirs = OneVsRestClassifier(LinearSVC(C=C, **settings)).fit(X, y.astype(int))
        coef = np.vstack([e.coef_ for e in theirs.estimators_])
        intercept = np.concatenate([e.intercept_ for e in theirs.estimators_])
        hinge = np.maximum(1.0 - signs * (X @ coef.T + intercept), 0.0).sum()
        expected = 0.5 * (np.sum(coef**2) + np.sum(intercept**2)) + C * hinge
        each = [model(C=C * len(y)).fit(X, label).objective_ for label in y.T]
        rows = model(C=C * y.size).fit(X, y).objective_
        result = {"C": C, "LinearSVC": expected, "each label": sum(each), "rows": rows}
        for key in ("each label", "rows"):
            result[f"{key}, relative"] = result[key] / expected - 1.0
        results.append(result)
    print_table(
        f"{AGREEMENT['name']}: objectives with the Hamming loss, to a gap of {AGREEMENT['tol']:g}, "
        f"and of LinearSVC with the hinge loss\n(target: they agree to {AGREEMENT['target']:g})",
        ["C", "LinearSVC", "each label", "rows", "each label, relative", "rows, relative"],
        [
            [f"{r['C']:g}", *(f"{v:.6f}" for v in list(r.values())[1:4]), *list(r.values())[4:]]
            for r in results
        ],
    )
    return results


def draw_ratios(axis, found: dict) -> None:
    """A line for each case: filled for one thread, hollow for all."""
    cases: dict[str, dict] = {}
    for r in found["one_set"]:
        label = f"{found['size']:,}, {r['positive']:.0%}, {r['scores']}"
        cases.setdefault(label, {"target": 2.0})[r["threads"]] = r["oracle"] / r["argsort"]
    for r in found["rows_of_labels"]:
        label = f"{r['rows']:,} x {r['labels']}, {r['positive']:.1%}, {r['scores']}"
        target = 4.0 if r["labels"] == 20 else None
        cases.setdefault(label, {"target": target})[r["threads"]] = r["oracle"] / r["sort"]
    labels = [label for label in cases if not label.endswith(", tied")]
    for k, label in enumerate(labels):
        case = cases[label]
        for number in sorted({1, ALL_THREADS}):
            face = look(0)["color"] if number == 1 else "white"
            name = f"{number} thread{'s' * (number > 1)}" if k == 0 else None
            axis.plot(case[number], k, "o", ms=5, color=look(0)["color"], mfc=face, label=name)
        if case["target"] is not None:
            name = "target" if k == 0 else None
            axis.plot(case["target"], k, "|", ms=9, color=look(1)["color"], mew=2, label=name)
    axis.set_yticks(range(len(labels)), labels, fontsize=7)
    axis.invert_yaxis()
    axis.set_xlim(left=0.0)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8)
    axis.set_xlabel("one set: time / np.argsort; rows: time / np.sort")
    axis.set_title("One call: size, positives, scores", fontsize=11)


def draw_growth(axis, found: list[dict]) -> None:
    """Seconds against the size of a set."""
    for k, (key, label) in enumerate(
        (("oracle", "Jaccard"), ("argsort", "np.argsort"), ("sort", "np.sort"))
    ):
        for kind, style in (("noise", "-"), ("separated", "--")):
            points = [(r["size"], r[key] / 1e3) for r in found if r["scores"] == kind]
            axis.plot(*zip(*points, strict=True), ls=style, label=f"{label}, {kind}", **look(k))
    log_scale(axis)
    axis.legend(fontsize=8)
    axis.set_xlabel("elements of the set")
    axis.set_ylabel("seconds a call")
    axis.set_title("One set, a fifth positive", fontsize=11)


def draw_fits(axis, found: list[dict]) -> None:
    """Seconds of each fit with one thread."""
    chosen = [r for r in found if r["threads"] == 1]
    for k, r in enumerate(chosen):
        colour = look(0 if "Jaccard" in r["model"] else 6)["color"]
        axis.barh(k, r["seconds"], color=colour, height=0.6)
        star = "" if r["converged"] else " (not converged)"
        axis.annotate(f" {r['seconds']:.2f}{star}", (r["seconds"], k), va="center", fontsize=8)
    axis.set_yticks(range(len(chosen)), [r["model"] for r in chosen], fontsize=8)
    axis.invert_yaxis()
    axis.margins(x=0.3)
    axis.set_xlabel("seconds of a fit, one thread")
    axis.set_title(PIXELS, fontsize=11)


def draw_curves(axis, name: str, result: dict) -> list:
    """Validation values against C, all on the scale of the Lovász hinge."""
    handles = []
    lowest, highest = 1.0, 0.0
    for k, model in enumerate(MODELS):
        if model not in result["models"]:
            continue
        found = result["models"][model]
        curve = np.mean(found["validation_by_C"], axis=0)
        factor = 1.0 if model in LOVASZ else result["n_elements"]
        handles += axis.plot(factor * found["grid"], curve, lw=1.2, label=model, **look(k))
        lowest, highest = min(lowest, np.median(curve)), max(highest, curve.max())
    room = max(highest - lowest, 0.01)
    axis.set_ylim(lowest - 0.3 * room, highest + 0.1 * room)
    axis.set_xscale("log")
    axis.axvline(DEFAULT, color="#999999", lw=0.8)
    axis.grid(alpha=0.3)
    axis.set_xlabel("C (others: times elements)")
    axis.set_ylabel("mean Jaccard index, validation")
    axis.set_title(name, fontsize=11)
    return handles


def draw(results: dict):
    """The oracle, fits, and quality by C for each set."""
    sets = results.get("quality", {})
    n_panels = 2 + ("fit" in results) + len(sets)
    n_columns = min(n_panels, 4)
    figure, axes = new_figure(-(-n_panels // n_columns), n_columns, 5.2, 4.4)
    panels = iter(axes.flat)
    draw_ratios(next(panels), results["oracle"])
    draw_growth(next(panels), results["growth"])
    if "fit" in results:
        draw_fits(next(panels), results["fit"])
    handles = {}
    for name, result in sets.items():
        for handle in draw_curves(next(panels), name, result):
            handles[handle.get_label()] = handle
    for axis in panels:
        axis.remove()
    if handles:
        shown = [handles[model] for model in MODELS if model in handles]
        label = "quality (grey line: the default C)"
        figure.legend(handles=shown, title=label, loc="outside lower center", ncols=len(shown))
    return figure


def main():
    arguments = parse_arguments(__doc__)
    small = arguments.small
    rounds = 3 if small else 8
    shapes = {(100_000, 20): (0.2, 0.05), (5000, 159): (0.015,)}
    if small:
        shapes = {(2000, 20): (0.2,)}
    results = {
        "oracle": oracle(10**4 if small else 10**6, shapes, rounds),
        "growth": growth([10**k for k in range(3, 6 if small else 8)], rounds),
    }
    names = available_sets(arguments.data, LABEL_SETS)
    if small:
        names = [name for name in names if name in (PIXELS, AGREEMENT["name"])]
    if PIXELS in names:
        results["fit"] = fit_seconds(arguments.data, small)
    if AGREEMENT["name"] in names:
        results["agreement"] = agreement(arguments.data, small)
    if names:
        results["quality"] = quality(arguments.data, names, small)
    print()
    write_json(arguments, "sets", results)
    save_figure(arguments, "sets", draw(results))


if __name__ == "__main__":
    main()
