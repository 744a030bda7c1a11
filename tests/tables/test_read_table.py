"""Tables from files: separators, headers, ids, columns."""

import gzip
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clew.exceptions import (
    FileFormatError,
    InvalidDataError,
    InvalidParameterError,
    MissingDependencyError,
)
from clew.tables import read_table

ROWS = pd.DataFrame({"a": [1.0, 3.0, 0.0], "b": [2.5, -4e3, 0.125]})


@pytest.fixture
def read(tmp_path: Path):
    """Read a table from text or bytes."""

    def reader(content, *, name="t.csv", **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
        return read_table(path, **options)

    return reader


@pytest.mark.parametrize(
    "text",
    [
        "a,b\n1,2.5\n3,-4e3\n0,0.125",
        "\ufeffa,b\r\n1, 2.5\r\n\r\n3,-4e3\r\n0,.125\r\n",
        'a,"b"\n"1",2.5\n3,-4e3\n0,0.125\n',
        "a;b\n1;2,5\n3;-4e3\n0;0,125\n",
        "a\tb\n1\t2.5\n3\t-4e3\n0\t0.125\n",
        "a|b\n1|2.5\n3|-4e3\n0|0.125\n",
        "a,b\n1,2.5\n,\n3,-4e3\n0,0.125\n,\n",
    ],
    ids=["plain", "spreadsheet", "quotes", "Excel in German", "tabs", "bars", "blank rows"],
)
def test_text_of_any_dialect(read, text):
    table = read(text)
    pd.testing.assert_frame_equal(table.frame, ROWS, check_dtype=False)
    assert (table.ids, table.id_column) == (None, None)


def test_recognized_format_is_noted_and_can_be_given(read):
    text = "a;b\n1,5;2\n3,5;4\n"
    notes = ("fields are separated by semicolons", "numbers have a decimal comma")
    assert read(text).notes == notes
    assert read(text, sep=";", decimal=",").notes == ()
    assert read(text, sep=";", decimal=".").frame["a"].tolist() == ["1,5", "3,5"]


def test_decimal_points_between_semicolons(read):
    assert read("a;b\n1.5;x\n3.5;1,5\n").frame["a"].tolist() == [1.5, 3.5]


@pytest.mark.parametrize(
    ("text", "names", "n_rows"),
    [
        ("0,1,2\n5,6,7\n8,9,1\n", ["0", "1", "2"], 2),
        ("0,1\n.5,6\n.8,9\n", ["0", "1"], 2),
        (",0,1\n0,.5,6\n1,.8,9\n", ["0", "1"], 2),
        ("1,NA,3\n4,5,6\n", ["0", "1", "2"], 2),
        ("NaN,1.5\n4,5\n", ["0", "1"], 2),
        (",1.5\n4,5\n", ["0", "1"], 2),
        ("0,1\n1,0\n1,1\n", ["0", "1"], 3),
        ("3,1,2\n5,6,7\n", ["0", "1", "2"], 2),
        ("a,1\n5,6\n", ["a", "1"], 1),
        ("1,5;2\n3,5;4\n", ["0", "1"], 2),
    ],
)
def test_header_or_row(read, text, names, n_rows):
    frame = read(text).frame
    assert list(frame.columns) == names
    assert len(frame) == n_rows


def test_header_can_be_given(read):
    assert read("0,1,2\n5,6,7\n", header=False).frame.shape == (2, 3)
    assert list(read("0,1\n1,0\n", header=True).frame.columns) == ["0", "1"]
    assert read("x,y\nx,y\n", header=False).frame.shape == (2, 2)
    assert "taken for column names" in read("0,1,2\n5,6,7\n").notes[0]
    assert "taken for a row" in read("0,1\n1,0\n").notes[0]


@pytest.mark.parametrize("index", [True, False])
def test_what_pandas_writes_is_read(read, index, tmp_path):
    frame = pd.DataFrame(np.random.RandomState(0).normal(size=(5, 3)))
    frame.to_csv(tmp_path / "p.csv", index=index)
    found = read_table(tmp_path / "p.csv")
    np.testing.assert_allclose(found.frame.to_numpy(), frame.to_numpy())
    assert found.ids is None
    frame.index = list("vwxyz")
    frame.to_csv(tmp_path / "p.csv")
    found = read_table(tmp_path / "p.csv")
    assert (found.ids, found.id_column) == (list("vwxyz"), "")
    assert found.frame.shape == (5, 3)


def test_an_index_in_addition_to_a_column_of_ids_is_left_out(read, tmp_path):
    frame = pd.DataFrame({"id": list("vwxyz"), "a": np.arange(5.0)})
    frame.to_csv(tmp_path / "p.csv")
    found = read_table(tmp_path / "p.csv")
    assert (found.ids, list(found.frame)) == (list("vwxyz"), ["a"])
    assert "the first column, without a name, counts the rows and is left out" in found.notes
    frame.index = [7, 3, 5, 1, 0]
    frame.to_csv(tmp_path / "p.csv")
    with pytest.raises(FileFormatError, match=r"position 0 .* has no name"):
        read_table(tmp_path / "p.csv")


def test_line_by_which_excel_knows_the_separator(read):
    table = read("sep=;\r\nid;a\r\nx;1\r\ny;2\r\n")
    assert (table.ids, table.frame["a"].tolist(), table.lines) == (["x", "y"], [1, 2], [3, 4])


def test_numbers_between_spaces(read):
    pd.testing.assert_frame_equal(
        read("a b\n1 2.5\n3  -4e3\n0 .125\n").frame, ROWS, check_dtype=False
    )
    assert read("note\nhello world\ngood day\n").frame["note"].tolist() == [
        "hello world",
        "good day",
    ]


@pytest.mark.parametrize(
    "text",
    [
        '"a" "b"\n"one" 1 2.5\n"two, or 2" 3 -4e3\n"three" 0 NA\n',
        "a\tb\none\t1\t2.5\ntwo, or 2\t3\t-4e3\nthree\t0\tNA\n",
        '"a";"b"\n"one";1;2,5\n"two, or 2";3;-4000,0\n"three";0;NA\n',
    ],
)
def test_what_write_table_of_r_writes_is_read(read, text):
    table = read(text)
    assert list(table.ids) == ["one", "two, or 2", "three"]
    assert list(table.frame.columns) == ["a", "b"]
    np.testing.assert_array_equal(table.frame, [[1, 2.5], [3, -4000], [0, np.nan]])
    assert any("write.table" in note for note in table.notes)
    assert list(read('"1" "2"\n"1" 0 5\n"2" 5 0\n').frame.columns) == ["1", "2"]


@pytest.mark.parametrize(
    ("sep", "values", "numbers"),
    [
        (",", ['"1,000"', '"12,345.5"', "7"], [1000, 12345.5, 7]),
        (",", ["$1.50", '"-$1,200"', ""], [1.5, -1200, np.nan]),
        (",", ["5%", "12.5 %", "NA"], [5, 12.5, np.nan]),
        (";", ["1.250,5 €", "€3", "0,5"], [1250.5, 3, 0.5]),
    ],
)
def test_numbers_as_people_write_them(read, sep, values, numbers):
    rows = "".join(f"{value}{sep}x\n" for value in values)
    table = read(f"pay{sep}kind\n{rows}")
    np.testing.assert_array_equal(table.frame["pay"], numbers)
    assert any("is read as the number" in note for note in table.notes)


@pytest.mark.parametrize("values", [["1,00", "2"], ["1-2", "3"], ["$", "$5"], ["12,34", "5"]])
def test_values_that_are_not_numbers_stay_text(read, values):
    rows = "".join(f'"{value}",x\n' for value in values)
    assert read(f"pay,kind\n{rows}").frame["pay"].tolist() == values


@pytest.mark.parametrize(
    ("n_more", "what"), [(1, "one column without a name is"), (3, "3 columns without names are")]
)
def test_separators_at_the_end_of_each_line(read, n_more, what):
    rows = [line + n_more * "," for line in ("a,b", "1,2.5", "3,-4e3", "0,.125")]
    table = read("\n".join(rows))
    pd.testing.assert_frame_equal(table.frame, ROWS, check_dtype=False)
    assert f"{what} empty and left out" in table.notes


def test_title_above_the_header_is_named(read):
    with pytest.raises(FileFormatError, match=r"line 3: 2 fields.*such as a title"):
        read("My birds\n\na,b\n1,2\n")


def test_columns_are_named_in_any_case_that_is_clear(tmp_path):
    (tmp_path / "t.csv").write_text("Code,x,X,Y\na,1,2,3\nb,4,5,6\n")
    table = read_table(tmp_path / "t.csv", id_column="code", columns=["y", "x"])
    assert (table.ids, table.frame.columns.tolist()) == (["a", "b"], ["Y", "x"])
    (tmp_path / "t.csv").write_text("Code,Xx,xX\na,1,2\nb,4,5\n")
    with pytest.raises(InvalidParameterError, match="no column 'xx'"):
        read_table(tmp_path / "t.csv", id_column="code", columns=["xx"])


@pytest.mark.parametrize("name", ["id", "ID", " Id "])
def test_column_named_id(read, name):
    table = read(f"a,{name},b\n1,größe 1,2.5\n3,NA,-4e3\n0,007,0.125\n")
    pd.testing.assert_frame_equal(table.frame, ROWS, check_dtype=False)
    assert table.ids == ["größe 1", "NA", "007"]
    assert table.id_column == name.strip()


def test_columns_are_chosen_by_name_or_position(read):
    text = "id,code,a,b\n1,x,5,6\n2,y,7,8\n"
    assert read(text, id_column="code").ids == ["x", "y"]
    assert list(read(text, id_column="code").frame.columns) == ["id", "a", "b"]
    assert list(read(text, columns=["b", "a"]).frame.columns) == ["b", "a"]
    assert read(text, columns=["a"]).ids == ["1", "2"]
    assert list(read(text, drop=["code", "3"]).frame.columns) == ["a"]
    assert read(text, drop=["id"]).ids is None
    for option in ({"id_column": "nope"}, {"columns": ["a", "nope"]}, {"drop": ["4"]}):
        with pytest.raises(InvalidParameterError, match=r"t\.csv: there is no column"):
            read(text, **option)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "empty"),
        ("\n \n", "empty"),
        ("a,b\n", "header and no rows"),
        ("1,2\n3\n", "line 2: 1 fields, but the first line has 2"),
        ("a,b\n1,2\n\n1,2,3\n", "line 4: 3 fields, but the header has 2"),
        ('a\n"x\ny"\n1,2\n', "line 4: 2 fields"),
        ('a\n"1\n', "line 2"),
        ("a,a\n1,2\n", "two columns are named 'a'"),
        ("id,ID,a\n1,2,3\n", "two columns are named 'ID'"),
    ],
)
def test_fault_is_named_with_its_line(read, text, words):
    with pytest.raises(FileFormatError, match=words) as caught:
        read(text)
    assert "t.csv" in str(caught.value)


