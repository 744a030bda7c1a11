"""The columns of a table of answers, as its first line names them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from clew.answers import N_ROWS
from clew.constraints._ids import RowIds
from clew.constraints._most_central import MOST_CENTRAL
from clew.exceptions import InvalidConstraintsError

__all__ = ["BY_ID", "BY_ROW", "COLUMNS", "KNOWN", "OPTIONAL", "WRITTEN", "Header", "read_header"]

BY_ROW: Final = ("i", "j", "k")
BY_ID: Final = ("id_i", "id_j", "id_k")
WRITTEN: Final = ("annotator", "weight")
OPTIONAL: Final = (*WRITTEN, "origin")
KNOWN: Final = ("kind", *BY_ROW, *BY_ID, "answer", *OPTIONAL)
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
    """Interpret the names of the columns of a table of answers.

    Parameters
    ----------
    columns : iterable of object
        The names.
    ids : RowIds or None
        The ids of the rows, if the caller gave them.

    Returns
    -------
    Header

    Raises
    ------
    InvalidConstraintsError
        If a column is missing, repeated or probably misspelled, or if the table has ids of rows
        and `ids` is None.
    """
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
            f"the given columns are {', '.join(map(repr, given))}. Columns of other names are "
            "taken if one says which hold the items, the answer and the annotator"
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
