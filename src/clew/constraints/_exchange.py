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
) -> Constraints:
    """Read answers from a file in the form that `to_csv` writes.

    A further kind is most_central: which of i, j and k is the most central one (first, second,
    third, dont_know)? Such answers become triplets, see `Constraints.from_most_central`.

    The columns i, j and k hold row numbers; id_i, id_j and id_k hold ids. Columns may be in any
    order, in upper or lower case, and separated by commas, semicolons or tabs. annotator, weight
    and origin may be omitted, or empty in some lines, and k may be omitted if there are only
    pairs. An index column that pandas wrote is skipped; other columns that are not read cause a
    warning.

    Parameters
    ----------
    path : str or path-like
        A text file in UTF-8, with or without a byte-order mark.
    n_samples : int, default=None
        Number of rows of the data. May be omitted if `ids` is given.
    ids : sequence, array, pandas Index or Series of length n_samples, default=None
        The id of each row of the data, in the order of the rows. Required if the file has ids and
        no row numbers. If it has both, they must name the same rows.

    Returns
    -------
    Constraints
        The answers, with `ids` if given.

    Raises
    ------
    FileFormatError
        If the file is empty or a line is invalid: an unknown kind or answer, a row number out of
        range, an unknown id, a repeated row in one answer, k given for a pair, a weight outside
        [0, 1], or an unknown origin. The message has the file and the line.
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
    Linear in time. At most 10,000 lines are held in memory as text.
    """
    n, row_ids = rows_and_ids(n_samples, ids)
    reader = RecordReader(n, row_ids)
    lines = csv_lines(path)
    line, names = next(lines, (0, []))
    if not names:
        raise FileFormatError(f"{path} is empty: it should begin with the line {COLUMNS}")
    with _as_format_error():
        reader.set_columns(names, lambda _: f"{path}, line {line}")
        while chunk := list(itertools.islice(lines, _CHUNK)):
            numbers, fields = zip(*chunk, strict=True)
            place = _places(path, numbers)
            reader.add(split_columns(fields, len(names), place), place)
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
        The id of each row of the data, in the order of the rows; see `read_csv`.

    Returns
    -------
    Constraints
        The answers, with `ids` if given.

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
    n, row_ids = rows_and_ids(n_samples, ids)
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


@contextmanager
def _as_format_error() -> Iterator[None]:
    """Raise a `FileFormatError` for each `InvalidConstraintsError`."""
    try:
        yield
    except InvalidConstraintsError as error:
        raise FileFormatError(str(error)) from error


def _places(path: FilePath, lines: Sequence[int]) -> Where:
    return lambda at: f"{path}, line {lines[at]}"
