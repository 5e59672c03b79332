"""What the benchmarks share: arguments, data, timing, tables, JSON and pictures."""

from __future__ import annotations

import argparse
import json
import os
import platform
from collections.abc import Callable, Iterable, Sequence
from contextlib import contextmanager
from importlib import metadata
from itertools import cycle
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numba
import numpy as np
import scipy.sparse as sp
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, NullFormatter
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_info, threadpool_limits

BINARY_SETS = (
    "mammography",
    "page_blocks0",
    "letter_img",
    "internet_ads",
    "cifar10_r18_c0",
    "campaign",
    "a9a",
    "cover",
)
RANKING_SETS = ("mq2008", "mq2007_agg")
LABEL_SETS = ("scene", "yeast", "emotions", "isbi_membrane_px", "bibtex")
# Images with this number and higher ones test.
TEST_IMAGE = 20
LIBRARIES = (
    "skrank",
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "cvxpy",
    "dlib",
    "lightgbm",
    "xgboost",
)
# Scores change by this part of their spread; as many versions as fit into so many numbers.
CHANGE = 0.01
MAX_VERSIONS = 32
MAX_NUMBERS = 4_000_000
# Dark enough on white, and told apart by people with colour-blindness.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999")
MARKERS = "osD^vPX*"


def parse_arguments(description: str, **options: dict) -> argparse.Namespace:
    """--data, --small, --out and --threads; makes the output folder and sets the threads.

    Further options of a script are given by name, with what ``add_argument`` takes.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--data", type=Path, help="folder with data sets as .npz files")
    parser.add_argument("--small", action="store_true", help="a run of some seconds")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    parser.add_argument("--threads", type=int, default=1, help="of BLAS, OpenMP and numba alike")
    for name, settings in options.items():
        parser.add_argument(f"--{name}", **settings)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    threadpool_limits(arguments.threads)
    numba.set_num_threads(arguments.threads)
    return arguments


@contextmanager
def threads(number: int):
    """That many threads of BLAS, OpenMP and numba for a while."""
    before = numba.get_num_threads()
    numba.set_num_threads(number)
    try:
        with threadpool_limits(number):
            yield
    finally:
        numba.set_num_threads(before)


def available_sets(folder: Path | None, wanted: Iterable[str] = BINARY_SETS) -> list[str]:
    """Names of the wanted data sets that the folder has; says so if there are none."""
    found = [] if folder is None else [n for n in wanted if (folder / f"{n}.npz").is_file()]
    if not found:
        print("No real data: give a folder that holds some with --data. Skipped.")
    return found


def load_binary(folder: Path, name: str, max_rows: int | None = None):
    """Features as float64, dense or CSR, and labels as booleans; at most ``max_rows`` rows.

    A sparse array is stored by its parts, X_data, X_indices, X_indptr and X_shape.
    """
    with np.load(folder / f"{name}.npz", allow_pickle=False) as archive:
        X, y = _read_features(archive), archive["y"] == 1
    if max_rows is not None and max_rows < y.size:
        chosen = stratified_rows(y, max_rows)
        X, y = X[chosen], y[chosen]
    return X, y


def _read_features(archive):
    """Dense or CSR, as float64."""
    if "X" in archive:
        return archive["X"].astype(np.float64)
    parts = [archive[f"X_{part}"] for part in ("data", "indices", "indptr")]
    return sp.csr_array(tuple(parts), shape=tuple(archive["X_shape"])).astype(np.float64)


class LabelSets(NamedTuple):
    """Features and labels; a set is a row of labels, or the rows of an image, which share them."""

    X: np.ndarray | sp.csr_array
    y: np.ndarray
    image: np.ndarray | None
    test: np.ndarray

    @property
    def n_elements(self) -> int:
        """Elements of all sets of the official training part."""
        return self.y[~self.test].size


def load_label_sets(folder: Path, name: str, every: int = 1) -> LabelSets:
    """Rows with several labels, or pixels of images, of which the last third tests.

    Only each so many-th row, or pixel of an image, is kept.
    """
    with np.load(folder / f"{name}.npz", allow_pickle=False) as archive:
        X = _read_features(archive)[::every]
        if "image" not in archive:
            return LabelSets(X, archive["Y"][::every] > 0, None, archive["test"][::every])
        image = archive["image"][::every]
        return LabelSets(X, archive["y"][::every] > 0, image, image >= TEST_IMAGE)


class RankingSet(NamedTuple):
    """Features, grades, the number of the query and the fold of each row."""

    X: np.ndarray
    y: np.ndarray
    qid: np.ndarray
    fold: np.ndarray

    def take(self, rows: np.ndarray) -> RankingSet:
        """The set with these rows alone."""
        return RankingSet(*(array[rows] for array in self))


def load_ranking(folder: Path, name: str, max_queries: int | None = None) -> RankingSet:
    """Rows with queries one after another; about ``max_queries`` of them, from all folds."""
    with np.load(folder / f"{name}.npz", allow_pickle=False) as archive:
        _, qid = np.unique(archive["qid"], return_inverse=True)
        data = RankingSet(archive["X"].astype(np.float64), archive["y"], qid, archive["fold"])
    every = 1 if max_queries is None else max(1, (qid.max() + 1) // max_queries)
    order = np.argsort(qid, kind="stable")
    return data.take(order[qid[order] % every == 0])


def stratified_rows(y: np.ndarray, size: int) -> np.ndarray:
    """About ``size`` rows, with the classes in their proportion."""
    rng = np.random.default_rng(0)
    share = size / y.size
    parts = []
    for label in (False, True):
        rows = np.flatnonzero(y == label)
        parts.append(rng.choice(rows, max(round(share * rows.size), 10), replace=False))
    return np.sort(np.concatenate(parts))


def standardise(X):
    """Mean 0 and variance 1 for dense features; sparse ones stay as they are."""
    return X if sp.issparse(X) else StandardScaler().fit_transform(X)


def gaussian(n: int, d: int, n_pos: int, shift: float, seed: int):
    """Gaussian rows; the positive ones are moved by ``shift`` in a random direction."""
    rng = np.random.default_rng(seed)
    y = np.zeros(n, bool)
    y[rng.choice(n, n_pos, replace=False)] = True
    X = rng.standard_normal((n, d))
    direction = rng.standard_normal(d)
    X[y] += shift * direction / np.linalg.norm(direction)
    return X, y


def versions(array: np.ndarray) -> list[np.ndarray]:
    """The array with different small changes."""
    rng = np.random.default_rng(1)
    number = int(np.clip(MAX_NUMBERS // array.size, 2, MAX_VERSIONS))
    size = CHANGE * array.std()
    return [array + size * rng.standard_normal(array.size) for _ in range(number)]


def in_turn(function: Callable, arguments: Iterable) -> Callable[[], object]:
    """The function, called with one argument after the other."""
    turn = cycle(arguments)
    return lambda: function(next(turn))


def interleaved(
    functions: dict[str, Callable[[], object]], rounds: int = 20, budget: float = 4.0
) -> dict[str, float]:
    """Seconds a call of each function: the best of rounds in which each has its turn.

    What slows the machine for a while thus slows all alike, and the best round is free of it.
    In a round a function is called an even number of times, for some milliseconds; one that
    has used up its budget of seconds sits out the rounds after the third.
    """
    repeats = {}
    for name, function in functions.items():
        function()  # compile, fill caches
        start = perf_counter()
        function()
        repeats[name] = 2 * int(np.clip(0.002 / (perf_counter() - start), 1, 500))
    best = dict.fromkeys(functions, np.inf)
    spent = dict.fromkeys(functions, 0.0)
    for k in range(rounds):
        for name, function in functions.items():
            if k >= 3 and spent[name] > budget:
                continue
            start = perf_counter()
            for _ in range(repeats[name]):
                function()
            seconds = perf_counter() - start
            spent[name] += seconds
            best[name] = min(best[name], seconds / repeats[name])
    return best


def print_table(title: str, header: Sequence[str], rows: Iterable[Sequence]) -> None:
    """Columns as wide as they must be; numbers with four digits."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    print(f"\n{title}")
    for row in (header, ["-" * width for width in widths], *cells):
        # names to the left, numbers to the right
        first, *rest = (text.rjust(width) for text, width in zip(row, widths, strict=True))
        print("  ".join([row[0].ljust(widths[0]) if first else first, *rest]))


