"""Checks what callers pass, and turns it into tables; every message names the answer at fault."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.answers import N_ROWS, Kind, as_answer_code
from clew.constraints._ids import RowIds, Where, as_row_ids
from clew.constraints._tables import AnswerTable
from clew.exceptions import InvalidConstraintsError

__all__ = [
    "PARAMETER",
    "Where",
    "as_annotators",
    "as_codes",
    "as_integers",
    "as_rows",
    "as_table",
    "as_weights",
    "code_annotators",
    "converted",
    "rows_and_ids",
]

T = TypeVar("T")

_NEVER_VALID: Final = frozenset({bool, np.bool_, list, dict, set})

#: The parameter of `Constraints` that takes the answers of each kind.
PARAMETER: Final[dict[Kind, str]] = {
    "pair": "pairs",
    "triplet": "triplets",
    "odd_one_out": "odd_one_out",
}


def rows_and_ids(n_samples: object, ids: object) -> tuple[int, RowIds | None]:
    """Check the number of rows and their ids; either may be None, but not both.

    Parameters
    ----------
    n_samples : object
        What the caller gave as the number of rows.
    ids : object
        What the caller gave as their ids.

    Returns
    -------
    n_samples : int
    ids : RowIds or None

    Raises
    ------
    InvalidConstraintsError
        If the number is no number of rows, the ids are wrong, or they are of another number.
    """
    named = ids if ids is None or isinstance(ids, RowIds) else as_row_ids(ids)
    if n_samples is None and named is not None:
        return len(named), named
    is_integer = isinstance(n_samples, numbers.Integral) and not isinstance(n_samples, bool)
    if not is_integer or int(n_samples) < 0:  # type: ignore[call-overload]
        raise InvalidConstraintsError(
            f"n_samples must be the number of rows of the data, got {n_samples!r}; "
            "it may be left out where ids are given"
        )
    n = int(n_samples)  # type: ignore[call-overload]
    if named is not None and len(named) != n:
        raise InvalidConstraintsError(f"there are {len(named)} ids, but n_samples is {n}")
    return n, named


def as_integers(values: ArrayLike, name: str) -> NDArray[np.int64]:
    """Return a fresh int64 array; floats pass only where each is a whole number."""
    array = _as_array(values, name)
    if array.size == 0:
        return np.zeros(array.shape, dtype=np.int64)
    if array.dtype.kind == "O" and all(
        isinstance(value, numbers.Real) and not isinstance(value, bool) for value in array.flat
    ):
        # A mixed data frame gives objects; beyond 2**53 they are out of any range anyway.
        array = array.astype(np.float64)
    if array.dtype.kind not in "iuf":
        raise InvalidConstraintsError(
            f"{name} must hold integers, got {_first_odd(array)!r}; "
            "where rows are named by id, give the ids of all rows as ids="
        )
    # 2**62 is beyond every row number and well inside both integers and floats.
    whole = np.isfinite(array) & (np.abs(array.astype(np.float64)) < 2**62)
    whole &= array == np.floor(array)
    if not whole.all():
        at = tuple(int(axis[0]) for axis in np.nonzero(~whole))
        raise InvalidConstraintsError(
            f"{name} must hold integers, but {name}[{', '.join(map(str, at))}] is {array[at]}"
        )
    return np.array(array, dtype=np.int64, order="C")


def _as_array(values: ArrayLike, name: str, *, as_objects: bool = False) -> NDArray[Any]:
    try:
        array = np.asarray(values, dtype=object if as_objects else None)
        return np.asarray(values, dtype=object) if array.dtype.kind in "US" else array
    except (TypeError, ValueError) as error:
        raise InvalidConstraintsError(
            f"{name} must be a rectangular array of numbers: {error}"
        ) from error


def _first_odd(array: NDArray[Any]) -> object:
    """Return the first value that is no number."""
    values: list[object] = array.ravel().tolist()
    return next(v for v in values if isinstance(v, bool) or not isinstance(v, numbers.Real))


def as_table(
    values: ArrayLike | None,
    kind: Kind,
    n_samples: int,
    ids: RowIds | None,
    *,
    answers: ArrayLike | None = None,
    name: str | None = None,
) -> AnswerTable:
    """Check rows and answers of one kind; weights are 1 and annotators 0 in the table returned.

    Parameters
    ----------
    values : array-like of shape (n, n_rows) or (n, n_rows + 1), or None
        Rows, or their ids, of each answer; without `answers`, the answer behind them. None: none.
    kind : {"pair", "triplet", "odd_one_out"}
        What was asked.
    n_samples : int
        Number of rows of the data.
    ids : RowIds or None
        The ids of the rows, where answers name rows by id.
    answers : array-like of shape (n,) or one answer, default=None
        The answers, as codes or words.
    name : str, default=None
        What messages call `values`; None: the parameter of `Constraints`.

    Returns
    -------
    AnswerTable

    Raises
    ------
    InvalidConstraintsError
        If anything is wrong; the message names the answer.
    """
    name = PARAMETER[kind] if name is None else name
    width = N_ROWS[kind] + (answers is None)
    # Left to itself, NumPy turns numbers beside words into words, and large ones into floats.
    given = np.zeros((0, width)) if values is None else values
    array = _as_array(given, name, as_objects=ids is not None)
    if array.size == 0 and array.shape[-1] in (0, width):
        array = array.reshape(0, width)
    if array.ndim != 2 or array.shape[1] != width:
        what = f": {N_ROWS[kind]} rows and the answer" if answers is None else ""
        raise InvalidConstraintsError(
            f"{name} must have shape (n, {width}){what}; got {array.shape}"
        )
    items = array[:, : N_ROWS[kind]]
    said = array[:, -1] if answers is None else _as_array(answers, "answers")
    said = np.full(len(array), said) if said.ndim == 0 else said
    if said.shape != (len(array),):
        raise InvalidConstraintsError(
            f"answers must have shape ({len(array)},), one for each question, got {said.shape}"
        )

    def where(at: int) -> str:
        return f"{name}[{at}] = ({', '.join(map(repr, array[at].tolist()))})"

    rows = as_integers(items, name) if ids is None else ids.rows_of_array(items, where)
    n = len(array)
    return AnswerTable(
        kind,
        as_rows(rows, n_samples, where),
        as_codes(said, kind, where),
        np.ones(n),
        np.zeros(n, dtype=np.int64),
    ).with_sorted_pairs()


def as_rows(rows: NDArray[np.int64], n_samples: int, where: Where) -> NDArray[np.int64]:
    """Check that rows are in range, and different within each answer.

    Parameters
    ----------
    rows : ndarray of shape (n, 2) or (n, 3), int64
        Rows of each answer.
    n_samples : int
        Number of rows of the data.
    where : function of int
        Describes the place of an answer for the message of an error.

    Returns
    -------
    ndarray of the same shape, contiguous
    """
    outside = (rows < 0) | (rows >= n_samples)
    if outside.any():
        at, position = (int(axis[0]) for axis in np.nonzero(outside))
        allowed = f"rows run from 0 to {n_samples - 1}" if n_samples else "there are no rows"
        raise InvalidConstraintsError(
            f"{where(at)}: row {rows[at, position]} is out of range; "
            f"n_samples is {n_samples}, so {allowed}"
        )
    in_order = np.sort(rows, axis=1)
    repeated = (in_order[:, 1:] == in_order[:, :-1]).any(axis=1)
    if repeated.any():
        at = int(np.argmax(repeated))
        raise InvalidConstraintsError(
            f"{where(at)}: an answer is about different rows, but one is repeated"
        )
    return np.ascontiguousarray(rows)


def as_codes(answers: NDArray[Any], kind: Kind, where: Where) -> NDArray[np.int64]:
    """Turn answers, codes or words, into codes; `where` is as in `as_rows`."""

    def parse(value: object) -> int:
        is_whole = isinstance(value, float) and value.is_integer()
        return as_answer_code(kind, int(value) if is_whole else value)  # type: ignore[call-overload]

    return np.array(converted(answers.tolist(), parse, where), dtype=np.int64)


def converted(values: Sequence[object], parse: Callable[[object], T], where: Where) -> list[T]:
    """Parse each of many values; equal ones, of which there are many, once.

    Parameters
    ----------
    values : sequence of length n
        What to parse.
    parse : function
        Raises `InvalidConstraintsError` where a value is wrong, as every bool and every
        unhashable value has to be.
    where : function of int
        Describes the place of ``values[at]`` for the message of an error.

    Returns
    -------
    list of length n

    Raises
    ------
    InvalidConstraintsError
        With the place in front of the message of `parse`.
    """
    odd = None
    if not _NEVER_VALID.isdisjoint(map(type, values)):
        odd = next(at for at, value in enumerate(values) if type(value) in _NEVER_VALID)
    # True is equal to 1, and a list has no hash.
    done: dict[object, T] = {}
    for value in dict.fromkeys(values) if odd is None else [values[odd]]:
        try:
            parsed = parse(value)
        except InvalidConstraintsError as error:
            at = values.index(value) if odd is None else odd
            raise InvalidConstraintsError(f"{where(at)}: {error}") from error
        done[value] = parsed
    return list(map(done.__getitem__, values))


def as_weights(weights: ArrayLike | None, n_answers: int, name: str) -> NDArray[np.float64]:
    """Return a fresh array of `n_answers` weights in [0, 1]; one number is the weight of all."""
    if weights is None:
        return np.ones(n_answers)
    array = _as_array(weights, name)
    if array.dtype.kind not in "iuf" and array.size:
        raise InvalidConstraintsError(f"{name} must hold numbers, got {_first_odd(array)!r}")
    if array.ndim == 0:
        array = np.full(n_answers, array)
    if array.shape != (n_answers,):
        raise InvalidConstraintsError(
            f"{name} must have shape ({n_answers},), one for each answer, got {array.shape}"
        )
    # Written so that NaN fails too.
    inside = (array >= 0) & (array <= 1)
    if not inside.all():
        at = int(np.argmin(inside))
        raise InvalidConstraintsError(f"{name} must lie in [0, 1], but {name}[{at}] is {array[at]}")
    return np.array(array, dtype=np.float64)


def as_annotators(annotators: ArrayLike | None, n_answers: int, name: str) -> list[int] | list[str]:
    """Return integers or names, one for each answer; a single one gave all; None: ""."""
    try:
        array = np.asarray("" if annotators is None else annotators)
        # As objects: NumPy's own strings would drop zero characters at the end of a name.
        if array.dtype.kind not in "iu":
            array = np.asarray("" if annotators is None else annotators, dtype=object)
    except ValueError as error:
        raise InvalidConstraintsError(
            f"{name} must hold one integer or name for each answer: {error}"
        ) from error
    if array.ndim == 0:
        array = np.full(n_answers, array)
    if array.shape != (n_answers,):
        raise InvalidConstraintsError(
            f"{name} must have shape ({n_answers},), one for each answer, got {array.shape}"
        )
    names = array.tolist()
    if array.dtype.kind == "O":
        for at, annotator in enumerate(names):
            if not isinstance(annotator, str):
                raise InvalidConstraintsError(
                    f"{name} must hold integers or names, but {name}[{at}] is {annotator!r}"
                )
    return names  # type: ignore[no-any-return]


def code_annotators(
    given: Sequence[list[int] | list[str]],
) -> tuple[tuple[str, ...], list[NDArray[np.int64]]]:
    """Assign codes to all annotators, in sorted order; return their names and their codes.

    Parameters
    ----------
    given : sequence of list
        Integers or names, one list for each kind of answer.

    Returns
    -------
    names : tuple of str
    codes : list of ndarray of int64
        For each list of `given`, the position of each annotator in `names`.
    """
    # Integers sort as numbers, so that annotators 0, 1, 2, ... are their own codes.
    all_integers = all(isinstance(one, int) for some in given for one in some[:1])
    lists = [some if all_integers else list(map(str, some)) for some in given]
    found: set[Any] = set().union(*lists)
    code: dict[Any, int] = {name: at for at, name in enumerate(sorted(found))}
    codes = [np.array(list(map(code.__getitem__, some)), dtype=np.int64) for some in lists]
    return tuple(map(str, code)), codes
