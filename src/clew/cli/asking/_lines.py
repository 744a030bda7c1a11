"""Questions and replies as lines, for scripts, pipes and simple terminals."""

from __future__ import annotations

import json
import sys
from typing import Any, Self

from clew.answers import Answer
from clew.cli._rows import Rows
from clew.cli._words import counted, printable
from clew.cli.asking._loop import AskProgress
from clew.cli.asking._replies import (
    BAD_COMMAND,
    HINTS,
    MOST_GROUPS,
    QUIT,
    Asked,
    Command,
    flags_of,
    keys_of,
    meaning,
)
from clew.cli.asking._status import status_facts, status_text
from clew.exceptions import ClewError
from clew.session import Session

ASK = {
    "pair": "same thing?",
    "odd_one_out": "which one is the odd one out?",
    "triplet": "which of 1 and 2 is more like the first?",
    "which_of": "to which of these groups does the first belong?",
    "confirm": "which of these do not belong to the group?",
}


class UnsavedError(ClewError, OSError):
    """An answer could not be written, and nobody can be asked to repeat it."""


class Lines:
    """Prints questions, and reads a word from each line of the standard input."""

    def __init__(self, items: Rows) -> None:
        self._items = items
        self._kind: Any = "pair"
        self._n_groups = MOST_GROUPS

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, asked: Asked, progress: AskProgress) -> None:
        """Print a question."""
        question = asked.question
        self._kind, self._n_groups = question.kind, asked.n_groups
        choices = ", ".join(key.label for key in keys_of(question.kind, asked.n_groups))
        first = 0 if question.kind == "triplet" or question.parts else 1
        hint = f"; {HINTS[question.kind]}" if question.kind in HINTS else ""
        flags = "not comparable, bad 1"
        lines = [
            f"question {asked.number}: {ASK[question.kind]} ({choices}{hint}; {flags}; undo, quit)"
        ]
        shown = asked.groups if question.parts else [(row,) for row in asked.shown]
        lines += [
            f"  {at or ' '} {', '.join(printable(self._items.ids[row]) for row in rows)}"
            for at, rows in enumerate(shown, start=first)
        ]
        self._print("\n".join(lines))

    def reply(self) -> str | Command:
        """Read lines until one is a reply; the end of the input means "quit"."""
        while line := sys.stdin.readline():
            reply = meaning(self._kind, line.strip("\r\n"), self._n_groups)
            if reply is not None and reply != BAD_COMMAND:
                return reply
            words = ", ".join(key.label for key in keys_of(self._kind, self._n_groups))
            if reply == BAD_COMMAND:
                self._print("say which item cannot be judged: bad 1")
            else:
                self._print(f"{line.strip()[:40]!r} is not an answer; use {words}, undo or quit")
        return QUIT

    def saved(self, asked: Asked, answer: Answer, progress: AskProgress) -> None:
        """Print that an answer is saved."""
        word = asked.word(answer.value)
        self._print(f"saved: {word} ({counted(progress.n_answers, 'answer')})")

    def undone(self, answer: Answer | None, progress: AskProgress) -> None:
        """Print that an answer was taken back."""
        if answer is None:
            self._print("there is no answer to take back")
        else:
            names = map(str, answer.question.ids or ())
            self._print(f"taken back: {' | '.join(map(printable, names))}")

    def refused(self, problem: str) -> None:
        """End, because nobody can be asked to repeat the answer."""
        raise UnsavedError(f"{problem}: the last answer is not saved")

    def status(self, session: Session, progress: AskProgress) -> Answer | None:
        """Print what is known."""
        self._print(status_text(session, progress))
        return None

    def open(self) -> None:
        """Do nothing: lines open no other program."""

    def say(self, sentence: str) -> None:
        """Print a sentence."""
        self._print(sentence)

    def wait(self) -> None:
        """Do nothing: scripts need no notice."""

    def _print(self, text: str) -> None:
        sys.stdout.write(f"{text}\n")
        sys.stdout.flush()


class JsonLines(Lines):
    """Prints objects of JSON, one a line, and reads a word from each line of the input."""

    def show(self, asked: Asked, progress: AskProgress) -> None:
        """Print a question."""
        question = asked.question
        self._kind, self._n_groups = question.kind, asked.n_groups
        names = [self._items.ids[row] for row in asked.shown]
        answers = [key.meaning for key in keys_of(question.kind, asked.n_groups)]
        flags = flags_of(question.kind, asked.n_groups)
        parts = {"parts": question.parts} if question.parts else {}
        self._dump(
            question=asked.number, kind=question.kind, items=names, **parts, answers=answers,
            flags=flags,
        )  # fmt: skip

    def saved(self, asked: Asked, answer: Answer, progress: AskProgress) -> None:
        """Print the id of the answer."""
        self._dump(saved=answer.id, answers=progress.n_answers)

    def undone(self, answer: Answer | None, progress: AskProgress) -> None:
        """Print the id of the answer that was taken back."""
        self._dump(revoked=answer and answer.id, answers=progress.n_answers)

    def status(self, session: Session, progress: AskProgress) -> Answer | None:
        """Print what is known."""
        self._dump(status=status_facts(session, progress))
        return None

    def say(self, sentence: str) -> None:
        """Print a sentence."""
        self._dump(message=sentence)

    def _dump(self, **fields: Any) -> None:
        self._print(json.dumps(fields, ensure_ascii=False), is_json=True)

    def _print(self, text: str, *, is_json: bool = False) -> None:
        super()._print(text if is_json else json.dumps({"message": text}, ensure_ascii=False))
