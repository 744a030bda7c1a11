"""Files of answers, and data frames: read in chunks, whatever their columns are called; written.

What is written is read back without loss. Answers of one kind keep their order; the order between
kinds is not kept. The csv module reads the fields, not pandas, which clew can do without.
"""

from __future__ import annotations

import itertools
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from clew._files import (
    OTHER_NAMES,
    at_path,
    atomic_write,
    first_lines,
    json_objects,
    numbered_records,
    quoted,
    separator,
    text_of,
    unquoted,
    without_mark,
)
from clew._validation import refuse_lazy
from clew.answers import ANSWER_WORDS, N_ROWS, NO, YES, Answer, as_table_answers, last_answers
from clew.answers._log import check_ids_of_log, is_log, read_log
from clew.constraints._meanings import MOST_CENTRAL, as_record_kind
from clew.constraints._records import (
    BY_ID,
    BY_ROW,
    ENTRY,
    OPTIONAL,
    AnswerColumns,
    RecordReader,
    column_names,
    nobody_answered,
    records,
)
from clew.constraints._tables import Tables
from clew.constraints._validation import RowIds, Where, is_missing, parse_rows, rows_and_ids
from clew.exceptions import FileFormatError, InvalidConstraintsError

if TYPE_CHECKING:
    import pandas as pd

FilePath = str | os.PathLike[str]
#: What `Constraints._from_tables` takes.
Parts = tuple[int, Tables, tuple[str, ...], RowIds | None]

#: What users can do besides about a file of another encoding.
NAME_ENCODING: Final = (
    ", or name its encoding (cp1252 in many files of Windows; --answer-encoding in commands)"
)
#: How many records are held as text at a time.
_CHUNK: Final = 10_000
#: Usual names of columns in files that have names of their own.
IS_SAME: Final = ("same", "is_same", "match", "is_match")
ANSWERS: Final = (
    *("answer", "response", "choice", "chosen", "judgment", "judgement", "odd"),
    *IS_SAME,
)
#: What a column of `IS_SAME` holds, with the words of answers about pairs.
YES_NO: Final = {
    **dict.fromkeys((*YES, "1", "1.0"), "same"),
    **dict.fromkeys((*NO, "0", "0.0"), "different"),
}
ANNOTATORS: Final = (
    *("annotator", "participant", "participant_id", "subject", "subject_id", "worker"),
    *("worker_id", "rater", "rater_id", "observer", "person", "user", "user_id", "coder", "who"),
)
POSITIONS: Final = ("first", "second", "third")
#: Answers about three items that choose none of them.
NO_ITEM: Final = frozenset({"dont_know", "all_alike"})


class Layout(NamedTuple):
    """The columns of a table of answers, by name; None is guessed if there is one reading."""

    columns: Sequence[str] | None = None
    """Columns of the items of a question, two or three."""
    answer: str | None = None
    annotator: str | None = None
    kind: str | None = None
    encoding: str | None = None
    """How the file is encoded; None: UTF-8 or UTF-16."""

    @property
    def names_columns(self) -> bool:
        """Whether any column is named, or what was asked."""
        return self._replace(encoding=None) != Layout()


class _Chunk(NamedTuple):
    """Answers of a file, column by column."""

    header: int
    """Line of the file that names the columns."""
    names: Sequence[str]
    lines: Sequence[int]
    """Line of the file on which each answer begins."""
    columns: Sequence[Sequence[object]]
    shown: Mapping[str, str] = {}
    """The file's own names of columns that were renamed."""
    n_blank: int = 0
    """Number of lines that were left out, because nobody answered."""

    def where(self, path: FilePath) -> Where:
        """Return the function that describes the place of an answer."""
        return lambda at: f"{path}, line {self.lines[at]}"


def read_csv(
    path: FilePath, n_samples: int | None, ids: Iterable[object] | None, layout: Layout
) -> Parts:
    """Read a file of `write_csv`, or of an experiment; see `Constraints.read_csv`."""
    n, row_ids = _rows_of(path, n_samples, ids, _csv_chunks(path, layout, by_id=True))
    chunks = _csv_chunks(path, layout, by_id=row_ids is not None)
    return n, *_read(path, n, row_ids, chunks), row_ids


