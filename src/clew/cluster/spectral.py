"""Normalized spectral clustering of a sparse neighbor graph."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.utils import Tags

from clew._estimators import Clusterer, guarded_fit
from clew._limits import EIGENVECTOR_ROWS
from clew._validation import (
    Allowed,
    RandomState,
    check_data,
    check_n_clusters,
    check_parameters,
    derived_seeds,
    warn_of_distances,
)
from clew.cluster._kmeans import kmeans, warn_of_fewer_groups
from clew.exceptions import InvalidDataError, InvalidParameterError
from clew.graphs import check_affinity, local_scale_graph, nearest_graph, resolved_n_neighbors

__all__ = ["SpectralClustering"]

#: Up to this number of rows, and for more groups than a third of the rows, a dense solver is as
#: fast, and it always converges.
DENSE_SOLVER_ROWS = 300


class SpectralClustering(Clusterer):
    """Group rows by k-means on the leading eigenvectors of a normalized neighbor graph.

    The rows of the matrix of eigenvectors are scaled to length one first.

    Parameters
    ----------
    n_clusters : int
        Number of groups.
    affinity : {"precomputed", "nearest_neighbors"}, default="precomputed"
        Input of `fit`: affinities, or features, from which Gaussian affinities with a local scale
        for each row are computed.
    n_neighbors : int, "auto", "paper" or None, default="auto"
        Number of largest affinities of each row that are kept in the graph. "paper" is a tenth of
        the rows, as in COP-RF; "auto" is the same, but at least 5 and at most 20. None uses a
        precomputed affinity as it is, including its diagonal.
    n_init : int, default=20
        Number of starts of k-means.
    random_state : int, RandomState or None, default=None
        Seed of the eigensolver's start and of k-means.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of every row.
    embedding_ : ndarray of shape (n_samples, n_clusters)
        Input of k-means.
    graph_ : csr_array of shape (n_samples, n_samples)
        The neighbor graph.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or there are more groups than rows.
    InvalidDataError
        If a precomputed affinity is not square and symmetric, or has negative entries.

    Notes
    -----
    Time O(n²) to read a dense affinity, otherwise O(n·k·K) for each step of the eigensolver; memory
    O(n·k) in addition to the input. A sparse affinity of more than 300 rows is not made dense,
    unless the eigensolver does not converge or there are more groups than a third of the rows.

    References
    ----------
    A. Ng, M. Jordan and Y. Weiss, "On spectral clustering: analysis and an algorithm", NIPS 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew.cluster import SpectralClustering
    >>> X, y = load_iris(return_X_y=True)
    >>> model = SpectralClustering(3, affinity="nearest_neighbors", random_state=0)
    >>> model.fit_predict(X).shape
    (150,)
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1),
        "affinity": Allowed(names=("precomputed", "nearest_neighbors")),
        "n_neighbors": Allowed(names=("auto", "paper"), kind=int, low=1, none=True),
        "n_init": Allowed(kind=int, low=1),
    }

    embedding_: NDArray[np.float64]
    graph_: csr_array

    def __init__(
        self,
        n_clusters: int,
        *,
        affinity: Literal["precomputed", "nearest_neighbors"] = "precomputed",
        n_neighbors: int | Literal["auto", "paper"] | None = "auto",
        n_init: int = 20,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.affinity = affinity
        self.n_neighbors = n_neighbors
        self.n_init = n_init
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        is_precomputed = self.affinity == "precomputed"
        tags.input_tags.pairwise = is_precomputed
        tags.input_tags.positive_only = is_precomputed
        tags.input_tags.sparse = is_precomputed
        return tags

    @guarded_fit
    def fit(self, X: ArrayLike | csr_array, y: ArrayLike | None = None) -> Self:
        """Find the groups.

        Parameters
        ----------
        X : array-like or sparse array of shape (n_samples, n_samples) or (n_samples, n_features)
            Affinities of every two rows, or features. Entries that a sparse array does not store
            are 0.
        y : ignored
            Present by convention.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        is_precomputed = self.affinity == "precomputed"
        checked = check_data(
            self, X, accept_sparse="csr" if is_precomputed else False,
            dtype=[np.float64, np.float32], ensure_min_samples=2,
        )  # fmt: skip
        if is_precomputed:
            check_affinity(checked)
        else:
            warn_of_distances(self, checked)
        check_n_clusters(self, checked.shape[0])
        graph = self._graph(checked)
        seed_of_eigenvectors, seed_of_kmeans = derived_seeds(self.random_state, 2)
        embedding = spectral_embedding(graph, self.n_clusters, seed_of_eigenvectors)
        run = kmeans(embedding, self.n_clusters, n_init=self.n_init, random_state=seed_of_kmeans)
        self.labels_ = np.unique(run.labels, return_inverse=True)[1]
        self.embedding_, self.graph_ = embedding, graph
        warn_of_fewer_groups(self, self.labels_, embedding)
        return self

    def _graph(self, checked: Any) -> csr_array:
        """Return the neighbor graph of affinities or of features."""
        is_precomputed = self.affinity == "precomputed"
        if self.n_neighbors is not None:
            k = resolved_n_neighbors(self.n_neighbors, checked.shape[0])
            return nearest_graph(checked, k) if is_precomputed else local_scale_graph(checked, k)
        if not is_precomputed:
            raise InvalidParameterError(
                f'SpectralClustering(n_neighbors=None, affinity="{self.affinity}"): without a '
                'number of neighbors an affinity must be given: affinity="precomputed"'
            )
        graph = csr_array(checked).astype(np.float64)
        return csr_array(graph.maximum(graph.T))


def spectral_embedding(graph: csr_array, n_components: int, seed: int) -> NDArray[np.float64]:
    """Leading eigenvectors of the normalized affinity, rows of length one, (n, n_components)."""
    degree = graph.sum(axis=1)
    scale = diags_array(
        np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
    )
    normalized = scale @ graph @ scale
    n = graph.shape[0]
    if n <= DENSE_SOLVER_ROWS or 3 * n_components > n:
        _, vectors = eigh(normalized.toarray(), subset_by_index=[n - n_components, n - 1])
    else:
        vectors = _leading_eigenvectors(normalized, n_components, seed)
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 1e-12))


def _leading_eigenvectors(matrix: csr_array, n_components: int, seed: int) -> NDArray[np.float64]:
    """Iterate; if that does not converge, as in graphs of many components, use a dense solver."""
    n = matrix.shape[0]
    start = np.random.RandomState(seed).uniform(-1, 1, n)
    try:
        _, vectors = eigsh(matrix, n_components, which="LA", v0=start)
    except ArpackNoConvergence as error:
        if n > EIGENVECTOR_ROWS:
            raise InvalidDataError(
                f"the leading eigenvectors of the graph of {n} rows were not found: it may have "
                "many components; try a larger n_neighbors"
            ) from error
        _, vectors = eigh(matrix.toarray(), subset_by_index=[n - n_components, n - 1])
    return np.asarray(vectors)
