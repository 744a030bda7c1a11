"""Rows that are not read into memory: ``clew group`` of Zarr arrays, and on a Dask cluster."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from clew._files import atomic_write, needs
from clew.cli._grouping import (
    Job,
    about_run,
    check_n_groups,
    print_summary,
    read_answers,
    say_doubtful,
    summarize,
)
from clew.cli._groups import Groups, doubtful_csv, find_groups, groups_csv
from clew.cli._outputs import check_writable, write_together
from clew.cli._words import Words, counted
from clew.cluster import GuidedClustering
from clew.exceptions import ClusterError, FileFormatError

if TYPE_CHECKING:
    import dask.array

ENDING = ".zarr"
#: A local cluster is started if the rows take more than this share of the memory.
MOST_MEMORY = 0.5
#: Lines of the table that are written at once.
LINES = 100_000


def run_in_blocks(job: Job) -> dict[str, Any]:
    """Group rows in blocks; return the summary that ``--json`` prints."""
    start = time.perf_counter()
    words = Words(quiet=job.quiet, verbose=job.verbose)
    output = job.output or Path("groups.csv")
    check_writable(output, job.doubtful)
    X = _opened(job.items)
    if X.ndim != 2:
        raise FileFormatError(
            f"{job.items} holds an array of shape {X.shape}, but rows by features are two "
            "dimensions"
        )
    n, n_features = X.shape
    words.detail(f"{job.items}: {counted(n, 'row')}, {counted(n_features, 'feature')}")
    check_n_groups(job, n)
    answers = read_answers(job, n, None, words)
    model = GuidedClustering(
        job.n_groups, standardize=job.standardizes, random_state=job.seed, n_jobs=job.jobs
    )
    with _cluster(job.dask, X, words), words.bar("Fitting clusterings") as advance:
        model.fit(X, constraints=answers, callback=advance)
        groups = find_groups(model, None, answers, names=job.names or ())
    summary = summarize(model, groups, answers, n_features) | about_run(job, output, start)
    if job.doubtful is not None:
        write_together({job.doubtful: doubtful_csv(str, answers, groups.doubted)})
    with atomic_write(output, "w") as file:
        file.writelines(_lines(groups))
    print_summary(words, job, summary, model)
    say_doubtful(words, job, groups, str)
    return summary


def _lines(groups: Groups) -> Iterator[str]:
    """Format the table of groups, some lines at a time."""
    for start in range(0, len(groups.label), LINES):
        here = slice(start, start + LINES)
        part = groups._replace(**{name: getattr(groups, name)[here] for name in Groups._fields[:5]})
        table = groups_csv([str(start + at) for at in range(len(part.label))], part)
        yield table if start == 0 else table.partition("\n")[2]


def _opened(path: Path) -> dask.array.Array:
    """Open a Zarr array, or map a file of NumPy, as a Dask array."""
    with needs("rows in blocks need dask and zarr: pip install 'clew[scale]'"):
        import dask.array as da
    try:
        if path.suffix.lower() == ENDING:
            return da.from_zarr(str(path))
        if path.suffix.lower() != ".npy":
            raise FileFormatError(
                f"--dask reads an array, X.zarr or X.npy, not {path}: convert the rows first"
            )
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        return da.from_array(mapped, chunks=("auto", -1))
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, FileFormatError):
            raise
        raise FileFormatError(f"{path} cannot be read as an array of numbers: {error}") from error


@contextmanager
def _cluster(address: str | None, X: Any, words: Words) -> Iterator[None]:
    """Connect to a cluster; without an address start a local one if the rows need it."""
    import psutil
    from dask.distributed import Client, LocalCluster

    if address is None and X.nbytes < MOST_MEMORY * psutil.virtual_memory().available:
        yield
        return

    if address is not None:
        try:
            client = Client(address, timeout="10s")
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"--dask {address}: no scheduler answers there ({error}); start one with "
                "dask scheduler, or leave --dask out"
            ) from error
        with client:
            words.say(f"Dask: {counted(len(client.scheduler_info()['workers']), 'worker')}")
            yield
        return
    with LocalCluster(threads_per_worker=1, dashboard_address=":0") as made, Client(made):
        words.say(
            f"the rows take more than half of the memory: {counted(len(made.workers), 'process')} "
            "read them in blocks"
        )
        yield
