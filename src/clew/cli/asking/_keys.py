"""Single keys from a terminal; a key that is held down answers one question, not the next ones."""

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

#: The key that was pressed last is held back if it comes again sooner than `TOO_SOON` seconds after
#: a question is shown, or sooner than `HELD` seconds after itself. Any other key counts at once.
TOO_SOON, HELD = 0.35, 0.12
ESCAPE, END = "\x1b", "\x04"


class Keys:
    """Reads keys as they are pressed, within a ``with`` block.

    Parameters
    ----------
    redraw : callable
        Called when the window has changed its size, or the program continues after a stop.
    held_back : callable
        Called with a key that does not count, and why.
    """

    def __init__(self, redraw: Callable[[], None], held_back: Callable[[str, str], None]) -> None:
        self._redraw, self._held_back = redraw, held_back
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
        """Hold back the keys that were typed before a question was shown."""
        early = ""
        while select.select([self._input], [], [], 0)[0]:
            early = self._key()
            if early == END:
                break
        self._shown_at = time.monotonic()
        if early and early != END:
            self._last, self._last_at = early, self._shown_at
            self._held_back(early, "it came before the question")

    def read(self) -> str:
        """Wait for a key that counts, and return it; the end of the input is Ctrl-D."""
        while True:
            key, now = self._key(), time.monotonic()
            is_again = key == self._last and key != END
            is_soon = now - self._last_at < HELD or now - self._shown_at < TOO_SOON
            self._last, self._last_at = key, now
            if not (is_again and is_soon):
                return key
            self._held_back(key, "it came twice at once")

    def _key(self) -> str:
        try:
            data = os.read(self._input, 1)
        except OSError:  # the terminal is gone
            data = b""
        if not data:
            return END
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
