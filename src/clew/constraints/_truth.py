"""The answers that known labels give to each kind of question."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.answers import DIFFERENT, DONT_KNOW, FIRST, NONE_DIFFERS, SAME, SECOND, THIRD, Kind
from clew.exceptions import InvalidDataError

__all__ = ["TRUTH", "as_classes"]

IntArray = NDArray[np.int64]


def as_classes(y: ArrayLike) -> IntArray:
    """Encode labels as classes 0, 1, ...; refuse NaN and anything but one dimension."""
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


def _pair(y: IntArray, rows: IntArray) -> IntArray:
    return np.where(y[rows[:, 0]] == y[rows[:, 1]], SAME, DIFFERENT)


def _triplet(y: IntArray, rows: IntArray) -> IntArray:
    a, b, c = y[rows].T
    return np.select([(a == b) & (a != c), (a == c) & (a != b)], [FIRST, SECOND], DONT_KNOW)


def _odd_one_out(y: IntArray, rows: IntArray) -> IntArray:
    i, j, k = y[rows].T
    return np.select(
        [(i == j) & (j == k), j == k, i == k, i == j],
        [NONE_DIFFERS, FIRST, SECOND, THIRD],
        DONT_KNOW,
    )


#: For each kind, the function (classes, rows of shape (n, 2) or (n, 3)) -> true answers (n,).
#: Where the labels do not settle a question, the true answer is don't-know.
TRUTH: Final[Mapping[Kind, Callable[[IntArray, IntArray], IntArray]]] = MappingProxyType(
    {"pair": _pair, "triplet": _triplet, "odd_one_out": _odd_one_out}
)
