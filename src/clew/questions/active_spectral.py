"""ActiveSpectral: spectral clustering that asks to which group the most uncertain row belongs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array
from scipy.special import entr

from clew._parallel import one_blas_thread
from clew._validation import Allowed, RandomState
from clew.cluster._kmeans import kmeans
from clew.cluster.spectral import spectral_embedding
from clew.graphs import local_gaussian
from clew.questions._pair_order import all_distances
from clew.questions._strategy import PairStrategy

__all__ = ["ActiveSpectral"]

Floats = NDArray[np.float64]

N_NEIGHBORS = 10
SCALE_NEIGHBOR = 7


class ActiveSpectral(PairStrategy):
    """Spectral clustering; asks to which group the row with the most uncertain group belongs.

    Answered rows form certain sets: rows joined by must-links. The probability that another row
    belongs to each set falls with its distance from the set in the spectral embedding. The row
    with the largest entropy is compared with these sets, the most probable first, until it is in
    one of them. Each answer changes the neighbor graph: edges between rows of one group get
    weight 1, and those between rows that differ are removed (purification).

    Parameters
    ----------
    n_clusters : int
        Number of groups.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What the data are: features, or distances between rows.
    random_state : int, RandomState or None, default=None
        Seed of k-means, and of the first row.

    Raises
    ------
    InvalidParameterError
        In `start`, if a parameter is outside its range.

    Notes
    -----
    The published uncertainty of a row is its entropy times the change of the eigenvectors that its
    answer may cause; here it is the entropy. Probabilities given to `start` are not used.

    A question takes O(n³) up to 1,000 rows, and memory 16·n² bytes.

    References
    ----------
    C. Xiong, D. Johnson and J. J. Corso, "Spectral active clustering via purification of the
    k-nearest neighbor graph", ECDM 2012, and "Active clustering with model-based uncertainty
    reduction", IEEE TPAMI 2017.

    Examples
    --------
    >>> from clew.questions import ActiveSpectral
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> strategy = ActiveSpectral(2, random_state=0).start(X)
    >>> len(strategy.ask()), strategy.labels().tolist()
    (1, [0, 0, 0, 1, 1, 1])
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1),
        "metric": Allowed(names=("euclidean", "precomputed")),
    }

    _graph: Floats
    _first: int

    def __init__(
        self,
        n_clusters: int,
        *,
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.random_state = random_state

    def _prepare(self, X: Floats, probabilities: ArrayLike | None) -> None:
        D = all_distances(X, self.metric)
        n = len(D)
        order = np.sort(D, axis=1)
        scale = np.maximum(order[:, min(SCALE_NEIGHBOR, n - 1)], np.finfo(float).tiny)
        affinity = local_gaussian(D, scale[:, None], scale)
        is_near = order[:, [min(N_NEIGHBORS, n - 1)]] >= D
        self._graph = np.where(is_near | is_near.T, affinity, 0.0)
        np.fill_diagonal(self._graph, 0)
        self._first = int(np.random.RandomState(self._seed).randint(n))

    def _purified(self) -> Floats:
        """Return the graph with the edges that answers imply."""
        component = self.known.closure.component
        graph = np.where(self.known.apart()[np.ix_(component, component)], 0.0, self._graph)
        is_answered = np.bincount(component)[component] > 1
        rows = np.flatnonzero(is_answered)
        same = np.equal.outer(component[rows], component[rows])
        graph[np.ix_(rows, rows)] = np.where(same, 1.0, graph[np.ix_(rows, rows)])
        np.fill_diagonal(graph, 0)
        return graph

    def _embedding(self) -> Floats:
        n_components = min(self.n_clusters, self.n_samples_)
        return spectral_embedding(csr_array(self._purified()), n_components, self._seed)

    def _group(self) -> NDArray[np.int64]:
        with one_blas_thread():
            embedding = self._embedding()
            run = kmeans(embedding, self.n_clusters, n_init=5, random_state=self._seed)
        # The rows of a certain set stay together, in the group of most of them.
        component = self.known.closure.component
        counts = np.zeros((component.max() + 1, self.n_clusters))
        np.add.at(counts, (component, run.labels), 1)
        return np.asarray(counts.argmax(axis=1)[component])

    def _candidates(self) -> Iterator[NDArray[np.integer]]:
        embedding = self._embedding()
        sets = self._certain_sets()
        placed = {row for rows in sets for row in rows}
        open_rows = np.array([row for row in range(self.n_samples_) if row not in placed], int)
        near = np.column_stack([embedding @ embedding[rows].mean(axis=0) for rows in sets])
        weight = np.exp(4 * near)
        probability = weight / weight.sum(axis=1, keepdims=True)
        uncertainty = entr(probability[open_rows]).sum(axis=1)
        for row in open_rows[np.argsort(-uncertainty, kind="stable")]:
            for k in np.argsort(-probability[row], kind="stable"):
                yield np.array([[row, other] for other in sets[k]])
        # Then pairs of sets that may be the same, and rows whose answers were all don't-know.
        i, j = np.triu_indices(self.n_samples_, 1)
        yield np.column_stack([i, j])

    def _certain_sets(self) -> list[list[int]]:
        """Return the components of rows with answers; without any, a first row."""
        component = self.known.closure.component
        links = self.known.closure.cannot_link_components
        is_certain = np.bincount(component) > 1
        is_certain[links] = True
        sets = [np.flatnonzero(component == c).tolist() for c in np.flatnonzero(is_certain)]
        return sets or [[self._first]]
