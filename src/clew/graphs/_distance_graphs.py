"""Checks of distances to near rows only: sparse neighbor graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from sklearn.base import BaseEstimator

from clew._validation import SYMMETRY_TOLERANCE, check_data, check_matrix
from clew.exceptions import InvalidDataError

__all__ = ["checked_graph"]

Floats = NDArray[np.float64]


def checked_graph(D: Any, estimator: BaseEstimator | None) -> csr_array:
    """Validate a neighbor graph, and store every pair twice; see `check_distances`."""
    options: dict[str, Any] = {
        "dtype": np.float64,
        "accept_sparse": "csr",
        "ensure_all_finite": False,
    }
    if estimator is None:
        given = check_matrix(D, **options)
    else:
        given = check_data(estimator, D, ensure_min_samples=2, **options)
    graph = coo_array(given)
    n, n_columns = graph.shape
    if n != n_columns:
        raise InvalidDataError(
            f"a neighbor graph of distances must be square, got shape ({n}, {n_columns})"
        )
    row, column = (of.astype(np.int64) for of in graph.coords)
    _check_stored(row, column, graph.data)
    is_pair = row != column
    if (graph.data[~is_pair] > 0).any():
        raise InvalidDataError("the diagonal of distances must be 0; is this an affinity graph?")
    low, high = np.minimum(row, column)[is_pair], np.maximum(row, column)[is_pair]
    value = graph.data[is_pair]
    order = np.lexsort([value, high, low])
    low, high, value = low[order], high[order], value[order]
    first = np.flatnonzero(np.r_[True, (np.diff(low) != 0) | (np.diff(high) != 0)][: len(low)])
    last = np.r_[first[1:], len(low)] - 1
    tolerance = SYMMETRY_TOLERANCE * float(value.max(initial=0.0))
    if len(first) and (value[last] - value[first]).max() > tolerance:
        at = int(np.argmax(value[last] - value[first]))
        raise InvalidDataError(
            f"distances must be symmetric, but rows {low[first[at]]} and {high[first[at]]} have "
            f"the distances {value[first[at]]:g} and {value[last[at]]:g}"
        )
    low, high, value = low[first], high[first], (value[first] + value[last]) / 2
    return _csr(np.concatenate([low, high]), np.concatenate([high, low]), np.tile(value, 2), n)


def _check_stored(row: NDArray[np.int64], column: NDArray[np.int64], value: Floats) -> None:
    wrong = np.flatnonzero(~np.isfinite(value) | (value < 0))
    if len(wrong):
        at = wrong[0]
        raise InvalidDataError(
            f"distances must be finite and 0 or more, but row {row[at]}, column {column[at]} is "
            f"{value[at]:g}"
        )


def _csr(row: NDArray[np.int64], column: NDArray[np.int64], value: Floats, n: int) -> csr_array:
    """Return a matrix that keeps stored zeros."""
    order = np.lexsort([column, row])
    indptr = np.r_[0, np.cumsum(np.bincount(row, minlength=n))]
    return csr_array((value[order], column[order], indptr), shape=(n, n))
