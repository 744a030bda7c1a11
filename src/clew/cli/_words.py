"""Words for people: numbers with their nouns, expected errors as one sentence, and progress."""

from __future__ import annotations

import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, NoReturn

import click

from clew._files import OTHER_NAMES
from clew.exceptions import ClewError

FAILED = 1
#: The status that shells use for a process that SIGINT ended.
INTERRUPTED = 130


def counted(n: int, noun: str) -> str:
    """Return a number with its noun: "1 row", "1,797 rows"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def wrong_with(p_wrong: float) -> str:
    """Say how likely an answer is wrong; never 1.00, because it is estimated."""
    return f"wrong with probability {min(p_wrong, 0.99):.2f}"


def sizes_words(sizes: Sequence[int], noun: str) -> str:
    """Return the sizes of groups as words: "8 to 12 rows", "8 rows each"."""
    least, most = min(sizes), max(sizes)
    if least < most:
        return f"{least:,} to {counted(most, noun)}"
    return counted(most, noun) + " each" * (len(sizes) > 1)


def printable(text: str) -> str:
    """Return a text without characters that a terminal would obey, such as escape sequences."""
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


#: What commands say in place of `OTHER_NAMES`, which is about parameters.
OTHER_OPTIONS = "Name them, as in --item-columns left,right --answer-column same"


class Commands(click.Group):
    """A group of commands whose expected errors are sentences, not tracebacks."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; refuse an option given twice: click would drop the first one."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None:
            own = click.Context(command, info_name=name, parent=ctx, resilient_parsing=True)
            try:
                order = command.make_parser(own).parse_args(list(rest))[2]
            except click.UsageError:  # the command says it
                order = []
            for option in order:
                has_value = isinstance(option, click.Option) and not option.is_flag
                if has_value and not option.multiple and order.count(option) > 1:
                    shown = " or ".join(one for one in option.opts if one.startswith("--"))
                    raise click.UsageError(f"{shown} is given {order.count(option)} times", own)
        return name, command, rest

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands, each with a whole sentence; click would cut long ones."""
        names = self.list_commands(ctx)
        with formatter.section("Commands"):
            formatter.write_dl([(one, self.commands[one].get_short_help_str(200)) for one in names])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            with _warnings_in_one_line():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            # A second one would end in a traceback.
            if threading.current_thread() is threading.main_thread():
                signal.signal(signal.SIGINT, signal.SIG_IGN)
            is_lasting = ctx.invoked_subcommand in ("serve", "worker")
            kept = "; what was saved is kept" if is_lasting else ", nothing was written"
            _fail(ctx, f"interrupted{kept}", INTERRUPTED)
        except BrokenPipeError:
            # The reader of the output closed it, as `head` does: click ends without a message.
            raise
        except (ClewError, OSError, MemoryError) as error:
            _fail(ctx, _sentence(error).replace(OTHER_NAMES, OTHER_OPTIONS), FAILED)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ignore Ctrl-C within a ``with`` block, for short work that must not stop halfway."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _fail(ctx: click.Context, sentence: str, status: int) -> NoReturn:
    click.echo(f"clew: {sentence}", err=True)
    ctx.exit(status)


def _sentence(error: BaseException) -> str:
    """Return an error as one line."""
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return f"{error.filename}: {error.strerror}"
    if isinstance(error, MemoryError) and not isinstance(error, ClewError):
        detail = f" ({' '.join(str(error).split())})" if str(error) else ""
        return f"not enough memory{detail}; use fewer rows or fewer trees"
    return " ".join(str(error).split()) or type(error).__name__


@contextmanager
def _warnings_in_one_line() -> Iterator[None]:
    """Show warnings as sentences, without the line of source that raised them."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        click.echo(f"clew: warning: {' '.join(str(message).split())}", err=True)

    with warnings.catch_warnings():
        for ours in (DeprecationWarning, FutureWarning):
            warnings.simplefilter("ignore", ours)
        for theirs in (UserWarning, RuntimeWarning):
            warnings.simplefilter("default", theirs)
        warnings.showwarning = show
        yield


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

    def say_incomplete(self, path: object, lines: Iterable[int]) -> None:
        """Name the lines of a file that were not written to their end."""
        for line in lines:
            self.say(f"{path}, line {line}: is incomplete, and is skipped")

    def detail(self, sentence: str) -> None:
        """Print a message if verbose."""
        if self.verbose:
            self.say(sentence)

    @contextmanager
    def bar(self, what: str) -> Iterator[Advance]:
        """Show a bar on a terminal, else a line every few seconds; yields `Advance`."""
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

        say_once = cache(self.say)

        class Listener(event.Listener):
            """Is called at every compilation."""

            def on_start(self, event: object) -> None:
                say_once(COMPILING)

            def on_end(self, event: object) -> None:
                pass

        listener = Listener()
        event.register("numba:compile", listener)  # type: ignore[no-untyped-call]
        try:
            yield
        finally:
            event.unregister("numba:compile", listener)  # type: ignore[no-untyped-call]
