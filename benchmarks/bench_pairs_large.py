"""A fit on tens of millions of rows of different relevance: time, where it goes, and memory.

Two kinds of runs, each in a process of its own, since the peak of memory is that of a process:

- ``--mode large``: one fit on n rows, 10^15 pairs and more, of float32, to a gap of 1e-2;
- ``--mode calls``: fits on a million rows to a gap of 1e-3 that count the calls of the oracle, on
  easy data and on hard ones.

Relevance is a linear function of the features plus heavy-tailed noise. On hard data the noise is
ten times the signal, neighbouring features are correlated, and one row of a hundred has its
features, but not its relevance, blown up. Data are made block by block, in place. A fit on
few rows comes first, so that no time to compile is counted. With ``--sample N`` each fit begins
where one on the first N rows ended; its seconds and calls are counted apart.
"""

from __future__ import annotations

import sys
import warnings
from time import perf_counter

import numpy as np
from _common import parse_arguments, print_table, write_json
from sklearn.exceptions import ConvergenceWarning

from skrank import StructRankSVM
from skrank.metrics import ranking_risk

try:
    import resource
except ImportError:  # not on Windows
    resource = None

# What each mode measures, unless options say otherwise, and sizes to see that all works.
DEFAULTS = {
    "large": {"n": 5 * 10**7, "d": 6, "tol": 1e-2, "C": 10.0, "kinds": ("noisy",)},
    "calls": {"n": 10**6, "d": 10, "tol": 1e-3, "C": 10.0, "kinds": ("easy", "hard")},
}
SMALL = {"large": 10**6, "calls": 10**5}
# How large the noise is, in units of the standard deviation of the signal, before its tails.
NOISE = {"easy": 0.3, "noisy": 1.0, "hard": 10.0}
# Student's t with so few degrees of freedom has a variance, but no fourth moment.
FREEDOM = 3.0
CORRELATION = 0.95
OUTLIERS = 0.01
BLOW_UP = 10.0
BLOCK = 2**20
# Rows to compile on: as many as all threads share the work of.
FEW = 10**5
TEST_ROWS = 10**6
PARTS = ("seconds_oracle", "seconds_qp", "seconds_data")
GIGABYTE = 2.0**30


def make_data(kind: str, n: int, d: int, seed: int):
    """Features as float32 and relevance as float64, which has room for so many different values."""
    weights = np.random.default_rng(0).standard_normal(d).astype(np.float32)
    rng = np.random.default_rng([1, seed])
    X, y = np.empty((n, d), np.float32), np.empty(n)
    mix = mixing(d) if kind == "hard" else np.eye(d, dtype=np.float32)
    spread = NOISE[kind] * np.linalg.norm(mix.T @ weights)
    for first in range(0, n, BLOCK):
        rows = slice(first, min(first + BLOCK, n))
        block = rng.standard_normal((rows.stop - first, d), dtype=np.float32) @ mix.T
        y[rows] = block @ weights + spread * rng.standard_t(FREEDOM, block.shape[0])
        if kind == "hard":
            block[rng.random(block.shape[0]) < OUTLIERS] *= BLOW_UP
        X[rows] = block
    return X, y


def mixing(d: int) -> np.ndarray:
    """What makes features that are correlated the more, the closer they stand."""
    distance = np.abs(np.subtract.outer(np.arange(d), np.arange(d)))
    return np.linalg.cholesky(CORRELATION**distance).astype(np.float32)


def peak_memory() -> float | None:
    """The most memory this process has had in use so far, in gigabytes."""
    if resource is None:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    # kilobytes, but bytes on macOS
    return peak * (1 if sys.platform == "darwin" else 1024) / GIGABYTE


