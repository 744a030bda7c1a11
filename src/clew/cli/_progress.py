"""What a command says on the standard error while it works."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import click

__all__ = ["Advance", "Words", "counted"]

#: Called with the number of finished steps and of all steps.
Advance = Callable[[int, int], None]


def counted(n: int, noun: str) -> str:
    """Say how many there are: "1 row", "1,797 rows"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


class Words:
    """Words for people: none when quiet, more when verbose, and a bar on a terminal.

    Parameters
    ----------
    quiet : bool, default=False
        Say nothing but errors.
    verbose : bool, default=False
        Say what is being done.
    """

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self.quiet = quiet
        self.verbose = verbose and not quiet
        self.has_bar = not quiet and sys.stderr.isatty()

    @property
    def verbosity(self) -> int:
        """The `verbose` of estimators whose reports are to be shown."""
        return 2 if self.has_bar else int(self.verbose)

    def say(self, sentence: str) -> None:
        """Say something that everyone wants to know."""
        if not self.quiet:
            click.echo(sentence, err=True)

    def detail(self, sentence: str) -> None:
        """Say something that only a curious person wants to know."""
        if self.verbose:
            click.echo(sentence, err=True)

    @contextmanager
    def bar(self, what: str) -> Iterator[Advance]:
        """Show a bar while the block runs, which the function that is yielded moves."""
        if not self.has_bar:
            yield lambda done, total: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
            task = progress.add_task(what, total=None)
            yield lambda done, total: progress.update(task, completed=done, total=total)

    @contextmanager
    def watching(self, what: str) -> Iterator[None]:
        """Show how far the library is, by what it logs, while the block runs."""
        if self.verbosity == 0:
            yield
            return
        logger = logging.getLogger("clew")
        level = logger.level
        with self.bar(what) as advance:
            handler = _Reports(self.detail, advance)
            logger.addHandler(handler)
            logger.setLevel(logging.INFO)
            try:
                yield
            finally:
                logger.setLevel(level)
                logger.removeHandler(handler)


class _Reports(logging.Handler):
    """Turns the library's reports, "trees: 3 of 9 done", into steps of a bar."""

    def __init__(self, detail: Callable[[str], None], advance: Advance) -> None:
        super().__init__()
        self._detail = detail
        self._advance = advance

    def emit(self, record: logging.LogRecord) -> None:
        """Pass one report on."""
        match record.args:
            case (str(), int(done), int(total)):
                self._advance(done, total)
            case _:
                self._detail(record.getMessage())
