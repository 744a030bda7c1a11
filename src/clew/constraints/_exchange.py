"""The methods of `Constraints` that read and write CSV and JSONL files.

What is written is read back without loss. Answers of one kind keep their order; the order between
kinds is not kept.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from clew._files import atomic_write
from clew.constraints._answer_log import check_ids_of_log, is_log, read_log
from clew.constraints._header import COLUMNS
from clew.constraints._ids import RowIds, rows_and_ids
from clew.constraints._layout import Layout, as_own_columns, has_own_names
from clew.constraints._named_rows import named_rows
from clew.constraints._records import RecordReader, column_names, records
from clew.constraints._text_files import csv_lines, json_lines, quoted, split_columns
from clew.constraints._validation import Where
from clew.exceptions import (
    FileFormatError,
    InvalidConstraintsError,
)

if TYPE_CHECKING:
    from clew.constraints._constraints import Constraints

__all__ = ["read_csv", "read_jsonl", "to_csv", "to_jsonl"]

FilePath = str | os.PathLike[str]

#: How many records are held as text at a time.
_CHUNK: Final = 10_000


def to_csv(self: Constraints, path: FilePath) -> None:
    """Write a CSV file with the columns ``kind,i,j,k,answer,annotator,weight``, one answer a line.

    Kinds are pair (same, different, dont_know), triplet (first, second, dont_know) and
    odd_one_out (first, second, third, all_alike, dont_know). k is empty for pairs. A column origin
    is added if the origin of any answer is not "imported". If the ids of the rows are known, the
    columns are id_i, id_j and id_k and hold ids. A name or id that a spreadsheet would interpret as
    a formula gets an apostrophe in front, which `read_csv` removes.

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
        for kind, i, j, k, answer, annotator, weight, *origin in records(self):
            a, b, c = quoted(i), quoted(j), "" if k is None else quoted(k)
            known = f"{kind},{a},{b},{c},{answer},{quoted(annotator)},{weight!r}"
            file.write(",".join([known, *origin]) + "\n")


def read_csv(
    cls: type[Constraints],
    path: FilePath,
    *,
    n_samples: int | None = None,
    ids: Iterable[object] | None = None,
    columns: Sequence[str] | None = None,
    answer: str | None = None,
    annotator: str | None = None,
    kind: str | None = None,
) -> Constraints:
    r"""Read answers from a file in the form that `to_csv` writes, or that an experiment wrote.

    A further kind is most_central: which of i, j and k is the most central one (first, second,
    third, dont_know)? Such answers become triplets, see `Constraints.from_most_central`.

    The columns i, j and k hold row numbers; id_i, id_j and id_k hold ids. Columns may be in any
    order, in upper or lower case, and separated by commas, semicolons or tabs. annotator, weight
    and origin may be omitted, or empty in some lines, and k may be omitted if there are only
    pairs. An index column that pandas wrote is skipped; other columns that are not read cause a
    warning.

    Columns of other names are recognized if there is one reading, such as
    ``trial,participant,left,middle,right,response``: then the answer may also be the item that was
    chosen, or the name of its column.

    Parameters
    ----------
    path : str or path-like
        A text file in UTF-8, with or without a byte-order mark.
    n_samples : int, default=None
        Number of rows of the data. May be omitted if `ids` is given. If neither is given, the rows
        are those that the answers name: by id, in the order in which they are named, or by number,
        from 0 to the largest.
    ids : sequence, array, pandas Index or Series of length n_samples, default=None
        The id of each row of the data, in the order of the rows. If the file has both ids and row
        numbers, they must name the same rows.
    columns : sequence of str, default=None
        Columns of the two or three items of a question, if they have names of their own.
    answer, annotator : str, default=None
        Columns of the answer and of who answered, if they have names of their own.
    kind : {"pair", "triplet", "odd_one_out", "most_central"}, default=None
        What was asked, if no column says it. None: "pair" for two items, "odd_one_out" for three
        if the first of them is chosen anywhere.

    Returns
    -------
    Constraints
        The answers, with `ids` if given.

    Raises
    ------
    FileFormatError
        If the file is empty or a line is invalid: an unknown kind or answer, a row number out of
        range, an unknown id, a repeated row in one answer, k given for a pair, a weight outside
        [0, 1], or an unknown origin. The message has the file and the line. Also if columns have
        other names and there is more than one reading.
    InvalidConstraintsError
        If `n_samples` or `ids` is invalid; for example, if an id is repeated.
    OSError
        If the file cannot be read.

    Warns
    -----
    IgnoredColumnsWarning
        If there are columns that are not read.

    Notes
    -----
    Linear in time. Of a file with the columns of `to_csv`, at most 10,000 lines are held in memory
    as text.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from clew import Constraints
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "trials.csv"
    ...     _ = path.write_text("who,left,middle,right,response\nann,wren,owl,robin,owl\n")
    ...     c = Constraints.read_csv(path, annotator="who", kind="odd_one_out")
    >>> c.ids, c.odd_one_out_answers
    (('wren', 'owl', 'robin'), array([1]))
    """
    layout = Layout(columns, answer, annotator, kind)
    n, row_ids = _rows_of(path, n_samples, ids, layout)
    reader = RecordReader(n, row_ids)
    lines = csv_lines(path)
    line, names = next(lines, (0, []))
    if not names:
        raise FileFormatError(f"{path} is empty: it should begin with the line {COLUMNS}")
    is_own = layout == Layout() and has_own_names(names)
    with _as_format_error():
        if is_own:
            reader.set_columns(names, lambda _: f"{path}, line {line}")
        chunks = iter(lambda: list(itertools.islice(lines, _CHUNK)), [])
        for chunk in chunks if is_own else [list(lines)]:
            numbers, fields = [at for at, _ in chunk], [one for _, one in chunk]
            place = _places(path, numbers)
            parts: list[Sequence[object]] = [*split_columns(fields, len(names), place)]
            if not is_own:
                with _at(f"{path}, line {line}"):
                    names, parts = as_own_columns(
                        names, parts or [()] * len(names), layout, by_id=row_ids is not None
                    )
                reader.set_columns(names, lambda _: f"{path}, line {line}")
            reader.add(parts, place)
    reader.warn_of_ignored(path)
    return cls._from_tables(n, *reader.result(), row_ids)


