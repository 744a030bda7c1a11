"""The most typical rows of a group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.cli._tables import Groups

__all__ = ["most_typical"]

#: Confidence is rounded to this many digits before rows of equal confidence are compared.
DIGITS = 2


def most_typical(
    X: Any, groups: Groups, group: int, *, is_distances: bool = False
) -> NDArray[np.int64]:
    """Sort the rows of a group by confidence; rows of equal confidence, by how central they are.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_rows, n_features), or ndarray of shape (n_rows, n_rows)
        Features or distances.
    groups : Groups
        The groups.
    group : int
        Number of the group.
    is_distances : bool, default=False
        Whether `X` are distances.

    Returns
    -------
    ndarray of row numbers
    """
    rows = np.flatnonzero(groups.label == group)
    off_center = _mean_squares(X, rows) if is_distances else _squares_to_mean(X, rows)
    return rows[np.lexsort((off_center, -groups.confidence[rows].round(DIGITS)))]


def _mean_squares(D: Any, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the mean squared distance of each row to all of them."""
    return np.array([np.square(D[row][rows], dtype=np.float64).mean() for row in rows])


def _squares_to_mean(features: Any, rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return squared distances to the mean of some rows.

    Dense features are standardized. For sparse ones, a constant is subtracted from all distances.
    """
    X = features[rows]
    center = np.asarray(X.mean(axis=0)).ravel()
    if not isinstance(X, np.ndarray):
        return np.asarray(np.ravel(X.multiply(X).sum(axis=1)) - 2 * (X @ center))
    unit = features.std(axis=0)
    return np.asarray((((X - center) / np.where(unit > 0, unit, 1)) ** 2).sum(axis=1))
