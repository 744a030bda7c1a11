"""What all k-medoids methods share: input, result, and assignment of new rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.random import RandomState as Generator
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from clew._estimators import Clusterer, OfDistances, guarded_fit
from clew._parallel import blocks
from clew._validation import (
    Allowed,
    RandomState,
    check_data,
    check_n_clusters,
    check_parameters,
    derived_seeds,
)
from clew.cluster._kmeans import best_start, warn_of_fewer_groups
from clew.cluster.medoids._distances import BLOCK_ENTRIES, Metric, RowDistances, checked_distances
from clew.kernels.medoids import Assignment

#: A swap is made if it lowers the sum of distances by more than this share.
TOLERANCE = 1e-9


class MedoidRun(NamedTuple):
    """The result of one start."""

    medoids: NDArray[np.int64]
    """Row numbers, (n_clusters,)."""
    cost: float
    """Sum of distances that the search minimizes."""
    n_iter: int
    n_swaps: int


def empty_assignment(n_samples: int) -> Assignment:
    """Make room for the nearest two medoids of each row."""
    index, distance = np.zeros((2, n_samples), np.int64), np.zeros((2, n_samples))
    return Assignment(index[0], index[1], distance[0], distance[1])


def best_run(search: Callable[[int], MedoidRun], seeds: list[int]) -> MedoidRun:
    """Search from each seed, and return the run of lowest cost."""
    best = best_start(search, seeds, lambda run: run.cost)
    assert best is not None  # n_init is at least 1, and no start fails
    return best


class MedoidsClusterer(OfDistances, Clusterer):
    """A clusterer that chooses rows as centers; subclasses write `_search`."""

    n_clusters: int
    metric: Metric
    metric_params: Mapping[str, Any] | None
    n_init: int
    random_state: RandomState

    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1),
        "n_init": Allowed(kind=int, low=1),
    }

    medoid_indices_: NDArray[np.int64]
    cluster_centers_: NDArray[np.floating]
    inertia_: float
    n_iter_: int
    n_swaps_: int
    _centers: RowDistances | None

    @guarded_fit
    def fit(self, X: ArrayLike, y: ArrayLike | None = None) -> Self:
        """Find the groups.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Features, or distances between rows.
        y : ignored
            Present by convention.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        distances = checked_distances(self, X, self.metric, self.metric_params)
        check_n_clusters(self, distances.n_samples)
        self._check_sizes(distances.n_samples)
        *seeds, last = derived_seeds(self.random_state, self.n_init + 1)
        best = self._solve(distances, seeds, np.random.RandomState(last))
        self._store(distances, best)
        return self

    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Assign rows to the group of the nearest medoid.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features) or (n_rows, n_samples)
            Features; or, with precomputed distances, those to all fitted rows.

        Returns
        -------
        ndarray of shape (n_rows,), int64
        """
        check_is_fitted(self, "labels_")
        rows = check_data(self, X, reset=False, dtype=[np.float64, np.float32])
        if self._centers is None:
            return np.asarray(rows[:, self.medoid_indices_].argmin(axis=1))
        labels = np.empty(len(rows), np.int64)
        for start, stop in blocks(len(rows), max(BLOCK_ENTRIES // len(self.medoid_indices_), 1)):
            labels[start:stop] = self._centers.of_others(rows[start:stop]).argmin(axis=1)
        return labels

    def _check_sizes(self, n_samples: int) -> None:
        """Check parameters against the number of rows."""

    def _solve(self, distances: RowDistances, seeds: list[int], random: Generator) -> MedoidRun:
        """Search for medoids from each seed, and return the best run."""
        raise NotImplementedError

    def _store(self, distances: RowDistances, run: MedoidRun) -> None:
        """Assign all rows to their nearest medoids, and number groups by their first rows."""
        assigned, distance = distances.to_nearest(run.medoids)
        found, first = np.unique(assigned, return_index=True)
        medoids = run.medoids[found[np.argsort(first)]]
        rank = np.empty(len(run.medoids), np.int64)
        rank[found[np.argsort(first)]] = np.arange(len(found))
        self.labels_ = rank[assigned]
        self.n_iter_, self.n_swaps_ = run.n_iter, run.n_swaps
        self.medoid_indices_ = medoids
        self.inertia_ = float(distance.sum())
        self._centers = None
        if not distances.is_given:
            self.cluster_centers_ = distances.rows[medoids].copy()
            self._centers = distances.part(medoids)
        warn_of_fewer_groups(self, self.labels_, distances.rows)
