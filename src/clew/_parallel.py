"""Threads over trees or rows, in fixed blocks, so that the result does not depend on `n_jobs`."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar, copy_context
from functools import cache, cached_property
from typing import Any, TypeVar, overload

from joblib import Parallel, delayed, effective_n_jobs
from joblib.parallel import get_active_backend
from threadpoolctl import ThreadpoolController

T = TypeVar("T")
R = TypeVar("R")
#: Called with the number of finished steps and of all steps.
Progress = Callable[[int, int], None]
SECONDS_BETWEEN_REPORTS = 5.0
#: One event for each `in_threads` around this thread's work, set when that call is left early.
_abandoned: ContextVar[tuple[threading.Event, ...]] = ContextVar("clew_abandoned", default=())
#: Number of threads of the `in_threads` that runs this thread's work.
_n_beside: ContextVar[int] = ContextVar("clew_n_beside", default=1)


class unlocked_property(cached_property[T]):  # noqa: N801  named as the class that it replaces
    """A `cached_property` without the lock that all instances share before Python 3.12."""

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> unlocked_property[T]: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> T: ...
    def __get__(self, instance: object, owner: type[Any] | None = None) -> Any:
        """Compute the property and store it in the object, where it is found from then on."""
        if instance is None:
            return self
        assert self.attrname is not None
        value = instance.__dict__[self.attrname] = self.func(instance)
        return value


class Once:
    """Results by key, each computed by the first thread that reads it; others wait for that one."""

    def __init__(self) -> None:
        self._results: dict[Hashable, Any] = {}
        self._locks: dict[Hashable, threading.RLock] = {}
        self._lock = threading.Lock()

    def __call__(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the result of this key, after a call of `make` if there is none yet."""
        if key not in self._results:
            with self._lock:
                own = self._locks.setdefault(key, threading.RLock())
            with own:
                if key not in self._results:
                    self._results[key] = make()
        return self._results[key]

    def __getstate__(self) -> dict[Hashable, Any]:
        return dict(self._results)

    def __setstate__(self, results: dict[Hashable, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        self._results = results


def blocks(n: int, size: int) -> list[tuple[int, int]]:
    """Cut ``range(n)`` into blocks of `size`; the last one may be smaller."""
    return [(start, min(start + size, n)) for start in range(0, n, size)]


class _OneBlasThread:
    """Limits BLAS to one thread; the last thread to leave restores the number of threads.

    BLAS has one such number for the whole process, so threads that enter meanwhile share it.
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
                # A limit of scikit-learn within the block may have left its thread in control.
                _release_blas(force=True)
                self._limits.restore_original_limits()
                _release_blas()


_ONE_BLAS_THREAD = _OneBlasThread()


def one_blas_thread() -> AbstractContextManager[None]:
    """Limit BLAS to one thread within a ``with`` block."""
    return _ONE_BLAS_THREAD


@contextmanager
def one_library_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP, around small problems that take less than starting threads; nests."""
    # OpenMP keeps its number of threads for each calling thread: no two threads share it.
    with _libraries("openmp").limit(limits=1), one_blas_thread():
        yield


def _release_blas(*, force: bool = False) -> None:
    """Let any thread set the number of BLAS threads next; `force` whichever thread set it last.

    threadpoolctl 3.8 lets only the thread that set the number last change it while it lives.
    """
    for library in _libraries("blas").lib_controllers:
        release = getattr(library, "clear_controlling_thread", None)
        if release is not None:
            release(force=force)


@cache
def _libraries(user_api: str) -> ThreadpoolController:
    """Return the loaded libraries of a kind; cached, because the search takes milliseconds."""
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

    A call within a task of another one takes only its share of the threads. On an error or Ctrl-C,
    waiting tasks are canceled, and running ones end at their next call of `stop_if_abandoned`.
    """
    n_beside = _n_beside.get()
    n_threads = min(effective_n_jobs(n_jobs) // n_beside, len(tasks))
    report = ProgressReport(len(tasks), verbose=verbose, what=what, callback=callback)
    if n_threads < 2:
        return list(_reported((_unless_abandoned(function, task) for task in tasks), report))
    # Not joblib's own threads: these are 10 ms late where the caller polls for the last results.
    pool = ThreadPoolExecutor(n_threads, initializer=_take_one_openmp_thread)
    abandoned = threading.Event()
    tokens = _abandoned.set((*_abandoned.get(), abandoned)), _n_beside.set(n_beside * n_threads)
    try:
        # Each task in a copy of the context: silenced warnings stay silenced in it.
        results = [
            pool.submit(copy_context().run, _unless_abandoned, function, task) for task in tasks
        ]
        return list(_reported((result.result() for result in results), report))
    except BaseException:
        abandoned.set()
        raise
    finally:
        _abandoned.reset(tokens[0])
        _n_beside.reset(tokens[1])
        pool.shutdown(cancel_futures=True)


def has_cluster() -> bool:
    """Whether the user has chosen joblib's Dask backend, ``parallel_config(backend="dask")``."""
    return type(get_active_backend()[0]).__name__ == "DaskDistributedBackend"


def on_cluster(function: Callable[[T], R], tasks: Sequence[T]) -> list[R]:
    """Call a function on every task, on the workers of `has_cluster`; results keep their order."""
    results: list[R] = Parallel()(delayed(function)(task) for task in tasks)
    return results


def _take_one_openmp_thread() -> None:
    """Limit OpenMP in a new thread, for good: each thread has a number of its own."""
    _libraries("openmp").limit(limits=1)


def stop_if_abandoned() -> None:
    """End this thread's task if the `in_threads` that started it has been left by an error.

    Ctrl-C reaches the main thread only, which would otherwise wait for a long loop to end.
    """
    if any(event.is_set() for event in _abandoned.get()):
        raise _AbandonedError


class _AbandonedError(BaseException):
    """Raised in a thread whose result is no longer wanted; never seen by a caller."""


def _unless_abandoned(function: Callable[[T], R], task: T) -> R:
    stop_if_abandoned()
    return function(task)


def _reported(results: Iterable[R], report: ProgressReport) -> Iterator[R]:
    """Pass results on, with a report after each."""
    for done, result in enumerate(results, start=1):
        report(done)
        yield result


class ProgressReport:
    """Report progress to the log and to a callback, and stop work that has been abandoned."""

    def __init__(self, n: int, *, verbose: int, what: str, callback: Progress | None) -> None:
        self._n, self._verbose, self._what, self._callback = n, verbose, what, callback
        self._logger, self._last = logging.getLogger("clew"), time.monotonic()

    def __call__(self, done: int) -> None:
        """Report the number of finished steps."""
        stop_if_abandoned()
        is_time = self._verbose > 1 or time.monotonic() - self._last > SECONDS_BETWEEN_REPORTS
        if self._verbose and (is_time or done == self._n):
            self._logger.info("%s: %d of %d done", self._what, done, self._n)
            self._last = time.monotonic()
        if self._callback is not None:
            self._callback(done, self._n)
