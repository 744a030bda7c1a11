"""Features of pairs of rows, computed from distances; they do not depend on units or density."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

from clew.cluster._kmeans import kmeans

__all__ = ["N_DIMENSIONS", "N_FEATURES", "START_WEIGHTS", "pair_features"]

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

#: Intercept, scaled log distance, log rank, co-association, diffusion, Ward, average linkage.
N_FEATURES = 7
#: Weights before any answer, fitted to sets of images, leaves and digits.
START_WEIGHTS = np.array([-2.6, -0.25, -0.25, 0.4, 0.55, -0.35, -0.1])

#: The local scale of a row is the distance to this neighbor.
SCALE_NEIGHBOR = 7
#: Least local scale, relative to the largest distance: that of rows with many copies would be 0.
LEAST_SCALE = 1e-9
#: Neighbors of a row in the graph of the diffusion, and its steps (a power of 2).
GRAPH_NEIGHBORS = 12
DIFFUSION_STEPS = 8
#: Runs of k-means, with numbers of groups between n/40 and n/6, divided by the factor.
N_RUNS = 60
#: Number of dimensions that k-means and Ward's linkage use.
N_DIMENSIONS = 20


def pair_features(
    distances: Floats, coordinates: Floats, ward: Floats, factor: float, random_state: int
) -> Singles:
    """Compute the features of all pairs.

    Parameters
    ----------
    distances : ndarray of shape (n_samples, n_samples)
        Distances, in any unit.
    coordinates : ndarray of shape (n_samples, n_dimensions)
        Coordinates with about these distances, by decreasing variance.
    ward : ndarray of shape (n_samples - 1, 4)
        Tree of Ward's linkage, as SciPy returns it.
    factor : float
        Ranks and sizes are divided by this, and k-means runs have fewer groups: 1 for groups of
        about 12 rows, larger for larger groups.
    random_state : int
        Seed of k-means.

    Returns
    -------
    ndarray of shape (n_samples, n_samples, 7), float32
        On the diagonal all are 0 except the intercept.

    Notes
    -----
    Time O(n³) for the diffusion (matrix products) and O(n² log n) for the others; memory 28 n²
    bytes.
    """
    n = len(distances)
    features = np.empty((n, n, N_FEATURES), np.float32)
    ranks = _ranks(distances)
    scale = np.sort(distances, axis=1)[:, min(SCALE_NEIGHBOR, n - 1)]
    scale = np.maximum(scale, LEAST_SCALE * distances.max() or 1.0)
    squares = distances**2 / (scale[:, None] * scale[None, :])
    log_ranks, log_factor = np.log1p(ranks), np.log(factor)
    features[:, :, 0] = 1.0
    features[:, :, 1] = np.clip(np.log(squares + 1e-12), -3.0, 3.0)
    features[:, :, 2] = (log_ranks + log_ranks.T) / 2 - 2.5 - log_factor
    features[:, :, 3] = _co_association(coordinates[:, :N_DIMENSIONS], factor, random_state)
    features[:, :, 4] = _diffusion(squares, ranks)
    condensed = squareform(distances, checks=False)
    features[:, :, 5] = _log_joint_size(ward) - 3.0 - log_factor
    features[:, :, 6] = _log_joint_size(linkage(condensed, "average")) - 3.0 - log_factor
    features[np.arange(n), np.arange(n), 1:] = 0.0
    return features


def _ranks(distances: Floats) -> Floats:
    """Rank the rows by their distance from each row, from 0 for the row itself."""
    n = len(distances)
    off_diagonal = distances.copy()
    np.fill_diagonal(off_diagonal, -1.0)
    order = np.argsort(off_diagonal, axis=1, kind="stable")
    ranks = np.empty((n, n))
    np.put_along_axis(ranks, order, np.arange(n, dtype=float)[None, :], axis=1)
    return ranks


def _co_association(coordinates: Floats, factor: float, random_state: int) -> Floats:
    """Log-odds of the share of k-means runs that put a pair into one group."""
    n = len(coordinates)
    lowest, highest = max(3.0, n / 40 / factor), max(6.0, n / 6 / factor)
    numbers = np.round(np.exp(np.linspace(np.log(lowest), np.log(highest), N_RUNS))).astype(int)
    share = np.zeros((n, n), np.float32)
    random = np.random.RandomState(random_state)
    for number in np.minimum(numbers, n):
        centers = coordinates[random.choice(n, number, replace=False)]
        run = kmeans(coordinates, int(number), n_init=1, random_state=0, init=centers, max_iter=30)
        share += run.labels[:, None] == run.labels[None, :]
    share /= N_RUNS
    return np.log((share + 0.03) / (1.03 - share)) + 2.0


def _diffusion(squares: Floats, ranks: Floats) -> Floats:
    """Log cosine between the rows of a diffusion on the graph of nearest neighbors."""
    near = (ranks <= GRAPH_NEIGHBORS) | (ranks.T <= GRAPH_NEIGHBORS)
    weights = np.where(near, np.exp(-squares), 0.0)
    np.fill_diagonal(weights, 0.5)
    degree = np.sqrt(weights.sum(axis=1))
    steps = weights / (degree[:, None] * degree[None, :])
    for _ in range(int(np.log2(DIFFUSION_STEPS))):
        steps = steps @ steps
    length = np.sqrt(np.diag(steps))
    cosine = steps / (length[:, None] * length[None, :])
    return np.asarray(np.clip(np.log(np.maximum(cosine, 0) + 1e-3), -7.0, 0.0) + 2.0)


def _log_joint_size(tree: Floats) -> Floats:
    """Log size of the smallest node of a tree that holds both rows."""
    sizes = tree.copy()
    sizes[:, 2] = tree[:, 3]
    return np.log(np.maximum(squareform(cophenet(sizes)), 1.0))
