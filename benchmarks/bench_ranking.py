"""Graded relevance with queries: quality of rankers, time of a fit, and of the oracle.

Quality is taken on the official five folds: one tests, the one before it validates, and the other
three train. Linear models get the same features, standardised, with or without all products of
two, and have degree and strength of regularisation chosen by NDCG@10 on the validation fold;
boosted trees have the number of leaves chosen by it, and the number of trees by early stopping on
it. Nothing is fitted again on training and validation rows together. Folds differ more than models
do, so differences to ridge regression are taken fold by fold. Queries without a relevant document
do not count.
"""

from __future__ import annotations

import warnings
from functools import partial
from time import perf_counter

import numba
import numpy as np
from _common import (
    RANKING_SETS,
    RankingSet,
    available_sets,
    in_turn,
    interleaved,
    load_ranking,
    look,
    mean_and_error,
    new_figure,
    parse_arguments,
    print_table,
    save_figure,
    standard_error,
    standardise,
    threads,
    versions,
    write_json,
)
from joblib import Parallel, delayed
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.utils.validation import has_fit_parameter

from skrank import APSVC, NDCGSVC, RankSVC
from skrank.losses import NDCG, AveragePrecision, Groups
from skrank.metrics import mean_average_precision, mean_ndcg

try:
    import lightgbm
except ImportError:
    lightgbm = None
try:
    import xgboost
except ImportError:
    xgboost = None

N_FOLDS = 5
N_JOBS = 2
ALL_THREADS = numba.config.NUMBA_NUM_THREADS
MEASURES = ("NDCG@10", "MAP")
# A linear model, its parameter of regularisation, and what to choose it from.
LINEAR = {
    "NDCGSVC": (NDCGSVC(), "C", np.logspace(-4, 2, 13)),
    "APSVC": (APSVC(), "C", np.logspace(-4, 2, 13)),
    "RankSVC, ROC area": (RankSVC(loss="roc_auc"), "C", np.logspace(-4, 2, 13)),
    "Ridge": (Ridge(), "alpha", np.logspace(0, 5, 11)),
    "LogisticRegression": (LogisticRegression(max_iter=10_000), "C", np.logspace(-5, 1, 7)),
}
LEAVES = (7, 15, 31)
MAX_TREES = 500
PATIENCE = 50
BOOSTING = {"n_estimators": MAX_TREES, "learning_rate": 0.1, "n_jobs": 1}
# Trees where time is measured.
N_TREES = 100
# Lists of the oracle: how many documents of a query have the grades 0, 1, 2; and how much higher
# than at the last grade scores are in the mean.
N_DOCUMENTS = 100
RELEVANCE = {"10 % relevant": (90, 10), "50 % relevant": (50, 50), "70/20/10 %": (70, 20, 10)}
SHIFTS = (0.0, 2.0)


def measure(part: RankingSet, scores: np.ndarray) -> dict[str, float]:
    """The measures of a ranking, over the queries that have a relevant document."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        values = (
            mean_ndcg(part.y, scores, qid=part.qid, k=10),
            mean_average_precision(part.y > 0, scores, qid=part.qid),
        )
    return dict(zip(MEASURES, values, strict=True))


def fit_linear(model, train: RankingSet, validation: RankingSet):
    """Classifiers learn which rows are relevant, others the grades; what can takes queries."""
    queries = {"qid": train.qid} if has_fit_parameter(model, "qid") else {}
    model.fit(train.X, train.y > 0 if is_classifier(model) else train.y, **queries)
    return (model.decision_function if is_classifier(model) else model.predict), {}


def query_sizes(part: RankingSet) -> np.ndarray:
    """Rows of each query."""
    return np.unique(part.qid, return_counts=True)[1]


def fit_lightgbm(leaves: int, train: RankingSet, validation: RankingSet):
    """Lambdarank; the number of trees by early stopping."""
    model = lightgbm.LGBMRanker(num_leaves=leaves, verbose=-1, **BOOSTING)
    model.fit(
        train.X,
        train.y,
        group=query_sizes(train),
        eval_set=[(validation.X, validation.y)],
        eval_group=[query_sizes(validation)],
        eval_at=[10],
        callbacks=[lightgbm.early_stopping(PATIENCE, verbose=False)],
    )
    return model.predict, {"trees": model.best_iteration_}


def fit_xgboost(leaves: int, train: RankingSet, validation: RankingSet):
    """Trees grow at the best leaf, as LightGBM's do; their number by early stopping."""
    shape = {"max_leaves": leaves, "max_depth": 0, "grow_policy": "lossguide"}
    stopping = {"eval_metric": "ndcg@10", "early_stopping_rounds": PATIENCE}
    model = xgboost.XGBRanker(objective="rank:ndcg", **shape, **stopping, **BOOSTING)
    watched = {"eval_set": [(validation.X, validation.y)], "eval_qid": [validation.qid]}
    model.fit(train.X, train.y, qid=train.qid, verbose=False, **watched)
    return model.predict, {"trees": model.best_iteration + 1}


