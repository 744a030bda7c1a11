"""Tables from files: their columns, and which of them holds the ids."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from clew._files import (
    MISSING,
    at_path,
    content_of,
    decoded,
    first_lines,
    first_records,
    is_number,
    lacks_name,
    needs,
    separator,
    without_mark,
)
from clew.exceptions import FileFormatError, InvalidDataError, InvalidParameterError
from clew.tables._columns import LEADING_ZERO, is_code_name

PARQUET_MARK = b"PAR1"
#: Name under which pandas saves an index that has none.
PANDAS_INDEX = "__index_level_0__"
#: A first column with one of these names is an index: no name, and what pandas reads it as.
NO_NAME = ("", "Unnamed: 0")
COUNTS_ROWS = "the first column, without a name, counts the rows and is left out"
SIGNS = "$€£¥"
#: What separates thousands, by the decimal mark.
THOUSANDS = {".": ",", ",": "."}
#: Number of rows in which leading zeros are looked for.
FIRST_ROWS = 1_000


@dataclass(frozen=True)
class Format:
    """How delimited text is read; None is recognized from the text."""

    sep: str | None = None
    decimal: str | None = None
    header: bool | None = None
    encoding: str | None = None


class TextTable(NamedTuple):
    """Columns of delimited text."""

    names: list[str]
    """Column names; an unnamed column has an empty one. Numbers from 0 without a header."""
    body: str
    """The text below the header."""
    lines: list[int]
    """Line of the file on which each row begins."""
    is_blank: list[bool]
    """Whether all fields of a record of the body are empty. Such records are skipped, so
    ``len(lines)`` is the number of the others."""
    sep: str
    decimal: str
    notes: list[str]
    """What was assumed about the format."""

    def frame(self, columns: Sequence[int], as_text: Sequence[int]) -> pd.DataFrame:
        """Parse some columns, by position; those of `as_text` stay text and keep leading zeros."""
        wanted = sorted({*columns, *as_text})
        missing: dict[Any, Any] = {at: MISSING for at in columns if at not in as_text}
        frame = pd.read_csv(
            io.StringIO(self.body),
            sep=self.sep,
            decimal=self.decimal,
            header=None,
            names=list(range(len(self.names))),
            usecols=wanted,
            dtype=dict.fromkeys(as_text, "str"),
            na_values=missing,
            keep_default_na=False,
            skipinitialspace=True,
            low_memory=False,
            index_col=False,
        )
        if len(frame) != len(self.is_blank):
            raise FileFormatError(
                f"{len(self.is_blank)} records, of which pandas reads {len(frame)}; is a quote "
                "missing or in the wrong place?"
            )
        return frame[~np.array(self.is_blank, dtype=bool)].reset_index(drop=True)

    def with_leading_zeros(self, columns: Sequence[int]) -> list[int]:
        """Return the columns that hold whole numbers with leading zeros in the first rows."""
        if not columns:
            return []
        frame = pd.read_csv(
            io.StringIO(self.body), sep=self.sep, header=None, names=list(range(len(self.names))),
            usecols=list(columns), dtype="str", keep_default_na=False, skipinitialspace=True,
            nrows=FIRST_ROWS, index_col=False,
        )  # fmt: skip
        return [at for at in columns if frame[at].str.fullmatch(LEADING_ZERO).any()]


@dataclass
class _Lines:
    """Lines of a text, and the number of characters that were read."""

    text: str
    offset: int = field(default=0, init=False)

    def __iter__(self) -> Iterator[str]:
        for line in io.StringIO(self.text, newline=""):
            self.offset += len(line)
            yield line


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
    notes = list(text.notes)
    # Separators at the end of each line make last columns without a name.
    unnamed = [at for at, name in enumerate(text.names) if at > 0 and not name]
    empty = [at for at in unnamed if text.frame([at], []).isna().all(axis=None)]
    if empty:
        wanted = replace(wanted, drop=(*wanted.drop, *map(str, empty)))
        is_one = len(empty) == 1
        what = (
            "one column without a name is" if is_one else f"{len(empty)} columns without names are"
        )
        notes.append(f"{what} empty and left out")
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
        if numbers is None:
            numbers, note = written_numbers(frame[column], THOUSANDS[text.decimal], is_sure=True)
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
    if not kept and id_at is None and names:
        raise InvalidParameterError("columns and drop leave no column; name others")
    return id_at, kept


def _position(name: str, names: list[str]) -> int:
    """Return the position of a column that is named, or given by its position."""
    name = str(name).strip()
    if name in names:
        return names.index(name)
    alike = [at for at, other in enumerate(names) if other.casefold() == name.casefold()]
    if len(alike) == 1:
        return alike[0]
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
    ids = ["" if no else id_text(one) for one, no in zip(column, column.isna(), strict=True)]
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


def check_ids(ids: Sequence[str], lines: Sequence[int] | None = None, path: object = None) -> None:
    """Refuse empty and repeated ids, of a file if there is a path."""
    seen: dict[str, int] = {}
    start = "" if path is None else f"{path}, "
    for row, name in enumerate(ids):
        where = f"{start}row {row}" + (f" (line {lines[row]})" if lines else "")
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
    with needs(
        "reading Parquet needs pyarrow; install it with pip install 'clew[parquet]', or save "
        "the table as .csv or .npy"
    ):
        import pyarrow as pa
        import pyarrow.parquet as pq
    try:
        table = pq.ParquetFile(io.BytesIO(content)).read()
    except (pa.ArrowException, OSError) as error:
        raise FileFormatError(f"the file cannot be read as Parquet: {error}") from error
    parts = list(map(_columns, table.column_names, table.columns))
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


def written_numbers(
    column: pd.Series, decimal: str, *, is_sure: bool = False
) -> tuple[pd.Series | None, str]:
    """Read a column of text as numbers if every value is a written number, such as "$1,250".

    With `is_sure` some have to have a sign, or one of the other mark for thousands, too.
    """
    known = column.dropna()
    if len(known) == 0 or not all(isinstance(one, str) for one in known.head(100)):
        return None, ""
    text = known.astype(str).str.strip()
    thousands, mark = re.escape(THOUSANDS[decimal]), re.escape(decimal)
    digits = rf"(\d{{1,3}}({thousands}\d{{3}})+|\d+)({mark}\d*)?"
    if not text.str.fullmatch(_with_signs(digits)).all():
        return None, ""
    if is_sure and not text.str.contains(rf"[%{SIGNS}]|{thousands}\d{{3}}{mark}").any():
        return None, ""
    plain = text.str.replace(rf"[\s{thousands}%{SIGNS}]", "", regex=True)
    numbers = plain.str.replace(decimal, ".", regex=False).astype(float)
    at = (text != plain).argmax()
    note = f"{text.iloc[at]!r} is read as the number {numbers.iloc[at]:g}"
    return numbers.reindex(column.index), note


def read_delimited(content: bytes, form: Format) -> TextTable:
    """Recognize the format of a text, and check that all rows have equally many fields."""
    text = decoded(content, form.encoding)
    text, sep = without_mark(text)
    sample = first_lines(text)
    sep = form.sep or sep or separator(sample)
    records = first_records(sample, sep)
    if not records:
        raise FileFormatError("the file is empty; it needs one line for each row")
    decimal = form.decimal or _decimal(records, sep)
    notes = _notes(form, sep, decimal)
    has_header = form.header
    if has_header is not False and lacks_name(records):
        records[0].insert(0, "")
        has_header = True
        notes.append(
            "the header has one field fewer than the rows; the first column is taken for names of "
            "rows, as R's write.table writes them"
        )
    if has_header is None:
        has_header, note = _has_header(records, decimal)
        notes += note
    lines = _Lines(text)
    reader = csv.reader(lines, delimiter=sep, strict=True, skipinitialspace=True)
    names = [str(at) for at in range(len(records[0]))]
    first_line, body_starts = 1, 0
    if has_header:
        names = [name.strip() for name in records[0]]
        repeated = sorted({name for name in names if name and names.count(name) > 1})
        if repeated:
            raise FileFormatError(
                f"two columns are named {repeated[0]!r}; rename one, or say that there is no header"
            )
        first_line = _skip_header(reader)
        body_starts = lines.offset
    starts, is_blank = _rows(reader, len(names), first_line, has_header=has_header)
    if not starts:
        raise FileFormatError("the file has a header and no rows")
    return TextTable(names, text[body_starts:], starts, is_blank, sep, decimal, notes)


def _decimal(records: list[list[str]], sep: str) -> str:
    """Return a comma if some fields have a decimal comma and none a decimal point."""
    if sep == ",":
        return "."
    fields = [one.strip() for fields in records for one in fields]
    for mark in ".,":  # beside 12,5 % 1.500 is 1500
        if any(_has_mark(one, mark) for one in fields):
            return mark
    with_point = any(re.fullmatch(r"[+-]?\d*\.\d+", one) for one in fields)
    with_comma = any(re.fullmatch(r"[+-]?\d*,\d+", one) for one in fields)
    return "," if with_comma and not with_point else "."


def _has_mark(text: str, decimal: str) -> bool:
    """Whether a number has this decimal mark beyond doubt, as 1.657,52 and 12,5 % have."""
    thousands, mark = re.escape(THOUSANDS[decimal]), re.escape(decimal)
    digits = rf"(\d{{1,3}}({thousands}\d{{3}})+{mark}\d+|\d*{mark}(\d{{1,2}}|\d{{4,}}))"
    return bool(re.fullmatch(_with_signs(digits), text))


def _with_signs(digits: str) -> str:
    return rf"[+-]?[{SIGNS}]?\s?[+-]?{digits}\s?[%{SIGNS}]?"


def _notes(form: Format, sep: str, decimal: str) -> list[str]:
    words = {";": "semicolons", "\t": "tabs", "|": "bars", " ": "spaces"}
    notes = []
    if form.sep is None and sep != ",":
        notes.append(f"fields are separated by {words.get(sep, repr(sep))}")
    if form.decimal is None and decimal == ",":
        notes.append("numbers have a decimal comma")
    return notes


def _has_header(records: list[list[str]], decimal: str) -> tuple[bool, list[str]]:
    """Return whether the first record holds names, and notes on that."""
    first = [value.strip() for value in records[0]]
    if not all(value in MISSING or is_number(value, decimal) for value in first):
        return True, []
    # pandas numbers columns without names, and leaves the name of the index empty.
    counted = first[1:] if first[0] == "" else first
    if counted != [str(at) for at in range(len(counted))] or not counted:
        return False, []
    rest = [value.strip() for fields in records[1:] for value in fields]
    are_whole = all(re.fullmatch(r"[+-]?\d*", value) for value in rest)
    if first[0] == "" or (len(counted) > 1 and not are_whole) or len(counted) > 2:
        return True, [f"the first line, {','.join(first)}, is taken for column names"]
    return False, [f"the first line, {','.join(first)}, is taken for a row"]


def _skip_header(reader: Iterator[list[str]]) -> int:
    """Read past the header; return the number of the line after it."""
    try:
        for fields in reader:
            if any(map(str.strip, fields)):
                break
    except csv.Error as error:
        line = int(reader.line_num)  # type: ignore[attr-defined]
        raise FileFormatError(f"line {line}: {error}") from error
    return int(reader.line_num) + 1  # type: ignore[attr-defined]


def _rows(
    reader: Iterator[list[str]], width: int, line: int, *, has_header: bool
) -> tuple[list[int], list[bool]]:
    """Check the number of fields of every record below the header."""
    starts: list[int] = []
    is_blank: list[bool] = []
    try:
        for fields in reader:
            if fields and (len(fields) > 1 or fields[0].strip()):
                if len(fields) != width:
                    raise FileFormatError(_ragged(line, len(fields), width, has_header=has_header))
                blank = not any(map(str.strip, fields))
                is_blank.append(blank)
                if not blank:
                    starts.append(line)
            # A record may span lines: the next begins after the last line that was read.
            line = int(reader.line_num) + 1  # type: ignore[attr-defined]
    except csv.Error as error:
        raise FileFormatError(f"line {line}: {error}") from error
    return starts, is_blank


def _ragged(line: int, n_fields: int, width: int, *, has_header: bool) -> str:
    """Return the message for a record with another number of fields than the first."""
    above = "the header" if has_header else "the first line"
    problem = f"line {line}: {n_fields} fields, but {above} has {width}"
    if has_header and width == 1:
        return f"{problem}; remove lines above the column names, such as a title"
    return f"{problem}; quote fields that hold the separator, and leave no field out"
