"""Answers as records of named fields, which CSV files, JSONL files and data frames share."""

from __future__ import annotations

import difflib
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, Literal, NamedTuple, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._files import OTHER_NAMES
from clew._warnings import warn
from clew.answers import (
    ANSWER_WORDS,
    DIFFERENT,
    DONT_KNOW,
    N_ROWS,
    ORIGINS,
    SAME,
    Kind,
    a_question,
    code_of_word,
)
from clew.answers._words import plain_word
from clew.constraints._meanings import (
    MOST_CENTRAL,
    as_most_central,
    as_record_kind,
    triplets_of_most_central,
)
from clew.constraints._tables import (
    PARAMETER,
    AnswerTable,
    Tables,
    as_table,
    code_annotators,
    kinds_in,
)
from clew.constraints._validation import (
    RowIds,
    Where,
    as_annotators,
    as_origins,
    as_rows,
    as_weights,
    check_id,
    check_missing,
    converted,
    is_missing,
    parse_annotator,
    parse_origin,
    parse_rows,
    parse_weight,
    rows_and_ids,
)
from clew.exceptions import IgnoredColumnsWarning, InvalidConstraintsError


class AnswerColumns:
    """The data of `Constraints`: one table for each kind of answer; attributes cannot be set."""

    __slots__ = ("_annotators", "_ids", "_kinds", "_n_samples", "_tables")

    _n_samples: int
    _tables: Tables
    _annotators: tuple[str, ...]
    _ids: RowIds | None
    _kinds: frozenset[str] | None

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"Constraints are frozen: {name} cannot be set")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"Constraints are frozen: {name} cannot be deleted")

    def __init__(
        self,
        n_samples: int | None = None,
        *,
        pairs: ArrayLike | None = None,
        triplets: ArrayLike | None = None,
        odd_one_out: ArrayLike | None = None,
        pair_weights: ArrayLike | None = None,
        triplet_weights: ArrayLike | None = None,
        odd_one_out_weights: ArrayLike | None = None,
        pair_annotators: ArrayLike | None = None,
        triplet_annotators: ArrayLike | None = None,
        odd_one_out_annotators: ArrayLike | None = None,
        pair_origins: ArrayLike | None = None,
        triplet_origins: ArrayLike | None = None,
        odd_one_out_origins: ArrayLike | None = None,
        ids: Iterable[object] | None = None,
    ) -> None:
        n, row_ids = rows_and_ids(n_samples, ids)
        given = zip(
            N_ROWS,
            (pairs, triplets, odd_one_out),
            (pair_weights, triplet_weights, odd_one_out_weights),
            (pair_annotators, triplet_annotators, odd_one_out_annotators),
            (pair_origins, triplet_origins, odd_one_out_origins),
            strict=True,
        )
        tables, annotators = [], []
        for kind, values, weights, names, origins in given:
            table = as_table(values, kind, n, row_ids)
            table = table.with_weights(as_weights(weights, len(table), f"{kind}_weights"))
            tables.append(table.with_origins(as_origins(origins, len(table), f"{kind}_origins")))
            annotators.append(as_annotators(names, len(table), f"{kind}_annotators"))
        names, codes = code_annotators(annotators)
        pairs_, triplets_, odd = map(AnswerTable.with_annotators, tables, codes)
        self._set(n, (pairs_, triplets_, odd), names, row_ids)

    def _set(
        self, n_samples: int, tables: Tables, annotators: tuple[str, ...], ids: RowIds | None
    ) -> None:
        for name, value in zip(
            ("_n_samples", "_tables", "_annotators", "_ids", "_kinds"),
            (n_samples, tables, annotators, ids, None),
            strict=True,
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def _from_tables(
        cls, n_samples: int, tables: Tables, annotators: tuple[str, ...], ids: RowIds | None
    ) -> Self:
        """Build from valid tables; nothing is checked."""
        new = cls.__new__(cls)
        new._set(n_samples, tables, annotators, ids)
        return new

    def __reduce__(self) -> tuple[object, ...]:
        state = (self._n_samples, self._tables, self._annotators, self._ids)
        return type(self)._from_tables, state

    @property
    def tables(self) -> Tables:
        """All answers as read-only columns: pairs, triplets and odd-one-out answers."""
        return self._tables

    @property
    def _kinds_present(self) -> frozenset[str]:
        """Fields of `Support` that the answers need; found once, as each part of a fit asks."""
        if self._kinds is None:
            object.__setattr__(self, "_kinds", kinds_in(self._tables))
        assert self._kinds is not None
        return self._kinds

    @property
    def ids(self) -> tuple[Hashable, ...] | None:
        """The id of each row, or None if ids are not known."""
        return None if self._ids is None else self._ids.names

    def name_of(self, row: int) -> Hashable:
        """Return the id of a row, or its number if ids are not known.

        Parameters
        ----------
        row : int
            A row number in [0, n_samples - 1].

        Returns
        -------
        hashable

        Raises
        ------
        InvalidConstraintsError
            If the row is out of range.

        Examples
        --------
        >>> from clew import Constraints
        >>> Constraints(ids=["ann", "bob"]).name_of(1)
        'bob'
        """
        if not 0 <= row < self._n_samples:
            raise InvalidConstraintsError(
                f"row {row} is out of range; n_samples is {self._n_samples}"
            )
        return row if self._ids is None else self._ids.names[row]

    @property
    def n_samples(self) -> int:
        """Number of rows of the data."""
        return self._n_samples

    @property
    def annotators(self) -> tuple[str, ...]:
        """Names of the annotators, by code."""
        return self._annotators

    @property
    def pairs(self) -> NDArray[np.int64]:
        """Rows (i, j) of each pair, the smaller first; shape (n_pairs, 2)."""
        return self._tables[0].rows

    @property
    def pair_answers(self) -> NDArray[np.int64]:
        """Answer to each pair: 1 same, 0 different, -2 don't-know; shape (n_pairs,)."""
        return self._tables[0].answers

    @property
    def pair_weights(self) -> NDArray[np.float64]:
        """Weight of each answer, in [0, 1]; shape (n_pairs,)."""
        return self._tables[0].weights

    @property
    def pair_annotators(self) -> NDArray[np.int64]:
        """Who gave each answer: positions in `annotators`; shape (n_pairs,)."""
        return self._tables[0].annotators

    @property
    def pair_origins(self) -> NDArray[np.str_]:
        """How each question was chosen: "imported", "random" or "asked"; shape (n_pairs,)."""
        return np.array(ORIGINS)[self._tables[0].origins]

    @property
    def triplets(self) -> NDArray[np.int64]:
        """Rows (a, b, c) of each triplet; shape (n_triplets, 3)."""
        return self._tables[1].rows

    @property
    def triplet_answers(self) -> NDArray[np.int64]:
        """0 if a is more like b, 1 if more like c, -2 don't-know; shape (n_triplets,)."""
        return self._tables[1].answers

    @property
    def triplet_weights(self) -> NDArray[np.float64]:
        """Weight of each answer, in [0, 1]; shape (n_triplets,)."""
        return self._tables[1].weights

    @property
    def triplet_annotators(self) -> NDArray[np.int64]:
        """Who gave each answer: positions in `annotators`; shape (n_triplets,)."""
        return self._tables[1].annotators

    @property
    def triplet_origins(self) -> NDArray[np.str_]:
        """How each question was chosen: "imported", "random" or "asked"; shape (n_triplets,)."""
        return np.array(ORIGINS)[self._tables[1].origins]

    @property
    def odd_one_out(self) -> NDArray[np.int64]:
        """Rows (i, j, k) of each odd-one-out question; shape (n_odd_one_out, 3)."""
        return self._tables[2].rows

    @property
    def odd_one_out_answers(self) -> NDArray[np.int64]:
        """Position 0, 1, 2 of the odd one, -1 all alike, -2 don't-know; shape (n_odd_one_out,)."""
        return self._tables[2].answers

    @property
    def odd_one_out_weights(self) -> NDArray[np.float64]:
        """Weight of each answer, in [0, 1]; shape (n_odd_one_out,)."""
        return self._tables[2].weights

    @property
    def odd_one_out_annotators(self) -> NDArray[np.int64]:
        """Who gave each answer: positions in `annotators`; shape (n_odd_one_out,)."""
        return self._tables[2].annotators

    @property
    def odd_one_out_origins(self) -> NDArray[np.str_]:
        """How each question was chosen: "imported", "random" or "asked"; shape (n_odd_one_out,)."""
        return np.array(ORIGINS)[self._tables[2].origins]

    @property
    def is_must_link(self) -> NDArray[np.bool_]:
        """Mask of the pairs answered "same"; shape (n_pairs,)."""
        return np.equal(self._tables[0].answers, SAME)

    @property
    def is_cannot_link(self) -> NDArray[np.bool_]:
        """Mask of the pairs answered "different"; shape (n_pairs,)."""
        return np.equal(self._tables[0].answers, DIFFERENT)

    @property
    def is_dont_know(self) -> NDArray[np.bool_]:
        """Mask of the pairs answered "don't know"; shape (n_pairs,)."""
        return np.equal(self._tables[0].answers, DONT_KNOW)

    @property
    def must_link(self) -> NDArray[np.int64]:
        """Pairs answered "same", in order of arrival; shape (n_must_link, 2)."""
        return self._tables[0].rows[self.is_must_link]

    @property
    def cannot_link(self) -> NDArray[np.int64]:
        """Pairs answered "different", in order of arrival; shape (n_cannot_link, 2)."""
        return self._tables[0].rows[self.is_cannot_link]

    @property
    def shape(self) -> tuple[int]:
        """The number of rows of the data, by which scikit-learn knows what to slice with them."""
        return (self._n_samples,)

    def __len__(self) -> int:
        """Return the number of answers of all kinds, don't-knows included."""
        return sum(map(len, self.tables))

    def __bool__(self) -> bool:
        # True even without answers, so that `if constraints` means "is not None".
        return True

    def __repr__(self) -> str:
        counts = ", ".join(f"{PARAMETER[table.kind]}={len(table)}" for table in self.tables)
        return f"Constraints(n_samples={self.n_samples}, {counts})"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AnswerColumns):
            return NotImplemented
        is_same_data = self.n_samples == other.n_samples and self._ids == other._ids
        return is_same_data and all(
            mine.is_equal(theirs, self.annotators, other.annotators)
            for mine, theirs in zip(self.tables, other.tables, strict=True)
        )

    __hash__ = None  # type: ignore[assignment]