def read_jsonl(path: FilePath, n_samples: int | None, ids: Iterable[object] | None) -> Parts:
    """Read a file of `write_jsonl`, or a log of ``clew ask``."""
    n, row_ids = _rows_of(path, n_samples, ids, _json_chunks(path, None))
    return n, *_read(path, n, row_ids, _json_chunks(path, row_ids)), row_ids


def read_frame(
    frame: pd.DataFrame, n_samples: int | None, ids: Iterable[object] | None, layout: Layout
) -> Parts:
    """Read answers from a data frame; see `Constraints.from_frame`."""
    refuse_lazy(frame)
    names = list(frame.columns)
    columns: list[Sequence[object]]
    if hasattr(frame, "iloc"):
        series = [frame.iloc[:, at] for at in range(frame.shape[1])]
        # pandas has several markers of missing values: replace them by None.
        columns = [one.astype(object).where(one.notna(), None).tolist() for one in series]
    else:  # of polars, which has one
        columns = [list(frame[name]) for name in names]
    places: Sequence[int] = range(len(frame))
    shown: Mapping[str, str] = {}
    if layout.names_columns or not has_kind(names):
        by_id = ids is not None or n_samples is None
        places, columns = _answered(names, columns, layout)
        names, columns, shown = as_own_columns(names, columns, layout, by_id=by_id)
    chunk = _Chunk(0, list(map(str, names)), places, columns, shown, len(frame) - len(places))
    n, row_ids = _rows_of("frame", n_samples, ids, iter([chunk]))
    reader = RecordReader(n, row_ids)
    reader.set_columns(names, "frame", shown)
    reader.add(columns, lambda at: f"frame, row {places[at]}")
    reader.warn_of_ignored("frame", chunk.n_blank)
    return n, *reader.result(), row_ids


def _rows_of(
    path: FilePath, n_samples: int | None, ids: Iterable[object] | None, chunks: Iterator[_Chunk]
) -> tuple[int, RowIds | None]:
    """Return the number and the ids of the rows: those given, or those that the answers name."""
    if n_samples is not None or ids is not None:
        return rows_and_ids(n_samples, ids)
    names, has_ids = _named_rows(path, chunks)
    return rows_and_ids(len(names), names if has_ids else None)


def _read(
    path: FilePath, n_samples: int, ids: RowIds | None, chunks: Iterator[_Chunk]
) -> tuple[Tables, tuple[str, ...]]:
    """Check the answers of a file; return their tables and the names of the annotators."""
    reader = RecordReader(n_samples, ids)
    n_blank = 0
    try:
        for chunk in chunks:
            n_blank += chunk.n_blank
            reader.set_columns(chunk.names, f"{path}, line {chunk.header}", chunk.shown)
            reader.add(chunk.columns, chunk.where(path), chunk.lines)
    except InvalidConstraintsError as error:
        raise FileFormatError(str(error)) from error
    reader.warn_of_ignored(path, n_blank)
    return reader.result()


def named_rows(path: FilePath, layout: Layout | None = None) -> tuple[list[str], bool]:
    """Ids that answers name, in their order, or row numbers up to the largest; and which."""
    is_json = Path(path).suffix.lower() == ".jsonl"
    layout = layout or Layout()
    return _named_rows(
        path, _json_chunks(path, None) if is_json else _csv_chunks(path, layout, by_id=True)
    )


def logged_as(path: FilePath, layout: Layout) -> dict[int, str]:
    """Return ids of entries of a log by line, of a table of ``clew export answers``."""
    by_line: dict[int, str] = {}
    for chunk in _csv_chunks(path, layout, by_id=True):
        plain = [name.strip().casefold() for name in chunk.names]
        if ENTRY in plain:
            ids = map(str, chunk.columns[plain.index(ENTRY)])
            by_line |= {line: id_ for line, id_ in zip(chunk.lines, ids, strict=True) if id_}
    return by_line


