"""Ward's linkage of given distances."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.cluster.hierarchy import fcluster, ward
from scipy.spatial.distance import squareform

from clew._estimators import Clusterer

__all__ = ["WardOfDistances", "ward_of_distances"]

#: Equal heights are moved apart by this share of the largest height.
STEP = 1e-12


def ward_of_distances(D: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the tree of Ward's linkage, as `scipy.cluster.hierarchy.linkage` does.

    Parameters
    ----------
    D : ndarray of shape (n_samples, n_samples)
        Distances, as `clew.graphs.check_distances` returns them. They need not be Euclidean: Lance
        and Williams' formula is applied to their squares in any case.

    Returns
    -------
    ndarray of shape (n_samples - 1, 4)
    """
    return np.asarray(ward(squareform(D, checks=False).astype(np.float64, copy=False)))


class WardOfDistances(Clusterer):
    """Cut the tree of Ward's linkage of given distances.

    Parameters
    ----------
    n_clusters : int
        Number of groups.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of each row.
    """

    def __init__(self, n_clusters: int) -> None:
        self.n_clusters = n_clusters

    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Find the groups.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_samples)
            Checked distances.
        y : ignored
            Present by convention.

        Returns
        -------
        self
        """
        tree = ward_of_distances(np.asarray(X))
        # so that the tree can be cut between merges of equal height
        tree[:, 2] += STEP * max(float(tree[-1, 2]), STEP) * np.arange(len(tree))
        self.labels_ = np.asarray(fcluster(tree, self.n_clusters, "maxclust"), np.int64) - 1
        return self
