"""Pairs of rows that differ in relevance, and sums over those of them that are too close."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numba
import numpy as np

from skrank import _threads
from skrank._graphs import Graph
from skrank._groups import Groups
from skrank._jit import jit
from skrank.kernels import _pair_rows, _pairs, _pairs_wide
from skrank.kernels._sort import refine

WEIGHTS = ("difference", "uniform")
# From so many rows on, a node is worth the work of all threads.
WIDE = 2**17


@jit
def weigh_lists(grade, value, pointers):
    """The sum of v_i - v_j over the pairs g_i > g_j of each list, and the number of pairs."""
    weight, count = np.zeros((2, pointers.size - 1))
    for q in range(pointers.size - 1):
        first, last = pointers[q], pointers[q + 1]
        below, lower = 0.0, 0.0  # numbers and values of the grades below
        start = first
        for k in range(first, last):
            if grade[k] != grade[start]:
                below = float(k - first)
                lower += value[start:k].sum()
                start = k
            weight[q] += below * value[k] - lower
            count[q] += below
    return weight, count


class PairLists:
    """Rows list after list, the longest first, and by ascending relevance in each.

    Lists without a pair of different grades, or of weight zero, are left out.

    Parameters
    ----------
    y : ndarray of float64, shape (n,)
        Relevance.
    groups : Groups
        The lists.
    graph : Graph
        Which pairs count.
    counted : ndarray of bool, shape (n_groups,), optional
        Which lists count.

    Attributes
    ----------
    row_of : ndarray of int32
        The row of each number.
    pointers : ndarray
        Where each list starts, and at last where the last one ends.
    grade : ndarray of int32
        Grades in the graph.
    value : ndarray of float64
        Relevance from that of the row in the middle of the list on, in units of ``unit``. Sums of
        them lose the fewest digits: an outlier at either end leaves the others as they are.
    kept : ndarray of int
        Which of the groups the lists are.
    weight, count : ndarray of float64
        For each list, the sum of differences of value over its pairs, and the number of pairs.
    unit : float
        The largest difference of relevance in a list.
    """

    def __init__(self, y, groups: Groups, graph: Graph, counted: np.ndarray | None = None):
        self.n_rows = y.size
        if self.n_rows > np.iinfo(np.int32).max:
            raise ValueError(
                f"There are {self.n_rows} rows, but pairs are found among up to "
                f"{np.iinfo(np.int32).max}. Take a sample of the rows."
            )
        row_of, which, sizes = sort_lists(y, groups)
        value = y[row_of]
        pointers = ends_of(sizes)
        grade = graph.grades(value, pointers)
        has_pairs = sizes > 0
        firsts, lasts = pointers[:-1][has_pairs], pointers[1:][has_pairs] - 1
        has_pairs[has_pairs] = grade[firsts] < grade[lasts]
        self.n_rankable = int(np.count_nonzero(has_pairs))
        kept = has_pairs if counted is None else has_pairs & counted[which]
        if not kept.all():
            stay = np.repeat(kept, sizes)
            row_of, value, grade = row_of[stay], value[stay], grade[stay]
            sizes = sizes[kept]
            pointers = ends_of(sizes)
        self.row_of, self.grade, self.pointers = row_of, grade, pointers
        self.kept = which[kept]
        with np.errstate(over="ignore"):
            widths = value[pointers[1:] - 1] - value[pointers[:-1]]
        self.unit = float(widths.max(initial=0.0))
        if not np.isfinite(self.unit):
            raise ValueError(
                "y has differences of relevance that are infinite as float64. Scale y down."
            )
        value -= np.repeat(value[(pointers[:-1] + pointers[1:]) // 2], sizes)
        value /= self.unit or 1.0
        self.value = value
        self.weight, self.count = weigh_lists(grade, value, pointers)


def sort_lists(y: np.ndarray, groups: Groups) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows list after list, by ascending y in each, as int32; which lists, and their sizes."""
    sizes = np.diff(groups.pointers)
    which = np.argsort(-sizes, kind="stable")
    if groups.n_groups == 1:
        order = np.argsort(y[groups.rows])
    else:
        rank = np.empty_like(which)
        rank[which] = np.arange(which.size)
        order = np.lexsort((y[groups.rows], rank[groups.in_order()]))
    return groups.rows[order].astype(np.int32), which, sizes[which]