def mean_and_error(values, form: str = ".4f") -> str:
    """Mean and its standard error."""
    values = np.asarray(values)
    return f"{values.mean():{form}} ± {standard_error(values):{form.lstrip('+')}}"


def standard_error(values: np.ndarray) -> float:
    """Of the mean."""
    return values.std(ddof=1) / np.sqrt(values.size)


def _cell(value) -> str:
    if value is None:
        return "-"
    if isinstance(value, (float, np.floating)):
        return f"{value:.4g}"
    return str(value)


def machine(threads: int) -> dict:
    """Facts that times depend on."""
    versions = {}
    for library in LIBRARIES:
        try:
            versions[library] = metadata.version(library)
        except metadata.PackageNotFoundError:
            versions[library] = None
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": os.getloadavg() if hasattr(os, "getloadavg") else None,
        "threads": threads,
        "thread_pools": {pool["prefix"]: pool["num_threads"] for pool in threadpool_info()},
        "python": platform.python_version(),
        "libraries": versions,
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor()


def write_json(arguments: argparse.Namespace, name: str, results: dict) -> None:
    """Write results with the facts of the machine."""
    path = arguments.out / f"{name}.json"
    content = {"machine": machine(arguments.threads), "small": arguments.small, **results}
    path.write_text(json.dumps(content, indent=1, default=_plain) + "\n")
    print(f"wrote {path}")


def _plain(value):
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else str(value)


def new_figure(n_rows: int, n_columns: int, width: float = 5.0, height: float = 4.0):
    """A figure and its axes, as an array of shape (n_rows, n_columns)."""
    figure = Figure(figsize=(width * n_columns, height * n_rows), layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def save_figure(arguments: argparse.Namespace, name: str, figure: Figure) -> None:
    """Write a figure as PNG."""
    path = arguments.out / f"{name}.png"
    figure.savefig(path, dpi=120)
    print(f"wrote {path}")


def log_scale(axis, which: str = "xy") -> None:
    """Logarithmic axes, labelled at powers of ten and, where there are few of these, between."""
    for letter in which:
        scaled = getattr(axis, f"{letter}axis")
        getattr(axis, f"set_{letter}scale")("log")
        low, high = getattr(axis, f"get_{letter}lim")()
        few = np.log10(high / low) < 1.0
        scaled.set_minor_formatter(FormatStrFormatter("%g") if few else NullFormatter())
        scaled.set_tick_params(which="minor", labelsize=7)
    axis.grid(alpha=0.3)


def look(k: int) -> dict:
    """Colour and marker of the k-th curve."""
    return {"color": COLOURS[k % len(COLOURS)], "marker": MARKERS[k % len(MARKERS)], "ms": 4}
