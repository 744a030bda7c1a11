"""The search for centers of subclusters: first centers, and swaps from them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.cluster.medoids._candidates import Candidates
from clew.cluster.medoids._subcluster_costs import Costs
from clew.exceptions import InvalidParameterError
from clew.kernels.subclusters import swap_for_silhouette

__all__ = ["SwapRun", "checked_init", "first_centers", "swapped", "with_wider_gaps"]

Index = NDArray[np.int64]
#: A swap is made if it lowers the cost by more than this share of the mean cost of a center.
TOLERANCE = 1e-9
#: Largest number of swaps of a start, for each center.
SWAPS_PER_CLUSTER = 1_000
#: Weight of the cost relative to silhouettes, and how often the search visits each center at most.
COST_WEIGHT, LOOKS_PER_CENTER = 0.1, 40


class SwapRun(NamedTuple):
    """The result of one start."""

    centers: Index
    """Positions of candidates."""
    cost: float
    n_swaps: int


def checked_init(estimator: Any, n_samples: int) -> Index | None:
    """Return the row numbers of first centers; None for random ones.

    Raises
    ------
    InvalidParameterError
        If they are not `n_clusters` different rows.
    """
    init = estimator.init
    if isinstance(init, str) and init == "random":
        return None
    first = np.asarray(init)
    is_rows = first.dtype.kind in "iu" and first.shape == (estimator.n_clusters,)
    if (
        not is_rows
        or first.min() < 0
        or first.max() >= n_samples
        or len(np.unique(first)) < len(first)
    ):
        raise InvalidParameterError(
            f'{type(estimator).__name__}(init={init!r}): init must be "random" or n_clusters '
            f"different row numbers from 0 to {n_samples - 1}"
        )
    return first.astype(np.int64)


def first_centers(
    candidates: Candidates, n_clusters: int, seeds: list[int], first: Index | None
) -> list[Index]:
    """Return the first centers of each start, as positions of candidates."""
    if first is not None:
        return [np.searchsorted(candidates.rows, first)]
    n = len(candidates.rows)
    return [np.random.RandomState(seed).choice(n, n_clusters, replace=False) for seed in seeds]


def swapped(costs: Costs, first: Index, swap: Callable[..., int]) -> SwapRun:
    """Swap centers until no swap lowers the cost."""
    centers = first.astype(np.int64)
    tolerance = TOLERANCE * (float(np.abs(costs.own).mean()) or 1.0)
    limit = SWAPS_PER_CLUSTER * len(first)
    n_swaps = swap(costs.own, costs.pair, costs.overlap, centers, tolerance, limit)
    return SwapRun(centers, _cost(costs, centers), int(n_swaps))


def with_wider_gaps(
    costs: Costs, apart: NDArray[np.float32], within: NDArray[np.float64], run: SwapRun
) -> SwapRun:
    """Swap centers further, to raise the sum of their silhouettes minus a share of the cost.

    Parameters
    ----------
    costs : Costs
        The cost under which `run` was found.
    apart : ndarray of shape (n_candidates, n_candidates)
        Distances between candidates.
    within : ndarray of shape (n_candidates,)
        Mean distance of each candidate from the rows of its subcluster, in the same unit.
    run : SwapRun
        Where to start.

    Returns
    -------
    SwapRun
    """
    centers = run.centers.copy()
    n_swaps = swap_for_silhouette(
        costs.own, costs.pair, apart, within, COST_WEIGHT, centers, TOLERANCE,
        LOOKS_PER_CENTER * len(centers),
    )  # fmt: skip
    return SwapRun(centers, _cost(costs, centers), run.n_swaps + int(n_swaps))


def _cost(costs: Costs, centers: Index) -> float:
    """Sum the costs of centers: of each by itself, and of every two."""
    together = costs.pair[np.ix_(centers, centers)].sum(dtype=np.float64) / 2
    return float(costs.own[centers].sum() + together)
