"""Files of features: what each kind may hold."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from clew.cli._inputs import read_items
from clew.exceptions import FileFormatError, InvalidDataError, MissingDependencyError

ROWS = np.array([[1.0, 2.5], [3.0, -4e3], [0.0, 0.125]])


def _write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_arrays_of_any_real_type(tmp_path, dtype):
    np.save(tmp_path / "X.npy", ROWS.astype(dtype))
    items = read_items(tmp_path / "X.npy")
    assert items.X.dtype == np.float64
    np.testing.assert_array_equal(items.X, ROWS.astype(dtype))
    assert items.ids == ["0", "1", "2"]


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int64])
def test_arrays_of_integers(tmp_path, dtype):
    np.save(tmp_path / "X.npy", np.eye(3, dtype=dtype))
    np.testing.assert_array_equal(read_items(tmp_path / "X.npy").X, np.eye(3))


def test_npz_with_ids(tmp_path):
    np.savez(tmp_path / "X.npz", X=ROWS, ids=["a", "b", "c"], y=[1, 2, 3])
    items = read_items(tmp_path / "X.npz")
    np.testing.assert_array_equal(items.X, ROWS)
    assert items.ids == ["a", "b", "c"]


def test_npz_with_one_array(tmp_path):
    np.savez(tmp_path / "X.npz", ROWS)
    np.testing.assert_array_equal(read_items(tmp_path / "X.npz").X, ROWS)


@pytest.mark.parametrize("arrays", [{}, {"a": ROWS, "b": ROWS}, {"a": ROWS, "ids": [1, 2, 3]}])
def test_npz_must_say_which_are_the_features(tmp_path, arrays):
    np.savez(tmp_path / "X.npz", **arrays)
    with pytest.raises(FileFormatError, match="features as X"):
        read_items(tmp_path / "X.npz")


def test_npz_with_too_few_ids(tmp_path):
    np.savez(tmp_path / "X.npz", X=ROWS, ids=["a", "b"])
    with pytest.raises(InvalidDataError, match="3 rows, but 2 ids"):
        read_items(tmp_path / "X.npz")


@pytest.mark.parametrize(
    "text",
    [
        "1,2.5\n3,-4e3\n0,0.125\n",
        "a,b\n1,2.5\n3,-4e3\n0,0.125",
        "\ufeffa,b\r\n1, 2.5\r\n\r\n3,-4e3\r\n0,.125\r\n",
        'a,"b,c"\n"1",2.5\n3,-4e3\n0,0.125\n',
    ],
    ids=["no header", "header", "spreadsheet", "quotes"],
)
def test_csv(tmp_path, text):
    items = read_items(_write(tmp_path / "t.csv", text))
    np.testing.assert_array_equal(items.X, ROWS)
    assert items.ids == ["0", "1", "2"]


@pytest.mark.parametrize("name", ["id", "ID", " Id "])
def test_csv_with_ids(tmp_path, name):
    text = f"a,{name},b\n1,größe 1,2.5\n3,x,-4e3\n0,007,0.125\n"
    items = read_items(_write(tmp_path / "t.csv", text))
    np.testing.assert_array_equal(items.X, ROWS)
    assert items.ids == ["größe 1", "x", "007"]


def test_ending_in_capitals(tmp_path):
    np.testing.assert_array_equal(read_items(_write(tmp_path / "T.CSV", "1,2\n3,4\n")).X[1], [3, 4])


def _parquet(path: Path, **columns: object) -> Path:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table(columns), path)
    return path


def test_parquet_columns_and_lists(tmp_path):
    path = _parquet(
        tmp_path / "t.parquet",
        id=[7, 8, 9],
        a=[1, 3, 0],
        vector=[[2.5, 1.0], [-4e3, 1.0], [0.125, 0.0]],
        flag=[True, False, True],
    )
    items = read_items(path)
    assert items.ids == ["7", "8", "9"]
    np.testing.assert_array_equal(items.X, np.column_stack([ROWS, [1, 1, 0], [1, 0, 1]]))


@pytest.mark.parametrize(
    ("column", "error", "words"),
    [
        (["a", "b", "c"], FileFormatError, "column 'v' holds string"),
        ([[1.0], [1.0, 2.0], [3.0]], FileFormatError, "not all of one length"),
        ([[1.0], None, [3.0]], FileFormatError, "not all of one length"),
        ([1.0, None, 2.0], InvalidDataError, "row 1, column 'v': nan"),
        ([[1.0, 2.0], [1.0, None], [3.0, 4.0]], InvalidDataError, r"row 1, column 'v\[1\]'"),
    ],
)
def test_parquet_column_with_a_fault(tmp_path, column, error, words):
    with pytest.raises(error, match=words):
        read_items(_parquet(tmp_path / "t.parquet", v=column))


def test_index_of_pandas_is_no_feature(tmp_path):
    path = _parquet(tmp_path / "t.parquet", a=[1, 2, 3], __index_level_0__=[5, 6, 7])
    with pytest.raises(FileFormatError, match="index of a pandas table"):
        read_items(path)


def test_parquet_needs_pyarrow(tmp_path, monkeypatch):
    (tmp_path / "t.parquet").touch()
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"clew\[scale\]"):
        read_items(tmp_path / "t.parquet")
