"""Base class of the similarities that modify the affinities of another similarity."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_array, csr_array, issparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from clew._composition import (
    FittedSimilarity,
    Precomputed,
    check_part,
    check_rows,
    fit_part,
    graph_of,
    input_tags_of,
    seeded_part,
    support_of,
)
from clew._estimators import ConstrainedEstimator, guarded_fit
from clew._parallel import Progress
from clew._validation import Allowed, AllowedValues, RandomState, check_parameters, derived_seeds
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for
from clew.graphs import (
    check_affinity,
    check_n_neighbors,
    largest_stored,
    nearest_graph,
    resolved_n_neighbors,
)
from clew.similarity.adaptive_knn import AdaptiveKNN

Affinity = TypeVar("Affinity", NDArray[np.floating], csr_array)
N_NEIGHBORS_ALLOWED: dict[str, AllowedValues] = {
    "n_neighbors": Allowed(names=("auto", "paper"), kind=int, low=1)
}


class BuiltOnSimilarity(ConstrainedEstimator):
    """Modify the affinities of another similarity, or precomputed affinities.

    Subclasses store `similarity` and `random_state`, declare `_allowed`, and implement `_solve`.
    """

    #: Whether precomputed affinities may be negative.
    _takes_negative: ClassVar[bool] = False

    similarity: Any
    random_state: RandomState
    similarity_: Any
    affinity_matrix_: Any

    @property
    def supports(self) -> Support:
        """Kinds of answers that the base similarity honors."""
        return support_of(self.similarity)

    @property
    def is_graph(self) -> bool:
        """Whether `affinity_matrix_` is a neighbor graph; clusterers then build none from it."""
        return True

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        if isinstance(self.similarity, str):
            tags.input_tags.pairwise = True
            tags.input_tags.positive_only = not self._takes_negative
            tags.input_tags.sparse = True
        else:
            part = AdaptiveKNN() if self.similarity is None else self.similarity
            tags.input_tags = input_tags_of(part)
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
        """Fit the base similarity, and modify its affinities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or (n_samples, n_samples)
            Input of the base similarity; if `similarity` is "precomputed", the affinities of all
            pairs of rows, dense or sparse.
        y : ignored
            Present for compatibility with scikit-learn.
        constraints : Constraints, default=None
            Answers; None for no answers.
        callback : callable, default=None
            Called as ``callback(n_done, n_steps)`` by the base similarity, and then by this
            estimator if it takes long itself.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        check_part(self, "similarity", self.similarity, names=("precomputed",))
        is_given = isinstance(self.similarity, str)
        # The tags of this estimator are those of the base similarity.
        checked = check_rows(self, X, self)
        if is_given:
            check_affinity(checked, allow_negative=self._takes_negative)
        n = checked.shape[0]
        may_be_sparse = issparse(checked) if is_given else getattr(self.similarity, "is_graph", 0)
        self._check_size(n, is_sparse=bool(may_be_sparse))
        answers = answers_for(self, constraints, n)
        (seed,) = derived_seeds(self.random_state, 1)
        if is_given:
            base: FittedSimilarity = Precomputed(checked)
        else:
            part = AdaptiveKNN() if self.similarity is None else self.similarity
            seeded = seeded_part(part, seed, is_seeded=self.random_state is not None)
            base = fit_part(seeded, checked, answers, callback)
        self.similarity_ = base
        self._solve(base, answers, callback)
        return self

    def _check_size(self, n_samples: int, *, is_sparse: bool) -> None:
        """Refuse results that would not fit in memory, before the base similarity is fitted."""

    def _solve(
        self, base: FittedSimilarity, answers: Constraints, callback: Progress | None
    ) -> None:
        """Set `affinity_matrix_` and the other fitted attributes."""
        raise NotImplementedError

    def kneighbors_graph(self, n_neighbors: int = 20) -> csr_array:
        """Keep the largest affinities of each row.

        Parameters
        ----------
        n_neighbors : int, default=20
            Number of affinities to keep in each row.

        Returns
        -------
        csr_array of shape (n_samples, n_samples), float64
            Symmetric: an entry is kept if either of its rows keeps it. The diagonal is empty.

        Raises
        ------
        InvalidParameterError
            If `n_neighbors` is not between 1 and ``n_samples - 1``.
        """
        check_is_fitted(self, "affinity_matrix_")
        affinity = self.affinity_matrix_
        check_n_neighbors(n_neighbors, affinity.shape[0])
        return nearest_graph(affinity, n_neighbors)


