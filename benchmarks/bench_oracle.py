"""Time of one call of the oracle: scores in, value and gradient of the loss out.

All algorithms of the average-precision loss are compiled alike, and so are those of NDCG and of
losses of one's own, which here are average precision as a user would write it. An objective is
called on scores that change a little from call to call, as they do in training: on the same
scores over and over again the processor would learn the outcome of every comparison.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from _common import (
    gaussian,
    in_turn,
    interleaved,
    log_scale,
    look,
    new_figure,
    parse_arguments,
    print_table,
    save_figure,
    versions,
    write_json,
)

from skrank._groups import Groups
from skrank._operators import WithConstant, as_operator
from skrank.losses import NDCG, AveragePrecision, Hinge, PositionLoss, QSLoss, ROCArea
from skrank.solvers import minimise

ALGORITHMS = ("auto", "quicksort", "select", "search", "greedy", "dynamic")
NDCG_ALGORITHMS = ("NDCG auto", "NDCG quicksort", "NDCG greedy")
# An algorithm is left out where one call is expected to take longer than this, in seconds.
PATIENCE = 3.0
PAPER = {"n": 3347, "n_pos": 227, "d": 2404}
# Mohapatra et al. 2018 (Tables 2 and 1) and 2014 (Tables 3 and 2): milliseconds a call and
# seconds of all calls of a training run.
PUBLISHED = {
    "2018": {"0-1": (0.48, 0.0694), "greedy": (16.29, 0.7154), "quicksort": (1.48, 0.0625)},
    "2014": {
        "0-1": (0.637, 0.1068),
        "greedy": (13.192, 0.5660),
        "search": (1.565, 0.0671),
        "select": (0.942, 0.0404),
    },
}


def increment(j, i, n_pos, n_neg):
    """What one minus the average precision grows by with a j-th negative above positive i."""
    return (j / (i + j) - (j - 1) / (i + j - 1)) / n_pos


def cost(i, j, n_pos, n_neg):
    """The part of positive i in one minus the average precision, with j negatives above it."""
    return j / (i + j) / n_pos


LOSSES = {
    **{name: AveragePrecision(algorithm=name) for name in ALGORITHMS},
    **{name: NDCG(algorithm=name.removeprefix("NDCG ")) for name in NDCG_ALGORITHMS},
    "0-1": Hinge(),
    "QSLoss": QSLoss(increment),
    "PositionLoss": PositionLoss(cost),
    "ROCArea": ROCArea(),
}


def make_scores(n_pos: int, n_neg: int, share: float, name: str = "auto", seed: int = 0):
    """Scores and labels for which about this share of the negatives is active.

    A negative is active if it stands above at least one positive in the most violating ranking,
    by the loss named.
    Scores are noise, plus a shift of the positives that is found by bisection; with all
    negatives active they are close to zero, as in the first iteration of training.
    """
    rng = np.random.default_rng(seed)
    n = n_pos + n_neg
    y = np.zeros(n, bool)
    y[rng.choice(n, n_pos, replace=False)] = True
    noise = rng.standard_normal(n)
    if share == 1.0:
        return 1e-6 * noise, y
    objective = bind(name, y)
    low, high = 0.0, 20.0
    for _ in range(40):
        shift = 0.5 * (low + high)
        objective(noise + shift * y)
        active = objective.n_active / n_neg
        if abs(active - share) < 0.02 * share:
            break
        low, high = (shift, high) if active > share else (low, shift)
    return noise + shift * y, y


def bind(name: str, y: np.ndarray):
    """The objective of a loss; average precision goes by the name of its algorithm."""
    return LOSSES[name].bind(y, Groups.single(y.size))


def contestants(names, scores, y) -> dict[str, Callable[[], object]]:
    """Functions to time, by name; "sort" is NumPy's."""
    changing = versions(scores)
    return {name: in_turn(np.sort if name == "sort" else bind(name, y), changing) for name in names}


def share_of_active(scores, y, name="auto") -> float:
    """Active negatives as a share of all."""
    objective = bind(name, y)
    objective(scores)
    return objective.n_active / np.count_nonzero(~y)


def against_greedy(n_pos, n_neg, rounds, algorithms, fast, target) -> list[dict]:
    """All algorithms of a loss at several shares of active negatives, fast ones against greedy."""
    auto, greedy = (next(a for a in algorithms if a.endswith(end)) for end in ("auto", "greedy"))
    results = []
    for share in (0.01, 0.1, 0.5, 1.0):
        scores, y = make_scores(n_pos, n_neg, share, auto)
        seconds = interleaved(contestants((*algorithms, "0-1", "sort"), scores, y), rounds)
        results.append(
            {
                "active": share_of_active(scores, y, auto),
                "milliseconds": {k: 1e3 * v for k, v in seconds.items()},
                **{f"greedy / {name}": seconds[greedy] / seconds[name] for name in fast},
            }
        )
    ratios = [f"greedy / {name}" for name in fast]
    print_table(
        f"P = {n_pos:,}, N = {n_neg:,}: milliseconds a call "
        f"(target: {' and '.join(fast)} at least {target} times as fast as greedy)",
        ["active", *algorithms, "0-1", "np.sort", *ratios],
        [
            [f"{r['active']:.1%}", *r["milliseconds"].values(), *(r[ratio] for ratio in ratios)]
            for r in results
        ],
    )
    return results


