"""Validation of answers, given as arrays or as fields of a file or data frame.

Functions that check many answers take ``where``, a function that returns the place of the answer
with a given number for messages, such as "pairs[3]" or "answers.csv, line 5".
"""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.answers import ORIGINS, Kind, as_answer_code, as_origin, as_weight
from clew.exceptions import InvalidConstraintsError

T = TypeVar("T")
Where = Callable[[int], str]
#: Words that stand for a missing value, in lower case.
_MISSING: Final = frozenset({"", "nan", "na", "<na>", "none", "null"})
_WHOLE_NUMBER: Final = re.compile(r"[+-]?[0-9]{1,18}(\.0*)?")
#: With a decimal point, or the decimal comma of files that separate columns by semicolons.
_NUMBER: Final = re.compile(r"[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)([eE][+-]?[0-9]+)?")
_WHOLE_FLOAT: Final = re.compile(r"([+-]?[0-9]+)\.0*")


class RowIds:
    """The id of each row, found by value, then by text: 17, 17.0, "17" and " 17 " are one."""

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
        plain = str(value).strip().casefold()
        alike = [name for name in self._by_text if name.casefold() == plain]
        known = f"there is {alike[0]!r}" if alike else known
        raise InvalidConstraintsError(
            f"{where(at)}: there is no row with the id {value!r} ({known})"
        )


def as_array(values: Any, name: str, *, as_objects: bool = False) -> NDArray[Any]:
    """Convert to an array; one of words, or of words and numbers, holds Python objects."""
    if isinstance(values, Iterator | Set):
        values = list(values)
    try:
        array = np.asarray(values, dtype=object if as_objects else None)
        return np.asarray(values, dtype=object) if array.dtype.kind in "US" else array
    except (TypeError, ValueError) as error:
        raise InvalidConstraintsError(f"{name} must be a rectangular array: {error}") from error


def as_integers(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """Convert to a new int64 array; floats have to be whole numbers."""
    array = as_array(values, name)
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.int64)
    if array.dtype.kind == "O" and all(
        isinstance(value, numbers.Real) and not isinstance(value, bool) for value in array.flat
    ):
        # From a data frame with columns of several types. Rounding is harmless: no row number
        # is near 2**53.
        array = array.astype(np.float64)
    if array.dtype.kind not in "iuf":
        raise InvalidConstraintsError(
            f"{name} must hold row numbers, got {_first_non_number(array)!r}; "
            "if rows are given by id, pass the ids of all rows as ids="
        )
    # Larger numbers are not row numbers, and might overflow.
    whole = np.isfinite(array) & (np.abs(array.astype(np.float64)) < 2**62)
    whole &= array == np.floor(array)
    if not whole.all():
        at = tuple(int(axis[0]) for axis in np.nonzero(~whole))
        raise InvalidConstraintsError(
            f"{name} must hold integers, but {name}[{', '.join(map(str, at))}] is {array[at]}"
        )
    return np.array(array, dtype=np.int64, order="C")


def _first_non_number(array: NDArray[Any]) -> object:
    """Return the first value that is not a number; there has to be one."""
    values: list[object] = array.ravel().tolist()
    return next(v for v in values if isinstance(v, bool) or not isinstance(v, numbers.Real))


def as_rows(
    rows: NDArray[np.int64], n_samples: int, where: Where, ids: Sequence[Hashable] | None = None
) -> NDArray[np.int64]:
    """Check that rows are in range, and distinct within each answer; errors name them by `ids`."""
    outside = (rows < 0) | (rows >= n_samples)
    if outside.any():
        at, position = (int(axis[0]) for axis in np.nonzero(outside))
        allowed = f"rows run from 0 to {n_samples - 1}" if n_samples else "there are no rows"
        raise InvalidConstraintsError(
            f"{where(at)}: row {rows[at, position]} is out of range; "
            f"n_samples is {n_samples}, so {allowed}"
        )
    in_order = np.sort(rows, axis=1)
    repeated = in_order[:, 1:] == in_order[:, :-1]
    if repeated.any():
        at, position = (int(axis[0]) for axis in np.nonzero(repeated))
        row = int(in_order[at, position])
        raise InvalidConstraintsError(
            f"{where(at)}: the rows of an answer must be distinct, but "
            f"{f'row {row}' if ids is None else repr(ids[row])} is repeated"
        )
    return np.ascontiguousarray(rows)