TREES = {}
if lightgbm is not None:
    TREES["LightGBM"] = fit_lightgbm
if xgboost is not None:
    TREES["XGBoost"] = fit_xgboost


def candidate(fit, model, parameters: dict, parts: list[RankingSet], facts: dict) -> dict:
    """A fit, its time, and its measures on the validation and the test fold."""
    train, validation, test = parts
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = perf_counter()
        score, found = fit(model, train, validation)
        seconds = perf_counter() - start
        scores = [score(part.X) for part in (validation, test)]
    return {
        "parameters": {**parameters, **found},
        "seconds": seconds,
        "converged": not any(issubclass(w.category, ConvergenceWarning) for w in caught)
        and found.get("trees", 0) + PATIENCE <= MAX_TREES,
        "validation": measure(validation, scores[0]),
        "test": measure(test, scores[1]),
        **facts,
    }


def evaluate(folder, name, fold, small) -> dict[str, list[dict]]:
    """Every model with all its parameters, on one fold."""
    data = load_ranking(folder, name, 100 if small else None)
    tests, validates = data.fold == fold, data.fold == (fold - 2) % N_FOLDS + 1
    parts = [data.take(rows) for rows in (~tests & ~validates, validates, tests)]
    found: dict[str, list[dict]] = {model: [] for model in (*LINEAR, *TREES)}
    for degree in (1, 2):
        steps = make_pipeline(PolynomialFeatures(degree, include_bias=False), StandardScaler())
        steps.fit(parts[0].X)
        scaled = [part._replace(X=steps.transform(part.X)) for part in parts]
        for model, (estimator, strength, grid) in LINEAR.items():
            for value in grid[:: 4 if small else 1]:
                ready = clone(estimator).set_params(**{strength: value})
                facts = {"at_end": value in (grid[0], grid[-1])}
                parameters = {"degree": degree, strength: value}
                found[model].append(candidate(fit_linear, ready, parameters, scaled, facts))
    for model, fit in TREES.items():
        for leaves in LEAVES[: 1 if small else None]:
            found[model].append(candidate(fit, leaves, {"leaves": leaves}, parts, {}))
    return found


def best(candidates: list[dict], degrees=(1, 2)) -> dict:
    """The candidate that is best on the validation fold, trees or of one of these degrees."""
    allowed = [c for c in candidates if c["parameters"].get("degree", degrees[0]) in degrees]
    return max(allowed, key=lambda c: c["validation"]["NDCG@10"])


def values(chosen: dict[str, list[dict]], measure: str) -> dict[str, np.ndarray]:
    """Test values of the models' chosen candidates, an entry for each fold."""
    return {model: np.array([c["test"][measure] for c in of]) for model, of in chosen.items()}


def report(title: str, chosen: dict[str, list[dict]]) -> None:
    """Means over folds, and of the differences to ridge; how the choice fell."""
    by_measure = [values(chosen, measure) for measure in MEASURES]
    rows = []
    for model, candidates in chosen.items():
        row = [model, *(mean_and_error(of[model]) for of in by_measure)]
        differences = [of[model] - of["Ridge"] for of in by_measure]
        row += [None if model == "Ridge" else mean_and_error(d, "+.4f") for d in differences]
        degrees = [c["parameters"].get("degree") for c in candidates]
        row.append(degrees.count(2) if model in LINEAR else None)
        row.append(sum(c["at_end"] for c in candidates) if model in LINEAR else None)
        row.append(sum(c["converged"] for c in candidates))
        rows.append([*row, np.mean([c["seconds"] for c in candidates])])
    header = [*MEASURES, *(f"{m} - ridge" for m in MEASURES), "degree 2", "end of grid"]
    print_table(title, ["model", *header, "converged", "seconds"], rows)


