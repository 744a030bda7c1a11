"""K-means in which violated answers cost something: the loop that PCKMeans and MPCKMeans share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from clew._parallel import Progress
from clew.cluster._centers import Means, plus_plus
from clew.constraints import Constraints
from clew.kernels.means import add_groups
from clew.kernels.soft_groups import PairLists, best_to_part, settle

__all__ = ["Answers", "SoftRun", "Space", "answers_of", "best_start", "descend"]

#: Rounds of reassignment before the centers move again.
MAX_SWEEPS = 20


class Answers(NamedTuple):
    """Must-links and cannot-links that weigh something.

    Parameters
    ----------
    rows : ndarray of shape (n_pairs, 2), int64
        The pairs.
    weight : ndarray of shape (n_pairs,)
        Weight of each.
    lists : PairLists
        The pairs of each row.
    """

    rows: NDArray[np.int64]
    weight: NDArray[np.float64]
    lists: PairLists


class Space(Protocol):
    """Costs in a space whose distances may change as groups are learned."""

    def base(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give the cost of each row in each group, answers left out."""

    def alone(self, group: int) -> float:
        """Give the cost of a row that is the center of a group."""

    def price(self) -> NDArray[np.float64]:
        """Give the price of each answer in each group, as `settle` takes it."""

    def learn(self, labels: NDArray[np.int64], centers: NDArray[np.float64]) -> None:
        """Adapt the distances to the groups."""


AnySpace = TypeVar("AnySpace", bound=Space)


class SoftRun(NamedTuple):
    """Where one start led."""

    objective: float
    labels: NDArray[np.int64]
    centers: NDArray[np.float64]
    n_iter: int


def answers_of(known: Constraints) -> Answers:
    """Collect the must-links and cannot-links of weight above 0."""
    weighs = ~known.is_dont_know & (known.pair_weights > 0)
    rows = known.pairs[weighs]
    ends, others = np.concatenate([rows, rows[:, ::-1]]).T
    order = np.argsort(ends, kind="stable")
    start = np.searchsorted(ends[order], np.arange(known.n_samples + 1))
    pair = np.tile(np.arange(len(rows)), 2)[order]
    lists = PairLists(
        start.astype(np.int64),
        others[order],
        pair,
        np.ascontiguousarray(known.is_must_link[weighs]),
    )
    return Answers(rows, known.pair_weights[weighs], lists)


def best_start(
    X: NDArray[np.float64],
    known: Constraints,
    new_space: Callable[[], AnySpace],
    n_groups: int,
    max_iter: int,
    seeds: Sequence[int],
    callback: Progress | None = None,
) -> tuple[SoftRun, AnySpace]:
    """Start once for each seed, and keep the lowest objective.

    The first start and every second one after it are from what must-links join. The others are
    those of k-means++: wrong must-links may join what is far apart.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    known : Constraints
        What people said.
    new_space : callable
        Makes the costs of a start.
    n_groups, max_iter : int
        Number of groups, and of rounds at most.
    seeds : sequence of int
        A seed for each start.
    callback : callable, default=None
        Called after each start with the number of starts done and of all.

    Returns
    -------
    SoftRun, Space
        The best start, and its space.
    """
    answers, means = answers_of(known), Means(X, np.arange(len(X)))
    best: tuple[SoftRun, AnySpace] | None = None
    for turn, seed in enumerate(seeds):
        random, space = np.random.RandomState(seed), new_space()
        if turn % 2:
            centers = plus_plus(means, n_groups, random)
        else:
            centers = _joined_centers(means, X, known, n_groups, random)
        run = descend(X, answers, space, centers, max_iter, random)
        if best is None or run.objective < best[0].objective:
            best = run, space
        if callback is not None:
            callback(turn + 1, len(seeds))
    assert best is not None  # seeds are never empty
    return best


