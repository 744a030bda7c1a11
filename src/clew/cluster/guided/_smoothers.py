"""Smoothers: what the rows around each row say of its group, the row itself left out."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, diags_array
from sklearn.metrics import euclidean_distances

from clew._limits import MANY_ROWS
from clew._validation import check_matrix

__all__ = ["NeighborSmoother", "RidgeSmoother", "Smoother"]

Floats = NDArray[np.float64]

#: Rows from which the median distance is taken.
SAMPLE_ROWS = 1_000
WIDTH, RIDGE = 0.5, 0.003
LEAST_LEFT_OUT = 1e-3
#: Rows that span the kernel; fewer where there are many rows.
MAX_PIVOTS = 400
FEWER_PIVOTS = 200
#: Directions of the kernel of less than this share of its largest eigenvalue are rounding.
LEAST_SHARE = 1e-10


class Smoother(Protocol):
    """Predicts memberships from those of other rows."""

    def smooth(self, memberships: Floats) -> Floats:
        """Give each row what the others predict for it, (n_samples, n_groups)."""


class NeighborSmoother:
    """Mean of the memberships of neighbours, by affinity.

    Parameters
    ----------
    graph : csr_array of shape (n_samples, n_samples)
        Affinities of neighbours; nothing on the diagonal.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from clew.cluster.guided._smoothers import NeighborSmoother
    >>> graph = csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]]))
    >>> NeighborSmoother(graph).smooth(np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 1.0]]))
    array([[0.5, 0.5],
           [0.5, 0.5],
           [0.5, 0.5]])
    """

    def __init__(self, graph: csr_array) -> None:
        degree = graph.sum(axis=1)
        inverse = np.divide(1.0, degree, out=np.zeros(len(degree)), where=degree > 0)
        self._mean = csr_array(diags_array(inverse) @ graph)

    def smooth(self, memberships: Floats) -> Floats:
        """Give each row what its neighbours are.

        Parameters
        ----------
        memberships : ndarray of shape (n_samples, n_groups)
            Chances of groups.

        Returns
        -------
        ndarray of shape (n_samples, n_groups)
            Nil for a row without neighbours.
        """
        return np.asarray(self._mean @ memberships)


class RidgeSmoother:
    """Leave-one-out prediction of memberships by kernel ridge regression on ranks.

    Each feature is replaced by the ranks of its values, so that neither units nor outliers matter.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Features.
    seed : int, default=0
        Samples the rows that span the kernel, where there are many.

    Raises
    ------
    ValueError
        If features are missing, infinite or no numbers.

    Notes
    -----
    A Gaussian kernel of which the squared width is half the median squared distance, a ridge of
    .003 for each row, and a mean that is free. Of more than 400 rows, 400 drawn at random span the
    kernel (200 of more than 5,000). Time O(n·r²) once and O(n·r·K) for each call; memory O(n·r).

    Examples
    --------
    >>> import numpy as np
    >>> from clew.cluster.guided._smoothers import RidgeSmoother
    >>> X = np.arange(20.0)[:, None]
    >>> first = (X < 10).astype(float)
    >>> smooth = RidgeSmoother(X).smooth(np.column_stack([first, 1 - first]))
    >>> bool(smooth[2, 0] > 0.9 and smooth[17, 0] < 0.1)
    True
    """

    def __init__(self, X: ArrayLike, seed: int = 0) -> None:
        rows = check_matrix(X)
        self._sorted = np.sort(rows, axis=0)
        n = len(rows)
        ranks = self._ranks(rows)
        self._width = WIDTH * _median_squared_distance(ranks, seed)
        n_pivots = min(n, FEWER_PIVOTS if n > MANY_ROWS else MAX_PIVOTS)
        chosen = np.random.RandomState(seed).choice(n, n_pivots, replace=False)
        self._pivots = ranks[np.sort(chosen)]
        value, vectors = np.linalg.eigh(self._kernel(self._pivots))
        is_kept = value > LEAST_SHARE * value.max()
        self._whiten = vectors[:, is_kept] / np.sqrt(value[is_kept])
        features = self._features(ranks)
        self._mean = features.mean(axis=0)
        features -= self._mean
        gram = features.T @ features
        gram[np.diag_indices_from(gram)] += RIDGE * n
        root = np.linalg.cholesky(gram)
        self._half = np.linalg.solve(root, features.T).T
        self._root = root
        self._own = (self._half**2).sum(axis=1) + 1 / n

    def smooth(self, memberships: Floats) -> Floats:
        """Give each row what the model of all other rows predicts.

        Parameters
        ----------
        memberships : ndarray of shape (n_samples, n_groups)
            Chances of groups.

        Returns
        -------
        ndarray of shape (n_samples, n_groups)
            May leave [0, 1] a little.
        """
        fitted = self._half @ (self._half.T @ memberships) + memberships.mean(axis=0)
        left = np.maximum(1 - self._own, LEAST_LEFT_OUT)
        return np.asarray((fitted - self._own[:, None] * memberships) / left[:, None])

    def predict(self, memberships: Floats, X: Floats) -> Floats:
        """Predict the memberships of any rows.

        Parameters
        ----------
        memberships : ndarray of shape (n_samples, n_groups)
            Chances of groups of the rows that the smoother was made of.
        X : ndarray of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows, n_groups)
            May leave [0, 1] a little.
        """
        coefficients = np.linalg.solve(self._root.T, self._half.T @ memberships)
        features = self._features(self._ranks(X)) - self._mean
        return np.asarray(features @ coefficients + memberships.mean(axis=0))

    def _kernel(self, ranks: Floats) -> Floats:
        """Give the kernel of rows with the pivots."""
        squared = euclidean_distances(ranks, self._pivots, squared=True)
        return np.asarray(np.exp(-squared / self._width))

    def _features(self, ranks: Floats) -> Floats:
        """Give features of which the inner products are the kernel, as far as pivots span it."""
        return np.asarray(self._kernel(ranks) @ self._whiten)

    def _ranks(self, X: Floats) -> Floats:
        """Give the share of fitted values below each value, ties counted half."""
        ranks = np.empty(X.shape)
        for at, values in enumerate(self._sorted.T):
            below = np.searchsorted(values, X[:, at], side="left")
            ranks[:, at] = (below + np.searchsorted(values, X[:, at], side="right")) / 2
        return ranks / len(self._sorted)


def _median_squared_distance(ranks: Floats, seed: int) -> float:
    n = len(ranks)
    random = np.random.RandomState(seed)
    rows = ranks if n <= SAMPLE_ROWS else ranks[random.choice(n, SAMPLE_ROWS, replace=False)]
    squared = euclidean_distances(rows, squared=True)
    apart = squared[squared > 0]
    return float(np.median(apart)) if apart.size else 1.0
