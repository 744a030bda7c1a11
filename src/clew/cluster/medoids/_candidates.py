"""Candidates for centers of subclusters: their nearest rows, and the rows that they share."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.random import RandomState as Generator
from numpy.typing import NDArray

from clew.cluster.medoids._distances import RowDistances
from clew.kernels.shared_rows import count_shared, index_lists, mean_log_jaccard

Index = NDArray[np.int64]
Floats = NDArray[np.float64]
#: A neighborhood has half as many rows as a group of mean size, but at least as many as two
#: subclusters, and at most this number.
MAX_NEIGHBORHOOD = 100
#: A neighborhood has one row for so many rows of a group of mean size; and a smaller neighborhood.
PART_OF_GROUP, SMALL_PART_OF_GROUP = 2, 8
#: Least similarity of two rows, so that its logarithm is finite.
LEAST_JACCARD = 0.02


class Candidates(NamedTuple):
    """Rows that may become centers."""

    rows: Index
    """Row numbers, (n_candidates,), ascending."""
    nearest: Index
    """The other rows of each one's subcluster, the nearest first, (n_candidates, size - 1)."""
    distance: Floats
    """Their distances."""
    typical: float
    """Median distance of a candidate from the farthest row of its subcluster."""
    n_samples: int
    """Number of all rows."""

    @property
    def within(self) -> Floats:
        """Mean distance of each candidate from the other rows; 0 if there are none."""
        return np.asarray(self.distance.sum(axis=1) / max(self.distance.shape[1], 1))


class Neighborhoods(NamedTuple):
    """Larger neighborhoods of candidates, among a sample of rows."""

    shared: NDArray[np.float32]
    """Share of rows that two candidates have in common, (n_candidates, n_candidates)."""
    dispersion: Floats
    """How unlike a candidate is to the nearest rows, (n_candidates,): mean of -log(Jaccard)."""


def draw_candidates(
    distances: RowDistances,
    n_candidates: int,
    size: int,
    random: Generator,
    required: Index | None = None,
    n_jobs: int | None = None,
) -> Candidates:
    """Draw candidates at random, and find the rows of their subclusters."""
    n = distances.n_samples
    rows = np.sort(random.choice(n, n_candidates, replace=False))
    if required is not None:
        more = rows[~np.isin(rows, required)][: n_candidates - len(required)]
        rows = np.sort(np.concatenate([required, more]))
    # For a size of 1 the typical distance is that of the nearest row.
    n_others = max(min(size, n) - 1, 1)
    nearest, distance = distances.nearest(rows, n_others, n_jobs=n_jobs)
    farthest = distance[:, -1]
    typical = float(np.median(farthest))
    if typical == 0:  # more than half of the candidates have copies
        typical = float(farthest[farthest > 0].min(initial=np.inf))
    if not np.isfinite(typical):
        typical = 1.0
    nearest, distance = nearest[:, : size - 1], distance[:, : size - 1]
    return Candidates(rows, nearest, distance, typical, n)


def neighbor_lists(
    distances: RowDistances,
    candidates: Candidates,
    n_clusters: int,
    random: Generator,
    n_jobs: int | None,
) -> tuple[Index, int]:
    """List each candidate and its nearest rows, (n_candidates, m); return also a smaller number.

    Half as many rows as in a group of mean size, and an eighth. Large groups are sampled.
    """
    n, size = candidates.n_samples, candidates.nearest.shape[1] + 1
    n_sampled = min(n, max(2 * MAX_NEIGHBORHOOD * n_clusters, len(candidates.rows)))
    sample = _sample(candidates.rows, n, n_sampled, random)
    m, n_fewer = (
        min(max(2 * size, round(n_sampled / (part * n_clusters))), n_sampled)
        for part in (PART_OF_GROUP, SMALL_PART_OF_GROUP)
    )
    lists = np.empty((len(candidates.rows), m), np.int64)
    lists[:, 0] = candidates.rows
    if m > 1:
        lists[:, 1:] = distances.nearest(candidates.rows, m - 1, sample, n_jobs)[0]
    return lists, n_fewer


def neighborhoods(candidates: Candidates, lists: Index) -> Neighborhoods:
    """Compare neighborhoods, (n_candidates, m), each with the candidate first."""
    size, m = candidates.nearest.shape[1] + 1, lists.shape[1]
    shared, start, holder = _shared(lists, candidates.n_samples)
    shared /= np.float32(m)
    dispersion = np.zeros(len(lists))
    n_compared = min(max(size, 2), m) - 1
    if n_compared:
        mean_log_jaccard(lists, n_compared, start, holder, LEAST_JACCARD, dispersion)
    return Neighborhoods(shared, dispersion)


def overlaps(candidates: Candidates) -> NDArray[np.bool_]:
    """Return whether the subclusters of two candidates share rows, (n_candidates, n_candidates)."""
    lists = np.column_stack([candidates.rows, candidates.nearest])
    return np.asarray(_shared(lists, candidates.n_samples)[0] > 0)


def _shared(lists: Index, n_samples: int) -> tuple[NDArray[np.float32], Index, Index]:
    """Count shared rows; return also the index of lists by row."""
    start, holder = np.empty(n_samples + 1, np.int64), np.empty(lists.size, np.int64)
    index_lists(lists, start, holder)
    shared = np.empty((len(lists), len(lists)), np.float32)
    count_shared(lists, start, holder, shared)
    return shared, start, holder


def _sample(candidates: Index, n: int, n_sampled: int, random: Generator) -> Index | None:
    """Draw rows in addition to the candidates; None for all rows."""
    if n_sampled == n:
        return None
    is_other = np.ones(n, np.bool_)
    is_other[candidates] = False
    n_others = n_sampled - len(candidates)
    others = random.choice(np.flatnonzero(is_other), n_others, replace=False)
    return np.sort(np.concatenate([candidates, others]))
