"""An oracle that knows the labels and errs at will."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state

from clew.answers import Answer, Kind, Question
from clew.constraints._truth import TRUTH, as_classes
from clew.exceptions import InvalidConstraintsError, InvalidParameterError
from clew.oracles._confusion import CODES, from_rates, from_tables

__all__ = ["Oracle", "SimulatedOracle"]


class Oracle(Protocol):
    """Whoever answers questions: a person, a file of answers, or a simulation."""

    def answer(self, question: Question, annotator: str | None = None) -> Answer:
        """Answer one question, as a given annotator or as whoever is free."""
        ...


class SimulatedOracle:
    """Answers questions from known labels, with errors.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The class of each row.
    error : float or array-like of shape (n_annotators,), default=0.0
        Chance that an answer is wrong. A wrong odd-one-out answer is one of the three others
        with equal chance.
    dont_know : float or array-like of shape (n_annotators,), default=0.0
        Chance that an answer is don't-know; ``error + dont_know`` must not exceed 1.
    annotators : int or sequence of str, default=1
        How many there are, then named "0", "1", ..., or their names.
    confusion : array-like or mapping from kind to array-like, default=None
        In place of `error` and `dont_know`: for each true answer (row) the chance of each answer
        that may be given (column). The order is same, different, don't-know for pairs; first,
        second, don't-know for triplets; first, second, third, none, don't-know for odd-one-out.
        One matrix, or one for each annotator on a leading axis. A 3×3 matrix serves pairs and
        triplets, a 5×5 matrix odd-one-out; ``{"pair": ..., "triplet": ..., "odd_one_out": ...}``
        gives each its own.
    persistent : bool, default=False
        Whether an annotator who is asked the same question again says the same again. Pairs are
        the same either way round; the chances of `error` and `dont_know` strike triplets and
        odd-one-out questions in whatever order they are asked as well.
    random_state : int, RandomState or None, default=None
        Seed of all chances.

    Attributes
    ----------
    annotators : tuple of str
        The names.
    n_samples : int
        Number of rows.

    Raises
    ------
    InvalidDataError
        If `y` is not one-dimensional or holds NaN.
    InvalidParameterError
        If a chance is outside [0, 1], a matrix has the wrong shape or rows that do not add up to
        1, annotators share a name, or `confusion` comes with `error` or `dont_know`.

    Notes
    -----
    The true answer to a triplet is don't-know where b and c are both, or neither, in the class
    of a, and to an odd-one-out question where all three classes differ. `error` and `dont_know`
    leave such answers as they are; `confusion` may say otherwise.

    Examples
    --------
    >>> from clew import Question
    >>> from clew.oracles import SimulatedOracle
    >>> oracle = SimulatedOracle([0, 0, 1, 1])
    >>> oracle.answer(Question("pair", (0, 1))).value
    1
    >>> oracle.answer(Question("odd_one_out", (0, 2, 1))).value
    1
    """

    def __init__(
        self,
        y: ArrayLike,
        *,
        error: ArrayLike = 0.0,
        dont_know: ArrayLike = 0.0,
        annotators: int | Sequence[str] = 1,
        confusion: ArrayLike | Mapping[Kind, ArrayLike] | None = None,
        persistent: bool = False,
        random_state: int | RandomState | None = None,
    ) -> None:
        self._classes = as_classes(y)
        self.annotators = _as_names(annotators)
        if confusion is None:
            self._confusion = from_rates(error, dont_know, len(self.annotators))
        elif np.any(error) or np.any(dont_know):
            raise InvalidParameterError(
                "confusion takes the place of error and dont_know: give one or the other"
            )
        else:
            self._confusion = from_tables(confusion, len(self.annotators))
        self.persistent = persistent
        self._rng = check_random_state(random_state)
        self._seed = int(self._rng.randint(2**31))

    @property
    def n_samples(self) -> int:
        """Number of rows."""
        return int(self._classes.size)

    def answer(self, question: Question, annotator: str | None = None) -> Answer:
        """Answer one question.

        Parameters
        ----------
        question : Question
            What is asked.
        annotator : str or None, default=None
            Who is asked. None: one of the annotators, at random.

        Returns
        -------
        Answer

        Raises
        ------
        InvalidConstraintsError
            If a row is out of range.
        InvalidParameterError
            If there is no such annotator, or `confusion` has no matrix for this kind.
        """
        if max(question.rows) >= self.n_samples:
            raise InvalidConstraintsError(
                f"{question}: rows run from 0 to {self.n_samples - 1} "
                f"(n_samples is {self.n_samples})"
            )
        if question.kind not in self._confusion:
            raise InvalidParameterError(
                f"confusion has no matrix for {question.kind} questions; add one"
            )
        who = self._number_of(annotator)
        value = self._said(question, who)
        return Answer(question, value, annotator=self.annotators[who])

    def answer_all(
        self, questions: Iterable[Question], annotator: str | None = None
    ) -> list[Answer]:
        """Answer questions one after the other; see `answer`.

        Parameters
        ----------
        questions : iterable of Question
            What is asked.
        annotator : str or None, default=None
            Who is asked. None: for each question one of the annotators, at random.

        Returns
        -------
        list of Answer
        """
        return [self.answer(question, annotator) for question in questions]

    def _number_of(self, annotator: str | None) -> int:
        if annotator is None:
            n_annotators = len(self.annotators)
            return int(self._rng.randint(n_annotators)) if n_annotators > 1 else 0
        if annotator not in self.annotators:
            raise InvalidParameterError(
                f"there is no annotator {annotator!r}; there are {', '.join(self.annotators)}"
            )
        return self.annotators.index(annotator)

    def _said(self, question: Question, who: int) -> int:
        codes = CODES[question.kind]
        rows = np.array([question.rows])
        truth = codes.index(int(TRUTH[question.kind](self._classes, rows)[0]))
        # Chances in an order of answers that does not depend on the order asked, so that the
        # same number drawn means the same answer.
        order = _order_of_answers(question)
        steps = np.cumsum(self._confusion[question.kind][who, truth, order])
        drawn = int(np.searchsorted(steps, self._draw(question, who), side="right"))
        # Rounding may leave the last step a hair below 1.
        last = int(np.flatnonzero(np.diff(steps, prepend=0.0))[-1])
        return codes[order[min(drawn, last)]]

    def _draw(self, question: Question, who: int) -> float:
        if not self.persistent:
            return float(self._rng.random_sample())
        a, *others = question.rows
        key = (a, *sorted(others)) if question.kind == "triplet" else sorted(question.rows)
        kind = list(CODES).index(question.kind)
        word = np.random.SeedSequence((self._seed, kind, who, *key)).generate_state(1, np.uint64)
        return float(word[0] >> np.uint64(11)) * 2.0**-53


def _order_of_answers(question: Question) -> list[int]:
    """Positions in `CODES` such that answers that name a row follow the number of that row."""
    if question.kind == "pair":
        return [0, 1, 2]
    named = question.rows[1:] if question.kind == "triplet" else question.rows
    by_row = sorted(range(len(named)), key=named.__getitem__)
    return by_row + list(range(len(named), len(CODES[question.kind])))


def _as_names(annotators: int | Sequence[str]) -> tuple[str, ...]:
    if isinstance(annotators, int | np.integer):
        names = tuple(map(str, range(int(annotators))))
    else:
        names = (annotators,) if isinstance(annotators, str) else tuple(annotators)
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidParameterError(
            f"annotators must be a number of at least 1 or names, got {annotators!r}"
        )
    if len(set(names)) < len(names):
        raise InvalidParameterError(f"annotators must have different names, got {names}")
    return names
