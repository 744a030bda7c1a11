"""An oracle that replays the answers that people gave."""

from __future__ import annotations

from collections.abc import Iterable

from numpy.random import RandomState
from sklearn.utils import check_random_state

from clew.answers import DONT_KNOW, FIRST, SECOND, Answer, Kind, Question, question_key
from clew.constraints import Constraints
from clew.exceptions import InvalidArgumentError, InvalidParameterError

Key = tuple[Kind, tuple[int, ...]]


class ReplayOracle:
    """Answers questions with recorded answers of people, and others with don't-know.

    Parameters
    ----------
    constraints : Constraints
        The recorded answers.
    random_state : int, RandomState or None, default=None
        Seed of the choice among several answers to a question.

    Attributes
    ----------
    annotators : tuple of str
        Names of the annotators.
    n_samples : int
        Number of rows.

    Raises
    ------
    InvalidArgumentError
        If `constraints` is not a `Constraints`.

    Notes
    -----
    The rows of a question may be in another order than when it was asked. Answers of one question
    are drawn without replacement; after the last one all may be drawn again.

    Examples
    --------
    >>> from clew import Constraints, Question
    >>> from clew.oracles import ReplayOracle
    >>> oracle = ReplayOracle(Constraints.from_pairs(must_link=[(0, 1)], n_samples=3))
    >>> oracle.answer(Question("pair", (1, 0))).value, oracle.knows(Question("pair", (0, 2)))
    (1, False)
    """

    def __init__(
        self, constraints: Constraints, *, random_state: int | RandomState | None = None
    ) -> None:
        if not isinstance(constraints, Constraints):
            raise InvalidArgumentError(
                f"constraints must be a clew.Constraints, got {type(constraints).__name__}"
            )
        self.n_samples, self.annotators = constraints.n_samples, constraints.annotators
        self._rng = check_random_state(random_state)
        self._recorded: dict[Key, list[Answer]] = {}
        self._left: dict[tuple[Key, str | None], list[Answer]] = {}
        for table in constraints.tables:
            columns = (table.rows, table.answers, table.annotators, table.weights)
            for rows, code, annotator, weight in zip(*columns, strict=True):
                name = constraints.annotators[annotator]
                question = Question(table.kind, tuple(rows.tolist()))
                answer = Answer(question, int(code), name, float(weight), "asked")
                self._recorded.setdefault(question_key(question.kind, question.rows), []).append(
                    answer
                )

    def knows(self, question: Question) -> bool:
        """Return whether people were asked a question.

        Parameters
        ----------
        question : Question
            The question; the order of its rows does not matter, except the first of a triplet.

        Returns
        -------
        bool
        """
        return question_key(question.kind, question.rows) in self._recorded

    def answer(self, question: Question, annotator: str | None = None) -> Answer:
        """Answer one question.

        Parameters
        ----------
        question : Question
            The question.
        annotator : str or None, default=None
            Name of the annotator. None: any who answered it.

        Returns
        -------
        Answer
            Don't-know if the question was not asked, or not answered by this annotator.

        Raises
        ------
        InvalidParameterError
            If there is no such annotator.
        """
        if annotator is not None and annotator not in self.annotators:
            raise InvalidParameterError(
                f"there is no annotator {annotator!r}; there are {', '.join(self.annotators)}"
            )
        key = question_key(question.kind, question.rows)
        every = [
            a for a in self._recorded.get(key, ()) if annotator is None or a.annotator == annotator
        ]
        if not every:
            return Answer(question, DONT_KNOW, annotator=annotator or "", origin="asked")
        if not self._left.get((key, annotator)):
            self._left[key, annotator] = [every[k] for k in self._rng.permutation(len(every))]
        found = self._left[key, annotator].pop()
        code = _turned(found, question)
        return Answer(question, code, found.annotator, found.weight, origin="asked")

    def answer_all(
        self, questions: Iterable[Question], annotator: str | None = None
    ) -> list[Answer]:
        """Answer several questions in order; see `answer`.

        Parameters
        ----------
        questions : iterable of Question
            The questions.
        annotator : str or None, default=None
            Name of the annotator. None: any who answered each.

        Returns
        -------
        list of Answer
        """
        return [self.answer(question, annotator) for question in questions]


def _turned(found: Answer, question: Question) -> int:
    """Return the code of an answer for its rows in another order."""
    kind: Kind = question.kind
    if found.value < 0 or kind == "pair":
        return found.value
    if kind == "triplet":
        same = found.question.rows == question.rows
        return found.value if same else (SECOND if found.value == FIRST else FIRST)
    return question.rows.index(found.question.rows[found.value])
