"""HACC: Kruskal's minimum spanning forest under hard must-links and cannot-links."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._estimators import ConstrainedClusterer, OfDistances, guarded_fit
from clew._parallel import Progress, blocks, in_threads, one_blas_thread
from clew._random import RandomState, derived_seeds
from clew._validation import (
    Allowed,
    check_features,
    check_matrix,
    check_n_clusters,
    check_parameters,
)
from clew._warnings import warn
from clew.cluster._kmeans import kmeans
from clew.cluster.linkage._ordered_edges import (
    Edges,
    consensus,
    cut,
    edges_in_order,
    euclidean,
    given,
)
from clew.constraints import Constraints, Support
from clew.constraints._support import answers_for, binding_answers
from clew.exceptions import DeadEndWarning, FewerGroupsWarning, InvalidParameterError
from clew.graphs import check_dense_size, check_distances, inner_products
from clew.kernels.consensus import alternate_medoids, count_shared
from clew.metrics import n_violated

__all__ = ["HACC", "consensus_probabilities"]


Floats = NDArray[np.float64]
N_COMPONENTS = 20
MAX_ITER = 50
ROWS_PER_BLOCK = 256
#: Extra columns of the randomized decomposition, and number of products with the matrix; with these
#: its leading eigenvectors are exact enough for k-means.
N_MORE_COLUMNS, N_PRODUCTS = 20, 8


class HACC(OfDistances, ConstrainedClusterer):
    """Agglomerative clustering along the shortest edges, under hard answers.

    Must-links are merged first. Then all pairs of rows are visited in the order of their
    distances, and the groups of a pair are merged unless a cannot-link is between them, until
    `n_clusters` groups are left. Without answers this is single linkage.

    Parameters
    ----------
    n_clusters : int
        Number of groups.
    metric : {"consensus", "precomputed"}, default="consensus"
        "consensus": `X` has features, and the distance of two rows is ``1 - P`` with P from
        `consensus_probabilities`, plus a thousandth of their relative Euclidean distance.
        "precomputed": `X` has the distances.
    n_runs : int, default=100
        Number of clusterings from which P is computed; used by "consensus".
    random_state : int, RandomState or None, default=None
        Seed of these clusterings.
    n_jobs : int or None, default=None
        Number of threads for these clusterings, as in joblib.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of each row; groups are numbered in the order of their first rows.
    n_clusters_ : int
        Number of groups that was reached.
    is_reached_ : bool
        Whether it is `n_clusters`.
    n_violated_ : int
        Number of violated answers of positive weight: always 0.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or there are more groups than rows.
    InconsistentConstraintsError
        If answers contradict each other; the message contains a shortest contradictory chain.
    InvalidConstraintsError
        If the constraints are about another number of rows than `X` has.
    UnsupportedConstraintError
        If there are triplets or odd-one-out answers.
    InvalidDataError
        If precomputed distances are not square and symmetric with zeros on the diagonal, or some
        are negative.
    TooLargeError
        If there are more than 20,000 rows.

    Warns
    -----
    DeadEndWarning
        If cannot-links forbid every further merge before `n_clusters` is reached.
    FewerGroupsWarning
        If must-links leave fewer groups than `n_clusters`.

    See Also
    --------
    ConstrainedLinkage : Average, complete and Ward linkage under hard answers.
    clew.questions.ExpectedChange : Asks about the pair whose answer changes this clustering most.

    Notes
    -----
    Pairs of rows are ordered by distance in single precision, ties by row numbers, so the result
    is a function of this order alone. Answers of weight 0 and don't-knows are ignored.

    Time O(n²·log n), and O(n_runs·n²) for "consensus"; memory 8·n² bytes.

    References
    ----------
    A. Biswas, "Semi-supervised and active image clustering with pairwise constraints from humans",
    PhD thesis, University of Maryland, 2014, section 3.2.2. J. B. Kruskal, "On the shortest
    spanning subtree of a graph and the traveling salesman problem", 1956.

    Examples
    --------
    >>> from clew import Constraints
    >>> from clew.cluster import HACC
    >>> D = [[0, 1, 2, 9], [1, 0, 3, 8], [2, 3, 0, 7], [9, 8, 7, 0]]
    >>> c = Constraints.from_pairs(cannot_link=[(0, 1)], n_samples=4)
    >>> HACC(2, metric="precomputed").fit(D, constraints=c).labels_
    array([0, 1, 0, 0])
    """

    supports: ClassVar[Support] = Support(pairs=True, dont_know=True)

    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1),
        "metric": Allowed(names=("consensus", "precomputed")),
        "n_runs": Allowed(kind=int, low=1),
    }

    n_clusters_: int
    is_reached_: bool

    def __init__(
        self,
        n_clusters: int,
        *,
        metric: Literal["consensus", "precomputed"] = "consensus",
        n_runs: int = 100,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.n_runs = n_runs
        self.random_state = random_state
        self.n_jobs = n_jobs

    @guarded_fit
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        constraints: Constraints | None = None,
        callback: Progress | None = None,
    ) -> Self:
        """Find the groups.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Features, or distances between rows; distances may also be condensed, as SciPy's
            ``pdist`` returns them.
        y : ignored
            Present by convention.
        constraints : Constraints, default=None
            Must-links and cannot-links; None for no answers.
        callback : callable, default=None
            Called once at the end, with 1 and 1.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        is_given = self.metric == "precomputed"
        checked = check_distances(X, estimator=self) if is_given else check_features(self, X)
        check_n_clusters(self, len(checked))
        check_dense_size(len(checked))
        hard = binding_answers(answers_for(self, constraints, len(checked)))
        closure = hard.closure()
        self.labels_, self.is_reached_ = cut(self._edges(checked), closure, self.n_clusters)
        self.n_clusters_ = int(self.labels_.max()) + 1
        self.n_violated_ = n_violated(self.labels_, hard)
        self._warn_of_other_number()
        if callback is not None:
            callback(1, 1)
        return self

    def _edges(self, checked: NDArray[np.float64]) -> Edges:
        """Order the pairs of rows."""
        if self.metric == "precomputed":
            return edges_in_order(given(checked), len(checked))
        probabilities = consensus_probabilities(
            checked, self.n_clusters,
            n_runs=self.n_runs, n_jobs=self.n_jobs, random_state=self.random_state,
        )  # fmt: skip
        return edges_in_order(consensus(euclidean(checked), probabilities), len(checked))

    def _warn_of_other_number(self) -> None:
        """Warn if the number of groups is not the wanted one."""
        ends = f"HACC(n_clusters={self.n_clusters}) ends with {self.n_clusters_} groups: "
        if self.n_clusters_ > self.n_clusters:
            warn(f"{ends}cannot-links forbid every further merge", DeadEndWarning)
        elif self.n_clusters_ < self.n_clusters:
            warn(f"{ends}must-links leave no more", FewerGroupsWarning)


