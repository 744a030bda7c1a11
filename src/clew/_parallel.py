"""Threads over trees or rows, in fixed blocks, so that the result does not depend on `n_jobs`."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import copy_context
from functools import cache
from typing import Any, TypeVar

from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

__all__ = ["Progress", "Teller", "blocks", "in_threads", "one_blas_thread", "one_library_thread"]

T = TypeVar("T")
R = TypeVar("R")
#: Called with the number of finished blocks and of all blocks.
Progress = Callable[[int, int], None]
SECONDS_BETWEEN_REPORTS = 5.0


def blocks(n: int, size: int) -> list[tuple[int, int]]:
    """Cut ``range(n)`` into blocks of `size`, the last one maybe smaller."""
    return [(start, min(start + size, n)) for start in range(0, n, size)]


class _OneBlasThread:
    """Limits BLAS to one thread while any thread is inside.

    The number of BLAS threads belongs to the whole process: if every user saved and restored it,
    users that overlap would restore each other's limit. So the first one in saves it, and the
    last one out restores it.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._n_inside = 0
        self._limits: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._n_inside == 0:
                self._limits = _libraries("blas").limit(limits=1)
                _release_blas()
            self._n_inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._n_inside -= 1
            if self._n_inside == 0:
                self._limits.restore_original_limits()
                _release_blas()


_ONE_BLAS_THREAD = _OneBlasThread()


def one_blas_thread() -> AbstractContextManager[None]:
    """Limit BLAS to one thread within a ``with`` block.

    Put it around whatever of scikit-learn limits BLAS itself (k-means, brute-force neighbor
    search): scikit-learn saves and restores the number of threads without regard to others that
    do so at the same time, which is harmless within this block.

    Returns
    -------
    context manager
        May be nested, and entered by several threads at once.
    """
    return _ONE_BLAS_THREAD


@contextmanager
def one_library_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread within a ``with`` block.

    Use it around many small problems, where the threads of these libraries mostly wait for each
    other. May be nested, and entered by several threads at once.
    """
    # OpenMP keeps its number of threads for each calling thread: no two threads share it.
    with _libraries("openmp").limit(limits=1), one_blas_thread():
        yield


def _release_blas() -> None:
    """Let any thread set the number of BLAS threads next.

    threadpoolctl from 3.8 on ignores all threads but the one that set it last, as long as that
    one lives: the last one out would restore nothing.
    """
    for library in _libraries("blas").lib_controllers:
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release()


@cache
def _libraries(user_api: str) -> ThreadpoolController:
    """Return the loaded libraries of a kind; finding them takes longer than many a problem."""
    return ThreadpoolController().select(user_api=user_api)


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
        # Each task in a copy of the context: silenced warnings stay silenced in it.
        results = [pool.submit(copy_context().run, function, task) for task in tasks]
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
