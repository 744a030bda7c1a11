"""Cuts of trees, and groups of rows by features alone, by number: by Ward's tree and k-means."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, linkage, ward
from scipy.spatial.distance import pdist, squareform

from clew.cluster._kmeans import kmeans
from clew.cluster.guided._partitions import renumbered

Floats = NDArray[np.float64]


def ward_of(positions: Floats) -> Floats:
    """Ward's linkage; not `ward(positions)`, which warns of rows that look like distances."""
    return np.asarray(ward(pdist(positions)))


def tree_of(distances: Floats, method: Literal["average", "ward"]) -> Floats:
    """Linkage by distances between all rows, (n, n), whose diagonal and negative values are 0."""
    np.fill_diagonal(distances, 0.0)
    condensed = squareform(np.clip(distances, 0.0, None), checks=False)
    return np.asarray(linkage(condensed, method))


def cuts(tree: Floats, numbers: Sequence[int]) -> list[NDArray[np.int64]]:
    """Cut a tree into numbers of groups; each number that is found once."""
    found = [renumbered(fcluster(tree, k, "maxclust")) for k in numbers]
    return [one for at, one in enumerate(found) if not at or one.max() != found[at - 1].max()]


@dataclass(frozen=True, eq=False)
class Cuts:
    """Groups by Ward's tree, and by k-means."""

    X: Floats
    tree: Floats
    seed: int

    def __call__(self, n_clusters: int) -> Iterator[NDArray[np.signedinteger]]:
        if n_clusters == 1:
            yield np.zeros(len(self.X), np.int64)
            return
        yield renumbered(fcluster(self.tree, n_clusters, "maxclust"))
        yield kmeans(self.X, n_clusters, n_init=1, random_state=self.seed).labels
