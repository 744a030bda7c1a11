"""Doubtful answers are outvoted by others or clearly contradicted by features, and mostly wrong."""

import numpy as np
import pytest

from clew import Answer, Question, Session
from clew.datasets import load
from clew.oracles import SimulatedOracle
from clew.questions import Guided
from clew.session._result import are_outvoted

pytestmark = pytest.mark.usefixtures("small_search")


def pair(i: int, j: int, value: int, *, annotator: str = "", weight: float = 1.0) -> Answer:
    return Answer(Question("pair", (i, j)), value, annotator=annotator, weight=weight)


def test_one_answer_against_two_is_outvoted() -> None:
    labels = np.array([0, 0, 0, 1])
    answers = [pair(0, 1, 1), pair(1, 2, 1), pair(0, 2, 0), pair(0, 3, 0)]
    np.testing.assert_array_equal(are_outvoted(answers, labels), [False, False, True, False])


def test_an_answer_against_the_groups_alone_is_not_outvoted() -> None:
    labels = np.array([0, 0, 1, 1])
    assert not are_outvoted([pair(0, 1, 0), pair(2, 3, 1)], labels).any()
    assert not are_outvoted([pair(0, 2, 1), pair(0, 3, 1), pair(1, 2, -2)], labels).any()


def test_weights_and_annotators_decide() -> None:
    labels = np.array([0, 0, 1])
    split = [pair(0, 1, 1, annotator="a"), pair(0, 1, 0, annotator="b")]
    assert are_outvoted(split, labels).tolist() == [False, True]
    assert not are_outvoted([pair(0, 1, 1, weight=0.0), pair(0, 1, 0, annotator="b")], labels).any()


def test_an_odd_one_out_answer_is_outvoted_by_pairs() -> None:
    labels = np.array([0, 0, 1])
    wrong = Answer(Question("odd_one_out", (0, 1, 2)), 0)
    assert are_outvoted([wrong, pair(0, 1, 1)], labels).tolist() == [True, False]
    assert not are_outvoted([wrong], labels).any()


def test_groups_alone_make_no_doubt() -> None:
    session = Session(
        np.arange(8.0)[:, None], strategy="most_probable", n_clusters=2, random_state=0
    )
    session.tell(session.question(0, 7), "same").tell(session.question(0, 1), "same")
    outvoted = are_outvoted(session.answers, session.labels())
    doubtful = {doubt.answer for doubt in session.result().doubtful_}
    assert doubtful <= {
        answer for answer, is_out in zip(session.answers, outvoted, strict=True) if is_out
    }


@pytest.mark.slow
@pytest.mark.parametrize("error", [0.05, 0.2])
def test_most_doubtful_answers_are_wrong(error: float) -> None:
    data = load("wine")
    assert data.X is not None
    n_doubts = n_wrong = 0
    for seed in range(2):
        rows = np.random.RandomState(seed).permutation(len(data.y))[:100]
        X, y = data.X[rows], np.asarray(data.y)[rows]
        session = Session(X, strategy=Guided(update_every=10, random_state=seed), random_state=seed)
        oracle = SimulatedOracle(y, error=error, random_state=seed)
        for _ in range(2):
            result = session.run(oracle, 80, batch=5).result()
            for doubt in result.doubtful_:
                i, j = doubt.answer.question.rows
                n_doubts += 1
                n_wrong += (y[i] == y[j]) != bool(doubt.answer.value)
    assert n_doubts > 10
    assert n_wrong / n_doubts >= 0.6
