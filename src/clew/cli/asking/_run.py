"""The run of ``clew ask``: make the loop from the options, run it, and print the last line."""

from __future__ import annotations

import csv
import io
import os
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from types import FrameType

import click

from clew._files import check_regular
from clew.cli._options import project_and_store
from clew.cli._outputs import check_writable
from clew.cli._project_rows import StoreLog
from clew.cli._reading import cache_folder, read_rows, with_records
from clew.cli._rows import Rows
from clew.cli._words import FAILED, Words, counted
from clew.cli.asking._lines import JsonLines, Lines
from clew.cli.asking._loop import AskJob, AskLoop, NextQuestion, Screen, in_background, session_of
from clew.exceptions import ClewError
from clew.store import AnswerFile

NOTHING_LEFT = 3


def run(job: AskJob) -> int:
    """Ask, and return the exit status."""
    words = Words(quiet=job.quiet or job.as_json, verbose=job.verbose)
    if job.project is None:
        check_writable(job.answers)
        check_regular(job.answers)
    else:
        with project_and_store(job.project) as (_, store):
            store.append(())  # refuses a project that may not be written before anybody answers
    loop: AskLoop | None = None
    with ExitStack() as stack, signals_raised() as received:
        try:
            items = with_records(read_rows(job, words), job.n_groups, words, is_dense=True)
            loop = _loop(job, items, words, stack)
            if not loop.has_question:
                with words.bar("Preparing the first question"):
                    loop.prepare()
        except (Stopped, OSError):
            if not received:
                raise
            status = 128 + received[0]
            with suppress(OSError):  # the terminal may be gone
                click.echo("clew: interrupted before the first question", err=True)
        else:
            status = _ask(job, loop)
    if loop is not None and not loop.is_prepared:
        # A thread prepares the session: the usual end would abort in its C++ code.
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):
                stream.flush()
        os._exit(status)
    return status


def _loop(job: AskJob, items: Rows, words: Words, stack: ExitStack) -> AskLoop:
    """Read the answers, and begin to prepare the session, in the background."""
    file: AnswerFile | StoreLog
    if job.project is not None:
        _, store = stack.enter_context(project_and_store(job.project))
        file = StoreLog(store, str(job.answers), items.ids)
    else:
        file = AnswerFile(job.answers, items.ids, None if items.has_ids else items.content_of)
    if file.entries:
        words.say(f"{job.answers}: continues after {counted(len(file.standing), 'answer')}")
    words.say_incomplete(job.answers, file.torn)
    entries, screen = list(file.entries), _screen(job, items)
    # Scripts wait for the session, so that what they read does not depend on timing.
    is_script = isinstance(screen, Lines)
    following = None if is_script else NextQuestion(job, file, cache_folder())
    return AskLoop(
        in_background(lambda: session_of(job, items, entries)),
        file,
        screen,
        annotator=job.annotator,
        n_wanted=job.n_questions,
        seed=job.seed,
        following=following,
        is_early=not is_script and "pair" in job.kinds,
    )


def _screen(job: AskJob, items: Rows) -> Screen:
    if job.as_json:
        return JsonLines(items)
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if not is_terminal or os.environ.get("TERM", "dumb") == "dumb":
        return Lines(items)
    from clew.cli.asking._terminal import Terminal

    return Terminal(job, items)


def _ask(job: AskJob, loop: AskLoop) -> int:
    """Run the loop; whatever ends it, the last line says what is on disk, and what to do next."""
    status, why = 0, ""
    try:
        with loop.screen:  # type: ignore[attr-defined]
            if loop.run():
                status, why = NOTHING_LEFT, "there is nothing left to ask; "
            elif loop.is_unsaved:
                status, why = FAILED, "the last answer is not saved; "
    except (Stopped, KeyboardInterrupt) as stopped:
        status = 128 + getattr(stopped, "signal", 2)
        why = "interrupted; "
    except BrokenPipeError:
        status, why = FAILED, "the reader of the output is gone; "
        # What is left in the buffer would fail again when Python ends.
        with suppress(OSError), open(os.devnull, "wb") as nothing:
            os.dup2(nothing.fileno(), sys.stdout.fileno())
    except (ClewError, OSError) as error:
        status, why = FAILED, f"{error}; "
    with suppress(OSError, Stopped):  # the terminal may be gone
        n = loop.progress.n_answers
        if status == FAILED or not job.quiet:
            click.echo(f"clew: {why}{counted(n, 'answer')} in {job.answers}", err=True)
        if n and not (job.quiet or job.as_json):
            words = shlex.join(["clew", "group", *_group_options(job), "--report", "report.html"])
            click.echo(f"group by them: {words}", err=True)
    return status


def _group_options(job: AskJob) -> list[str]:
    """Return what ``clew group`` needs to make the groups of the status."""
    if job.project is not None:
        return ["-p", str(job.project)]
    texts = {
        "--answers": job.answers,
        "--n-groups": job.n_groups,
        "--ids": job.ids,
        "--media": job.media,
        "--features": None if job.model == "auto" else job.model,
        "--id-column": job.id_column,
        "--columns": _listed(job.columns),
        "--drop": _listed(job.drop),
        "--sep": "tab" if job.sep == "\t" else job.sep,
        "--decimal": job.decimal,
        "--encoding": job.encoding,
        "--seed": job.seed or None,
    }
    options = [part for name, at in texts.items() if at is not None for part in (name, str(at))]
    for name, switch in (("distances", job.distances), ("header", job.header)):
        options += [f"--{'' if switch else 'no-'}{name}"] if switch is not None else []
    return [str(job.items), *options]


def _listed(names: list[str] | None) -> str | None:
    if names is None:
        return None
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(names)
    return line.getvalue()


NAMES = ("SIGINT", "SIGTERM", "SIGHUP")


class Stopped(BaseException):
    """A signal asked the program to end."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


@contextmanager
def signals_raised() -> Iterator[list[int]]:
    """Raise `Stopped` at the first signal that asks the program to end; ignore further ones."""
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