def nearest_rows(
    base: FittedSimilarity, n_samples: int, n_neighbors: int | Literal["auto", "paper"]
) -> tuple[csr_array, csr_array, int]:
    """Return the symmetric neighbor graph, its k largest entries in each row, and k."""
    k = resolved_n_neighbors(n_neighbors, n_samples)
    graph = graph_of(base, n_samples, k)
    return graph, largest_stored(graph, k), k


def selected(graph: csr_array, is_kept: NDArray[np.bool_]) -> csr_array:
    """Keep the marked ones of the stored edges; an edge is kept if either of its rows keeps it."""
    edges = graph.copy()
    edges.data[~is_kept] = 0.0
    edges.eliminate_zeros()
    return csr_array(edges.maximum(edges.T))


def net_links(answers: Constraints) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Add up the answers to each pair: distinct pairs, (m, 2), and their net answers in [-1, 1]."""
    sign = answers.is_must_link.astype(np.float64) - answers.is_cannot_link
    rows, place = np.unique(answers.pairs, axis=0, return_inverse=True)
    total = np.bincount(place.ravel(), sign * answers.pair_weights, len(rows))
    is_left = total != 0
    return rows[is_left], np.clip(total[is_left], -1.0, 1.0)


class NetAnswers(NamedTuple):
    """One entry a pair, at the endpoint with more answers: half as many systems to solve."""

    rows: NDArray[np.int64]  # rows with answers, (r,)
    heads: NDArray[np.int64]  # positions of the heads in `rows`, (h,)
    strength: csr_array  # net answer to each pair of a head and a row, in [-1, 1], (h, r)

    @classmethod
    def of(cls, answers: Constraints) -> Self:
        """Collect the pair answers."""
        pairs, strength = net_links(answers)
        rows, place, n_answers = np.unique(pairs, return_inverse=True, return_counts=True)
        place = place.reshape(-1, 2)
        at_second = n_answers[place[:, 0]] < n_answers[place[:, 1]]
        head = place[np.arange(len(place)), at_second.astype(int)]
        other = place.sum(axis=1) - head
        heads, at = np.unique(head, return_inverse=True)
        shape = (len(heads), len(rows))
        return cls(rows, heads, coo_array((strength, (at.ravel(), other)), shape=shape).tocsr())


def entries_at(
    matrix: NDArray[np.floating] | csr_array, i: NDArray[np.integer], j: NDArray[np.integer]
) -> NDArray[np.float64]:
    """Return ``matrix[i, j]`` as a dense array of shape (len(i),)."""
    # SciPy returns an array of another shape for empty sparse matrices and empty indices.
    if not isinstance(matrix, np.ndarray) and (matrix.nnz == 0 or len(i) == 0):
        return np.zeros(len(i))
    return np.asarray(matrix[i, j], dtype=np.float64).ravel()


def with_links(affinity: Affinity, answers: Constraints, low: float, high: float) -> Affinity:
    """Copy, and move linked pairs to `high` or `low` by their net weight's share of the way."""
    rows, strength = net_links(answers)
    i, j = rows.T
    now = entries_at(affinity, i, j)
    target = np.where(strength > 0, high, low)
    value = now + np.abs(strength) * (target - now)
    if isinstance(affinity, np.ndarray):
        changed = affinity.copy()
        changed[i, j] = changed[j, i] = value
        return changed
    # Much faster than setting single entries of a sparse matrix.
    step = coo_array((value - now, (i, j)), shape=affinity.shape).tocsr()
    linked = csr_array(affinity + step + step.T)
    linked.eliminate_zeros()
    return linked
