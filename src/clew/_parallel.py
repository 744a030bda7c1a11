"""Threads over trees or rows, in fixed blocks, so that the result does not depend on `n_jobs`."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any, TypeVar

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

__all__ = ["Progress", "Teller", "blocks", "in_threads", "one_library_thread"]

T = TypeVar("T")
R = TypeVar("R")
#: Called with the number of finished blocks and of all blocks.
Progress = Callable[[int, int], None]
SECONDS_BETWEEN_REPORTS = 5.0


def blocks(n: int, size: int) -> list[tuple[int, int]]:
    """Cut ``range(n)`` into blocks of `size`, the last one maybe smaller."""
    return [(start, min(start + size, n)) for start in range(0, n, size)]


def one_library_thread() -> Any:
    """Hold the libraries' own threads, BLAS's and OpenMP's, to one within a ``with`` block.

    Where there are many small problems, these threads wait for each other most of the time, the
    more so where other programs run; and sums depend on their number.
    """
    return _controller().limit(limits=1)


@cache
def _controller() -> ThreadpoolController:
    """Look for the libraries once: that takes longer than many a problem."""
    return ThreadpoolController()


def in_threads(
    function: Callable[[T], R],
    tasks: Sequence[T],
    *,
    n_jobs: int | None,
    verbose: int = 0,
    what: str = "blocks",
    callback: Progress | None = None,
) -> list[R]:
    """Call a function on every task, in threads; the results keep the order of the tasks.

    Parameters
    ----------
    function : callable
        Called with one task. It should hold the GIL for little of its time.
    tasks : sequence
        What to call it with.
    n_jobs : int or None
        joblib's meaning: None is 1 unless a ``parallel_config`` says otherwise.
    verbose : int
        0 keeps quiet; 1 logs progress every few seconds; 2 logs each task.
    what : str
        What the tasks are called in the log.
    callback : callable, default=None
        Called in the calling thread after each task, with the number done and the number of all.

    Returns
    -------
    list
    """
    n_threads = min(effective_n_jobs(n_jobs), len(tasks))
    if n_threads < 2:
        return list(_reported(map(function, tasks), len(tasks), verbose, what, callback))
    # Not joblib's own threads: these are 10 ms late where the caller polls for the last results.
    pool = ThreadPoolExecutor(n_threads)
    try:
        results = [pool.submit(function, task) for task in tasks]
        done = (result.result() for result in results)
        return list(_reported(done, len(tasks), verbose, what, callback))
    finally:
        pool.shutdown(cancel_futures=True)


def _reported(
    results: Iterable[R], n: int, verbose: int, what: str, callback: Progress | None
) -> Iterator[R]:
    """Pass results on, and say how far they are."""
    tell = Teller(n, verbose=verbose, what=what, callback=callback)
    for done, result in enumerate(results, start=1):
        tell(done)
        yield result


class Teller:
    """Tells a callback and the log how far work is.

    Parameters
    ----------
    n : int
        How much work there is.
    verbose : int
        0 keeps quiet; 1 logs progress every few seconds; 2 logs each step.
    what : str
        What the steps are called in the log.
    callback : callable or None
        Called with what is done and with `n`.
    """

    def __init__(self, n: int, *, verbose: int, what: str, callback: Progress | None) -> None:
        self._n, self._verbose, self._what, self._callback = n, verbose, what, callback
        self._logger, self._last = logging.getLogger("clew"), time.monotonic()

    def __call__(self, done: int) -> None:
        """Say that so much is done."""
        is_time = self._verbose > 1 or time.monotonic() - self._last > SECONDS_BETWEEN_REPORTS
        if self._verbose and (is_time or done == self._n):
            self._logger.info("%s: %d of %d done", self._what, done, self._n)
            self._last = time.monotonic()
        if self._callback is not None:
            self._callback(done, self._n)
