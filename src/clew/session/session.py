"""Session: ask, tell, undo and result; `clew ask` and `clew simulate` are clients of it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from numbers import Integral
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._random import RandomState, derived_seeds
from clew._validation import Allowed
from clew.answers import Answer, Kind, Question, as_kind
from clew.cluster import GuidedClustering
from clew.exceptions import InvalidArgumentError, InvalidParameterError
from clew.oracles import Oracle
from clew.questions import Strategy
from clew.questions._answers import Retraction
from clew.session._items import items_of, started
from clew.session._loop import Loop, Queue
from clew.session._result import SessionResult, result_of


class Session:
    """Asks people questions about items, takes their answers, and groups the items.

    `ask` returns the questions whose answers help most, `tell` takes the answers, and `result`
    returns the groups, an estimate of their quality, the answers that look wrong and the number of
    questions that are left. People may answer in any order, several at once, and take answers back.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_items, n_features), default=None
        Features, dense or sparse. A data frame may hold categories, dates and texts, and missing
        values.
    distances : array-like or data frame, default=None
        In place of features: distances between items, (n_items, n_items) or condensed.
    ids : sequence of length n_items, default=None
        Unique id of each item. None: the index of a data frame, or numbers from 0.
    items : sequence, default=None
        In place of features: the ids of items of which nothing else is known. They are then
        grouped by answers alone.
    n_clusters : int or None, default=None
        Number of groups. None: estimated from answers and features; some strategies need a number,
        and some take none.
    standardize : bool or "auto", default="auto"
        Whether each feature is divided by its standard deviation. "auto": if features seem to be in
        different units, as those of a table; not those of an embedding, pixels or principal
        components. A strategy given as an object keeps its own `standardize`, if that is not
        "auto".
    strategy : str or Strategy, default="guided"
        How questions are chosen: "guided", "random", "uncertain", "most_probable", "min_max",
        "explore_consolidate", "cac1", "cobra", "cobras", "active_spectral",
        "correlation_information", "expected_change", "margin", "active_subclustering", or an object
        of `clew.questions`.
    kinds : sequence of str, default=("pair",)
        Kinds of questions: "pair", "triplet", "odd_one_out".
    check_every : int or None, default=20
        Every `check_every`-th question is a check, about a pair drawn at random;
        `SessionResult.quality_` is estimated from the checks. None: no checks.
    annotators : int, list of str or None, default=None
        How many people answer each question, or their names: then each question goes to all of
        them, and nobody else may answer. None: each question goes to one person, whoever asks
        first.
    background : bool, default=False
        Whether a thread in the background learns each answer at once. While it learns, `ask`
        returns questions that were chosen before, so questions depend on timing. False: the next
        call that needs the model learns the answers.
    random_state : int, RandomState or None, default=None
        Seed of the strategy and of the checks.
    n_jobs : int or None, default=None
        Number of threads, as in joblib. Results do not depend on it.

    Raises
    ------
    InvalidArgumentError
        If not exactly one of `X`, `distances` and `items` is given, or `standardize` without `X`.
    InvalidParameterError
        If a parameter is outside its range.
    InvalidDataError
        If data are not numbers, or not finite, or there are fewer than two items.
    InvalidConstraintsError
        If ids are missing or repeated.

    Notes
    -----
    The state is a function of the parameters, the answers in their order and who was asked what:
    sessions of the same seed ask the same questions if the same methods are called in the same
    order, unless `background` is set. Methods may be called from several threads. `tell`, `undo`
    and `retract` only record: they return at once, also while the model learns.

    See `clew.questions` for the time and memory of each strategy.

    Examples
    --------
    >>> import clew
    >>> species = {"a": "cat", "b": "cat", "c": "dog", "d": "dog"}
    >>> X = [[0.0], [0.1], [5.0], [5.2]]
    >>> session = clew.Session(X, ids=list(species), random_state=0)
    >>> for question in session.ask(3, annotator="ann"):
    ...     first, second = question.ids
    ...     word = "same" if species[first] == species[second] else "different"
    ...     _ = session.tell(question, word, annotator="ann")
    >>> dict(zip(session.ids, session.result().labels_.tolist()))
    {'a': 0, 'b': 0, 'c': 1, 'd': 1}
    """

    def __init__(
        self,
        X: ArrayLike | Any | None = None,
        *,
        distances: ArrayLike | Any | None = None,
        ids: Iterable[Hashable] | None = None,
        items: Sequence[Any] | None = None,
        n_clusters: int | None = None,
        standardize: bool | Literal["auto"] = "auto",
        strategy: str | Strategy = "guided",
        kinds: Sequence[Kind] = ("pair",),
        check_every: int | None = 20,
        annotators: int | Sequence[str] | None = None,
        background: bool = False,
        random_state: RandomState = None,
        n_jobs: int | None = None,
    ) -> None:
        check_number("check_every", check_every, low=2)
        check_number("n_clusters", n_clusters, low=1)
        wanted, queue = kinds_of(kinds), Queue(annotators)
        found = items_of(X, distances, ids, items, as_standardize(standardize))
        if n_clusters is not None and n_clusters > len(found.ids):
            raise InvalidParameterError(
                f"Session(n_clusters={n_clusters}): there are only {len(found.ids)} items"
            )
        of_strategy, of_checks = derived_seeds(random_state, 2)
        made = started(
            strategy, found, n_clusters=n_clusters, kinds=wanted, seed=of_strategy, n_jobs=n_jobs
        )
        model = GuidedClustering(
            getattr(made, "n_clusters", None),
            metric="precomputed" if found.is_distances and found.is_known else "euclidean",
            standardize=found.standardize,
            random_state=random_state if isinstance(random_state, Integral) else of_strategy,
            n_jobs=n_jobs,
        )
        self._loop = Loop(found, made, queue, check_every, of_checks, model, background=background)

    @property
    def ids(self) -> tuple[Hashable, ...]:
        """Id of each item."""
        return self._loop.items.ids.names

    @property
    def answers(self) -> tuple[Answer, ...]:
        """The answers that were not taken back, in order of arrival."""
        with self._loop.recording:
            return tuple(self._loop.log.answers)

    @property
    def log(self) -> tuple[Answer | Retraction, ...]:
        """All answers and retractions, in order of arrival."""
        with self._loop.recording:
            return tuple(self._loop.log.entries)

    @property
    def strategy(self) -> Strategy:
        """The strategy, which has learned all answers. Only read it; `tell` takes answers."""
        with self._loop.model() as model:
            return model.strategy

    def question(self, *ids: Hashable, kind: Kind = "pair") -> Question:
        """Make a question about chosen items, to `tell` an answer that was not asked for.

        Parameters
        ----------
        *ids : hashable
            Ids of two items, or of three.
        kind : {"pair", "triplet", "odd_one_out"}, default="pair"
            What is asked.

        Returns
        -------
        Question

        Raises
        ------
        InvalidConstraintsError
            If an id is unknown, or their number is wrong.
        """
        rows = self._loop.items.ids.rows_of(ids, lambda _: "question")
        return self._loop.named(Question(kind, tuple(rows.tolist()), origin="imported"))

    def ask(self, n: int = 1, *, annotator: str = "") -> list[Question]:
        """Return questions for one person.

        Parameters
        ----------
        n : int, default=1
            Number of questions.
        annotator : str, default=""
            Who is asked. Questions that this person was asked before and has not answered come
            first; questions of other people are left out, unless `annotators` says that more than
            one person answers each.

        Returns
        -------
        list of Question
            At most `n`, the most useful first, with `Question.ids`; fewer if there are no more.

        Raises
        ------
        InvalidParameterError
            If `n` is not a positive integer.
        InvalidArgumentError
            If `annotator` is not one of the session's annotators.
        """
        if not Allowed(kind=int, low=1).holds(n):
            raise InvalidParameterError(f"ask(n={n!r}): n must be a positive integer")
        return self._loop.ask(int(n), annotator)

    def tell(
        self,
        question: Question | Answer | Iterable[Answer],
        answer: str | int | None = None,
        *,
        annotator: str = "",
        weight: float = 1.0,
    ) -> Self:
        """Take an answer, to a question that was asked or to any other.

        The same answer given again has no effect. A different answer of the same person to the
        same question replaces the first one, and the log gets a retraction of that. Answers that
        contradict each other raise no error; the strategy weighs them.

        Parameters
        ----------
        question : Question, Answer or iterable of Answer
            A question from `ask` or `question`; or answers, with their annotators and weights.
            If a question has ids, they decide which items it is about, and its row numbers are
            ignored; so a question of one session can be answered in another one.
        answer : str or int, default=None
            The answer to a `Question`, as a word or a code: "same", "different" or "dont_know" to
            a pair; see `clew.answers` for other kinds.
        annotator : str, default=""
            Who answered.
        weight : float, default=1.0
            Weight of the answer, in [0, 1].

        Returns
        -------
        self

        Raises
        ------
        InvalidConstraintsError
            If the word or an id is unknown or, without ids, a row is out of range. No answer is
            taken then.
        InvalidArgumentError
            If arguments are missing, or `annotator` is not one of the session's annotators.
        """
        self._loop.tell(answers_of(question, answer, annotator, weight))
        return self

    def undo(self, annotator: str | None = None) -> Answer | None:
        """Take the last answer back, and ask its question again.

        Parameters
        ----------
        annotator : str or None, default=None
            Whose answer; None for anybody's.

        Returns
        -------
        Answer or None
            The answer that was taken back; None if there is none.
        """
        with self._loop.recording:
            for answer in reversed(self.answers):
                if annotator in (None, answer.annotator):
                    self._loop.take_back(answer)
                    self._loop.queue.hand_out_first(answer.question, answer.annotator)
                    return answer
        return None

    def retract(self, question: Question, *, annotator: str = "") -> Answer:
        """Take one answer back.

        Parameters
        ----------
        question : Question
            The question.
        annotator : str, default=""
            Who answered it.

        Returns
        -------
        Answer
            The answer.

        Raises
        ------
        InvalidArgumentError
            If this person did not answer the question.
        InvalidConstraintsError
            If the question has an unknown id.
        """
        with self._loop.recording:
            found = self._loop.queue.answer_of(self._loop.located(question), annotator)
            if found is None:
                raise InvalidArgumentError(f"{question} has no answer of {annotator!r}")
            self._loop.take_back(found)
            return found

    def release(self, annotator: str) -> Self:
        """Let the questions that a person has not answered go to others.

        Parameters
        ----------
        annotator : str
            Who has left.

        Returns
        -------
        self
        """
        with self._loop.recording:
            self._loop.queue.release(annotator)
        return self

    def run(self, oracle: Oracle, budget: int, *, batch: int = 1) -> Self:
        """Let an oracle answer questions; call it again to continue.

        Parameters
        ----------
        oracle : Oracle
            Answers, such as `clew.oracles.SimulatedOracle`.
        budget : int
            Number of further answers; don't-knows count.
        batch : int, default=1
            Number of questions asked at once.

        Returns
        -------
        self

        Raises
        ------
        InvalidParameterError
            If a number is not positive.
        InvalidArgumentError
            If more people are to answer each question than the oracle has.

        Notes
        -----
        It ends early if there are no more questions. If several people answer each question, the
        oracle answers as each of them.
        """
        for name, value in (("budget", budget), ("batch", batch)):
            if not Allowed(kind=int, low=1).holds(value):
                raise InvalidParameterError(f"run({name}={value!r}): it must be a positive integer")
        people = self._loop.queue.people(getattr(oracle, "annotators", ()))
        left, is_done = budget, False
        while left and not is_done:
            is_done = True
            for person in people:
                questions = self.ask(min(batch, left), annotator=person or "") if left else []
                self.tell([oracle.answer(question, person) for question in questions])
                left, is_done = left - len(questions), is_done and not questions
        return self

    def labels(self) -> NDArray[np.int64]:
        """Return the strategy's groups so far, fast; `result` has those of `GuidedClustering`.

        Returns
        -------
        ndarray of shape (n_items,), int64
            Group of each item, numbered from 0 in the order of their first items.
        """
        with self._loop.model() as model:
            return model.strategy.labels()

    def result(self) -> SessionResult:
        """Return what is known so far: groups, doubts, quality, and the questions that remain.

        Returns
        -------
        SessionResult
            Later answers do not change it.

        Notes
        -----
        With the strategy "guided", groups and doubts are those of ``GuidedClustering(n_clusters,
        random_state=random_state)``, fitted to the same items and answers: the same wherever one
        asks. The fit is kept until there are other answers. Other strategies have groups of their
        own.
        """
        with self._loop.model() as model:
            return result_of(self._loop, model)

    def __repr__(self) -> str:
        name = self._loop.strategy_name
        return f"Session({len(self.ids)} items, {len(self.answers)} answers, strategy={name})"


def check_number(name: str, value: object, *, low: int) -> None:
    """Refuse a parameter that is neither None nor an integer of `low` or more."""
    allowed = Allowed(kind=int, low=low, none=True)
    if not allowed.holds(value):
        raise InvalidParameterError(f"Session({name}={value!r}): {name} must be {allowed}")


def as_standardize(value: object) -> bool | Literal["auto"]:
    """Refuse anything but True, False and "auto"."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if value != "auto":
        raise InvalidParameterError(
            f"Session(standardize={value!r}): standardize must be True, False or 'auto'"
        )
    return "auto"


