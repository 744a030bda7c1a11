"""The protocol that all strategies share: ask, tell, undo, and the groups so far."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._estimators import OfDistances
from clew._validation import RandomState, check_n_clusters, check_parameters, derived_seeds
from clew.answers import KINDS, Answer, Kind, Question, SecondsModel
from clew.constraints import Support
from clew.exceptions import (
    InvalidArgumentError,
    InvalidConstraintsError,
    InvalidDataError,
    InvalidParameterError,
)
from clew.questions._answers import Batch, KnownPairs
from clew.questions._group_questions import group_examples


@dataclass(frozen=True, slots=True)
class Retraction:
    """An entry of a strategy's log that takes an earlier answer back."""

    position: int


class Strategy(OfDistances, ABC):
    """Base of all strategies: the log of answers, what they imply, and the order of the calls.

    Call ``start(X)`` first, then ``ask`` and ``tell`` in turn, and ``labels`` at any time. The
    state is a function of the parameters, the data, and the answers that were not taken back, in
    their order: equal states ask the same questions. `ask` does not change the state, so two calls
    return the same questions; those that other people are answering are passed as `pending`.

    A subclass writes `_prepare`, `_choose` and `_group`, `_forget` and `_learn` if it keeps a state
    of its own besides `known`, and `_saved_state` and `_restore` if that takes long to compute.
    `_learn` gets the answers in their order but in portions that differ, for example after `undo`:
    its result must not depend on the portions.

    A caller that keeps the answers itself, such as `Session`, calls `learn` with all of them in
    place of `tell`, `undo` and `retract`.

    Attributes
    ----------
    known : KnownPairs
        What the answers imply.
    n_samples_ : int
        Number of rows.
    """

    #: Answers of all kinds may be given; each strategy decides how to use them.
    supports: ClassVar[Support] = Support(
        pairs=True, triplets=True, odd_one_out=True, dont_know=True
    )

    #: Whether `labels` are the strategy's result; if not, they are a draft of those of
    #: `GuidedClustering`, fitted to the same answers.
    has_own_groups: ClassVar[bool] = True

    #: Kinds of questions whose answers the strategy takes as they are; a session passes others as
    #: the pairs that they imply.
    learns_kinds: ClassVar[tuple[Kind, ...]] = KINDS

    #: Seconds that answers of the person who is asked take, as they were measured. None: as the
    #: strategy assumes.
    pace: SecondsModel | None = None

    n_samples_: int
    known: KnownPairs
    metric: str
    random_state: RandomState
    _log: list[Answer | Retraction]
    """All answers that were told, and retractions, in order of arrival."""
    _held: dict[int, Answer]
    """The answers that were not taken back, by their positions in the log."""
    _learned: list[Answer] | None
    """The answers that the state follows from; None while it is being computed."""
    _seed: int
    _kinds: tuple[Kind, ...] = ("pair",)
    """Kinds of questions that `_choose` returns."""
    _without: frozenset[int] = frozenset()
    """Rows that are not shown."""

    def start(self, X: ArrayLike, *, probabilities: ArrayLike | None = None) -> Self:
        """Take the data, and forget all answers.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
            Features, or distances between rows if `metric` is "precomputed"; distances may also
            be condensed, as SciPy's ``pdist`` returns them.
        probabilities : array-like of shape (n_samples, n_samples), default=None
            Probability that two rows are in the same group, symmetric. None: from
            `clew.cluster.consensus_probabilities`.

        Returns
        -------
        self

        Raises
        ------
        InvalidParameterError
            If a parameter is outside its range.
        InvalidDataError
            If `X` is not finite or, for distances, not symmetric, or `probabilities` are not.
        """
        check_parameters(self, self._allowed)
        checked = self._checked(X)
        self.n_samples_ = len(checked)
        if getattr(self, "n_clusters", None) is not None:
            check_n_clusters(self, len(checked))
        (self._seed,) = derived_seeds(self.random_state, 1)
        self._prepare(checked, probabilities)
        self._log, self._held, self._learned = [], {}, None
        return self.learn([])

    def learn(self, answers: Iterable[Answer]) -> Self:
        """Take all answers so far, in their order, in place of those learned before.

        Parameters
        ----------
        answers : iterable of Answer
            All answers. If they begin with those learned before, only the others are learned;
            otherwise all are learned anew.

        Returns
        -------
        self
        """
        self._started()
        wanted, learned = list(answers), self._learned
        self._learned = None  # an interrupted call leaves a state that is computed anew
        if learned is None or wanted[: len(learned)] != learned:
            self.known, learned = KnownPairs(self.n_samples_), []
            self._forget()
        new = wanted[len(learned) :]
        if new or not learned:
            self.known.add(new)
            self._learn(new)
        self._learned = wanted
        return self

    def ask(
        self,
        n: int = 1,
        *,
        pending: Iterable[Question] = (),
        kinds: Sequence[Kind] | None = None,
        allows: Callable[[Question], bool] | None = None,
        without: Collection[int] = (),
    ) -> list[Question]:
        """Return the questions to ask next, the best first.

        Parameters
        ----------
        n : int, default=1
            Number of questions.
        pending : iterable of Question, default=()
            Questions that are being answered by other people; they are not returned.
        kinds : sequence of str, default=None
            Kinds of questions that are wanted, of those that the strategy asks. None: all.
        allows : callable, default=None
            Takes a question and returns whether it may be asked. None: all may.
        without : collection of int, default=()
            Rows that are not shown, not even as examples of groups. Of questions about such rows
            `allows` has to return false, too.

        Returns
        -------
        list of Question
            At most `n`. Fewer if answers to these, or to `pending` ones, may imply the others;
            none if the answers imply every pair, or all pairs were asked about.

        Raises
        ------
        InvalidParameterError
            If `n` is not a positive integer.
        """
        self._started()
        if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
            raise InvalidParameterError(f"ask(n={n!r}): n must be a positive integer")
        waiting = list(pending)
        for question in waiting:
            if not isinstance(question, Question) or max(question.rows) >= self.n_samples_:
                raise InvalidArgumentError(f"pending must be questions about rows, got {question}")
        own, wanted, self._without = self._kinds, int(n), frozenset(without)
        if kinds is not None:
            self._kinds = tuple(kind for kind in own if kind in kinds)
        try:
            while self._kinds:
                found = self._choose(wanted, waiting)
                suitable = [each for each in found if allows is None or allows(each)]
                if len(suitable) >= n or len(found) < wanted:
                    return suitable[:n]
                wanted *= 4  # too many of them may not be asked
        finally:
            self._kinds = own
        return []

    def tell(self, answers: Answer | Iterable[Answer]) -> Self:
        """Take answers, to questions that were asked or any others.

        Contradictions raise no error: each strategy weighs them, or sets the later answer aside.

        Parameters
        ----------
        answers : Answer or iterable of Answer
            In order of arrival. On an error none of them is taken.

        Returns
        -------
        self

        Raises
        ------
        InvalidArgumentError
            If one is not an `Answer`.
        InvalidConstraintsError
            If a row is out of range.
        """
        self._started()
        new = [answers] if isinstance(answers, Answer) else list(answers)
        for answer in new:
            if not isinstance(answer, Answer):
                raise InvalidArgumentError(f"tell takes clew.Answer objects, got {answer!r}")
            if max(answer.question.rows) >= self.n_samples_:
                raise InvalidConstraintsError(
                    f"{answer.question}: rows run from 0 to {self.n_samples_ - 1}"
                )
        self._held |= dict(enumerate(new, start=len(self._log)))
        self._log += new
        return self.learn(self._held.values())

    def undo(self, n: int = 1) -> list[Answer]:
        """Take the last answers back, by appending retractions to the log.

        Parameters
        ----------
        n : int, default=1
            Number of answers; all if there are fewer.

        Returns
        -------
        list of Answer
            The answers, the last one first.
        """
        self._started()
        retracted = [self._take_back(position) for position in list(self._held)[::-1][:n]]
        self.learn(self._held.values())
        return retracted

    def retract(self, answer: Answer) -> Self:
        """Take one answer back, by appending a retraction to the log.

        Parameters
        ----------
        answer : Answer
            The answer; of several equal ones, the last.

        Returns
        -------
        self

        Raises
        ------
        InvalidArgumentError
            If it was not given, or was taken back before.
        """
        self._started()
        positions = [position for position, each in self._held.items() if each == answer]
        if not positions:
            raise InvalidArgumentError(f"{answer} was not given, or was taken back before")
        self._take_back(positions[-1])
        return self.learn(self._held.values())

    def _take_back(self, position: int) -> Answer:
        self._log.append(Retraction(position))
        return self._held.pop(position)

    def labels(self) -> NDArray[np.int64]:
        """Return the groups so far.

        Returns
        -------
        ndarray of shape (n_samples,), int64
            Group of each row; groups are numbered from 0 in the order of their first rows. -1 for
            rows that `ActiveSubclustering` leaves out.
        """
        self._started()
        return in_order_of_rows(self._group())

    def probabilities(self, pairs: ArrayLike | None = None) -> NDArray[np.float32] | None:
        """Return the probability that the rows of a pair are in one group, if it is estimated.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2), default=None
            Row numbers. None: all pairs.

        Returns
        -------
        ndarray of shape (n_pairs,) or (n_samples, n_samples), float32, or None
            None if the strategy does not estimate probabilities from the answers.
        """
        return None

    def examples_of_group(self, row: int, n: int = 3, *, hidden: Sequence[int] = ()) -> list[int]:
        """Return further rows of the group of a row, to be shown beside it in a question.

        Parameters
        ----------
        row : int
            The row.
        n : int, default=3
            Number of examples, the most typical first.
        hidden : sequence of int, default=()
            The other rows of the question. What is known of them is not looked at, so that the
            examples tell nothing of the answer.

        Returns
        -------
        list of int
            Empty if fewer than three other rows are surely the same as this one, or if the strategy
            does not estimate probabilities.
        """
        return group_examples(self.probabilities, self.n_samples_, row, hidden, n)

    def answer_doubts(self) -> NDArray[np.float64] | None:
        """Return the probability that each answer is wrong, if it is estimated.

        Returns
        -------
        ndarray of shape (n_answers,) or None
            In the order of `answers`; None if the strategy does not estimate it.
        """
        return None

    def error_rate(self) -> float | None:
        """Return the share of wrong answers, if it is estimated.

        Returns
        -------
        float or None
            None if the strategy does not estimate it.
        """
        return None

    def state(self) -> dict[str, NDArray[Any]]:
        """Return what takes long to compute from answers, to be saved.

        Returns
        -------
        dict of str to ndarray
            For `set_state` of a strategy with the same parameters and data. Empty if the strategy
            computes everything quickly.
        """
        self._started()
        return self._saved_state()

    def set_state(self, state: Mapping[str, ArrayLike]) -> Self:
        """Take a saved state; call it after `start`, before the answers are learned.

        Parameters
        ----------
        state : mapping of str to array-like
            As `state` returned it. It is ignored if the answers that are learned do not begin with
            those that it was computed from.

        Returns
        -------
        self

        Raises
        ------
        InvalidDataError
            If the arrays are not those of `state`.
        """
        self._started()
        try:
            self._restore({name: np.asarray(array) for name, array in state.items()})
        except (KeyError, ValueError, IndexError) as error:
            raise InvalidDataError(
                f"this is no state of {type(self).__name__} for these data ({error!r}); learn the "
                "answers instead"
            ) from error
        return self

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers that were learned, in order of arrival."""
        self._started()
        return tuple(self._learned or ())

    @property
    def log(self) -> tuple[Answer | Retraction, ...]:
        """All answers that were told, and retractions, in order of arrival."""
        self._started()
        return tuple(self._log)

    def _started(self) -> None:
        if not hasattr(self, "_log"):
            raise InvalidArgumentError(f"{type(self).__name__}: call start(X) first")

    @abstractmethod
    def _prepare(self, X: NDArray[np.float64], probabilities: ArrayLike | None) -> None:
        """Compute what does not depend on answers."""

    @abstractmethod
    def _choose(self, n: int, pending: Sequence[Question]) -> list[Question]:
        """Return at most `n` questions, without changing the state."""

    @abstractmethod
    def _group(self) -> NDArray[np.integer]:
        """Return a group for each row."""

    def _forget(self) -> None:
        """Reset the strategy's own state to that without answers; `known` is empty then."""

    def _learn(self, answers: Sequence[Answer]) -> None:
        """Add answers, in their order, to the strategy's own state; `known` holds them already."""

    def _saved_state(self) -> dict[str, NDArray[Any]]:
        """Return what `state` returns."""
        return {}

    def _restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Take a saved state; `KeyError`, `ValueError` or `IndexError` if it is none."""


class PairStrategy(Strategy):
    """A strategy that ranks pairs, and asks about the best open ones."""

    def _choose(self, n: int, pending: Sequence[Question]) -> list[Question]:
        batch = Batch(self.known, pending)
        chosen: list[Question] = []
        for pairs in self._candidates():
            for i, j in pairs[self.known.is_unknown(pairs)].tolist():
                if batch.accept(i, j):
                    chosen.append(Question("pair", (i, j)))
                if len(chosen) == n or batch.is_full():
                    return chosen
        return chosen

    @abstractmethod
    def _candidates(self) -> Iterator[NDArray[np.integer]]:
        """Return all pairs that may be asked, in blocks of shape (m, 2), the best first."""


def in_order_of_rows(labels: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return labels with groups numbered from 0 in the order of their first rows; -1 stays."""
    ordered = np.full(len(labels), -1, np.int64)
    is_in = labels >= 0
    _, first, group = np.unique(labels[is_in], return_index=True, return_inverse=True)
    ordered[is_in] = np.argsort(np.argsort(first))[group]
    return ordered
