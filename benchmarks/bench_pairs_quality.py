"""Real-valued relevance: how well linear rankers, ridge regression and boosted trees rank.

Rows are split at random into 70 % that train and 30 % that test, five times; where the data have
queries, whole queries are. The measures are Kendall's tau, where there are queries its mean over
them, and the ranking risk, which weighs pairs by their differences of relevance. Splits share rows
and differ more than models do, so models are compared split by split.

Linear models get the features themselves, standardised, and once more bent and multiplied: splines
and products of two, the same for all of them. Ridge regression chooses its strength by squared
error, as it does out of the box, and StructRankSVM its C by its own score, in three folds of the
training rows. LightGBM is at its defaults. dlib knows two grades only: it learns which rows are
above the median of the relevance, and so does a StructRankSVM, whose C it shares; both are measured
on the relevance itself.
"""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import NamedTuple

import numpy as np
from _common import (
    available_sets,
    look,
    new_figure,
    parse_arguments,
    print_table,
    save_figure,
    write_json,
)
from scipy.stats import kendalltau
from sklearn import config_context
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    PolynomialFeatures,
    QuantileTransformer,
    SplineTransformer,
    StandardScaler,
)

from skrank import StructRankSVM
from skrank.metrics import ranking_risk

try:
    import lightgbm
except ImportError:
    lightgbm = None
try:
    import dlib
except ImportError:
    dlib = None

RELEVANCE_SETS = ("cpu_act", "cal_housing", "abalone", "wine_quality", "bccd_windows")
# Arrays of relevance and of queries that are not named y and qid.
RELEVANCE = {"bccd_windows": "iou_wbc"}
QUERIES = {"bccd_windows": "image"}
N_SPLITS = 5
N_FOLDS = 3
TEST_SHARE = 0.3
GRID = tuple(10.0**k for k in range(-1, 6))
DEFAULT = StructRankSVM().C
ALPHAS = np.logspace(-3, 6, 19)
# With more features than this, products are those of so many principal components.
MANY_FEATURES = 40
N_COMPONENTS = 20
# dlib stops at this absolute gap of the risk.
EPSILON = 1e-4
RIDGE, TREES = "Ridge", "LightGBM"
BOUNDS = {
    "StructRankSVM, slack": {},
    "StructRankSVM, margin": {"rescaling": "margin"},
    "StructRankSVM, uniform": {"pair_weight": "uniform"},
}
TWO_GRADES, DLIB = "StructRankSVM, two grades", "dlib, two grades"
PLAIN, BENT = "plain", "bent"


class Part(NamedTuple):
    """Features, relevance and, if there are any, the query of each row."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray | None

    def take(self, rows: np.ndarray) -> Part:
        """These rows alone."""
        return Part(*(None if array is None else array[rows] for array in self))

    @property
    def queries(self) -> dict:
        """What fits and measures take by the name of qid."""
        return {} if self.qid is None else {"qid": self.qid}


def load(folder, name: str, every: int) -> Part:
    """The data set, or each so many-th row of it; of data with queries, each so many-th query."""
    with np.load(folder / f"{name}.npz", allow_pickle=False) as archive:
        qid = archive[QUERIES[name]] if name in QUERIES else None
        y = archive[RELEVANCE.get(name, "y")].astype(np.float64)
        data = Part(archive["X"].astype(np.float64), y, qid)
    return data.take((np.arange(y.size) if qid is None else qid) % every == 0)


def split_rows(data: Part, seed: int) -> tuple[Part, Part]:
    """Rows to train and to test on; no query has rows in both."""
    rng = np.random.default_rng(seed)
    units = np.arange(data.y.size) if data.qid is None else data.qid
    names = rng.permutation(np.unique(units))
    tests = np.isin(units, names[: round(TEST_SHARE * names.size)])
    return data.take(~tests), data.take(tests)


def make_features(kind: str, n_features: int):
    """What makes features for linear models; they are standardised at the end."""
    if kind == PLAIN:
        return StandardScaler()
    products = PolynomialFeatures(2, include_bias=False)
    # evenly spread values, so that each piece of a spline has as many rows as the others
    spread = QuantileTransformer(n_quantiles=100, random_state=0)
    if n_features > MANY_FEATURES:
        bent = make_union(
            "passthrough",
            make_pipeline(StandardScaler(), PCA(N_COMPONENTS, random_state=0), products),
        )
        return make_pipeline(spread, bent, StandardScaler())
    bent = make_union(SplineTransformer(n_knots=6, include_bias=False), products)
    return make_pipeline(spread, bent, StandardScaler())


def measure(part: Part, scores: np.ndarray) -> dict[str, float]:
    """Kendall's tau and the ranking risk."""
    if part.qid is None:
        taus = [kendalltau(part.y, scores).statistic]
    else:
        rows = [part.qid == query for query in np.unique(part.qid)]
        # queries of one relevance, or one score, have no tau
        taus = [kendalltau(part.y[of], scores[of]).statistic for of in rows]
    risk = ranking_risk(part.y, scores, **part.queries)
    return {"tau": float(np.nanmean(taus)), "risk": risk}


