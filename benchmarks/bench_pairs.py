"""One call of the oracle over all pairs: scores in, value and gradient of the ranking risk out.

Relevance is real-valued and no two rows share it, so that no pair falls away. Scores are the
relevance plus as much noise, which ranks a quarter of the pairs the wrong way, and change a little
from call to call, as bench_oracle.py explains; at the start of training they are all tied instead.
One thread, all threads and NumPy's stable argsort of the same scores have their turns in the same
rounds. The quadratic algorithm looks at all pairs, on the same compiler.
"""

from __future__ import annotations

from collections.abc import Callable

import numba
import numpy as np
from _common import (
    in_turn,
    interleaved,
    log_scale,
    look,
    new_figure,
    parse_arguments,
    print_table,
    save_figure,
    threads,
    versions,
    write_json,
)

from skrank.losses import Groups, RankingRisk

ALL_THREADS = numba.config.NUMBA_NUM_THREADS
NUMBERS = sorted({1, ALL_THREADS})
SLACK, MARGIN, BIPARTITE, STAR = "complete, slack", "complete, margin", "bipartite", "star"
CASES = (SLACK, MARGIN, BIPARTITE, STAR)
# Best rows of a bipartite graph: a tenth of a list.
BEST = 10
# The quadratic algorithm is left out where a call is expected to take longer than this, in seconds.
PATIENCE = 10.0
SMALL_PATIENCE = 0.2


