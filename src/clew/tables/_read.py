"""Tables from files: their columns, and which of them holds the ids."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from clew._text import MISSING, at_path, content_of
from clew.exceptions import (
    FileFormatError,
    InvalidDataError,
    InvalidParameterError,
    MissingDependencyError,
)
from clew.tables._columns import is_code_name
from clew.tables._delimited import Format, TextTable, read_delimited

PARQUET_MARK = b"PAR1"
#: Name under which pandas saves an index that has none.
PANDAS_INDEX = "__index_level_0__"
#: A first column with one of these names is an index: no name, and what pandas reads it as.
NO_NAME = ("", "Unnamed: 0")
COUNTS_ROWS = "the first column, without a name, counts the rows and is left out"

SIGNS = "$€£¥"
#: What separates thousands, by the decimal mark.
THOUSANDS = {".": ",", ",": "."}


@dataclass(frozen=True)
class Columns:
    """Which columns of a table are used; see `read_table`."""

    id_column: str | None = None
    columns: Sequence[str] | None = None
    drop: Sequence[str] = ()


@dataclass(frozen=True, eq=False)
class Table:
    """A table with its ids separate from its other columns.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        The columns that may become features.
    ids : list of str or None
        Unique id of each row; None if there is no column of ids.
    id_column : str or None
        Name of the column of ids.
    lines : list of int or None
        Line of the file on which each row begins; None for Parquet.
    notes : tuple of str
        What was recognized and assumed, a sentence each.
    """

    frame: pd.DataFrame
    ids: list[str] | None = None
    id_column: str | None = None
    lines: list[int] | None = None
    notes: tuple[str, ...] = ()


def read_table(
    path: str | os.PathLike[str],
    *,
    id_column: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    sep: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
) -> Table:
    r"""Read a table from CSV, TSV or Parquet, which may be compressed by gzip.

    Parameters
    ----------
    path : str or path-like
        A file; "-" is the standard input. Parquet is recognized by its content.
    id_column : str, default=None
        Name of the column of ids. None: the one named "id" (in upper or lower case). If there is
        none, it is the index that pandas saved in Parquet, if its values differ, or a first column
        without a name (or named "Unnamed: 0"), as which pandas writes an index. An index that only
        counts the rows from 0 is left out.
    columns : sequence of str, default=None
        Columns to keep; None is all.
    drop : sequence of str, default=()
        Columns to leave out. A column may also be named by its position from 0.
    sep : str, default=None
        What separates the fields of text. None: comma, semicolon, tab or bar, whichever splits the
        first 100 lines most evenly; a space between numbers.
    decimal : str, default=None
        Decimal mark of numbers. None: a comma if commas do not separate fields, and some of the
        first numbers have a comma but none has a point.
    header : bool, default=None
        Whether the first line holds column names. None: if some field of it is neither a number nor
        missing (empty, NA, NaN, null), or if it counts 0, 1, 2, … as pandas names columns. Columns
        without names are named by their positions from 0.
    encoding : str, default=None
        Encoding of text; None is UTF-8, or UTF-16 if the file begins with its mark.

    Returns
    -------
    Table

    Raises
    ------
    FileFormatError
        If the file is empty, damaged, ragged or of another encoding; names the file and the line.
    InvalidDataError
        If an id is missing or occurs twice.
    InvalidParameterError
        If a column that is named does not exist.
    MissingDependencyError
        If the file is Parquet and pyarrow is not installed.
    OSError
        If the file cannot be read.

    Notes
    -----
    Text is parsed by pandas: a column in which every value is a number becomes numbers. So does one
    in which every value is a number with commas between thousands, a currency sign or a percent
    sign. Empty fields, NA, NaN, null and the like are missing. Lines without any value are skipped.

    Time and memory are linear in the size of the file; a file is read as a whole.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from clew.tables import TableFeatures, read_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "birds.csv"
    ...     _ = path.write_text("id;wing;color\nb1;12,5;red\nb2;30,1;gray\nb3;NA;red\n")
    ...     table = read_table(path)
    >>> table.ids, table.notes
    (['b1', 'b2', 'b3'], ('fields are separated by semicolons', 'numbers have a decimal comma'))
    >>> TableFeatures().fit_transform(table.frame).shape
    (3, 4)
    """
    form = Format(sep, decimal, header, encoding)
    return table_of(content_of(path), str(path), form, Columns(id_column, columns, drop))


def table_of(content: bytes, path: str, form: Format, wanted: Columns) -> Table:
    """Make a table of the content of a file."""
    is_parquet = Path(path.lower().removesuffix(".gz")).suffix == ".parquet"
    try:
        if is_parquet or content.startswith(PARQUET_MARK):
            return _from_frame(read_parquet(content), wanted)
        return _from_text(read_delimited(content, form), wanted)
    except FileFormatError as error:
        raise FileFormatError(at_path(path, error)) from error
    except InvalidDataError as error:
        raise InvalidDataError(f"{path}, {error}") from error
    except InvalidParameterError as error:
        raise InvalidParameterError(f"{path}: {error}") from error


def _from_text(text: TextTable, wanted: Columns) -> Table:
    at = len(text.names) - 1
    notes = list(text.notes)
    # A separator at the end of each line makes a last column without a name.
    if at > 0 and not text.names[at] and text.frame([at], []).isna().all(axis=None):
        wanted = replace(wanted, drop=(*wanted.drop, str(at)))
        notes.append("the last column, without a name, is empty and is left out")
    if _is_index_beside_ids(text, wanted):
        wanted = replace(wanted, drop=(*wanted.drop, "0"))
        notes.append(COUNTS_ROWS)
    id_at, kept = _chosen(text.names, wanted)
    codes = [column for column in kept if is_code_name(text.names[column])]
    codes += text.with_leading_zeros([column for column in kept if column not in codes])
    frame = text.frame(kept, [*codes, *([] if id_at is None else [id_at])])
    for column in codes:
        frame[column] = frame[column].where(~frame[column].isin(MISSING))
    for column in kept:
        if column in codes:
            continue
        numbers, note = written_numbers(frame[column], text.decimal)
        if numbers is not None:
            frame[column] = numbers
            notes.append(f"column {text.names[column]!r}: {note}")
    return _table(frame, text.names, id_at, kept, text.lines, notes)


def _is_index_beside_ids(text: TextTable, wanted: Columns) -> bool:
    """Whether pandas wrote its index in front of a table that has a column of ids."""
    has_ids = wanted.id_column is not None or "id" in map(str.lower, text.names)
    if not has_ids or text.names[0] not in NO_NAME or wanted.columns is not None:
        return False
    first = text.frame([], [0])[0]
    return first.tolist() == [str(row) for row in range(len(first))]


def _from_frame(frame: pd.DataFrame, wanted: Columns) -> Table:
    names = ["" if name == PANDAS_INDEX else str(name) for name in frame.columns]
    if "" in names:  # pandas writes its index last
        at = names.index("")
        order = [at, *(other for other in range(len(names)) if other != at)]
        frame, names = frame.iloc[:, order], [names[other] for other in order]
    index = frame.attrs.get("index")
    if wanted.id_column is None and index in names and "id" not in map(str.lower, names):
        column = frame.iloc[:, names.index(index)]
        is_dropped = index in wanted.drop or str(names.index(index)) in wanted.drop
        if column.is_unique and not column.isna().any() and not is_dropped:
            wanted = replace(wanted, id_column=index)
    frame = frame.set_axis(range(len(names)), axis=1)
    return _table(frame, names, *_chosen(names, wanted), None, [])


def _chosen(names: list[str], wanted: Columns) -> tuple[int | None, list[int]]:
    """Return the positions of the column of ids, if there is one, and of the others to keep."""
    drop = {_position(name, names) for name in wanted.drop}
    if wanted.id_column is not None:
        id_at: int | None = _position(wanted.id_column, names)
    else:
        named = [at for at, name in enumerate(names) if name.lower() == "id" and at not in drop]
        if len(named) > 1:
            raise FileFormatError(
                f"two columns are named {names[named[1]]!r}; say which one holds the ids"
            )
        is_index = bool(names) and names[0] in NO_NAME and 0 not in drop
        id_at = named[0] if named else 0 if is_index else None
    if wanted.columns is None:
        kept = [at for at in range(len(names)) if at != id_at and at not in drop]
    else:
        chosen = [_position(name, names) for name in wanted.columns]
        kept = [at for at in dict.fromkeys(chosen) if at != id_at and at not in drop]
    unnamed = [at for at in kept if not names[at]]
    if unnamed:
        raise FileFormatError(
            f"the column at position {unnamed[0]} (from 0) has no name; name it, or drop it by its "
            "position"
        )
    return id_at, kept


def _position(name: str, names: list[str]) -> int:
    """Return the position of a column that is named, or given by its position."""
    name = str(name).strip()
    if name in names:
        return names.index(name)
    if name.isdecimal() and int(name) < len(names):
        return int(name)
    shown = ", ".join(names[:20]) + (", …" if len(names) > 20 else "")
    raise InvalidParameterError(f"there is no column {name!r}; columns are {shown}")


def _table(
    frame: pd.DataFrame,
    names: list[str],
    id_at: int | None,
    kept: list[int],
    lines: list[int] | None,
    notes: list[str],
) -> Table:
    """Take the ids out of the frame, and name its columns."""
    features = frame[kept].set_axis([names[at] for at in kept], axis=1)
    if id_at is None:
        return Table(features, None, None, lines, tuple(notes))
    column = frame[id_at]
    gone = column.isna()
    ids = ["" if none else id_text(one) for one, none in zip(column, gone, strict=True)]
    if names[id_at] in NO_NAME:
        if ids == [str(row) for row in range(len(ids))]:
            return Table(features, None, None, lines, (*notes, COUNTS_ROWS))
        notes = [*notes, "the first column, without a name, is taken for the ids"]
    check_ids(ids, lines)
    return Table(features, ids, names[id_at], lines, tuple(notes))


def id_text(value: object) -> str:
    """Return an id as text. 17.0 is written 17, as in files of answers."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace").strip()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def check_ids(ids: Sequence[str], lines: Sequence[int] | None = None) -> None:
    """Refuse empty and repeated ids."""
    seen: dict[str, int] = {}
    for row, name in enumerate(ids):
        where = f"row {row}" + (f" (line {lines[row]})" if lines else "")
        if not name:
            raise InvalidDataError(
                f"{where}: the id is empty; fill it in, or name another column of ids"
            )
        if name in seen:
            raise InvalidDataError(
                f"{where}: the id {name[:40]!r} is that of row {seen[name]} too; make the ids "
                "unique, name another column of ids, or drop this one"
            )
        seen[name] = row