def fit_ridge(train: Part):
    """Ridge regression of the relevance."""
    model = RidgeCV(ALPHAS).fit(train.X, train.y)
    return model.predict, {
        "parameter": float(model.alpha_),
        "at_end": bool(model.alpha_ in (ALPHAS[0], ALPHAS[-1])),
    }


def fit_trees(train: Part):
    """Boosted trees at their defaults."""
    model = lightgbm.LGBMRegressor(n_jobs=2, verbose=-1).fit(train.X, train.y)
    return model.predict, {}


def search(train: Part, grid, **parameters):
    """StructRankSVM with C by cross-validation."""
    with config_context(enable_metadata_routing=True):
        if train.qid is None:
            folds = KFold(N_FOLDS, shuffle=True, random_state=0)
        else:
            folds = GroupKFold(N_FOLDS).set_split_request(groups="qid")
        model = StructRankSVM(**parameters)
        found = GridSearchCV(model, {"C": grid}, cv=folds).fit(train.X, train.y, **train.queries)
    values = found.cv_results_["mean_test_score"]
    return found.predict, {
        "parameter": found.best_params_["C"],
        "at_end": found.best_params_["C"] in (grid[0], grid[-1]),
        "refit_seconds": found.refit_time_,
        "iterations": found.best_estimator_.n_iter_,
        "validation_by_C": values,
        "default_loses": float(values.max() - values[list(grid).index(DEFAULT)]),
    }


def fit_dlib(train: Part, C: float):
    """dlib's ranker with the same objective; a query without rows of both grades has no pairs."""
    pairs = dlib.ranking_pairs()
    queries = np.zeros(train.y.size) if train.qid is None else train.qid
    for query in np.unique(queries):
        rows = queries == query
        if np.unique(train.y[rows]).size < 2:
            continue
        pair = dlib.ranking_pair()
        for x, relevant in zip(train.X[rows], train.y[rows], strict=True):
            (pair.relevant if relevant else pair.nonrelevant).append(dlib.vector(x))
        pairs.append(pair)
    trainer = dlib.svm_rank_trainer()
    trainer.c, trainer.epsilon = C, EPSILON
    weights = np.array(trainer.train(pairs).weights).ravel()
    return (lambda X: X @ weights), {"parameter": C}


