"""What iterative methods share: several starts, empty groups, and the number of groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from clew._parallel import Progress
from clew._warnings import warn
from clew.exceptions import FewerGroupsWarning, InvalidConstraintsError

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
