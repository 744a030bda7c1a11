"""The log of a strategy: answers and retractions, in order of arrival; nothing is ever removed."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from clew.answers import Answer, Question, question_key
from clew.exceptions import InvalidArgumentError, InvalidConstraintsError

__all__ = ["AnswerLog", "Key", "Retraction", "key_of"]

#: A kind and rows that do not depend on the order in which equal questions name their rows.
Key = tuple[str, tuple[int, ...]]


def key_of(question: Question) -> Key:
    """Return a key that is equal for equivalent questions.

    Parameters
    ----------
    question : Question
        Any question.

    Returns
    -------
    tuple of a kind and rows
        All rows are sorted, except the first one of a triplet.
    """
    return question_key(question.kind, question.rows)


@dataclass(frozen=True, slots=True)
class Retraction:
    """An entry of a log that takes an earlier answer back.

    Parameters
    ----------
    position : int
        Position of the answer in the log.
    """

    position: int


class AnswerLog:
    """Answers and retractions in order of arrival.

    Parameters
    ----------
    n_samples : int
        Number of rows that questions are about.

    Attributes
    ----------
    entries : list of Answer or Retraction
        All of them.
    """

    def __init__(self, n_samples: int) -> None:
        self.n_samples = n_samples
        self.entries: list[Answer | Retraction] = []
        self._held: dict[int, Answer] = {}

    @property
    def answers(self) -> list[Answer]:
        """The answers that were not taken back, in order of arrival."""
        return list(self._held.values())

    def append(self, answers: Iterable[Answer]) -> list[Answer]:
        """Append answers; all of them or, on an error, none.

        Parameters
        ----------
        answers : iterable of Answer
            The answers.

        Returns
        -------
        list of Answer
            The same.

        Raises
        ------
        InvalidArgumentError
            If an element is not an `Answer`.
        InvalidConstraintsError
            If a row is out of range.
        """
        new = list(answers)
        for answer in new:
            if not isinstance(answer, Answer):
                raise InvalidArgumentError(f"tell takes clew.Answer objects, got {answer!r}")
            if max(answer.question.rows) >= self.n_samples:
                raise InvalidConstraintsError(
                    f"{answer.question}: rows run from 0 to {self.n_samples - 1}"
                )
        for answer in new:
            self._held[len(self.entries)] = answer
            self.entries.append(answer)
        return new

    def retract_last(self, n: int) -> list[Answer]:
        """Take the last answers back that were not taken back before.

        Parameters
        ----------
        n : int
            Number of answers; all of them if there are fewer.

        Returns
        -------
        list of Answer
            The answers, the last one first.
        """
        return [self._retract(position) for position in list(self._held)[::-1][:n]]

    def retract(self, answer: Answer) -> None:
        """Take one answer back: the last one that equals the given one.

        Parameters
        ----------
        answer : Answer
            The answer.

        Raises
        ------
        InvalidArgumentError
            If the log does not hold it.
        """
        for position in list(self._held)[::-1]:
            if self._held[position] == answer:
                self._retract(position)
                return
        raise InvalidArgumentError(f"{answer} was not given, or was taken back before")

    def _retract(self, position: int) -> Answer:
        self.entries.append(Retraction(position))
        return self._held.pop(position)
