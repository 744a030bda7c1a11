"""Clusterings that follow no answers, by number of groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, ward
from scipy.linalg import qr
from scipy.sparse import csr_array
from sklearn.metrics import pairwise_distances, silhouette_score
from sklearn.preprocessing import normalize

from clew.cluster._kmeans import kmeans
from clew.cluster.guided._ensemble.answer_errors import weighted_folds
from clew.cluster.guided._ensemble.ensemble import Clustering, Fold, Labels
from clew.cluster.guided._features.views import Views
from clew.cluster.guided._members.ward import ward_of_distances
from clew.cluster.spectral import spectral_embedding

__all__ = ["LEAST_MEAN_ROWS", "SAMPLE_ROWS", "UnconstrainedNumbers"]

Floats = NDArray[np.float64]

#: Silhouettes are means over at most this number of rows.
SAMPLE_ROWS = 1_000
#: For large numbers of groups, only Ward's linkage is cut, and only if groups have at least this
#: many rows on average.
LEAST_MEAN_ROWS = 5


class UnconstrainedNumbers:
    """Clusterings that follow no answers, by number of groups, and their silhouettes."""

    def __init__(self, views: Views, most: int, seed: int) -> None:
        self.views = views
        self.most, self._seed = most, seed
        self._spectral = self.spectral(views.read("neighbors", 20))
        self._labels: dict[int, list[Labels]] = {}
        self._judges: list[int] = []

    def partitions(self, n_clusters: int) -> list[Labels]:
        """Return the labels of Ward's linkage and of spectral clustering.

        Parameters
        ----------
        n_clusters : int
            Number of groups.

        Returns
        -------
        list of ndarray of shape (n_samples,), int64
            Above `most` groups Ward's alone, and none if groups have fewer than five rows on
            average.
        """
        if n_clusters not in self._labels:
            is_spectral = n_clusters <= self.most
            labels = []
            if is_spectral or LEAST_MEAN_ROWS * n_clusters <= len(self.views.X):
                labels.append(self._ward(n_clusters))
            if is_spectral:
                labels.append(self._spectral(n_clusters))
            self._labels[n_clusters] = labels
        return self._labels[n_clusters]

    def spectral(self, graph: csr_array) -> Callable[[int], Labels]:
        """Compute the eigenvectors of a graph once, for all numbers of groups.

        Returns
        -------
        callable
            Maps a number of groups to labels.
        """
        embedding = spectral_embedding(graph, self.most, self._seed)

        def labels(n_clusters: int) -> Labels:
            rows = normalize(embedding[:, -n_clusters:])
            start = rows[_pivots(rows)]
            return kmeans(rows, n_clusters, n_init=1, random_state=0, init=start).labels

        return labels

    def silhouette(self, n_clusters: int) -> float:
        """Return the larger mean silhouette of the two clusterings."""
        rows, distances = self._sample
        found = [-1.0]
        for labels in self.partitions(n_clusters):
            if 1 < len(np.unique(labels[rows])) < len(rows):
                found.append(silhouette_score(distances, labels[rows], metric="precomputed"))
        return float(max(found))

    def keep_judges(self) -> None:
        """Use the clusterings so far, and no later ones, to weigh annotators."""
        self._judges = list(self._labels)

    def weighted(self, folds: Sequence[Fold]) -> list[Fold]:
        """Weigh answers by annotator, see `keep_judges`."""
        if len(folds[0].held.annotators) < 2:
            return list(folds)
        clusterings = [
            Clustering(f"{k}, {at}", lambda _, labels=labels: labels)  # type: ignore[misc]
            for k in self._judges
            for at, labels in enumerate(self._labels[k])
        ]
        return weighted_folds(folds, clusterings)[0]

    @property
    def sampled_features(self) -> Floats:
        """Features of the rows whose silhouettes are computed."""
        return np.asarray(self.views.X[self._sample[0]])

    @cached_property
    def _sample(self) -> tuple[NDArray[np.intp], Floats]:
        n = len(self.views.X)
        rows = np.arange(n)
        if n > SAMPLE_ROWS:
            rows = np.random.RandomState(self._seed).choice(n, SAMPLE_ROWS, replace=False)
        if self.views.distances is not None:
            return rows, np.asarray(self.views.distances[np.ix_(rows, rows)], dtype=np.float64)
        return rows, pairwise_distances(self.views.X[rows])

    @cached_property
    def _tree(self) -> Floats:
        if self.views.distances is not None:
            return ward_of_distances(self.views.distances)
        return np.asarray(ward(self.views.X))

    def _ward(self, n_clusters: int) -> Labels:
        return np.asarray(fcluster(self._tree, n_clusters, "maxclust"), dtype=np.int64)


def _pivots(rows: Floats) -> NDArray[np.intp]:
    """Return as many rows as there are columns, chosen by QR with pivoting."""
    _, order = qr(rows.T, mode="r", pivoting=True, check_finite=False)
    return np.asarray(order[: rows.shape[1]])