def against_sort(n_pos, n_neg, rounds) -> list[dict]:
    """Auto against NumPy's sort of the scores."""
    results = []
    for share, target in ((0.1, 0.6), (1.0, 4.0)):
        scores, y = make_scores(n_pos, n_neg, share)
        seconds = interleaved(contestants(("auto", "0-1", "sort"), scores, y), rounds)
        results.append(
            {
                "active": share_of_active(scores, y),
                "milliseconds": {k: 1e3 * v for k, v in seconds.items()},
                "auto / sort": seconds["auto"] / seconds["sort"],
                "0-1 / sort": seconds["0-1"] / seconds["sort"],
                "target": target,
            }
        )
    print_table(
        f"P = {n_pos:,}, N = {n_neg:,}: milliseconds a call, and in units of np.sort",
        ["active", "auto", "0-1", "np.sort", "auto / sort", "target", "0-1 / sort"],
        [
            [
                f"{r['active']:.1%}",
                *r["milliseconds"].values(),
                r["auto / sort"],
                f"<= {r['target']}",
                r["0-1 / sort"],
            ]
            for r in results
        ],
    )
    return results


def with_scores(n, d, n_pos, rounds, name) -> dict:
    """The pass over X that makes the scores, followed by the oracle of the loss named."""
    X, y = gaussian(n, d, n_pos, 3.0, seed=0)
    operator = as_operator(X)
    weights = X[y].mean(axis=0) - X[~y].mean(axis=0)
    changing = versions(weights)

    def followed_by(objective):
        return in_turn(lambda w: objective(operator.matvec(w)), changing)

    functions = {key: followed_by(bind(key, y)) for key in (name, "0-1")}
    seconds = interleaved({**functions, "pass": followed_by(np.shape)}, rounds)
    ratio = f"{name} / 0-1"
    result = {
        "milliseconds": {k: 1e3 * v for k, v in seconds.items()},
        "active": share_of_active(operator.matvec(weights), y, name),
        ratio: seconds[name] / seconds["0-1"],
    }
    print_table(
        f"{n:,} x {d:,}, {n_pos} positives: scores and oracle, milliseconds (target: <= 1.1)",
        ["active", name, "0-1", "scores alone", ratio],
        [[f"{result['active']:.1%}", *result["milliseconds"].values(), result[ratio]]],
    )
    return result


def own_losses(sizes: list[tuple[int, int]], rounds: int) -> list[dict]:
    """Average precision as a user writes it against the one that is built in."""
    names = ("auto", "QSLoss", "PositionLoss", "ROCArea")
    results = []
    for n_pos, n_neg in sizes:
        for share in (0.01, 0.1, 0.5, 1.0):
            scores, y = make_scores(n_pos, n_neg, share)
            seconds = interleaved(contestants(names, scores, y), rounds)
            results.append(
                {
                    "P": n_pos,
                    "N": n_neg,
                    "active": share_of_active(scores, y),
                    "milliseconds": {k: 1e3 * v for k, v in seconds.items()},
                    **{f"{name} / auto": seconds[name] / seconds["auto"] for name in names[1:]},
                }
            )
    ratios = [f"{name} / auto" for name in names[1:]]
    print_table(
        "Average precision of one's own against the built-in one (auto): milliseconds a call "
        "(target: <= 1.3);\nROCArea, another loss, for information",
        ["P", "N", "active", *names, *ratios],
        [
            [
                f"{r['P']:,}",
                f"{r['N']:,}",
                f"{r['active']:.1%}",
                *r["milliseconds"].values(),
                *(r[ratio] for ratio in ratios),
            ]
            for r in results
        ],
    )
    return results


def growth(sizes: list[tuple[int, int]], rounds: int) -> list[dict]:
    """Seconds a call of everything at growing sizes (P, N), a tenth of the negatives active."""
    results: list[dict] = []
    expected = dict.fromkeys((*ALGORITHMS, "0-1", "sort"), 0.0)
    for n_pos, n_neg in sizes:
        scores, y = make_scores(n_pos, n_neg, 0.1)
        names = [name for name, seconds in expected.items() if seconds <= PATIENCE]
        seconds = interleaved(contestants(names, scores, y), rounds)
        # the next size is ten times this one; go by how the time has grown up to here
        before = results[-1]["seconds"] if results else seconds
        expected = {name: t * max(10.0, t / before[name]) for name, t in seconds.items()}
        results.append({"P": n_pos, "N": n_neg, "seconds": seconds})
    names = (*ALGORITHMS, "0-1", "sort")
    print_table(
        "Growth, a tenth of the negatives active: milliseconds a call",
        ["P", "N", *names],
        [
            [
                f"{r['P']:,}",
                f"{r['N']:,}",
                *(1e3 * r["seconds"][n] if n in r["seconds"] else None for n in names),
            ]
            for r in results
        ],
    )
    return results


