"""How far a fit is: steps are counted over all of its parts."""

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
        The most that there can be: ways that are left behind leave theirs undone.
    tell : callable
        Called with the number of steps that are done.
    """

    def __init__(self, n_steps: int, tell: Callable[[int], None]) -> None:
        self._n_steps, self._tell, self._done = n_steps, tell, 0

    def step(self) -> None:
        """Say that one more is done."""
        self._done += 1
        self._tell(self._done)

    def end(self) -> None:
        """Say that all is done."""
        if self._done < self._n_steps:
            self._tell(self._n_steps)
