"""The methods that take `Constraints` to files and data frames and back.

They lose nothing. Each kind of answer keeps its order; how answers of different kinds interleave
is not kept. pandas is imported only here, and only when it is needed.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from clew._files import atomic_write
from clew.constraints._records import (
    COLUMNS,
    RecordReader,
    column_names,
    records,
)
from clew.constraints._validation import Where, rows_and_ids
from clew.exceptions import (
    FileFormatError,
    IgnoredColumnsWarning,
    InvalidConstraintsError,
    MissingDependencyError,
)

if TYPE_CHECKING:
    import pandas as pd

    from clew.constraints._constraints import Constraints

__all__ = ["from_frame", "read_csv", "read_jsonl", "to_csv", "to_frame", "to_jsonl"]

FilePath = str | os.PathLike[str]

#: Spreadsheets take a field that begins with one of these for a formula.
_FORMULA_STARTS: Final = ("=", "+", "-", "@", "\t", "\r")
#: How many records are held as text at a time.
_CHUNK: Final = 50_000


def to_csv(self: Constraints, path: FilePath) -> None:
    """Write ``kind,i,j,k,answer,annotator,weight``, one line an answer.

    Kinds are pair (same, different, dont_know), triplet (first, second, dont_know) and
    odd_one_out (first, second, third, none, dont_know). k is empty for pairs. Where the ids of
    the rows are known, the columns are id_i, id_j and id_k and hold ids. A name or id that a
    spreadsheet would take for a formula gets an apostrophe in front, which `read_csv` removes.

    Parameters
    ----------
    path : str or path-like
        Where to write, in UTF-8. The file appears, or replaces an older one, only once complete.

    Raises
    ------
    OSError
        If the file cannot be written; an older one stays as it was.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from clew import Constraints
    >>> c = Constraints.from_pairs(must_link=[("ann", "bob")], ids=["ann", "bob", "cy"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "constraints.csv"
    ...     c.to_csv(path)
    ...     print(path.read_text().strip())
    ...     Constraints.read_csv(path, ids=["ann", "bob", "cy"]) == c
    kind,id_i,id_j,id_k,answer,annotator,weight
    pair,ann,bob,,same,,1.0
    True
    """
    with atomic_write(path) as file:
        file.write(",".join(column_names(self)) + "\n")
        for kind, i, j, k, answer, annotator, weight in records(self):
            a, b, c = _quoted(i), _quoted(j), "" if k is None else _quoted(k)
            file.write(f"{kind},{a},{b},{c},{answer},{_quoted(annotator)},{weight!r}\n")


def read_csv(
    cls: type[Constraints],
    path: FilePath,
    *,
    n_samples: int | None = None,
    ids: Iterable[object] | None = None,
) -> Constraints:
    """Read answers from a file in the form that `to_csv` writes.

    The columns say how rows are named: i, j and k hold row numbers, id_i, id_j and id_k hold
    ids. Columns may come in any order, in upper or lower case, parted by commas, semicolons or
    tabs. annotator and weight may be left out, as columns or line by line, and k where there
    are pairs alone. A column that pandas wrote for an index is skipped; any other column that
    is not read is named in a warning.

    Parameters
    ----------
    path : str or path-like
        A text file in UTF-8, with or without a byte-order mark.
    n_samples : int, default=None
        Number of rows of the data. May be left out where `ids` are given.
    ids : sequence, array, pandas Index or Series of length n_samples, default=None
        The id of each row of the data, in their order. Needed where the file names rows by id.
        A file that has row numbers and ids is checked to name the same rows by both.

    Returns
    -------
    Constraints
        With `ids`, where these are given.

    Warns
    -----
    IgnoredColumnsWarning
        If there are columns that hold nothing of an answer.

    Raises
    ------
    FileFormatError
        If the file is empty or a line is wrong: an unknown kind or answer, a row number out of
        range, an unknown id, a row twice in one answer, k given for a pair, a weight outside
        [0, 1]. The message names the file and the line. All is read or nothing.
    InvalidConstraintsError
        If `n_samples` or `ids` are wrong: an id is there twice, say.
    OSError
        If the file cannot be read.

    Notes
    -----
    Linear in time. Beside the file itself, 50,000 lines at a time are held as text.
    """
    n, row_ids = rows_and_ids(n_samples, ids)
    reader = RecordReader(n, row_ids)
    lines = _csv_lines(path)
    line, names = next(lines, (0, []))
    if not names:
        raise FileFormatError(f"{path} is empty: it should begin with the line {COLUMNS}")
    with _as_format_error():
        reader.begin(names, lambda _: f"{path}, line {line}")
        while chunk := list(itertools.islice(lines, _CHUNK)):
            numbers, fields = zip(*chunk, strict=True)
            place = _places(path, numbers)
            reader.add(_columns(fields, len(names), place), place)
    _warn_of(reader.ignored, path)
    return cls._from_tables(n, *reader.result(), row_ids)


def to_jsonl(self: Constraints, path: FilePath) -> None:
    """Write one JSON object a line and answer, with the fields and words of `to_csv`.

    Parameters
    ----------
    path : str or path-like
        Where to write, in UTF-8. The file appears, or replaces an older one, only once complete.

    Raises
    ------
    OSError
        If the file cannot be written; an older one stays as it was.
    """
    names = column_names(self)
    with atomic_write(path) as file:
        for fields in records(self):
            record = {
                name: value if isinstance(value, int | float) else str(value)
                for name, value in zip(names, fields, strict=True)
                if value is not None
            }
            file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")


def read_jsonl(
    cls: type[Constraints],
    path: FilePath,
    *,
    n_samples: int | None = None,
    ids: Iterable[object] | None = None,
) -> Constraints:
    """Read answers from a file in the form that `to_jsonl` writes.

    Parameters
    ----------
    path : str or path-like
        A file in UTF-8 of one JSON object a line. An empty file holds no answers.
    n_samples : int, default=None
        Number of rows of the data. May be left out where `ids` are given.
    ids : sequence, array, pandas Index or Series of length n_samples, default=None
        The id of each row of the data; see `read_csv`.

    Returns
    -------
    Constraints

    Warns
    -----
    IgnoredColumnsWarning
        If there are fields that hold nothing of an answer.

    Raises
    ------
    FileFormatError
        If a line is wrong. The message names the file and the line.
    InvalidConstraintsError
        If `n_samples` or `ids` are wrong.
    OSError
        If the file cannot be read.
    """
    n, row_ids = rows_and_ids(n_samples, ids)
    reader = RecordReader(n, row_ids)
    lines = _json_lines(path)
    with _as_format_error():
        while chunk := list(itertools.islice(lines, _CHUNK)):
            numbers, objects = zip(*chunk, strict=True)
            place = _places(path, numbers)
            names = list(dict.fromkeys(name for one in objects for name in one))
            reader.begin(names, place)
            reader.add([[one.get(name) for one in objects] for name in names], place)
    _warn_of(reader.ignored, path)
    return cls._from_tables(n, *reader.result(), row_ids)


def to_frame(self: Constraints) -> pd.DataFrame:
    """Make a pandas data frame of one row an answer, with the columns of `to_csv`.

    Returns
    -------
    pandas.DataFrame
        The third row is missing for pairs.

    Raises
    ------
    MissingDependencyError
        If pandas is not installed.

    Examples
    --------
    >>> from clew import Constraints
    >>> frame = Constraints.from_pairs(must_link=[(0, 1)], n_samples=3).to_frame()
    >>> frame.loc[0, "answer"]
    'same'
    >>> len(Constraints.from_frame(frame, n_samples=3))
    1
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError(
            "to_frame needs pandas, which is not installed: pip install pandas"
        ) from error
    names = column_names(self)
    columns = list(zip(*records(self), strict=True)) or [()] * len(names)
    types = {"i": "int64", "j": "int64", "k": "Int64", "weight": "float64"}
    types |= dict.fromkeys(("id_i", "id_j", "id_k"), _type_of(self.ids or ()))
    return pd.DataFrame({
        name: pd.Series(values, dtype=types.get(name, "str"))
        for name, values in zip(names, columns, strict=True)
    })  # fmt: skip


def from_frame(
    cls: type[Constraints],
    frame: pd.DataFrame,
    *,
    n_samples: int | None = None,
    ids: Iterable[object] | None = None,
) -> Constraints:
    """Take answers from a data frame in the form that `to_frame` makes.

    Parameters
    ----------
    frame : pandas.DataFrame
        Columns kind, answer, and i and j, or id_i and id_j; where needed also k or id_k,
        annotator and weight. Its index is not used.
    n_samples : int, default=None
        Number of rows of the data. May be left out where `ids` are given.
    ids : sequence, array, pandas Index or Series of length n_samples, default=None
        The id of each row of the data, in their order, such as the index of the data frame of
        features; see `read_csv`.

    Returns
    -------
    Constraints

    Warns
    -----
    IgnoredColumnsWarning
        If there are columns that hold nothing of an answer.

    Raises
    ------
    InvalidConstraintsError
        If a column is missing or a row is wrong; the message names it.

    Examples
    --------
    >>> import pandas as pd
    >>> from clew import Constraints
    >>> X = pd.DataFrame({"length": [5.1, 4.9, 7.0]}, index=["a", "b", "c"])
    >>> said = pd.DataFrame(
    ...     {
    ...         "kind": "pair",
    ...         "id_i": ["a", "c"],
    ...         "id_j": ["b", "a"],
    ...         "answer": ["same", "different"],
    ...     }
    ... )
    >>> Constraints.from_frame(said, ids=X.index).pairs
    array([[0, 1],
           [0, 2]])
    """
    n, row_ids = rows_and_ids(n_samples, ids)
    reader = RecordReader(n, row_ids)
    reader.begin(list(frame.columns), lambda _: "frame")
    columns = [frame.iloc[:, at] for at in range(frame.shape[1])]
    # None for every way in which pandas marks what is missing.
    reader.add(
        [column.astype(object).where(column.notna(), None).tolist() for column in columns],
        lambda at: f"frame, row {at}",
    )
    _warn_of(reader.ignored, "frame")
    return cls._from_tables(n, *reader.result(), row_ids)


def _warn_of(ignored: Sequence[str], place: object) -> None:
    if ignored:
        names = ", ".join(map(repr, ignored))
        # The line that called the reader, which called this.
        warnings.warn(f"{place}: not read: column {names}", IgnoredColumnsWarning, stacklevel=3)


@contextmanager
def _as_format_error() -> Iterator[None]:
    """Turn what is wrong with an answer into what is wrong with its file."""
    try:
        yield
    except InvalidConstraintsError as error:
        raise FileFormatError(str(error)) from error


def _places(path: FilePath, lines: Sequence[int]) -> Where:
    return lambda at: f"{path}, line {lines[at]}"


def _columns(records: Sequence[list[str]], n_fields: int, where: Where) -> list[Sequence[str]]:
    """Turn lines of fields into columns, without the apostrophes of `_quoted`."""
    for at, fields in enumerate(records):
        if len(fields) != n_fields:
            raise FileFormatError(
                f"{where(at)}: {len(fields)} fields, but the header has {n_fields}"
            )
    columns = zip(*records, strict=True)
    return [
        list(map(_unquoted, column)) if any(text[:1] == "'" for text in column) else column
        for column in columns
    ]


def _csv_lines(path: FilePath) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the fields of each line that is not empty."""
    content = _read_utf8(path)
    first = content.lstrip().partition(b"\n")[0]
    delimiter = max(",;\t", key=lambda mark: first.count(mark.encode()))
    with io.TextIOWrapper(io.BytesIO(content), "utf-8-sig", newline="") as file:
        reader = csv.reader(file, delimiter=delimiter, strict=True)
        line = 1
        try:
            for fields in reader:
                if any(map(str.strip, fields)):
                    yield line, fields
                # A record may span lines: the next begins behind the last line that was read.
                line = reader.line_num + 1
        except csv.Error as error:
            raise FileFormatError(f"{path}, line {line}: {error}") from error


def _json_lines(path: FilePath) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the object of each line that is not empty."""
    # Not str.splitlines, which also splits at characters that a JSON string may hold.
    with io.TextIOWrapper(io.BytesIO(_read_utf8(path)), "utf-8-sig", newline="\n") as file:
        for line, text in enumerate(file, start=1):
            if not text.strip():
                continue
            try:
                record = json.loads(text)
            except (json.JSONDecodeError, RecursionError) as error:
                raise FileFormatError(f"{path}, line {line}: {error}") from error
            if not isinstance(record, dict):
                raise FileFormatError(
                    f"{path}, line {line}: expected an object such as {{...}}, got {text[:40]!r}"
                )
            yield line, record


def _read_utf8(path: FilePath) -> bytes:
    content = Path(path).read_bytes()
    try:
        content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise FileFormatError(
            f"{path}, line {line}: not UTF-8 text (byte 0x{content[error.start]:02x}); "
            "save the file as UTF-8"
        ) from error
    return content


def _quoted(value: object) -> str:
    # Not csv.writer, which leaves a lone carriage return unquoted before Python 3.13.
    text = str(value)
    if not isinstance(value, int) and text.lstrip("'").startswith(_FORMULA_STARTS):
        text = f"'{text}"
    is_plain = text == text.strip() and not any(mark in text for mark in '",;\t\r\n')
    return text if is_plain else '"' + text.replace('"', '""') + '"'


def _unquoted(text: str) -> str:
    is_quoted = text.startswith("'") and text.lstrip("'").startswith(_FORMULA_STARTS)
    return text[1:] if is_quoted else text


def _type_of(ids: Sequence[object]) -> str:
    kinds = set(map(type, ids))
    if kinds == {int} and all(-(2**53) < number < 2**53 for number in ids):  # type: ignore[operator]
        return "Int64"
    return "str" if kinds <= {str} else "object"
