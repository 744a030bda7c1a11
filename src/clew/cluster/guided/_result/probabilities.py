"""Probabilities of groups, dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["largest_probabilities", "most_probable_groups", "of_row", "probability_together"]


def largest_probabilities(probabilities: Any) -> NDArray[np.float64]:
    """Return the probability of each row's most probable group.

    Parameters
    ----------
    probabilities : ndarray or csr_array of shape (n_rows, n_groups)
        Probabilities; each row adds up to 1.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    if isinstance(probabilities, np.ndarray):
        return np.asarray(probabilities.max(axis=1))
    return np.asarray(np.maximum.reduceat(probabilities.data, probabilities.indptr[:-1]))


def most_probable_groups(probabilities: Any) -> NDArray[np.int64]:
    """Return the most probable group of each row, in a tie the first.

    Parameters
    ----------
    probabilities : ndarray or csr_array of shape (n_rows, n_groups)
        Probabilities; each row adds up to 1.

    Returns
    -------
    ndarray of shape (n_rows,), int64
    """
    if isinstance(probabilities, np.ndarray):
        return np.asarray(probabilities.argmax(axis=1), dtype=np.int64)
    start = probabilities.indptr
    # Not `argmax` of SciPy, which takes a microsecond for each row.
    largest = np.repeat(largest_probabilities(probabilities), np.diff(start))
    is_largest = probabilities.data == largest
    groups = np.where(is_largest, probabilities.indices, probabilities.shape[1])
    return np.asarray(np.minimum.reduceat(groups, start[:-1]), dtype=np.int64)


def probability_together(probabilities: Any, i: int, j: int) -> float:
    """Return the probability that two rows are in one group.

    Parameters
    ----------
    probabilities : ndarray or csr_array of shape (n_rows, n_groups)
        Probabilities; each row adds up to 1.
    i, j : int
        Row numbers.

    Returns
    -------
    float
    """
    return float(of_row(probabilities, i) @ of_row(probabilities, j))


def of_row(probabilities: Any, row: int) -> NDArray[np.float64]:
    """Return the probabilities of one row.

    Parameters
    ----------
    probabilities : ndarray or csr_array of shape (n_rows, n_groups)
        Probabilities.
    row : int
        Row number.

    Returns
    -------
    ndarray of shape (n_groups,)
    """
    dense = isinstance(probabilities, np.ndarray)
    return np.asarray(probabilities[row] if dense else probabilities[[row]].toarray()[0])
