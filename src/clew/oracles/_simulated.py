"""An oracle that answers from known labels, with errors, and the loop that asks it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.random import RandomState
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from clew.answers import (
    CODES,
    DONT_KNOW,
    KINDS,
    NONE_OF_THESE,
    Answer,
    Kind,
    Question,
    SecondsModel,
    as_origin,
    question_key,
)
from clew.constraints._meanings import TRUTH, as_classes, is_labeled
from clew.exceptions import InvalidConstraintsError, InvalidParameterError


class Oracle(Protocol):
    """Answers questions: a person, a file of answers or a simulation."""

    def answer(self, question: Question, annotator: str | None = None) -> Answer:
        """Answer one question as the given annotator, or as any."""
        ...


class SimulatedOracle:
    """Answers questions from known labels, with errors.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        The class of each row; the number -1 marks a row without a label.
    error : float or array-like of shape (n_annotators,), default=0.0
        Probability that an answer is wrong. A wrong odd-one-out or which-of answer is any of the
        others with equal probability. Of a confirm question: probability that a stranger is missed,
        and five times the probability that a member is ticked wrongly.
    dont_know : float or array-like of shape (n_annotators,), default=0.0
        Probability that an answer is don't-know; ``error + dont_know`` must not exceed 1.
    annotators : int or sequence of str, default=1
        Number of annotators, who are then called "0", "1", ..., or their names.
    confusion : array-like or mapping from kind to array-like, default=None
        Replaces `error` and `dont_know`: the probability of each answer (column), given the true
        answer (row). The order is same, different, don't-know for pairs; first, second,
        don't-know for triplets; first, second, third, all alike, don't-know for odd-one-out.
        One matrix, or one for each annotator on a leading axis. A 3×3 matrix is used for pairs
        and triplets, a 5×5 matrix for odd-one-out;
        ``{"pair": ..., "triplet": ..., "odd_one_out": ...}`` sets one for each kind. Groups of a
        which-of question and members of a confirm question are read one after the other, each like
        a pair.
    missed_together : float, default=0.0
        Of confirm questions: share of the misses that concern all strangers of a class at once, as
        people miss a whole class that they do not know.
    seconds : SecondsModel, default=None
        Times of the answers, noted in `Answer.ms`. None: they have none.
    persistent : bool, default=False
        Whether an annotator gives the same answer when asked the same question again. Rows may
        then be in another order; `confusion` may depend on the order of three rows.
    origin : {"random", "asked", "imported"}, default="random"
        The origin of all answers: set it to "asked" if a strategy chooses the questions.
    random_state : int, RandomState or None, default=None
        Seed of the errors.

    Attributes
    ----------
    annotators : tuple of str
        Names of the annotators.
    n_samples : int
        Number of rows.

    Raises
    ------
    InvalidDataError
        If `y` is not one-dimensional or holds NaN.
    InvalidParameterError
        If a probability is outside [0, 1], a matrix has the wrong shape or rows that do not add
        up to 1, annotators share a name, or `confusion` is given with `error` or `dont_know`.

    Notes
    -----
    The true answer is don't-know where labels do not determine one: to a triplet if both or
    neither of b and c are in the class of a, to an odd-one-out question about three classes, and
    to any question about a row without a label. A group that is shown has the class of most of its
    examples; members without a label are not ticked. `error` and `dont_know` do not change such
    answers; `confusion` may.

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
        missed_together: float = 0.0,
        seconds: SecondsModel | None = None,
        persistent: bool = False,
        origin: str = "random",
        random_state: int | RandomState | None = None,
    ) -> None:
        self._classes, self._is_labeled = as_classes(y), is_labeled(y)
        self.annotators = _as_names(annotators)
        n_annotators = len(self.annotators)
        self._rates = [_as_rates(rate, name, n_annotators)
                       for rate, name in ((error, "error"), (dont_know, "dont_know"))]  # fmt: skip
        (self._missed_together,) = _as_rates(missed_together, "missed_together", 1)
        self._is_by_rates = confusion is None
        if confusion is None:
            self._confusion = from_rates(error, dont_know, len(self.annotators))
        elif np.any(error) or np.any(dont_know):
            raise InvalidParameterError(
                "confusion replaces error and dont_know: pass one or the other"
            )
        else:
            self._confusion = from_tables(confusion, len(self.annotators))
        self.seconds = seconds
        self.persistent = persistent
        self.origin = as_origin(origin)
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
            The question.
        annotator : str or None, default=None
            Name of the annotator. None: a random one.

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
        is_of_rows = question.kind in CODES
        if (question.kind if is_of_rows else "pair") not in self._confusion:
            raise InvalidParameterError(
                f"confusion has no matrix for {question.kind} questions; add one"
                + ("" if is_of_rows else " for pairs")
            )
        number = self._number_of(annotator)
        draw = self._draw_answer if is_of_rows else self._draw_of_groups
        given = Answer(
            question, draw(question, number), annotator=self.annotators[number], origin=self.origin
        )
        if self.seconds is None:
            return given
        return replace(given, ms=round(1000 * self.seconds.of_answer(given)))

    def answer_all(
        self, questions: Iterable[Question], annotator: str | None = None
    ) -> list[Answer]:
        """Answer several questions in order; see `answer`.

        Parameters
        ----------
        questions : iterable of Question
            The questions.
        annotator : str or None, default=None
            Name of the annotator. None: a random one for each question.

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

    def _draw_answer(self, question: Question, annotator: int) -> int:
        codes = CODES[question.kind]
        rows = np.array([question.rows])
        is_certain = self._is_labeled[rows].all()
        truth = codes.index(
            int(TRUTH[question.kind](self._classes, rows)[0]) if is_certain else DONT_KNOW
        )
        # The order of the answers does not depend on the order of the rows, so that the same
        # random number means the same answer.
        order = _order_of_answers(question)
        cumulated = np.cumsum(self._confusion[question.kind][annotator, truth, order])
        number = self._random_number(question, annotator)
        drawn = int(np.searchsorted(cumulated, number, side="right"))
        # Rounding may leave the sum slightly below 1.
        last = int(np.flatnonzero(np.diff(cumulated, prepend=0.0))[-1])
        return codes[order[min(drawn, last)]]

    def _draw_of_groups(self, question: Question, annotator: int) -> int:
        error, dont_know = (float(rates[annotator]) for rates in self._rates)
        pairs = None if self._is_by_rates else self._confusion["pair"][annotator]
        reader = GroupReader(error, dont_know, pairs, float(self._missed_together))
        classes = np.where(self._is_labeled, self._classes, -1)
        random = self._rng
        if self.persistent:
            seeds = (self._seed, len(KINDS), annotator, *question.rows)
            random = RandomState(np.random.SeedSequence(seeds).generate_state(4))
        if question.kind == "which_of":
            return reader.which_of(question, classes, random)
        return reader.confirm(question, classes, random)

    def _random_number(self, question: Question, annotator: int) -> float:
        """Draw from [0, 1); if persistent, compute the number from the question and annotator."""
        if not self.persistent:
            return float(self._rng.random_sample())
        _, rows = question_key(question.kind, question.rows)
        kind = KINDS.index(question.kind)
        seeds = np.random.SeedSequence((self._seed, kind, annotator, *rows))
        bits = seeds.generate_state(1, np.uint64)[0]
        return float(bits >> np.uint64(11)) * 2.0**-53


def _order_of_answers(question: Question) -> list[int]:
    """Order positions in `CODES` by the number of the row that an answer names."""
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
            f"annotators must be a positive number or names, got {annotators!r}"
        )
    if len(set(names)) < len(names):
        raise InvalidParameterError(f"annotators must have distinct names, got {names}")
    return names


class Asker(Protocol):
    """Interface of the side that asks: a strategy of `clew.questions`."""

    def ask(self, n: int = 1) -> list[Question]:
        """Return the next questions."""
        ...

    def tell(self, answers: Answer | Iterable[Answer]) -> Any:
        """Take answers."""
        ...


def ask_oracle(strategy: Asker, oracle: Oracle, n_answers: int, *, batch: int = 1) -> Iterator[int]:
    """Let a strategy ask an oracle, and yield the number of answers after each batch.

    Parameters
    ----------
    strategy : Strategy
        A started strategy; answers that it already has are kept.
    oracle : Oracle
        Answers.
    n_answers : int
        Number of answers, don't-knows not counted.
    batch : int, default=1
        Number of questions between two updates of the strategy.

    Yields
    ------
    int
        Number of answers of this loop so far, don't-knows not counted. The strategy can be read at
        this point, for example its `labels()`.

    Raises
    ------
    InvalidParameterError
        If a number is not positive.

    Notes
    -----
    Don't-knows are passed to the strategy, too, so that it does not ask these questions again. It
    ends early if the strategy has no more questions.

    Examples
    --------
    >>> from clew.oracles import SimulatedOracle, ask_oracle
    >>> from clew.questions import MostProbable
    >>> strategy = MostProbable(2, random_state=0).start([[0.0], [0.1], [5.0], [5.1]])
    >>> oracle = SimulatedOracle([0, 0, 1, 1], origin="asked")
    >>> [(n, strategy.labels().tolist()) for n in ask_oracle(strategy, oracle, 2)]
    [(1, [0, 0, 1, 1]), (2, [0, 0, 1, 1])]
    """
    if n_answers < 1 or batch < 1:
        raise InvalidParameterError(
            f"ask_oracle(n_answers={n_answers!r}, batch={batch!r}): both must be positive"
        )
    n_given = 0
    while n_given < n_answers:
        questions = strategy.ask(min(batch, n_answers - n_given))
        if not questions:
            return
        answers = [oracle.answer(question) for question in questions]
        strategy.tell(answers)
        n_given += sum(not answer.is_dont_know for answer in answers)
        yield n_given


def from_rates(
    error: ArrayLike, dont_know: ArrayLike, n_annotators: int
) -> dict[Kind, NDArray[np.float64]]:
    """Make confusion matrices from error rates."""
    wrong = _as_rates(error, "error", n_annotators)
    unknown = _as_rates(dont_know, "dont_know", n_annotators)
    if (wrong + unknown > 1).any():
        at = int(np.argmax(wrong + unknown))
        raise InvalidParameterError(
            f"error + dont_know must not exceed 1, got {wrong[at]} + {unknown[at]}"
        )
    confusion = {}
    for kind, codes in CODES.items():
        n_known = len(codes) - 1
        matrix = np.zeros((n_annotators, n_known + 1, n_known + 1))
        matrix[:, :n_known, :n_known] = (wrong / (n_known - 1))[:, None, None]
        diagonal = np.arange(n_known)
        matrix[:, diagonal, diagonal] = (1 - wrong - unknown)[:, None]
        matrix[:, :n_known, -1] = unknown[:, None]
        matrix[:, -1, -1] = 1
        confusion[kind] = matrix
    return confusion


def _as_rates(rate: ArrayLike, name: str, n_annotators: int) -> NDArray[np.float64]:
    try:
        rates = np.broadcast_to(np.asarray(rate, dtype=np.float64), (n_annotators,))
    except (TypeError, ValueError) as error:
        raise InvalidParameterError(
            f"{name} must be a number, or one number for each of {n_annotators} annotators"
        ) from error
    if not ((rates >= 0) & (rates <= 1)).all():
        raise InvalidParameterError(f"{name} must lie in [0, 1], got {rate!r}")
    return rates


def from_tables(
    confusion: ArrayLike | Mapping[Kind, ArrayLike], n_annotators: int
) -> dict[Kind, NDArray[np.float64]]:
    """Check confusion matrices."""
    if isinstance(confusion, Mapping):
        unknown = [kind for kind in confusion if kind not in CODES]
        if unknown:
            raise InvalidParameterError(
                f"confusion has the unknown kind {unknown[0]!r}; use {', '.join(CODES)}"
            )
        return {kind: _as_matrices(table, kind, n_annotators) for kind, table in confusion.items()}
    matrix = np.asarray(confusion, dtype=np.float64)
    kinds = [kind for kind, codes in CODES.items() if matrix.shape[-1:] == (len(codes),)]
    if not kinds:
        raise InvalidParameterError(
            "confusion must be 3×3 (pairs and triplets) or 5×5 (odd-one-out), or one such matrix "
            f"for each annotator; got shape {matrix.shape}"
        )
    return {kind: _as_matrices(matrix, kind, n_annotators) for kind in kinds}


def _as_matrices(table: ArrayLike, kind: Kind, n_annotators: int) -> NDArray[np.float64]:
    size = len(CODES[kind])
    matrix = np.asarray(table, dtype=np.float64)
    if matrix.shape not in ((size, size), (n_annotators, size, size)):
        raise InvalidParameterError(
            f"the confusion of {kind} answers must have shape ({size}, {size}) or "
            f"({n_annotators}, {size}, {size}), got {matrix.shape}"
        )
    if not (matrix >= 0).all() or not np.allclose(matrix.sum(axis=-1), 1, atol=1e-8):
        raise InvalidParameterError(
            f"each row of the confusion of {kind} answers must hold probabilities that add up to 1"
        )
    return np.broadcast_to(matrix, (n_annotators, size, size))


Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: Positions of "same" and "different" in a confusion matrix of pairs; "don't know" follows.
SAYS_SAME, SAYS_DIFFERENT = range(2)
#: A member is wrongly ticked this many times less often than a stranger is missed.
CARE_OF_TICKS = 5.0


class GroupReader(NamedTuple):
    """A person who reads groups and members in the order in which they are shown."""

    error: float
    dont_know: float
    pairs: Floats | None
    """Confusion of pairs, (3, 3), in place of `error` and `dont_know`."""
    missed_together: float
    """Share of misses that concern all strangers of a class on a screen."""

    def which_of(self, question: Question, classes: Ints, random: RandomState) -> int:
        """Return the first group of the item's class, or an error."""
        ends = np.cumsum(question.parts)
        rows = np.array(question.rows)
        item, *groups = [_majority(classes[part]) for part in np.split(rows, ends[:-1])]
        n = len(groups)
        if item < 0:
            return DONT_KNOW
        if self.pairs is not None:
            for number, group in enumerate(groups):
                said = _drawn(self.pairs, group == item, random)
                if said != SAYS_DIFFERENT:
                    return number if said == SAYS_SAME else DONT_KNOW
            return NONE_OF_THESE
        truth = groups.index(item) if item in groups else NONE_OF_THESE
        drawn = random.random_sample()
        if drawn < self.dont_know:
            return DONT_KNOW
        if drawn >= self.dont_know + self.error:
            return truth
        others = [code for code in range(NONE_OF_THESE, n) if code != truth]
        return int(others[random.randint(len(others))])

    def confirm(self, question: Question, classes: Ints, random: RandomState) -> int:
        """Return the ticked strangers as bits."""
        n_examples = question.parts[0]
        own = _majority(classes[list(question.rows[:n_examples])])
        members = classes[list(question.rows[n_examples:])]
        n_classes = int(classes.max(initial=0)) + 1
        if own < 0 or random.random_sample() < self.dont_know:
            return DONT_KNOW
        drawn, of_class = random.random_sample(len(members)), random.random_sample(n_classes)
        is_shared = random.random_sample(n_classes) < self.missed_together
        ticked = 0
        for at, member in enumerate(members.tolist()):
            if member < 0:
                continue
            if self.pairs is not None:
                is_ticked = _drawn(self.pairs, member == own, random) == SAYS_DIFFERENT
            elif member == own:
                is_ticked = drawn[at] < self.error / CARE_OF_TICKS
            else:
                is_ticked = (of_class[member] if is_shared[member] else drawn[at]) >= self.error
            ticked |= int(is_ticked) << at
        return ticked


def _drawn(pairs: Floats, is_same: bool, random: RandomState) -> int:
    """Draw what is said about a pair."""
    row = pairs[SAYS_SAME if is_same else SAYS_DIFFERENT]
    return int(np.searchsorted(np.cumsum(row), random.random_sample() * row.sum(), "right"))


def _majority(classes: Ints) -> int:
    """Return the most frequent class, the first of several; -1 if no example has a class."""
    labeled = classes[classes >= 0].tolist()
    return max(labeled, key=labeled.count) if labeled else -1