def _named_rows(path: FilePath, chunks: Iterator[_Chunk]) -> tuple[list[str], bool]:
    by_id: dict[str, None] = {}
    by_row: dict[str, int] = {}
    for chunk in chunks:
        plain = [name.strip().casefold() for name in chunk.names]
        if "id_i" not in plain and "i" not in plain:
            raise FileFormatError(
                f"{path}: answers name rows in columns id_i and id_j, or by number in i and j; the "
                f"columns of the file are {', '.join(map(repr, chunk.names)) or 'none'}. "
                f"{OTHER_NAMES}"
            )
        for line, *fields in zip(chunk.lines, *chunk.columns, strict=True):
            record = dict(zip(plain, fields, strict=True))
            n_rows = 2 if str(record.get("kind")).strip().casefold() == "pair" else 3
            by_id.update(dict.fromkeys(_named(record, BY_ID[:n_rows])))
            if not by_id:
                by_row.update(dict.fromkeys(_named(record, BY_ROW[:n_rows]), line))
    if by_id:
        return list(by_id), True
    lines = list(by_row.values())
    try:
        rows = parse_rows(list(by_row), lambda at: f"{path}, line {lines[at]}")
    except InvalidConstraintsError as error:
        raise FileFormatError(str(error)) from error
    return [str(row) for row in range(int(rows.max(initial=-1)) + 1)], False


def _named(record: dict[str, object], names: Sequence[str]) -> list[str]:
    """Return the fields that are not empty, as text."""
    fields = (record.get(name) for name in names)
    return [str(field) for field in fields if not is_missing(field)]


def _csv_chunks(path: FilePath, layout: Layout, *, by_id: bool) -> Iterator[_Chunk]:
    """Yield the answers of delimited text; all at once if the columns have names of their own."""
    text = text_of(path, layout.encoding, NAME_ENCODING)
    if text[:100].lstrip().startswith("{"):
        raise FileFormatError(f"{path} holds JSON lines, not CSV: use read_jsonl")
    text, sep = without_mark(text)
    first = text.lstrip().partition("\n")[0]
    try:
        sep = sep or separator(first_lines(text), max(",;\t", key=first.count))
        lines = numbered_records(text, sep)
        header, names = next(lines, (0, []))
        if not names:
            raise FileFormatError(
                f"{path} is empty: a table of answers begins with the names of its columns, such "
                "as id_i,id_j,answer"
            )
        if not layout.names_columns and has_kind(names):
            chunk = list(itertools.islice(lines, _CHUNK))
            while True:  # once at least: a header without answers is checked too
                columns = _split_columns(chunk, len(names))
                yield _Chunk(header, names, [line for line, _ in chunk], columns)
                if not (chunk := list(itertools.islice(lines, _CHUNK))):
                    return
        chunk = list(lines)
        columns = _split_columns(chunk, len(names))
        try:
            answered, columns = _answered(names, columns, layout)
            n_blank = len(chunk) - len(answered)
            names, columns, shown = as_own_columns(names, columns, layout, by_id=by_id)
        except InvalidConstraintsError as error:
            raise FileFormatError(f"line {header}: {error}") from error
        yield _Chunk(header, names, [chunk[at][0] for at in answered], columns, shown, n_blank)
    except FileFormatError as error:
        raise FileFormatError(at_path(path, error)) from error


def _split_columns(records: Sequence[tuple[int, list[str]]], n: int) -> list[Sequence[object]]:
    """Transpose records of `n` fields, and remove the apostrophes that `quoted` put in front."""
    for line, fields in records:
        if len(fields) != n:
            raise FileFormatError(f"line {line}: {len(fields)} fields, but the header has {n}")
    columns = zip(*(fields for _, fields in records), strict=True)
    return [
        list(map(unquoted, column)) if "'" in "".join(column) else column for column in columns
    ] or [()] * n


def _json_chunks(path: FilePath, ids: RowIds | None) -> Iterator[_Chunk]:
    """Yield the answers of JSON lines: a table of answers, or a log of ``clew ask``."""
    lines = _log_lines(path, ids) if is_log(path) else json_objects(path)
    while chunk := list(itertools.islice(lines, _CHUNK)):
        numbers, objects = zip(*chunk, strict=True)
        names = list(dict.fromkeys(name for one in objects for name in one))
        yield _Chunk(
            numbers[0], names, numbers, [[one.get(name) for one in objects] for name in names]
        )


def _log_lines(path: FilePath, ids: RowIds | None) -> Iterator[tuple[int, dict[str, Any]]]:
    parsed = read_log(path)
    if ids is not None:
        check_ids_of_log(path, parsed.entries, map(str, ids.names))
    numbers = {id(line.entry): line.number for line in parsed.lines}
    for entry in last_answers(parsed.entries):
        answers = [entry] if isinstance(entry, Answer) else entry.answers()
        for answer in as_table_answers(answers):
            yield numbers[id(entry)], _record(answer)


