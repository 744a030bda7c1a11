"""Groups from any similarity and any clusterer."""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import Tags, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from clew._composition import (
    affinity_to_fitted,
    check_part,
    check_rows,
    fit_part,
    input_tags_of,
    reweighted,
    seeded_part,
    support_of,
)
from clew._estimators import ConstrainedClusterer, guarded_fit
from clew._limits import ALL_PAIRS_ROWS
from clew._parallel import Progress, blocks, one_blas_thread
from clew._validation import RandomState, derived_seeds
from clew.cluster.spectral import SpectralClustering
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for
from clew.exceptions import InvalidParameterError
from clew.graphs import check_dense_size, largest_entries, resolved_n_neighbors
from clew.metrics import answer_log_likelihood, n_violated

__all__ = ["SimilarityClustering"]

#: Affinities of new rows to fitted ones that are held at a time: 64 MB of float32.
ENTRIES_PER_BLOCK = 1 << 24
N_NEIGHBORS = 20
#: Numbers of neighbors that are tried if there are answers to choose by.
GRAPHS_TRIED: tuple[int | Literal["paper"], ...] = (10, 20, "paper")
SPARSE_GRAPHS_TRIED = (10, 20, 50)
#: Another graph replaces the usual one if its log-likelihood is higher by more than this; with few
#: answers, small differences are random.
PREFERENCE = 1.0
#: An alternative replaces the similarity if its log-likelihood is higher by more than this. On 18
#: data sets such alternatives were rarely worse, and often much better.
HANDICAP = 4.0


def _can_predict(estimator: SimilarityClustering) -> bool:
    similarity = getattr(estimator, "similarity_", estimator.similarity)
    return similarity is None or hasattr(similarity, "transform")


class SimilarityClustering(ConstrainedClusterer):
    """Learn a similarity, from answers too if it can, and cluster by it.

    Parameters
    ----------
    similarity : estimator
        Learns affinities from features, and from answers if it honors any; has `affinity_matrix_`,
        `kneighbors_graph` and `transform`.
    clusterer : estimator
        Clusterer of a precomputed affinity: `SpectralClustering`, or scikit-learn's
        ``AffinityPropagation(affinity="precomputed")``. If the similarity learns features, as
        `SKLR` and `ITML` do, also a clusterer of features: `KernelKMeans`, or any of
        scikit-learn's.
    random_state : int, RandomState or None, default=None
        Seeds each part that has no seed of its own.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Group of every row.
    n_violated_ : int
        Number of must-links between groups and of cannot-links within groups.
    similarity_, clusterer_ : estimator
        The fitted parts.
    n_features_in_ : int
        Number of features.

    Raises
    ------
    InvalidParameterError
        If a part is not an estimator, or if the clusterer needs features and the similarity learns
        none.
    UnsupportedConstraintError
        If there are answers that the similarity does not honor.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.

    Notes
    -----
    Answers have an effect through the similarity only, so groups may violate them.

    If `SpectralClustering` has ``n_neighbors="auto"`` and there are answers, several graphs are
    tried: the usual one, those with 10 and 20 neighbors, and that with a tenth of the rows as
    neighbors (with 50 neighbors above 5,000 rows). Another graph replaces the usual one if the
    log-likelihood of the answers (`clew.metrics.answer_log_likelihood`) is higher by more than 1.
    `COPRF` offers an alternative similarity, which is used if the log-likelihood is higher by more
    than 4. The graph of `E2CP` and of other similarities that are graphs is used as it is.

    Up to 5,000 rows the clusterer gets the dense affinity. Above, `SpectralClustering` gets a
    sparse graph of the nearest rows, and no dense matrix is made.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew import Constraints
    >>> from clew.cluster import SimilarityClustering, SpectralClustering
    >>> from clew.similarity import COPRF
    >>> X, y = load_iris(return_X_y=True)
    >>> c = Constraints.from_labels(y, n_pairs=60, random_state=0)
    >>> model = SimilarityClustering(COPRF(n_trees=100), SpectralClustering(3), random_state=0)
    >>> model.fit(X, constraints=c).labels_.shape
    (150,)
    """

    similarity_: Any
    clusterer_: Any

    def __init__(
        self, similarity: Any, clusterer: Any, *, random_state: RandomState = None
    ) -> None:
        self.similarity = similarity
        self.clusterer = clusterer
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags = input_tags_of(self.similarity)
        return tags

    @property
    def supports(self) -> Support:
        """Kinds of answers that the similarity honors."""
        return support_of(self.similarity)

    @guarded_fit
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        constraints: Constraints | None = None,
        callback: Progress | None = None,
    ) -> Self:
        """Learn the similarity and find the groups.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Input of the similarity: features, or affinities or distances of every two rows.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            The answers; None for no answers.
        callback : callable, default=None
            Passed to the similarity, which calls it with the numbers of finished and of all steps.

        Returns
        -------
        self
        """
        check_part(self, "similarity", self.similarity, may_be_none=False)
        check_part(self, "clusterer", self.clusterer, may_be_none=False)
        checked = check_rows(self, X, self.similarity)
        seeds, is_seeded = derived_seeds(self.random_state, 2), self.random_state is not None
        similarity = seeded_part(self.similarity, seeds[0], is_seeded=is_seeded)
        clusterer = seeded_part(self.clusterer, seeds[1], is_seeded=is_seeded)
        if not _reads_affinities(clusterer) and not getattr(similarity, "learns_features", False):
            raise InvalidParameterError(
                f"{type(similarity).__name__} learns affinities, not features, so the clusterer "
                f'must use affinities: {type(clusterer).__name__} needs affinity="precomputed"'
            )
        known = answers_for(self, constraints, checked.shape[0])
        fit_part(similarity, checked, known, callback)
        reweighted_answers = reweighted(known, similarity)
        self.similarity_, self.clusterer_ = _fit_clusterer(
            clusterer, similarity, reweighted_answers
        )
        self.labels_ = self.clusterer_.labels_
        self.n_violated_ = n_violated(self.labels_, known)
        return self

    @available_if(_can_predict)  # type: ignore[untyped-decorator]
    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Return the group of rows.

        A clusterer of features with `predict` is used. Otherwise a row gets the group with the
        largest total affinity among its nearest fitted rows.

        Parameters
        ----------
        X : array-like of shape (n_rows, n_features)
            Features.

        Returns
        -------
        ndarray of shape (n_rows,)
        """
        check_is_fitted(self, "labels_")
        rows = check_rows(self, X, self.similarity, reset=False)
        if not _reads_affinities(self.clusterer_) and hasattr(self.clusterer_, "predict"):
            learned = self.similarity_.transform(rows)
            with one_blas_thread():
                return np.asarray(self.clusterer_.predict(learned))
        groups, group = np.unique(self.labels_, return_inverse=True)
        k, place = self._n_neighbors(len(group)), np.empty(rows.shape[0], np.int64)
        for start, stop in blocks(rows.shape[0], max(1, ENTRIES_PER_BLOCK // len(group))):
            affinity = affinity_to_fitted(self.similarity_, rows[start:stop])
            place[start:stop] = _votes(affinity, group, k).argmax(axis=1)
        return np.asarray(groups[place])

    def _n_neighbors(self, n_samples: int) -> int:
        """Return the number of neighbors in the clusterer's graph."""
        wanted = getattr(self.clusterer_, "n_neighbors", None)
        return resolved_n_neighbors(N_NEIGHBORS if wanted is None else wanted, n_samples)


