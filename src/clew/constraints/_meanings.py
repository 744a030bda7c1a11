"""What answers mean: pairs, triplets, comparisons; and what labels answer, at random questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray

from clew.answers import (
    ALL_ALIKE,
    ANSWER_WORDS,
    DIFFERENT,
    DONT_KNOW,
    FIRST,
    N_ROWS,
    SAME,
    SECOND,
    THIRD,
    Answer,
    Kind,
    as_kind,
    code_of_word,
    expand,
)
from clew.answers._implied import IMPLIED_PAIRS
from clew.answers._words import is_integer
from clew.constraints._tables import PARAMETER, AnswerTable
from clew.exceptions import (
    InvalidConstraintsError,
    InvalidDataError,
    InvalidParameterError,
    UnsupportedConstraintError,
)

if TYPE_CHECKING:
    from clew.constraints.constraints import Constraints

IntArray = NDArray[np.int64]
#: The kind of these answers in files and data frames. `Constraints` holds them as triplets.
MOST_CENTRAL: Final = "most_central"
#: The words of the answers, with their codes.
WORDS: Final = {w: c for w, c in ANSWER_WORDS["odd_one_out"].items() if w != "all_alike"}
#: The first rows of the triplets about three rows, and the other two rows of each.
HEADS: Final = np.array([0, 1, 2])
TAILS: Final = np.array([(1, 2), (0, 2), (0, 1)])
#: For each kind and answer, positions (i, j, k, l) of rows in the answer: d(i, j) < d(k, l), or
#: d(i, j) = d(k, l) for equalities.
Comparisons = Mapping[Kind, Mapping[int, tuple[tuple[int, int, int, int], ...]]]
INEQUALITIES: Final[Comparisons] = MappingProxyType({
    "triplet": {FIRST: ((0, 1, 0, 2),), SECOND: ((0, 2, 0, 1),)},
    "odd_one_out": {
        FIRST: ((1, 2, 1, 0), (1, 2, 2, 0)),
        SECOND: ((0, 2, 0, 1), (0, 2, 2, 1)),
        THIRD: ((0, 1, 0, 2), (0, 1, 1, 2)),
    },
})  # fmt: skip
EQUAL_DISTANCES = ((0, 1, 0, 2), (0, 1, 1, 2), (0, 2, 1, 2))
EQUALITIES: Final[Comparisons] = MappingProxyType({"odd_one_out": {ALL_ALIKE: EQUAL_DISTANCES}})
#: A don't-know may mean that the distances are about equal.
EQUALITIES_OF_DONT_KNOW: Final[Comparisons] = MappingProxyType({
    "triplet": {DONT_KNOW: ((0, 1, 0, 2),)},
    "odd_one_out": {DONT_KNOW: EQUAL_DISTANCES},
})  # fmt: skip


class Relations(NamedTuple):
    """Comparisons of the distances of two pairs of rows; an answer may imply several."""

    near: NDArray[np.int64]  # the pair with the smaller distance, or one of two equal ones, (m, 2)
    far: NDArray[np.int64]  # the pair with the larger distance, or the other equal one, (m, 2)
    weight: NDArray[np.float64]  # of the answer, (m,)
    kind: NDArray[np.str_]  # of the answer, "triplet" or "odd_one_out", (m,)
    answer: NDArray[np.int64]  # position of the answer among those of its kind, (m,)

    def select(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> Self:
        return type(self)._make(column[which] for column in self)


def as_classes(y: ArrayLike) -> IntArray:
    """Encode labels as classes 0, 1, ..."""
    labels = np.asarray(y)
    if labels.ndim != 1:
        raise InvalidDataError(f"y must have shape (n_samples,), got {labels.shape}")
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise InvalidDataError(
            f"y[{int(np.argmax(np.isnan(labels)))}] is NaN: every row needs a class"
        )
    missing = next((at for at, label in enumerate(labels.tolist()) if label is None), None)
    if missing is not None:
        raise InvalidDataError(
            f"y[{missing}] is None: every row needs a class; -1 marks rows without one, where "
            "classes are numbers"
        )
    try:
        return np.unique(labels, return_inverse=True)[1].astype(np.int64)
    except TypeError as error:
        raise InvalidDataError(f"y must hold labels of one type: {error}") from error


def is_labeled(y: ArrayLike) -> NDArray[np.bool_]:
    """Mark the rows with a label; the number -1 stands for none, as in scikit-learn."""
    labels = np.asarray(y)
    if labels.dtype.kind not in "if":
        return np.ones(labels.shape, dtype=np.bool_)
    return np.asarray(labels != -1)


def _pair(y: IntArray, rows: IntArray) -> IntArray:
    return np.where(y[rows[:, 0]] == y[rows[:, 1]], SAME, DIFFERENT)


def _triplet(y: IntArray, rows: IntArray) -> IntArray:
    a, b, c = y[rows].T
    return np.select([(a == b) & (a != c), (a == c) & (a != b)], [FIRST, SECOND], DONT_KNOW)


def _odd_one_out(y: IntArray, rows: IntArray) -> IntArray:
    i, j, k = y[rows].T
    return np.select(
        [(i == j) & (j == k), j == k, i == k, i == j], [ALL_ALIKE, FIRST, SECOND, THIRD], DONT_KNOW
    )


#: For each kind, a function from classes and rows of shape (n, 2) or (n, 3) to the true answers. If
#: the classes do not determine the answer, it is don't-know.
TRUTH: Final[Mapping[Kind, Callable[[IntArray, IntArray], IntArray]]] = MappingProxyType(
    {"pair": _pair, "triplet": _triplet, "odd_one_out": _odd_one_out}
)


def implied(answer: Answer) -> tuple[tuple[int, int, int], ...]:
    """Return two positions among the rows, and the implied answer, for each pair of one answer."""
    if answer.question.kind == "pair":
        return ((0, 1, answer.value),)
    return tuple((i, j, said) for i, j, said, _ in expand(answer))


def implied_pairs(tables: tuple[AnswerTable, AnswerTable, AnswerTable]) -> AnswerTable:
    """Turn all answers into pairs, as `Constraints.as_pairs` describes."""
    parts = [tables[0], *map(_implied_by, tables[1:])]
    return AnswerTable.stacked("pair", parts).with_sorted_pairs()


def _implied_by(table: AnswerTable) -> AnswerTable:
    table = table.in_row_order()  # the result does not depend on the order of the rows
    sources, rows, answers = [], [], []
    for answer, implied in IMPLIED_PAIRS[table.kind].items():
        given = np.flatnonzero(table.answers == answer)
        for first, second, code in implied:
            sources.append(given)
            rows.append(table.rows[given][:, [first, second]])
            answers.append(np.full(len(given), code, dtype=np.int64))
    source = np.concatenate(sources)
    order = np.argsort(source, kind="stable")
    source = source[order]
    return AnswerTable(
        "pair",
        np.concatenate(rows)[order],
        np.concatenate(answers)[order],
        table.weights[source],
        table.annotators[source],
        table.origins[source],
        table.lines[source],
    )


def triplets_of_most_central(table: AnswerTable) -> AnswerTable:
    """Convert answers to triplets: each of the other two rows is more like the central one."""
    central = table.answers[:, None]
    question, head = np.nonzero(central != HEADS)
    rows = table.rows[question]
    tails = np.take_along_axis(rows, TAILS[head], axis=1)
    is_second = (central == TAILS[:, 1])[question, head]
    unknown = table.answers[question] == DONT_KNOW
    return AnswerTable(
        "triplet",
        np.column_stack([rows[np.arange(len(rows)), head], tails]),
        np.where(unknown, DONT_KNOW, is_second).astype(np.int64),
        table.weights[question],
        table.annotators[question],
        table.origins[question],
        table.lines[question],
    )


def as_most_central(value: object) -> int:
    """Return the position of the most central row, or the code of don't-know."""
    code = value
    if isinstance(value, str):
        try:
            code = code_of_word("odd_one_out", value)
        except InvalidConstraintsError:
            code = None
    elif isinstance(value, float) and value.is_integer():
        code = int(value)
    if isinstance(code, bool) or not isinstance(code, int) or code not in WORDS.values():
        allowed = ", ".join(f"{code} ({word})" for word, code in WORDS.items())
        raise InvalidConstraintsError(
            f"{value!r} is not an answer to a {MOST_CENTRAL} question; use one of {allowed}"
        )
    return code