def fit(kind: str, n: int, d: int, tol: float, C: float, sample: int = 0) -> dict:
    """Make data, fit, from where a sample leads if one is asked for, and rank other rows."""
    start = perf_counter()
    X, y = make_data(kind, n, d, seed=0)
    making = perf_counter() - start
    before = peak_memory()
    model = StructRankSVM(C=C, tol=tol, warm_start=sample > 0)
    on_sample = {"sample": sample, "sample_seconds": 0.0, "sample_calls": 0}
    with warnings.catch_warnings():
        # the result says whether it converged
        warnings.simplefilter("ignore", ConvergenceWarning)
        if sample:
            start = perf_counter()
            model.fit(X[:sample], y[:sample])
            on_sample["sample_seconds"] = perf_counter() - start
            on_sample["sample_calls"] = model.history_["oracle_calls"][-1]
        start = perf_counter()
        model.fit(X, y)
        seconds = perf_counter() - start
    after = peak_memory()
    history = {name: values[-1] for name, values in model.history_.items()}
    result = {
        "data": kind,
        "n": n,
        "d": d,
        "tol": tol,
        "C": C,
        **on_sample,
        "seconds": seconds,
        "iterations": model.n_iter_,
        "oracle_calls": history["oracle_calls"],
        "passes": history["passes"],
        **{part: history[part] for part in PARTS},
        # checks, and what is sorted once
        "seconds_setup": seconds - history["seconds"],
        "gap": model.dual_gap_,
        "converged": model.converged_,
        "making": making,
        "data_GB": (X.nbytes + y.nbytes) / GIGABYTE,
        "peak_before_GB": before,
        "peak_GB": after,
        "fit_bytes_a_row": None if after is None else (after - before) * GIGABYTE / n,
    }
    X, y = make_data(kind, min(n, TEST_ROWS), d, seed=1)
    truth = np.random.default_rng(0).standard_normal(d).astype(np.float32)
    result["test_risk"] = ranking_risk(y, model.predict(X))
    result["true_risk"] = ranking_risk(y, X @ truth)
    return result


def report(results: list[dict], threads: int) -> None:
    """Three tables: time, where it goes, and memory."""
    first = results[0]
    of = f"{first['n']:,} x {first['d']}, C = {first['C']:g}, tol = {first['tol']:g}"
    columns = ("seconds", "iterations", "oracle_calls", "passes", "gap", "converged")
    if first["sample"]:
        of += f", from a sample of {first['sample']:,}"
        columns += ("sample_seconds", "sample_calls")
    ranks = ("test_risk", "true_risk")
    print_table(
        f"Fits of StructRankSVM, {of}, {threads} threads;\nranking risk of other rows, by the "
        "model and by the linear function that the relevance was made of",
        ["data", *columns, *ranks],
        [[r["data"], *(r[name] for name in (*columns, *ranks))] for r in results],
    )
    parts = (*PARTS, "seconds_setup")
    print_table(
        "Seconds in the oracle, the QP, passes over X, and before the first iteration",
        ["data", "oracle", "qp", "passes", "before", "oracle, a call"],
        [
            [r["data"], *(r[part] for part in parts), r["seconds_oracle"] / r["oracle_calls"]]
            for r in results
        ],
    )
    memory = ("data_GB", "peak_before_GB", "peak_GB", "fit_bytes_a_row", "making")
    print_table(
        "Memory: that of X and y, the peak of the process before and after the fit, what the fit "
        "added;\nseconds to make the data",
        ["data", *memory],
        # the peak is that of the process: a second fit shows only what it has in excess
        [[r["data"], *(r[name] for name in memory)] for r in results],
    )


def count(text: str) -> int:
    """A whole number, also as 5e7."""
    return int(float(text))


def main():
    arguments = parse_arguments(
        __doc__,
        mode={"choices": tuple(DEFAULTS), "default": "large", "help": "what to measure"},
        n={"type": count, "help": "rows"},
        d={"type": int, "help": "features"},
        tol={"type": float, "help": "relative duality gap to stop at"},
        C={"type": float, "help": "weight of the loss"},
        sample={"type": count, "help": "rows of a fit to start from"},
    )
    settings = DEFAULTS[arguments.mode] | ({"n": SMALL[arguments.mode]} if arguments.small else {})
    for name in ("n", "d", "tol", "C", "sample"):
        given = getattr(arguments, name)
        if given is not None:
            settings[name] = given
    kinds = settings.pop("kinds")
    start = perf_counter()
    fit(kinds[0], FEW, settings["d"], 1e-2, 1.0)
    compiling = perf_counter() - start
    results = [fit(kind, **settings) for kind in kinds]
    report(results, arguments.threads)
    print()
    found = {"mode": arguments.mode, "compiling": compiling, "fits": results}
    write_json(arguments, f"pairs_{arguments.mode}", found)


if __name__ == "__main__":
    main()
