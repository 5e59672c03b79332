"""Preference graphs: which pairs of rows of a list count.

"complete" has all pairs of different relevance. "bipartite" has those of a row among the best of
its list with one that is not, and "star" is bipartite with the best row, or those tied for it,
on top.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from skrank._groups import Groups
from skrank._jit import jit
from skrank._validation import check_choice, check_count, check_real

GRAPHS = ("complete", "bipartite", "star")


@dataclass(frozen=True)
class Graph:
    """Which pairs of rows count: see the module's text. Parameters are checked by ``check``."""

    kind: str = "complete"
    top: int | None = None
    relevance_threshold: float | None = None

    def check(self) -> None:
        """Raise an error unless the parameters are of the right kind and go together."""
        check_choice("graph", self.kind, GRAPHS)
        given = [
            f"{name}={value!r}"
            for name, value in [
                ("top", self.top),
                ("relevance_threshold", self.relevance_threshold),
            ]
            if value is not None
        ]
        if self.kind != "bipartite":
            if given:
                raise ValueError(
                    f"{' and '.join(given)} was given with graph={self.kind!r}, which has no use "
                    "for it. Leave it out, or set graph='bipartite'."
                )
            return
        if len(given) != 1:
            raise ValueError(
                "graph='bipartite' needs one of top and relevance_threshold. Given: "
                f"{' and '.join(given) or 'none'}. top=k puts the k best rows of each query above "
                "the others, relevance_threshold=t those of a relevance of at least t."
            )
        if self.top is not None:
            check_count("top", self.top, hint="It is how many rows of each list are the best.")
        else:
            check_real("relevance_threshold", self.relevance_threshold)

    @property
    def separation(self) -> str:
        """What separates the best rows of a bipartite graph, as one would write it."""
        if self.top is not None:
            return f"top={self.top}"
        return f"relevance_threshold={self.relevance_threshold}"

    def lacking(self, y: np.ndarray, groups: Groups) -> tuple[np.ndarray, str]:
        """Which lists have no pair, and what they would need to have one."""
        ordered, sizes = y[groups.rows], np.diff(groups.pointers)
        what = "rows of different relevance"
        filled = large = sizes > 0
        if self.relevance_threshold is not None:
            ordered = ordered >= self.relevance_threshold
            what = f"rows on both sides of {self.separation}"
        elif self.top is not None:
            large = sizes > self.top
            what = f"rows of different relevance beside {self.separation}"
        lacking = ~large
        starts = groups.pointers[:-1][filled]
        if starts.size:
            # reduceat takes no lists without rows
            same = np.maximum.reduceat(ordered, starts) == np.minimum.reduceat(ordered, starts)
            lacking[filled] |= same
        return lacking, what

    def grades(self, y: np.ndarray, pointers: np.ndarray) -> np.ndarray:
        """Grades 0, 1, ... of lists one after another, each sorted by ascending relevance."""
        if self.kind == "complete":
            return dense_grades(y, pointers)
        if self.relevance_threshold is not None:
            return (y >= self.relevance_threshold).astype(np.int32)
        top = 1 if self.kind == "star" else int(self.top or 1)
        return best_rows(y, pointers, min(top, y.size))


@jit
def dense_grades(y, pointers):
    """How many different values below it there are in a row's list."""
    grade = np.zeros(y.size, np.int32)
    for q in range(pointers.size - 1):
        for k in range(pointers[q] + 1, pointers[q + 1]):
            grade[k] = grade[k - 1] + (y[k] > y[k - 1])
    return grade


@jit
def best_rows(y, pointers, top):
    """1 for the ``top`` best rows of each list and those tied with the last of them, 0 for others.

    Where ties leave no others, the best are the rows above the lowest. Lists without others,
    because they have no more than ``top`` rows, have none to compare.
    """
    grade = np.zeros(y.size, np.int32)
    for q in range(pointers.size - 1):
        first, last = pointers[q], pointers[q + 1]
        if last - first <= top:
            continue
        cut = y[last - top]
        for k in range(first, last):
            grade[k] = y[k] > cut or (y[k] == cut and cut > y[first])
    return grade
