"""CLARANS: k-medoids by random swaps, without a table of distances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import RandomState as Generator

from clew._parallel import stop_if_abandoned
from clew._validation import Allowed, RandomState
from clew.cluster.medoids._base import (
    TOLERANCE,
    MedoidRun,
    MedoidsClusterer,
    best_run,
    empty_assignment,
)
from clew.cluster.medoids._distances import Metric, RowDistances
from clew.kernels.medoids import assign, try_swaps

__all__ = ["CLARANS"]

#: Swaps that "auto" tries: this share of all, and at least this many.
SHARE_OF_SWAPS, LEAST_SWAPS = 0.0125, 250
#: Swaps whose distances are computed at once.
SWAPS_PER_BLOCK = 32


class CLARANS(MedoidsClusterer):
    """K-medoids by random swaps: any swap that lowers the sum of distances is made.

    Parameters
    ----------
    n_clusters : int
        Number of groups.
    max_neighbors : int or "auto", default="auto"
        Number of random swaps in a row that do not lower the sum, after which a start ends. "auto"
        is 1.25 % of all swaps, ``n_clusters * (n_samples - n_clusters)``, and at least 250.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's ``pairwise_distances``; a function of two rows; or
        "precomputed" if `X` holds the distances.
    metric_params : dict, default=None
        Further arguments of the metric.
    n_init : int, default=2
        Number of starts from random rows (`numlocal` in the paper).
    random_state : int, RandomState or None, default=None
        Seed of starts and swaps.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int64
        Group of each row; groups are numbered in the order of their first rows.
    medoid_indices_ : ndarray of shape (n_groups,), int64
        Row number of each center.
    cluster_centers_ : ndarray of shape (n_groups, n_features)
        The centers. Not with precomputed distances.
    inertia_ : float
        Sum of distances from rows to their centers.
    n_iter_, n_swaps_ : int
        Numbers of swaps that the best start tried and made.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, or there are more groups than rows.
    InvalidDataError
        If precomputed distances are not square and symmetric with zeros on the diagonal, or some
        are negative.

    Warns
    -----
    FewerGroupsWarning
        If there are fewer groups than `n_clusters`.

    See Also
    --------
    KMedoids : Finds lower costs in less time; prefer it, except in comparisons.

    Notes
    -----
    Time O(N·d) for each swap that is tried on N rows of d features; memory O(N·K).

    References
    ----------
    R. T. Ng and J. Han, "CLARANS: a method for clustering objects for spatial data mining", IEEE
    Transactions on Knowledge and Data Engineering 14, 2002.

    Examples
    --------
    >>> from clew.cluster import CLARANS
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> CLARANS(2, random_state=0).fit(X).medoid_indices_
    array([1, 4])
    """

    _allowed: ClassVar[dict[str, Any]] = {
        **MedoidsClusterer._allowed,
        "max_neighbors": Allowed(names=("auto",), kind=int, low=1),
    }

    def __init__(
        self,
        n_clusters: int,
        *,
        max_neighbors: int | Literal["auto"] = "auto",
        metric: Metric = "euclidean",
        metric_params: Mapping[str, Any] | None = None,
        n_init: int = 2,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.max_neighbors = max_neighbors
        self.metric = metric
        self.metric_params = metric_params
        self.n_init = n_init
        self.random_state = random_state

    def _solve(self, distances: RowDistances, seeds: list[int], random: Generator) -> MedoidRun:
        """Try random swaps from each start."""
        return best_run(lambda seed: self._run(distances, np.random.RandomState(seed)), seeds)

    def _run(self, distances: RowDistances, random: Generator) -> MedoidRun:
        n, k = distances.n_samples, self.n_clusters
        by_default = max(round(SHARE_OF_SWAPS * k * (n - k)), LEAST_SWAPS)
        limit = by_default if self.max_neighbors == "auto" else self.max_neighbors
        medoids = random.choice(n, k, replace=False).astype(np.int64)
        near = distances.between(medoids)
        # Stands for the distance to the second nearest medoid if there is only one.
        far = 1e6
        found = empty_assignment(n)
        assign(near, np.arange(k), far, found)
        tolerance = TOLERANCE * float(found.apart.sum())
        n_failed, n_tried, n_swaps = 0, 0, 0
        while n_failed < limit:
            stop_if_abandoned()
            rows, positions = (
                random.randint(n, size=SWAPS_PER_BLOCK),
                random.randint(k, size=SWAPS_PER_BLOCK),
            )
            tried = distances.between(rows)
            n_failed, n_made = try_swaps(
                tried, rows, positions, near, medoids, far, tolerance, n_failed, limit, found
            )
            n_tried, n_swaps = n_tried + SWAPS_PER_BLOCK, n_swaps + n_made
        return MedoidRun(medoids, float(found.apart.sum()), n_tried, n_swaps)
