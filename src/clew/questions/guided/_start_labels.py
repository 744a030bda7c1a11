"""Labels before any answer, and how long they are averaged with the sampled partitions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import pdist, squareform

from clew._warnings import silenced
from clew.cluster.guided import GuidedClustering

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Singles = NDArray[np.float32]

#: Groups with fewer rows are not counted.
FEWEST_ROWS = 3
#: Weight of the start labels relative to the sampled partitions, and the number of answers, as a
#: share of the number of rows, after which this weight is 37 % of that.
START_SHARE, FALL = 0.5, 0.1
#: Added to the distance between rows that the other labels separate, in standard deviations.
APART = 1.5
#: With more rows, there are no other labels: they would take as long as all the rest of the start.
MOST_ROWS = 1000


def start_labels(
    log_odds: Singles,
    sampled: Ints,
    number: float,
    n_clusters: int | None,
    others: Ints | None = None,
) -> Ints:
    """Cut Ward's linkage of the log-odds (n_rows, n_rows) of pairs from features.

    If `n_clusters` is not known: the median of `number`, from silhouettes, the number of `sampled`
    groups of three rows or more, and the effective number of these groups (the inverse of the
    probability that two rows are in the same one). Pairs that `others` separate are farther apart.

    Sampled groups leave out many rows whose group only answers can show. Without answers, Ward's
    linkage of the same log-odds agrees better with the truth, and together with
    `unconstrained_labels` better than either.
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
