"""Before any answer: features of pairs from distances, the size of groups, and labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cophenet, cut_tree, fcluster, linkage
from scipy.spatial.distance import pdist, squareform

from clew._parallel import blocks
from clew._warnings import silenced
from clew.cluster._kmeans import kmeans
from clew.cluster.guided import GuidedClustering
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
Ints = NDArray[np.int64]
#: Typical number of rows in a group, in data of up to `TYPICAL_OF` rows; with more rows it grows
#: with the square root of their number.
TYPICAL_ROWS, TYPICAL_OF = 12.0, 250.0
#: Subtracted from the silhouette: this times the squared logarithm of the ratio of a number of
#: groups to the typical one.
PENALTY = 0.06
N_CUTS = 24
#: Features of pairs suit groups of up to this many rows; for larger ones they are scaled.
LARGEST_UNSCALED = 20.0
#: Largest factor: with a larger one, no pair would seem near.
LARGEST_FACTOR = 3.0
#: Groups with fewer rows are not counted.
FEWEST_ROWS = 3
#: Weight of the start labels relative to the sampled partitions, and the number of answers, as a
#: share of the number of rows, after which this weight is 37 % of that.
START_SHARE, FALL = 0.5, 0.1
#: Added to the distance between rows that the other labels separate, in standard deviations.
APART = 1.5
#: With more rows, there are no other labels: they would take as long as all the rest of the start.
MOST_ROWS = 1000


def pair_features(
    distances: Floats, coordinates: Floats, ward: Floats, factor: float, random_state: int
) -> Singles:
    """Compute the features of all pairs, (n_pairs, 6), in the order of `kernels.partitions.pairs`.

    `coordinates`, by decreasing variance, have about the `distances`; `ward` is SciPy's tree;
    `factor` divides ranks and sizes: 1 for groups of about 12 rows. Time O(n³); memory 12 to 20 n²
    bytes.
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


def rows_a_group(distances: Floats, ward: Floats, n_clusters: int | None) -> float:
    """Mean rows in a group: given, or by silhouettes, which favor few groups of large variance."""
    n = len(distances)
    if n_clusters is not None:
        return n / n_clusters
    typical: float = n / (TYPICAL_ROWS * max(1.0, (n / TYPICAL_OF) ** 0.5))
    if n < 2 * TYPICAL_ROWS:
        return n / max(typical, 1.0)
    numbers = np.unique(np.geomspace(2, n / 3, N_CUTS).round().astype(int))
    cuts = [fcluster(ward, int(k), "maxclust").astype(np.int64) - 1 for k in numbers]
    finest = cuts[-1]
    member = np.equal.outer(finest, np.arange(finest.max() + 1)).astype(np.float64)
    sums, sizes = distances @ member, np.bincount(finest)
    first = np.unique(finest, return_index=True)[1]  # a row of each group of the finest cut
    score = [
        _silhouette(*_merged(sums, sizes, cut[first]), cut) - PENALTY * far**2
        for cut, far in zip(cuts, np.log(numbers / typical), strict=True)
    ]
    return float(n / numbers[int(np.argmax(score))])


def feature_scale(rows: float) -> float:
    """Return the factor by which features are to be scaled to larger groups, from 1 to 3."""
    return min(max(1.0, rows / LARGEST_UNSCALED), LARGEST_FACTOR)


def _merged(sums: Floats, sizes: Ints, into: Ints) -> tuple[Floats, Ints]:
    member = np.equal.outer(into, np.arange(into.max() + 1)).astype(np.float64)
    return sums @ member, (sizes @ member).astype(np.int64)


def _silhouette(sums: Floats, sizes: Ints, labels: Ints) -> float:
    """Return the mean silhouette; 0 for rows that are alone."""
    if len(sizes) < 2:
        return -1.0
    every = np.arange(len(labels))
    own_size = sizes[labels]
    own = sums[every, labels] / np.maximum(own_size - 1, 1)
    others = sums / sizes
    others[every, labels] = np.inf
    nearest = others.min(axis=1)
    widest = np.maximum(np.maximum(own, nearest), np.finfo(np.float64).tiny)
    return float(np.where(own_size > 1, (nearest - own) / widest, 0.0).mean())


def start_labels(
    log_odds: Singles,
    sampled: Ints,
    number: float,
    n_clusters: int | None,
    others: Ints | None = None,
) -> Ints:
    """Cut Ward's linkage of the log-odds (n_rows, n_rows) of pairs from features.

    An open `n_clusters` is the median of `number`, from silhouettes, the number of `sampled` groups
    of three rows or more, and their effective number. Pairs that `others` separate are farther
    apart. With both, the linkage agrees better with the truth than either.
    """
    if len(sampled) < 2:
        return sampled
    if n_clusters is None:
        sizes = np.bincount(sampled)
        effective = len(sampled) ** 2 / float((sizes**2).sum())
        counted = max(int((sizes >= FEWEST_ROWS).sum()), 1)
        n_clusters = max(round(float(np.median([number, effective, counted]))), 1)
    condensed = squareform(log_odds, checks=False).astype(np.float64)
    np.subtract(log_odds.max(), condensed, out=condensed)
    if others is not None:
        condensed += APART * condensed.std() * pdist(others[:, None], "hamming")
    tree = linkage(condensed, "ward")
    # Unlike `fcluster`, it returns the wanted number where several merges are at one height.
    return cut_tree(tree, [n_clusters])[:, 0].astype(np.int64)


def is_unconstrained(n_rows: int, n_clusters: int | None) -> bool:
    """Whether `unconstrained_labels` help: the number is known, and there are few rows."""
    return n_clusters is not None and 1 < n_clusters < n_rows <= MOST_ROWS


def unconstrained_labels(
    distances: Floats, n_clusters: int | None, seed: int, n_jobs: int | None
) -> Ints:
    """Group rows by `GuidedClustering` without answers; of no help if `n_clusters` is not known."""
    model = GuidedClustering(n_clusters, metric="precomputed", n_jobs=n_jobs, random_state=seed)
    with silenced():  # of fewer groups than wanted, if there are many copies
        return np.asarray(model.fit(distances).labels_, np.int64)


def start_share(n_answers: int, n_rows: int) -> float:
    """Return the weight of the start labels after some answers."""
    return float(START_SHARE * np.exp(-n_answers / (FALL * n_rows)))
