"""Rows near each subcluster: before any answer, and as its members change."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew._warnings import silenced
from clew.cluster.medoids._distances import RowDistances
from clew.cluster.medoids._subclusters import draw_candidates, neighbor_lists, neighborhoods
from clew.cluster.medoids.subclustering import Subclustering

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
        """Log-odds of common rows minus distance in units of both's, (n_candidates,)."""
        apart = self.distances.block(self.rows[at : at + 1], self.rows)[0]
        unit = np.sqrt(self.density * self.density[at])
        apart = np.divide(apart, unit, out=np.full(len(unit), FARTHEST), where=unit > 0)
        share = self.shared[at].astype(np.float64)
        odds = np.log((share + SHARE_OFFSET) / (1 + SHARE_OFFSET - share))
        return np.asarray(SHARE_WEIGHT * odds - DISTANCE_WEIGHT * np.minimum(apart, FARTHEST))


def start_from(
    X: Floats, metric: Any, n_clusters: int, size: int, n_jobs: int | None, seed: int
) -> Start:
    """Find the subclusters without answers."""
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


#: Ratios of distances are at most this large.
LARGEST_RATIO = 1e3


class RowLists:
    """The rows listed for each subcluster, with mean distances from the members of each."""

    def __init__(
        self, distances: RowDistances, rows: Index, members: Sequence[Sequence[int]]
    ) -> None:
        self.rows = rows
        self._distances = distances
        k, m = rows.shape
        self._mean = np.empty((k, m, k), np.float32)
        self._own = np.broadcast_to(np.arange(k)[:, None], (k, m))
        self._nearest = np.empty((k, m), np.int64)
        self._other = np.empty((k, m), np.float32)
        for at, group in enumerate(members):
            self._mean[:, :, at] = self._mean_distances(rows.ravel(), group).reshape(k, m)
        for at in range(k):
            self._find_nearest(np.full(m, at), np.arange(m))

    def set_rows(self, at: int, rows: Index, members: Sequence[Sequence[int]]) -> None:
        """List other rows for a subcluster."""
        self.rows[at] = rows
        every = np.concatenate([np.asarray(group) for group in members])
        start = np.cumsum([0, *(len(group) for group in members[:-1])])
        table = self._distances.between(rows, every)
        sizes = np.diff(np.append(start, len(every)))
        self._mean[at] = np.add.reduceat(table, start, axis=1) / sizes
        self._find_nearest(np.full(len(rows), at), np.arange(len(rows)))

    def list_nearest(
        self, at: int, is_elsewhere: NDArray[np.bool_], members: Sequence[Sequence[int]]
    ) -> None:
        """List members and the rows nearest to all; then others' rows, and last the center."""
        own = np.asarray(members[at])
        mean = self._distances.block(own, None).mean(axis=0)
        mean[is_elsewhere] = np.inf
        mean[own[1:]] = -1.0
        mean[own[0]] = np.nan  # sorted after infinity
        nearest = np.argsort(mean, kind="stable")[: self.rows.shape[1]]
        self.set_rows(at, nearest, members)

    def set_members(self, at: int, members: Sequence[int]) -> None:
        """Compute distances from a subcluster anew, after its members changed."""
        self._set_mean(at, self._mean_distances(self.rows.ravel(), members))

    def add_member(self, at: int, row: int, n_members: int) -> None:
        """Update distances from a subcluster to a new member; `n_members` includes it."""
        before = self._mean[:, :, at].ravel()
        new = self._mean_distances(self.rows.ravel(), [row])
        self._set_mean(at, before + (new - before) / np.float32(n_members))

    def _set_mean(self, at: int, mean: NDArray[np.float32]) -> None:
        """Change the distances from a subcluster, and the nearest other one of each listed row."""
        now = mean.reshape(self.rows.shape)
        self._mean[:, :, at] = now
        now = np.where(self._own == at, np.inf, now)
        was_nearest = self._nearest == at
        is_nearer = now < self._other
        self._other[is_nearer], self._nearest[is_nearer] = now[is_nearer], at
        self._find_nearest(*np.nonzero(was_nearest & ~is_nearer))

    def features(self, unit: float) -> Floats:
        """Return two features of each listed row with its subcluster, (n_clusters, n_listed, 2)."""
        own = np.take_along_axis(self._mean, self._own[:, :, None], 2)[:, :, 0].astype(np.float64)
        return pair_features(own, self._other.astype(np.float64), unit / self._distances.unit)

    def features_of(self, at: int, place: int, unit: float) -> Floats:
        """Return the features of one listed row, (2,)."""
        own, other = float(self._mean[at, place, at]), float(self._other[at, place])
        return pair_features(np.float64(own), np.float64(other), unit / self._distances.unit)

    def _mean_distances(self, rows: Index, members: Sequence[int]) -> NDArray[np.float32]:
        table = self._distances.between(rows, np.asarray(members))
        return np.asarray(table.mean(axis=1))

    def _find_nearest(self, subcluster: Index, place: Index) -> None:
        """Find the nearest other subcluster of listed rows."""
        if len(place) == 0:
            return
        table = self._mean[subcluster, place]
        at = np.arange(len(place))
        table[at, subcluster] = np.inf
        self._nearest[subcluster, place] = table.argmin(axis=1)
        self._other[subcluster, place] = table.min(axis=1)


def pair_features(own: Floats | np.float64, other: Floats | np.float64, unit: float) -> Floats:
    """Return features of rows, by distances to their own and the nearest other subcluster."""
    tiny = unit / LARGEST_RATIO if unit > 0 else 1.0
    own = np.maximum(own, tiny)
    other = np.clip(other, own / LARGEST_RATIO, own * LARGEST_RATIO)
    return np.stack([np.log(other / own), np.log(own / (unit if unit > 0 else 1.0))], axis=-1)
