"""The choice between the subclusters of several settings."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.cluster.medoids._candidates import (
    Candidates,
    Neighborhoods,
    neighbor_lists,
    neighborhoods,
    overlaps,
)
from clew.cluster.medoids._distances import RowDistances
from clew.cluster.medoids._subcluster_costs import Setting
from clew.cluster.medoids._subcluster_search import SwapRun

__all__ = ["Tables", "Tried", "normalized_cut", "preferred"]

Index = NDArray[np.int64]
#: A setting is preferred to the best earlier one if its score is higher by more than `PREFERENCE`.
#: The score of "silhouette" must exceed that of "shared" by more than `PREFERENCE_OF_SILHOUETTE`,
#: because this setting optimizes a part of the score.
PREFERENCE, PREFERENCE_OF_SILHOUETTE = 0.02, 0.04


class Tables:
    """Tables of all candidates, each computed when it is first used.

    Parameters
    ----------
    distances : RowDistances
        The data.
    candidates : Candidates
        The candidates.
    n_clusters : int
        Number of subclusters.
    seed : int
        Seed of the sample in which neighborhoods are counted.
    n_jobs : int or None
        Number of threads.
    """

    def __init__(
        self,
        distances: RowDistances,
        candidates: Candidates,
        n_clusters: int,
        seed: int,
        n_jobs: int | None,
    ) -> None:
        self.distances = distances
        self.candidates = candidates
        self._n_clusters, self._seed, self._n_jobs = n_clusters, seed, n_jobs

    @cached_property
    def near(self) -> Neighborhoods:
        """Neighborhoods of the candidates, with half of the rows of a group of mean size."""
        return neighborhoods(self.candidates, self._lists[0])

    @cached_property
    def nearer(self) -> Neighborhoods:
        """Neighborhoods of the candidates, with an eighth of the rows of such a group."""
        lists, n_fewer = self._lists
        if n_fewer == lists.shape[1]:
            return self.near
        return neighborhoods(self.candidates, np.ascontiguousarray(lists[:, :n_fewer]))

    @cached_property
    def _lists(self) -> tuple[Index, int]:
        random = np.random.RandomState(self._seed)
        return neighbor_lists(
            self.distances, self.candidates, self._n_clusters, random, self._n_jobs
        )

    @cached_property
    def apart(self) -> NDArray[np.float32]:
        """Distances between candidates, divided by the unit of the distances."""
        return self.distances.between(self.candidates.rows, self.candidates.rows)

    @cached_property
    def overlap(self) -> NDArray[np.bool_]:
        """Whether the subclusters of two candidates share rows."""
        return overlaps(self.candidates)


class Tried(NamedTuple):
    """The result of one setting."""

    exemplars: Index
    run: SwapRun
    setting: Setting
    separation: float
    """Mean silhouette of the exemplars."""
    cut: float
    """`normalized_cut` of the centers; 0 if there is a single setting."""


def normalized_cut(tables: Tables, centers: Index) -> float:
    """Compute the mean normalized cut of groups of candidates, each with the nearest center.

    Parameters
    ----------
    tables : Tables
        The weight of two candidates is the share of rows that their neighborhoods have in common.
    centers : ndarray of shape (n_clusters,), int64
        Positions of candidates.

    Returns
    -------
    float
        Between 0 and 1. It is high where two centers divide a group.
    """
    shared = tables.near.shared
    groups = tables.apart[centers].argmin(axis=0)
    volume = shared.sum(axis=1, dtype=np.float64)
    total = 0.0
    for group in range(len(centers)):
        rows = np.flatnonzero(groups == group)
        if whole := volume[rows].sum():
            total += 1 - shared[np.ix_(rows, rows)].sum(dtype=np.float64) / whole
    return total / len(centers)


def preferred(tried: list[Tried]) -> Tried:
    """Return the first result, or one with a clearly higher score: silhouette minus cut."""
    scores = {each.setting.overlap: each.separation - each.cut for each in tried}
    best, first = tried[0], scores[tried[0].setting.overlap]
    for each in tried[1:]:
        score = scores[each.setting.overlap]
        if each.setting.overlap == "silhouette":
            is_better = score > first + PREFERENCE_OF_SILHOUETTE
        else:
            is_better = score > scores[best.setting.overlap] + PREFERENCE
        best = each if is_better else best
    return best
