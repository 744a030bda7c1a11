"""Answers as records of named fields, which CSV files, JSONL files and data frames share."""

from __future__ import annotations

import difflib
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew._warnings import warn
from clew.answers import ANSWER_WORDS, N_ROWS, ORIGINS, Kind, code_of_word
from clew.constraints._columns import AnswerColumns
from clew.constraints._ids import RowIds
from clew.constraints._meanings import (
    MOST_CENTRAL,
    as_most_central,
    as_record_kind,
    triplets_of_most_central,
)
from clew.constraints._tables import AnswerTable, Tables, code_annotators
from clew.constraints._validation import (
    Where,
    as_rows,
    check_id,
    check_missing,
    converted,
    parse_annotator,
    parse_origin,
    parse_rows,
    parse_weight,
)
from clew.exceptions import IgnoredColumnsWarning, InvalidConstraintsError

BY_ROW: Final = ("i", "j", "k")
BY_ID: Final = ("id_i", "id_j", "id_k")
WRITTEN: Final = ("annotator", "weight")
OPTIONAL: Final = (*WRITTEN, "origin")
KNOWN: Final = ("kind", *BY_ROW, *BY_ID, "answer", *OPTIONAL)
COLUMNS: Final = ",".join(("kind", *BY_ROW, "answer", *WRITTEN))

#: What pandas calls an index without a name.
_INDEX: Final = re.compile(r"|index|unnamed: ?\d+|level_\d+")
#: What to do if columns have other names.
OTHER_NAMES: Final = (
    "If columns have other names, say which hold the items, the answer and the annotator: "
    "columns=, answer=, annotator= and kind= in Python, --item-columns, --answer-column, "
    "--annotator-column and --kind in commands"
)


class Header(NamedTuple):
    """The meaning of the columns of a table of answers."""

    names: tuple[str, ...]
    """The name of each column in lower case, without outer spaces."""
    ignored: tuple[str, ...]
    """Columns that are not read, apart from an index."""
    has_ids: bool
    """Whether rows are given by id."""
    has_rows: bool
    """Whether rows are given by number."""

    @property
    def row_columns(self) -> list[tuple[str, str, str]]:
        """The columns that name rows: those of numbers, those of ids, or both."""
        return [BY_ROW] * self.has_rows + [BY_ID] * self.has_ids


def read_header(columns: Iterable[object], ids: RowIds | None) -> Header:
    """Interpret the names of the columns of a table of answers."""
    given = [str(column) for column in columns]
    names = tuple(name.strip().casefold() for name in given)
    has_ids, has_rows = ("id_i" in names or "id_j" in names), ("i" in names or "j" in names)
    _check_names(given, names, BY_ID if has_ids and not has_rows else BY_ROW)
    if has_ids and ids is None and not has_rows:
        raise InvalidConstraintsError(
            "rows are given by id (columns id_i, id_j): pass the id of each row of the data, in "
            "the order of the rows, as ids="
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
            f"missing column {', '.join(map(repr, missing))}; the required columns are kind "
            f"({', '.join((*N_ROWS, MOST_CENTRAL))}), i and j, or id_i and id_j, and answer; "
            f"the given columns are {', '.join(map(repr, given))}. {OTHER_NAMES}"
        )
    repeated = sorted({name for name in names if names.count(name) > 1 and name in KNOWN})
    if repeated:
        raise InvalidConstraintsError(f"repeated column {', '.join(map(repr, repeated))}")
    absent = [name for name in (items[2], *OPTIONAL) if name not in names]
    for shown, name in zip(given, names, strict=True):
        close = difflib.get_close_matches(name, absent, 1, 0.75) if name not in KNOWN else []
        if close:
            # Ignoring a misspelled column would lose the weights or annotators of answers.
            raise InvalidConstraintsError(
                f"unknown column {shown!r}: rename it to {close[0]!r} or remove it"
            )


def column_names(constraints: AnswerColumns) -> tuple[str, ...]:
    """Return the names of the fields of `records`; an origin only if one is not "imported"."""
    rows = BY_ROW if constraints.ids is None else BY_ID
    return ("kind", *rows, "answer", *(OPTIONAL if _has_origins(constraints) else WRITTEN))


def records(constraints: AnswerColumns) -> Iterator[tuple[Any, ...]]:
    """Yield the fields of every answer: pairs, then triplets, then odd-one-out answers."""
    ids, annotators = constraints.ids, constraints.annotators
    has_origins = _has_origins(constraints)
    for table in constraints.tables:
        words = {code: word for word, code in ANSWER_WORDS[table.kind].items()}
        rows: list[list[int]] = table.rows.T.tolist()
        items: list[Sequence[Hashable | None]] = [
            column if ids is None else [ids[row] for row in column] for column in rows
        ]
        if len(items) == 2:
            items.append([None] * len(table))
        origins = [[ORIGINS[code] for code in table.origins.tolist()]] if has_origins else []
        yield from zip(
            [table.kind] * len(table),
            *items,
            [words[code] for code in table.answers.tolist()],
            [annotators[code] for code in table.annotators.tolist()],
            table.weights.tolist(),
            *origins,
            strict=True,
        )


