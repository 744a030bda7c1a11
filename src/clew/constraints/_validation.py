"""Turns what callers pass into checked answer tables; every message names the answer at fault."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.answers import ANSWER_WORDS, Kind
from clew.constraints._tables import AnswerTable
from clew.exceptions import InvalidConstraintsError

__all__ = [
    "PARAMETER",
    "as_annotator_ids",
    "as_integers",
    "as_n_samples",
    "as_table",
    "as_weights",
    "code_annotators",
]

#: The parameter of `Constraints` that takes the answers of each kind.
PARAMETER: dict[Kind, str] = {
    "pair": "pairs",
    "triplet": "triplets",
    "odd_one_out": "odd_one_out",
}


def as_n_samples(n_samples: object) -> int:
    """Check the number of rows that the answers speak of."""
    is_integer = isinstance(n_samples, numbers.Integral) and not isinstance(n_samples, bool)
    if not is_integer or int(n_samples) < 0:  # type: ignore[call-overload]
        raise InvalidConstraintsError(
            f"n_samples must be the number of rows of the data, got {n_samples!r}"
        )
    return int(n_samples)  # type: ignore[call-overload,no-any-return]


def _as_array(values: ArrayLike, name: str) -> NDArray[Any]:
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise InvalidConstraintsError(
            f"{name} must be a rectangular array of numbers: {error}"
        ) from error


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
        raise InvalidConstraintsError(f"{name} must hold integers, got dtype {array.dtype}")
    # 2**62 is beyond every row number and well inside both integers and floats.
    whole = np.isfinite(array) & (np.abs(array.astype(np.float64)) < 2**62)
    whole &= array == np.floor(array)
    if not whole.all():
        at = tuple(int(axis[0]) for axis in np.nonzero(~whole))
        raise InvalidConstraintsError(
            f"{name} must hold integers, but {name}[{', '.join(map(str, at))}] is {array[at]}"
        )
    return np.array(array, dtype=np.int64, order="C")


def as_weights(weights: ArrayLike | None, n_answers: int, name: str) -> NDArray[np.float64]:
    """Return a fresh array of `n_answers` weights within [0, 1]; all 1 where none are given."""
    if weights is None:
        return np.ones(n_answers)
    array = _as_array(weights, name)
    if array.dtype.kind not in "iuf" and array.size:
        raise InvalidConstraintsError(f"{name} must hold numbers, got dtype {array.dtype}")
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


def as_annotator_ids(annotators: ArrayLike | None, n_answers: int, name: str) -> NDArray[Any]:
    """Return integers or a string array of shape (n_answers,); all "" where none are given."""
    if annotators is None:
        return np.full(n_answers, "", dtype=object)
    # As objects: NumPy's own strings would drop zero characters at the end of a name.
    array = np.asarray(annotators)
    if array.dtype.kind not in "iu":
        array = np.asarray(annotators, dtype=object)
    if array.shape != (n_answers,):
        raise InvalidConstraintsError(
            f"{name} must have shape ({n_answers},), one for each answer, got {array.shape}"
        )
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    for at, annotator in enumerate(array):
        if not isinstance(annotator, str):
            raise InvalidConstraintsError(
                f"{name} must hold integers or names, but {name}[{at}] is {annotator!r}"
            )
    return array


def code_annotators(
    ids: Sequence[NDArray[Any]],
) -> tuple[tuple[str, ...], list[NDArray[np.int64]]]:
    """Give all annotators codes, in the order of their ids; return the names and the codes.

    Parameters
    ----------
    ids : sequence of ndarray
        Integers or strings, one array for each kind of answer.

    Returns
    -------
    names : tuple of str
    codes : list of ndarray of int64
        For each array of `ids`, the position of each annotator in `names`.
    """
    # Integers sort as numbers, so that ids 0, 1, 2, ... are their own codes.
    all_integers = all(array.dtype.kind == "i" for array in ids if array.size)
    lists = [array.tolist() if all_integers else list(map(str, array)) for array in ids]
    code = {name: at for at, name in enumerate(sorted(set().union(*lists)))}
    codes = [np.array([code[name] for name in names], dtype=np.int64) for names in lists]
    return tuple(map(str, code)), codes


def as_table(
    values: ArrayLike | None, kind: Kind, n_samples: int, name: str | None = None
) -> AnswerTable:
    """Check rows and codes of one kind; weights are 1 and annotators 0 in the table returned.

    Messages speak of `name`, by default the parameter of `Constraints`.
    """
    name = PARAMETER[kind] if name is None else name
    n_rows = 2 if kind == "pair" else 3
    array = as_integers(np.zeros((0, n_rows + 1)) if values is None else values, name)
    if array.size == 0 and array.shape[-1] in (0, n_rows + 1):
        array = array.reshape(0, n_rows + 1)
    if array.ndim != 2 or array.shape[1] != n_rows + 1:
        raise InvalidConstraintsError(
            f"{name} must have shape (n, {n_rows + 1}): {n_rows} rows and the answer; "
            f"got {array.shape}"
        )
    _check_rows(array, name, n_samples)
    _check_codes(array, kind, name)
    n_answers = len(array)
    return AnswerTable(
        kind,
        np.ascontiguousarray(array[:, :-1]),
        np.ascontiguousarray(array[:, -1]),
        np.ones(n_answers),
        np.zeros(n_answers, dtype=np.int64),
    ).with_sorted_pairs()


def _describe(array: NDArray[np.int64], at: int, name: str) -> str:
    return f"{name}[{at}] = ({', '.join(map(str, array[at].tolist()))})"


def _check_rows(array: NDArray[np.int64], name: str, n_samples: int) -> None:
    rows = array[:, :-1]
    outside = (rows < 0) | (rows >= n_samples)
    if outside.any():
        at, position = (int(axis[0]) for axis in np.nonzero(outside))
        allowed = f"rows run from 0 to {n_samples - 1}" if n_samples else "there are no rows"
        raise InvalidConstraintsError(
            f"{_describe(array, at, name)}: row {rows[at, position]} is out of range; "
            f"n_samples is {n_samples}, so {allowed}"
        )
    in_order = np.sort(rows, axis=1)
    repeated = (in_order[:, 1:] == in_order[:, :-1]).any(axis=1)
    if repeated.any():
        at = int(np.argmax(repeated))
        raise InvalidConstraintsError(
            f"{_describe(array, at, name)}: an answer is about different rows, but one is repeated"
        )


def _check_codes(array: NDArray[np.int64], kind: Kind, name: str) -> None:
    codes = ANSWER_WORDS[kind]
    unknown = ~np.isin(array[:, -1], list(codes.values()))
    if unknown.any():
        at = int(np.argmax(unknown))
        allowed = ", ".join(f"{code} ({word})" for word, code in codes.items())
        raise InvalidConstraintsError(
            f"{_describe(array, at, name)}: {array[at, -1]} is no answer to a {kind} "
            f"question; use one of {allowed}"
        )