def consensus_probabilities(
    X: ArrayLike,
    n_clusters: int | Sequence[int],
    *,
    n_runs: int = 100,
    metric: Literal["euclidean", "precomputed"] = "euclidean",
    method: Literal["kmeans", "kmedoids"] = "kmeans",
    random_state: RandomState = None,
    n_jobs: int | None = None,
) -> NDArray[np.float32]:
    """Estimate for each two rows the probability that they are in the same group.

    It is the share of clusterings, each from a random start, that put them into one group.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
        Features, or distances between rows; distances may also be condensed, as SciPy's
        ``pdist`` returns them.
    n_clusters : int or sequence of int
        Number of groups of each clustering; several numbers are used in turn.
    n_runs : int, default=100
        Number of clusterings.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What `X` is: features, or a matrix of distances.
    method : {"kmeans", "kmedoids"}, default="kmeans"
        K-means on the 20 leading principal coordinates of the rows (classical multidimensional
        scaling), or alternating k-medoids on the distances.
    random_state : int, RandomState or None, default=None
        Seed of the starts.
    n_jobs : int or None, default=None
        Number of threads, as in joblib.

    Returns
    -------
    ndarray of shape (n_samples, n_samples), float32
        Symmetric, with 1 on the diagonal.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or there are more groups than rows.
    InvalidDataError
        If precomputed distances are not square and symmetric with zeros on the diagonal, or some
        are negative.
    TooLargeError
        If there are more than 20,000 rows.

    Notes
    -----
    Time O(n_runs·n²), and for k-means O(n_runs·n·n_clusters) for each iteration, of which there
    are at most 50. Memory 4·n² bytes, with distances or k-medoids 12·n².

    The starts are random rows, not k-means++: clusterings that differ more make the probabilities
    more informative.

    References
    ----------
    A. Biswas, "Semi-supervised and active image clustering with pairwise constraints from humans",
    PhD thesis, University of Maryland, 2014, equation 3.2. S. Monti, P. Tamayo, J. Mesirov and T.
    Golub, "Consensus clustering", Machine Learning 52, 2003.

    Examples
    --------
    >>> from clew.cluster import consensus_probabilities
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> P = consensus_probabilities(X, 2, n_runs=20, random_state=0)
    >>> bool(P[0, 1] > P[1, 2])
    True
    """
    rows = check_distances(X) if metric == "precomputed" else check_matrix(X)
    numbers = n_clusters if isinstance(n_clusters, Sequence) else [n_clusters]
    _check(rows, numbers, n_runs, metric, method)
    n = len(rows)
    distances = _distances(rows, metric) if method == "kmedoids" else None
    points = _principal_coordinates(rows, metric) if method == "kmeans" else rows

    def run_from(task: tuple[int, int]) -> NDArray[np.int32]:
        seed, k = task
        starts = np.random.RandomState(seed).choice(n, k, replace=False).astype(np.int64)
        if distances is not None:
            return alternate_medoids(distances, starts, MAX_ITER)
        run = kmeans(points, k, n_init=1, random_state=seed, init=points[starts], max_iter=MAX_ITER)
        return run.labels.astype(np.int32)

    tasks = list(zip(derived_seeds(random_state, n_runs), cycle(numbers), strict=False))
    with one_blas_thread():
        runs = in_threads(run_from, tasks, n_jobs=n_jobs)
    labels, share = np.stack(runs), np.empty((n, n), np.float32)
    in_threads(
        lambda block: count_shared(labels, *block, share), blocks(n, ROWS_PER_BLOCK), n_jobs=n_jobs
    )
    return share


