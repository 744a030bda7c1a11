"""Answers as named fields, the form shared by CSV, JSONL and data frames."""

from __future__ import annotations

import difflib
import math
import numbers
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.answers import ANSWER_WORDS, N_ROWS, Kind, as_kind, as_weight, code_of_word
from clew.constraints._columns import AnswerColumns, Tables
from clew.constraints._ids import RowIds, Where
from clew.constraints._tables import AnswerTable
from clew.constraints._validation import as_rows, code_annotators, converted
from clew.exceptions import InvalidConstraintsError

__all__ = ["COLUMNS", "Header", "RecordReader", "column_names", "read_header", "records"]

BY_ROW: Final = ("i", "j", "k")
BY_ID: Final = ("id_i", "id_j", "id_k")
OPTIONAL: Final = ("annotator", "weight")
KNOWN: Final = ("kind", *BY_ROW, *BY_ID, "answer", *OPTIONAL)
COLUMNS: Final = "kind,i,j,k,answer,annotator,weight, or kind,id_i,id_j,id_k,answer,..."

#: What pandas calls an index without a name.
_INDEX: Final = re.compile(r"|index|unnamed: ?\d+|level_\d+")
#: What tables hold where there is no third row.
_MISSING: Final = frozenset({"", "nan", "na", "<na>", "none", "null"})
_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,18}(\.0*)?")
#: With a point, or with the comma of files that part columns by semicolons.
_NUMBER: Final = re.compile(r"[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)([eE][+-]?[0-9]+)?")


def column_names(constraints: AnswerColumns) -> tuple[str, ...]:
    """Name the fields of `records`: rows by id where the ids are known, else by number."""
    return ("kind", *(BY_ROW if constraints.ids is None else BY_ID), "answer", *OPTIONAL)


def records(
    constraints: AnswerColumns,
) -> Iterator[tuple[Any, ...]]:
    """Yield the fields of every answer: pairs, then triplets, then odd-one-out answers."""
    ids, annotators = constraints.ids, constraints.annotators
    for table in constraints.tables:
        words = {code: word for word, code in ANSWER_WORDS[table.kind].items()}
        rows: list[list[int]] = table.rows.T.tolist()
        items: list[Sequence[Hashable | None]] = [
            column if ids is None else [ids[row] for row in column] for column in rows
        ]
        if len(items) == 2:
            items.append([None] * len(table))
        yield from zip(
            [table.kind] * len(table),
            *items,
            [words[code] for code in table.answers.tolist()],
            [annotators[code] for code in table.annotators.tolist()],
            table.weights.tolist(),
            strict=True,
        )


class Header(NamedTuple):
    """What the columns of a table of answers are."""

    names: tuple[str, ...]
    """Each column's name, plain: without outer spaces, in lower case."""
    ignored: tuple[str, ...]
    """Columns that hold nothing of an answer, without an index."""
    has_ids: bool
    """Whether rows are named by id."""
    has_rows: bool
    """Whether rows are named by number."""


def read_header(columns: Iterable[object], ids: RowIds | None) -> Header:
    """Find out what the columns of a table of answers hold.

    Parameters
    ----------
    columns : iterable of object
        The names of the columns.
    ids : RowIds or None
        The ids of the rows, if the caller gave them.

    Returns
    -------
    Header

    Raises
    ------
    InvalidConstraintsError
        If a column is missing, repeated or likely misspelt, or rows are named by unknown ids.
    """
    given = [str(column) for column in columns]
    names = tuple(name.strip().casefold() for name in given)
    has_ids, has_rows = ("id_i" in names or "id_j" in names), ("i" in names or "j" in names)
    _check_names(given, names, BY_ID if has_ids and not has_rows else BY_ROW)
    if has_ids and ids is None and not has_rows:
        raise InvalidConstraintsError(
            "rows are named by id (columns id_i, id_j): give the id of each row of the data, in "
            "their order, as ids="
        )
    unread = {name for name in names if name not in KNOWN and not _INDEX.fullmatch(name)}
    if has_ids and ids is None:
        unread |= set(BY_ID) & set(names)
    ignored = tuple(
        shown.strip() for shown, name in zip(given, names, strict=True) if name in unread
    )
    return Header(names, ignored, has_ids and ids is not None, has_rows)