def kinds_of(kinds: object) -> tuple[str, ...]:
    """Return kinds of questions, each once, in the order given."""
    if isinstance(kinds, str) or not isinstance(kinds, Iterable):
        raise InvalidParameterError(
            f"Session(kinds={kinds!r}): kinds must be a list, such as ['pair', 'odd_one_out']"
        )
    found = tuple(dict.fromkeys(as_kind(kind) for kind in kinds))
    if not found:
        raise InvalidParameterError("Session(kinds=()): name at least one kind")
    return found


def answers_of(
    question: object, answer: str | int | None, annotator: str, weight: float
) -> list[Answer]:
    """Convert the arguments of `Session.tell` to a list of answers."""
    if isinstance(question, Question):
        if answer is None:
            raise InvalidArgumentError("tell(question, answer): the answer is missing")
        return [Answer(question, answer, annotator, weight, question.origin)]
    is_many = isinstance(question, Iterable) and not isinstance(question, str)
    if answer is not None or not (is_many or isinstance(question, Answer)):
        raise InvalidArgumentError(
            f"tell takes a Question and an answer, or Answers; got {question!r}; "
            "session.question('a', 'b') makes a question about the items 'a' and 'b'"
        )
    return [question] if isinstance(question, Answer) else list(question)  # type: ignore[call-overload]
