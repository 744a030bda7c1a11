"""The pairs that answers imply, and the answers that given labels imply."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.answers import ALL_ALIKE, DIFFERENT, DONT_KNOW, FIRST, SAME, SECOND, THIRD, Kind
from clew.constraints._tables import AnswerTable
from clew.exceptions import InvalidDataError

__all__ = ["TRUTH", "as_classes", "implied_pairs", "is_labeled"]

IntArray = NDArray[np.int64]


def as_classes(y: ArrayLike) -> IntArray:
    """Encode labels as classes 0, 1, ...

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels.

    Returns
    -------
    ndarray of shape (n_samples,), int64
        The class of each row.

    Raises
    ------
    InvalidDataError
        If `y` is not one-dimensional, holds NaN, or mixes types that cannot be sorted.
    """
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise InvalidDataError(f"y must have shape (n_samples,), got {labels.shape}")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise InvalidDataError(
            f"y[{int(np.argmax(np.isnan(labels)))}] is NaN: every row needs a class"
        )
    try:
        return np.unique(labels, return_inverse=True)[1].astype(np.int64)
    except TypeError as error:
        raise InvalidDataError(f"y must hold labels of one type: {error}") from error


def is_labeled(y: ArrayLike) -> NDArray[np.bool_]:
    """Mark the rows with a label; the number -1 stands for none, as in scikit-learn."""
    labels = np.asarray(y)
    if labels.dtype.kind not in "if":
        return np.ones(labels.shape, dtype=np.bool_)
    return np.asarray(labels != -1)


def _pair(y: IntArray, rows: IntArray) -> IntArray:
    return np.where(y[rows[:, 0]] == y[rows[:, 1]], SAME, DIFFERENT)


def _triplet(y: IntArray, rows: IntArray) -> IntArray:
    a, b, c = y[rows].T
    return np.select([(a == b) & (a != c), (a == c) & (a != b)], [FIRST, SECOND], DONT_KNOW)


def _odd_one_out(y: IntArray, rows: IntArray) -> IntArray:
    i, j, k = y[rows].T
    return np.select(
        [(i == j) & (j == k), j == k, i == k, i == j],
        [ALL_ALIKE, FIRST, SECOND, THIRD],
        DONT_KNOW,
    )


#: For each kind, a function from classes and rows of shape (n, 2) or (n, 3) to the true answers. If
#: the classes do not determine the answer, it is don't-know.
TRUTH: Final[Mapping[Kind, Callable[[IntArray, IntArray], IntArray]]] = MappingProxyType(
    {"pair": _pair, "triplet": _triplet, "odd_one_out": _odd_one_out}
)

#: For each kind and answer, the implied pairs: the positions of two of the three rows, and the
#: answer about this pair.
IMPLIED_PAIRS: Final[Mapping[Kind, Mapping[int, tuple[tuple[int, int, int], ...]]]] = (
    MappingProxyType({
        "triplet": {
            FIRST: ((0, 1, SAME), (0, 2, DIFFERENT)),
            SECOND: ((0, 2, SAME), (0, 1, DIFFERENT)),
        },
        "odd_one_out": {
            FIRST: ((1, 2, SAME), (0, 1, DIFFERENT), (0, 2, DIFFERENT)),
            SECOND: ((0, 2, SAME), (0, 1, DIFFERENT), (1, 2, DIFFERENT)),
            THIRD: ((0, 1, SAME), (0, 2, DIFFERENT), (1, 2, DIFFERENT)),
            ALL_ALIKE: ((0, 1, SAME), (0, 2, SAME), (1, 2, SAME)),
        },
    })
)  # fmt: skip


def implied_pairs(tables: tuple[AnswerTable, AnswerTable, AnswerTable]) -> AnswerTable:
    """Turn all answers into pairs, as `Constraints.as_pairs` describes.

    Parameters
    ----------
    tables : tuple of AnswerTable
        Pairs, triplets and odd-one-out answers.

    Returns
    -------
    AnswerTable
        The pairs, then the pairs that each triplet implies, then those of odd-one-out answers.
    """
    parts = [tables[0], *map(_implied_by, tables[1:])]
    return AnswerTable.stacked("pair", parts).with_sorted_pairs()


def _implied_by(table: AnswerTable) -> AnswerTable:
    table = table.in_row_order()  # the result does not depend on the order of the rows
    sources, rows, answers = [], [], []
    for answer, implied in IMPLIED_PAIRS[table.kind].items():
        given = np.flatnonzero(table.answers == answer)
        for first, second, code in implied:
            sources.append(given)
            rows.append(table.rows[given][:, [first, second]])
            answers.append(np.full(len(given), code, dtype=np.int64))
    source = np.concatenate(sources)
    order = np.argsort(source, kind="stable")
    source = source[order]
    return AnswerTable(
        "pair",
        np.concatenate(rows)[order],
        np.concatenate(answers)[order],
        table.weights[source],
        table.annotators[source],
        table.origins[source],
    )
