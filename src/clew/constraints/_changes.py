"""Some of the answers, the answers of two sources, other weights, origins or ids."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from types import EllipsisType
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.constraints._meanings import implied_pairs
from clew.constraints._records import AnswerColumns
from clew.constraints._tables import AnswerTable
from clew.constraints._validation import as_integers, as_origins, as_weights, rows_and_ids
from clew.exceptions import InvalidArgumentError, InvalidConstraintsError

PLURAL = {"pair": "pairs", "triplet": "triplets", "odd_one_out": "odd-one-out answers"}


def _refuse_scores_without_answers() -> None:
    """Refuse a cross-validation that fits with answers, but would score without them.

    Without metadata routing, scikit-learn never gives `score` the answers. All scores would be NaN,
    with a traceback for each; only its own frame says so before the first fit.
    """
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_name != "_fit_and_score":
        frame = frame.f_back
    if frame is None or frame.f_locals.get("score_params"):
        return
    model, scorer = frame.f_locals.get("estimator"), frame.f_locals.get("scorer")
    score = getattr(getattr(model, "_final_estimator", model), "score", None)
    needs_answers = score is not None and "constraints" in inspect.signature(score).parameters
    if needs_answers and type(scorer).__name__ == "_PassthroughScorer":
        raise InvalidArgumentError(
            "scikit-learn would not pass the answers on to score: enable metadata routing before, "
            "by sklearn.set_config(enable_metadata_routing=True), or give a scoring of your own"
        )


class ChangedAnswers(AnswerColumns):
    """What `Constraints` makes of its own answers; each method returns a new object."""

    __slots__ = ()

    #: Answers have no order across kinds; without this, `__getitem__` would make them iterable.
    __iter__ = None

    def __getitem__(self, rows: ArrayLike | tuple[ArrayLike, EllipsisType]) -> Self:
        """Return ``subset(rows)``, which scikit-learn calls to split rows with their answers."""
        if isinstance(rows, tuple):
            _refuse_scores_without_answers()
        return self.subset(rows[0] if isinstance(rows, tuple) else rows)

    def select(
        self,
        *,
        pairs: ArrayLike | None = None,
        triplets: ArrayLike | None = None,
        odd_one_out: ArrayLike | None = None,
    ) -> Self:
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

    def subset(self, rows: ArrayLike) -> Self:
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

    def __add__(self, other: Self) -> Self:
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
        if not isinstance(other, AnswerColumns):
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

    def as_pairs(self) -> Self:
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
    ) -> Self:
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

    def with_origin(self, origin: str) -> Self:
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
        self, tables: Iterable[AnswerTable], annotators: tuple[str, ...] | None = None
    ) -> Self:
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

    def with_ids(self, ids: Iterable[object] | None) -> Self:
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