BY_ROW: Final = ("i", "j", "k")
BY_ID: Final = ("id_i", "id_j", "id_k")
WRITTEN: Final = ("annotator", "weight")
OPTIONAL: Final = (*WRITTEN, "origin")
#: Id of an answer in the log of a project, which ``clew import`` knows it by.
ENTRY: Final = "entry"
KNOWN: Final = ("kind", *BY_ROW, *BY_ID, "answer", *OPTIONAL, ENTRY)
COLUMNS: Final = ",".join(("kind", *BY_ROW, "answer", *WRITTEN))

#: What pandas calls an index without a name.
_INDEX: Final = re.compile(r"|index|unnamed: ?\d+|level_\d+")


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
    missing = [name for name in (*items[:2], "answer", "kind") if name not in names]
    if missing:
        raise InvalidConstraintsError(
            f"missing column {missing[0]!r}; the required columns are i and j, or id_i and id_j, "
            f"and answer, and unless all are about pairs kind ({', '.join((*N_ROWS, MOST_CENTRAL))}"
            f"); the given columns are {', '.join(map(repr, given))}. {OTHER_NAMES}"
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


def nobody_answered(column: str) -> str:
    """Say that the answers are still to be filled in."""
    return f"the column {column!r} is empty: fill in answers, such as same, different, dont_know"


class RecordReader:
    """Collect and check records, and make the tables of `Constraints` from them."""

    def __init__(self, n_samples: int, ids: RowIds | None) -> None:
        self._n_samples, self._ids = n_samples, ids
        self._header = Header((), (), has_ids=False, has_rows=False)
        self._ignored: dict[str, None] = {}
        self._shown: Mapping[str, str] = {}
        self._parts: dict[Kind, list[AnswerTable]] = {kind: [] for kind in N_ROWS}
        self._annotators: dict[str, int] = {}

    def warn_of_ignored(self, place: object, n_blank: int = 0) -> None:
        """Warn of the columns that were not read, and of lines in which nobody answered."""
        if n_blank:
            lines = "line" if n_blank == 1 else "lines"
            warn(f"{place}: {n_blank:,} {lines} without an answer skipped", IgnoredColumnsWarning)
        if self._ignored:
            names = ", ".join(map(repr, self._ignored))
            warn(f"{place}: columns that are not read: {names}", IgnoredColumnsWarning)

    def set_columns(
        self, columns: Iterable[object], place: str, shown: Mapping[str, str] | None = None
    ) -> None:
        """Set the names of the columns of the records added next, and those of the file."""
        self._shown = shown or {}
        try:
            self._header = read_header(columns, self._ids)
        except InvalidConstraintsError as error:
            raise InvalidConstraintsError(f"{place}: {error}") from error
        self._ignored.update(dict.fromkeys(self._header.ignored))

    def add(
        self, columns: Sequence[Sequence[object]], where: Where, lines: Sequence[int] = ()
    ) -> None:
        """Add records, which may be on lines of a file."""
        named = dict(zip(self._header.names, columns, strict=True))
        fields = {name: named[name] for name in named if name in KNOWN}
        answers = fields["answer"]
        if len(answers) > 1 and all(map(is_missing, answers)):
            raise InvalidConstraintsError(f"{where(0)}: {nobody_answered('answer')}")
        begins = np.array(lines, dtype=np.int64)
        kinds = np.array(converted(fields["kind"], as_record_kind, where), dtype=object)
        for kind in dict.fromkeys(kinds.tolist()):
            at = np.flatnonzero(kinds == kind)
            chosen, place, own = fields, where, begins[at] if lines else begins
            if at.size < len(kinds):
                chosen = {name: [field[p] for p in at.tolist()] for name, field in fields.items()}
                place = _at_positions(where, at)
            table = self._table(kind, chosen, place, own)
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
        lines: NDArray[np.int64],
    ) -> AnswerTable:
        """Read records of one kind."""
        asked: Kind = "odd_one_out" if kind == MOST_CENTRAL else kind
        code_of = as_most_central if kind == MOST_CENTRAL else partial(code_of_word, kind)
        rows = self._rows(N_ROWS[asked], fields, where)
        none = [None] * len(rows)
        if self._shown and kind in ("triplet", "odd_one_out"):
            self._check_chosen(asked, fields, where)
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
            lines,
        )
        return triplets_of_most_central(table) if kind != asked else table.with_sorted_pairs()

    def _check_chosen(
        self, kind: Kind, fields: Mapping[str, Sequence[object]], where: Where
    ) -> None:
        """Refuse an answer that is no item of its question, where items may be answers."""
        items = [fields[name] for name in self._shown][kind == "triplet" :]
        for at, answer in enumerate(fields["answer"]):
            if not is_missing(answer) and plain_word(answer) not in ANSWER_WORDS[kind]:
                names = ", ".join(str(column[at]) for column in items)
                words = " or ".join(word for word, code in ANSWER_WORDS[kind].items() if code < 0)
                raise InvalidConstraintsError(
                    f"{where(at)}: unknown answer {answer!r} to {a_question(kind)}; it is none of "
                    f"{names}, and not {words}"
                )

    def _rows(
        self, n_rows: int, fields: Mapping[str, Sequence[object]], where: Where
    ) -> NDArray[np.int64]:
        """Read the rows of each record, by number, by id, or by both, which then have to agree."""
        none = [None] * len(fields["kind"])
        found = []
        for names in self._header.row_columns:
            ids = None if names == BY_ROW or self._ids is None else self._ids
            columns = []
            for position, name in enumerate(names):
                values, place = (
                    fields.get(name, none),
                    _in_column(where, self._shown.get(name, name)),
                )
                if position >= n_rows:
                    converted(values, check_missing, place)
                elif ids is None:
                    columns.append(parse_rows(values, place))
                else:
                    converted(values, check_id, place)
                    columns.append(ids.rows_of(values, place))
            rows, named = np.stack(columns, axis=1), None if ids is None else ids.names
            found.append(as_rows(rows, self._n_samples, where, named))
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
