"""What iterative methods share: starts, empty groups, and a k-means that changes no global state.

scikit-learn's `KMeans` changes the number of BLAS threads and the warning filters of the whole
process, so that no two fits may run in threads at once. The results here are the same up to
rounding: seeding and random numbers are equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import check_random_state

from clew._parallel import Progress, blocks, one_blas_thread
from clew._units import Units
from clew._validation import RandomState
from clew._warnings import warn
from clew.exceptions import FewerGroupsWarning, InvalidConstraintsError
from clew.kernels.means import add_groups, cheapest

Seed = TypeVar("Seed")
Run = TypeVar("Run")
Labels = NDArray[np.int64]


def best_start(
    run_from: Callable[[Seed], Run | None],
    seeds: Sequence[Seed],
    objective: Callable[[Run], float],
    callback: Progress | None = None,
) -> Run | None:
    """Return the run of lowest objective, the first of equals; None if all fail. Keeps one run."""
    best: Run | None = None
    lowest = float("inf")
    for done, seed in enumerate(seeds, start=1):
        run = run_from(seed)
        if run is not None and (best is None or objective(run) < lowest):
            best, lowest = run, objective(run)
        if callback is not None:
            callback(done, len(seeds))
    return best


def fill_empty(labels: Labels, n_groups: int, choose: Callable[[int, Labels], int]) -> None:
    """Fill empty groups in place with ``choose(group, size)``: a row or -1; size (n_groups,)."""
    size = np.bincount(labels, minlength=n_groups)
    for group in np.flatnonzero(size == 0).tolist():
        row = choose(group, size)
        if row < 0:
            return
        size[labels[row]] -= 1
        size[group], labels[row] = 1, group


def costliest_row(
    labels: Labels, cost: NDArray[np.float64], least: float
) -> Callable[[int, Labels], int]:
    """For `fill_empty`: the row that costs most, cost (n_rows,), if above `least`."""

    def choose(_: int, size: Labels) -> int:
        gain = np.where(size[labels] > 1, cost, -np.inf)
        row = int(gain.argmax())
        return row if gain[row] > least else -1

    return choose


def check_n_components(estimator: Any, n_components: int) -> None:
    """Raise if must-links leave fewer components than `n_clusters`."""
    if estimator.n_clusters > n_components:
        raise InvalidConstraintsError(
            f"{type(estimator).__name__}(n_clusters={estimator.n_clusters}): must-links join the "
            f"rows into only {n_components} group{'s' if n_components > 1 else ''}; lower "
            "n_clusters, or remove must-links"
        )


def warn_of_fewer_groups(
    estimator: Any, labels: NDArray[np.int64], X: NDArray[np.floating]
) -> None:
    """Warn of fewer groups than `n_clusters`; different rows of X are counted for the reason."""
    n_found, wanted = int(labels.max()) + 1, estimator.n_clusters
    if n_found == wanted:
        return
    n_different = len(np.unique(X, axis=0))
    few = f"there are only {n_different} different rows"
    few = "all rows are equal" if n_different == 1 else few
    warn(
        f"{type(estimator).__name__}(n_clusters={wanted}) ends with {n_found} "
        f"group{'s' if n_found > 1 else ''}: "
        f"{few if n_different < wanted else 'no row was assigned to the other groups'}",
        FewerGroupsWarning,
    )


#: Number of distances from rows to centers that are computed at once.
BLOCK_ENTRIES = 1 << 18


class KMeansRun(NamedTuple):
    """The result of the best start."""

    labels: NDArray[np.int64]
    """Group of each row, (n_samples,); a group may be empty if there are equal rows."""
    centers: NDArray[np.float64]
    """Means, (n_clusters, n_features)."""
    inertia: float
    """Sum of squared distances from rows to their centers."""
    n_iter: int


def kmeans(
    X: NDArray[np.float64],
    n_clusters: int,
    *,
    n_init: int,
    random_state: RandomState,
    init: NDArray[np.float64] | None = None,
    max_iter: int = 300,
    tol: float = 1e-4,
) -> KMeansRun:
    """Lloyd's algorithm, `n_init` times; ends when centers shift by `tol` of the mean variance."""
    random = check_random_state(random_state)
    mean = X.mean(axis=0)
    rows = np.ascontiguousarray(X - mean)
    squares = np.einsum("ij,ij->i", rows, rows)
    tolerance = tol * float(rows.var(axis=0).mean())

    def run_from(_: int) -> KMeansRun:
        centers = rows[_seeds(rows, squares, n_clusters, random)] if init is None else init - mean
        return _lloyd(rows, centers, max_iter, tolerance)

    best = best_start(run_from, range(n_init), lambda run: run.inertia)
    assert best is not None  # n_init is at least 1
    return best._replace(centers=best.centers + mean)


