"""The classmethods that build `Constraints` from arrays and from answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from clew.answers import DIFFERENT, DONT_KNOW, N_ROWS, SAME, Answer, Kind, Question
from clew.constraints._ids import RowIds, rows_and_ids
from clew.constraints._tables import PARAMETER, AnswerTable, as_table, code_annotators
from clew.constraints._validation import as_annotators, as_origins, as_weights
from clew.exceptions import InvalidConstraintsError

if TYPE_CHECKING:
    from clew.constraints._constraints import Constraints

__all__ = ["from_answers", "from_odd_one_out", "from_pairs", "from_triplets", "of_one_kind"]


def from_pairs(
    cls: type[Constraints],
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
        The id of each row of the data, in the order of the rows. If given, pairs hold ids instead
        of row numbers.
    weights : float or array-like of shape (n_pairs,), default=None
        Weight of each answer in [0, 1], in the order `must_link`, `cannot_link`, `dont_know`; one
        number is the weight of all. None is 1.
    annotators : str, int or array-like of shape (n_pairs,), default=None
        Who gave each answer, as names or integers; one value holds for all. None is "".
    origin : str or array-like of shape (n_pairs,), default=None
        How each question was chosen: "random", "asked" or "imported"; one word holds for all. None
        is "imported".

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
    return of_one_kind(
        cls, AnswerTable.stacked("pair", parts), weights, annotators, origin, n, row_ids
    )


def from_triplets(
    cls: type[Constraints],
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
        The id of each row of the data, in the order of the rows. If given, `rows` holds ids instead
        of row numbers.
    weights : float or array-like of shape (n,), default=None
        Weight of each answer in [0, 1]; one number is the weight of all. None is 1.
    annotators : str, int or array-like of shape (n,), default=None
        Who gave each answer, as names or integers; one value holds for all. None is "".
    origin : str or array-like of shape (n,), default=None
        How each question was chosen: "random", "asked" or "imported"; one word holds for all. None
        is "imported".

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
    return of_one_kind(cls, table, weights, annotators, origin, n, row_ids)


def from_odd_one_out(
    cls: type[Constraints],
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
        The id of each row of the data, in the order of the rows. If given, `rows` holds ids instead
        of row numbers.
    weights : float or array-like of shape (n,), default=None
        Weight of each answer in [0, 1]; one number is the weight of all. None is 1.
    annotators : str, int or array-like of shape (n,), default=None
        Who gave each answer, as names or integers; one value holds for all. None is "".
    origin : str or array-like of shape (n,), default=None
        How each question was chosen: "random", "asked" or "imported"; one word holds for all. None
        is "imported".

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
    >>> Constraints.from_odd_one_out([(0, 1, 2), (3, 1, 0)], ["third", "all_alike"], n_samples=4)
    Constraints(n_samples=4, pairs=0, triplets=0, odd_one_out=2)
    """
    n, row_ids = rows_and_ids(n_samples, ids)
    table = as_table(rows, "odd_one_out", n, row_ids, answers=answers, name="rows")
    return of_one_kind(cls, table, weights, annotators, origin, n, row_ids)


def from_answers(
    cls: type[Constraints],
    answers: Iterable[Answer],
    *,
    n_samples: int | None = None,
    ids: Iterable[object] | None = None,
) -> Constraints:
    """Build from answers, each kind in order of arrival.

    Parameters
    ----------
    answers : iterable of Answer
        The answers. If `ids` is given, `Question.ids` decide which rows a question is about;
        without either, its row numbers do.
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
        rows = _rows(answer.question, row_ids, f"answers[{position}]")
        by_kind[answer.question.kind].append((answer, rows))
    columns: dict[str, Any] = {}
    for kind, given in by_kind.items():
        columns[PARAMETER[kind]] = [(*rows, a.value) for a, rows in given]
        columns[f"{kind}_weights"] = [a.weight for a, _ in given]
        columns[f"{kind}_annotators"] = [a.annotator for a, _ in given]
        columns[f"{kind}_origins"] = [a.origin for a, _ in given]
    c = cls(n, **columns)
    return cls._from_tables(n, c.tables, c.annotators, row_ids)


def _rows(question: Question, ids: RowIds | None, place: str) -> tuple[int, ...]:
    if ids is None or question.ids is None:
        return question.rows
    return tuple(ids.rows_of(question.ids, lambda _: place).tolist())


def of_one_kind(
    cls: type[Constraints],
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
