"""Messages and progress on the standard error."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

#: Called with the number of finished steps and of all steps.
Advance = Callable[[int, int], None]
#: Seconds between two lines of progress, if there is no terminal for a bar.
PAUSE, VERBOSE_PAUSE = 15.0, 5.0
COMPILING = (
    "compiling, once per installation: this takes up to a minute, and later runs start at once "
    "(clew compile does it beforehand)"
)


class Words:
    """Messages for people: none when quiet, more when verbose, and a bar on a terminal."""

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self.quiet = quiet
        self.verbose = verbose and not quiet
        self.has_bar = not quiet and sys.stderr.isatty()
        self._console: Any = None

    def say(self, sentence: str) -> None:
        """Print a message, unless quiet."""
        if self.quiet:
            return
        if self._console is not None:  # prints above the bar
            self._console.print(sentence, markup=False, highlight=False, soft_wrap=True)
        else:
            click.echo(sentence, err=True)

    def detail(self, sentence: str) -> None:
        """Print a message if verbose."""
        if self.verbose:
            self.say(sentence)

    @contextmanager
    def bar(self, what: str) -> Iterator[Advance]:
        """Show progress while the block runs: a bar on a terminal, else a line every few seconds.

        A bar on a terminal, else a line every few seconds. Yields a function of steps done and of
        all steps.
        """
        with self._announced_compilation():
            if not self.has_bar:
                yield self._lines(what)
                return
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                Progress,
                TaskProgressColumn,
                TextColumn,
                TimeElapsedColumn,
                TimeRemainingColumn,
            )

            columns = (
                TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(),
                TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
            )  # fmt: skip
            self._console = Console(stderr=True)
            try:
                with Progress(*columns, console=self._console, transient=True) as progress:
                    task = progress.add_task(what, total=None)
                    yield lambda done, total: progress.update(task, completed=done, total=total)
            finally:
                self._console = None

    def _lines(self, what: str) -> Advance:
        """Return a function that prints progress, a line every few seconds."""
        start = last = time.monotonic()
        pause = VERBOSE_PAUSE if self.verbose else PAUSE

        def advance(done: int, total: int) -> None:
            nonlocal last
            now = time.monotonic()
            if done and now - last > pause:
                last = now
                left = (now - start) * (total - done) / done
                self.say(f"{what}: {done / total:.0%}, about {left:.0f} seconds left")

        return advance

    @contextmanager
    def _announced_compilation(self) -> Iterator[None]:
        """Print a message if Numba compiles a kernel, once."""
        from numba.core import event

        is_said = False

        def say_once(_: object) -> None:
            nonlocal is_said
            if not is_said:
                is_said = True
                self.say(COMPILING)

        class Listener(event.Listener):
            """Is called at every compilation."""

            def on_start(self, event: object) -> None:
                say_once(event)

            def on_end(self, event: object) -> None:
                pass

        listener = Listener()
        event.register("numba:compile", listener)  # type: ignore[no-untyped-call]
        try:
            yield
        finally:
            event.unregister("numba:compile", listener)  # type: ignore[no-untyped-call]