def evaluate(fit, train: Part, test: Part, **arguments) -> dict:
    """A fit, its time, and its measures on the test part."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = perf_counter()
        predict, found = fit(train, **arguments)
        seconds = perf_counter() - start
        scores = predict(test.X)
        measures = measure(test, scores)
    late = sum(issubclass(w.category, ConvergenceWarning) for w in caught)
    return {**measures, "seconds": seconds, "late": late, **found}


def one_split(data: Part, seed: int, small: bool) -> dict[tuple[str, str], dict]:
    """All models with all features."""
    grid = GRID[2:5:2] if small else GRID
    train, test = split_rows(data, seed)
    found = {}
    if lightgbm is not None:
        found[TREES, PLAIN] = evaluate(fit_trees, train, test)
    for kind in (PLAIN, BENT):
        steps = make_features(kind, data.X.shape[1]).fit(train.X)
        ready, other = (part._replace(X=steps.transform(part.X)) for part in (train, test))
        found[RIDGE, kind] = evaluate(fit_ridge, ready, other)
        for bound, parameters in BOUNDS.items():
            found[bound, kind] = evaluate(search, ready, other, grid=grid, **parameters)
        if kind == PLAIN:
            two = ready._replace(y=(ready.y > np.median(ready.y)).astype(np.float64))
            ranker = evaluate(search, two, other, grid=grid, pair_weight="uniform")
            found[TWO_GRADES, kind] = ranker
            if dlib is not None:
                found[DLIB, kind] = evaluate(fit_dlib, two, other, C=ranker["parameter"])
    return found


def over_splits(values, form: str = ".4f") -> str:
    """Mean and standard deviation."""
    values = np.asarray(values)
    spread = f" ± {values.std(ddof=1):.4f}" if values.size > 1 else ""
    return f"{values.mean():{form}}{spread}"


def quality(folder, name: str, small: bool) -> dict:
    """All models on all splits of a set."""
    data = load(folder, name, 8 if small else 1)
    splits = [one_split(data, seed, small) for seed in range(1 if small else N_SPLITS)]
    models = {}
    for key in splits[0]:
        runs = [split[key] for split in splits]
        # like is compared with like: each model with ridge on the same features
        ridge = np.array([split[RIDGE, key[1]]["risk"] for split in splits])
        risk = np.array([run["risk"] for run in runs])
        models[", ".join(key)] = {
            "model": key[0],
            "features": key[1],
            "runs": runs,
            "risk": risk,
            "tau": np.array([run["tau"] for run in runs]),
            "risk_minus_ridge": risk - ridge,
            "below_ridge": int(np.count_nonzero(risk < ridge)),
        }
    rows = []
    for of in models.values():
        runs, is_ridge = of["runs"], of["model"] == RIDGE
        parameters = [run["parameter"] for run in runs if "parameter" in run]
        losses = [run["default_loses"] for run in runs if "default_loses" in run]
        rows.append(
            [
                of["model"],
                of["features"],
                over_splits(of["tau"]),
                over_splits(of["risk"]),
                None if is_ridge else over_splits(of["risk_minus_ridge"], "+.4f"),
                None if is_ridge else f"{of['below_ridge']} of {len(splits)}",
                " ".join(f"{value:g}" for value in parameters) or None,
                np.mean(losses) if losses else None,
                sum(run["late"] for run in runs),
                np.mean([run["seconds"] for run in runs]),
            ]
        )
    widths = [
        make_features(kind, data.X.shape[1]).fit_transform(data.X[:500]).shape[1]
        for kind in (PLAIN, BENT)
    ]
    queries = "" if data.qid is None else f", {np.unique(data.qid).size} queries"
    print_table(
        f"{name}: {data.y.size:,} rows{queries}, {widths[0]} plain and {widths[1]} bent features; "
        f"means ± standard deviations over {len(splits)} splits,\nrisks against that of ridge with "
        "the same features, the strengths chosen (alpha, or C), what the default C loses on the "
        "folds,\nfits that did not converge, and seconds of a fit with the choice of C",
        [
            "model",
            "features",
            "tau",
            "risk",
            "risk - ridge",
            "below ridge",
            "strengths",
            f"C = {DEFAULT:g}",
            "late",
            "seconds",
        ],
        rows,
    )
    return {"rows": data.y.size, "features": widths, "models": models}


def draw(results: dict[str, dict]):
    """How much lower than that of ridge with the same features the risk is on each split."""
    figure, axes = new_figure(1, len(results), 2.9, 3.4)
    for axis, (name, result) in zip(axes[0], results.items(), strict=True):
        shown = [of for of in result["models"].values() if of["model"] != RIDGE]
        for k, of in enumerate(shown):
            differences = of["risk_minus_ridge"]
            style = look(0 if "StructRankSVM" in of["model"] else 6)
            axis.plot(differences, np.full(differences.size, k), ls="", alpha=0.35, **style)
            axis.plot(differences.mean(), k, "|", ms=12, mew=2, color=style["color"])
        axis.axvline(0.0, color="#999999", lw=0.8)
        labels = [f"{of['model']}, {of['features']}" for of in shown]
        axis.set_yticks(range(len(shown)), labels if axis is axes[0, 0] else [], fontsize=8)
        axis.invert_yaxis()
        axis.tick_params(axis="x", labelsize=7)
        axis.locator_params(axis="x", nbins=4)
        axis.grid(axis="x", alpha=0.3)
        axis.set_title(name, fontsize=11)
    figure.supxlabel("ranking risk minus that of ridge with the same features", fontsize=10)
    return figure


def main():
    arguments = parse_arguments(__doc__)
    for name, module in (("lightgbm", lightgbm), ("dlib", dlib)):
        if module is None:
            print(f"{name} is not installed: its model is left out.")
    names = available_sets(arguments.data, RELEVANCE_SETS)
    results = {name: quality(arguments.data, name, arguments.small) for name in names}
    if results:
        print()
        write_json(arguments, "pairs_quality", {"grid": GRID, "sets": results})
        save_figure(arguments, "pairs_quality", draw(results))


if __name__ == "__main__":
    main()
