"""FastPAM: k-medoids with medoids from a random set of rows, as in Biswas' thesis."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.random import RandomState as Generator

from clew._validation import Allowed, RandomState
from clew.cluster.medoids._base import (
    TOLERANCE,
    MedoidRun,
    MedoidsClusterer,
    best_run,
    empty_assignment,
)
from clew.cluster.medoids._distances import Metric, RowDistances
from clew.exceptions import InvalidParameterError, TooLargeError
from clew.kernels.medoids import assign, swap_best, swap_eagerly

__all__ = ["FastPAM"]

#: Candidates for each group, as in the thesis.
CANDIDATES_PER_CLUSTER = 20
#: Distances from candidates to rows that are held at once: 4 GB.
MAX_ENTRIES = 1 << 30


class FastPAM(MedoidsClusterer):
    """K-medoids whose medoids are chosen from a random set of rows.

    The sum of distances is over all rows, as in PAM; only the candidates are fewer. With all rows
    as candidates, the swaps are those of PAM.

    Parameters
    ----------
    n_clusters : int
        Number of groups.
    n_candidates : int or "auto", default="auto"
        Number of rows, drawn at random, that may become medoids. "auto" draws 20 for each group.
    swaps : {"eager", "best"}, default="eager"
        "eager" makes the best swap of each candidate in turn. "best", as in PAM and the thesis,
        compares the swaps of all candidates for each swap; it takes longer.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's ``pairwise_distances``; a function of two rows; or
        "precomputed" if `X` holds the distances.
    metric_params : dict, default=None
        Further arguments of the metric.
    n_init : int, default=1
        Number of starts from random candidates; the one with the lowest cost is kept.
    max_iter : int, default=1000
        Maximum number of passes over the candidates; with "best", each swap takes one.
    random_state : int, RandomState or None, default=None
        Seed of candidates and starts.

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
        Numbers of passes and of swaps of the best start.
    n_features_in_ : int
        Number of columns given to `fit`.

    Raises
    ------
    InvalidParameterError
        If a parameter is outside its range, there are more groups than candidates, or more
        candidates than rows.
    InvalidDataError
        If precomputed distances are not square and symmetric with zeros on the diagonal, or some
        are negative.
    TooLargeError
        If the distances from candidates to rows would take more than 4 GB.

    Warns
    -----
    FewerGroupsWarning
        If there are fewer groups than `n_clusters`.

    See Also
    --------
    KMedoids : FasterPAM with all rows as candidates; finds lower costs.
    Subclustering : Groups only the clearest rows.

    Notes
    -----
    Time O(R·N) for a pass over R candidates and N rows, and memory 4·R·N bytes. The thesis stores
    two tables of R × N nearest medoids. Here, as in Schubert and Rousseeuw, the two nearest medoids
    of each row suffice, and a pass takes the same time.

    References
    ----------
    A. Biswas, "Semi-supervised and active image clustering with pairwise constraints from humans",
    PhD thesis, University of Maryland, 2014, section 4.5 and appendix 6.4. E. Schubert and
    P. J. Rousseeuw, "Fast and eager k-medoids clustering", Information Systems 101, 2021.

    Examples
    --------
    >>> from clew.cluster import FastPAM
    >>> X = [[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]]
    >>> FastPAM(2, random_state=0).fit(X).medoid_indices_
    array([1, 4])
    """

    _allowed: ClassVar[dict[str, Any]] = {
        **MedoidsClusterer._allowed,
        "n_candidates": Allowed(names=("auto",), kind=int, low=1),
        "swaps": Allowed(names=("eager", "best")),
        "max_iter": Allowed(kind=int, low=1),
    }

    def __init__(
        self,
        n_clusters: int,
        *,
        n_candidates: int | Literal["auto"] = "auto",
        swaps: Literal["eager", "best"] = "eager",
        metric: Metric = "euclidean",
        metric_params: Mapping[str, Any] | None = None,
        n_init: int = 1,
        max_iter: int = 1000,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_candidates = n_candidates
        self.swaps = swaps
        self.metric = metric
        self.metric_params = metric_params
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _check_sizes(self, n_samples: int) -> None:
        """Check the number of candidates."""
        n_candidates = self._resolved_candidates(n_samples)
        if not self.n_clusters <= n_candidates <= n_samples:
            raise InvalidParameterError(
                f"FastPAM(n_clusters={self.n_clusters}, n_candidates={n_candidates}): n_candidates "
                f"must be at least n_clusters and at most the number of rows, {n_samples}"
            )
        if n_candidates * n_samples > MAX_ENTRIES:
            raise TooLargeError(
                f"the distances from {n_candidates:,} candidates to {n_samples:,} rows would take "
                f"{4e-9 * n_candidates * n_samples:.0f} GB; lower n_candidates, or use KMedoids, "
                "which samples rows"
            )

    def _resolved_candidates(self, n_samples: int) -> int:
        if isinstance(self.n_candidates, str):
            return min(CANDIDATES_PER_CLUSTER * self.n_clusters, n_samples)
        return self.n_candidates

    def _solve(self, distances: RowDistances, seeds: list[int], random: Generator) -> MedoidRun:
        """Search for swaps from each start."""
        n = distances.n_samples
        rows = np.sort(random.choice(n, self._resolved_candidates(n), replace=False))
        table = distances.between(rows)
        far = 2.0 * float(table.max()) + 1.0
        swap = swap_eagerly if self.swaps == "eager" else swap_best

        def search(seed: int) -> MedoidRun:
            start = np.random.RandomState(seed)
            medoids = start.choice(len(rows), self.n_clusters, replace=False).astype(np.int64)
            found = empty_assignment(n)
            assign(table, medoids, far, found)
            tolerance = TOLERANCE * float(found.apart.sum())
            n_iter, n_swaps = swap(table, medoids, far, tolerance, self.max_iter, found)
            return MedoidRun(rows[medoids], float(found.apart.sum()), n_iter, n_swaps)

        return best_run(search, seeds)
