"""The methods that the tables compare."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import pairwise_distances

from clew import Constraints
from clew.cluster import SimilarityClustering, SpectralClustering
from clew.similarity import COPRF, ClustRF

__all__ = ["METHODS", "Method", "gaussian_affinity"]

SCALE_NEIGHBORS = 20
Floats = NDArray[np.float64]


def gaussian_affinity(X: Floats, n_neighbors: int = SCALE_NEIGHBORS) -> Floats:
    """Measure Gaussian affinities whose scale follows the density.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    n_neighbors : int, default=20
        The scale of a row is its mean distance to so many neighbours.

    Returns
    -------
    ndarray of shape (n_samples, n_samples)
        ``exp(-d_ij² / (s_i · s_j))``.
    """
    distance = pairwise_distances(X)
    # Column 0 is the row itself.
    nearest = np.sort(distance, axis=1)[:, 1 : n_neighbors + 1]
    scale = np.maximum(nearest.mean(axis=1), np.finfo(float).tiny ** 0.5)
    affinity: Floats = np.exp(-(distance**2) / (scale[:, None] * scale))
    return (affinity + affinity.T) / 2


@dataclass(frozen=True)
class Method:
    """One column of the tables."""

    name: str
    label: str
    make: Callable[[int, int], Any]
    """Gives the estimator for a number of clusters and of trees."""
    uses_answers: bool = False
    uses_affinity: bool = False

    def labels(
        self, X: Floats, n_clusters: int, n_trees: int, answers: Constraints | None, seed: int
    ) -> NDArray[np.int64]:
        """Find the groups."""
        model = self.make(n_clusters, n_trees)
        if "random_state" in model.get_params():
            model.set_params(random_state=seed)
        seen = gaussian_affinity(X) if self.uses_affinity else X
        extra = {"constraints": answers} if self.uses_answers else {}
        return np.asarray(model.fit(seen, **extra).labels_)

    def version(self, n_trees: int) -> str:
        """Hash the parameters: results under another version are another method's."""
        parameters = self.make(2, n_trees).get_params(deep=True)
        plain = {key: str(value) for key, value in sorted(parameters.items())}
        about = (self.name, self.uses_answers, self.uses_affinity, SCALE_NEIGHBORS, plain)
        return hashlib.sha256(repr(about).encode()).hexdigest()[:10]


def _published(n_clusters: int, n_trees: int) -> SimilarityClustering:
    forest = COPRF(n_trees, mode="hard", trust="inconsistency", affinity="leaf")
    return SimilarityClustering(forest, SpectralClustering(n_clusters, n_neighbors="paper"))


METHODS = (
    Method(
        "spclust",
        "SPClust, k = N/10",
        lambda k, t: SpectralClustering(k, n_neighbors="paper"),
        uses_affinity=True,
    ),
    Method(
        "spclust_auto", "SPClust, k auto", lambda k, t: SpectralClustering(k), uses_affinity=True
    ),
    Method("ward", "Ward", lambda k, t: AgglomerativeClustering(k)),
    Method(
        "clustrf",
        "ClustRF",
        lambda k, t: SimilarityClustering(ClustRF(t), SpectralClustering(k)),
    ),
    Method("coprf_hard", "COP-RF hard, as published", _published, uses_answers=True),
    Method(
        "coprf",
        "COP-RF default",
        lambda k, t: SimilarityClustering(COPRF(t), SpectralClustering(k)),
        uses_answers=True,
    ),
)
