"""Who answers which question: each goes to as many people as wanted, and to nobody twice."""

from __future__ import annotations

from collections.abc import Sequence

from clew.answers import Answer, Question
from clew.exceptions import InvalidArgumentError, InvalidParameterError
from clew.questions._log import Key, key_of

__all__ = ["Queue", "meaning_of"]


class Queue:
    """The questions that were asked, who is asked each now, and who has answered it.

    Parameters
    ----------
    annotators : int, sequence of str or None
        Number of people who answer each question, or their names: then each question goes to all
        of them. None: one person, whoever asks first.

    Raises
    ------
    InvalidParameterError
        If `annotators` is none of these, or a name is repeated.
    """

    def __init__(self, annotators: object) -> None:
        self.names, self.n_wanted = _wanted(annotators)
        self.asked: dict[Key, Question] = {}
        self.given: dict[Key, dict[str, Answer]] = {}
        self._out: dict[str, dict[Key, None]] = {}

    def check(self, annotator: object) -> str:
        """Check the name of an annotator.

        Raises
        ------
        InvalidArgumentError
            If it is not a string, or not one of the names that were given.
        """
        if not isinstance(annotator, str):
            raise InvalidArgumentError(f"annotator must be a string, got {annotator!r}")
        if self.names and annotator not in self.names:
            raise InvalidArgumentError(
                f"there is no annotator {annotator!r}; the annotators of the session are "
                f"{', '.join(self.names)}"
            )
        return annotator

    def with_annotator(self, annotator: str) -> list[Question]:
        """Return the questions that an annotator was asked and has not answered, oldest first."""
        return [self.asked[key] for key in self._out.get(annotator, ())]

    def pending(self) -> list[Question]:
        """Return all questions that somebody was asked and nobody has answered yet."""
        out = {key for keys in self._out.values() for key in keys}
        return [self.asked[key] for key in self.asked if key in out and not self.given.get(key)]

    def is_out(self, key: Key) -> bool:
        """Return whether somebody was asked a question or has answered it."""
        return bool(self.given.get(key)) or any(key in out for out in self._out.values())

    def shared(self, annotator: str) -> list[Question]:
        """Return questions of others that this annotator is to answer too, oldest first."""
        if self.n_wanted == 1:
            return []
        people: dict[Key, set[str]] = {key: set(given) for key, given in self.given.items()}
        for name, keys in self._out.items():
            for key in keys:
                people.setdefault(key, set()).add(name)
        return [
            question
            for key, question in self.asked.items()
            if 0 < len(people.get(key, ())) < self.n_wanted and annotator not in people[key]
        ]

    def hand_out(self, question: Question, annotator: str) -> None:
        """Record that an annotator is asked a question."""
        key = key_of(question)
        self.asked[key] = question
        self._out.setdefault(annotator, {})[key] = None

    def take(self, answer: Answer) -> None:
        """Record an answer; close its question for its annotator, or for all if it has enough."""
        key = key_of(answer.question)
        self.asked.setdefault(key, answer.question)
        given = self.given.setdefault(key, {})
        given[answer.annotator] = answer
        self._out.get(answer.annotator, {}).pop(key, None)
        if len(given) >= self.n_wanted:
            for keys in self._out.values():
                keys.pop(key, None)

    def drop(self, answer: Answer) -> None:
        """Forget an answer that was taken back."""
        del self.given[key_of(answer.question)][answer.annotator]

    def hand_out_first(self, question: Question, annotator: str) -> None:
        """Let an annotator be asked this question before all others."""
        key = key_of(question)
        self._out[annotator] = {key: None} | self._out.get(annotator, {})

    def answer_of(self, question: Question, annotator: str) -> Answer | None:
        """Return the answer of an annotator to a question."""
        return self.given.get(key_of(question), {}).get(annotator)

    def people(self, names: Sequence[str]) -> tuple[str | None, ...]:
        """Return the annotators as whom an oracle answers; with (None,) the oracle chooses.

        Raises
        ------
        InvalidArgumentError
            If more people are to answer each question than the oracle has.
        """
        if self.names or self.n_wanted == 1:
            return self.names or (None,)
        if len(names) < self.n_wanted:
            raise InvalidArgumentError(
                f"{self.n_wanted} people answer each question, but the oracle has only "
                f"{len(names)} annotators"
            )
        return tuple(names[: self.n_wanted])

    def release(self, annotator: str) -> None:
        """Let questions that an annotator has not answered go to others."""
        for key in self._out.pop(annotator, {}):
            if not self.given.get(key) and not any(key in out for out in self._out.values()):
                del self.asked[key]


def meaning_of(answer: Answer) -> int:
    """Return the same number for answers that mean the same, in whatever order the rows are."""
    rows, kind, code = answer.question.rows, answer.question.kind, answer.value
    if code < 0 or kind == "pair":
        return code
    return rows[1 + code] if kind == "triplet" else rows[code]


def _wanted(annotators: object) -> tuple[tuple[str, ...], int]:
    if annotators is None:
        return (), 1
    if isinstance(annotators, int) and not isinstance(annotators, bool) and annotators > 0:
        return (), annotators
    if isinstance(annotators, list | tuple) and annotators:
        names = tuple(annotators)
        if all(isinstance(name, str) for name in names) and len(set(names)) == len(names):
            return names, len(names)
    raise InvalidParameterError(
        f"Session(annotators={annotators!r}): annotators must be the number of people who answer "
        "each question, their distinct names, or None"
    )
