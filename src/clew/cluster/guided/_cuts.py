"""Groups of rows by features alone, by number: cuts of Ward's tree, and k-means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.cluster.hierarchy import fcluster, ward
from scipy.spatial.distance import pdist

from clew.cluster._kmeans import kmeans
from clew.cluster.guided._partitions import renumbered

Floats = NDArray[np.float64]


def ward_of(positions: Floats) -> Floats:
    """Ward's linkage; not `ward(positions)`, which warns of rows that look like distances."""
    return np.asarray(ward(pdist(positions)))


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
