"""Base class of the similarities that learn distances from distances, and what they are given."""

from __future__ import annotations

from functools import cached_property
from typing import ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from clew._estimators import ConstrainedTransformer, OfDistances, guarded_fit
from clew._parallel import Progress, blocks, one_blas_thread
from clew._units import Units
from clew._validation import Allowed, check_features, check_parameters
from clew.constraints import Conflict, Constraints, Support
from clew.constraints._support import answers_for, of_some_weight
from clew.graphs import (
    NeighborSearch,
    check_dense_size,
    check_distances,
    check_distances_to_fitted,
    check_n_neighbors,
    largest_stored,
    local_gaussian,
)
from clew.similarity.adaptive_knn import AdaptiveKNN

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Metric = Literal["precomputed", "euclidean"]
METRICS = Allowed(names=("precomputed", "euclidean"))
#: Changes below this share of the largest distance are rounding errors.
LEAST_CHANGE = 1e-6
#: Number of neighbors in local scales; the other two numbers are those of `AdaptiveKNN`.
SCALE_NEIGHBORS, CANDIDATES_PER_NEIGHBOR, FEWEST_CANDIDATES = 20, 3, 50
ROWS_PER_BLOCK = 1024


class Learned(NamedTuple):
    """Distances that were learned, in units of the largest given one."""

    keys: Ints  # ``i·n + j`` of each pair, where i < j
    distance: Floats


class LearnedDistances(OfDistances, ConstrainedTransformer):
    """New distances from given ones or features, and answers; affinities as in `AdaptiveKNN`.

    Subclasses store `metric`, declare `_allowed`, and implement `_learn` and `_embed`.
    """

    supports: ClassVar[Support] = Support(pairs=True, dont_know=True)

    metric: Metric
    distances_: csr_array
    n_changed_: int
    conflicts_: list[Conflict]
    _given: GivenDistances
    _is_graph: bool

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric == "precomputed"
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
        if self.metric == "euclidean":
            self._given, self._is_graph = FeatureDistances(check_features(self, X)), False
        else:
            checked = check_distances(X, estimator=self, accept_sparse=True)
            self._given, self._is_graph = given_distances(checked), issparse(checked)
        n = self._given.n_samples
        answers = answers_for(self, constraints, n)
        self.conflicts_ = of_some_weight(answers).conflicts()
        keys, distance = self._learn(self._given, links_of(answers), answers, callback)
        i, j = np.divmod(keys, n)
        before, _ = self._given.of_pairs(i, j)
        self.n_changed_ = int((np.abs(distance - before) > LEAST_CHANGE).sum())
        both = (np.concatenate([i, j]), np.concatenate([j, i]))
        self.distances_ = csr_array((np.tile(distance * self._given.unit, 2), both), shape=(n, n))
        self._n_features_out = n
        if self._is_graph:
            self.__dict__["affinity_matrix_"] = self._graph_of_affinities(None)
        return self

    def _learn(
        self, given: GivenDistances, links: Links, answers: Constraints, callback: Progress | None
    ) -> Learned:
        """Return the learned distances, and set the further fitted attributes."""
        raise NotImplementedError

    def _embed(self, distances: Floats) -> Floats:
        """Change distances of new rows to fitted rows, in units of the largest given distance."""
        raise NotImplementedError

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
        matrix, learned = self._given.dense(), self.distances_.tocoo()
        matrix[learned.coords] = learned.data
        return matrix

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
        # Keeps learned distances, which come first.
        keys, first = np.unique(keys, return_index=True)
        row, column = np.divmod(keys, n)
        distance = distance[first]
        scale = _local_scales(row, distance, n)
        width = (scale[row] + scale[column]) / 2
        return csr_array((local_gaussian(distance, width, width), (row, column)), shape=(n, n))


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


class Links(NamedTuple):
    """Answered pairs of positive weight, in ascending order."""

    keys: Ints  # ``i·n + j`` of each pair, where i < j
    must: Floats  # total weight of the must-links of each pair
    cannot: Floats  # total weight of the cannot-links of each pair


def links_of(answers: Constraints) -> Links:
    """Add up the answers to each pair; don't-knows and answers of weight 0 are left out."""
    weight = np.where(answers.is_dont_know, 0.0, answers.pair_weights)
    is_used = weight > 0
    row = answers.pairs[is_used].min(axis=1, initial=answers.n_samples)
    other = answers.pairs[is_used].max(axis=1, initial=0)
    keys, at = np.unique(row * answers.n_samples + other, return_inverse=True)
    must = np.where(answers.is_must_link, weight, 0.0)[is_used]
    cannot = np.where(answers.is_cannot_link, weight, 0.0)[is_used]
    return Links(
        keys.astype(np.int64),
        np.bincount(at, must, len(keys)).astype(np.float64),
        np.bincount(at, cannot, len(keys)).astype(np.float64),
    )


class Neighbors(NamedTuple):
    """The nearest rows of each row, as in a CSR matrix, ascending by distance."""

    indptr: Ints
    indices: Ints
    distance: Floats