def _check(
    rows: Floats, n_clusters: Sequence[object], n_runs: object, metric: str, method: str
) -> None:
    """Check the arguments."""
    check_dense_size(len(rows))
    number = Allowed(kind=int, low=1, high=len(rows))
    allowed = [
        *(("n_clusters", k, number) for k in n_clusters or [None]),
        ("n_runs", n_runs, Allowed(kind=int, low=1)),
        ("metric", metric, Allowed(names=("euclidean", "precomputed"))),
        ("method", method, Allowed(names=("kmeans", "kmedoids"))),
    ]
    for name, value, choice in allowed:
        if not choice.holds(value):
            raise InvalidParameterError(
                f"consensus_probabilities({name}={value!r}): {name} must be {choice}"
            )


def _distances(rows: Floats, metric: str) -> Floats:
    """Return all distances between rows, divided by the largest."""
    if metric == "precomputed":
        return np.ascontiguousarray(rows / (rows.max() or 1.0))
    unit = rows / (np.abs(rows).max() or 1.0)
    squares = np.einsum("ij,ij->i", unit, unit)
    squared = squares[:, None] + squares - 2 * unit @ unit.T
    return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


def _principal_coordinates(rows: Floats, metric: str) -> Floats:
    """Return the leading principal coordinates of the rows, by subspace iteration."""
    unit = rows / (np.abs(rows).max() or 1.0)
    if metric == "euclidean":
        unit -= unit.mean(axis=0)
        if unit.shape[1] <= N_COMPONENTS:
            return unit

        def times(V: Floats) -> Floats:
            return np.asarray(unit @ (unit.T @ V))
    else:
        products = inner_products(unit**2)

        def times(V: Floats) -> Floats:
            return np.asarray(products @ V)

    n_columns = min(N_COMPONENTS + N_MORE_COLUMNS, len(rows))
    basis = np.random.RandomState(0).normal(size=(len(rows), n_columns))
    for _ in range(N_PRODUCTS):
        basis = np.linalg.qr(times(basis))[0]
    values, vectors = np.linalg.eigh(basis.T @ times(basis))
    kept = values.argsort()[::-1][:N_COMPONENTS]
    return np.asarray(basis @ vectors[:, kept] * np.sqrt(np.maximum(values[kept], 0.0)))
