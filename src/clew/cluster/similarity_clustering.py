"""Groups from any similarity and any clusterer of affinities."""

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
from clew._random import RandomState, derived_seeds
from clew.cluster.spectral import SpectralClustering
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for
from clew.exceptions import InvalidParameterError
from clew.graphs import check_dense_size, largest_entries, resolved_n_neighbors
from clew.metrics import answer_log_likelihood, n_violated
from clew.similarity import COPRF

__all__ = ["SimilarityClustering"]

#: Affinities of new rows to fitted ones that are held at a time: 64 MB of float32.
ENTRIES_PER_BLOCK = 1 << 24
N_NEIGHBORS = 20
#: Neighbours of each row that are tried where answers can tell which graph is right.
GRAPHS_TRIED: tuple[int | Literal["paper"], ...] = (10, 20, "paper")
SPARSE_GRAPHS_TRIED = (10, 20, 50)
#: Log-likelihood by which another graph must beat the usual one: few answers judge poorly.
PREFERENCE = 1.0
#: Log-likelihood by which an alternative of the similarity must beat it. On 18 data sets those that
#: won by more were hardly ever worse, and often far better.
HANDICAP = 4.0


def _can_predict(estimator: SimilarityClustering) -> bool:
    similarity = getattr(estimator, "similarity_", estimator.similarity)
    return similarity is None or hasattr(similarity, "transform")