def as_record_kind(value: object) -> str:
    """Check the kind of an answer in a file or data frame."""
    try:
        return as_kind(value)
    except InvalidConstraintsError:
        word = str(value).strip().casefold().replace("-", "_").replace(" ", "_")
        if word == MOST_CENTRAL:
            return MOST_CENTRAL
    raise InvalidConstraintsError(
        f"unknown kind {value!r}; use one of {', '.join((*N_ROWS, MOST_CENTRAL))}"
    )


def draw_answers(
    y: ArrayLike,
    counts: Mapping[Kind, int],
    error: float,
    dont_know: float,
    random_state: int | RandomState | None,
) -> dict[str, NDArray[np.int64]]:
    """Return the parameters pairs, triplets and odd_one_out of `Constraints`: rows and answers."""
    classes, labeled = as_classes(y), np.flatnonzero(is_labeled(y))
    for name, share in (("error", error), ("dont_know", dont_know)):
        if not 0 <= share <= 1:
            raise InvalidParameterError(f"{name} must lie in [0, 1], got {share}")
    for kind, count in counts.items():
        if not is_integer(count) or count < 0:
            raise InvalidParameterError(
                f"n_{PARAMETER[kind]} must be an integer of 0 or more, got {count!r}"
            )
    if error + dont_know > 1:
        raise InvalidParameterError(
            f"error + dont_know must not exceed 1, got {error} + {dont_know}"
        )
    random = as_random(random_state)
    drawn = {}
    for kind, count in counts.items():
        rows = labeled[_random_questions(kind, count, labeled.size, random)]
        answers = _with_errors(TRUTH[kind](classes, rows), kind, error, dont_know, random)
        drawn[PARAMETER[kind]] = np.column_stack([rows, answers])
    return drawn