def make_loss(case: str, length: int) -> RankingRisk:
    """The loss for lists of that many rows."""
    if case == BIPARTITE:
        return RankingRisk(graph="bipartite", top=length // BEST)
    if case == STAR:
        return RankingRisk(graph="star")
    return RankingRisk(rescaling="margin" if case == MARGIN else "slack")


def on_threads(number: int, loss: RankingRisk, y, groups) -> Callable:
    """The objective on that many threads, which it counts when it is made and when it is called."""
    with threads(number):
        objective = loss.bind(y, groups)

    def evaluate(scores):
        numba.set_num_threads(number)
        return objective(scores)

    return evaluate


def stable_argsort(scores: np.ndarray, length: int) -> np.ndarray:
    """The order of each list."""
    return np.argsort(scores.reshape(-1, length), axis=1, kind="stable")


def make_data(n: int, length: int):
    """Relevance, scores that change, and lists of that length."""
    rng = np.random.default_rng(0)
    y = rng.standard_normal(n)
    scores = y + rng.standard_normal(n)
    return y, versions(scores), Groups(np.arange(n), np.arange(0, n + 1, length))


def measure(case: str, n: int, length: int, rounds: int, budget: float, quadratic=False) -> dict:
    """Milliseconds of a call on one and on all threads, of the argsort, and their ratios."""
    y, changing, groups = make_data(n, length)
    loss = make_loss(case, length)
    functions = {
        f"{number} threads": in_turn(on_threads(number, loss, y, groups), changing)
        for number in NUMBERS
    }
    functions["argsort"] = in_turn(lambda scores: stable_argsort(scores, length), changing)
    if quadratic:
        slow = loss.set_params(algorithm="quadratic")
        functions["quadratic"] = in_turn(on_threads(1, slow, y, groups), changing)
    seconds = interleaved(functions, rounds, budget)
    return {"case": case, "rows": n, "list": length, **with_ratios(seconds)}


def with_ratios(seconds: dict[str, float]) -> dict:
    """Milliseconds, and the ratios that matter."""
    one, several = seconds["1 threads"], seconds[f"{ALL_THREADS} threads"]
    found = {
        "milliseconds": {name: 1e3 * value for name, value in seconds.items()},
        "one / argsort": one / seconds["argsort"],
        "one / all": one / several,
    }
    if "quadratic" in seconds:
        found["quadratic / one"] = seconds["quadratic"] / one
    return found


def growth(sizes: list[int], rounds: int, budget: float, patience: float) -> list[dict]:
    """All cases at growing sizes of one list; the quadratic algorithm beside the first of them."""
    results = []
    expected = 0.0
    for n in sizes:
        for case in CASES:
            quadratic = case == SLACK and expected <= patience
            result = measure(case, n, n, rounds, budget, quadratic)
            if case == SLACK:
                # the next list is ten times as long and has a hundred times as many pairs
                expected = result["milliseconds"].get("quadratic", np.inf) / 1e3 * 100.0
            results.append(result)
    report("One list of n rows", results)
    return results


def queries(n: int, lengths: list[int], rounds: int, budget: float) -> list[dict]:
    """Many short lists; the argsort is that of each list."""
    results = [measure(case, n, length, rounds, budget) for length in lengths for case in CASES]
    report(f"{n:,} rows in many lists", results)
    return results


def report(title: str, results: list[dict]) -> None:
    """Milliseconds and ratios of each case."""
    times = [*(f"{number} threads" for number in NUMBERS), "argsort", "quadratic"]
    ratios = ("one / argsort", "one / all", "quadratic / one")
    print_table(
        f"{title}: milliseconds a call, one thread in units of np.argsort(kind='stable'), "
        f"\none thread in units of {ALL_THREADS}, and the quadratic algorithm in units of one",
        ["case", "rows", "list", *times, *ratios],
        [
            [
                r["case"],
                f"{r['rows']:,}",
                f"{r['list']:,}",
                *(r["milliseconds"].get(name) for name in times),
                *(r.get(name) for name in ratios),
            ]
            for r in results
        ],
    )


def tied(n: int, rounds: int, budget: float) -> list[dict]:
    """Scores of zero, as at the start of training, and others, in turns.

    NumPy takes next to no time for an array in order, so both are compared with the argsort of
    scores that are not.
    """
    y, changing, groups = make_data(n, n)
    zeros = np.zeros(n)
    results = []
    for case in CASES:
        functions: dict[str, Callable[[], object]] = {}
        for number in NUMBERS:
            objective = on_threads(number, make_loss(case, n), y, groups)
            functions[f"{number} threads"] = in_turn(objective, [zeros])
            if number == 1:
                functions["noise, 1 threads"] = in_turn(objective, changing)
        functions["argsort"] = in_turn(lambda scores: stable_argsort(scores, n), changing)
        functions["argsort, tied"] = in_turn(lambda scores: stable_argsort(scores, n), [zeros])
        seconds = interleaved(functions, rounds, budget)
        result = {"case": case, "rows": n, "list": n, **with_ratios(seconds)}
        result["tied / noise"] = seconds["1 threads"] / seconds["noise, 1 threads"]
        results.append(result)
    times = list(results[0]["milliseconds"])
    ratios = ("one / argsort", "one / all", "tied / noise")
    print_table(
        f"One list of {n:,} rows, all scores tied: milliseconds a call, one thread in units of the "
        "argsort of scores with noise,\nin units of all threads, and in units of itself on scores "
        "with noise",
        ["case", *times, *ratios],
        [[r["case"], *r["milliseconds"].values(), *(r[name] for name in ratios)] for r in results],
    )
    return results


def draw(results: list[dict]):
    """Seconds of a call, and its time in units of the argsort, against the size of a list."""
    figure, axes = new_figure(1, 2, 5.6, 4.4)
    left, right = axes[0]
    labels = {number: "1 thread" if number == 1 else f"{number} threads" for number in NUMBERS}
    for k, case in enumerate(CASES):
        of_case = [r for r in results if r["case"] == case]
        sizes = [r["rows"] for r in of_case]
        argsort = np.array([r["milliseconds"]["argsort"] for r in of_case])
        for number in NUMBERS:
            milliseconds = np.array([r["milliseconds"][f"{number} threads"] for r in of_case])
            style = {"ls": "-" if number == 1 else "--", "label": f"{case}, {labels[number]}"}
            left.plot(sizes, milliseconds / 1e3, **style, **look(k))
            right.plot(sizes, milliseconds / argsort, **style, **look(k))
        if case == SLACK:
            left.plot(sizes, argsort / 1e3, label="np.argsort, stable", **look(6))
            slow = [r for r in of_case if "quadratic" in r["milliseconds"]]
            points = [(r["rows"], r["milliseconds"]["quadratic"] / 1e3) for r in slow]
            left.plot(*zip(*points, strict=True), label=f"{SLACK}, all pairs", **look(7))
    for axis, label in ((left, "seconds a call"), (right, "time / np.argsort, stable")):
        log_scale(axis, "xy" if axis is left else "x")
        axis.set_xlabel("rows of the list, all of different relevance")
        axis.set_ylabel(label)
    right.set_ylim(bottom=0.0)
    figure.legend(*left.get_legend_handles_labels(), loc="outside right center", fontsize=9)
    return figure


def main():
    arguments = parse_arguments(__doc__)
    small = arguments.small
    rounds, budget = (3, 0.5) if small else (20, 4.0)
    n = 10**5 if small else 10**6
    sizes = [10**k for k in range(3, 6 if small else 8)]
    results = {
        "growth": growth(sizes, rounds, budget, SMALL_PATIENCE if small else PATIENCE),
        "queries": queries(n, [100, 1000], rounds, budget),
        "tied": tied(n, rounds, budget),
    }
    print()
    write_json(arguments, "pairs", results)
    save_figure(arguments, "pairs", draw(results["growth"]))


if __name__ == "__main__":
    main()
