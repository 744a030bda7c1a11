"""The pairs that an answer implies."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from clew.answers._records import Answer, Question
from clew.answers._words import (
    ALL_ALIKE,
    DIFFERENT,
    DONT_KNOW,
    FIRST,
    KINDS,
    NONE_OF_THESE,
    SAME,
    SECOND,
    THIRD,
    Kind,
)

#: For each kind and answer, the implied pairs: the positions of two of the three rows, and the
#: answer about this pair.
IMPLIED_PAIRS: Final[Mapping[Kind, Mapping[int, tuple[tuple[int, int, int], ...]]]] = (
    MappingProxyType({
        "triplet": {
            FIRST: ((0, 1, SAME), (0, 2, DIFFERENT)),
            SECOND: ((0, 2, SAME), (0, 1, DIFFERENT)),
        },
        "odd_one_out": {
            FIRST: ((1, 2, SAME), (0, 1, DIFFERENT), (0, 2, DIFFERENT)),
            SECOND: ((0, 2, SAME), (0, 1, DIFFERENT), (1, 2, DIFFERENT)),
            THIRD: ((0, 1, SAME), (0, 2, DIFFERENT), (1, 2, DIFFERENT)),
            ALL_ALIKE: ((0, 1, SAME), (0, 2, SAME), (1, 2, SAME)),
        },
    })
)  # fmt: skip


#: Of a which-of answer: weight of "different" for a group that was read before the chosen one; and
#: factor of care from each group to the next.
BEFORE_CHOSEN, READ_CARE = 0.5, 0.95


def expand(answer: Answer) -> list[tuple[int, int, int, float]]:
    """Return the pairs that an answer implies.

    Parameters
    ----------
    answer : Answer
        To a question of any kind.

    Returns
    -------
    list of tuple of (int, int, int, float)
        For each pair, the positions of its items in the question, `SAME` or `DIFFERENT`, and the
        weight. Empty if the answer is no evidence.

    Examples
    --------
    >>> from clew.answers import Answer, Question, expand
    >>> expand(Answer(Question("odd_one_out", (4, 7, 9)), "third"))
    [(0, 1, 1, 1.0), (0, 2, 0, 1.0), (1, 2, 0, 1.0)]
    """
    question, weight = answer.question, answer.weight
    if not answer.is_evidence:
        return []
    if question.kind == "pair":
        return [(0, 1, answer.value, weight)]
    if question.kind == "which_of":
        return list(_of_which(answer))
    if question.kind == "confirm":
        return list(_of_confirm(answer))
    implied = IMPLIED_PAIRS[question.kind].get(answer.value, ())
    return [(i, j, said, weight) for i, j, said in implied]


def _of_which(answer: Answer) -> Iterator[tuple[int, int, int, float]]:
    """Yield "same" for the chosen group, "different" for those read before, by first examples."""
    parts, chosen = answer.question.parts, answer.value
    first = 1
    for group, size in enumerate(parts[1:]):
        if group == chosen:
            yield 0, first, SAME, answer.weight
            return
        care = READ_CARE**group * (1.0 if chosen == NONE_OF_THESE else BEFORE_CHOSEN)
        yield 0, first, DIFFERENT, answer.weight * care
        first += size


def _of_confirm(answer: Answer) -> Iterator[tuple[int, int, int, float]]:
    """Yield "different" for ticked members, "same" for others, each with the first example.

    Members of one part are overlooked together: those not ticked share the weight of one answer.
    """
    first = answer.question.parts[0]
    at = 0
    for size in answer.question.parts[1:]:
        is_ticked = [bool(answer.value >> (at + k) & 1) for k in range(size)]
        share = 1 / max(size - sum(is_ticked), 1)
        for k, ticked in enumerate(is_ticked):
            said, weight = (DIFFERENT, 1.0) if ticked else (SAME, share)
            yield 0, first + at + k, said, answer.weight * weight
        at += size


def as_table_answers(answers: Iterable[Answer]) -> Iterator[Answer]:
    """Yield answers of the kinds that `Constraints` holds; others as the pairs that they imply.

    Answers about the question, such as "not comparable", are left out; don't-knows are not.
    """
    for answer in answers:
        question = answer.question
        if question.kind in KINDS:
            if answer.value >= DONT_KNOW:
                yield answer
            continue
        pairs = expand(answer)
        if answer.value == DONT_KNOW:
            pairs = [(i, j, DONT_KNOW, answer.weight) for i, j in _compared(question)]
        for i, j, said, weight in pairs:
            rows = (question.rows[i], question.rows[j]) if question.rows else ()
            ids = None if question.ids is None else (question.ids[i], question.ids[j])
            pair = Question("pair", rows, question.origin, ids)
            # The time is that of the whole question.
            yield replace(answer, question=pair, value=said, weight=weight, ms=None, bad=())


def _compared(question: Question) -> Iterator[tuple[int, int]]:
    """Yield the pairs that a question about groups compares: each group has one example."""
    if question.kind == "which_of":
        at = 1
        for size in question.parts[1:]:
            yield 0, at
            at += size
    else:
        yield from ((0, at) for at in range(question.parts[0], sum(question.parts)))
