"""Anchors: a few thousand means of rows, and the links of rows to the nearest of them."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew._parallel import blocks, in_threads
from clew.cluster.guided._features.feature_space import FeatureSpace
from clew.graphs import DistanceSpace
from clew.kernels.means import add_groups
from clew.kernels.nearest import nearest_by_products

__all__ = ["Links", "choose_anchors", "link_all", "link_rows", "nearest_anchors", "sampled"]

Rows = NDArray[np.float32]

#: Maximum number of rows from which units, principal axes and anchors are computed.
SAMPLE_ROWS: Final = 400_000
#: Rounds of k-means that move anchors to the means of their rows.
N_ROUNDS: Final = 2
#: Nearest anchors that each row is linked to, and how fast weights fall with the squared distance.
N_NEAREST, DECAY = 5, 4.0
#: Number of rows in one task, in one task that reads features, and in one matrix of inner products
#: with all anchors.
BLOCK_ROWS, LINKED_ROWS, PRODUCT_ROWS = 65_536, 16_384, 2_048


class Links(NamedTuple):
    """The nearest anchors of rows."""

    nearest: NDArray[np.int32]
    """Anchors of each row, the nearest first, (n_rows, n_nearest)."""
    weight: NDArray[np.float32]
    """Their weights; each row sums to 1."""

    def at(self, rows: Any) -> Links:
        """Select rows."""
        return Links(self.nearest[rows], self.weight[rows])

    @classmethod
    def stacked(cls, parts: list[Links]) -> Links:
        """Concatenate blocks of rows."""
        return cls(
            np.concatenate([part.nearest for part in parts]),
            np.concatenate([part.weight for part in parts]),
        )


def sampled(X: Any, seed: int) -> Any:
    """Return 400,000 random rows in their order, or all if there are no more."""
    n = X.shape[0]
    if n <= SAMPLE_ROWS:
        return X
    return X[np.sort(np.random.RandomState(seed).choice(n, SAMPLE_ROWS, replace=False))]


def choose_anchors(rows: Rows, n_anchors: int, seed: int, n_jobs: int | None = None) -> Rows:
    """Choose random rows, and move each to the mean of the rows that are nearest to it, twice.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns), float32
        Rows, or a sample of them.
    n_anchors : int
        Number of anchors.
    seed : int
        Seed of the random rows.
    n_jobs : int or None, default=None
        Number of threads.

    Returns
    -------
    ndarray of shape (n_found, n_columns), float32
        Distinct anchors; fewer than `n_anchors` if there are fewer distinct rows.

    Notes
    -----
    Time O(n_rows·n_anchors·n_columns), as matrix products in single precision.
    """
    chosen = np.random.RandomState(seed).choice(len(rows), min(n_anchors, len(rows)), replace=False)
    anchors = np.unique(rows[chosen], axis=0)
    for _ in range(N_ROUNDS):
        anchors = _at_means(rows, anchors, n_jobs)
    return np.unique(anchors, axis=0)


def _at_means(rows: Rows, anchors: Rows, n_jobs: int | None) -> Rows:
    """Return the means of the rows nearest to each anchor; an anchor without rows stays."""
    parts = blocks(len(rows), BLOCK_ROWS)
    found = in_threads(
        lambda part: nearest_anchors(rows[slice(*part)], anchors, 1)[:, 0], parts, n_jobs=n_jobs
    )
    sums, mass = np.zeros(anchors.shape), np.zeros(len(anchors))
    # One block after the other, so that sums do not depend on threads.
    for part, nearest in zip(parts, found, strict=True):
        block = rows[slice(*part)].astype(np.float64)
        add_groups(block, np.ones(len(block)), nearest.astype(np.int64), sums, mass)
    means = sums / np.maximum(mass, 1.0)[:, None]
    return np.where(mass[:, None] > 0, means, anchors).astype(np.float32)


def nearest_anchors(rows: Rows, anchors: Rows, n_nearest: int) -> NDArray[np.int32]:
    """Find the nearest anchors of each row.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns), float32
        Rows.
    anchors : ndarray of shape (n_anchors, n_columns), float32
        Anchors.
    n_nearest : int
        Number of anchors of each row, at most `n_anchors`.

    Returns
    -------
    ndarray of shape (n_rows, n_nearest), int32
        The nearest first.
    """
    half_squares = (anchors**2).sum(axis=1) / 2
    nearest = np.empty((len(rows), n_nearest), np.int32)
    products = np.empty((min(len(rows), PRODUCT_ROWS), len(anchors)), np.float32)
    distance = np.empty((len(products), n_nearest), np.float32)
    for start, end in blocks(len(rows), PRODUCT_ROWS):
        size = end - start
        np.matmul(rows[start:end], anchors.T, out=products[:size])
        nearest_by_products(products[:size], half_squares, nearest[start:end], distance[:size])
    return nearest


def link_rows(rows: Rows, anchors: Rows) -> Links:
    """Link rows to their five nearest anchors, with Gaussian weights on a local scale.

    Parameters
    ----------
    rows : ndarray of shape (n_rows, n_columns), float32
        A block of rows.
    anchors : ndarray of shape (n_anchors, n_columns), float32
        Anchors.

    Returns
    -------
    Links
        Weights are ``exp(-4 (d² - d₁²) / m)``, divided by their sum, for the squared distances d²,
        the least of them d₁², and their mean m.
    """
    nearest = nearest_anchors(rows, anchors, min(N_NEAREST, len(anchors)))
    # From differences: products of large numbers lose the digits of small distances.
    squared = np.stack(
        [((rows - anchors[column]) ** 2).sum(axis=1) for column in nearest.T], axis=1
    )
    beyond = squared - squared.min(axis=1, keepdims=True)
    scale = np.maximum(squared.mean(axis=1, keepdims=True), np.finfo(np.float32).tiny)
    weight = np.exp(-DECAY * beyond / scale)
    weight /= weight.sum(axis=1, keepdims=True)
    return Links(nearest, weight.astype(np.float32))


def link_all(
    X: Any, space: FeatureSpace | DistanceSpace, anchors: Rows, n_jobs: int | None, verbose: int = 0
) -> Links:
    """Link all rows to anchors, one block after the other.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n_samples, n_features)
        Features.
    space : FeatureSpace
        Maps features to the columns of the anchors.
    anchors : ndarray of shape (n_anchors, n_columns), float32
        Anchors.
    n_jobs : int or None
        Number of threads.
    verbose : int, default=0
        As in `in_threads`.

    Returns
    -------
    Links
    """

    def link(part: tuple[int, int]) -> Links:
        return link_rows(space.transform(X[slice(*part)]).astype(np.float32), anchors)

    parts = blocks(X.shape[0], LINKED_ROWS)
    return Links.stacked(
        in_threads(link, parts, n_jobs=n_jobs, verbose=verbose, what="blocks of linked rows")
    )
