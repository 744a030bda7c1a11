"""Base class of the similarities that learn distances from distances."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from clew._estimators import ConstrainedTransformer, guarded_fit
from clew._parallel import Progress
from clew._validation import Allowed, check_features, check_parameters
from clew.constraints import Conflict, Constraints, Support
from clew.constraints._support import answers_for, of_some_weight
from clew.graphs import (
    check_distances,
    check_distances_to_fitted,
    check_n_neighbors,
    largest_stored,
    local_gaussian,
)
from clew.similarity.adaptive_knn import AdaptiveKNN
from clew.similarity.distances._given import GivenDistances, distances_of, given_distances
from clew.similarity.distances._links import Links, links_of

__all__ = ["METRICS", "Learned", "LearnedDistances", "Metric"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Metric = Literal["precomputed", "euclidean"]
METRICS = Allowed(names=("precomputed", "euclidean"))
#: Changes below this share of the largest distance are rounding errors.
LEAST_CHANGE = 1e-6
#: Number of neighbors in local scales; the other two numbers are those of `AdaptiveKNN`.
SCALE_NEIGHBORS, CANDIDATES_PER_NEIGHBOR, FEWEST_CANDIDATES = 20, 3, 50


class Learned(NamedTuple):
    """Distances that were learned, in units of the largest given one."""

    keys: Ints
    """``i·n + j`` of each pair, where i < j."""
    distance: Floats


class LearnedDistances(ConstrainedTransformer):
    """Learn new distances from given distances, or from those of features, and answers.

    Affinities are Gaussians of the learned distances, with local scales, see `AdaptiveKNN`.
    Subclasses store `metric`, declare `_allowed`, and implement `_learn` and `_embed`.
    """

    supports: ClassVar[Support] = Support(pairs=True, dont_know=True)
    _allowed: ClassVar[dict[str, Any]]

    metric: Metric
    distances_: csr_array
    n_changed_: int
    conflicts_: list[Conflict]
    _given: GivenDistances
    _is_graph: bool

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        is_given = self.metric == "precomputed"
        tags.input_tags.pairwise = is_given
        tags.input_tags.positive_only = is_given
        tags.input_tags.sparse = is_given
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags

    @guarded_fit
    def fit(
        self,
        X: ArrayLike | csr_array,
        y: ArrayLike | None = None,
        *,
        constraints: Constraints | None = None,
        callback: Progress | None = None,
    ) -> Self:
        """Learn the distances.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_samples)
            Distances of all pairs of rows, square or condensed, or a sparse graph of those that are
            known, such as the distances to the nearest rows; stored zeros are distances of 0. With
            ``metric="euclidean"``, features of shape (n_samples, n_features).
        y : ignored
            Present for compatibility with scikit-learn.
        constraints : Constraints, default=None
            Must-links and cannot-links; None for no answers.
        callback : callable, default=None
            Called as ``callback(n_done, n_steps)``.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        self._given = self._read(X)
        n = self._given.n_samples
        known = answers_for(self, constraints, n)
        self.conflicts_ = of_some_weight(known).conflicts()
        learned = self._learn(self._given, links_of(known), known, callback)
        before, _ = self._given.of_pairs(*np.divmod(learned.keys, n))
        self.n_changed_ = int((np.abs(learned.distance - before) > LEAST_CHANGE).sum())
        self.distances_ = _symmetric(learned.keys, learned.distance * self._given.unit, n)
        self._n_features_out = n
        if self._is_graph:
            self.__dict__["affinity_matrix_"] = self._graph_of_affinities(None)
        return self

    def _learn(
        self, given: GivenDistances, links: Links, known: Constraints, callback: Progress | None
    ) -> Learned:
        """Return the learned distances, and set the further fitted attributes."""
        raise NotImplementedError

    def _embed(self, distances: Floats) -> Floats:
        """Change distances of new rows to fitted rows, in units of the largest given distance."""
        raise NotImplementedError

    def _read(self, X: Any) -> GivenDistances:
        self._is_graph = False
        if self.metric == "euclidean":
            return distances_of(check_features(self, X))
        checked = check_distances(X, estimator=self, accept_sparse=True)
        self._is_graph = issparse(checked)
        return given_distances(checked)

    def dense_distances(self) -> Floats:
        """Return the learned distances of all pairs of fitted rows.

        Returns
        -------
        ndarray of shape (n_samples, n_samples)
            The given distances, and `distances_` where they were learned. If a sparse graph was
            given, unknown distances are the largest known one.

        Raises
        ------
        TooLargeError
            For a graph or features, above 20,000 rows.
        """
        check_is_fitted(self, "distances_")
        found, learned = self._given.dense(), self.distances_.tocoo()
        found[learned.coords] = learned.data
        return found

    def transform(self, X: ArrayLike) -> Floats:
        """Compute the distances of rows to the fitted rows, as the learned distances change them.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_samples)
            Given distances of the rows to all fitted rows; with ``metric="euclidean"``, features of
            shape (n_rows, n_features).

        Returns
        -------
        ndarray of shape (n_rows, n_samples)
            Learned distances. Fitted rows are treated as new ones: their distances differ from
            `dense_distances`.

        Raises
        ------
        InvalidDataError
            If distances are negative.
        """
        check_is_fitted(self, "distances_")
        if self.metric == "precomputed":
            rows = check_distances_to_fitted(self, X)
        else:
            rows = check_features(self, X, reset=False)
        return self._embed(self._given.to_fitted(rows)) * self._given.unit

    @cached_property
    def _nearness(self) -> AdaptiveKNN:
        return AdaptiveKNN(metric="precomputed").fit(self.dense_distances())

    @cached_property
    def affinity_matrix_(self) -> NDArray[np.float32] | csr_array:
        """Affinities of all pairs of fitted rows, (n_samples, n_samples).

        Computed at the first access; sparse if the given distances were a sparse graph.
        """
        check_is_fitted(self, "distances_")
        return self._nearness.affinity_matrix_

    def affinity_to_fitted(self, X: ArrayLike) -> NDArray[np.float32]:
        """Compute the affinities of rows to all fitted rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_samples)
            As for `transform`.

        Returns
        -------
        ndarray of shape (n_rows, n_samples), float32
            Affinities in [0, 1].
        """
        return self._nearness.transform(self.transform(X))

    def kneighbors_graph(self, n_neighbors: int = 20) -> csr_array:
        """Find the most similar rows of each fitted row, without a dense matrix.

        Parameters
        ----------
        n_neighbors : int, default=20
            Number of rows to find for each row.

        Returns
        -------
        csr_array of shape (n_samples, n_samples), float64
            Row i holds the affinities to the `n_neighbors` rows most similar to it, without itself;
            to fewer if a graph was given in which fewer distances are known.

        Raises
        ------
        InvalidParameterError
            If `n_neighbors` is not between 1 and ``n_samples - 1``.
        """
        check_is_fitted(self, "distances_")
        check_n_neighbors(n_neighbors, self._given.n_samples)
        return largest_stored(self._graph_of_affinities(n_neighbors), n_neighbors)

    def _graph_of_affinities(self, n_neighbors: int | None) -> csr_array:
        """Return affinities of nearest rows (None: all known ones) and of learned distances."""
        n = self._given.n_samples
        wanted = max(CANDIDATES_PER_NEIGHBOR * (n_neighbors or n), FEWEST_CANDIDATES)
        nearest, learned = self._given.nearest(min(wanted, n - 1)), self.distances_.tocoo()
        row = np.repeat(np.arange(n), np.diff(nearest.indptr))
        keys = np.concatenate([learned.row * n + learned.col, row * n + nearest.indices])
        distance = np.concatenate([learned.data / self._given.unit, nearest.distance])
        keys, first = np.unique(
            keys, return_index=True
        )  # keeps learned distances, which come first
        row, column = np.divmod(keys, n)
        distance = distance[first]
        scale = _local_scales(row, distance, n)
        width = (scale[row] + scale[column]) / 2
        return csr_array((local_gaussian(distance, width, width), (row, column)), shape=(n, n))


def _symmetric(keys: Ints, distance: Floats, n_samples: int) -> csr_array:
    i, j = np.divmod(keys, n_samples)
    row, column = np.concatenate([i, j]), np.concatenate([j, i])
    both = np.concatenate([distance, distance])
    return csr_array((both, (row, column)), shape=(n_samples, n_samples))


def _local_scales(row: Ints, distance: Floats, n_samples: int) -> Floats:
    """Return the mean distance of each row to its nearest rows that do not coincide with it."""
    order = np.lexsort((distance, row))
    order = order[distance[order] > 0]
    row, distance = row[order], distance[order]
    rank = np.arange(len(row)) - np.searchsorted(row, row)
    near = rank < SCALE_NEIGHBORS
    count = np.bincount(row[near], minlength=n_samples)
    total = np.bincount(row[near], distance[near], minlength=n_samples)
    return np.divide(total, count, out=np.ones(n_samples), where=count > 0)
