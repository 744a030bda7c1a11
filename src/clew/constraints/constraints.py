"""The class `Constraints`: validated, immutable answers about the rows of a data set."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike

from clew._validation import check_matrix
from clew.answers import N_ROWS, ORIGINS, Answer, Kind, Question, as_table_answers
from clew.constraints._closure import Closure, Conflict, close, find_conflicts
from clew.constraints._exchange import ExchangedAnswers
from clew.constraints._from_arrays import FromArrays
from clew.constraints._meanings import draw_answers
from clew.constraints._rules import group_judgments, judgments_of, weight_of_rule
from clew.constraints._tables import PARAMETER
from clew.constraints._validation import RowIds, rows_and_ids
from clew.exceptions import InvalidConstraintsError

__all__ = ["Constraints"]


class Constraints(FromArrays, ExchangedAnswers):
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
            item has in common with others, such as the photo that it is cut from; None or a missing
            value: nothing.
        answer : {"same", "different"} or sequence of str, default="same"
            What the rule says, of all pairs or of each.
        meta : sequence of length n_samples, default=None
            What the function gets for each item. Of a data frame, a row as a dictionary.
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
        found = judgments_of(
            name, pairs, answer, ids=self._ids, meta=meta, n_samples=self.n_samples, X=features
        )
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