def _check_names(given: list[str], names: tuple[str, ...], items: tuple[str, ...]) -> None:
    missing = [name for name in ("kind", *items[:2], "answer") if name not in names]
    if missing:
        raise InvalidConstraintsError(
            f"missing column {', '.join(map(repr, missing))}; needed are kind, i, j and answer, or "
            f"kind, id_i, id_j and answer; there are {', '.join(map(repr, given))}"
        )
    repeated = sorted({name for name in names if names.count(name) > 1 and name in KNOWN})
    if repeated:
        raise InvalidConstraintsError(f"repeated column {', '.join(map(repr, repeated))}")
    absent = [name for name in (items[2], *OPTIONAL) if name not in names]
    for shown, name in zip(given, names, strict=True):
        close = difflib.get_close_matches(name, absent, 1, 0.75) if name not in KNOWN else []
        if close:
            # Read as nothing, it would lose what people said.
            raise InvalidConstraintsError(
                f"unknown column {shown!r}: if it is {close[0]!r}, name it so; if not, remove it"
            )


class RecordReader:
    """Gathers records, checking each, until `Constraints` can be made of them.

    Parameters
    ----------
    n_samples : int
        Number of rows of the data.
    ids : RowIds or None
        Their ids.
    """

    def __init__(self, n_samples: int, ids: RowIds | None) -> None:
        self._n_samples, self._ids = n_samples, ids
        self._header = Header((), (), has_ids=False, has_rows=False)
        self._ignored: dict[str, None] = {}
        self._parts: dict[Kind, list[AnswerTable]] = {kind: [] for kind in N_ROWS}
        self._annotators: dict[str, int] = {}

    @property
    def ignored(self) -> list[str]:
        """Columns that hold nothing of an answer."""
        return list(self._ignored)

    def begin(self, columns: Sequence[object], where: Where) -> None:
        """Take in what the columns of the records to come are called.

        Raises
        ------
        InvalidConstraintsError
            If they are not those of a table of answers.
        """
        try:
            self._header = read_header(columns, self._ids)
        except InvalidConstraintsError as error:
            raise InvalidConstraintsError(f"{where(0)}: {error}") from error
        self._ignored.update(dict.fromkeys(self._header.ignored))

    def add(self, columns: Sequence[Sequence[object]], where: Where) -> None:
        """Take records in.

        Parameters
        ----------
        columns : sequence of sequence of length n
            The fields of n records, column by column: text or values, None where missing.
        where : function of int
            Describes the place of a record for the message of an error.

        Raises
        ------
        InvalidConstraintsError
            If a field does not hold what it should.
        """
        named = dict(zip(self._header.names, columns, strict=True))
        fields = {name: named[name] for name in named if name in KNOWN}
        kinds = np.array(converted(fields["kind"], as_kind, where), dtype=object)
        for kind, parts in self._parts.items():
            at = np.flatnonzero(kinds == kind)
            if at.size == len(kinds):
                parts.append(self._table(kind, fields, where))
            elif at.size:
                chosen = {name: [field[p] for p in at.tolist()] for name, field in fields.items()}
                parts.append(self._table(kind, chosen, _places_of(at, where)))

    def result(self) -> tuple[Tables, tuple[str, ...]]:
        """Join what was taken in; return the tables and the names of the annotators."""
        names = list(self._annotators)
        tables = [AnswerTable.stacked(kind, parts) for kind, parts in self._parts.items()]
        lists = [[names[code] for code in table.annotators.tolist()] for table in tables]
        found, codes = code_annotators(lists)
        pairs, triplets, odd_one_out = map(AnswerTable.with_annotators, tables, codes)
        return (pairs, triplets, odd_one_out), found

    def _table(
        self, kind: Kind, columns: Mapping[str, Sequence[object]], where: Where
    ) -> AnswerTable:
        rows = self._rows(kind, columns, where)
        n = len(rows)
        none = [None] * n
        words = converted(columns["answer"], lambda value: code_of_word(kind, value), where)
        weights = converted(columns.get("weight", none), _weight, where)
        names = converted(columns.get("annotator", none), _annotator, where)
        codes = [self._annotators.setdefault(name, len(self._annotators)) for name in names]
        return AnswerTable(
            kind,
            rows,
            np.array(words, dtype=np.int64),
            np.array(weights, dtype=np.float64),
            np.array(codes, dtype=np.int64),
        ).with_sorted_pairs()

    def _rows(
        self, kind: Kind, columns: Mapping[str, Sequence[object]], where: Where
    ) -> NDArray[np.int64]:
        found = []
        for wanted, names in ((self._header.has_rows, BY_ROW), (self._header.has_ids, BY_ID)):
            if wanted:
                given = [columns.get(name, [None] * len(columns["kind"])) for name in names]
                found.append(self._numbers(kind, names, given, where))
        if len(found) == 2 and (found[0] != found[1]).any():
            at, position = (int(axis[0]) for axis in np.nonzero(found[0] != found[1]))
            name, row = BY_ID[position], int(found[0][at, position])
            raise InvalidConstraintsError(
                f"{where(at)}: {BY_ROW[position]} is {row}, the row with the id "
                f"{self._ids.names[row]!r}, "  # type: ignore[union-attr]
                f"but {name} is {columns[name][at]!r}: remove one of both columns"
            )
        return found[0]

    def _numbers(
        self, kind: Kind, names: tuple[str, ...], given: list[Sequence[object]], where: Where
    ) -> NDArray[np.int64]:
        """Read the rows from the columns that name them, by number or by id."""
        n_rows = N_ROWS[kind]
        if n_rows == 2:
            at = next((at for at, value in enumerate(given[2]) if not _is_missing(value)), None)
            if at is not None:
                raise InvalidConstraintsError(
                    f"{where(at)}: a pair has no third row, but {names[2]} is {given[2][at]!r}"
                )
        found = []
        for name, values in zip(names, given[:n_rows], strict=False):
            at = next((at for at, value in enumerate(values) if _is_empty(value)), None)
            if at is not None:
                raise InvalidConstraintsError(f"{where(at)}: {name} is missing")
            if names == BY_ID and self._ids is not None:
                found.append(self._ids.rows_of(values, where))
            else:
                found.append(np.array(converted(values, _row_parser(name), where), dtype=np.int64))
        return as_rows(np.stack(found, axis=1), self._n_samples, where)