def _record(answer: Answer) -> dict[str, Any]:
    """Return the fields that tables of answers have."""
    question = answer.question
    names = (*(question.ids or ()), None)[:3]
    words = {code: word for word, code in ANSWER_WORDS[question.kind].items()}
    return {
        "kind": question.kind,
        "origin": answer.origin,
        **dict(zip(BY_ID, names, strict=True)),
        "answer": words[answer.value],
        "annotator": answer.annotator,
        "weight": answer.weight,
    }


def write_csv(path: FilePath, answers: AnswerColumns) -> None:
    """Write the file that `read_csv` reads; see `Constraints.to_csv`."""
    with atomic_write(path) as file:
        file.write(",".join(column_names(answers)) + "\n")
        for kind, i, j, k, answer, annotator, weight, *origin in records(answers):
            a, b, c = quoted(i), quoted(j), "" if k is None else quoted(k)
            fields = f"{kind},{a},{b},{c},{answer},{quoted(annotator)},{weight!r}"
            file.write(",".join([fields, *origin]) + "\n")


def write_jsonl(path: FilePath, answers: AnswerColumns) -> None:
    """Write the file that `read_jsonl` reads."""
    names = column_names(answers)
    with atomic_write(path) as file:
        for fields in records(answers):
            record = {
                name: value if isinstance(value, int | float) else str(value)
                for name, value in zip(names, fields, strict=True)
                if value is not None
            }
            file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")


def as_own_columns(
    names: Sequence[object], columns: Sequence[Sequence[object]], layout: Layout, *, by_id: bool
) -> tuple[list[str], list[Sequence[object]], dict[str, str]]:
    """Rename columns to those of `to_csv`; the answer may be the item chosen, or its column.

    Also returns the own names of the columns of items, by the new ones.
    """
    plain = [_plain_name(str(name)) for name in names]
    named = dict(zip(plain, columns, strict=True))
    written = {one: str(name).strip() for one, name in zip(plain, names, strict=True)}
    if layout.answer is None and {_plain(_text(value)) for value in named.get("same", ())} & {
        *ANSWER_WORDS["pair"]
    }:
        raise InvalidConstraintsError(
            f"the first line, {', '.join(map(str, names))}, seems to hold an answer: add a line "
            "with the names of the columns above it, such as id_i,id_j,answer; if it holds names, "
            "say which column has the answers: answer='same', or --answer-column"
        )
    for name in {*IS_SAME} & {*named}:
        named[name] = [YES_NO.get(_plain(_text(value)), value) for value in named[name]]
    given = (*(layout.columns or ()), layout.answer, layout.annotator)
    unknown = [name for name in given if name is not None and _plain_name(name) not in named]
    if unknown:
        raise InvalidConstraintsError(
            f"there is no column {unknown[0]!r}; the columns are "
            f"{', '.join(map(repr, written.values()))}"
        )
    has_own_names = layout.names_columns or {"id_i", "id_j", "i", "j"}.isdisjoint(named)
    if not has_kind(names):
        layout = _with_own_names(layout, named)
    elif layout.columns is None and layout.kind is None:
        new_names = {
            _plain_name(layout.answer): "answer",
            _plain_name(layout.annotator): "annotator",
        }
        return (
            [new_names.get(one, str(name)) for one, name in zip(plain, names, strict=True)],
            list(columns),
            {},
        )
    read = _reading(named, layout)
    if read is None:
        if not has_own_names:  # the reader says which columns are missing
            return list(map(str, names)), list(columns), {}
        raise InvalidConstraintsError(
            "which columns hold the items and which the answer is not clear; "
            f"the columns are {', '.join(map(repr, names))}. {OTHER_NAMES}"
        )
    items, answer, annotator = read
    texts = [[_text(value) for value in named[name]] for name in items]
    said = [_text(value) for value in named[answer]]
    has_codes = layout.kind is None or as_record_kind(layout.kind) == "odd_one_out"
    said = _by_column(items, texts, said, has_codes=has_codes)
    kind = _kind(layout, texts, said, items)
    if kind == "pair":
        said = [YES_NO.get(_plain(one), one) for one in said]
    own = BY_ID if by_id else BY_ROW
    own = next((names for names in (BY_ID, BY_ROW) if items[0] in names), own)
    new = dict(zip(own, (named[name] for name in items), strict=False))
    new |= {"kind": [kind] * len(said), "answer": _words(kind, items, texts, said)}
    if annotator is not None:
        new["annotator"] = named[annotator]
    used = {*items, answer, annotator}
    kept = {name: column for name, column in named.items() if name not in used and name not in new}
    shown = dict(zip(own, map(written.__getitem__, items), strict=False))
    return [*new, *map(written.__getitem__, kept)], [*new.values(), *kept.values()], shown


