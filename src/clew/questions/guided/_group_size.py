"""Estimate of the number of rows in a group, before any answer."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster

Floats = NDArray[np.float64]
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


def rows_a_group(distances: Floats, ward: Floats, n_clusters: int | None) -> float:
    """Return the mean number of rows in a group: given, or from silhouettes of cuts of a tree.

    Silhouettes favor few groups where data have a direction of large variance but no groups, so
    numbers far from the typical one need a clearly better silhouette.
    """
    n = len(distances)
    if n_clusters is not None:
        return n / n_clusters
    typical: float = n / (TYPICAL_ROWS * max(1.0, (n / TYPICAL_OF) ** 0.5))
    if n < 2 * TYPICAL_ROWS:
        return n / max(typical, 1.0)
    numbers = np.unique(np.geomspace(2, n / 3, N_CUTS).round().astype(int))
    sums, sizes, cuts = _sums_of_cuts(distances, ward, numbers)
    score = [
        _silhouette(*_merged(sums, sizes, cut), cut[cuts[-1]]) - PENALTY * far**2
        for cut, far in zip(_nested(cuts), np.log(numbers / typical), strict=True)
    ]
    return float(n / numbers[int(np.argmax(score))])


def feature_scale(rows: float) -> float:
    """Return the factor by which features are to be scaled to larger groups, from 1 to 3."""
    return min(max(1.0, rows / LARGEST_UNSCALED), LARGEST_FACTOR)


def _sums_of_cuts(
    distances: Floats, ward: Floats, numbers: NDArray[np.integer]
) -> tuple[Floats, Ints, list[Ints]]:
    """Sum the distances of each row to the groups of the finest cut; return all cuts, too."""
    cuts = [fcluster(ward, int(k), "maxclust").astype(np.int64) - 1 for k in numbers]
    finest = cuts[-1]
    member = np.equal.outer(finest, np.arange(finest.max() + 1)).astype(np.float64)
    return distances @ member, np.bincount(finest), cuts


def _nested(cuts: list[Ints]) -> list[Ints]:
    """Return, for each cut, which of its groups contains each group of the finest cut."""
    _, first = np.unique(cuts[-1], return_index=True)
    return [cut[first] for cut in cuts]


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