def ends_of(sizes: np.ndarray) -> np.ndarray:
    """Zero, and where each of several lists one after another ends."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


class PairSums:
    """Weights and pulls of active pairs, as functions of the scores; it keeps scratch space.

    Besides the scores it has, in memory, 16 bytes for each row that counts, and 34 of scratch.

    Parameters
    ----------
    lists : PairLists
        The pairs.
    pair_weight : {"difference", "uniform"}
        Whether a pair weighs its difference of value, or 1.
    quadratic : bool
        Look at all pairs, instead of sorting.
    """

    def __init__(self, lists: PairLists, pair_weight: str, *, quadratic: bool = False):
        self.lists = lists
        n = lists.row_of.size
        self._small = n if quadratic else _pairs.SMALL
        self._alike = pair_weight == "uniform"
        self._levels = self._find_levels()
        # lists of few rows, which stand last, are not sorted
        self._starts = lists.pointers[: 1 + np.count_nonzero(np.diff(lists.pointers) > self._small)]
        self._extents = np.empty((self._starts.size - 1, 2))
        self._z = np.empty((2, n))
        self._number = np.empty((2, n), np.int32)
        self._digit = np.empty(n, np.uint16)
        self.pull = np.empty(n)
        self._large = n >= _threads.PARALLEL_ROWS

    @property
    def parallel(self) -> bool:
        """Whether several threads are used."""
        return self._large and _threads.several()

    def _find_levels(self) -> list[np.ndarray]:
        """The nodes of each level; wide ones first."""
        lists = self.lists
        pointers = lists.pointers
        nodes = np.column_stack([pointers[:-1], pointers[1:], np.arange(pointers.size - 1)])
        levels = []
        found = np.empty((lists.row_of.size // 2, 3), np.int64)
        while len(nodes):
            levels.append(nodes[np.argsort(nodes[:, 0] - nodes[:, 1], kind="stable")])
            nodes = found[: _pairs.children(nodes, lists.grade, self._small, found)].copy()
        return levels

    def evaluate(self, scores: np.ndarray, margin: float, slope: float) -> np.ndarray:
        """Weight of the active pairs of each list: z_i - z_j < margin, z = s - slope value."""
        lists = self.lists
        self.pull[:] = 0.0
        self._sort(scores, slope)
        pairs = _pairs.Pairs(lists.grade, lists.value, margin, self._alike, self._small)
        active = np.zeros(lists.kept.size)
        now = 1
        for nodes in self._levels:
            rows = _pairs.Rows(
                self._z[now],
                self._number[now],
                self._z[1 - now],
                self._number[1 - now],
                self._digit,
                self.pull,
            )
            weight = self._run(nodes, rows, pairs)
            active += np.bincount(nodes[:, 2], weights=weight, minlength=active.size)
            now = 1 - now
        return active

    def gather(self, scores, slope: float, scale: np.ndarray, gradient: np.ndarray) -> float:
        """Set the gradient, pulls times the scale of their list; its sum of products with z."""
        lists = self.lists
        n = lists.row_of.size
        arguments = (lists.pointers, scale, scores, lists.row_of, lists.value, slope)
        if not self.parallel:
            return _pair_rows.collect(0, n, *arguments, self.pull, gradient)
        totals = np.zeros(_threads.n_parts(n))
        _threads.run_in_parts(_pair_rows.collect_all, n, *arguments, self.pull, gradient, totals)
        return float(totals.sum())

    def _run(self, nodes: np.ndarray, rows, pairs) -> np.ndarray:
        """The weight of the active pairs in each of these nodes."""
        weight = np.empty(len(nodes))
        if not self.parallel:
            _pairs.some_nodes(0, len(nodes), nodes, rows, pairs, weight)
            return weight
        n_wide = 0
        for first, last, _ in nodes:
            if last - first < max(WIDE, self._small + 1):
                break
            arguments = (int(first), rows, pairs, weight[n_wide:])
            _threads.run_in_parts(_pairs_wide.wide_node, int(last - first), *arguments)
            n_wide += 1
        if n_wide < len(nodes):
            rest = nodes[n_wide:]
            _threads.run_in_parts(_pairs.all_nodes, len(rest), rest, rows, pairs, weight[n_wide:])
        return weight

    def _sort(self, scores: np.ndarray, slope: float) -> None:
        """Put the rows of each list, unless it is small, in the order of z.

        The keys to sort by are where the sorted z go.
        """
        lists = self.lists
        unsorted, z = self._z
        numbers = self._number[1]
        of_rows = (scores, lists.row_of, lists.value, slope, z, numbers)
        if self.parallel:
            _threads.run_in_parts(_pair_rows.lift_all, z.size, *of_rows)
        else:
            _pair_rows.lift(0, z.size, *of_rows)
        n = int(self._starts[-1])
        if n == 0:
            return
        values, z, numbers = unsorted[:n], z[:n], numbers[:n]
        values[:] = z
        keys = z.view(np.int64)
        bits = (n - 1).bit_length()
        _pair_rows.find_extents(values, self._starts, self._extents)
        of_keys = (values, self._starts, self._extents, bits, keys)
        if self.parallel and n >= WIDE:
            sort_by_keys(*of_keys)
        else:
            _pair_rows.make_keys(0, n, *of_keys)
            keys.sort()
        refine(keys, bits, bits, values)
        if self.parallel:
            _threads.run_in_parts(_pair_rows.unpack_all, n, bits, values, keys, z, numbers)
        else:
            _pair_rows.unpack(0, n, bits, values, keys, z, numbers)


def sort_by_keys(values, starts, extents, bits: int, keys: np.ndarray) -> None:
    """Make keys and sort them, on all threads: NumPy's sort lets others run."""
    n = keys.size
    bounds = np.empty(_pair_rows.BUCKETS + 1, np.int64)
    _threads.run_in_parts(_pair_rows.deal_keys, n, values, starts, extents, bits, keys, bounds)
    n_parts = _threads.n_parts(n)
    shares = np.searchsorted(bounds, np.arange(n_parts + 1, dtype=np.int64) * n // n_parts)

    def sort(part: int) -> None:
        for bucket in range(shares[part], shares[part + 1]):
            keys[bounds[bucket] : bounds[bucket + 1]].sort()

    with ThreadPoolExecutor(numba.get_num_threads()) as pool:
        list(pool.map(sort, range(n_parts)))
