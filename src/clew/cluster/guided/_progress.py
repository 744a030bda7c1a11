"""How far a fit is: steps are counted over all of its parts."""

from __future__ import annotations

from collections.abc import Callable

from clew._parallel import Progress

__all__ = ["Counter", "Step", "no_step"]

#: Called after each step.
Step = Callable[[], None]


def no_step() -> None:
    """Count nothing."""


class Counter:
    """Counts steps.

    Parameters
    ----------
    callback : callable or None
        Called with the number of steps that are done and of all.
    n_steps : int
        The most that there can be: ways that are left behind leave theirs undone.
    """

    def __init__(self, callback: Progress | None, n_steps: int) -> None:
        self._callback, self._n_steps, self._done = callback, n_steps, 0

    def step(self) -> None:
        """Say that one more is done."""
        self._say(self._done + 1)

    def end(self) -> None:
        """Say that all is done."""
        if self._done < self._n_steps:
            self._say(self._n_steps)

    def _say(self, done: int) -> None:
        self._done = done
        if self._callback is not None:
            self._callback(done, self._n_steps)
