"""Consensus: one partition of many, by how often they put rows together."""

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

LEAST = 1e-12


def consensus(
    partitions: ArrayLike,
    weights: ArrayLike | None,
    n_clusters: int,
    *,
    n_init: int = 10,
    random_state: RandomState = None,
) -> NDArray[np.int64]:
    """Join partitions into one: rows that many of them put together are together.

    Parameters
    ----------
    partitions : array-like of shape (n_partitions, n_samples)
        Groups of the rows in each partition: any labels.
    weights : array-like of shape (n_partitions,) or None
        How much each partition counts; None: all alike.
    n_clusters : int
        Number of groups.
    n_init : int, default=10
        Starts of k-means.
    random_state : int, RandomState or None, default=None
        Seed of k-means.

    Returns
    -------
    ndarray of shape (n_samples,), int64

    Raises
    ------
    InvalidDataError
        If there is no partition, or weights are not one for each, 0 at least and not all 0.
    InvalidParameterError
        If there are more groups than rows.

    Warns
    -----
    ConvergenceWarning
        If partitions part the rows into fewer groups than are wanted, all of them taken together.

    Notes
    -----
    Normalised spectral clustering of the weighted co-association, the share of partitions in which
    two rows are together. It is never formed: its leading eigenvectors follow from those of the
    groups by groups, as in the bipartite graph of rows and groups. Time O(n·g²) and memory O(n·g)
    for g groups in all partitions together.

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
    n_parted = len(np.unique(groups[weight > 0], axis=1).T)
    if n_parted < n_clusters:
        warn(
            f"partitions part the rows into {n_parted} groups at most: no {n_clusters} are found",
            ConvergenceWarning,
        )
        n_clusters = n_parted
    rows = _embedding(groups[weight > 0], weight[weight > 0], n_clusters)
    return kmeans(rows, n_clusters, n_init=n_init, random_state=seed).labels


def co_association(
    partitions: ArrayLike, weights: ArrayLike | None, pairs: ArrayLike
) -> NDArray[np.float64]:
    """Give the share of partitions in which the rows of pairs are together.

    Parameters
    ----------
    partitions : array-like of shape (n_partitions, n_samples)
        Groups of the rows in each partition.
    weights : array-like of shape (n_partitions,) or None
        How much each partition counts; None: all alike.
    pairs : array-like of shape (n_pairs, 2)
        Rows.

    Returns
    -------
    ndarray of shape (n_pairs,)
        In [0, 1].

    Raises
    ------
    InvalidDataError
        As from `consensus`, or if pairs do not name rows.
    """
    groups, weight = _checked(partitions, weights)
    asked = np.asarray(pairs)
    n_samples = groups.shape[1]
    is_rows = asked.dtype.kind in "iu" and asked.ndim == 2 and asked.shape[1] == 2
    if asked.size and not (is_rows and asked.min() >= 0 and asked.max() < n_samples):
        raise InvalidDataError(
            f"pairs must have shape (n_pairs, 2) and hold rows from 0 to {n_samples - 1}"
        )
    first, second = asked.astype(np.int64).reshape(-1, 2).T
    together = (groups[:, first] == groups[:, second]).astype(np.float64)
    return np.asarray(weight @ together / weight.sum())


def _checked(
    partitions: ArrayLike, weights: ArrayLike | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    given = np.asarray(partitions)
    if given.ndim != 2 or not given.size:
        raise InvalidDataError(
            "partitions must have shape (n_partitions, n_samples), with one of each at least; "
            f"got {given.shape}"
        )
    groups = np.stack([np.unique(labels, return_inverse=True)[1] for labels in given])
    weight = np.ones(len(groups)) if weights is None else np.asarray(weights, dtype=np.float64)
    if weight.shape != (len(groups),) or not (weight >= 0).all() or not 0 < weight.sum() < np.inf:
        raise InvalidDataError(
            f"weights must be {len(groups)} numbers, 0 at least and not all 0; got {weights!r}"
        )
    return groups.astype(np.int64), weight


def _embedding(
    groups: NDArray[np.int64], weight: NDArray[np.float64], n_components: int
) -> NDArray[np.float64]:
    """Give the leading eigenvectors of the normalised co-association, rows of length 1."""
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
    value, vectors = np.linalg.eigh((members.T @ members).toarray())
    kept = slice(-min(n_components, len(value)), None)
    rows = members @ (vectors[:, kept] / np.sqrt(np.maximum(value[kept], LEAST)))
    length = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.asarray(rows / np.maximum(length, LEAST))