def _has_origins(constraints: AnswerColumns) -> bool:
    return any(table.origins.any() for table in constraints.tables)


class RecordReader:
    """Collect and check records, and make the tables of `Constraints` from them."""

    def __init__(self, n_samples: int, ids: RowIds | None) -> None:
        self._n_samples, self._ids = n_samples, ids
        self._header = Header((), (), has_ids=False, has_rows=False)
        self._ignored: dict[str, None] = {}
        self._parts: dict[Kind, list[AnswerTable]] = {kind: [] for kind in N_ROWS}
        self._annotators: dict[str, int] = {}

    def warn_of_ignored(self, place: object) -> None:
        """Warn of the columns that were not read."""
        if self._ignored:
            names = ", ".join(map(repr, self._ignored))
            warn(f"{place}: columns that are not read: {names}", IgnoredColumnsWarning)

    def set_columns(self, columns: Iterable[object], place: str) -> None:
        """Set the names of the columns of the records that are added next."""
        try:
            self._header = read_header(columns, self._ids)
        except InvalidConstraintsError as error:
            raise InvalidConstraintsError(f"{place}: {error}") from error
        self._ignored.update(dict.fromkeys(self._header.ignored))

    def add(self, columns: Sequence[Sequence[object]], where: Where) -> None:
        """Add records."""
        named = dict(zip(self._header.names, columns, strict=True))
        fields = {name: named[name] for name in named if name in KNOWN}
        kinds = np.array(converted(fields["kind"], as_record_kind, where), dtype=object)
        for kind in dict.fromkeys(kinds.tolist()):
            at = np.flatnonzero(kinds == kind)
            chosen, place = fields, where
            if at.size < len(kinds):
                chosen = {name: [field[p] for p in at.tolist()] for name, field in fields.items()}
                place = _at_positions(where, at)
            table = self._table(kind, chosen, place)
            self._parts[table.kind].append(table)

    def result(self) -> tuple[Tables, tuple[str, ...]]:
        """Return the tables and the names of the annotators."""
        names = list(self._annotators)
        tables = [AnswerTable.stacked(kind, parts) for kind, parts in self._parts.items()]
        used = [[names[code] for code in table.annotators.tolist()] for table in tables]
        found, codes = code_annotators(used)
        pairs, triplets, odd_one_out = map(AnswerTable.with_annotators, tables, codes)
        return (pairs, triplets, odd_one_out), found

    def _table(
        self,
        kind: Kind | Literal["most_central"],
        fields: Mapping[str, Sequence[object]],
        where: Where,
    ) -> AnswerTable:
        """Read records of one kind."""
        asked: Kind = "odd_one_out" if kind == MOST_CENTRAL else kind
        code_of = as_most_central if kind == MOST_CENTRAL else partial(code_of_word, kind)
        rows = self._rows(N_ROWS[asked], fields, where)
        none = [None] * len(rows)
        codes = converted(fields["answer"], code_of, where)
        weights = converted(fields.get("weight", none), parse_weight, where)
        names = converted(fields.get("annotator", none), parse_annotator, where)
        origins = converted(fields.get("origin", none), parse_origin, where)
        annotators = [self._annotators.setdefault(name, len(self._annotators)) for name in names]
        table = AnswerTable(
            asked,
            rows,
            np.array(codes, dtype=np.int64),
            np.array(weights, dtype=np.float64),
            np.array(annotators, dtype=np.int64),
            np.array(origins, dtype=np.int8),
        )
        return triplets_of_most_central(table) if kind != asked else table.with_sorted_pairs()

    def _rows(
        self, n_rows: int, fields: Mapping[str, Sequence[object]], where: Where
    ) -> NDArray[np.int64]:
        """Read the rows of each record, by number, by id, or by both, which then have to agree."""
        none = [None] * len(fields["kind"])
        found = []
        for names in self._header.row_columns:
            columns = []
            for position, name in enumerate(names):
                values, place = fields.get(name, none), _in_column(where, name)
                if position >= n_rows:
                    converted(values, check_missing, place)
                elif names == BY_ROW or self._ids is None:
                    columns.append(parse_rows(values, place))
                else:
                    converted(values, check_id, place)
                    columns.append(self._ids.rows_of(values, place))
            found.append(as_rows(np.stack(columns, axis=1), self._n_samples, where))
        if len(found) == 2 and self._ids is not None and (found[0] != found[1]).any():
            at, position = (int(axis[0]) for axis in np.nonzero(found[0] != found[1]))
            row, name = int(found[0][at, position]), BY_ID[position]
            raise InvalidConstraintsError(
                f"{where(at)}: {BY_ROW[position]} is {row}, the row with the id "
                f"{self._ids.names[row]!r}, but {name} is {fields[name][at]!r}; correct one, or "
                "remove the columns of one kind"
            )
        return found[0]


def _in_column(where: Where, name: str) -> Where:
    return lambda at: f"{where(at)}: {name}"


def _at_positions(where: Where, positions: NDArray[np.int64]) -> Where:
    return lambda at: where(int(positions[at]))
