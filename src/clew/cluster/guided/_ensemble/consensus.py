"""Consensus of clusterings, by how often they put rows together."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, hstack
from sklearn.exceptions import ConvergenceWarning

from clew._random import RandomState, derived_seeds
from clew._warnings import warn
from clew.cluster._kmeans import kmeans
from clew.exceptions import InvalidDataError, InvalidParameterError

__all__ = ["co_association", "consensus"]

#: Smaller eigenvalues and lengths of rows are replaced by this in divisors.
LEAST = 1e-12


def consensus(
    partitions: ArrayLike,
    weights: ArrayLike | None,
    n_clusters: int,
    *,
    n_init: int = 10,
    random_state: RandomState = None,
) -> NDArray[np.int64]:
    """Combine clusterings into one that puts rows together if many of them do.

    Parameters
    ----------
    partitions : array-like of shape (n_partitions, n_samples)
        Group of each row in each clustering; labels may be any values.
    weights : array-like of shape (n_partitions,) or None
        Weight of each clustering; None: equal weights.
    n_clusters : int
        Number of groups.
    n_init : int, default=10
        Number of starts of k-means.
    random_state : int, RandomState or None, default=None
        Seed of k-means.

    Returns
    -------
    ndarray of shape (n_samples,), int64

    Raises
    ------
    InvalidDataError
        If there is no clustering, or `weights` is not one nonnegative number for each, with a
        positive sum.
    InvalidParameterError
        If there are more groups than rows.

    Warns
    -----
    ConvergenceWarning
        If the intersections of all clusterings' groups are fewer than `n_clusters`.

    Notes
    -----
    Normalized spectral clustering of the weighted co-association, the share of clusterings in
    which two rows are together. Its leading eigenvectors follow from those of a matrix of groups by
    groups, as in the bipartite graph of rows and groups; the matrix itself is formed only if there
    are fewer rows than groups. Time O((n + g)·min(n, g)²) and memory O(n·p + min(n, g)²) for g
    groups in p clusterings together.

    References
    ----------
    A. Strehl and J. Ghosh, "Cluster ensembles", JMLR 2002; X. Z. Fern and C. E. Brodley, "Solving
    cluster ensemble problems by bipartite graph partitioning", ICML 2004.

    Examples
    --------
    >>> from clew.cluster.guided import consensus
    >>> three = [[0, 0, 1, 1, 2, 2], [1, 1, 0, 0, 0, 0], [5, 5, 5, 7, 9, 9]]
    >>> labels = consensus(three, None, 3, random_state=0)
    >>> bool(labels[0] == labels[1] != labels[4])
    True
    """
    groups, weight = _checked(partitions, weights)
    n_samples = groups.shape[1]
    wanted: object = n_clusters
    is_number = isinstance(wanted, Integral) and not isinstance(wanted, bool)
    if not is_number or not 1 <= n_clusters <= n_samples:
        raise InvalidParameterError(
            f"n_clusters must be an integer in [1, {n_samples}] for {n_samples} rows, "
            f"got {n_clusters!r}"
        )
    (seed,) = derived_seeds(random_state, 1)
    n_distinct = len(np.unique(groups[weight > 0], axis=1).T)
    if n_distinct < n_clusters:
        warn(
            f"the partitions distinguish only {n_distinct} groups of rows, fewer than "
            f"n_clusters={n_clusters}; {n_distinct} are returned",
            ConvergenceWarning,
        )
        n_clusters = n_distinct
    rows = _embedding(groups[weight > 0], weight[weight > 0], n_clusters)
    return kmeans(rows, n_clusters, n_init=n_init, random_state=seed).labels


def co_association(
    partitions: ArrayLike, weights: ArrayLike | None, pairs: ArrayLike
) -> NDArray[np.float64]:
    """Compute the share of clusterings in which the rows of pairs are together.

    Parameters
    ----------
    partitions : array-like of shape (n_partitions, n_samples)
        Group of each row in each clustering.
    weights : array-like of shape (n_partitions,) or None
        Weight of each clustering; None: equal weights.
    pairs : array-like of shape (n_pairs, 2)
        Row numbers.

    Returns
    -------
    ndarray of shape (n_pairs,)
        In [0, 1].

    Raises
    ------
    InvalidDataError
        As for `consensus`, or if `pairs` are not pairs of row numbers.
    """
    groups, weight = _checked(partitions, weights)
    named = np.asarray(pairs)
    n_samples = groups.shape[1]
    is_rows = named.dtype.kind in "iu" and named.ndim == 2 and named.shape[1] == 2
    if named.size and not (is_rows and named.min() >= 0 and named.max() < n_samples):
        raise InvalidDataError(
            f"pairs must have shape (n_pairs, 2) and hold rows from 0 to {n_samples - 1}"
        )
    first, second = named.astype(np.int64).reshape(-1, 2).T
    together = (groups[:, first] == groups[:, second]).astype(np.float64)
    return np.asarray(weight @ together / weight.sum())


def _checked(
    partitions: ArrayLike, weights: ArrayLike | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    given = np.asarray(partitions)
    if given.ndim != 2 or not given.size:
        raise InvalidDataError(
            "partitions must have shape (n_partitions, n_samples), neither of them 0; "
            f"got {given.shape}"
        )
    groups = np.stack([np.unique(labels, return_inverse=True)[1] for labels in given])
    weight = np.ones(len(groups)) if weights is None else np.asarray(weights, dtype=np.float64)
    if weight.shape != (len(groups),) or not (weight >= 0).all() or not 0 < weight.sum() < np.inf:
        raise InvalidDataError(
            f"weights must be {len(groups)} numbers, none negative and not all 0; got {weights!r}"
        )
    return groups.astype(np.int64), weight


def _embedding(
    groups: NDArray[np.int64], weight: NDArray[np.float64], n_components: int
) -> NDArray[np.float64]:
    """Return the leading eigenvectors of the normalized co-association, rows scaled to length 1."""
    n = groups.shape[1]
    members = csr_array(
        hstack(
            [
                csr_array((np.full(n, w), (np.arange(n), labels)))
                for labels, w in zip(groups, np.sqrt(weight), strict=True)
            ]
        )
    )
    degree = members @ members.sum(axis=0)
    members = csr_array(members.multiply(1 / np.sqrt(degree)[:, None]))
    kept = slice(-min(n_components, *members.shape), None)
    if members.shape[1] > n:
        value, vectors = np.linalg.eigh((members @ members.T).toarray())
        rows = vectors[:, kept] * (value[kept] > LEAST)
    else:
        value, vectors = np.linalg.eigh((members.T @ members).toarray())
        rows = members @ (vectors[:, kept] / np.sqrt(np.maximum(value[kept], LEAST)))
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(length, LEAST))