def quality(folder, names, small) -> dict:
    """All models on all folds of the sets."""
    tasks = [(name, fold) for name in names for fold in range(1, N_FOLDS + 1)]
    found = Parallel(n_jobs=N_JOBS, verbose=10)(
        delayed(evaluate)(folder, name, fold, small) for name, fold in tasks
    )
    results = {}
    for name in names:
        folds = [of for task, of in zip(tasks, found, strict=True) if task[0] == name]
        chosen = {model: [best(of[model]) for of in folds] for model in folds[0]}
        degree_1 = {model: [best(of[model], (1,)) for of in folds] for model in LINEAR}
        report(f"{name}: means over test folds ± standard error; folds with degree 2, ...", chosen)
        report(f"{name}, linear models with degree 1 alone", degree_1)
        candidates = {model: [of[model] for of in folds] for model in folds[0]}
        results[name] = {"chosen": chosen, "degree_1": degree_1, "candidates": candidates}
    return results


def fit_seconds(folder, name, small) -> dict:
    """Fits on all queries, in turns; what NDCGSVC spends its time on."""
    data = load_ranking(folder, name, 200 if small else None)
    X, y, qid, sizes = standardise(data.X), data.y, data.qid, query_sizes(data)
    models = {f"NDCGSVC, C = {C:g}": NDCGSVC(C) for C in (1.0, 10.0, 100.0, 1000.0)}
    models["NDCGSVC, k = 10"] = NDCGSVC(k=10)
    functions = {label: partial(model.fit, X, y, qid=qid) for label, model in models.items()}
    settings = {"n_estimators": N_TREES, "n_jobs": ALL_THREADS}
    if lightgbm is not None:
        ranker = lightgbm.LGBMRanker(verbose=-1, **settings)
        functions["LightGBM"] = partial(ranker.fit, X, y, group=sizes)
    if xgboost is not None:
        ranker = xgboost.XGBRanker(objective="rank:ndcg", **settings)
        functions["XGBoost"] = partial(ranker.fit, X, y, qid=qid)
    with threads(ALL_THREADS), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds = interleaved(functions, 3 if small else 20, budget=1.0 if small else 10.0)
    results = {label: {"seconds": time} for label, time in seconds.items()}
    for label, result in results.items():
        if "LightGBM" in seconds:
            result["/ LightGBM"] = result["seconds"] / seconds["LightGBM"]
        if label in models:
            history = models[label].history_
            result["iterations"] = models[label].n_iter_
            result["converged"] = models[label].converged_
            result |= {count: history[count][-1] for count in ("passes", "oracle_calls")}
            for part in ("oracle", "qp", "data"):
                result[part] = history[f"seconds_{part}"][-1] / history["seconds"][-1]
    columns = ("seconds", "/ LightGBM", "iterations", "passes", "oracle_calls")
    shares = ("oracle", "qp", "data")
    print_table(
        f"{name}, {y.size:,} x {X.shape[1]}, {sizes.size:,} queries: fits with {ALL_THREADS} "
        f"threads, boosting with {N_TREES} trees;\nshares of the time in oracle, QP and passes "
        f"over X (target: <= 3 times LightGBM at the default C = {NDCGSVC().C:g})",
        ["model", *columns, *shares],
        [
            [label, *map(r.get, columns), *(f"{r[s]:.0%}" if s in r else None for s in shares)]
            for label, r in results.items()
        ],
    )
    return {"threads": ALL_THREADS, "rows": y.size, "queries": sizes.size, "models": results}


