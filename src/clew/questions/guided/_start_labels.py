"""Labels before any answer, and how long they are averaged with the sampled partitions."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform

__all__ = ["start_labels", "start_share"]

Ints = NDArray[np.int64]
Singles = NDArray[np.float32]

#: Groups with fewer rows are not counted.
FEWEST_ROWS = 3
#: Weight of the start labels relative to the sampled partitions, and the number of answers, as a
#: share of the number of rows, after which this weight is 37 % of that.
START_SHARE, FALL = 0.5, 0.1


def start_labels(log_odds: Singles, sampled: Ints, number: float, n_clusters: int | None) -> Ints:
    """Cut Ward's linkage of the log-odds of pairs.

    Parameters
    ----------
    log_odds : ndarray of shape (n_rows, n_rows), float32
        Log-odds, from features, that a pair is in one group; zero on the diagonal.
    sampled : ndarray of shape (n_rows,), int64
        Labels from the sampled partitions.
    number : float
        Number of groups, from silhouettes.
    n_clusters : int or None
        Number of groups, if it is known. None: the median of three estimates: `number`, the number
        of sampled groups of three rows or more, and the effective number of sampled groups (the
        inverse of the probability that two rows are in the same one).

    Returns
    -------
    ndarray of shape (n_rows,), int64

    Notes
    -----
    Sampled groups leave out many rows whose group only answers can show. Without answers, Ward's
    linkage of the same log-odds agrees better with the truth.
    """
    if len(sampled) < 2:
        return sampled
    if n_clusters is None:
        sizes = np.bincount(sampled)
        effective = len(sampled) ** 2 / float((sizes**2).sum())
        counted = max(int((sizes >= FEWEST_ROWS).sum()), 1)
        n_clusters = max(round(float(np.median([number, effective, counted]))), 1)
    far = log_odds.max() - log_odds.astype(np.float64)
    np.fill_diagonal(far, 0.0)
    tree = linkage(squareform(far, checks=False), "ward")
    # Unlike `fcluster`, it returns the wanted number where several merges are at one height.
    return cut_tree(tree, [n_clusters])[:, 0].astype(np.int64)


def start_share(n_answers: int, n_rows: int) -> float:
    """Return the weight of the start labels after some answers."""
    return float(START_SHARE * np.exp(-n_answers / (FALL * n_rows)))
