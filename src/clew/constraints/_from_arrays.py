"""Constructors of `Constraints` from arrays of rows and answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.answers import DIFFERENT, DONT_KNOW, N_ROWS, SAME
from clew.constraints._changes import ChangedAnswers
from clew.constraints._meanings import as_most_central, triplets_of_most_central
from clew.constraints._tables import AnswerTable, as_table, code_annotators
from clew.constraints._validation import (
    RowIds,
    as_annotators,
    as_array,
    as_origins,
    as_weights,
    converted,
    one_each,
    rows_and_ids,
)
from clew.exceptions import InvalidConstraintsError


class FromArrays(ChangedAnswers):
    """Constructors, one for each form of question."""

    __slots__ = ()

    @classmethod
    def from_pairs(
        cls,
        *,
        must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None,
        dont_know: ArrayLike | None = None,
        n_samples: int | None = None,
        ids: Iterable[object] | None = None,
        weights: ArrayLike | None = None,
        annotators: ArrayLike | None = None,
        origin: ArrayLike | None = None,
    ) -> Self:
        """Build from lists of pairs.

        Parameters
        ----------
        must_link, cannot_link, dont_know : array-like of shape (m, 2), default=None
            Pairs of rows answered "same", "different" and "don't know".
        n_samples : int, default=None
            Number of rows of the data. May be omitted if `ids` is given.
        ids : sequence, array, pandas Index or Series of length n_samples, default=None
            The id of each row of the data, in the order of the rows. If given, pairs hold ids
            instead of row numbers.
        weights : float or array-like of shape (n_pairs,), default=None
            Weight of each answer in [0, 1], in the order `must_link`, `cannot_link`, `dont_know`;
            one number is the weight of all. None is 1.
        annotators : str, int or array-like of shape (n_pairs,), default=None
            Who gave each answer, as names or integers; one value holds for all. None is "".
        origin : str or array-like of shape (n_pairs,), default=None
            How each question was chosen: "random", "asked" or "imported"; one word holds for all.
            None is "imported".

        Returns
        -------
        Constraints
            With the must-links first, then the cannot-links, then the don't-knows.

        Raises
        ------
        InvalidConstraintsError
            If a row is out of range or paired with itself, an id is unknown, or a list is not of
            shape (m, 2).

        Examples
        --------
        >>> from clew import Constraints
        >>> Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(0, 2)], n_samples=3)
        Constraints(n_samples=3, pairs=2, triplets=0, odd_one_out=0)

        By id, with all answers from Ann:

        >>> c = Constraints.from_pairs(
        ...     must_link=[("img_7", "img_9")], ids=["img_9", "img_8", "img_7"], annotators="ann"
        ... )
        >>> c.pairs, c.annotators
        (array([[0, 2]]), ('ann',))
        """
        n, row_ids = rows_and_ids(n_samples, ids)
        parts = [
            as_table(rows, "pair", n, row_ids, answers=answer, name=name)
            for name, rows, answer in (
                ("must_link", must_link, SAME),
                ("cannot_link", cannot_link, DIFFERENT),
                ("dont_know", dont_know, DONT_KNOW),
            )
        ]
        return cls._of_one_kind(
            AnswerTable.stacked("pair", parts), weights, annotators, origin, n, row_ids
        )

    @classmethod
    def from_triplets(
        cls,
        rows: ArrayLike,
        answers: ArrayLike,
        *,
        n_samples: int | None = None,
        ids: Iterable[object] | None = None,
        weights: ArrayLike | None = None,
        annotators: ArrayLike | None = None,
        origin: ArrayLike | None = None,
    ) -> Self:
        """Build from triplets "is a more like b or more like c?".

        Parameters
        ----------
        rows : array-like of shape (n, 3)
            Rows a, b, c of each question.
        answers : array-like of shape (n,)
            0 or "first" if a is more like b, 1 or "second" if more like c, -2 or "dont_know".
        n_samples : int, default=None
            Number of rows of the data. May be omitted if `ids` is given.
        ids : sequence, array, pandas Index or Series of length n_samples, default=None
            The id of each row of the data, in the order of the rows. If given, `rows` holds ids
            instead of row numbers.
        weights : float or array-like of shape (n,), default=None
            Weight of each answer in [0, 1]; one number is the weight of all. None is 1.
        annotators : str, int or array-like of shape (n,), default=None
            Who gave each answer, as names or integers; one value holds for all. None is "".
        origin : str or array-like of shape (n,), default=None
            How each question was chosen: "random", "asked" or "imported"; one word holds for all.
            None is "imported".

        Returns
        -------
        Constraints

        Raises
        ------
        InvalidConstraintsError
            If a row is out of range or repeated, an id or answer is unknown, or lengths differ.

        Examples
        --------
        >>> from clew import Constraints
        >>> Constraints.from_triplets([(0, 1, 2), (3, 1, 0)], ["first", "dont_know"], n_samples=4)
        Constraints(n_samples=4, pairs=0, triplets=2, odd_one_out=0)
        """
        n, row_ids = rows_and_ids(n_samples, ids)
        table = as_table(rows, "triplet", n, row_ids, answers=answers, name="rows")
        return cls._of_one_kind(table, weights, annotators, origin, n, row_ids)

    @classmethod
    def from_odd_one_out(
        cls,
        rows: ArrayLike,
        answers: ArrayLike,
        *,
        n_samples: int | None = None,
        ids: Iterable[object] | None = None,
        weights: ArrayLike | None = None,
        annotators: ArrayLike | None = None,
        origin: ArrayLike | None = None,
    ) -> Self:
        """Build from questions "which of the three differs?".

        Parameters
        ----------
        rows : array-like of shape (n, 3)
            Rows i, j, k of each question.
        answers : array-like of shape (n,)
            0, 1, 2, or "first", "second", "third": the position of the odd one; -1 or "all_alike"
            if all three are alike; -2 or "dont_know", also if all three differ.
        n_samples : int, default=None
            Number of rows of the data. May be omitted if `ids` is given.
        ids : sequence, array, pandas Index or Series of length n_samples, default=None
            The id of each row of the data, in the order of the rows. If given, `rows` holds ids
            instead of row numbers.
        weights : float or array-like of shape (n,), default=None
            Weight of each answer in [0, 1]; one number is the weight of all. None is 1.
        annotators : str, int or array-like of shape (n,), default=None
            Who gave each answer, as names or integers; one value holds for all. None is "".
        origin : str or array-like of shape (n,), default=None
            How each question was chosen: "random", "asked" or "imported"; one word holds for all.
            None is "imported".

        Returns
        -------
        Constraints

        Raises
        ------
        InvalidConstraintsError
            If a row is out of range or repeated, an id or answer is unknown, or lengths differ.

        Examples
        --------
        >>> from clew import Constraints
        >>> Constraints.from_odd_one_out(
        ...     [(0, 1, 2), (3, 1, 0)], ["third", "all_alike"], n_samples=4
        ... )
        Constraints(n_samples=4, pairs=0, triplets=0, odd_one_out=2)
        """
        n, row_ids = rows_and_ids(n_samples, ids)
        table = as_table(rows, "odd_one_out", n, row_ids, answers=answers, name="rows")
        return cls._of_one_kind(table, weights, annotators, origin, n, row_ids)

    @classmethod
    def from_most_central(
        cls,
        rows: ArrayLike,
        answers: ArrayLike,
        *,
        n_samples: int | None = None,
        ids: Iterable[object] | None = None,
        weights: ArrayLike | None = None,
        annotators: ArrayLike | None = None,
        origin: ArrayLike | None = None,
    ) -> Self:
        """Build from questions "which of the three is the most central one?".

        The other two rows are each more like the most central one than like each other, so an
        answer is stored as two triplets.

        Parameters
        ----------
        rows : array-like of shape (n, 3)
            Rows i, j, k of each question.
        answers : array-like of shape (n,)
            0, 1, 2, or "first", "second", "third": the position of the most central row; -2 or
            "dont_know".
        n_samples : int, default=None
            Number of rows of the data. May be omitted if `ids` is given.
        ids : sequence, array, pandas Index or Series of length n_samples, default=None
            The id of each row of the data, in the order of the rows. If given, `rows` holds ids
            instead of row numbers.
        weights : float or array-like of shape (n,), default=None
            Weight of each answer in [0, 1], which both triplets get; one number is the weight of
            all. None is 1.
        annotators : str, int or array-like of shape (n,), default=None
            Who gave each answer, as names or integers; one value holds for all. None is "".
        origin : str or array-like of shape (n,), default=None
            How each question was chosen: "random", "asked" or "imported"; one word holds for all.
            None is "imported".

        Returns
        -------
        Constraints
            Triplets, in the order of the questions. A don't-know is stored as three don't-knows,
            one for each row as the first of a triplet.

        Raises
        ------
        InvalidConstraintsError
            If a row is out of range or repeated, an id or answer is unknown, or lengths differ.

        Notes
        -----
        In terms of distances, the answer and its two triplets are the same statement: the distance
        between the other two rows is the largest of the three. Files have the kind "most_central"
        for such answers, and are written with triplets.

        Examples
        --------
        >>> from clew import Constraints
        >>> c = Constraints.from_most_central([(0, 1, 2)], ["second"], n_samples=3)
        >>> c.triplets, c.triplet_answers
        (array([[0, 1, 2],
               [2, 0, 1]]), array([0, 1]))
        """
        n, row_ids = rows_and_ids(n_samples, ids)
        table = as_table(rows, "odd_one_out", n, row_ids, answers=0, name="rows")
        given = one_each(as_array(answers, "answers"), len(table), "answers", "question").tolist()
        codes = converted(given, as_most_central, lambda at: f"answers[{at}]")
        table = table.with_answers(np.array(codes, dtype=np.int64))
        read = cls._of_one_kind(table, weights, annotators, origin, n, row_ids)
        triplets = triplets_of_most_central(read.tables[2])
        return read.with_tables(
            triplets if kind == "triplet" else AnswerTable.empty(kind) for kind in N_ROWS
        )

    @classmethod
    def from_ratings(
        cls,
        rows: ArrayLike,
        ratings: ArrayLike,
        *,
        different: float,
        same: float,
        n_samples: int | None = None,
        ids: Iterable[object] | None = None,
        annotators: ArrayLike | None = None,
        origin: ArrayLike | None = None,
    ) -> Self:
        """Build from questions "how alike are the two?", answered on a scale.

        A rating is stored as two answers about the pair, "same" and "different", whose weights add
        up to 1: a rating in the middle of the scale is half of each.

        Parameters
        ----------
        rows : array-like of shape (n, 2)
            Rows i and j of each question.
        ratings : array-like of shape (n,)
            The ratings, between `different` and `same`.
        different, same : float
            The ends of the scale: the rating of two rows that are as different as can be, and of
            two that are the same. `different` may be the larger one, if people rated differences.
        n_samples : int, default=None
            Number of rows of the data. May be omitted if `ids` is given.
        ids : sequence, array, pandas Index or Series of length n_samples, default=None
            The id of each row of the data, in the order of the rows. If given, `rows` holds ids
            instead of row numbers.
        annotators : str, int or array-like of shape (n,), default=None
            Who gave each rating, as names or integers; one value holds for all. None is "".
        origin : str or array-like of shape (n,), default=None
            How each question was chosen: "random", "asked" or "imported"; one word holds for all.
            None is "imported".

        Returns
        -------
        Constraints
            Pairs: the answers "same", then the answers "different". Answers of weight 0 are left
            out.

        Raises
        ------
        InvalidConstraintsError
            If a row is out of range or paired with itself, an id is unknown, a rating is outside
            the scale, both ends are the same number, or lengths differ.

        Notes
        -----
        `OrdinalEmbedding` learns degrees of likeness from these weights. Methods with hard
        constraints refuse a rating inside the scale, because its two answers contradict each other:
        for them, choose a threshold and use `from_pairs`.

        Examples
        --------
        >>> from clew import Constraints
        >>> c = Constraints.from_ratings([(0, 1), (1, 2)], [5, 2], different=1, same=5, n_samples=3)
        >>> c.pairs.tolist(), c.pair_answers, c.pair_weights
        ([[0, 1], [1, 2], [1, 2]], array([1, 1, 0]), array([1.  , 0.25, 0.75]))
        """
        n, row_ids = rows_and_ids(n_samples, ids)
        table = as_table(rows, "pair", n, row_ids, answers=SAME, name="rows")
        share = _shares(ratings, len(table), different, same)
        weights = np.concatenate([share, 1 - share])
        read = cls._of_one_kind(table, None, annotators, origin, n, row_ids)
        pairs = read.tables[0]
        opposite = pairs.with_answers(np.full(len(pairs), DIFFERENT))
        both = AnswerTable.stacked("pair", [pairs, opposite]).with_weights(weights)
        return read.with_tables((both.take(weights > 0), *read.tables[1:]))

    @classmethod
    def _of_one_kind(
        cls,
        table: AnswerTable,
        weights: ArrayLike | None,
        annotators: ArrayLike | None,
        origin: ArrayLike | None,
        n_samples: int,
        ids: RowIds | None,
    ) -> Self:
        """Build from the table of one kind, once the other columns are checked."""
        names, (codes,) = code_annotators([as_annotators(annotators, len(table), "annotators")])
        table = (
            table.with_weights(as_weights(weights, len(table), "weights"))
            .with_annotators(codes)
            .with_origins(as_origins(origin, len(table), "origin"))
        )
        pairs, triplets, odd_one_out = (
            table if kind == table.kind else AnswerTable.empty(kind) for kind in N_ROWS
        )
        return cls._from_tables(n_samples, (pairs, triplets, odd_one_out), names, ids)


def _shares(ratings: ArrayLike, n: int, different: float, same: float) -> NDArray[np.float64]:
    """Map ratings to [0, 1], where 1 is "same"."""
    if not np.isfinite([different, same]).all() or different == same:
        raise InvalidConstraintsError(
            f"different and same must be two different numbers, got {different!r} and {same!r}"
        )
    given = one_each(as_array(ratings, "ratings"), n, "ratings", "question")
    if given.dtype.kind not in "iuf":
        raise InvalidConstraintsError(f"ratings must be numbers, got an array of {given.dtype}")
    share = (given - different) / (same - different)
    inside = (share >= 0) & (share <= 1)  # False for NaN too
    if not inside.all():
        at = int(np.argmin(inside))
        raise InvalidConstraintsError(
            f"ratings must lie between different={different} and same={same}, but ratings[{at}] is "
            f"{given[at]}"
        )
    return np.asarray(share, dtype=np.float64)