def _random_questions(
    kind: Kind, count: int, n_labeled: int, random: RandomState
) -> NDArray[np.int64]:
    """Draw the rows of questions as positions among the labeled rows."""
    if kind == "pair":
        total = n_labeled * (n_labeled - 1) // 2
        if count > total:
            raise InvalidParameterError(
                f"n_pairs={count} pairs without replacement cannot be drawn: "
                f"{n_labeled} labeled rows have {total}"
            )
        return np.column_stack(pair_from_rank(distinct_integers(total, count, random)))
    if count and n_labeled < N_ROWS[kind]:
        raise InvalidParameterError(
            f"{kind} answers are about three rows, but only {n_labeled} have a label"
        )
    # Ordered triples of different rows, uniform and with replacement.
    triples = np.empty((count, 3), dtype=np.int64)
    for position in range(3):
        drawn = random.randint(0, max(n_labeled - position, 1), size=count, dtype=np.int64)
        # The number drawn counts the rows that the triple does not have yet.
        for taken in np.sort(triples[:, :position], axis=1).T:
            drawn += drawn >= taken
        triples[:, position] = drawn
    return triples


def _with_errors(
    truth: NDArray[np.int64], kind: Kind, error: float, dont_know: float, random: RandomState
) -> NDArray[np.int64]:
    """Make exact shares of the answers wrong, or don't-know."""
    answers = truth.copy()
    known = random.permutation(np.flatnonzero(truth != DONT_KNOW))
    n_wrong = round(error * known.size)
    # If the shares sum to 1, both numbers may be rounded up.
    n_unknown = min(round(dont_know * known.size), known.size - n_wrong)
    wrong, unknown = known[:n_wrong], known[n_wrong : n_wrong + n_unknown]
    codes = np.array([code for code in ANSWER_WORDS[kind].values() if code != DONT_KNOW])
    # Adding a number from 1 to n - 1, modulo n, to the position of the true answer yields a wrong
    # one.
    position = np.argmax(truth[wrong, None] == codes, axis=1)
    step = random.randint(1, codes.size, size=n_wrong)
    answers[wrong] = codes[(position + step) % codes.size]
    answers[unknown] = DONT_KNOW
    return answers


