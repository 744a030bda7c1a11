"""Features of pairs of rows, computed from distances; they do not depend on units or density."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

from clew._parallel import blocks
from clew.cluster._kmeans import kmeans
from clew.kernels.partitions.pairs import number_of_pairs

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

#: Scaled log distance, log rank, co-association, diffusion, Ward, average linkage.
N_FEATURES = 6
#: Weights before any answer, the intercept first, fitted to sets of images, leaves and digits.
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
#: Rows computed at once: temporary arrays of all rows would take more memory than the features.
ROWS_AT_ONCE = 256
#: Number of dimensions that k-means and Ward's linkage use.
N_DIMENSIONS = 20


def pair_features(
    distances: Floats, coordinates: Floats, ward: Floats, factor: float, random_state: int
) -> Singles:
    """Compute the features of all pairs, (n_pairs, 6), in the order of `kernels.partitions.pairs`.

    `coordinates` (n_samples, n_dimensions), by decreasing variance, have about the `distances`;
    `ward` is SciPy's tree. `factor` divides ranks, sizes and numbers of groups of k-means: 1 for
    groups of about 12 rows. Time O(n³) for products of matrices; memory 12 n² bytes, at most 20 n².
    """
    n = len(distances)
    features = np.empty((number_of_pairs(n), N_FEATURES), np.float32)
    ranks = _ranks(distances)
    scale = _local_scale(distances)
    log_factor = np.log(factor)
    for rows in _in_blocks(n):
        log_squares = np.log(_squares(distances, scale, rows) + 1e-12)
        log_ranks = np.log1p(ranks[rows]) + np.log1p(ranks[:, rows].T)
        put_below(features[:, 0], np.clip(log_squares, -3.0, 3.0), rows.start)
        put_below(features[:, 1], log_ranks / 2 - 2.5 - log_factor, rows.start)
    _fill_diffusion(features[:, 3], distances, scale, ranks)
    _fill_co_association(features[:, 2], coordinates[:, :N_DIMENSIONS], factor, random_state)
    put_below(features[:, 4], _joint_sizes(ward, log_factor))
    average = linkage(squareform(distances, checks=False), "average")
    put_below(features[:, 5], _joint_sizes(average, log_factor))
    return features


def put_below(feature: Singles, values: NDArray[np.floating], start: int = 0) -> None:
    """Set the pairs of some rows and the rows before each, from values of these rows and all."""
    stop = start + len(values)
    is_before = np.arange(values.shape[1]) < np.arange(start, stop)[:, None]
    feature[number_of_pairs(start) : number_of_pairs(stop)] = values[is_before]


def _in_blocks(n: int) -> list[slice]:
    return [slice(*block) for block in blocks(n, ROWS_AT_ONCE)]


def _ranks(distances: Floats) -> NDArray[np.int32]:
    """Rank the rows by their distance from each row, from 0 for the row itself."""
    n = len(distances)
    ranks = np.empty((n, n), np.int32)
    for rows in _in_blocks(n):
        near = distances[rows].copy()
        near[np.arange(len(near)), np.arange(rows.start, rows.stop)] = -1.0
        order = np.argsort(near, axis=1, kind="stable")
        np.put_along_axis(ranks[rows], order, np.arange(n, dtype=np.int32)[None, :], axis=1)
    return ranks


def _local_scale(distances: Floats) -> Floats:
    """Distance of each row to a near neighbor, (n_samples,)."""
    n = len(distances)
    k = min(SCALE_NEIGHBOR, n - 1)
    scale = np.concatenate([np.partition(distances[rows], k)[:, k] for rows in _in_blocks(n)])
    return np.asarray(np.maximum(scale, LEAST_SCALE * distances.max() or 1.0))


def _squares(distances: Floats, scale: Floats, rows: slice) -> Floats:
    """Squared distances of some rows, divided by the local scales of both."""
    return np.asarray(distances[rows] ** 2 / (scale[rows, None] * scale[None, :]))


def _fill_co_association(
    feature: Singles, coordinates: Floats, factor: float, random_state: int
) -> None:
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
    for rows in _in_blocks(n):
        log_odds = np.log((share[rows] + 0.03) / (1.03 - share[rows])) + 2.0
        put_below(feature, log_odds, rows.start)


def _fill_diffusion(
    feature: Singles, distances: Floats, scale: Floats, ranks: NDArray[np.int32]
) -> None:
    """Log cosine between the rows of a diffusion on the graph of nearest neighbors."""
    n = len(distances)
    steps, next_steps = np.empty((n, n)), np.empty((n, n))
    for rows in _in_blocks(n):
        near = (ranks[rows] <= GRAPH_NEIGHBORS) | (ranks[:, rows].T <= GRAPH_NEIGHBORS)
        steps[rows] = np.where(near, np.exp(-_squares(distances, scale, rows)), 0.0)
    np.fill_diagonal(steps, 0.5)
    degree = np.sqrt(steps.sum(axis=1))
    for rows in _in_blocks(n):
        steps[rows] /= degree[rows, None] * degree[None, :]
    for _ in range(int(np.log2(DIFFUSION_STEPS))):
        np.matmul(steps, steps, out=next_steps)
        steps, next_steps = next_steps, steps
    length = np.sqrt(np.diag(steps))
    for rows in _in_blocks(n):
        cosine = steps[rows] / (length[rows, None] * length[None, :])
        log_cosine = np.clip(np.log(np.maximum(cosine, 0) + 1e-3), -7.0, 0.0) + 2.0
        put_below(feature, log_cosine, rows.start)


def _joint_sizes(tree: Floats, log_factor: float) -> Singles:
    """Scaled log size of the smallest node of a tree that holds both rows."""
    sizes = tree.copy()
    sizes[:, 2] = tree[:, 3]
    log_sizes = np.log(np.maximum(cophenet(sizes), 1.0)) - 3.0 - log_factor
    return np.asarray(squareform(log_sizes.astype(np.float32)))
