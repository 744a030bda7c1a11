"""The steps of a fit: the threads that they run in, and one count for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from joblib import effective_n_jobs

from clew._parallel import in_threads

__all__ = ["IN_ONE_THREAD", "Counter", "Step", "Steps", "no_step"]

T = TypeVar("T")
R = TypeVar("R")

#: Called after each step.
Step = Callable[[], None]


def no_step() -> None:
    """Count nothing."""


class Steps(NamedTuple):
    """How independent steps run: the number of threads, and the callback that counts steps."""

    step: Step = no_step
    """Called after each step."""
    n_jobs: int | None = 1
    """Number of threads. The results do not depend on it."""

    @property
    def n_threads(self) -> int:
        """Number of threads that `n_jobs` means."""
        return int(effective_n_jobs(self.n_jobs))

    def uncounted(self) -> Steps:
        """Return the same threads, without a count."""
        return Steps(no_step, self.n_jobs)

    def each(self, function: Callable[[T], R], tasks: Sequence[T]) -> list[R]:
        """Call a function on every task; the results keep the order of the tasks."""
        return in_threads(function, tasks, n_jobs=self.n_jobs, callback=lambda done, n: self.step())


#: Steps in one thread that are not counted.
IN_ONE_THREAD = Steps()


class Counter:
    """Counts steps.

    Parameters
    ----------
    n_steps : int
        Largest possible number of steps; pruned members skip some.
    report : callable
        Called with the number of finished steps.
    """

    def __init__(self, n_steps: int, report: Callable[[int], None]) -> None:
        self._n_steps, self._report, self._done = n_steps, report, 0

    def step(self) -> None:
        """Count one more step."""
        self._done += 1
        self._report(self._done)

    def end(self) -> None:
        """Report that all is done."""
        if self._done < self._n_steps:
            self._report(self._n_steps)
