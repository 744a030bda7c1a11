"""From the options of ``clew ask`` to the loop, and its last line."""

from __future__ import annotations

import os
import shlex
import sys
import warnings
from contextlib import suppress
from typing import Any

import click
from scipy.fft import dct

from clew.cli._errors import FAILED
from clew.cli._features import features_for
from clew.cli._inputs import Items
from clew.cli._outputs import check_writable
from clew.cli._progress import Words, counted
from clew.cli._rows import read_rows
from clew.cli.asking._job import AskJob
from clew.cli.asking._lines import JsonLines, Lines
from clew.cli.asking._loop import Loop, Screen, tell_entries
from clew.cli.asking._signals import Stopped, signals_raised
from clew.exceptions import ClewError, ClewWarning, InvalidDataError
from clew.questions import Guided
from clew.session import Session
from clew.store import AnswerFile

__all__ = ["NOTHING_LEFT", "run"]

NOTHING_LEFT = 3
KINDS = {"pair": "pair", "odd": "odd_one_out", "triplet": "triplet"}


def run(job: AskJob) -> int:
    """Ask, and return the exit status.

    Raises
    ------
    ClewError, OSError
        If an input is invalid, or the file of answers cannot be read or written.
    """
    words = Words(quiet=job.quiet or job.as_json, verbose=job.verbose)
    check_writable(job.answers)
    with signals_raised():
        try:
            items = read_rows(job, words)
            file = _file(job, items, words)
            session = _session(job, items, file, words)
        except Stopped as stopped:
            raise KeyboardInterrupt from stopped
        return _ask(job, items, file, session)


def _file(job: AskJob, items: Items, words: Words) -> AnswerFile:
    file = AnswerFile(job.answers, items.ids)
    if file.entries:
        words.say(f"{job.answers}: continues after {counted(len(file.standing), 'answer')}")
    for line in file.torn:
        words.say(f"{job.answers}, line {line}: was not written to its end, and is skipped")
    return file


def _session(job: AskJob, items: Items, file: AnswerFile, words: Words) -> Session:
    given: dict[str, Any] = {"distances": items.X}
    if not items.is_distances:
        if items.X.shape[1] == 0:
            raise InvalidDataError(f"{job.items}: no column can be used as a feature")
        strategy: Any = Guided()
        features = features_for(strategy, items.X, job.standardizes, is_scaled=items.is_scaled)
        # Principal components of texts differ in their standard deviations, so they look like
        # columns of different units. The orthogonal transform makes the deviations similar, and
        # leaves distances as they are.
        X = features.X if items.texts is None else dct(features.X, norm="ortho")
        given = {"X": X}
    with words.bar("Preparing the first question"), warnings.catch_warnings():
        warnings.simplefilter("ignore", ClewWarning)  # `read_rows` asks about distances
        session = Session(
            **given,
            ids=items.ids,
            n_clusters=job.n_clusters,
            kinds=[KINDS[kind] for kind in job.kinds],  # type: ignore[misc]
            random_state=job.seed,
            n_jobs=job.jobs,
        )
        tell_entries(session, file, file.entries)
    return session


def _ask(job: AskJob, items: Items, file: AnswerFile, session: Session) -> int:
    """Run the loop; whatever ends it, the last line says what is on disk."""
    status, why = 0, ""
    screen = _screen(job, items)
    loop = Loop(
        session, file, screen, annotator=job.annotator, n_wanted=job.n_questions, seed=job.seed
    )
    try:
        with screen:  # type: ignore[attr-defined]
            if loop.run():
                status, why = NOTHING_LEFT, "there is nothing left to ask; "
            elif loop.is_unsaved:
                status, why = FAILED, "the last answer is not saved; "
    except (Stopped, KeyboardInterrupt) as stopped:
        status = 128 + getattr(stopped, "signal", 2)
        why = "interrupted; "
    except BrokenPipeError:
        status, why = FAILED, "the reader of the output is gone; "
        _close_output()
    except (ClewError, OSError) as error:
        status, why = FAILED, f"{error}; "
    with suppress(OSError, Stopped):  # the terminal may be gone
        _last_line(job, loop, why)
    return status


def _screen(job: AskJob, items: Items) -> Screen:
    is_terminal = sys.stdin.isatty() and sys.stdout.isatty()
    if job.as_json:
        return JsonLines(items)
    if not is_terminal or os.environ.get("TERM", "dumb") == "dumb":
        return Lines(items)
    from clew.cli.asking._terminal import Terminal

    return Terminal(job, items)


def _last_line(job: AskJob, loop: Loop, why: str) -> None:
    """Say how many answers there are, and what to do next."""
    n = loop.progress.n_answers
    click.echo(f"clew: {why}{counted(n, 'answer')} in {job.answers}", err=True)
    if n and not (job.quiet or job.as_json):
        given = ["clew", "cluster", str(job.items), "--answers", str(job.answers)]
        click.echo(f"group by them: {shlex.join([*given, '--report', 'report.html'])}", err=True)


def _close_output() -> None:
    """Discard what is left in the buffer of the standard output."""
    with suppress(OSError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