def as_codes(answers: NDArray[Any], kind: Kind, where: Where) -> NDArray[np.int64]:
    """Convert answers, given as codes or as words, to codes."""

    def parse(value: object) -> int:
        is_whole = isinstance(value, float) and value.is_integer()
        return as_answer_code(kind, int(value) if is_whole else value)  # type: ignore[call-overload]

    return np.array(converted(answers.tolist(), parse, where), dtype=np.int64)


def converted(values: Sequence[object], parse: Callable[[object], T], where: Where) -> list[T]:
    """Apply `parse` to values, once to each distinct value."""
    # Neither may go into the dictionary: True is equal to 1, and a list has no hash.
    barred = {t for t in set(map(type, values)) if t in (bool, np.bool_) or t.__hash__ is None}
    distinct = [v for v in values if type(v) in barred][:1] if barred else dict.fromkeys(values)
    parsed: dict[object, T] = {}
    for value in distinct:
        try:
            parsed[value] = parse(value)
        except InvalidConstraintsError as error:
            same = (v is value or (v == value and type(v) is type(value)) for v in values)
            at = next(at for at, is_same in enumerate(same) if is_same)
            raise InvalidConstraintsError(f"{where(at)}: {error}") from error
    return list(map(parsed.__getitem__, values))


def one_each(values: NDArray[Any], n: int, name: str, what: str = "answer") -> NDArray[Any]:
    """Return values of shape (n,); one value holds for all."""
    values = np.full(n, values) if values.ndim == 0 else values
    if values.shape != (n,):
        raise InvalidConstraintsError(
            f"{name} must have shape ({n},), one for each {what}, got {values.shape}"
        )
    return values


def as_weights(weights: ArrayLike | None, n_answers: int, name: str) -> NDArray[np.float64]:
    """Convert weights to a new array of shape (n_answers,); one number is the weight of all."""
    if weights is None:
        return np.ones(n_answers)
    array = as_array(weights, name)
    if array.dtype.kind not in "iuf" and array.size:
        raise InvalidConstraintsError(f"{name} must hold numbers, got {_first_non_number(array)!r}")
    array = one_each(array, n_answers, name)
    # False for NaN too.
    inside = (array >= 0) & (array <= 1)
    if not inside.all():
        at = int(np.argmin(inside))
        raise InvalidConstraintsError(f"{name} must lie in [0, 1], but {name}[{at}] is {array[at]}")
    return np.array(array, dtype=np.float64)


def as_annotators(annotators: ArrayLike | None, n_answers: int, name: str) -> list[int] | list[str]:
    """Convert annotators to a list of length `n_answers`; one value holds for all; None is ""."""
    try:
        array = np.asarray("" if annotators is None else annotators)
        # As objects: NumPy's strings drop trailing zero characters.
        if array.dtype.kind not in "iu":
            array = np.asarray("" if annotators is None else annotators, dtype=object)
    except ValueError as error:
        raise InvalidConstraintsError(
            f"{name} must hold one integer or name for each answer: {error}"
        ) from error
    names = one_each(array, n_answers, name).tolist()
    if array.dtype.kind == "O":
        for at, annotator in enumerate(names):
            if not isinstance(annotator, str):
                raise InvalidConstraintsError(
                    f"{name} must hold integers or names, but {name}[{at}] is {annotator!r}"
                )
    return names  # type: ignore[no-any-return]


