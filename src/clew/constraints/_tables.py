"""The answers of one kind as four arrays of equal length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from clew.answers import N_ROWS, Kind

__all__ = ["AnswerTable"]


@dataclass(frozen=True, slots=True, eq=False)
class AnswerTable:
    """The answers of one kind, in order of arrival; the arrays are made read-only.

    Parameters
    ----------
    kind : {"pair", "triplet", "odd_one_out"}
        What the answers answer.
    rows : ndarray of shape (n, 2) or (n, 3), int64
        Which rows each question was about.
    answers : ndarray of shape (n,), int64
        Codes of `clew.answers`.
    weights : ndarray of shape (n,), float64
        How far to believe each answer.
    annotators : ndarray of shape (n,), int64
        Positions in a tuple of names that the owner of the table keeps.
    """

    kind: Kind
    rows: NDArray[np.int64]
    answers: NDArray[np.int64]
    weights: NDArray[np.float64]
    annotators: NDArray[np.int64]

    def __post_init__(self) -> None:
        for array in (self.rows, self.answers, self.weights, self.annotators):
            array.flags.writeable = False

    def __reduce__(self) -> tuple[object, ...]:
        # Through the constructor: NumPy forgets the read-only flag when it pickles or copies.
        return AnswerTable, (self.kind, self.rows, self.answers, self.weights, self.annotators)

    def __len__(self) -> int:
        return len(self.answers)

    @classmethod
    def empty(cls, kind: Kind) -> AnswerTable:
        """Make a table of no answers."""
        none = np.zeros(0, dtype=np.int64)
        return cls(kind, none.reshape(0, N_ROWS[kind]), none, np.zeros(0), none)

    @classmethod
    def stacked(cls, kind: Kind, parts: Sequence[AnswerTable]) -> AnswerTable:
        """Put tables of one kind, with common codes of annotators, behind each other."""
        parts = [cls.empty(kind), *parts]
        return cls(
            kind,
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.answers for part in parts]),
            np.concatenate([part.weights for part in parts]),
            np.concatenate([part.annotators for part in parts]),
        )

    def take(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> AnswerTable:
        """Keep the answers under a mask or at positions."""
        return AnswerTable(
            self.kind,
            self.rows[which],
            self.answers[which],
            self.weights[which],
            self.annotators[which],
        )

    def renumbered(self, new_number: NDArray[np.int64]) -> AnswerTable:
        """Keep the answers whose rows all have a new number (not -1), under those numbers."""
        rows = new_number[self.rows]
        inside: NDArray[np.bool_] = np.all(rows >= 0, axis=1)
        kept = self.take(inside)
        return AnswerTable(
            self.kind, new_number[kept.rows], kept.answers, kept.weights, kept.annotators
        ).with_sorted_pairs()

    def with_sorted_pairs(self) -> AnswerTable:
        """Write each pair with the smaller row first; other kinds keep the order asked."""
        if self.kind != "pair":
            return self
        rows = np.sort(self.rows, axis=1)
        return AnswerTable(self.kind, rows, self.answers, self.weights, self.annotators)

    def in_row_order(self) -> AnswerTable:
        """Ask the same questions with rows in ascending order (of a triplet, its last two)."""
        if self.kind == "pair":
            return self.with_sorted_pairs()
        head = self.rows[:, :1] if self.kind == "triplet" else self.rows[:, :0]
        tail = self.rows[:, head.shape[1] :]
        order = np.argsort(tail, axis=1)
        rows = np.hstack([head, np.take_along_axis(tail, order, axis=1)])
        # Answers from 0 on are positions in `tail`.
        is_row = self.answers >= 0
        place = np.argmax(order == self.answers[:, None], axis=1)
        answers = np.where(is_row, place, self.answers)
        return AnswerTable(self.kind, rows, answers, self.weights, self.annotators)

    def with_weights(self, weights: NDArray[np.float64]) -> AnswerTable:
        """Change how far each answer is believed."""
        return AnswerTable(self.kind, self.rows, self.answers, weights, self.annotators)

    def with_annotators(self, annotators: NDArray[np.int64]) -> AnswerTable:
        """Change who gave each answer."""
        return AnswerTable(self.kind, self.rows, self.answers, self.weights, annotators)

    def joined(self, other: AnswerTable, names: NDArray[np.int64]) -> AnswerTable:
        """Append the answers of another table, whose annotator codes `names` translates."""
        theirs = other.with_annotators(names[other.annotators])
        return AnswerTable.stacked(self.kind, [self, theirs])

    def is_equal(
        self, other: AnswerTable, own_names: Sequence[str], other_names: Sequence[str]
    ) -> bool:
        """Whether both hold the same answers of the same people in the same order."""
        if len(self) != len(other):
            return False
        mine = np.asarray(own_names, dtype=object)[self.annotators]
        theirs = np.asarray(other_names, dtype=object)[other.annotators]
        return (
            np.array_equal(self.rows, other.rows)
            and np.array_equal(self.answers, other.answers)
            and np.array_equal(self.weights, other.weights)
            and bool((mine == theirs).all())
        )
