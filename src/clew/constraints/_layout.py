"""Tables of answers whose columns have other names, as experiments write them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from clew.answers import ANSWER_WORDS, N_ROWS
from clew.constraints._header import BY_ID, BY_ROW, OPTIONAL
from clew.constraints._most_central import MOST_CENTRAL, as_record_kind
from clew.exceptions import InvalidConstraintsError

__all__ = ["Layout", "as_own_columns", "has_own_names"]

ANSWERS: Final = ("answer", "response", "choice", "chosen", "judgment", "judgement", "odd")
ANNOTATORS: Final = (
    *("annotator", "participant", "participant_id", "subject", "subject_id", "worker"),
    *("worker_id", "rater", "rater_id", "observer", "person", "user"),
)
POSITIONS: Final = ("first", "second", "third")


class Layout(NamedTuple):
    """The columns of a table of answers, by name; None is guessed if there is one reading."""

    columns: Sequence[str] | None = None
    """Columns of the items of a question, two or three."""
    answer: str | None = None
    annotator: str | None = None
    kind: str | None = None


def as_own_columns(
    names: Sequence[object], columns: Sequence[Sequence[object]], layout: Layout, *, by_id: bool
) -> tuple[list[str], list[Sequence[object]]]:
    """Rename columns to those of `Constraints.to_csv`, and add the column `kind`.

    The answer may be the item that was chosen, or the column of that item. Columns that have the
    names of `to_csv`, or that nobody can tell apart, stay as they are.

    Parameters
    ----------
    names : sequence of n_columns names
    columns : sequence of n_columns sequences of n_answers values
    layout : Layout
        What the caller says about the columns.
    by_id : bool
        Whether items are given by id, or by row number.

    Raises
    ------
    InvalidConstraintsError
        If `layout` names a column that is not there, or does not say enough.
    """
    plain = [str(name).strip().casefold() for name in names]
    named = dict(zip(plain, columns, strict=True))
    _check_names(named, layout)
    if has_own_names(names) and layout.columns is None and layout.kind is None:
        new_names = {
            _plain_name(layout.answer): "answer",
            _plain_name(layout.annotator): "annotator",
        }
        return [
            new_names.get(one, str(name)) for one, name in zip(plain, names, strict=True)
        ], list(columns)
    read = _reading(named, layout)
    if read is None:
        if layout == Layout():  # the reader says which columns are missing
            return list(map(str, names)), list(columns)
        raise InvalidConstraintsError(
            "name the columns of the two or three items, of the answer and of the annotator; the "
            f"columns are {', '.join(map(repr, names))}"
        )
    items, answer, annotator = read
    texts = [[_text(value) for value in named[name]] for name in items]
    said = [_text(value) for value in named[answer]]
    kind = _kind(layout, texts, said, items)
    new = dict(zip(BY_ID if by_id else BY_ROW, (named[name] for name in items), strict=False))
    new |= {"kind": [kind] * len(said), "answer": _words(kind, items, texts, said)}
    if annotator is not None:
        new["annotator"] = named[annotator]
    used = {*items, answer, annotator}
    kept = {name: column for name, column in named.items() if name not in used and name not in new}
    return [*new, *kept], [*new.values(), *kept.values()]


def has_own_names(names: Sequence[object]) -> bool:
    """Whether a column has a name of `Constraints.to_csv` that no other table is likely to have."""
    return bool({"kind", *BY_ID, *BY_ROW} & {str(name).strip().casefold() for name in names})


def _check_names(named: dict[str, Sequence[object]], layout: Layout) -> None:
    given = (*(layout.columns or ()), layout.answer, layout.annotator)
    unknown = [name for name in given if name is not None and _plain_name(name) not in named]
    if unknown:
        raise InvalidConstraintsError(
            f"there is no column {unknown[0]!r}; the columns are {', '.join(map(repr, named))}"
        )


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


def _items(rest: dict[str, list[str]], answers: Sequence[object]) -> list[str]:
    """Find the columns of the items: those that hold what was chosen; or two, beside "same"."""
    said = list(map(_text, answers))
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
    is_pair = words <= set(ANSWER_WORDS["pair"]) and len(rest) == 2
    is_by_column = words <= {*rest, "dont_know", "all_alike"} and len(rest) == 3
    return list(rest) if words and (is_pair or is_by_column) else []


def _kind(layout: Layout, texts: list[list[str]], said: list[str], items: list[str]) -> str:
    if layout.kind is not None:
        kind = as_record_kind(layout.kind)
        n_rows = 3 if kind == MOST_CENTRAL else N_ROWS[kind]  # type: ignore[index]
        if n_rows != len(items):
            raise InvalidConstraintsError(f"{kind} is about {n_rows} items, got {items}")
        return kind
    if len(items) == 2:
        return "pair"
    is_first = (
        one == text or _plain(one) in (items[0], "third", "all_alike")
        for text, one in zip(texts[0], said, strict=True)
    )
    if any(is_first):  # no answer to "is the first more like the second or the third?"
        return "odd_one_out"
    raise InvalidConstraintsError(
        f"the first item is never chosen, so these may be triplets (is {items[0]!r} more like "
        f"{items[1]!r} or like {items[2]!r}?) or odd-one-out answers: say which, kind 'triplet' or "
        "'odd_one_out'"
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
    return "" if name is None else name.strip().casefold()


def _text(value: object) -> str:
    return "" if value is None else str(value).strip()


def _plain(word: str) -> str:
    return word.casefold().replace("'", "").replace("-", "_").replace(" ", "_")