def as_origins(origins: ArrayLike | None, n_answers: int, name: str) -> NDArray[np.int8]:
    """Convert words of `ORIGINS` to codes of shape (n_answers,); one word holds for all answers."""
    if origins is None:
        return np.zeros(n_answers, dtype=np.int8)
    array = np.asarray(origins, dtype=object)
    if array.ndim == 0:
        return np.full(n_answers, _origin_code(array.item(), name), dtype=np.int8)
    words = one_each(array, n_answers, name).tolist()
    # Few different words, many answers: each word is checked once.
    code = {
        word: _origin_code(word, f"{name}[{words.index(word)}]") for word in dict.fromkeys(words)
    }
    return np.array([code[word] for word in words], dtype=np.int8)


def _origin_code(value: object, place: str) -> int:
    try:
        return ORIGINS.index(as_origin(value))
    except InvalidConstraintsError as error:
        raise InvalidConstraintsError(f"{place}: {error}") from error


def parse_origin(value: object) -> int:
    """Read how a question was chosen from a field; imported if it is missing."""
    return 0 if is_missing(value) else ORIGINS.index(as_origin(value))


def is_missing(value: object) -> bool:
    """Whether a field is None or blank."""
    return value is None or (isinstance(value, str) and not value.strip())


def check_given(value: object) -> None:
    """Refuse a missing field."""
    if is_missing(value):
        raise InvalidConstraintsError("missing")


def check_id(value: object) -> None:
    """Refuse a missing id, and a list or an object of JSON."""
    check_given(value)
    if not isinstance(value, Hashable):
        raise InvalidConstraintsError(f"{value!r} cannot be an id")


def check_missing(value: object) -> None:
    """Refuse a field that is neither missing nor a word for a missing value, such as "NaN"."""
    if value is not None and str(value).strip().casefold() not in _MISSING:
        raise InvalidConstraintsError(f"a pair has no third row, but this is {value!r}")


def parse_rows(values: Sequence[object], where: Where) -> NDArray[np.int64]:
    """Read row numbers from fields."""
    texts = [value for value in values if isinstance(value, str)]
    digits = "".join(texts)
    is_plain = len(texts) == len(values) and digits.isascii() and digits.isdigit() and all(texts)
    # The usual file, in a third of the time.
    if is_plain and max(map(len, texts)) <= 18:
        return np.array(list(map(int, texts)), dtype=np.int64)
    return np.array(converted(values, _parse_row, where), dtype=np.int64)


def _parse_row(value: object) -> int:
    """Read a row number from a field, a number or text; "3.0" is row 3."""
    check_given(value)
    row = _whole_number(value)
    # Larger numbers are not row numbers, and some do not fit into an array.
    if row is None or abs(row) >= 2**62:
        raise InvalidConstraintsError(
            f"not a row number: {str(value)[:40]!r}; columns of ids are called id_i, id_j and id_k"
        )
    return row


def parse_weight(value: object) -> float:
    """Read a weight from a field; 1 if it is missing."""
    if is_missing(value):
        return 1.0
    if isinstance(value, str) and _NUMBER.fullmatch(value.strip()):
        number = float(value.replace(",", "."))
        return number if 0 <= number <= 1 else as_weight(number)
    return as_weight(value)


def parse_annotator(value: object) -> str:
    """Read the name of an annotator from a field; "" if it is missing."""
    if value is None or isinstance(value, str):
        return value or ""
    number = _whole_number(value)
    if number is None:
        raise InvalidConstraintsError(f"annotator must be a name or an integer, got {value!r}")
    return str(number)


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


def _as_row_ids(ids: object) -> RowIds:
    """Check the ids of the rows."""
    has_no_order = isinstance(ids, str | bytes | Mapping | Set)
    if not isinstance(ids, Iterable) or has_no_order or getattr(ids, "ndim", 1) != 1:
        raise InvalidConstraintsError(
            "ids must be a one-dimensional sequence with the id of each row, in the order of the "
            f"rows; got {type(ids).__name__}"
        )
    # Plain Python objects, where an array or an Index can make them.
    values: Iterable[Any] = ids.tolist() if hasattr(ids, "tolist") else ids
    names = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
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