def to_jsonl(self: Constraints, path: FilePath) -> None:
    """Write one line for each answer, a JSON object with the fields and words of `to_csv`.

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
    """Read answers from a file in the form that `to_jsonl` or ``clew ask`` writes.

    Parameters
    ----------
    path : str or path-like
        A file in UTF-8 with one JSON object per line. An empty file holds no answers. In a log of
        ``clew ask``, answers that were taken back and lines that a crash has cut off are skipped.
    n_samples : int, default=None
        Number of rows of the data. May be omitted if `ids` is given.
    ids : sequence, array, pandas Index or Series of length n_samples, default=None
        The id of each row of the data, in the order of the rows. If neither is given, the rows are
        those that the answers name; see `read_csv`.

    Returns
    -------
    Constraints
        The answers, with `ids` if they are known.

    Raises
    ------
    FileFormatError
        If a line is invalid. The message has the file and the line.
    InvalidConstraintsError
        If `n_samples` or `ids` is invalid.
    OSError
        If the file cannot be read.

    Warns
    -----
    IgnoredColumnsWarning
        If there are fields that are not read.
    """
    n, row_ids = _rows_of(path, n_samples, ids, Layout())
    reader = RecordReader(n, row_ids)
    lines = log_lines(path, row_ids) if is_log(path) else json_lines(path)
    with _as_format_error():
        while chunk := list(itertools.islice(lines, _CHUNK)):
            numbers, objects = zip(*chunk, strict=True)
            place = _places(path, numbers)
            names = list(dict.fromkeys(name for one in objects for name in one))
            reader.set_columns(names, place)
            reader.add([[one.get(name) for one in objects] for name in names], place)
    reader.warn_of_ignored(path)
    return cls._from_tables(n, *reader.result(), row_ids)


def log_lines(path: FilePath, ids: RowIds | None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Return the number and the fields of each answer in a log of ``clew ask``."""
    entries = read_log(path).entries
    if ids is not None:
        check_ids_of_log(path, entries, map(str, ids.names))
    return ((entry.line, entry.to_record()) for entry in entries)


def _rows_of(
    path: FilePath, n_samples: int | None, ids: Iterable[object] | None, layout: Layout
) -> tuple[int, RowIds | None]:
    """Return the number and the ids of the rows: those given, or those that the answers name."""
    if n_samples is not None or ids is not None:
        return rows_and_ids(n_samples, ids)
    names, has_ids = named_rows(path, layout)
    return rows_and_ids(len(names), names if has_ids else None)


@contextmanager
def _at(place: str) -> Iterator[None]:
    """Begin the message of an error with a place."""
    try:
        yield
    except InvalidConstraintsError as error:
        raise FileFormatError(f"{place}: {error}") from error


@contextmanager
def _as_format_error() -> Iterator[None]:
    """Raise a `FileFormatError` for each `InvalidConstraintsError`."""
    try:
        yield
    except InvalidConstraintsError as error:
        raise FileFormatError(str(error)) from error


def _places(path: FilePath, lines: Sequence[int]) -> Where:
    return lambda at: f"{path}, line {lines[at]}"