def descend(
    X: NDArray[np.float64],
    answers: Answers,
    space: Space,
    centers: NDArray[np.float64],
    max_iter: int,
    random: np.random.RandomState,
) -> SoftRun:
    """Assign rows, move centers and learn distances in turn, until no row moves.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    answers : Answers
        What costs if it is violated.
    space : Space
        The costs; it is changed.
    centers : ndarray of shape (n_groups, n_features)
        Where to start.
    max_iter : int
        Rounds at most.
    random : RandomState
        Draws the order in which rows are assigned.

    Returns
    -------
    SoftRun
    """
    labels = np.full(len(X), -1, dtype=np.int64)
    n_iter = 0
    for _ in range(max_iter):
        n_iter += 1
        before = labels
        base, price = space.base(centers), space.price()
        labels = _assigned(answers, base, price, labels, random)
        _fill_empty(answers, space, base, price, labels)
        if np.array_equal(labels, before):
            break
        centers = means_of(X, labels, centers)
        space.learn(labels, centers)
    objective = _objective(answers, space.base(centers), space.price(), labels)
    return SoftRun(objective, labels, centers, n_iter)


def _assigned(
    answers: Answers,
    base: NDArray[np.float64],
    price: NDArray[np.float64],
    before: NDArray[np.int64],
    random: np.random.RandomState,
) -> NDArray[np.int64]:
    """Assign rows twice, from the groups before and afresh, and keep what costs less.

    Rows that answers tie to each other hold each other where they are; a fresh assignment
    gets past that.
    """
    order = random.permutation(len(before))
    ways = [np.full_like(before, -1)]
    if before[0] >= 0:
        ways.insert(0, before.copy())
    for labels in ways:
        settle(order, base, answers.lists, price, MAX_SWEEPS, labels)
    return min(ways, key=lambda labels: _objective(answers, base, price, labels))


def means_of(
    X: NDArray[np.float64], labels: NDArray[np.int64], before: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Move each center to the mean of its group; that of an empty group stays."""
    sums, mass = np.zeros_like(before), np.zeros(len(before))
    add_groups(X, np.ones(len(X)), labels, sums, mass)
    return np.divide(sums, mass[:, None], out=before.copy(), where=mass[:, None] > 0)


def _joined_centers(
    means: Means,
    X: NDArray[np.float64],
    known: Constraints,
    n_groups: int,
    random: np.random.RandomState,
) -> NDArray[np.float64]:
    """Start from what must-links join, and where that is not enough, from rows (k-means++).

    Where must-links make more than `n_groups` parts, those are taken that are large and far from
    the ones taken before.
    """
    component = known.select(pairs=known.pair_weights > 0).closure().component
    size = np.bincount(component)
    parts = np.flatnonzero(size > 1)
    center = Means(X, component).at_components(parts)
    if len(parts) > n_groups:
        center = center[_large_and_far(center, size[parts], n_groups)]
    return plus_plus(means, n_groups, random, center if len(parts) else None)


def _large_and_far(
    center: NDArray[np.float64], size: NDArray[np.int64], n: int
) -> NDArray[np.int64]:
    """Traverse weighted centers farthest first, from the heaviest on."""
    chosen = [int(size.argmax())]
    least = np.full(len(center), np.inf)
    while len(chosen) < n:
        least = np.minimum(least, np.linalg.norm(center - center[chosen[-1]], axis=1))
        chosen.append(int((least * size).argmax()))
    return np.array(chosen)


def _fill_empty(
    answers: Answers,
    space: Space,
    base: NDArray[np.float64],
    price: NDArray[np.float64],
    labels: NDArray[np.int64],
) -> None:
    """Give each empty group the row that saves most by becoming its center, if any does."""
    size = np.bincount(labels, minlength=base.shape[1])
    for group in np.flatnonzero(size == 0).tolist():
        alone = space.alone(group)
        row, saved = best_to_part(group, alone, base, answers.lists, price, labels, size)
        if row < 0 or saved <= 0:
            return
        size[labels[row]] -= 1
        size[group], labels[row], base[row, group] = 1, group, alone


def _objective(
    answers: Answers,
    base: NDArray[np.float64],
    price: NDArray[np.float64],
    labels: NDArray[np.int64],
) -> float:
    """Sum the costs of rows, and the prices of the answers that are violated."""
    is_must = answers.lists.is_must
    first, second = labels[answers.rows].T
    each = np.arange(len(price))
    apart = is_must & (first != second)
    together = ~is_must & (first == second)
    paid = (price[each, first] + price[each, second])[apart].sum()
    rows = base[np.arange(len(labels)), labels].sum()
    return float(rows + paid + price[each, first][together].sum())
