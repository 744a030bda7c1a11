"""Single keys from a terminal, without those that were typed before the question was shown."""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, Self

__all__ = ["Keys"]

#: A key is ignored if it comes sooner than `TOO_SOON` seconds after its question, or sooner than
#: `HELD` seconds after the same key, because it is then held down.
TOO_SOON, HELD = 0.15, 0.12
ESCAPE = "\x1b"


class Keys:
    """Reads keys as they are pressed, within a ``with`` block.

    Parameters
    ----------
    redraw : callable
        Called when the window has changed its size, or the program continues after a stop.
    """

    def __init__(self, redraw: Callable[[], None]) -> None:
        self._redraw = redraw
        self._input = sys.stdin.fileno()
        self._saved: Any = None
        self._handlers: dict[int, Any] = {}
        self._last, self._last_at, self._shown_at = "", 0.0, 0.0

    def __enter__(self) -> Self:
        import termios

        self._saved = termios.tcgetattr(self._input)
        self._set()
        for name in ("SIGWINCH", "SIGCONT"):
            number = getattr(signal, name)
            self._handlers[number] = signal.signal(number, self._changed)
        return self

    def __exit__(self, *_: object) -> None:
        import termios

        for number, handler in self._handlers.items():
            signal.signal(number, handler)
        try:
            termios.tcsetattr(self._input, termios.TCSAFLUSH, self._saved)
        except (termios.error, OSError):  # the terminal is gone
            return

    def shown(self) -> None:
        """Forget the keys that were typed before a question was shown."""
        import termios

        termios.tcflush(self._input, termios.TCIFLUSH)
        self._shown_at = time.monotonic()

    def read(self, *, is_reply: bool = True) -> str:
        """Wait for a key, and return it; the end of the input is Ctrl-D.

        Parameters
        ----------
        is_reply : bool, default=True
            Whether to ignore a key that comes too early or is held down.
        """
        while True:
            key = self._key()
            now = time.monotonic()
            is_held = key == self._last and now - self._last_at < HELD
            self._last, self._last_at = key, now
            if not is_reply or not (is_held or now - self._shown_at < TOO_SOON):
                return key

    def _key(self) -> str:
        try:
            data = os.read(self._input, 1)
        except OSError:  # the terminal is gone
            data = b""
        if not data:
            return "\x04"
        if data == ESCAPE.encode():
            return self._escape()
        n_more = sum(data[0] >= first for first in (0xC0, 0xE0, 0xF0))
        for _ in range(n_more):
            data += os.read(self._input, 1)
        return data.decode("utf-8", "replace")

    def _escape(self) -> str:
        """Read the rest of an escape sequence, such as that of an arrow key."""
        while select.select([self._input], [], [], 0.02)[0]:
            if os.read(self._input, 1).isalpha():
                break
        return ESCAPE

    def _set(self) -> None:
        import tty

        tty.setcbreak(self._input)

    def _changed(self, number: int, _: FrameType | None) -> None:
        import termios

        # A terminal that closes sends SIGCONT after SIGHUP, and cannot be drawn on any more.
        with suppress(termios.error, OSError):
            if number == getattr(signal, "SIGCONT", None):
                self._set()
            self._redraw()
