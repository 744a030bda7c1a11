"""The class `Constraints`: validated, immutable answers about the rows of a data set."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from types import EllipsisType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray

from clew._validation import check_matrix
from clew.answers import (
    DIFFERENT,
    DONT_KNOW,
    N_ROWS,
    ORIGINS,
    SAME,
    Answer,
    Kind,
    Question,
    as_table_answers,
)
from clew.constraints._closure import Closure, Conflict, close, find_conflicts
from clew.constraints._files import (
    FilePath,
    Layout,
    read_csv,
    read_frame,
    read_jsonl,
    write_csv,
    write_jsonl,
)
from clew.constraints._from_labels import draw_answers
from clew.constraints._ids import RowIds, rows_and_ids
from clew.constraints._meanings import as_most_central, implied_pairs, triplets_of_most_central
from clew.constraints._records import column_names, records
from clew.constraints._rules import group_judgments, judgments_of, weight_of_rule
from clew.constraints._tables import (
    PARAMETER,
    AnswerColumns,
    AnswerTable,
    as_table,
    code_annotators,
)
from clew.constraints._validation import (
    as_annotators,
    as_array,
    as_integers,
    as_origins,
    as_weights,
    converted,
)
from clew.exceptions import InvalidConstraintsError, MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Constraints"]

PLURAL = {"pair": "pairs", "triplet": "triplets", "odd_one_out": "odd-one-out answers"}


class Constraints(AnswerColumns):
    """People's answers about the rows of a data set: pairs, triplets and odd-one-out answers.

    Immutable: methods return new objects, and arrays are read-only. Answers of one kind keep
    their order. Repeated and contradicting answers are kept, because each is evidence;
    `conflicts` lists contradictions. Don't-know is an answer of its own.

    Parameters
    ----------
    n_samples : int, default=None
        Number of rows of the data. `fit` compares it with the data. May be omitted if `ids` is
        given.
    pairs : array-like of shape (n_pairs, 3), default=None
        Rows i and j and the answer: 1 or "same", 0 or "different", -2 or "dont_know". (i, j) and
        (j, i) are one pair; the smaller row is stored first.
    triplets : array-like of shape (n_triplets, 4), default=None
        Rows a, b, c and the answer: 0 or "first" if a is more like b than like c, 1 or "second"
        if more like c, -2 or "dont_know".
    odd_one_out : array-like of shape (n_odd_one_out, 4), default=None
        Rows i, j, k and the answer: the position 0, 1 or 2 of the odd one, or "first", "second"
        or "third"; -1 or "all_alike" if all three are alike; -2 or "dont_know".
    pair_weights, triplet_weights, odd_one_out_weights : array-like of float, default=None
        Weight of each answer, in [0, 1]; one number is the weight of all. None is 1. Answers of
        weight 0 are kept, and ignored by all estimators.
    pair_annotators, triplet_annotators, odd_one_out_annotators : array-like, default=None
        Who gave each answer, as integers or names; one value holds for all answers. Stored as
        positions in `annotators`, which is sorted (integers by value). None is "".
    pair_origins, triplet_origins, odd_one_out_origins : array-like of str, default=None
        How each question was chosen: "random" (its rows were drawn at random), "asked" (a strategy
        chose it) or "imported" (unknown); one word holds for all answers. None is "imported".
    ids : sequence, array, pandas Index or Series of length n_samples, default=None
        The id of each row of the data, in the order of the rows: distinct strings or integers.
        If given, `pairs`, `triplets` and `odd_one_out` hold ids instead of row numbers.

    Attributes
    ----------
    n_samples : int
        Number of rows of the data.
    ids : tuple of hashable, or None
        The id of each row, if known. The arrays below hold row numbers in either case.
    tables : tuple of three AnswerTable
        All answers as columns: pairs, triplets and odd-one-out answers.
    pairs, pair_answers, pair_weights, pair_annotators, pair_origins : ndarray
        Shapes (n_pairs, 2), and (n_pairs,) for the others.
    triplets, triplet_answers, triplet_weights, triplet_annotators, triplet_origins : ndarray
        Shapes (n_triplets, 3), and (n_triplets,) for the others.
    odd_one_out, odd_one_out_answers, odd_one_out_weights : ndarray
        Shapes (n_odd_one_out, 3), and (n_odd_one_out,) for the others.
    odd_one_out_annotators, odd_one_out_origins : ndarray of shape (n_odd_one_out,)
        As for pairs.
    annotators : tuple of str
        Names of the annotators, by code.
    must_link, cannot_link : ndarray of shape (m, 2)
        The pairs answered "same", and the pairs answered "different".
    is_must_link, is_cannot_link, is_dont_know : ndarray of shape (n_pairs,), bool
        Masks over `pairs`.

    Raises
    ------
    InvalidConstraintsError
        If a row is out of range or repeated within one answer, an answer is unknown, a weight is
        outside [0, 1], an origin is unknown, an array has the wrong shape, or an id is unknown,
        missing or repeated.
        The message names the answer.

    Notes
    -----
    Time and memory are linear in the number of answers.

    `closure`, `conflicts` and `clew.metrics.n_violated` count answers of any weight, 0 included;
    ``c.select(pairs=c.pair_weights > 0)`` removes pairs of weight 0.

    Examples
    --------
    >>> from clew import Constraints
    >>> c = Constraints(10, pairs=[(0, 1, 1), (5, 2, 0), (3, 4, -2)], pair_annotators=[7, 8, 7])
    >>> c
    Constraints(n_samples=10, pairs=3, triplets=0, odd_one_out=0)
    >>> c.cannot_link
    array([[2, 5]])
    >>> c.annotators
    ('7', '8')
    """

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
    ) -> Constraints:
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
    ) -> Constraints:
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
    ) -> Constraints:
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
    ) -> Constraints:
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
        given = _one_each(answers, len(table), "answers").tolist()
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
    ) -> Constraints:
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
    def from_answers(
        cls,
        answers: Iterable[Answer],
        *,
        n_samples: int | None = None,
        ids: Iterable[object] | None = None,
    ) -> Constraints:
        """Build from answers, each kind in order of arrival.

        Parameters
        ----------
        answers : iterable of Answer
            The answers. Those that are ignored but that a question cannot be answered
            (`NOT_COMPARABLE`, `BAD_ITEM`) are left out; those to questions of other kinds become
            the pairs that they imply. If `ids` is given, `Question.ids` decide which rows a
            question is about; without either, its row numbers do.
        n_samples : int, default=None
            Number of rows of the data. May be omitted if `ids` is given.
        ids : sequence, array, pandas Index or Series of length n_samples, default=None
            The id of each row of the data, kept as `Constraints.ids`.

        Returns
        -------
        Constraints

        Raises
        ------
        InvalidConstraintsError
            If an element is not an `Answer`, an id is unknown, or a row is out of range.

        Examples
        --------
        >>> from clew import Answer, Constraints, Question
        >>> answers = [Answer(Question("pair", (3, 1)), 1, annotator="ann", weight=0.5)]
        >>> c = Constraints.from_answers(answers, n_samples=5)
        >>> c.pairs, c.pair_weights, c.annotators
        (array([[1, 3]]), array([0.5]), ('ann',))
        """
        n, row_ids = rows_and_ids(n_samples, ids)
        by_kind: dict[Kind, list[tuple[Answer, tuple[int, ...]]]] = {kind: [] for kind in N_ROWS}
        for position, answer in enumerate(answers):
            if not isinstance(answer, Answer):
                raise InvalidConstraintsError(
                    f"answers[{position}] must be a clew.Answer, got {answer!r}"
                )
            for one in as_table_answers([answer]):
                rows = _rows(one.question, row_ids, f"answers[{position}]")
                by_kind[one.question.kind].append((one, rows))
        columns: dict[str, Any] = {}
        for kind, given in by_kind.items():
            columns[PARAMETER[kind]] = [(*rows, a.value) for a, rows in given]
            columns[f"{kind}_weights"] = [a.weight for a, _ in given]
            columns[f"{kind}_annotators"] = [a.annotator for a, _ in given]
            columns[f"{kind}_origins"] = [a.origin for a, _ in given]
        c = cls(n, **columns)
        return cls._from_tables(n, c.tables, c.annotators, row_ids)

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
        ids: Iterable[object] | None = None,
        random_state: int | RandomState | None = None,
    ) -> Constraints:
        """Simulate answers from known labels, with a given share of errors.

        Meant for experiments. Questions are drawn uniformly: pairs without replacement, triplets
        and odd-one-out questions independently of each other.

        Parameters
        ----------
        y : array-like of shape (n_samples,)
            The class of each row. The number -1 marks a row without a label, which is never drawn.
        n_pairs, n_triplets, n_odd_one_out : int, default=0
            Number of answers of each kind.
        error : float, default=0.0
            Share of wrong answers: exactly ``round(error * n)`` of the n answers of each kind whose
            true answer is not don't-know. A wrong odd-one-out answer is any of the three others
            with equal probability.
        dont_know : float, default=0.0
            Share of those answers that become don't-know, rounded likewise; ``error + dont_know``
            must not exceed 1.
        ids : sequence, array, pandas Index or Series of length n_samples, default=None
            The id of each row, kept as `Constraints.ids`.
        random_state : int, RandomState or None, default=None
            Seed of the questions and of the errors.

        Returns
        -------
        Constraints
            With the origin "random".

        Raises
        ------
        InvalidParameterError
            If there are fewer than `n_pairs` pairs of labeled rows, a number is negative, or a
            share is outside [0, 1].
        InvalidDataError
            If `y` is not one-dimensional or holds NaN.

        Notes
        -----
        The true answer is don't-know if the labels do not determine one: for a triplet if both or
        neither of b and c are in the class of a, for an odd-one-out question about three classes.

        Time and memory are linear in the numbers of rows and answers.

        Examples
        --------
        >>> from clew import Constraints
        >>> y = [0, 0, 0, 1, 1, 1]
        >>> c = Constraints.from_labels(y, 10, error=0.2, random_state=0)
        >>> same = [y[i] == y[j] for i, j in c.pairs]
        >>> int((c.is_must_link != same).sum())
        2
        """
        columns = draw_answers(
            y,
            {"pair": n_pairs, "triplet": n_triplets, "odd_one_out": n_odd_one_out},
            error,
            dont_know,
            random_state,
        )
        origins = dict.fromkeys(
            ("pair_origins", "triplet_origins", "odd_one_out_origins"), "random"
        )
        return cls(np.shape(y)[0], **columns, **origins).with_ids(ids)

    @classmethod
    def from_groups(
        cls,
        labels: ArrayLike,
        X: ArrayLike | None = None,
        *,
        annotator: str = "",
        ids: Iterable[object] | None = None,
        random_state: int | RandomState | None = None,
    ) -> Constraints:
        """Read an earlier grouping as the answers of an annotator.

        The grouping may be folders, a column of a table, a rough sort by hand, or the clusters of
        another program; it may have mistakes, which other answers repair.

        Parameters
        ----------
        labels : array-like of shape (n_samples,)
            The group of each row. The number -1 marks a row in no group.
        X : array-like of shape (n_samples, n_features), default=None
            Features. Rows of a group are then connected to near ones, and a group that is really
            two is repaired by fewer answers.
        annotator : str, default=""
            Name of the annotator: another one than people who answer, because each has an error
            rate.
        ids : sequence, array, pandas Index or Series of length n_samples, default=None
            The id of each row, kept as `Constraints.ids`.
        random_state : int, RandomState or None, default=None
            Seed of the rows by which two groups are compared.

        Returns
        -------
        Constraints
            Pairs. The rows of a group are connected by a tree of must-links, n - 1 for n rows; two
            groups by one cannot-link, or if there are more than 40 groups, each with 40 others.

        Raises
        ------
        InvalidDataError
            If `labels` are not one-dimensional, or `X` does not fit them.

        Notes
        -----
        Time O(n log n) and more for many features, memory O(n).

        Examples
        --------
        >>> from clew import Constraints
        >>> c = Constraints.from_groups(["cat", "cat", "dog", "cat"], annotator="folders")
        >>> c.must_link.tolist(), len(c.cannot_link)
        ([[0, 1], [1, 3]], 1)
        """
        found = group_judgments(labels, X, random_state)
        return cls(
            len(np.asarray(labels)),
            pairs=np.column_stack([found.rows, found.said]),
            pair_annotators=[annotator] * len(found.rows),
        ).with_ids(ids)

    @classmethod
    def _of_one_kind(
        cls,
        table: AnswerTable,
        weights: ArrayLike | None,
        annotators: ArrayLike | None,
        origin: ArrayLike | None,
        n_samples: int,
        ids: RowIds | None,
    ) -> Constraints:
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

    @classmethod
    def read_csv(
        cls,
        path: FilePath,
        *,
        n_samples: int | None = None,
        ids: Iterable[object] | None = None,
        columns: Sequence[str] | None = None,
        answer: str | None = None,
        annotator: str | None = None,
        kind: str | None = None,
    ) -> Constraints:
        r"""Read answers from a file in the form that `to_csv` writes, or that an experiment wrote.

        A further kind is most_central: which of i, j and k is the most central one (first, second,
        third, dont_know)? Such answers become triplets, see `Constraints.from_most_central`.

        The columns i, j and k hold row numbers; id_i, id_j and id_k hold ids. Columns may be in any
        order, in upper or lower case, and separated by commas, semicolons, tabs or bars. annotator,
        weight and origin may be omitted, or empty in some lines, and k may be omitted if there are
        only pairs. An index column that pandas wrote is skipped; other columns that are not read
        cause a warning.

        Columns of other names are recognized if there is one reading, such as
        ``trial,participant,left,middle,right,response``: then the answer may also be the item that
        was chosen, or the name of its column.

        Parameters
        ----------
        path : str or path-like
            A text file in UTF-8 or UTF-16, which may be compressed by gzip.
        n_samples : int, default=None
            Number of rows of the data. May be omitted if `ids` is given. If neither is given, the
            rows are those that the answers name: by id, in the order in which they are named, or by
            number, from 0 to the largest.
        ids : sequence, array, pandas Index or Series of length n_samples, default=None
            The id of each row of the data, in the order of the rows. If the file has both ids and
            row numbers, they must name the same rows.
        columns : sequence of str, default=None
            Columns of the two or three items of a question, if they have names of their own.
        answer, annotator : str, default=None
            Columns of the answer and of who answered, if they have names of their own.
        kind : {"pair", "triplet", "odd_one_out", "most_central"}, default=None
            What was asked, if no column says it. None: "pair" for two items, "odd_one_out" for
            three if the first of them is chosen anywhere.

        Returns
        -------
        Constraints
            The answers, with `ids` if given.

        Raises
        ------
        FileFormatError
            If the file is empty or a line is invalid: an unknown kind or answer, a row number out
            of range, an unknown id, a repeated row in one answer, k given for a pair, a weight
            outside [0, 1], or an unknown origin. The message has the file and the line. Also if
            columns have other names and there is more than one reading.
        InvalidConstraintsError
            If `n_samples` or `ids` is invalid; for example, if an id is repeated.
        OSError
            If the file cannot be read.

        Warns
        -----
        IgnoredColumnsWarning
            If there are columns that are not read.

        Notes
        -----
        Linear in time. Of a file with the columns of `to_csv`, at most 10,000 lines are held in
        memory as text.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from clew import Constraints
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "trials.csv"
        ...     _ = path.write_text("who,left,middle,right,response\nann,wren,owl,robin,owl\n")
        ...     c = Constraints.read_csv(path, annotator="who", kind="odd_one_out")
        >>> c.ids, c.odd_one_out_answers
        (('wren', 'owl', 'robin'), array([1]))
        """
        layout = Layout(columns, answer, annotator, kind)
        return cls._from_tables(*read_csv(path, n_samples, ids, layout))

    def to_csv(self, path: FilePath) -> None:
        """Write a CSV file: one answer a line, in ``kind,i,j,k,answer,annotator,weight``.

        Kinds are pair (same, different, dont_know), triplet (first, second, dont_know) and
        odd_one_out (first, second, third, all_alike, dont_know). k is empty for pairs. A column
        origin is added if the origin of any answer is not "imported". If the ids of the rows are
        known, the columns are id_i, id_j and id_k and hold ids. A name or id that a spreadsheet
        would interpret as a formula gets an apostrophe in front, which `read_csv` removes.

        Parameters
        ----------
        path : str or path-like
            Where to write, in UTF-8. The file appears, or replaces an older one, only once
            complete.

        Raises
        ------
        OSError
            If the file cannot be written; an older one stays as it was.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from clew import Constraints
        >>> c = Constraints.from_pairs(must_link=[("ann", "bob")], ids=["ann", "bob", "cy"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "constraints.csv"
        ...     c.to_csv(path)
        ...     print(path.read_text().strip())
        ...     Constraints.read_csv(path, ids=["ann", "bob", "cy"]) == c
        kind,id_i,id_j,id_k,answer,annotator,weight
        pair,ann,bob,,same,,1.0
        True
        """
        write_csv(path, self)

    @classmethod
    def read_jsonl(
        cls,
        path: FilePath,
        *,
        n_samples: int | None = None,
        ids: Iterable[object] | None = None,
    ) -> Constraints:
        """Read answers from a file in the form that `to_jsonl` or ``clew ask`` writes.

        Parameters
        ----------
        path : str or path-like
            A text file with one JSON object per line, encoded as for `read_csv`. An empty file
            holds no answers. In a log of ``clew ask``, answers that were taken back and lines that
            a crash has cut off are skipped.
        n_samples : int, default=None
            Number of rows of the data. May be omitted if `ids` is given.
        ids : sequence, array, pandas Index or Series of length n_samples, default=None
            The id of each row of the data, in the order of the rows. If neither is given, the rows
            are those that the answers name; see `read_csv`.

        Returns
        -------
        Constraints
            The answers, with `ids` if they are known.

        Raises
        ------
        FileFormatError
            If a line is invalid. The message has the file and the line.
        InvalidConstraintsError
            If `n_samples` or `ids` is invalid.
        OSError
            If the file cannot be read.

        Warns
        -----
        IgnoredColumnsWarning
            If there are fields that are not read.
        """
        return cls._from_tables(*read_jsonl(path, n_samples, ids))

    def to_jsonl(self, path: FilePath) -> None:
        """Write one line for each answer, a JSON object with the fields and words of `to_csv`.

        Parameters
        ----------
        path : str or path-like
            Where to write, in UTF-8. The file appears, or replaces an older one, only once
            complete.

        Raises
        ------
        OSError
            If the file cannot be written; an older one stays as it was.
        """
        write_jsonl(path, self)

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        n_samples: int | None = None,
        ids: Iterable[object] | None = None,
    ) -> Constraints:
        """Read answers from a data frame in the form that `to_frame` makes.

        Parameters
        ----------
        frame : pandas.DataFrame
            Its columns are those of `to_csv`; annotator, weight and origin may be omitted,
            and k or id_k if there are only pairs. Its index is not used.
        n_samples : int, default=None
            Number of rows of the data. May be omitted if `ids` is given.
        ids : sequence, array, pandas Index or Series of length n_samples, default=None
            The id of each row of the data, in the order of the rows: for example, the index of the
            data frame of the features. See `read_csv`.

        Returns
        -------
        Constraints
            The answers, with `ids` if given.

        Raises
        ------
        InvalidConstraintsError
            If a column is missing or a row is invalid; the message has its number.

        Warns
        -----
        IgnoredColumnsWarning
            If there are columns that are not read.

        Examples
        --------
        >>> import pandas as pd
        >>> from clew import Constraints
        >>> X = pd.DataFrame({"length": [5.1, 4.9, 7.0]}, index=["a", "b", "c"])
        >>> answers = pd.DataFrame(
        ...     {
        ...         "kind": "pair",
        ...         "id_i": ["a", "c"],
        ...         "id_j": ["b", "a"],
        ...         "answer": ["same", "different"],
        ...     }
        ... )
        >>> Constraints.from_frame(answers, ids=X.index).pairs
        array([[0, 1],
               [0, 2]])
        """
        return cls._from_tables(*read_frame(frame, n_samples, ids))

    def to_frame(self) -> pd.DataFrame:
        """Make a pandas data frame with one row per answer and the columns of `to_csv`.

        Returns
        -------
        pandas.DataFrame
            The column k, or id_k, is missing (NA) for pairs.

        Raises
        ------
        MissingDependencyError
            If pandas is not installed.

        Examples
        --------
        >>> from clew import Constraints
        >>> frame = Constraints.from_pairs(must_link=[(0, 1)], n_samples=3).to_frame()
        >>> frame.loc[0, "answer"]
        'same'
        >>> len(Constraints.from_frame(frame, n_samples=3))
        1
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingDependencyError(
                "to_frame needs pandas, which is not installed: pip install pandas"
            ) from error
        names = column_names(self)
        columns = list(zip(*records(self), strict=True)) or [()] * len(names)
        types = {"i": "int64", "j": "int64", "k": "Int64", "weight": "float64"}
        types |= dict.fromkeys(("id_i", "id_j", "id_k"), _type_of(self.ids or ()))
        return pd.DataFrame({
            name: pd.Series(values, dtype=types.get(name, "str"))
            for name, values in zip(names, columns, strict=True)
        })  # fmt: skip

    #: Answers have no order across kinds; without this, `__getitem__` would make them iterable.
    __iter__ = None

    def __getitem__(self, rows: ArrayLike | tuple[ArrayLike, EllipsisType]) -> Constraints:
        """Return ``subset(rows)``, which scikit-learn calls to split rows with their answers."""
        return self.subset(rows[0] if isinstance(rows, tuple) else rows)

    def select(
        self,
        *,
        pairs: ArrayLike | None = None,
        triplets: ArrayLike | None = None,
        odd_one_out: ArrayLike | None = None,
    ) -> Constraints:
        """Keep some of the answers.

        Parameters
        ----------
        pairs, triplets, odd_one_out : array-like of bool or of int, default=None
            The answers of each kind to keep: a mask, or positions, whose order and repeats are
            kept. None keeps all.

        Returns
        -------
        Constraints
            With the same `n_samples`, `ids` and `annotators`.

        Raises
        ------
        InvalidConstraintsError
            If a mask has the wrong length or a position is out of range.

        Examples
        --------
        >>> from clew import Constraints
        >>> c = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(0, 2)], n_samples=3)
        >>> c.select(pairs=c.is_cannot_link).pairs
        array([[0, 2]])
        """
        given = (pairs, triplets, odd_one_out)
        return self.with_tables(
            table
            if which is None
            else table.take(
                _as_positions(which, len(table), table.kind, f"the number of {PLURAL[table.kind]}")
            )
            for table, which in zip(self.tables, given, strict=True)
        )

    def subset(self, rows: ArrayLike) -> Constraints:
        """Keep the answers whose rows are all among some rows, and renumber these.

        Parameters
        ----------
        rows : array-like of shape (m,)
            Distinct row numbers, or a boolean mask of shape (n_samples,). Row ``rows[p]`` becomes
            row p, as in ``X[rows]``.

        Returns
        -------
        Constraints
            With ``n_samples = m``, the ids of these rows and the same `annotators`.

        Raises
        ------
        InvalidConstraintsError
            If a row is out of range or repeated, or a mask has the wrong length.

        Examples
        --------
        >>> from clew import Constraints
        >>> c = Constraints.from_pairs(must_link=[(0, 4)], cannot_link=[(1, 4)], n_samples=5)
        >>> c.subset([4, 0]).pairs
        array([[0, 1]])
        """
        index = _as_positions(rows, self.n_samples, "rows", "n_samples")
        if np.unique(index).size < index.size:
            values, counts = np.unique(index, return_counts=True)
            raise InvalidConstraintsError(
                f"rows must be distinct, but row {values[counts > 1][0]} is repeated"
            )
        new_number = np.full(self.n_samples, -1, dtype=np.int64)
        new_number[index] = np.arange(index.size)
        pairs, triplets, odd_one_out = (table.renumbered(new_number) for table in self.tables)
        ids = None if self._ids is None else self._ids.take(index)
        return self._from_tables(index.size, (pairs, triplets, odd_one_out), self.annotators, ids)

    def __add__(self, other: Constraints) -> Constraints:
        """Append the answers of `other`, which must be about the same rows.

        Parameters
        ----------
        other : Constraints
            Answers about the same data.

        Returns
        -------
        Constraints
            The answers of both, with the `ids` of whichever has ids.

        Raises
        ------
        InvalidConstraintsError
            If the numbers of rows differ, or both have ids and these differ.
        """
        if not isinstance(other, Constraints):
            return NotImplemented
        if self.n_samples != other.n_samples:
            raise InvalidConstraintsError(
                f"constraints about {self.n_samples} and about {other.n_samples} rows cannot be "
                "joined: they have to be about the same data"
            )
        if self._ids is not None and other._ids is not None and self._ids != other._ids:
            row = next(r for r in range(self.n_samples) if self.name_of(r) != other.name_of(r))
            raise InvalidConstraintsError(
                f"constraints about different items cannot be joined: row {row} has the id "
                f"{self.name_of(row)!r} in one and {other.name_of(row)!r} in the other"
            )
        code = {
            name: at for at, name in enumerate(dict.fromkeys(self.annotators + other.annotators))
        }
        codes = np.array([code[name] for name in other.annotators], dtype=np.int64)
        pairs, triplets, odd_one_out = (
            AnswerTable.stacked(mine.kind, [mine, theirs.with_annotators(codes[theirs.annotators])])
            for mine, theirs in zip(self.tables, other.tables, strict=True)
        )
        ids = other._ids if self._ids is None else self._ids
        return self._from_tables(self.n_samples, (pairs, triplets, odd_one_out), tuple(code), ids)

    def as_pairs(self) -> Constraints:
        """Convert answers about three rows to the pairs that they imply.

        "a is more like b than like c" implies that a and b are the same, and a and c different. "k
        is the odd one" implies a must-link of the other two, and cannot-links of k with both. "None
        differs" implies that all three are the same. A don't-know implies no pair.

        Returns
        -------
        Constraints
            Pairs only: the given ones, then those implied by triplets, then by odd-one-out
            answers, each with the weight, the annotator and the origin of its answer.

        Notes
        -----
        The pairs are right if people answer by groups. Answers that compare distances within one
        group become wrong pairs.

        Examples
        --------
        >>> from clew import Constraints
        >>> c = Constraints.from_triplets([(0, 1, 2)], [0], n_samples=3).as_pairs()
        >>> c.must_link, c.cannot_link
        (array([[0, 1]]), array([[0, 2]]))
        """
        return self.with_tables(
            (
                implied_pairs(self.tables),
                AnswerTable.empty("triplet"),
                AnswerTable.empty("odd_one_out"),
            )
        )

    def with_weights(
        self,
        *,
        pair_weights: ArrayLike | None = None,
        triplet_weights: ArrayLike | None = None,
        odd_one_out_weights: ArrayLike | None = None,
    ) -> Constraints:
        """Replace the weights of answers.

        Parameters
        ----------
        pair_weights, triplet_weights, odd_one_out_weights : array-like of float, default=None
            New weights in [0, 1], one for each answer of the kind or one for all. None keeps the
            old ones.

        Returns
        -------
        Constraints

        Raises
        ------
        InvalidConstraintsError
            If there are too few or too many weights, or one is outside [0, 1].

        Examples
        --------
        >>> from clew import Constraints
        >>> c = Constraints.from_pairs(must_link=[(0, 1)], n_samples=3)
        >>> c.with_weights(pair_weights=[0.25]).pair_weights
        array([0.25])
        """
        given = (pair_weights, triplet_weights, odd_one_out_weights)
        return self.with_tables(
            table
            if weights is None
            else table.with_weights(as_weights(weights, len(table), f"{table.kind}_weights"))
            for table, weights in zip(self.tables, given, strict=True)
        )

    def with_origin(self, origin: str) -> Constraints:
        """Set how the questions were chosen, for all answers.

        Parameters
        ----------
        origin : {"imported", "random", "asked"}
            See the parameters of the class.

        Returns
        -------
        Constraints

        Raises
        ------
        InvalidConstraintsError
            If the word is unknown.

        Examples
        --------
        >>> from clew import Constraints
        >>> c = Constraints.from_pairs(must_link=[(0, 1)], n_samples=3).with_origin("asked")
        >>> c.pair_origins.tolist()
        ['asked']
        """
        return self.with_tables(
            table.with_origins(as_origins(origin, len(table), "origin")) for table in self.tables
        )

    def add_rule(
        self,
        name: str,
        pairs: ArrayLike | Iterable[Sequence[Hashable]] | Callable[[Any], Hashable | None],
        answer: str | int | Sequence[str | int] = "same",
        *,
        meta: Sequence[Any] | None = None,
        X: ArrayLike | None = None,
    ) -> Constraints:
        """Append what a rule or a model says, as an annotator who is trusted as far as checked.

        Parameters
        ----------
        name : str
            Name of the annotator: no person's.
        pairs : array-like of shape (n_pairs, 2) or callable
            The pairs that the rule judges, by ids if there are ids, otherwise by row numbers. Or a
            function that takes the `meta` of an item, or without it the id, and returns what the
            item has in common with others, such as the photo that it is cut from; None: nothing.
        answer : {"same", "different"} or sequence of str, default="same"
            What the rule says, of all pairs or of each.
        meta : sequence of length n_samples, default=None
            What the function gets for each item.
        X : array-like of shape (n_samples, n_features), default=None
            Features, by which items that a function calls the same are connected to near ones.

        Returns
        -------
        Constraints
            With the origin "rule". Earlier answers of this name are replaced.

        Raises
        ------
        InvalidConstraintsError
            If an item or an answer is unknown, or the rule judges no pair.

        Notes
        -----
        A rule's errors go along with features, so agreement with them is no evidence that it is
        right. Its error rate, one in three at first, is estimated from people's answers of origin
        "random" about pairs of its scope, and from nothing else; weights follow from it. The scope
        of a rule that says "same" only is all pairs that its pairs connect. Call it again after
        further checks.

        Examples
        --------
        >>> from clew import Constraints
        >>> photo = ["p1", "p1", "p2", "p2", None]
        >>> c = Constraints(5).add_rule("one photo", photo.__getitem__, "different")
        >>> c.cannot_link.tolist(), c.pair_weights.round(1).tolist()
        ([[0, 1], [2, 3]], [0.1, 0.1])
        """
        features = None if X is None else check_matrix(X)
        if not isinstance(name, str) or not name:
            raise InvalidConstraintsError(f"a rule has a name of its own, got {name!r}")
        found = judgments_of(
            pairs, answer, ids=self._ids, meta=meta, n_samples=self.n_samples, X=features
        )
        if len(found.rows) == 0:
            raise InvalidConstraintsError(f"the rule {name!r} judges no pair")
        others = [
            table.take(np.array((*self.annotators, ""))[table.annotators] != name)
            for table in self.tables
        ]
        checks = others[0].take(
            (others[0].origins == ORIGINS.index("random")) & (others[0].answers >= 0)
        )
        agrees = found.agrees(checks.rows, checks.answers)
        _, weight = weight_of_rule(agrees.sum(), (~agrees).sum())
        rule = Constraints(
            self.n_samples,
            pairs=np.column_stack([found.rows, found.said]),
            pair_weights=weight * found.shares(self.n_samples),
            pair_annotators=[name] * len(found.rows),
            pair_origins="rule",
        )
        return self.with_tables(others) + rule

    def with_tables(
        self,
        tables: Iterable[AnswerTable],
        annotators: tuple[str, ...] | None = None,
    ) -> Constraints:
        """Replace the answers, and keep `n_samples` and `ids`.

        Parameters
        ----------
        tables : iterable of three AnswerTable
            Pairs, triplets and odd-one-out answers. They are not checked.
        annotators : tuple of str, default=None
            Names of the annotators, by code. None keeps the old names.

        Returns
        -------
        Constraints

        Examples
        --------
        >>> from clew import Constraints
        >>> c = Constraints.from_pairs(must_link=[(0, 1)], cannot_link=[(0, 2)], n_samples=3)
        >>> pairs, triplets, odd_one_out = c.tables
        >>> c.with_tables((pairs.take(pairs.answers == 1), triplets, odd_one_out))
        Constraints(n_samples=3, pairs=1, triplets=0, odd_one_out=0)
        """
        pairs, triplets, odd_one_out = tables
        names = self.annotators if annotators is None else annotators
        return self._from_tables(self.n_samples, (pairs, triplets, odd_one_out), names, self._ids)

    def with_ids(self, ids: Iterable[object] | None) -> Constraints:
        """Set the ids of the rows; the row numbers of the answers do not change.

        Parameters
        ----------
        ids : sequence, array, pandas Index or Series of length n_samples, or None
            The id of each row, in the order of the rows. None removes the ids.

        Returns
        -------
        Constraints

        Raises
        ------
        InvalidConstraintsError
            If the number of ids is not `n_samples`, or an id is missing or repeated.

        Examples
        --------
        >>> from clew import Constraints
        >>> c = Constraints.from_pairs(must_link=[(0, 2)], n_samples=3).with_ids(["a", "b", "c"])
        >>> c.ids, c.to_frame()["id_j"].tolist()
        (('a', 'b', 'c'), ['c'])
        """
        n, row_ids = rows_and_ids(self.n_samples, ids)
        return self._from_tables(n, self.tables, self.annotators, row_ids)

    def closure(self) -> Closure:
        """Return what must-links and cannot-links of any weight entail.

        Returns
        -------
        Closure

        Notes
        -----
        Union-find: nearly linear in time, linear in memory. Entailed pairs are not listed.

        Examples
        --------
        >>> from clew import Constraints
        >>> c = Constraints.from_pairs(must_link=[(0, 1), (1, 2)], n_samples=4)
        >>> c.closure().component
        array([0, 0, 0, 1])
        """
        return close(self.n_samples, self.must_link, self.cannot_link)

    def conflicts(self) -> list[Conflict]:
        """Find cannot-links that must-links contradict, directly or through a chain.

        Returns
        -------
        list of Conflict
            One for each such cannot-link of any weight, in order of arrival, with a shortest
            chain of must-links between its rows. Empty if the answers are consistent.

        Notes
        -----
        One bidirectional breadth-first search for each conflict: at worst linear in the
        must-links of the component, usually much less.

        Examples
        --------
        >>> from clew import Constraints
        >>> c = Constraints.from_pairs(
        ...     must_link=[(0, 1), (1, 2)], cannot_link=[(0, 2)], n_samples=3
        ... )
        >>> [conflict.chain for conflict in c.conflicts()]
        [(0, 1, 2)]
        """
        return find_conflicts(self.n_samples, self.pairs, self.pair_answers, self.ids)


def _rows(question: Question, ids: RowIds | None, place: str) -> tuple[int, ...]:
    if question.rows and (ids is None or question.ids is None):
        return question.rows
    if ids is None or question.ids is None:
        raise InvalidConstraintsError(f"{place}: {question} has no rows; pass ids=")
    return tuple(ids.rows_of(question.ids, lambda _: place).tolist())


def _shares(ratings: ArrayLike, n: int, different: float, same: float) -> NDArray[np.float64]:
    """Map ratings to [0, 1], where 1 is "same"."""
    if not np.isfinite([different, same]).all() or different == same:
        raise InvalidConstraintsError(
            f"different and same must be two different numbers, got {different!r} and {same!r}"
        )
    given = _one_each(ratings, n, "ratings")
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


def _one_each(values: ArrayLike, n: int, name: str) -> NDArray[Any]:
    """Convert to an array of shape (n,); one value holds for all."""
    array = as_array(values, name)
    array = np.full(n, array) if array.ndim == 0 else array
    if array.shape != (n,):
        raise InvalidConstraintsError(
            f"{name} must have shape ({n},), one for each question, got {array.shape}"
        )
    return array


def _type_of(ids: Sequence[object]) -> str:
    kinds = set(map(type, ids))
    if kinds == {int} and all(-(2**53) < number < 2**53 for number in ids):  # type: ignore[operator]
        return "Int64"
    return "str" if kinds <= {str} else "object"


def _as_positions(which: ArrayLike, length: int, name: str, length_name: str) -> NDArray[np.int64]:
    """Convert a mask or positions to positions."""
    array = np.asarray(which)
    if array.dtype.kind == "b":
        if array.shape != (length,):
            raise InvalidConstraintsError(
                f"a mask must have shape ({length},), {length_name}; {name} has {array.shape}"
            )
        return np.flatnonzero(array)
    index = as_integers(array, name)
    if index.ndim != 1:
        raise InvalidConstraintsError(f"{name} must be one-dimensional, got shape {index.shape}")
    outside = (index < 0) | (index >= length)
    if outside.any():
        raise InvalidConstraintsError(
            f"{name} holds {index[outside][0]}, which is out of range; {length_name} is {length}"
        )
    return index
