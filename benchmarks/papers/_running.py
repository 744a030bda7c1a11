"""Runs the parts of a study in processes of one thread each, and says how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from joblib import Parallel, delayed

__all__ = ["run_units"]


def run_units(run: Callable[..., str], units: Sequence[Sequence[object]], n_jobs: int) -> None:
    """Call a function once for each unit, in processes.

    Parameters
    ----------
    run : callable
        Gets what a unit holds, and gives the name of what it did.
    units : sequence of sequences
        Those that take long first, so that no process is left with one of them at the end.
    n_jobs : int
        Processes.
    """
    start = time.perf_counter()
    calls = (delayed(run)(*unit) for unit in units)
    finished = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)(calls)
    for count, name in enumerate(finished, start=1):
        spent = time.perf_counter() - start
        print(f"{count:4d} of {len(units)}: {name}; {spent:.0f} s", flush=True)
