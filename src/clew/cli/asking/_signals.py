"""Signals that end the program are raised as exceptions, so that it can print its last line."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ["Stopped", "signals_raised"]

NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class Stopped(BaseException):
    """A signal asked the program to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


@contextmanager
def signals_raised() -> Iterator[list[int]]:
    """Raise `Stopped` at the first signal that asks the program to end; ignore further ones.

    Yields
    ------
    list of int
        Empty until the signal arrives, then its number. The work that `Stopped` interrupts may end
        with another error, for instance if the terminal is closed.
    """
    received: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    numbers = [getattr(signal, name) for name in NAMES if hasattr(signal, name)]

    def stop(number: int, _: FrameType | None) -> None:
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        received.append(number)
        raise Stopped(number)

    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
