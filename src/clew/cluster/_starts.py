"""Several starts of an iterative method, of which the best is kept."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from clew._parallel import Progress

__all__ = ["best_start"]

Seed = TypeVar("Seed")
Run = TypeVar("Run")


def best_start(
    run_from: Callable[[Seed], Run | None],
    seeds: Sequence[Seed],
    objective: Callable[[Run], float],
    callback: Progress | None = None,
) -> Run | None:
    """Run a method once from each seed, and return the run with the lowest objective.

    Parameters
    ----------
    run_from : callable
        Runs the method from one seed; returns None if the start failed.
    seeds : sequence
        One seed for each start.
    objective : callable
        Returns the value of a run; lower is better.
    callback : callable, default=None
        Called after each start with the numbers of finished starts and of all starts.

    Returns
    -------
    run or None
        The first of the best runs; None if every start failed.

    Notes
    -----
    No run but the best one so far is kept in memory.
    """
    best: Run | None = None
    lowest = float("inf")
    for done, seed in enumerate(seeds, start=1):
        run = run_from(seed)
        if run is not None and (best is None or objective(run) < lowest):
            best, lowest = run, objective(run)
        if callback is not None:
            callback(done, len(seeds))
    return best