def test_encodings(read):
    text = "wörter,a\nä,1\nö,2\n"
    assert read(text.encode("utf-16")).frame.columns[0] == "wörter"
    assert read(text.encode("latin-1"), encoding="latin-1").frame.columns[0] == "wörter"
    with pytest.raises(FileFormatError, match=r"t.csv, line 1: .*cp1252"):
        read(text.encode("latin-1"))
    amounts = "a,amount\n1,2 €\n2,3 €\n".encode("cp1252")
    assert read(amounts, encoding="cp1252").frame["amount"].tolist() == [2, 3]
    # Python reads € as a control character, and the amount would be words.
    with pytest.raises(FileFormatError, match=r"line 2: byte 0x80 is no .* latin1; cp1252 is"):
        read(amounts, encoding="latin1")
    with pytest.raises(FileFormatError, match="no encoding 'klingon'"):
        read(text, encoding="klingon")


def test_ids_must_be_there_and_differ(read):
    with pytest.raises(InvalidDataError, match=r"t.csv, row 1 \(line 4\): the id is empty"):
        read("id,a\nx,1\n\n,2\n")
    with pytest.raises(InvalidDataError, match=r"row 1 \(line 3\): the id 'x' is that of row 0"):
        read("id,a\nx,1\nx,2\n")


