"""Rows that belong together: one list to rank for each query."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Groups:
    """Which rows belong to which query; the data themselves are never permuted.

    The rows of group q are ``rows[pointers[q]:pointers[q + 1]]``, in their order of appearance.

    Parameters
    ----------
    rows : ndarray of int
        Numbers of rows, group after group.
    pointers : ndarray of int
        Where in `rows` each group starts, and at last where the last one ends.

    Examples
    --------
    >>> from skrank.losses import Groups
    >>> groups = Groups.from_qid(["b", "a", "b"], 3)
    >>> groups.rows, groups.pointers
    (array([1, 0, 2]), array([0, 1, 3]))
    """

    rows: np.ndarray
    pointers: np.ndarray

    def __post_init__(self) -> None:
        steps = np.diff(self.pointers)
        if self.pointers[0] != 0 or self.pointers[-1] != self.rows.size or np.any(steps < 0):
            raise ValueError(
                f"pointers must rise from 0 to the number of rows, {self.rows.size}, but they are "
                f"{self.pointers}. Groups.from_qid makes them from query identifiers."
            )

    @classmethod
    def single(cls, n_rows: int) -> Groups:
        """All rows in one list."""
        return cls(np.arange(n_rows), np.array([0, n_rows]))

    @classmethod
    def from_qid(cls, qid, n_rows: int) -> Groups:
        """One list for each distinct value of ``qid``; ``None`` makes a single list."""
        if qid is None:
            return cls.single(n_rows)
        return cls.from_codes(*encode_qid(qid, n_rows))

    @classmethod
    def from_codes(cls, codes: np.ndarray, n_groups: int) -> Groups:
        """One list for each of the numbers 0, 1, ..., which ``codes`` gives for each row."""
        rows = np.argsort(codes, kind="stable")
        pointers = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=n_groups))])
        return cls(rows, pointers)

    @property
    def n_groups(self) -> int:
        return self.pointers.size - 1

    @property
    def n_rows(self) -> int:
        return self.rows.size

    def codes(self) -> np.ndarray:
        """The number of the group of each row, for groups that leave none out."""
        codes = np.empty(self.n_rows, dtype=np.int64)
        codes[self.rows] = self.in_order()
        return codes

    def in_order(self) -> np.ndarray:
        """The number of the group of each entry of `rows`."""
        return np.repeat(np.arange(self.n_groups), np.diff(self.pointers))


def encode_qid(qid, n_rows: int) -> tuple[np.ndarray, int]:
    """Number the queries 0..Q-1 in the sorted order of their names."""
    if isinstance(qid, list | tuple) and len({isinstance(value, str) for value in qid}) > 1:
        # NumPy would turn numbers, and None, into strings
        qid = np.fromiter(qid, dtype=object, count=len(qid))
    values = np.asarray(qid)
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(
            f"qid has shape {values.shape}, but one query identifier for each row is expected."
        )
    if values.size != n_rows:
        raise ValueError(
            f"qid has {values.size} entries, but there are {n_rows} rows. Give one query "
            "identifier for each row, in the order of the rows."
        )
    if values.dtype.kind == "O":
        missing = np.array([_is_missing(value) for value in values], dtype=bool)
    else:
        missing = values != values
    if np.any(missing):
        first = int(np.flatnonzero(missing)[0])
        raise ValueError(
            f"qid has a missing value at row {first}. Every row must belong to a query: drop "
            "the rows without one, or give them an identifier of their own."
        )
    try:
        names, codes = np.unique(values, return_inverse=True)
    except TypeError as error:
        raise TypeError(
            "qid must hold values of one sortable type, such as integers or strings; "
            f"sorting it failed: {error}. Convert it, for example with "
            "[str(value) for value in qid]."
        ) from error
    return codes.reshape(-1), names.size


def weight_of_each_query(query_weight, codes: np.ndarray, n_queries: int) -> np.ndarray:
    """One weight for each query, from one for each row that must be the same within a query."""
    if query_weight is None:
        return np.ones(n_queries)
    try:
        weight = np.asarray(query_weight, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TypeError(
            f"query_weight must hold numbers, but reading it failed: {error}. Give each row the "
            "weight of its query."
        ) from error
    if weight.ndim == 2 and weight.shape[1] == 1:
        weight = weight[:, 0]
    if weight.shape != codes.shape:
        raise ValueError(
            f"query_weight has shape {weight.shape}, but there are {codes.size} rows. Give each "
            "row the weight of its query, for example weights[query_number_of_each_row]."
        )
    fine = (weight >= 0.0) & (weight < np.inf)
    if not np.all(fine):
        row = int(np.flatnonzero(~fine)[0])
        raise ValueError(
            f"query_weight is {weight[row]} at row {row}, but weights must be finite and not "
            "negative. Use 0 for queries that are not to count."
        )
    of_query = np.empty(n_queries)
    of_query[codes] = weight
    differs = weight != of_query[codes]
    if np.any(differs):
        row = int(np.flatnonzero(differs)[0])
        raise ValueError(
            f"query_weight is {weight[row]} at row {row}, but {of_query[codes[row]]} at another "
            "row of the same query. All rows of a query share its weight; without qid all rows "
            "are one query."
        )
    if not np.any(of_query > 0.0):
        raise ValueError(
            "query_weight is 0 for every query. Give at least one of them a positive weight."
        )
    return of_query


def _is_missing(value: object) -> bool:
    """None, nan and the like; comparing pandas' NA with itself gives no truth value."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True
