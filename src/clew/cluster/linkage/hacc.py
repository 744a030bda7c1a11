"""HACC: Kruskal's minimum spanning forest under hard must-links and cannot-links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from clew._estimators import ConstrainedClusterer, OfDistances
from clew._parallel import Progress, blocks, in_threads, one_blas_thread
from clew._validation import Allowed, RandomState, check_matrix, check_n_clusters, derived_seeds
from clew._warnings import warn
from clew.cluster._kmeans import kmeans
from clew.constraints import Closure, Constraints, Support
from clew.constraints._support import binding_answers
from clew.exceptions import DeadEndWarning, FewerGroupsWarning, InvalidParameterError
from clew.graphs import check_dense_size, check_distances, inner_products
from clew.kernels.graphs import component_labels
from clew.kernels.linkage import first_edges, merge_in_order
from clew.kernels.medoids import alternate_medoids, count_together
from clew.metrics import n_violated

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

    def _solve(self, X: NDArray[np.float64], known: Constraints, callback: Progress | None) -> None:
        check_n_clusters(self, len(X))
        check_dense_size(len(X))
        hard = binding_answers(known)
        closure = hard.closure()
        self.labels_, self.is_reached_ = cut(self._edges(X), closure, self.n_clusters)
        self.n_clusters_ = int(self.labels_.max()) + 1
        self.n_violated_ = n_violated(self.labels_, hard)
        ends = f"HACC(n_clusters={self.n_clusters}) ends with {self.n_clusters_} groups: "
        if self.n_clusters_ > self.n_clusters:
            warn(f"{ends}cannot-links forbid every further merge", DeadEndWarning)
        elif self.n_clusters_ < self.n_clusters:
            warn(f"{ends}must-links leave no more", FewerGroupsWarning)
        if callback is not None:
            callback(1, 1)

    def _edges(self, checked: NDArray[np.float64]) -> Edges:
        """Order the pairs of rows."""
        if self.metric == "precomputed":
            return edges_in_order(given(checked), len(checked))
        probabilities = consensus_probabilities(
            checked, self.n_clusters,
            n_runs=self.n_runs, n_jobs=self.n_jobs, random_state=self.random_state,
        )  # fmt: skip
        return edges_in_order(consensus(euclidean(checked), probabilities), len(checked))


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
        lambda block: count_together(labels, *block, share),
        blocks(n, ROWS_PER_BLOCK),
        n_jobs=n_jobs,
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


#: Takes a row, and returns the distances to the rows after it.
DistancesFrom = Callable[[int], NDArray[np.float64]]
#: Weight of the distances, which are added to 1 - P to order pairs of equal probability.
WEIGHT_OF_DISTANCES = 1e-3
KEYS_PER_BLOCK = 1 << 16


class Edges(NamedTuple):
    """All pairs of rows, the nearest first; the rank of a pair is its position."""

    first: NDArray[np.uint16]
    second: NDArray[np.uint16]
    n_rows: int


def edges_in_order(distances_from: DistancesFrom, n_rows: int) -> Edges:
    """Sort pairs of rows by distance, in single precision; ties by row numbers."""
    # 32 bits of a distance above 16 bits of each row: numbers are sorted like distances.
    keys = np.empty(n_rows * (n_rows - 1) // 2, np.uint64)
    rows = np.arange(n_rows, dtype=np.uint64)
    stop = 0
    for i in range(n_rows - 1):
        start, stop = stop, stop + n_rows - i - 1
        # + 0.0 turns -0.0, whose bits are large, into 0.0.
        keys[start:stop] = (distances_from(i) + 0.0).astype(np.float32).view(np.uint32)
        keys[start:stop] <<= np.uint64(32)
        keys[start:stop] |= rows[i + 1 :] | np.uint64(i << 16)
    keys.sort()
    pairs = _lower_halves(keys)
    first, second = np.empty(len(pairs), np.uint16), np.empty(len(pairs), np.uint16)
    for start in range(0, len(pairs), KEYS_PER_BLOCK):
        block = slice(start, start + KEYS_PER_BLOCK)
        first[block] = pairs[block] >> np.uint32(16)
        second[block] = pairs[block] & np.uint32(0xFFFF)
    return Edges(first, second, n_rows)


def _lower_halves(keys: NDArray[np.uint64]) -> NDArray[np.uint32]:
    """Return the lower 32 bits of all keys, in the first half of their memory; frees the other."""
    n = len(keys)
    halves = keys.view(np.uint32)
    for start in range(0, n, KEYS_PER_BLOCK):
        block = slice(start, min(start + KEYS_PER_BLOCK, n))
        halves[block] = keys[block] & np.uint64(0xFFFFFFFF)
    del halves
    keys.resize((n + 1) // 2, refcheck=False)
    return keys.view(np.uint32)[:n]


def given(D: NDArray[np.float64]) -> DistancesFrom:
    """Return the distances of a matrix, relative to the largest."""
    largest = float(D.max(initial=0.0)) or 1.0
    return lambda row: D[row, row + 1 :] / largest


def euclidean(X: NDArray[np.float64]) -> DistancesFrom:
    """Return the Euclidean distances between rows, relative to the largest."""
    unit = X / (np.abs(X).max(initial=0.0) or 1.0)

    def distances_from(row: int) -> NDArray[np.float64]:
        return np.asarray(cdist(unit[row : row + 1], unit[row + 1 :])[0])

    largest = max((distances_from(row).max() for row in range(len(X) - 1)), default=0.0) or 1.0
    return lambda row: distances_from(row) / largest


def consensus(distances_from: DistancesFrom, probabilities: NDArray[np.float32]) -> DistancesFrom:
    """Return 1 - P plus a thousandth of relative distances."""
    return lambda row: (
        1.0 - probabilities[row, row + 1 :] + WEIGHT_OF_DISTANCES * distances_from(row)
    )


def cut(edges: Edges, closure: Closure, n_clusters: int) -> tuple[NDArray[np.int64], bool]:
    """Cut the forest of constrained Kruskal; return labels (n_rows,), and if n_clusters is met."""
    n_items = closure.n_components
    is_apart = np.zeros((n_items, n_items), np.bool_)
    i, j = closure.cannot_link_components.T
    is_apart[i, j] = is_apart[j, i] = True
    kept = np.empty_like(edges.first), np.empty_like(edges.second)
    component = closure.component.astype(np.int32)
    n_kept = first_edges(edges.first, edges.second, component, is_apart.copy(), *kept)
    children = np.empty((max(n_items - 1, 0), 2), np.int64)
    times = np.empty(max(n_items - 1, 0), np.int64)
    n_merges = merge_in_order(kept[0][:n_kept], kept[1][:n_kept], is_apart, children, times)
    wanted = min(max(n_items - n_clusters, 0), n_merges)
    links = np.column_stack([kept[0][times[:wanted]], kept[1][times[:wanted]]]).astype(np.int64)
    labels = component_labels(n_items, links)[closure.component]
    # Components are numbered by their first rows, so the groups are too.
    return labels, n_items - wanted == n_clusters
