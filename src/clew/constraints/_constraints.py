"""The class `Constraints`: validated, immutable answers about the rows of a data set."""

from __future__ import annotations

from collections.abc import Iterable
from types import EllipsisType

from numpy.typing import ArrayLike

from clew.constraints import (
    _constructors,
    _exchange,
    _frames,
    _from_labels,
    _graded,
    _selection,
)
from clew.constraints._closure import Closure, close
from clew.constraints._columns import AnswerColumns
from clew.constraints._conflicts import Conflict, find_conflicts
from clew.constraints._ids import rows_and_ids
from clew.constraints._meanings import implied_pairs
from clew.constraints._tables import AnswerTable
from clew.constraints._validation import as_origins, as_weights

__all__ = ["Constraints"]


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

    from_pairs = classmethod(_constructors.from_pairs)
    from_triplets = classmethod(_constructors.from_triplets)
    from_odd_one_out = classmethod(_constructors.from_odd_one_out)
    from_most_central = classmethod(_graded.from_most_central)
    from_ratings = classmethod(_graded.from_ratings)
    from_labels = classmethod(_from_labels.from_labels)
    from_answers = classmethod(_constructors.from_answers)

    read_csv = classmethod(_exchange.read_csv)
    read_jsonl = classmethod(_exchange.read_jsonl)
    from_frame = classmethod(_frames.from_frame)
    to_csv = _exchange.to_csv
    to_jsonl = _exchange.to_jsonl
    to_frame = _frames.to_frame

    select = _selection.select
    subset = _selection.subset
    __add__ = _selection.join

    #: Answers have no order across kinds; without this, `__getitem__` would make them iterable.
    __iter__ = None

    def __getitem__(self, rows: ArrayLike | tuple[ArrayLike, EllipsisType]) -> Constraints:
        """Return ``subset(rows)``, which scikit-learn calls to split rows with their answers."""
        return self.subset(rows[0] if isinstance(rows, tuple) else rows)

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
