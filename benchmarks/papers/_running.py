"""Runs the parts of a study in processes of one thread each, and says how far it is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

from joblib import Parallel, delayed

from benchmarks import _harness as harness
from benchmarks._result_log import ResultLog

__all__ = ["run_missing", "run_units"]


class Resumable(Protocol):
    """A study that keeps its results in a log."""

    @property
    def log(self) -> ResultLog:
        """Where results are kept."""

    @property
    def sets(self) -> Iterable[str]:
        """Names of the data sets."""


def run_missing(
    study: Resumable,
    units: Callable[[Any, Any], Sequence[Sequence[object]]],
    run_unit: Callable[..., str],
    missing: Callable[[str], str],
    n_jobs: int,
    *,
    what: str = "parts",
) -> None:
    """Run what a study's log does not hold yet, in processes with one thread each.

    Parameters
    ----------
    study : study
        What to run. Results that its log holds are not made again.
    units : callable
        Gets the study and the results found, and gives what is left, in parts.
    run_unit : callable
        Gets the study, what a part holds, and the tag of clew's source; gives a name.
    missing : callable
        Gets the name of a data set, and gives why it cannot be had, or nothing.
    n_jobs : int
        Processes.
    what : str, default="parts"
        What the parts are called.
    """
    study.log.keep()
    done = study.log.read()
    for name in study.sets:
        if why := missing(name):
            print(f"left out: {why}")
    left = units(study, done)
    print(f"{len(left)} {what} to run, {len(done)} results found", flush=True)
    source = harness.source_tag()
    run_units(run_unit, [(study, *unit, source) for unit in left], n_jobs)


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
