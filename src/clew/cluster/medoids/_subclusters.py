"""Subclusters: the choice between settings, the search for centers, its costs, exemplars."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.random import RandomState as Generator
from numpy.typing import NDArray
from scipy.special import expit

from clew._parallel import blocks
from clew.cluster.medoids._distances import RowDistances
from clew.exceptions import InvalidParameterError
from clew.kernels.medoids import count_shared, index_lists, mean_log_jaccard
from clew.kernels.subclusters import swap_for_silhouette

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
    """Each candidate's nearest rows, (n_candidates, m), half a group's mean; and an eighth."""
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


#: A setting is preferred to the best earlier one if its score is higher by more than `PREFERENCE`.
#: The score of "silhouette" must exceed that of "shared" by more than `PREFERENCE_OF_SILHOUETTE`,
#: because this setting optimizes a part of the score.
PREFERENCE, PREFERENCE_OF_SILHOUETTE = 0.02, 0.04
#: A swap is made if it lowers the cost by more than this share of the mean cost of a center.
TOLERANCE = 1e-9
#: Largest number of swaps of a start, for each center.
SWAPS_PER_CLUSTER = 1_000
#: Weight of the cost relative to silhouettes, and how often the search visits each center at most.
COST_WEIGHT, LOOKS_PER_CENTER = 0.1, 40
Overlap = Literal["shared", "penalty", "both", "silhouette", "rule"]
#: Default scales, as multiples of the typical distance.
SCALES: dict[Overlap, float] = {
    "shared": 1.0, "penalty": 0.3, "both": 1.0, "silhouette": 1.0, "rule": 0.3,
}  # fmt: skip
#: Penalty for two subclusters that share rows.
OVERLAP_PENALTY = 20.0
#: Probabilities and shares are clipped to 1 minus this, so that logarithms are finite.
LEAST_GAP, LEAST_UNSHARED = 1e-12, 0.01
#: Weights of shared neighborhoods and of the dispersion, relative to distances.
SHARED_WEIGHT, DISPERSION_WEIGHT = 2.0, 0.5
#: With "both": weight of shared neighborhoods, and λ of the thesis' pair costs as a multiple of
#: `scale`. These are divided by the size, as distances within subclusters are.
WEIGHT_BESIDE_DISTANCES, PAIR_SCALE = 1.0, 0.3
#: Number of nearest rows to choose from, as a multiple of `size`, and number of rounds of choosing.
SHORTLIST, N_ROUNDS = 3, 3
#: Factor by which the list of nearest rows grows if it has too few rows for a subcluster.
GROWTH = 4
ROWS_PER_BLOCK = 256
#: Confidence is the logistic function of a margin. Offset and slope were fitted to 3,765 exemplars
#: of seven sets with known classes, which had equal weight. Ratios of distances are clipped to
#: `MOST_SHARE`.
OFFSET, SLOPE, MOST_SHARE = -1.2, 9.0, 2.0


class Tables:
    """Tables of all candidates, each computed when it is first used."""

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
    """Mean normalized cut by common neighbors; high where two centers divide a group."""
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


class SwapRun(NamedTuple):
    """The result of one start."""

    centers: Index
    """Positions of candidates."""
    cost: float
    n_swaps: int


def checked_init(estimator: Any, n_samples: int) -> Index | None:
    """Return the row numbers of first centers; None for random ones."""
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
    """Swap centers to raise silhouettes minus a share of cost; apart (n_candidates,)²."""
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


class Setting(NamedTuple):
    """One way to weigh overlaps and distances."""

    overlap: Overlap
    scale: float
    """Multiple of the typical distance."""


class Costs(NamedTuple):
    """A cost to minimize: that of each chosen candidate, and of every two that are chosen."""

    own: NDArray[np.float64]
    pair: NDArray[np.float32]
    overlap: NDArray[np.bool_]
    """Whether two subclusters share rows, if no swap may add overlaps; otherwise (0, 0)."""


def settings(overlap: str, scale: float | str) -> list[Setting]:
    """Return the settings to try: one, or for "auto" all but "rule", the preferred one first."""
    tried: tuple[Overlap, ...] = ("shared", "penalty", "both", "silhouette")
    chosen = tried if overlap == "auto" else tuple(o for o in SCALES if o == overlap)
    return [Setting(o, SCALES[o] if isinstance(scale, str) else float(scale)) for o in chosen]


def shared_costs(
    candidates: Candidates,
    near: Neighborhoods,
    scale: float,
    beside: NDArray[np.float32] | None = None,
) -> Costs:
    """Distances within, shared neighborhoods between; `beside` is added for "both"."""
    size = candidates.distance.shape[1] + 1
    own = candidates.distance.sum(axis=1) / (max(size - 1, 1) * scale)
    pair = np.maximum(1 - near.shared, np.float32(LEAST_UNSHARED))
    np.log(pair, out=pair)
    pair *= np.float32(-SHARED_WEIGHT if beside is None else -WEIGHT_BESIDE_DISTANCES)
    if beside is not None:
        pair += np.float32(PAIR_SCALE / size) * beside
    np.fill_diagonal(pair, 0.0)
    return Costs(own + DISPERSION_WEIGHT * near.dispersion, pair, np.zeros((0, 0), np.bool_))


def thesis_costs(
    candidates: Candidates,
    apart: NDArray[np.float32],
    overlap: NDArray[np.bool_],
    scale: float,
    *,
    is_rule: bool,
) -> Costs:
    """Costs of eq. 4.2, by rule or by penalty; apart and overlap (n_candidates, n_candidates)."""
    own = candidates.distance.sum(axis=1) / scale
    pair = _log_costs(apart)
    if not is_rule:
        pair += np.float32(OVERLAP_PENALTY) * overlap
    np.fill_diagonal(pair, 0.0)
    return Costs(own, pair, overlap if is_rule else np.zeros((0, 0), np.bool_))


def _log_costs(apart: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return ``-2 log(1 - exp(-apart))``: eq. 4.2 counts each pair of centers twice."""
    pair = np.negative(apart)
    np.expm1(pair, out=pair)
    np.negative(pair, out=pair)
    np.log(np.maximum(pair, np.float32(LEAST_GAP), out=pair), out=pair)
    pair *= np.float32(-2.0)
    return pair