class SimilarityClustering(ConstrainedClusterer):
    """Join a similarity, which follows people's answers, and a clusterer, which makes groups of it.

    Parameters
    ----------
    similarity : estimator, default=None
        Learns affinities from features, and from answers where it can: has `affinity_matrix_`,
        `kneighbors_graph` and `transform`. None is `COPRF()`.
    clusterer : estimator, default=None
        Finds groups from a precomputed affinity: `SpectralClustering`, or scikit-learn's
        ``AffinityPropagation(affinity="precomputed")``; or from learned features, where the
        similarity learns such (`SKLR`, `ITML`): `KernelKMeans`, or any of scikit-learn's. None is
        `SpectralClustering()`, with 8 groups. Where its `n_neighbors` is "auto" and there are
        answers, graphs of 10 and 20 neighbours and of a tenth of the rows (of 50 past 5,000 rows)
        are tried, and one replaces the usual graph if its partition makes the answers e times as
        likely (`clew.metrics.answer_log_likelihood`). An alternative of the similarity, as `COPRF`
        has one, must make them e⁴ times as likely. A similarity that is a graph already, such as
        `E2CP`, is cut as it is.
    random_state : int, RandomState or None, default=None
        Seeds both parts where they have no seed of their own.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,)
        Group of every row.
    n_violated_ : int
        Must-links between groups and cannot-links within them.
    similarity_, clusterer_ : estimator
        The fitted parts.
    n_features_in_ : int
        Number of features.

    Raises
    ------
    InvalidParameterError
        If a part is no estimator, or the clusterer does not take a precomputed affinity and the
        similarity learns no features.
    UnsupportedConstraintError
        If there are answers that the similarity does not honour.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.

    Notes
    -----
    Honours what its similarity honours, softly: groups may part must-links. Up to 5,000 rows the
    clusterer sees the dense affinity; beyond, `SpectralClustering` gets the graph of the nearest
    rows and nothing is ever dense.

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
        self,
        similarity: Any = None,
        clusterer: Any = None,
        *,
        random_state: RandomState = None,
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
        """Kinds of answers that the similarity honours."""
        return support_of(COPRF if self.similarity is None else self.similarity)

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
            What the similarity takes: features, or affinities or distances of every two rows.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            What people said; None is nothing.
        callback : callable, default=None
            Handed on to the similarity, which says there how far it is.

        Returns
        -------
        self
        """
        check_part(self, "similarity", self.similarity)
        check_part(self, "clusterer", self.clusterer)
        checked = check_rows(self, X, self.similarity)
        seeds, is_seeded = derived_seeds(self.random_state, 2), self.random_state is not None
        given = COPRF() if self.similarity is None else self.similarity
        similarity = seeded_part(given, seeds[0], is_seeded=is_seeded)
        given = SpectralClustering() if self.clusterer is None else self.clusterer
        clusterer = seeded_part(given, seeds[1], is_seeded=is_seeded)
        if not _reads_affinities(clusterer) and not getattr(similarity, "learns_features", False):
            raise InvalidParameterError(
                f"{type(similarity).__name__} learns affinities, not features: a clusterer of "
                f'features will not do. {type(clusterer).__name__} must have affinity="precomputed"'
            )
        known = answers_for(self, constraints, checked.shape[0])
        fit_part(similarity, checked, known, callback)
        believed = reweighted(known, similarity)
        self.similarity_, self.clusterer_ = _fit_by_answers(clusterer, similarity, believed)
        self.labels_ = self.clusterer_.labels_
        self.n_violated_ = n_violated(self.labels_, known)
        return self

    @available_if(_can_predict)  # type: ignore[untyped-decorator]
    def predict(self, X: ArrayLike) -> NDArray[np.int64]:
        """Give new rows their group.

        A clusterer of learned features that can predict does so. Otherwise a row gets the group
        that has most affinity among its nearest fitted rows.

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
        """Give the neighbours that the clusterer looks at."""
        wanted = getattr(self.clusterer_, "n_neighbors", None)
        return resolved_n_neighbors(N_NEIGHBORS if wanted is None else wanted, n_samples)


def _votes(
    affinity: NDArray[np.floating], group: NDArray[np.int64], n_neighbors: int
) -> NDArray[np.float64]:
    """Sum the affinities of the nearest fitted rows by group, (n_rows, n_groups).

    Of fitted rows that are equally near, the first count.
    """
    row, column = np.nonzero(largest_entries(affinity, n_neighbors))
    votes = np.zeros((len(affinity), group.max() + 1))
    np.add.at(votes, (row, group[column]), affinity[row, column])
    return votes


def _reads_affinities(clusterer: Any) -> bool:
    return getattr(clusterer, "affinity", None) == "precomputed"


def _fit_by_answers(clusterer: Any, similarity: Any, believed: Constraints) -> tuple[Any, Any]:
    """Fit the clusterer, on what explains the answers best if it may choose.

    Returns
    -------
    similarity, clusterer : estimator
        The similarity or one of its alternatives, and the clusterer fitted on it.
    """
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
    can_choose = len(believed.pairs) and hasattr(similarity, "alternatives")
    others = similarity.alternatives() if can_choose else []
    tried = [
        (score - (0.0 if read is similarity else HANDICAP), read, fitted)
        for read in [similarity, *others]
        for score, fitted in _cut(clusterer, read, believed)
    ]
    _, read, fitted = max(tried, key=itemgetter(0))
    return read, fitted


def _cut(
    clusterer: SpectralClustering, similarity: Any, believed: Constraints
) -> Iterator[tuple[float, SpectralClustering]]:
    """Cut the graphs of a similarity that are tried, and score each cut by the answers."""
    n = believed.n_samples
    usual = resolved_n_neighbors(clusterer.n_neighbors or "auto", n)
    sizes = {usual}
    if clusterer.n_neighbors == "auto" and len(believed.pairs):
        tried = GRAPHS_TRIED if n <= ALL_PAIRS_ROWS else SPARSE_GRAPHS_TRIED
        sizes |= {resolved_n_neighbors(k, n) for k in tried if k == "paper" or k < n / 4}
    if n > ALL_PAIRS_ROWS:
        affinity = similarity.kneighbors_graph(max(sizes))
    else:
        affinity = similarity.affinity_matrix_
    for size in sorted(sizes):
        fitted = clone(clusterer).set_params(n_neighbors=size).fit(affinity)
        preference = PREFERENCE if size == usual else 0.0
        yield answer_log_likelihood(fitted.labels_, believed) + preference, fitted


def _readable(affinity: Any, clusterer: Any) -> Any:
    """Make a sparse affinity dense for a clusterer that reads dense ones alone."""
    if isinstance(affinity, np.ndarray) or get_tags(clusterer).input_tags.sparse:
        return affinity
    check_dense_size(affinity.shape[0])
    return affinity.toarray()
