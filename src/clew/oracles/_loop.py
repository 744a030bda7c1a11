"""The loop of questions and answers, for simulations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from clew.answers import Answer, Question
from clew.exceptions import InvalidParameterError
from clew.oracles._simulated import Oracle

__all__ = ["Asker", "ask_oracle"]


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
