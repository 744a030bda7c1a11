"""Progress of a fit: one count for all of its parts."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Counter", "Step", "no_step"]

#: Called after each step.
Step = Callable[[], None]


def no_step() -> None:
    """Count nothing."""


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