def _votes(
    affinity: NDArray[np.floating], group: NDArray[np.int64], n_neighbors: int
) -> NDArray[np.float64]:
    """Affinity of the nearest fitted rows, the first of equals, by group, (n_rows, n_groups)."""
    row, column = np.nonzero(largest_entries(affinity, n_neighbors))
    votes = np.zeros((len(affinity), group.max() + 1))
    np.add.at(votes, (row, group[column]), affinity[row, column])
    return votes


def _reads_affinities(clusterer: Any) -> bool:
    return getattr(clusterer, "affinity", None) == "precomputed"


def _fit_clusterer(clusterer: Any, similarity: Any, known: Constraints) -> tuple[Any, Any]:
    """Fit the clusterer; spectral clustering on the graph of highest log-likelihood."""
    if not isinstance(clusterer, SpectralClustering):
        reads_affinities = _reads_affinities(clusterer)
        rows = similarity.affinity_matrix_ if reads_affinities else similarity.embedding_
        # scikit-learn's clusterers limit BLAS themselves, see `one_blas_thread`.
        with one_blas_thread():
            fitted = clusterer.fit(_readable(rows, clusterer) if reads_affinities else rows)
        return similarity, fitted
    if getattr(similarity, "is_graph", False) and clusterer.n_neighbors == "auto":
        clusterer.set_params(n_neighbors=None)
    if clusterer.n_neighbors is None:
        return similarity, clusterer.fit(similarity.affinity_matrix_)
    can_choose = len(known.pairs) and hasattr(similarity, "alternatives")
    others = similarity.alternatives() if can_choose else []
    tried = [
        (score - (0.0 if candidate is similarity else HANDICAP), candidate, fitted)
        for candidate in [similarity, *others]
        for score, fitted in _scored_cuts(clusterer, candidate, known)
    ]
    _, best, fitted = max(tried, key=itemgetter(0))
    return best, fitted


def _scored_cuts(
    clusterer: SpectralClustering, similarity: Any, known: Constraints
) -> Iterator[tuple[float, SpectralClustering]]:
    """Yield the log-likelihood of the answers and the fitted clusterer, for each graph tried."""
    n = known.n_samples
    usual = resolved_n_neighbors(clusterer.n_neighbors or "auto", n)
    sizes = {usual}
    if clusterer.n_neighbors == "auto" and len(known.pairs):
        tried = GRAPHS_TRIED if n <= ALL_PAIRS_ROWS else SPARSE_GRAPHS_TRIED
        sizes |= {resolved_n_neighbors(k, n) for k in tried if k == "paper" or k < n / 4}
    if n > ALL_PAIRS_ROWS:
        affinity = similarity.kneighbors_graph(max(sizes))
    else:
        affinity = similarity.affinity_matrix_
    for size in sorted(sizes):
        fitted = clone(clusterer).set_params(n_neighbors=size).fit(affinity)
        preference = PREFERENCE if size == usual else 0.0
        yield answer_log_likelihood(fitted.labels_, known) + preference, fitted


def _readable(affinity: Any, clusterer: Any) -> Any:
    """Make a sparse affinity dense if the clusterer needs a dense one."""
    if isinstance(affinity, np.ndarray) or get_tags(clusterer).input_tags.sparse:
        return affinity
    check_dense_size(affinity.shape[0])
    return affinity.toarray()