def test_gzip(read):
    pd.testing.assert_frame_equal(
        read(gzip.compress(b"a,b\n1,2.5\n3,-4e3\n0,.125\n"), name="t.csv.gz").frame,
        ROWS,
        check_dtype=False,
    )


def _parquet(path: Path, **columns: object) -> Path:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table(columns), path)
    return path


def test_parquet_with_ids_and_lists(tmp_path):
    path = _parquet(
        tmp_path / "t.parquet", id=[7, 8], a=[1, 3], v=[[2.5, 1.0], [-4e3, 1.0]], w=["x", None]
    )
    table = read_table(path)
    assert table.ids == ["7", "8"]
    assert list(table.frame.columns) == ["a", "v[0]", "v[1]", "w"]
    assert table.frame["v[0]"].tolist() == [2.5, -4e3]
    assert table.frame["w"].isna().tolist() == [False, True]


@pytest.mark.parametrize("column", [[[1.0], [1.0, 2.0]], [[1.0], None], [b"x", b"y"]])
def test_parquet_column_with_a_fault(tmp_path, column):
    with pytest.raises(FileFormatError, match="column 'v'"):
        read_table(_parquet(tmp_path / "t.parquet", v=column))


def test_index_of_pandas_in_parquet_is_not_used_as_a_feature(tmp_path):
    path = _parquet(tmp_path / "t.parquet", a=[1, 2], __index_level_0__=["x", "y"])
    assert read_table(path).ids == ["x", "y"]
    path = _parquet(tmp_path / "t.parquet", a=[1, 2], __index_level_0__=[0, 1])
    assert read_table(path).ids is None


