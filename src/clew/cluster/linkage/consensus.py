"""Probabilities that two rows are in the same group, from many clusterings without answers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._parallel import blocks, in_threads, one_blas_thread
from clew._random import RandomState, derived_seeds
from clew._validation import Allowed, check_matrix
from clew.cluster._kmeans import kmeans
from clew.exceptions import InvalidParameterError
from clew.graphs import check_dense_size, check_distances, inner_products
from clew.kernels.consensus import alternate_medoids, count_shared

__all__ = ["consensus_probabilities"]

Floats = NDArray[np.float64]

N_COMPONENTS = 20
MAX_ITER = 50
ROWS_PER_BLOCK = 256
#: Extra columns of the randomized decomposition, and number of products with the matrix; with these
#: its leading eigenvectors are exact enough for k-means.
N_MORE_COLUMNS, N_PRODUCTS = 20, 8


def consensus_probabilities(
    X: ArrayLike,
    n_clusters: int | Sequence[int],
    *,
    n_runs: int = 100,
    metric: Literal["euclidean", "precomputed"] = "euclidean",
    method: Literal["kmeans", "kmedoids"] = "kmeans",
    n_jobs: int | None = None,
    random_state: RandomState = None,
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
    n_jobs : int or None, default=None
        Number of threads, as in joblib.
    random_state : int, RandomState or None, default=None
        Seed of the starts.

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
