"""What is computed before any answer: candidates for centers, their nearest rows, first centers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew._warnings import silenced
from clew.cluster.medoids._candidates import draw_candidates, neighbor_lists, neighborhoods
from clew.cluster.medoids._distances import RowDistances
from clew.cluster.medoids.subclustering import Subclustering

__all__ = ["Start", "start_from"]

Index = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Length of the list of nearest rows of a center: a multiple of the size, and its minimum.
LISTED, LEAST_LISTED = 5, 40
#: Shares of common rows are moved away from 0 and 1 by this before their log-odds are taken.
SHARE_OFFSET = 0.02
#: Weights of the log-odds of the share of common rows, and of the distance of two candidates.
SHARE_WEIGHT, DISTANCE_WEIGHT = 1.2, 0.5
#: Larger distances of two candidates are replaced by this, in units of that within subclusters.
FARTHEST = 10.0


class Start(NamedTuple):
    """The data, and the subclusters without answers."""

    distances: RowDistances
    size: int
    """Number of rows of a subcluster."""
    rows: Index
    """Candidates for centers, (n_candidates,), ascending."""
    nearest: Index
    """Other rows near each candidate, the nearest first, (n_candidates, n_listed)."""
    apart: Floats
    """Distances of these rows from the candidate."""
    shared: NDArray[np.float32]
    """Share of common rows in larger neighborhoods of two candidates, symmetric."""
    density: Floats
    """Mean distance of each candidate from the other rows of its subcluster."""
    centers: Index
    """First centers, as positions among the candidates, (n_clusters,)."""
    position: Index
    """Position of each row among the candidates, or -1, (n_samples,)."""

    def nearness(self, at: int) -> Floats:
        """Score how probable it is that each candidate is in the same group as a given one.

        Parameters
        ----------
        at : int
            Position of a candidate.

        Returns
        -------
        ndarray of shape (n_candidates,)
            Weighted log-odds of the share of common rows, minus the weighted distance in units of
            the distances within the two subclusters.
        """
        apart = self.distances.block(self.rows[at : at + 1], self.rows)[0]
        unit = np.sqrt(self.density * self.density[at])
        apart = np.divide(apart, unit, out=np.full(len(unit), FARTHEST), where=unit > 0)
        share = self.shared[at].astype(np.float64)
        odds = np.log((share + SHARE_OFFSET) / (1 + SHARE_OFFSET - share))
        return np.asarray(SHARE_WEIGHT * odds - DISTANCE_WEIGHT * np.minimum(apart, FARTHEST))


def start_from(
    X: Floats, metric: Any, n_clusters: int, size: int, n_jobs: int | None, seed: int
) -> Start:
    """Find the subclusters without answers.

    Parameters
    ----------
    X : ndarray
        Features, or distances.
    metric : {"euclidean", "precomputed"}
        Which of the two `X` holds.
    n_clusters, size : int
        Number of subclusters, and of rows of each.
    n_jobs : int or None
        Number of threads.
    seed : int
        Seed of the candidates and of the search.

    Returns
    -------
    Start
    """
    with silenced():
        model = Subclustering(
            n_clusters, size=size, metric=metric, n_jobs=n_jobs, random_state=seed
        ).fit(X)
    distances = RowDistances(X, metric)
    listed = min(max(LISTED * size, LEAST_LISTED), len(X) - 1)
    random = np.random.RandomState(seed)
    rows = model.candidates_
    # All candidates are required, so no others are drawn.
    lists = draw_candidates(distances, len(rows), listed + 1, random, rows, n_jobs)
    few = lists._replace(nearest=lists.nearest[:, : max(size - 1, 1)])
    near = neighborhoods(few, neighbor_lists(distances, few, n_clusters, random, n_jobs)[0])
    position = np.full(len(X), -1, np.int64)
    position[rows] = np.arange(len(rows))
    return Start(
        distances,
        size,
        rows,
        lists.nearest,
        lists.distance,
        near.shared,
        lists.distance[:, : max(size - 1, 1)].mean(axis=1),
        position[model.centers_],
        position,
    )