def nearest_exemplars(
    distances: RowDistances, centers: Index, size: int, n_jobs: int | None
) -> Index:
    """Each center with its nearest rows, (n_clusters, size); subclusters may share rows."""
    if size == 1:
        return centers[:, None].copy()
    return np.column_stack([centers, distances.nearest(centers, size - 1, n_jobs=n_jobs)[0]])


def compact_exemplars(
    distances: RowDistances, centers: Index, size: int, n_jobs: int | None
) -> Index:
    """Return each center with the nearby rows that are nearest to each other, (n_clusters, size).

    None is shared: a row is used for its nearest center only, unless another center lacks rows.
    """
    n = distances.n_samples
    chosen = np.full((len(centers), size), -1, np.int64)
    chosen[:, 0] = centers
    if size == 1:
        return chosen
    n_listed = min(SHORTLIST * size, n - 1)
    nearest, apart = distances.nearest(centers, n_listed, n_jobs=n_jobs)
    owner = _nearest_centers(centers, nearest, apart, n)
    for at, rows in enumerate(nearest):
        own = rows[owner[rows] == at]
        if len(own) >= size - 1:
            own = compact_rows(distances, np.append(centers[at], own), size)[1:]
        chosen[at, 1 : len(own) + 1] = own
    _fill(distances, chosen, n_listed, n_jobs)
    return chosen


def compact_rows(distances: RowDistances, rows: Index, size: int) -> Index:
    """Choose `size` rows with a low mean distance to each other, and among them the first."""
    table = distances.between(rows, rows)
    chosen = np.arange(size)
    for _ in range(N_ROUNDS):
        mean = table[:, chosen].mean(axis=1)
        mean[0] = -1.0
        chosen = np.sort(np.argsort(mean, kind="stable")[:size])
    return rows[chosen]


def _nearest_centers(centers: Index, nearest: Index, apart: Floats, n: int) -> Index:
    """Return the position of the nearest center that lists each row; -1 if none does."""
    owner, lowest = np.full(n, -1, np.int64), np.full(n, np.inf)
    for at, (rows, distance) in enumerate(zip(nearest, apart, strict=True)):
        is_nearer = distance < lowest[rows]
        owner[rows[is_nearer]], lowest[rows[is_nearer]] = at, distance[is_nearer]
    owner[centers] = np.arange(len(centers))
    return owner


def _fill(distances: RowDistances, chosen: Index, n_listed: int, n_jobs: int | None) -> None:
    """Fill subclusters that lack rows with the nearest rows that are in no subcluster."""
    is_used = np.zeros(distances.n_samples, np.bool_)
    is_used[chosen[chosen >= 0]] = True
    short = np.flatnonzero((chosen < 0).any(axis=1))
    while len(short):
        nearest = distances.nearest(chosen[short, 0], n_listed, n_jobs=n_jobs)[0]
        for at, rows in zip(short, nearest, strict=True):
            free, empty = rows[~is_used[rows]], np.flatnonzero(chosen[at] < 0)
            n_found = min(len(free), len(empty))
            chosen[at, empty[:n_found]] = free[:n_found]
            is_used[free[:n_found]] = True
        short = short[(chosen[short] < 0).any(axis=1)]
        n_listed = min(GROWTH * n_listed, distances.n_samples - 1)


def confidences(distances: RowDistances, exemplars: Index) -> Floats:
    """Probability by its margin that an exemplar is in its center's group, (n_clusters, size)."""
    rows, own = exemplars.ravel(), np.repeat(np.arange(len(exemplars)), exemplars.shape[1])
    margin = np.empty(len(rows))
    for start, stop in blocks(len(rows), ROWS_PER_BLOCK):
        apart = distances.between(rows[start:stop], exemplars[:, 0]).astype(np.float64)
        here = np.arange(stop - start), own[start:stop]
        within = apart[here]
        apart[here] = np.inf
        next_one = apart.min(axis=1)
        # A row on another center has the least margin, unless it is on its own center as well.
        share = np.where(within > 0, MOST_SHARE, 1.0)
        np.divide(within, next_one, out=share, where=next_one > 0)
        margin[start:stop] = 1 - np.minimum(share, MOST_SHARE)
    found: Floats = expit(OFFSET + SLOPE * margin)
    return found.reshape(exemplars.shape)


def separation(distances: RowDistances, exemplars: Index) -> float:
    """Mean silhouette of exemplars (n_clusters, size); 0 for single subclusters or rows."""
    n_clusters, size = exemplars.shape
    if size == 1 or n_clusters == 1:
        return 0.0
    rows, total = exemplars.ravel(), 0.0
    own = np.repeat(np.arange(n_clusters), size)
    for start, stop in blocks(len(rows), ROWS_PER_BLOCK):
        apart = distances.between(rows[start:stop], rows)
        mean = apart.reshape(stop - start, n_clusters, size).mean(axis=2, dtype=np.float64)
        here = np.arange(stop - start), own[start:stop]
        within = mean[here] * (size / (size - 1))
        mean[here] = np.inf
        between = mean.min(axis=1)
        larger = np.maximum(within, between)
        total += float(((between - within)[larger > 0] / larger[larger > 0]).sum())
    return total / len(rows)