def as_random(random_state: int | RandomState | None) -> RandomState:
    """Resolve a `random_state` as scikit-learn does."""
    # Imported here because scikit-learn imports pandas, if installed, which is slow.
    from sklearn.utils import check_random_state

    random: RandomState = check_random_state(random_state)
    return random


def distinct_integers(total: int, size: int, random: RandomState) -> NDArray[np.int64]:
    """Draw integers in [0, total) uniformly without replacement, in random order."""
    if total <= 3 * size:
        return random.permutation(total)[:size].astype(np.int64)
    drawn = np.zeros(0, dtype=np.int64)
    while drawn.size < size:
        more = random.randint(0, total, size=size - drawn.size + 8, dtype=np.int64)
        drawn = np.concatenate([drawn, more])
        first = np.unique(drawn, return_index=True)[1]
        drawn = drawn[np.sort(first)]
    return drawn[:size]


def pair_from_rank(ranks: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the pairs (low, high) at some ranks of the list (0,1), (0,2), (1,2), (0,3), ..."""
    high = ((1 + np.sqrt(1.0 + 8.0 * ranks)) / 2).astype(np.int64)
    # The square root may be off by one where ranks exceed 2**53.
    high -= high * (high - 1) // 2 > ranks
    high += high * (high + 1) // 2 <= ranks
    return ranks - high * (high - 1) // 2, high


def inequalities_of(answers: Constraints) -> Relations:
    """Comparisons that answers imply, in their order: a triplet one, an odd row two."""
    return _relations(answers, INEQUALITIES)


def inequalities_or_refusal(estimator: object, answers: Constraints) -> Relations:
    """Return the comparisons of answers of positive weight; refuse "all alike", an equality."""
    has_none = (answers.odd_one_out_answers == ALL_ALIKE) & (answers.odd_one_out_weights > 0)
    if has_none.any():
        raise UnsupportedConstraintError(
            f"{type(estimator).__name__} honors answers that compare distances, but "
            f'{int(has_none.sum())} odd_one_out answers are "all alike". Leave them out with '
            "Constraints.select, or turn them into must-links with Constraints.as_pairs and use a "
            "method that honors pairs"
        )
    comparisons = inequalities_of(answers)
    return comparisons.select(comparisons.weight > 0)


def equalities_of(answers: Constraints, *, with_dont_know: bool) -> Relations:
    """Return the equal distances that "all alike" implies, and don't-knows too if wanted."""
    comparisons = [EQUALITIES, EQUALITIES_OF_DONT_KNOW] if with_dont_know else [EQUALITIES]
    return _relations(answers, *comparisons)


def _relations(answers: Constraints, *comparisons: Comparisons) -> Relations:
    # In row order, so that the order in which a question names its rows does not matter.
    tables = [table.in_row_order() for table in answers.tables if table.kind != "pair"]
    parts = []
    for table in tables:
        implied = [
            (np.flatnonzero(table.answers == answer), positions)
            for comparison in comparisons
            for answer, several in comparison.get(table.kind, {}).items()
            for positions in several
        ]
        answer = np.concatenate([np.empty(0, np.int64), *(which for which, _ in implied)])
        four = np.concatenate(
            [
                np.empty((0, 4), np.int64),
                *(table.rows[which][:, list(positions)] for which, positions in implied),
            ]
        )
        order = np.argsort(answer, kind="stable")
        answer, four = answer[order], four[order]
        kinds = np.full(len(answer), table.kind, dtype="U11")
        parts.append(Relations(four[:, :2], four[:, 2:], table.weights[answer], kinds, answer))
    return Relations(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
