"""Questions, replies and status as lines, for scripts, pipes and simple terminals."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from clew.answers import Answer
from clew.cli._groups import about_numbers
from clew.cli._rows import Rows
from clew.cli._words import counted, printable, sizes_words, wrong_with
from clew.cli.asking._loop import EARLY, AskProgress
from clew.cli.asking._replies import (
    BAD_COMMAND,
    HELP,
    HINTS,
    MOST_GROUPS,
    QUIT,
    Asked,
    Command,
    flags_of,
    keys_of,
    meaning,
)
from clew.exceptions import ClewError
from clew.session import Session, SessionResult

#: Most doubtful answers that are listed, and most groups whose sizes are shown.
MOST_DOUBTS, MOST_SIZES = 9, 12
#: What may be said of items in place of an answer.
FLAGS = "not comparable, bad 1"


class Status(NamedTuple):
    """What is known, as lines of two columns and a list of doubtful answers."""

    lines: list[tuple[str, str]]
    doubts: list[tuple[str, str]]
    """Each an answer and why it looks wrong."""
    result: SessionResult


def status_of(session: Session, progress: AskProgress) -> Status:
    """Describe what is known."""
    result = session.result()
    sizes = np.sort(np.bincount(result.labels_[result.labels_ >= 0]))[::-1].tolist()
    shown = ", ".join(map(str, sizes[:MOST_SIZES])) + (", …" if len(sizes) > MOST_SIZES else "")
    shown = sizes_words(sizes, "item") if sizes[0] == sizes[-1] else f"{shown} items"
    pace = "" if progress.pace is None else f", {progress.pace:.0f} s each"
    sure = result.confidence_
    unsure = counted(int((sure < 0.5).sum()), "item")
    found = []
    for person in result.annotators_:
        if person.agreement_with_self is not None:
            who = f"{printable(person.name)} with oneself" if person.name else "with oneself"
            repeats = counted(person.n_repeats, "repeated question")
            found.append((who, f"{person.agreement_with_self.value:.0%}, from {repeats}"))
    lines = [
        ("answers", str(progress.n_answers) + pace),
        ("groups", f"{len(sizes)}, of {shown}"),
        *([("numbers", numbers)] if (numbers := _numbers(result)) else []),
        ("how sure", f"{sure.mean():.0%} on average; {unsure} below 50%"),
        ("agreement", _agreement(result)),
        *found,
        *_left_out(session, result),
        ("left", "too early to say" if result.remaining_ is None else f"{result.remaining_}"),
        ("advice", str(result.stop_)),
    ]
    doubts = [
        (_answered(doubt), f"{wrong_with(doubt.p_wrong)}: {printable(doubt.reason)}")
        for doubt in result.doubtful_[:MOST_DOUBTS]
    ]
    return Status(lines, doubts, result)


def too_early(progress: AskProgress) -> str:
    """Say when the status can be shown; empty if it can."""
    left = EARLY - progress.n_answers
    return f"after {EARLY} answers you see here how sure the groups are: {left} to go" * (left > 0)


def status_text(session: Session, progress: AskProgress) -> str:
    """Return what is known as text."""
    if early := too_early(progress):
        return early
    status = status_of(session, progress)
    lines = [f"{name}: {value}" for name, value in status.lines]
    lines += [f"looks wrong: {answer}; {why}" for answer, why in status.doubts]
    return "\n".join(lines)


def status_facts(session: Session, progress: AskProgress) -> dict[str, Any]:
    """Return what is known for ``--json``."""
    if too_early(progress):
        return {"answers": progress.n_answers}
    result = session.result()
    quality, remaining = result.quality_, result.remaining_
    return {
        "answers": progress.n_answers,
        "sizes": np.bincount(result.labels_[result.labels_ >= 0]).tolist(),
        "set_aside": [name for name, at in zip(result.ids, result.labels_, strict=True) if at < 0],
        "bad_items": bad_items(session),
        "annotators": result.to_dict()["annotators"],
        "alternatives": [
            {"groups": other.n_clusters, "violated": other.n_violated}
            for other in result.alternatives_
        ],
        "violated": result.n_violated_,
        "confidence": round(float(result.confidence_.mean()), 4),
        "jaccard": quality and [round(value, 4) for value in quality.jaccard],
        "remaining": remaining and list(remaining),
        "stop": bool(result.stop_),
        "reason": result.stop_.reason,
        "doubtful": [
            {
                "items": list(doubt.answer.question.ids or ()),
                "annotator": doubt.answer.annotator,
                "p_wrong": round(doubt.p_wrong, 4),
                "reason": doubt.reason,
            }
            for doubt in result.doubtful_
        ],
    }


def _numbers(result: SessionResult) -> str:
    """Compare the number of groups with its alternatives; empty if there are none."""
    if result.n_violated_ is None:
        return ""
    violated = {int(result.labels_.max()) + 1: result.n_violated_}
    violated |= {other.n_clusters: other.n_violated for other in result.alternatives_}
    return about_numbers(violated, result.n_clusters_probabilities_)


def _agreement(result: SessionResult) -> str:
    if result.quality_ is None:
        return "not known yet: it is estimated from questions asked at random"
    jaccard = result.quality_.jaccard
    checks = counted(result.quality_.n_checks, "random question")
    return f"{jaccard.value:.0%} ({jaccard.low:.0%} to {jaccard.high:.0%}), from {checks}"


def bad_items(session: Session) -> list[str]:
    """Return the items of which somebody has said that they cannot be judged."""
    return list(dict.fromkeys(str(name) for answer in session.answers for name in answer.bad))


def _left_out(session: Session, result: SessionResult) -> list[tuple[str, str]]:
    """Name what nobody is asked about any more."""
    lines = []
    if bad := bad_items(session):
        lines.append(("bad items", f"{', '.join(map(printable, bad))}: nobody is asked about them"))
    if n := int((result.labels_ < 0).sum()):
        lines.append(("set aside", f"{counted(n, 'item')}, in no group"))
    return lines


def _answered(doubt: Any) -> str:
    answer = doubt.answer
    names = [printable(str(name)) for name in answer.question.ids or answer.question.rows]
    words = {1: "same", 0: "different"} if answer.question.kind == "pair" else {-1: "all alike"}
    word = words.get(answer.value)
    if word is None:
        at = answer.value + (answer.question.kind == "triplet")
        is_odd = answer.question.kind == "odd_one_out"
        word = f"{names[at]} is the odd one" if is_odd else f"the first is more like {names[at]}"
    who = f" ({answer.annotator})" if answer.annotator else ""
    return f"{' | '.join(names)} → {word}{who}"


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
        lines = [
            f"question {asked.number}: {ASK[question.kind]} ({choices}{hint}; {FLAGS}; undo, quit)"
        ]
        shown = asked.groups if question.parts else [(row,) for row in asked.shown]
        for at, rows in enumerate(shown):
            lines.append(f"  {at + first or ' '} {self._named(rows)}")
            if not question.parts and asked.is_with_examples(at):
                lines.append(f"    its group: {self._named(asked.examples)}")
        self._print("\n".join(lines))

    def _named(self, rows: Sequence[int]) -> str:
        return " | ".join(printable(self._items.line(row)) for row in rows)

    def reply(self) -> str | Command:
        """Read lines until one is a reply; the end of the input means "quit"."""
        while line := sys.stdin.readline():
            reply = meaning(self._kind, line.strip("\r\n"), self._n_groups)
            if reply is not None and reply not in (BAD_COMMAND, HELP):
                return reply
            keys = ", ".join(key.label for key in keys_of(self._kind, self._n_groups))
            words = f"{keys}, {FLAGS}; also undo, status, quit"
            if reply == BAD_COMMAND:
                self._print("say which item cannot be judged: bad 1")
            elif reply == HELP:
                self._print(f"answers: {words}")
            else:
                self._print(f"{line.strip()[:40]!r} is not an answer; answers: {words}")
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

    def status(self, session: Session, progress: AskProgress) -> Answer | Command | None:
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
        parts: dict[str, Any] = {"parts": question.parts} if question.parts else {}
        if asked.examples:
            first = str(self._items.ids[question.rows[0]])
            parts["examples"] = {first: [str(self._items.ids[row]) for row in asked.examples]}
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

    def status(self, session: Session, progress: AskProgress) -> Answer | Command | None:
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