def _places_of(at: NDArray[np.int64], where: Where) -> Where:
    return lambda position: where(int(at[position]))


def _is_empty(value: object) -> bool:
    return value is None or (isinstance(value, str) and not value.strip())


def _is_missing(value: object) -> bool:
    """Whether there is no value, or one of the words that tables have for none."""
    return value is None or (isinstance(value, str) and value.strip().casefold() in _MISSING)


def _row_parser(name: str) -> Callable[[object], int]:
    def parse(value: object) -> int:
        row = _whole_number(value)
        # Beyond 2**62 no number is a row, and some fit in no array.
        if row is None or abs(row) >= 2**62:
            raise InvalidConstraintsError(f"{name} must be a row number, got {str(value)[:40]!r}")
        return row

    return parse


def _whole_number(value: object) -> int | None:
    if isinstance(value, str):
        text = value.strip()
        return int(text.partition(".")[0]) if _WHOLE_NUMBER.fullmatch(text) else None
    if isinstance(value, bool):
        return None
    if isinstance(value, numbers.Integral):
        return int(value)
    number = float(value) if isinstance(value, numbers.Real) else math.nan
    return int(number) if math.isfinite(number) and number.is_integer() else None


def _weight(value: object) -> float:
    if _is_empty(value):
        return 1.0
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        return as_weight(float(value.replace(",", ".")))
    return as_weight(value)


def _annotator(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    number = _whole_number(value)
    if number is None:
        raise InvalidConstraintsError(f"annotator must be a name or an integer, got {value!r}")
    return str(number)