def _answered(
    names: Sequence[object], columns: Sequence[Sequence[object]], layout: Layout
) -> tuple[Sequence[int], list[Sequence[object]]]:
    """Return positions of the lines in which somebody answered, and their columns."""
    every = range(len(columns[0]) if columns else 0)
    named = {_plain_name(str(name)): column for name, column in zip(names, columns, strict=True)}
    answers = _one_of(named, layout.answer, ANSWERS)
    if has_kind(names) or len(answers) != 1 or answers[0] not in named:
        return every, list(columns)
    found = [at for at in every if not is_missing(named[answers[0]][at])]
    if every and not found:
        written = {_plain_name(str(name)): str(name) for name in names}
        raise InvalidConstraintsError(nobody_answered(written[answers[0]]))
    if len(found) == len(every):
        return every, list(columns)
    return found, [[one[at] for at in found] for one in columns]


def has_kind(names: Sequence[object]) -> bool:
    """Whether a column says of each answer what was asked, as in files of `Constraints.to_csv`."""
    return "kind" in {_plain_name(str(name)) for name in names}


def _with_own_names(layout: Layout, named: dict[str, Sequence[object]]) -> Layout:
    """Set what is not given to the columns that have names of `Constraints.to_csv`."""
    columns, answer, annotator, *_ = layout
    for own in (BY_ID, BY_ROW):
        if columns is None and {*own[:2]} <= {*named}:
            is_about_two = all(map(is_missing, named.get(own[2], ())))
            columns = own[:2] if is_about_two else own
    answer = answer or ("answer" if "answer" in named else None)
    annotator = annotator or ("annotator" if "annotator" in named else None)
    return layout._replace(columns=columns, answer=answer, annotator=annotator)


def _reading(
    named: dict[str, Sequence[object]], layout: Layout
) -> tuple[list[str], str, str | None] | None:
    """Return the columns of the items, the answer and the annotator; None if they are not clear."""
    answers = _one_of(named, layout.answer, ANSWERS)
    annotators = _one_of(named, layout.annotator, ANNOTATORS)
    if len(answers) != 1 or len(annotators) > 1:
        return None
    annotator = annotators[0] if annotators else None
    if layout.columns is not None:
        items = [_plain_name(name) for name in layout.columns]
        if len(set(items)) != len(items) or len(items) not in (2, 3):
            raise InvalidConstraintsError(
                f"a question is about two or three items in different columns, got {items}"
            )
    else:
        rest = [one for one in named if one not in (answers[0], annotator, *OPTIONAL)]
        items = _items({name: list(map(_text, named[name])) for name in rest}, named[answers[0]])
    return (items, answers[0], annotator) if items else None


def _one_of(
    named: dict[str, Sequence[object]], given: str | None, usual: Sequence[str]
) -> list[str]:
    return [_plain_name(given)] if given else [name for name in usual if name in named]


def _by_column(
    items: list[str], texts: list[list[str]], said: list[str], *, has_codes: bool
) -> list[str]:
    """Replace positions, 1 to 3 or 0 to 2, and parts of names by names of columns.

    Answers that are ids of the items stay.
    """
    if len(items) != 3 or _are_of_rows(said, list(zip(*texts, strict=True))):
        return said
    first = _first_code(said) if has_codes else None
    if first is None:
        named = _columns_named(said, items)
        return [named.get(_plain(one), one) for one in said]
    names = {f"{first + at}{end}": name for at, name in enumerate(items) for end in ("", ".0")}
    return [names.get(one, one) for one in said]


def _are_of_rows(said: list[str], rows: list[tuple[str, ...]]) -> bool:
    """Whether all answers that choose an item are in their row."""
    together = zip(said, rows, strict=True)
    return all(one in row for one, row in together if _plain(one) not in NO_ITEM)