class GivenDistances(Protocol):
    """Interface to given distances, in units of the largest one."""

    n_samples: int
    unit: float  # the largest distance; 1 if all are 0

    def of_pairs(self, rows: Ints, others: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        """Return the distances of pairs of rows, and which of them are known."""

    def nearest(self, n_neighbors: int) -> Neighbors:
        """Find the nearest rows of each row; fewer where fewer distances are known."""

    def dense(self) -> Floats:
        """Return a new matrix of all distances, (n_samples, n_samples), as given."""

    def to_fitted(self, rows: Floats) -> Floats:
        """Return the distances of rows to all fitted rows."""


def given_distances(distances: Floats | csr_array) -> GivenDistances:
    """Wrap distances as `check_distances` returns them."""
    return GraphDistances(distances) if issparse(distances) else MatrixDistances(distances)


class MatrixDistances:
    """A matrix of distances."""

    def __init__(self, matrix: Floats) -> None:
        self._matrix = matrix
        self.n_samples, self.unit = len(matrix), float(matrix.max()) or 1.0

    def of_pairs(self, rows: Ints, others: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        distance = self._matrix[rows, others] / self.unit
        return distance, np.ones(len(distance), np.bool_)

    def nearest(self, n_neighbors: int) -> Neighbors:
        search = NeighborSearch(self._matrix, is_distance=True)
        distance, index = search.nearest_others(n_neighbors)
        return _neighbors(distance / self.unit, index)

    def dense(self) -> Floats:
        return self._matrix.copy()

    def to_fitted(self, rows: Floats) -> Floats:
        return rows / self.unit


class GraphDistances:
    """A sparse graph of distances; pairs that are not stored are unknown: the largest distance."""

    def __init__(self, graph: csr_array) -> None:
        n = self.n_samples = int(graph.shape[0])
        self._indptr = graph.indptr.astype(np.int64)
        row = np.repeat(np.arange(n), np.diff(self._indptr))
        self._keys = row * n + graph.indices
        self.unit = float(graph.data.max(initial=0.0)) or 1.0
        self._distance = graph.data / self.unit

    def of_pairs(self, rows: Ints, others: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        distance = np.ones(len(rows))
        if not len(self._keys):
            return distance, np.zeros(len(rows), np.bool_)
        keys = rows * self.n_samples + others
        at = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        is_known = self._keys[at] == keys
        distance[is_known] = self._distance[at[is_known]]
        return distance, is_known

    def nearest(self, n_neighbors: int) -> Neighbors:
        row, column = np.divmod(self._keys, self.n_samples)
        order = np.lexsort((column, self._distance, row))
        is_kept = np.arange(len(row)) - self._indptr[row] < n_neighbors
        count = np.minimum(np.diff(self._indptr), n_neighbors)
        indptr = np.concatenate([[0], np.cumsum(count)])
        return Neighbors(indptr, column[order][is_kept], self._distance[order][is_kept])

    def dense(self) -> Floats:
        check_dense_size(self.n_samples)
        matrix = np.full((self.n_samples, self.n_samples), self.unit)
        i, j = np.divmod(self._keys, self.n_samples)
        matrix[i, j] = self._distance * self.unit
        np.fill_diagonal(matrix, 0.0)
        return matrix

    def to_fitted(self, rows: Floats) -> Floats:
        return rows / self.unit


class FeatureDistances:
    """Euclidean distances of features, computed where they are read; `to_fitted` takes features."""

    def __init__(self, X: Floats) -> None:
        self.n_samples = len(X)
        units = Units.around_median(X)
        rows = units.scale(X)
        largest = max(
            float(_euclidean(rows[start:stop], rows).max())
            for start, stop in blocks(len(rows), ROWS_PER_BLOCK)
        )
        self._rows, self._search = rows / (largest or 1.0), NeighborSearch(rows)
        self._units, self._largest = units, largest or 1.0
        with np.errstate(over="ignore"):
            self.unit = float(self._largest * units.unit)

    def of_pairs(self, rows: Ints, others: Ints) -> tuple[Floats, NDArray[np.bool_]]:
        distance = np.empty(len(rows))
        for start, stop in blocks(len(rows), ROWS_PER_BLOCK * 64):
            apart = self._rows[rows[start:stop]] - self._rows[others[start:stop]]
            distance[start:stop] = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        return distance, np.ones(len(distance), np.bool_)

    def nearest(self, n_neighbors: int) -> Neighbors:
        distance, index = self._search.nearest_others(n_neighbors)
        return _neighbors(distance / self._largest, index)

    def dense(self) -> Floats:
        check_dense_size(self.n_samples)
        with np.errstate(over="ignore"):
            return _euclidean(self._rows, self._rows) * self.unit

    def to_fitted(self, rows: Floats) -> Floats:
        return _euclidean(self._units.scale(rows) / self._largest, self._rows)


def _euclidean(rows: Floats, others: Floats) -> Floats:
    with one_blas_thread():
        distance: Floats = euclidean_distances(rows, others)
    return distance


def _neighbors(distance: Floats, index: Ints) -> Neighbors:
    indptr = np.arange(0, index.size + 1, max(index.shape[1], 1))
    return Neighbors(indptr, index.ravel(), distance.ravel())