def read_parquet(content: bytes) -> pd.DataFrame:
    """Read a table; a column of lists of equally many numbers becomes as many columns."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingDependencyError(
            "reading Parquet needs pyarrow; install it with pip install 'clew[parquet]', or save "
            "the table as .csv or .npy"
        ) from error
    try:
        table = pq.ParquetFile(io.BytesIO(content)).read()
    except (pa.ArrowException, OSError) as error:
        raise FileFormatError(f"the file cannot be read as Parquet: {error}") from error
    parts = [
        _columns(name, column)
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    frame = pd.concat(parts, axis=1) if parts else pd.DataFrame(index=range(table.num_rows))
    index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    if len(index) == 1 and isinstance(index[0], str):
        frame.attrs["index"] = index[0]
    return frame


def _columns(name: str, column: Any) -> pd.DataFrame:
    """Return a column as a frame: one column, or one for each position in its lists."""
    import pyarrow.types as kinds

    kind = column.type
    is_list = kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind)
    inner = kind.value_type if is_list else kind
    if kinds.is_nested(inner) or kinds.is_binary(inner) or kinds.is_large_binary(inner):
        raise FileFormatError(f"column {name!r} holds {kind}, which cannot be a feature; drop it")
    if not is_list:
        return pd.DataFrame({name: column.to_pandas().reset_index(drop=True)})
    values = column.to_pylist()
    widths = {-1 if value is None else len(value) for value in values}
    if len(widths) > 1 or -1 in widths:
        raise FileFormatError(f"the lists in column {name!r} are not all of one length")
    return pd.DataFrame(values, columns=[f"{name}[{at}]" for at in range(max(widths, default=0))])


def written_numbers(column: pd.Series, decimal: str) -> tuple[pd.Series | None, str]:
    """Read a column of text as numbers if every value is a written number, such as "$1,250"."""
    known = column.dropna()
    if len(known) == 0 or not all(isinstance(one, str) for one in known.head(100)):
        return None, ""
    text = known.astype(str).str.strip()
    thousands, mark = re.escape(THOUSANDS[decimal]), re.escape(decimal)
    digits = rf"(\d{{1,3}}({thousands}\d{{3}})+|\d+)({mark}\d*)?"
    written = rf"[+-]?[{SIGNS}]?\s?[+-]?{digits}\s?[%{SIGNS}]?"
    if not text.str.fullmatch(written).all():
        return None, ""
    plain = text.str.replace(rf"[\s{thousands}%{SIGNS}]", "", regex=True)
    numbers = plain.str.replace(decimal, ".", regex=False).astype(float)
    at = (text != plain).argmax()
    note = f"{text.iloc[at]!r} is read as the number {numbers.iloc[at]:g}"
    return numbers.reindex(column.index), note
