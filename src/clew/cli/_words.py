"""Words for people: numbers with their nouns, and expected errors as one sentence."""

from __future__ import annotations

import signal
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from clew.exceptions import ClewError

FAILED = 1
#: The status that shells use for a process that SIGINT ended.
INTERRUPTED = 130


def counted(n: int, noun: str) -> str:
    """Return a number with its noun: "1 row", "1,797 rows"."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def sizes_words(sizes: Sequence[int], noun: str) -> str:
    """Return the sizes of groups as words: "8 to 12 rows", "8 rows each"."""
    least, most = min(sizes), max(sizes)
    if least < most:
        return f"{least:,} to {counted(most, noun)}"
    return counted(most, noun) + " each" * (len(sizes) > 1)


def printable(text: str) -> str:
    """Return a text without characters that a terminal would obey, such as escape sequences."""
    return "".join(one if one.isprintable() else repr(one)[1:-1] for one in text)


class Commands(click.Group):
    """A group of commands whose expected errors are sentences, not tracebacks."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            with _warnings_in_one_line():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            _ignore_interrupts()
            _fail(ctx, "interrupted, nothing was written", INTERRUPTED)
        except BrokenPipeError:
            # The reader of the output closed it, as `head` does: click ends without a message.
            raise
        except (ClewError, OSError, MemoryError) as error:
            _fail(ctx, _sentence(error), FAILED)


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


def _ignore_interrupts() -> None:
    """Ignore a second Ctrl-C, which would end in a traceback."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)


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