def recorded_run(name: str, X, y, C: float) -> list[np.ndarray]:
    """The scores at all calls of the oracle in a training run."""
    calls = []
    objective = bind(name, y)

    def recording(scores):
        calls.append(scores.copy())
        return objective(scores)

    operator = as_operator(X)
    # the average precision does not change when all scores shift, the 0-1 loss does
    minimise(recording, WithConstant(operator) if name == "0-1" else operator, C)
    return calls


def papers_tables(n, d, n_pos, rounds) -> dict:
    """Mean and total time of the calls in a training run, beside the published figures.

    Gaussian features with a signal stand in for the papers' image features. All algorithms for
    average precision see the calls of one and the same run.
    """
    X, y = gaussian(n, d, n_pos, 3.0, seed=0)
    C = 10.0
    runs = {name: recorded_run(name, X, y, C) for name in ("auto", "0-1")}

    def replay(name):
        objective = bind(name, y)
        run = runs["0-1" if name == "0-1" else "auto"]
        return lambda: [objective(scores) for scores in run]

    names = ("0-1", "greedy", "search", "select", "quicksort", "auto")
    seconds = interleaved({name: replay(name) for name in names}, rounds)
    calls = {name: len(runs["0-1" if name == "0-1" else "auto"]) for name in names}
    results = {
        name: {
            "calls": calls[name],
            "milliseconds a call": 1e3 * seconds[name] / calls[name],
            "seconds": seconds[name],
            "call / 0-1": seconds[name] / seconds["0-1"] * calls["0-1"] / calls[name],
            "total / 0-1": seconds[name] / seconds["0-1"],
        }
        for name in names
    }
    rows = []
    for name, result in results.items():
        published = []
        for year in ("2018", "2014"):
            for k in (0, 1):
                figures = PUBLISHED[year]
                published.append(figures[name][k] / figures["0-1"][k] if name in figures else None)
        rows.append([name, *result.values(), *published])
    print_table(
        f"Calls of a training run at C = {C:g} on Gaussian stand-in data of {n:,} x {d:,} with "
        f"{n_pos} positives;\nratios to the 0-1 loss, beside those of the papers of 2018 and 2014",
        [
            "algorithm",
            "calls",
            "ms a call",
            "total s",
            "call / 0-1",
            "total / 0-1",
            "2018 call",
            "2018 total",
            "2014 call",
            "2014 total",
        ],
        rows,
    )
    return {"C": C, "published": PUBLISHED, "measured": results}


def draw(curves: dict[str, list[dict]]):
    """Time against N and against P."""
    figure, axes = new_figure(1, 2, 5.4, 4.4)
    handles = {}
    for axis, (variable, results) in zip(axes[0], curves.items(), strict=True):
        for k, name in enumerate((*ALGORITHMS, "0-1", "sort")):
            points = [(r[variable], r["seconds"][name]) for r in results if name in r["seconds"]]
            label = {"0-1": "0-1 loss", "sort": "np.sort"}.get(name, name)
            # dynamic hides greedy where it is not dotted
            style = {"0-1": "--", "sort": "--", "dynamic": ":"}.get(name, "-")
            (line,) = axis.plot(*zip(*points, strict=True), ls=style, label=label, **look(k))
            handles[label] = line
        other = "P" if variable == "N" else "N"
        axis.set_xlabel(f"{variable} ({other} = {results[0][other]:,})")
        log_scale(axis)
    axes[0, 0].set_ylabel("seconds a call")
    axes[0, 0].set_title("more negatives", fontsize=11)
    axes[0, 1].set_title("more positives", fontsize=11)
    figure.legend(handles=handles.values(), loc="outside right center")
    return figure


def main():
    arguments = parse_arguments(__doc__)
    small = arguments.small
    rounds = 5 if small else 20
    shrink = 10 if small else 1
    n_pos = 1000 // shrink
    by_N = [(n_pos, 10**k) for k in (range(3, 6) if small else range(4, 8))]
    by_P = [(10**k, 10**6 // shrink**2) for k in (range(1, 4) if small else range(2, 6))]
    paper = {**PAPER, "d": PAPER["d"] // shrink}
    paper_size = (PAPER["n_pos"], PAPER["n"] - PAPER["n_pos"])
    large = [(n_pos, 10**k // shrink) for k in (5, 6)]
    results = {
        "algorithms": against_greedy(*large[0], rounds, ALGORITHMS, ["auto"], 100),
        "sort": against_sort(1000, 10**6 // shrink, 2 * rounds),
        "with_scores": with_scores(**paper, rounds=2 * rounds, name="auto"),
        "ndcg": against_greedy(*paper_size, rounds, NDCG_ALGORITHMS, NDCG_ALGORITHMS[:2], 15),
        "ndcg_with_scores": with_scores(**paper, rounds=2 * rounds, name="NDCG auto"),
        "own_losses": own_losses([paper_size, *large], rounds),
        "papers": papers_tables(**paper, rounds=rounds),
        "growth": {"N": growth(by_N, rounds), "P": growth(by_P, rounds)},
    }
    print()
    write_json(arguments, "oracle", results)
    save_figure(arguments, "oracle", draw(results["growth"]))


if __name__ == "__main__":
    main()