def oracle(n_queries: int, rounds: int) -> list[dict]:
    """One call of the oracle over many short lists, in units of NumPy's sort of all of them."""
    rng = np.random.default_rng(0)
    groups = Groups.from_qid(np.repeat(np.arange(n_queries), N_DOCUMENTS), n_queries * N_DOCUMENTS)
    results = []
    for relevance, counts in RELEVANCE.items():
        grades = np.repeat(np.arange(len(counts)), counts)
        y = rng.permuted(np.tile(grades, (n_queries, 1)), axis=1).ravel()
        objectives = {"NDCG": NDCG().bind(y, groups), "NDCG@10": NDCG(k=10).bind(y, groups)}
        if len(counts) == 2:
            objectives["AP"] = AveragePrecision().bind(y > 0, groups)
        objectives["np.sort"] = lambda scores: np.sort(scores.reshape(-1, N_DOCUMENTS), axis=1)
        for shift in SHIFTS:
            changing = versions(rng.standard_normal(y.size) + shift * y)
            for number in sorted({1, ALL_THREADS}):
                functions = {key: in_turn(of, changing) for key, of in objectives.items()}
                with threads(number):
                    seconds = interleaved(functions, rounds)
                result = {"relevance": relevance, "shift": shift, "threads": number}
                result["milliseconds"] = {k: 1e3 * v for k, v in seconds.items()}
                result["/ sort"] = {k: v / seconds["np.sort"] for k, v in seconds.items()}
                result["target"] = 20 if len(counts) == 2 else 60
                results.append(result)
    names = ("NDCG", "NDCG@10", "AP")
    case = ("relevance", "shift", "threads")
    rows = []
    for r in results:
        times = [r["milliseconds"].get(name) for name in (*names, "np.sort")]
        ratios = [r["/ sort"].get(name) for name in names]
        rows.append([*map(r.get, case), *times, *ratios, f"<= {r['target']}"])
    print_table(
        f"One call of the oracle, {n_queries:,} queries of {N_DOCUMENTS} documents: milliseconds, "
        "and in units of np.sort",
        [*case, *names, "np.sort", *(f"{name} / sort" for name in names), "target"],
        rows,
    )
    return results


def draw(results: dict[str, dict]):
    """Values with two errors: of the mean, and of the difference to ridge."""
    figure, axes = new_figure(len(results), len(MEASURES), 4.6, 2.9)
    styles = (
        {"lw": 6, "alpha": 0.35, "label": "standard error of the differences to ridge (grey line)"},
        {"lw": 1, "label": "standard error of the mean over folds"},
    )
    handles = []
    for row, (name, result) in zip(axes, results.items(), strict=True):
        for axis, measure in zip(row, MEASURES, strict=True):
            by_model = values(result["chosen"], measure)
            ridge = by_model["Ridge"]
            axis.axvline(ridge.mean(), color="#999999", lw=0.8)
            for k, (model, of) in enumerate(by_model.items()):
                colour = look(0 if "SVC" in model else 6)["color"]
                axis.plot(of.mean(), k, "o", ms=5, color=colour)
                handles = []
                errors = (standard_error(of - ridge), standard_error(of))
                for style, error in zip(styles, errors, strict=True):
                    ends = of.mean() - error, of.mean() + error
                    handles += axis.plot(ends, (k, k), color=colour, **style)
            axis.set_yticks(range(len(by_model)), by_model if axis is row[0] else [])
            axis.invert_yaxis()
            axis.grid(axis="x", alpha=0.3)
            axis.set_title(f"{name}: {measure}", fontsize=11)
    figure.legend(handles=handles, loc="outside lower center", ncols=2, fontsize=9)
    return figure


def main():
    arguments = parse_arguments(__doc__)
    small = arguments.small
    for name, module in (("lightgbm", lightgbm), ("xgboost", xgboost)):
        if module is None:
            print(f"{name} is not installed: its ranker is left out.")
    results = {"oracle": oracle(1000 if small else 10_000, 5 if small else 20)}
    names = available_sets(arguments.data, RANKING_SETS)
    if names:
        results["fit"] = fit_seconds(arguments.data, names[-1], small)
        results["quality"] = quality(arguments.data, names, small)
    print()
    write_json(arguments, "ranking", results)
    if names:
        save_figure(arguments, "ranking", draw(results["quality"]))


if __name__ == "__main__":
    main()
