"""Rows that stand for others, so that pairs of them can be compared."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clew._parallel import one_blas_thread
from clew.cluster._kmeans import kmeans
from clew.questions._known import KnownPairs

__all__ = ["Representatives"]

MAX_ITER = 10


class Representatives(NamedTuple):
    """Some rows, and which of them each row follows.

    Parameters
    ----------
    rows : ndarray of shape (n_representatives,), int64
        The representative rows, ascending.
    number : ndarray of shape (n_samples,), int64
        Position in `rows` of the representative of each row.
    size : ndarray of shape (n_representatives,), int64
        Number of rows that follow each.
    """

    rows: NDArray[np.int64]
    number: NDArray[np.int64]
    size: NDArray[np.int64]

    @classmethod
    def of(cls, X: NDArray[np.float64], metric: str, n: int, seed: int) -> Self:
        """Choose representatives: of features the rows nearest to k-means centers.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features) or (n_samples, n_samples)
            Features or distances.
        metric : {"euclidean", "precomputed"}
            What `X` is. Of distances, random rows are taken; each row follows the nearest.
        n : int
            Their number; if all rows, each stands for itself.
        seed : int
            Seed of the choice.

        Returns
        -------
        Representatives
            Fewer than `n` if groups have the same nearest row.
        """
        if n == len(X):
            every = np.arange(n)
            return cls(every, every, np.ones(n, np.int64))
        rows = np.sort(np.random.RandomState(seed).choice(len(X), n, replace=False))
        if metric == "precomputed":
            number = X[:, rows].argmin(axis=1)
            number[rows] = np.arange(n)
            return cls(rows.astype(np.int64), number, np.bincount(number, minlength=n))
        with one_blas_thread():
            run = kmeans(X, n, n_init=1, random_state=seed, init=X[rows], max_iter=MAX_ITER)
        from_center = ((X - run.centers[run.labels]) ** 2).sum(axis=1)
        order = np.lexsort((from_center, run.labels))
        labels, first = np.unique(run.labels[order], return_index=True)
        nearest = order[first]
        by_row = np.argsort(nearest)
        number = np.empty(n, np.int64)
        number[labels[by_row]] = np.arange(len(labels))
        groups = number[run.labels]
        return cls(nearest[by_row], groups, np.bincount(groups, minlength=len(labels)))

    def data(self, X: NDArray[np.float64], metric: str) -> NDArray[np.float64]:
        """Return the features of the representatives, or the distances between them."""
        if len(self.rows) == len(X):
            return X
        return np.asarray(
            X[np.ix_(self.rows, self.rows)] if metric == "precomputed" else X[self.rows]
        )

    def known(self) -> KnownPairs:
        """Return what no answers imply about pairs of representatives."""
        return KnownPairs(len(self.rows), self.number)
