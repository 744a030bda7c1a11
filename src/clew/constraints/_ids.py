"""The ids of the rows, and their translation to row numbers."""

from __future__ import annotations

import numbers
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from clew.constraints._validation import Where
from clew.exceptions import InvalidConstraintsError

_WHOLE_FLOAT: Final = re.compile(r"([+-]?[0-9]+)\.0*")


class RowIds:
    """The id of each row.

    Looked up by value, then by text: 17, 17.0, "17" and " 17 " all find the row with the id 17.
    """

    __slots__ = ("_by_text", "_row_of", "names")

    def __init__(self, names: tuple[Hashable, ...]) -> None:
        self.names = names
        self._row_of: dict[Hashable, int] | None = None
        self._by_text: dict[str, int] | None = None

    def __len__(self) -> int:
        return len(self.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RowIds) and self.names == other.names

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[object, ...]:
        return RowIds, (self.names,)

    def take(self, rows: NDArray[np.int64]) -> RowIds:
        """Return the ids of some rows, in their order."""
        return RowIds(tuple(map(self.names.__getitem__, rows.tolist())))

    def rows_of(self, values: Sequence[object], where: Where) -> NDArray[np.int64]:
        """Translate ids to row numbers."""
        if self._row_of is None:
            self._row_of = dict(zip(self.names, range(len(self)), strict=True))
        try:
            rows: list[int | None] = list(map(self._row_of.get, values))
        except TypeError:
            at = next(at for at, value in enumerate(values) if not isinstance(value, Hashable))
            raise InvalidConstraintsError(f"{where(at)}: {values[at]!r} cannot be an id") from None
        if bool in set(map(type, values)):
            # True and False are equal to 1 and 0, which may be ids.
            rows = [
                None if isinstance(value, bool) else row
                for value, row in zip(values, rows, strict=True)
            ]
        if None in rows:
            found: dict[object, int] = {}
            for at, row in enumerate(rows):
                if row is None:
                    value = values[at]
                    if value not in found:
                        found[value] = self._row_by_text(value, at, where)
                    rows[at] = found[value]
        return np.array(rows, dtype=np.int64)

    def rows_of_array(self, values: NDArray[Any], where: Where) -> NDArray[np.int64]:
        """Translate an array of ids to row numbers; ``where(at)`` describes its line `at`."""
        columns = [self.rows_of(column.tolist(), where) for column in values.T]
        return np.stack(columns, axis=1)

    def _row_by_text(self, value: object, at: int, where: Where) -> int:
        if self._by_text is None:
            self._by_text = {_text(name): row for row, name in enumerate(self.names)}
        if not _is_missing(value) and not isinstance(value, bool):
            text = str(value)
            stripped = text.strip()
            for candidate in (text, stripped, _WHOLE_FLOAT.sub(r"\1", stripped)):
                if candidate in self._by_text:
                    return self._by_text[candidate]
        known = f"the first of {len(self)} ids is {self.names[0]!r}" if len(self) else "no ids"
        raise InvalidConstraintsError(
            f"{where(at)}: there is no row with the id {value!r} ({known})"
        )


def _as_row_ids(ids: object) -> RowIds:
    """Check the ids of the rows."""
    names = _as_tuple(ids)
    try:
        row_of: dict[Any, int] = dict(zip(names, range(len(names)), strict=True))
    except TypeError as error:
        raise InvalidConstraintsError(f"ids must be strings or integers: {error}") from error
    if len(row_of) < len(names):
        _refuse_repeats(names, names)
    kinds = set(map(type, names))
    if not kinds <= {int} or bool in kinds:
        missing = [row for row, name in enumerate(names) if _is_missing(name)]
        if missing:
            raise InvalidConstraintsError(
                f"row {missing[0]} has no id: ids[{missing[0]}] is {names[missing[0]]!r}"
            )
    if not (kinds <= {int} or kinds <= {str}):
        _refuse_repeats(tuple(map(_text, names)), names)
    return RowIds(names)


def _as_tuple(ids: object) -> tuple[Hashable, ...]:
    has_no_order = isinstance(ids, str | bytes | Mapping | Set)
    if not isinstance(ids, Iterable) or has_no_order or getattr(ids, "ndim", 1) != 1:
        raise InvalidConstraintsError(
            "ids must be a one-dimensional sequence with the id of each row, in the order of the "
            f"rows; got {type(ids).__name__}"
        )
    # Plain Python objects, where an array or an Index can make them.
    values: Iterable[Any] = ids.tolist() if hasattr(ids, "tolist") else ids
    return tuple(value.item() if isinstance(value, np.generic) else value for value in values)


def _text(name: Hashable) -> str:
    """Return an id as it is written in files: 17.0 is written 17."""
    if isinstance(name, float) and name.is_integer():
        return str(int(name))
    return name.decode("utf-8", "backslashreplace") if isinstance(name, bytes) else str(name)


def _is_missing(value: object) -> bool:
    """Whether this is None, NaN, pandas' NA or empty text."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or type(value).__name__ in ("NAType", "NaTType") or value != value


def _refuse_repeats(keys: tuple[Hashable, ...], names: tuple[Hashable, ...]) -> None:
    first: dict[Hashable, int] = {}
    for row, key in enumerate(keys):
        other = first.setdefault(key, row)
        if other != row:
            text = "" if names[row] == names[other] else ", compared as text"
            raise InvalidConstraintsError(
                f"ids must be distinct, but ids[{other}] = {names[other]!r} and "
                f"ids[{row}] = {names[row]!r} are equal{text}"
            )


def rows_and_ids(n_samples: object, ids: object) -> tuple[int, RowIds | None]:
    """Check `n_samples` and `ids` as given by a caller; one of them may be None."""
    named = ids if ids is None or isinstance(ids, RowIds) else _as_row_ids(ids)
    if n_samples is None and named is not None:
        return len(named), named
    if n_samples is None:
        raise InvalidConstraintsError(
            "pass n_samples, the number of rows of the data, or ids, the id of each row"
        )
    is_integer = isinstance(n_samples, numbers.Integral) and not isinstance(n_samples, bool)
    if not is_integer or int(n_samples) < 0:  # type: ignore[call-overload]
        raise InvalidConstraintsError(
            f"n_samples must be the number of rows of the data, got {n_samples!r}"
        )
    n = int(n_samples)  # type: ignore[call-overload]
    if named is not None and len(named) != n:
        raise InvalidConstraintsError(f"there are {len(named)} ids, but n_samples is {n}")
    return n, named
