"""K-means with penalties for violated answers: the loop that PCKMeans and MPCKMeans share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from clew._parallel import Progress
from clew.cluster._kmeans import Means, best_start, fill_empty, group_means, plus_plus
from clew.constraints import Constraints
from clew.kernels.means import PairLists, best_for_empty_group, iterated_conditional_modes

#: Maximum number of sweeps of reassignment between two updates of the centers.
MAX_SWEEPS = 20


class WeightedPairs(NamedTuple):
    """Must-links and cannot-links of positive weight. rows (n_pairs, 2), weight (n_pairs,)."""

    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    lists: PairLists


class CostModel(Protocol):
    """The distances and penalties of a method, which it may update in each iteration."""

    def distances(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the cost of each row in each group without answers, (n_samples, n_groups)."""

    def cost_at_center(self, group: int) -> float:
        """Return the cost, without answers, of a row that is the center of a group."""

    def penalties(self) -> NDArray[np.float64]:
        """Return the penalty of each pair in each group, (n_pairs, n_groups)."""

    def learn(self, labels: NDArray[np.int64], centers: NDArray[np.float64]) -> None:
        """Update the distances and penalties from the groups."""


AnyModel = TypeVar("AnyModel", bound=CostModel)


class SoftRun(NamedTuple):
    """The result of one start."""

    objective: float
    labels: NDArray[np.int64]
    centers: NDArray[np.float64]
    n_iter: int


def weighted_pairs(known: Constraints) -> WeightedPairs:
    """Collect the must-links and cannot-links of positive weight."""
    is_used = ~known.is_dont_know & (known.pair_weights > 0)
    rows = known.pairs[is_used]
    ends, others = np.concatenate([rows, rows[:, ::-1]]).T
    order = np.argsort(ends, kind="stable")
    start = np.searchsorted(ends[order], np.arange(known.n_samples + 1))
    pair = np.tile(np.arange(len(rows)), 2)[order]
    lists = PairLists(
        start.astype(np.int64),
        others[order],
        pair,
        np.ascontiguousarray(known.is_must_link[is_used]),
    )
    return WeightedPairs(rows, known.pair_weights[is_used], lists)


def best_soft_run(
    X: NDArray[np.float64],
    known: Constraints,
    new_model: Callable[[], AnyModel],
    n_groups: int,
    max_iter: int,
    seeds: Sequence[int],
    callback: Progress | None = None,
) -> tuple[SoftRun, AnyModel]:
    """Run from must-link components and k-means++ in turn; return the best run."""
    pairs, means = weighted_pairs(known), Means(X, np.arange(len(X)))
    joined = _joined_centers(X, known, n_groups)

    def run_from(numbered: tuple[int, int]) -> tuple[SoftRun, AnyModel]:
        number, seed = numbered
        random, model = np.random.RandomState(seed), new_model()
        centers = plus_plus(means, n_groups, random, None if number % 2 else joined)
        return descend(X, pairs, model, centers, max_iter, random), model

    best = best_start(run_from, list(enumerate(seeds)), lambda run: run[0].objective, callback)
    assert best is not None  # there is at least one seed, and no start fails
    return best


def descend(
    X: NDArray[np.float64],
    pairs: WeightedPairs,
    model: CostModel,
    centers: NDArray[np.float64],
    max_iter: int,
    random: np.random.RandomState,
) -> SoftRun:
    """Assign rows, move centers (n_groups, n_features) and learn distances until no row moves."""
    labels = np.full(len(X), -1, dtype=np.int64)
    n_iter = 0
    for _ in range(max_iter):
        n_iter += 1
        before = labels
        distances, penalties = model.distances(centers), model.penalties()
        labels = _assigned(pairs, distances, penalties, labels, random)
        _move_into_empty(pairs, model, distances, penalties, labels)
        if np.array_equal(labels, before):
            break
        centers = group_means(X, np.ones(len(X)), labels, centers)
        model.learn(labels, centers)
    objective = _objective(pairs, model.distances(centers), model.penalties(), labels)
    return SoftRun(objective, labels, centers, n_iter)


def _assigned(
    pairs: WeightedPairs,
    distances: NDArray[np.float64],
    penalties: NDArray[np.float64],
    before: NDArray[np.int64],
    random: np.random.RandomState,
) -> NDArray[np.int64]:
    """Assign rows twice, from the previous labels and from none; return the cheaper assignment.

    From previous labels alone, rows joined by must-links would have to move one at a time.
    """
    order = random.permutation(len(before))
    candidates = [np.full_like(before, -1)]
    if before[0] >= 0:
        candidates.insert(0, before.copy())
    for labels in candidates:
        iterated_conditional_modes(order, distances, pairs.lists, penalties, MAX_SWEEPS, labels)
    return min(candidates, key=lambda labels: _objective(pairs, distances, penalties, labels))


def _joined_centers(
    X: NDArray[np.float64], known: Constraints, n_groups: int
) -> NDArray[np.float64] | None:
    """Means of at most `n_groups` must-link components, large and far; None without any."""
    component = known.select(pairs=known.pair_weights > 0).closure().component
    size = np.bincount(component)
    joined = np.flatnonzero(size > 1)
    if not len(joined):
        return None
    center = Means(X, component).at_components(joined)
    if len(joined) > n_groups:
        center = center[_large_and_far(center, size[joined], n_groups)]
    return center


def _large_and_far(
    center: NDArray[np.float64], size: NDArray[np.int64], n: int
) -> NDArray[np.int64]:
    """Choose `n` centers by weighted farthest-first traversal, starting with the largest."""
    chosen = [int(size.argmax())]
    least = np.full(len(center), np.inf)
    while len(chosen) < n:
        least = np.minimum(least, np.linalg.norm(center - center[chosen[-1]], axis=1))
        chosen.append(int((least * size).argmax()))
    return np.array(chosen)


def _move_into_empty(
    pairs: WeightedPairs,
    model: CostModel,
    distances: NDArray[np.float64],
    penalties: NDArray[np.float64],
    labels: NDArray[np.int64],
) -> None:
    """Move into each empty group the row that saves most as its center; changes `distances`."""

    def choose(group: int, size: NDArray[np.int64]) -> int:
        cost = model.cost_at_center(group)
        row, _ = best_for_empty_group(group, cost, distances, pairs.lists, penalties, labels, size)
        if row >= 0:
            distances[row, group] = cost
        return int(row)

    fill_empty(labels, distances.shape[1], choose)


def _objective(
    pairs: WeightedPairs,
    distances: NDArray[np.float64],
    penalties: NDArray[np.float64],
    labels: NDArray[np.int64],
) -> float:
    """Sum the distances of rows and the penalties of violated answers."""
    is_must = pairs.lists.is_must
    first, second = labels[pairs.rows].T
    each = np.arange(len(penalties))
    apart = is_must & (first != second)
    together = ~is_must & (first == second)
    of_must_links = (penalties[each, first] + penalties[each, second])[apart].sum()
    of_rows = distances[np.arange(len(labels)), labels].sum()
    return float(of_rows + of_must_links + penalties[each, first][together].sum())