def test_parquet_needs_pyarrow_alone(tmp_path, monkeypatch):
    path = _parquet(tmp_path / "t.parquet", a=[1, 2])
    monkeypatch.setitem(sys.modules, "dask", None)
    assert len(read_table(path).frame) == 2
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match=r"clew\[parquet\]"):
        read_table(path)


def test_index_that_pandas_named_unnamed_is_not_used_as_a_feature(read, tmp_path):
    table = pd.DataFrame({"a": [1.5, 2.5, 0.5]}, index=[2, 0, 1])
    table.to_csv(tmp_path / "saved.csv")
    pd.read_csv(tmp_path / "saved.csv").to_csv(tmp_path / "twice.csv", index=False)
    again = read_table(tmp_path / "twice.csv")
    assert again.ids == ["2", "0", "1"]
    assert list(again.frame.columns) == ["a"]
    named = read_table(tmp_path / "twice.csv", drop=["Unnamed: 0"])
    assert named.ids is None
    assert list(named.frame.columns) == ["a"]


def test_named_index_in_parquet_holds_the_ids(tmp_path):
    pytest.importorskip("pyarrow")
    path = tmp_path / "t.parquet"
    table = pd.DataFrame({"a": [1.5, 2.5]}, index=pd.Index(["wren", "robin"], name="bird"))
    table.to_parquet(path)
    assert read_table(path).ids == ["wren", "robin"]
    assert list(read_table(path).frame.columns) == ["a"]
    assert read_table(path, drop=["bird"]).ids is None
    table.assign(id=["x", "y"]).to_parquet(path)
    assert read_table(path).ids == ["x", "y"]
    table.set_axis(pd.Index(["wren", "wren"], name="bird")).to_parquet(path)
    assert list(read_table(path).frame.columns) == ["a", "bird"]


def test_fault_in_the_header_is_named_with_its_line(read):
    with pytest.raises(FileFormatError, match="line 1: ',' expected after"):
        read('[{"x":1,"y":2},{"x":3,"y":4}]\n1,2,3,4\n')


@pytest.mark.parametrize("text", ["", " \n\n", ",,\n", ";;\n;;\n"])
def test_files_without_any_value_are_empty(read, text):
    with pytest.raises(FileFormatError, match=r"is empty|no rows"):
        read(text)


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        ("1.657,52 €;11,1 % 900,00 €;12,5 %", [[1657.52, 900], [11.1, 12.5]]),
        ("26.0;11,1 % 27.5;7,5 %", [[26, 27.5], [11.1, 7.5]]),
        ("1.500;11,1 900;12,5", [[1500, 900], [11.1, 12.5]]),
        ("1,500;$3.50 900;$7.25", [[1500, 900], [3.5, 7.25]]),
        ("1.500;8 2.250;9", [[1.5, 2.25], [8, 9]]),
    ],
)
def test_a_decimal_comma_is_seen_beside_signs(read, cells, numbers):
    lines = cells.replace(" €", "€").replace(" %", "%").split(" ")
    frame = read("\n".join(["a;b", *lines])).frame
    assert frame.to_numpy().T.tolist() == numbers
