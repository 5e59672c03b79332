import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from skrank._groups import Groups, encode_qid


def members(groups):
    """The rows of every group, as lists."""
    return [
        groups.rows[start:stop].tolist()
        for start, stop in zip(groups.pointers[:-1], groups.pointers[1:], strict=True)
    ]


def test_without_qid_all_rows_are_one_group():
    groups = Groups.from_qid(None, 3)
    assert members(groups) == [[0, 1, 2]]
    assert (groups.n_groups, groups.n_rows) == (1, 3)
    assert groups.codes().tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    "qid",
    [
        [3, 1, 3, 2],
        [-0.5, -2.5, -0.5, -1.5],
        ["c", "a", "c", "b"],
        ["query 9", "query 1", "query 9", "query 10"],
        [True, False, True, True],
        np.array(["2024-03-01", "2024-01-01", "2024-03-01", "2024-02-01"], dtype="datetime64[D]"),
        np.array(["c", "a", "c", "b"], dtype=object),
        pd.Series(["c", "a", "c", "b"], index=[9, 8, 7, 6]),
        pd.Series(["c", "a", "c", "b"], dtype="category"),
        pd.Series([3, 1, 3, 2], dtype="Int64"),
    ],
    ids=str,
)
def test_groups_of_unsorted_identifiers(qid):
    groups = Groups.from_qid(qid, 4)
    values = list(qid)
    expected = [
        [row for row, value in enumerate(values) if value == name] for name in sorted(set(values))
    ]
    assert members(groups) == expected
    assert groups.codes()[0] == groups.codes()[2]


@given(qid=st.lists(st.integers(-3, 3), min_size=1, max_size=30))
def test_groups_partition_the_rows(qid):
    groups = Groups.from_qid(qid, len(qid))
    assert sorted(groups.rows.tolist()) == list(range(len(qid)))
    for name, rows in zip(sorted(set(qid)), members(groups), strict=True):
        assert rows == [row for row, value in enumerate(qid) if value == name]
    codes, n_groups = encode_qid(qid, len(qid))
    assert n_groups == groups.n_groups == len(set(qid))
    np.testing.assert_array_equal(groups.codes(), codes)


def test_a_column_is_flattened():
    assert members(Groups.from_qid(np.array([[2], [1], [2]]).ravel(), 3)) == [[1], [0, 2]]


def test_a_subset_of_rows_is_numbered_anew():
    qid = np.array(["c", "a", "b", "c", "a"])
    subset = np.array([0, 2, 3])
    codes, n_groups = encode_qid(qid[subset], subset.size)
    assert codes.tolist() == [1, 0, 1]
    assert n_groups == 2


@pytest.mark.parametrize("length", [0, 2, 4])
def test_wrong_length(length):
    with pytest.raises(ValueError, match=rf"qid has {length} entries, but there are 3 rows"):
        Groups.from_qid(np.arange(length), 3)


@pytest.mark.parametrize(
    "qid",
    [
        [1.0, np.nan, 2.0],
        np.array(["a", None, "b"], dtype=object),
        np.array(["a", np.nan, "b"], dtype=object),
        np.array(["2024-01-01", "NaT", "2024-01-02"], dtype="datetime64[D]"),
        pd.Series(["a", None, "b"]),
        pd.Series(["a", None, "b"], dtype="string"),
        pd.Series(["a", None, "b"], dtype="category"),
        pd.Series([1, None, 2], dtype="Int64"),
        pd.Series([1, None, 2]),
    ],
    ids=repr,
)
def test_missing_values(qid):
    with pytest.raises(ValueError, match="qid has a missing value at row 1"):
        Groups.from_qid(qid, 3)


def test_types_that_cannot_be_sorted_together():
    with pytest.raises(TypeError, match=r"one sortable type.*str\(value\)"):
        Groups.from_qid(np.array([1, "a", 2], dtype=object), 3)


def test_two_columns():
    with pytest.raises(ValueError, match=r"qid has shape \(3, 2\)"):
        Groups.from_qid(np.ones((3, 2)), 3)


def test_groups_are_immutable():
    with pytest.raises(AttributeError):
        Groups.single(2).rows = np.arange(3)


@pytest.mark.parametrize("pointers", [[0, 1, 5], [1, 2], [0, 2, 1, 2]])
def test_pointers_that_do_not_fit(pointers):
    with pytest.raises(ValueError, match="pointers must rise from 0 to the number of rows, 2"):
        Groups(np.array([0, 1]), np.array(pointers))
