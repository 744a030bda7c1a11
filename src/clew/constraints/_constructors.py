"""The classmethods that build `Constraints` from lists, labels and answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray

from clew.answers import DIFFERENT, DONT_KNOW, SAME, Answer, Kind
from clew.constraints._columns import AnswerColumns
from clew.constraints._sampling import random_answers
from clew.constraints._tables import AnswerTable
from clew.constraints._validation import PARAMETER, as_integers, as_n_samples, as_table
from clew.exceptions import InvalidConstraintsError

__all__ = ["Constructors"]


class Constructors(AnswerColumns):
    """Ways to build `Constraints` besides its constructor."""

    __slots__ = ()

    @classmethod
    def from_pairs(
        cls,
        *,
        must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None,
        dont_know: ArrayLike | None = None,
        n_samples: int,
    ) -> Self:
        """Build from lists of pairs.

        Parameters
        ----------
        must_link, cannot_link, dont_know : array-like of shape (m, 2), default=None
            Pairs of rows said to be the same, said to differ, and of which nobody could say.
        n_samples : int
            Number of rows of the data.

        Returns
        -------
        Constraints
            With the must-links first, then the cannot-links, then the don't-knows.

        Raises
        ------
        InvalidConstraintsError
            If a row is out of range or paired with itself, or a list is not of shape (m, 2).

        Examples
        --------
        >>> from clew import Constraints
        >>> Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(0, 2)], n_samples=3)
        Constraints(n_samples=3, pairs=2, triplets=0, odd_one_out=0)
        """
        n_samples = as_n_samples(n_samples)
        parts = [
            as_table(_with_answers(rows, answer, 2, name), "pair", n_samples, name)
            for name, rows, answer in (
                ("must_link", must_link, SAME),
                ("cannot_link", cannot_link, DIFFERENT),
                ("dont_know", dont_know, DONT_KNOW),
            )
            if rows is not None
        ]
        return cls(n_samples, pairs=_stacked(parts))

    @classmethod
    def from_triplets(cls, rows: ArrayLike, answers: ArrayLike, *, n_samples: int) -> Self:
        """Build from triplets "is a more like b or more like c?".

        Parameters
        ----------
        rows : array-like of shape (n, 3)
            Rows a, b, c of each question.
        answers : array-like of shape (n,)
            0 if a is more like b, 1 if more like c, -2 don't-know.
        n_samples : int
            Number of rows of the data.

        Returns
        -------
        Constraints

        Raises
        ------
        InvalidConstraintsError
            If a row is out of range or repeated, an answer is unknown, or lengths differ.

        Examples
        --------
        >>> from clew import Constraints
        >>> Constraints.from_triplets([(0, 1, 2), (3, 1, 0)], [0, -2], n_samples=4)
        Constraints(n_samples=4, pairs=0, triplets=2, odd_one_out=0)
        """
        return cls(n_samples, triplets=_with_answers(rows, answers, 3, "rows"))

    @classmethod
    def from_odd_one_out(cls, rows: ArrayLike, answers: ArrayLike, *, n_samples: int) -> Self:
        """Build from questions "which of the three differs?".

        Parameters
        ----------
        rows : array-like of shape (n, 3)
            Rows i, j, k of each question.
        answers : array-like of shape (n,)
            Position 0, 1 or 2 of the odd one, -1 if none differs, -2 don't-know.
        n_samples : int
            Number of rows of the data.

        Returns
        -------
        Constraints

        Raises
        ------
        InvalidConstraintsError
            If a row is out of range or repeated, an answer is unknown, or lengths differ.

        Examples
        --------
        >>> from clew import Constraints
        >>> Constraints.from_odd_one_out([(0, 1, 2), (3, 1, 0)], [2, -1], n_samples=4)
        Constraints(n_samples=4, pairs=0, triplets=0, odd_one_out=2)
        """
        return cls(n_samples, odd_one_out=_with_answers(rows, answers, 3, "rows"))

    @classmethod
    def from_labels(
        cls,
        y: ArrayLike,
        n_pairs: int = 0,
        *,
        n_triplets: int = 0,
        n_odd_one_out: int = 0,
        error: float = 0.0,
        dont_know: float = 0.0,
        random_state: int | RandomState | None = None,
    ) -> Self:
        """Draw random answers that fit known labels, but for a share of wrong ones.

        Meant for experiments. Questions are drawn uniformly: pairs without repeats, triplets and
        odd-one-out questions independently of each other.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            The class of each row.
        n_pairs, n_triplets, n_odd_one_out : int, default=0
            How many answers of each kind.
        error : float, default=0.0
            Share of wrong answers. Exactly ``round(error * n)`` of the n answers of each kind
            that the labels settle are wrong. All pairs are settled. A wrong odd-one-out answer
            is one of the three others with equal chance.
        dont_know : float, default=0.0
            Share of those answers that are don't-know instead, with the same rounding;
            ``error + dont_know`` must not exceed 1.
        random_state : int, RandomState or None, default=None
            Seed of questions and of mistakes.

        Returns
        -------
        Constraints

        Raises
        ------
        InvalidParameterError
            If there are fewer than `n_pairs` pairs, a number is negative, or a share is outside
            [0, 1].
        InvalidDataError
            If `y` is not one-dimensional or holds NaN.

        Notes
        -----
        Labels do not settle a triplet whose b and c are both, or neither, in the class of a, nor
        an odd-one-out question about three classes: there the answer is don't-know.

        Takes time and memory linear in rows and answers, never in pairs of rows.

        Examples
        --------
        >>> from clew import Constraints
        >>> y = [0, 0, 0, 1, 1, 1]
        >>> c = Constraints.from_labels(y, 10, error=0.2, random_state=0)
        >>> same = [y[i] == y[j] for i, j in c.pairs]
        >>> int((c.is_must_link != same).sum())
        2
        """
        n_samples, tables = random_answers(
            y,
            {"pair": n_pairs, "triplet": n_triplets, "odd_one_out": n_odd_one_out},
            error=error,
            dont_know=dont_know,
            random_state=random_state,
        )
        return cls(n_samples, **{PARAMETER[kind]: table for kind, table in tables.items()})

    @classmethod
    def from_answers(cls, answers: Iterable[Answer], *, n_samples: int) -> Self:
        """Build from answers, each kind in order of arrival.

        Parameters
        ----------
        answers : iterable of Answer
            What people said.
        n_samples : int
            Number of rows of the data.

        Returns
        -------
        Constraints

        Raises
        ------
        InvalidConstraintsError
            If something is no `Answer`, or speaks of a row out of range.

        Examples
        --------
        >>> from clew import Answer, Constraints, Question
        >>> answers = [Answer(Question("pair", (3, 1)), 1, annotator="ann", weight=0.5)]
        >>> c = Constraints.from_answers(answers, n_samples=5)
        >>> c.pairs, c.pair_weights, c.annotators
        (array([[1, 3]]), array([0.5]), ('ann',))
        """
        by_kind: dict[Kind, list[Answer]] = {"pair": [], "triplet": [], "odd_one_out": []}
        for position, answer in enumerate(answers):
            if not isinstance(answer, Answer):
                raise InvalidConstraintsError(f"answers[{position}] is no Answer: {answer!r}")
            by_kind[answer.question.kind].append(answer)
        columns: dict[str, ArrayLike] = {}
        for kind, said in by_kind.items():
            columns[PARAMETER[kind]] = [(*a.question.rows, a.value) for a in said]
            columns[f"{kind}_weights"] = [a.weight for a in said]
            columns[f"{kind}_annotators"] = [a.annotator for a in said]
        return cls(n_samples, **columns)


def _stacked(tables: list[AnswerTable]) -> NDArray[np.int64] | None:
    parts = [np.column_stack([table.rows, table.answers]) for table in tables]
    return np.concatenate(parts) if parts else None


def _with_answers(rows: ArrayLike, answers: ArrayLike, n_rows: int, name: str) -> NDArray[np.int64]:
    """Put the answers, or the one answer of all, behind their rows."""
    array = as_integers(rows, name)
    if array.size == 0 and array.shape[-1] in (0, n_rows):
        array = array.reshape(0, n_rows)
    if array.ndim != 2 or array.shape[1] != n_rows:
        raise InvalidConstraintsError(f"{name} must have shape (n, {n_rows}), got {array.shape}")
    codes = as_integers(answers, "answers")
    if codes.ndim == 0:
        codes = np.full(len(array), codes)
    if codes.shape != (len(array),):
        raise InvalidConstraintsError(
            f"answers must have shape ({len(array)},), one for each question, got {codes.shape}"
        )
    return np.column_stack([array, codes])