def _seeds(
    rows: NDArray[np.float64],
    squares: NDArray[np.float64],
    n_clusters: int,
    random: np.random.RandomState,
) -> NDArray[np.int64]:
    """k-means++, several candidates each; scikit-learn's validation takes longer than distances."""
    n = len(rows)
    n_candidates = 2 + int(np.log(n_clusters))
    chosen = np.empty(n_clusters, np.int64)
    chosen[0] = random.choice(n, p=np.full(n, 1 / n))
    nearest = _squared_distances(rows, squares, chosen[:1])[0]
    for at in range(1, n_clusters):
        shares = nearest.cumsum()
        drawn = random.uniform(size=n_candidates) * nearest.sum()
        candidates = np.minimum(np.searchsorted(shares, drawn), n - 1)
        distance = _squared_distances(rows, squares, candidates)
        np.minimum(distance, nearest, out=distance)
        best = int(distance.sum(axis=1).argmin())
        chosen[at], nearest = candidates[best], distance[best]
    return chosen


def _squared_distances(
    rows: NDArray[np.float64], squares: NDArray[np.float64], chosen: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return squared distances from chosen rows to all rows, (n_chosen, n_samples)."""
    distance = -2.0 * rows[chosen] @ rows.T
    distance += squares
    distance += squares[chosen, None]
    return np.maximum(distance, 0.0, out=distance)


def _lloyd(
    rows: NDArray[np.float64], centers: NDArray[np.float64], max_iter: int, tolerance: float
) -> KMeansRun:
    """Assign rows and move centers in turn, until no row changes its group or no center moves."""
    labels = _nearest(rows, centers)
    n_iter, has_converged = 0, False
    while n_iter < max_iter and not has_converged:
        n_iter += 1
        moved = _moved_centers(rows, centers, labels)
        shift = float(((moved - centers) ** 2).sum())
        centers, before = moved, labels
        labels = _nearest(rows, centers)
        has_converged = shift <= tolerance or np.array_equal(labels, before)
    inertia = float(((rows - centers[labels]) ** 2).sum())
    return KMeansRun(labels, centers, inertia, n_iter)


def _nearest(rows: NDArray[np.float64], centers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Find the nearest center of each row, block by block."""
    squares = np.einsum("ij,ij->i", centers, centers)
    labels = np.empty(len(rows), np.int64)
    for start, stop in blocks(len(rows), max(BLOCK_ENTRIES // len(centers), 1)):
        distance = rows[start:stop] @ (-2.0 * centers.T)
        distance += squares
        cheapest(distance, labels[start:stop])
    return labels


def _moved_centers(
    rows: NDArray[np.float64], centers: NDArray[np.float64], labels: NDArray[np.int64]
) -> NDArray[np.float64]:
    """Return the mean of each group; an empty group gets the row farthest from its center."""
    if not np.bincount(labels, minlength=len(centers)).all():
        labels = labels.copy()
        distance = ((rows - centers[labels]) ** 2).sum(axis=1)
        fill_empty(labels, len(centers), costliest_row(labels, distance, 0.0))
    return group_means(rows, np.ones(len(rows)), labels, centers)


class Seeds(Protocol):
    """Centers for k-means++ along the first axis: features for means, rows for medoids."""

    weight: NDArray[np.float64]
    """Number of rows of each component, (n_components,)."""

    def costs(self, centers: NDArray[Any]) -> NDArray[np.float64]:
        """Return the cost of each component at each center, (n_components, n_centers)."""

    def at_components(self, which: NDArray[np.int64]) -> NDArray[Any]:
        """Return the center of each of some components."""


class Centers(Seeds, Protocol):
    """Interface of a kind of centers for k-means."""

    def row_costs(self, rows: NDArray[np.int64], centers: NDArray[Any]) -> NDArray[np.float64]:
        """Return the cost of some rows at each center, (n_rows, n_centers)."""

    def at_rows(self, rows: NDArray[np.int64]) -> NDArray[Any]:
        """Return centers at some rows."""

    def of_groups(self, labels: NDArray[np.int64], before: NDArray[Any]) -> NDArray[Any]:
        """Return the center of each group of components; that of an empty group as before."""


class Means:
    """Means of X (n_samples, n_features) in component (n_samples,); costs are squared distances."""

    def __init__(self, X: NDArray[np.float64], component: NDArray[np.int64]) -> None:
        n = int(component.max()) + 1
        self._X = X
        self._sums, self.weight = np.zeros((n, X.shape[1])), np.zeros(n)
        add_groups(X, np.ones(len(X)), component, self._sums, self.weight)
        squares = np.bincount(component, np.einsum("ij,ij->i", X, X))
        self._squares = squares.astype(np.float64)

    def costs(self, centers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of squared distances from each component's rows to each center."""
        return _squared(self._sums, self.weight, self._squares, centers)

    def row_costs(
        self, rows: NDArray[np.int64], centers: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the squared distance from some rows to each center."""
        X = self._X[rows]
        return _squared(X, np.ones(len(X)), np.einsum("ij,ij->i", X, X), centers)

    def at_components(self, which: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the mean of each of some components."""
        return np.asarray(self._sums[which] / self.weight[which, None])

    def at_rows(self, rows: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the features of some rows."""
        return self._X[rows]

    def of_groups(
        self, labels: NDArray[np.int64], before: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return the mean of each group."""
        return group_means(self._sums, self.weight, labels, before)


class Medoids:
    """Rows of lowest summed distances (n_samples, n_samples) in component (n_samples,)."""

    def __init__(self, distances: NDArray[np.float64], component: NDArray[np.int64]) -> None:
        self._distances, self._component = distances, component
        self.weight = np.bincount(component).astype(np.float64)
        order = np.argsort(component, kind="stable")
        start = np.cumsum(self.weight).astype(np.int64) - self.weight.astype(np.int64)
        # Sum of distances from each component to each row; without must-links, the distances.
        is_single = len(self.weight) == len(distances)
        self._sums = distances if is_single else np.add.reduceat(distances[order], start, axis=0)
        own = np.where(component == np.arange(len(self.weight))[:, None], self._sums, np.inf)
        self._medoid = own.argmin(axis=1)

    def costs(self, centers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the sum of distances from each component's rows to each medoid."""
        return np.ascontiguousarray(self._sums[:, centers])

    def row_costs(self, rows: NDArray[np.int64], centers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the distance from some rows to each medoid."""
        return self._distances[np.ix_(rows, centers)]

    def at_components(self, which: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the medoid of each of some components."""
        return np.asarray(self._medoid[which])

    def at_rows(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the rows: each is a medoid."""
        return rows

    def of_groups(self, labels: NDArray[np.int64], before: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the medoid of each group."""
        medoids = before.copy()
        row_group = labels[self._component]
        for group in np.unique(labels):
            rows = np.flatnonzero(row_group == group)
            total = self._sums[np.ix_(np.flatnonzero(labels == group), rows)].sum(axis=0)
            medoids[group] = rows[total.argmin()]
        return medoids


def plus_plus(
    centers: Seeds, n_centers: int, random: np.random.RandomState, given: NDArray[Any] | None = None
) -> NDArray[Any]:
    """k-means++ (Arthur and Vassilvitskii, SODA 2007), the best of several candidates each."""
    if given is None:
        heap = np.cumsum(centers.weight)
        first = np.searchsorted(heap, random.uniform() * heap[-1], side="right")
        given = centers.at_components(np.array([first]))
    chosen = [given]
    least = centers.costs(given).min(axis=1)
    n_drawn = 2 + int(np.log(n_centers))
    for _ in range(n_centers - len(given)):
        heap = np.cumsum(least)
        drawn = np.searchsorted(heap, random.uniform(size=n_drawn) * heap[-1], side="right")
        tried = centers.at_components(np.minimum(drawn, len(least) - 1))
        costs = np.minimum(centers.costs(tried), least[:, None])
        best = int(costs.sum(axis=0).argmin())
        chosen.append(tried[best : best + 1])
        least = costs[:, best]
    return np.concatenate(chosen)


def group_means(
    rows: NDArray[np.float64],
    weight: NDArray[np.float64],
    labels: NDArray[np.int64],
    before: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Weighted mean (n_groups, n_features) of each group's rows; `before` where it is empty."""
    sums, mass = np.zeros_like(before), np.zeros(len(before))
    add_groups(rows, weight, labels, sums, mass)
    return np.divide(sums, mass[:, None], out=before.copy(), where=mass[:, None] > 0)


def nearest_centers(X: NDArray[np.float64], centers: NDArray[np.float64]) -> NDArray[np.int64]:
    """Find each row's nearest center, (n_rows,), without overflow of large features."""
    units = Units.around_mean(centers)
    units = units._replace(unit=max(units.unit, float(np.abs(X - units.origin).max())))
    with one_blas_thread():
        return np.asarray(pairwise_distances_argmin(units.scale(X), units.scale(centers)))


def _squared(
    sums: NDArray[np.float64],
    weight: NDArray[np.float64],
    squares: NDArray[np.float64],
    centers: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Sum squared distances from components to centers, by one matrix product."""
    cost = sums @ (-2.0 * centers.T)
    cost += weight[:, None] * np.einsum("ij,ij->i", centers, centers)
    cost += squares[:, None]
    return np.maximum(cost, 0.0, out=cost)
