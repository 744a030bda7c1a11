"""What a command says on the standard error while it works."""

from __future__ import annotations

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