def _first_code(said: list[str]) -> int | None:
    """Return the first position's number if answers are positions; None if that is not clear."""
    codes = {one.removesuffix(".0") for one in said if _plain(one) not in NO_ITEM}
    if codes <= {"1", "2", "3"} and "3" in codes:
        return 1
    return 0 if codes <= {"0", "1", "2"} and codes >= {"0", "2"} else None


def _items(rest: dict[str, list[str]], answers: Sequence[object]) -> list[str]:
    """Find the columns of the items: those that hold what was chosen; or two, beside "same"."""
    said = list(map(_text, answers))
    rows = list(zip(*rest.values(), strict=True))
    if _first_code(said) is not None and not _are_of_rows(said, rows):
        # Items are in all three columns. Numbers may also be those of trials, or ratings of pairs.
        values = [{one for one in texts if not one.isdecimal()} for texts in rest.values()]
        alike = [sum(not one.isdisjoint(other) for other in values) > 2 for one in values]
        return list(itertools.compress(rest, alike)) if sum(alike) == 3 else []
    chosen = [
        name for name, texts in rest.items()
        if any(text and text == one for text, one in zip(texts, said, strict=True))
    ]  # fmt: skip
    if chosen:
        # An item that is never chosen is among those that are, in other questions.
        known = {text for name in chosen for text in rest[name]}
        items = [name for name, texts in rest.items() if known & {*texts} or len(rest) == 3]
        return items if len(items) == 3 else []
    words = {_plain(one) for one in said}
    if words <= {*ANSWER_WORDS["pair"], *YES_NO} and len(rest) == 2:
        return list(rest) if words else []
    named = _columns_named(said, list(rest))
    items = [name for name in rest if name in named.values() or len(rest) == 3]
    return items if {*named} == words - NO_ITEM and len(items) == 3 else []


def _columns_named(said: list[str], names: list[str]) -> dict[str, str]:
    """Return the column that each answer names, in whole or by a part, as left does stim_left."""
    found = {}
    for word in {_plain(one) for one in said} - NO_ITEM:
        parts = [name for name in names if word in re.split(r"[\W_]+", name)]
        columns = [name for name in names if _plain(name) == word] or parts
        if len(columns) == 1:
            found[word] = columns[0]
    return found if len({*found.values()}) == len(found) else {}


def _kind(layout: Layout, texts: list[list[str]], said: list[str], items: list[str]) -> str:
    if layout.kind is not None:
        kind = as_record_kind(layout.kind)
        n_rows = 3 if kind == MOST_CENTRAL else N_ROWS[kind]  # type: ignore[index]
        if n_rows != len(items):
            raise InvalidConstraintsError(f"{kind} is about {n_rows} items, got {items}")
        return kind
    if len(items) == 2:
        return "pair"
    if "" in texts[2]:
        raise InvalidConstraintsError(
            f"{items[2]!r} is empty in some answers: add a column 'kind', which says what was asked"
        )
    is_first = (
        one == text or _plain(one) in (_plain(items[0]), "third", "all_alike")
        for text, one in zip(texts[0], said, strict=True)
    )
    if any(is_first):  # no answer to "is the first more like the second or the third?"
        return "odd_one_out"
    raise InvalidConstraintsError(
        f"the first item is never chosen, so these may be triplets (is {items[0]!r} more like "
        f"{items[1]!r} or like {items[2]!r}?) or odd-one-out answers: say which, kind 'triplet' or "
        "'odd_one_out' (--kind in commands)"
    )


def _words(kind: str, items: list[str], texts: list[list[str]], said: list[str]) -> list[str]:
    """Return answers as words; what is neither an item, a column nor a word stays, for errors."""
    offset = 1 if kind == "triplet" else 0
    found = []
    for row, one in zip(zip(*texts, strict=True), said, strict=True):
        names, name = (row, one) if one in row else (tuple(items), _plain_name(one))
        at = (names.index(name) if name in names else -1) - offset
        found.append(POSITIONS[at] if at >= 0 and kind != "pair" else one)
    return found


def _plain_name(name: str | None) -> str:
    """Return a name in lower case; "Is same?" and "Participant ID" are usual names, too."""
    plain = "" if name is None else name.strip().casefold()
    usual = plain.rstrip("? ").replace(" ", "_")
    return usual if usual in (*ANSWERS, *ANNOTATORS) else plain


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def _plain(word: str) -> str:
    return word.casefold().replace("'", "").replace("-", "_").replace(" ", "_")
