"""Files of features: what each kind may hold."""

import gzip
import io
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_array, csc_array, csr_array, save_npz

from clew.cli._rows import STDIN, read_items
from clew.exceptions import FileFormatError, InvalidDataError
from clew.tables._read import Columns

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


def test_ending_in_capitals(tmp_path):
    np.testing.assert_array_equal(read_items(_write(tmp_path / "T.CSV", "1,2\n3,4\n")).X[1], [3, 4])


def test_packed_array(tmp_path):
    np.save(tmp_path / "X.npy", ROWS)
    (tmp_path / "Y.npy.gz").write_bytes(gzip.compress((tmp_path / "X.npy").read_bytes()))
    np.testing.assert_array_equal(read_items(tmp_path / "Y.npy.gz").X, ROWS)


def test_damaged_gzip(tmp_path):
    (tmp_path / "X.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n" * 100)[:-9])
    with pytest.raises(FileFormatError, match=r"X\.csv\.gz cannot be unpacked as gzip"):
        read_items(tmp_path / "X.csv.gz")


@pytest.mark.parametrize("form", [csr_array, csc_array, coo_array])
def test_sparse_npz(tmp_path, form):
    save_npz(tmp_path / "X.npz", form(ROWS.astype(np.float32)))
    items = read_items(tmp_path / "X.npz")
    assert items.X.format == "csr"
    assert items.ids == ["0", "1", "2"]
    np.testing.assert_array_equal(items.X.toarray(), ROWS)


def test_value_of_sparse_npz_that_is_not_finite(tmp_path):
    bad = ROWS.copy()
    bad[1, 1] = np.nan
    save_npz(tmp_path / "X.npz", csr_array(bad))
    with pytest.raises(InvalidDataError, match="row 1, column 1: nan"):
        read_items(tmp_path / "X.npz")


def test_columns_of_an_array_have_no_names(tmp_path):
    np.save(tmp_path / "X.npy", ROWS)
    with pytest.raises(FileFormatError, match="columns can be named in a table"):
        read_items(tmp_path / "X.npy", columns=Columns(drop=["a"]))


def test_a_table_of_numbers_is_used_as_it_is(tmp_path):
    items = read_items(_write(tmp_path / "t.csv", "id,a,b\nx,1,2.5\ny,3,-4e3\nz,0,.125\n"))
    np.testing.assert_array_equal(items.X, ROWS)
    assert (items.ids, items.has_ids, items.is_scaled) == (["x", "y", "z"], True, False)
    assert items.notes == [
        f"{tmp_path / 't.csv'}: 3 rows; ids from 'id'; 2 features from 2 columns",
        "  numbers: a, b",
    ]


def test_a_table_of_mixed_columns_is_standardized(tmp_path):
    text = "id,size,kind\n1,1,a\n2,5,a\n3,9,b\n4,5,b\n"
    items = read_items(_write(tmp_path / "t.csv", text))
    assert items.is_scaled
    np.testing.assert_allclose(items.X[:, 0], [-(2**0.5), 0, 2**0.5, 0])
    np.testing.assert_array_equal(items.X[:, 1:], [[1, 0], [1, 0], [0, 1], [0, 1]])
    as_given = read_items(tmp_path / "t.csv", standardize=False)
    np.testing.assert_array_equal(as_given.X[:, 0], [1, 5, 9, 5])


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "npy", "npz", "parquet"])
def test_standard_input_of_every_kind(tmp_path, monkeypatch, kind):
    path = tmp_path / f"X.{kind}"
    if kind == "npy":
        np.save(path, ROWS)
    elif kind == "npz":
        np.savez(path, X=ROWS)
    elif kind == "parquet":
        pytest.importorskip("pyarrow")
        pd.DataFrame(ROWS, columns=["a", "b"]).to_parquet(path)
    else:
        pd.DataFrame(ROWS, columns=["a", "b"]).to_csv(path, index=False)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(path.read_bytes())))
    np.testing.assert_array_equal(read_items(STDIN).X, ROWS)
