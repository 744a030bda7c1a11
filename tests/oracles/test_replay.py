"""Recorded answers are replayed; the loop of a simulation."""

import pytest

from clew import Constraints, Question
from clew.exceptions import InvalidArgumentError, InvalidParameterError
from clew.oracles import ReplayOracle, SimulatedOracle, ask_oracle
from clew.questions import MostProbable, RandomPairs

RECORDED = Constraints(
    6,
    pairs=[(0, 1, 1), (0, 1, 0), (0, 1, 1), (2, 3, -2)],
    pair_annotators=["a", "b", "c", "a"],
    triplets=[(0, 1, 2, 0)],
    odd_one_out=[(3, 4, 5, 2), (0, 1, 2, -1)],
)


def test_it_returns_the_recorded_answers():
    oracle = ReplayOracle(RECORDED, random_state=0)
    question = Question("pair", (1, 0))
    answers = [oracle.answer(question) for _ in range(3)]
    assert sorted((a.annotator, a.value) for a in answers) == [("a", 1), ("b", 0), ("c", 1)]
    assert oracle.answer(question, "b").value == 0
    assert oracle.answer(Question("pair", (2, 3)), "b").is_dont_know
    assert answers[0].question == question


def test_the_order_of_rows_does_not_matter():
    oracle = ReplayOracle(RECORDED)
    assert oracle.answer(Question("triplet", (0, 1, 2))).value == 0
    assert oracle.answer(Question("triplet", (0, 2, 1))).value == 1
    assert oracle.answer(Question("odd_one_out", (5, 3, 4))).value == 0
    assert oracle.answer(Question("odd_one_out", (2, 1, 0))).value == -1


def test_questions_that_were_not_recorded_are_answered_dont_know():
    oracle = ReplayOracle(RECORDED)
    assert oracle.knows(Question("pair", (3, 2)))
    assert not oracle.knows(Question("triplet", (1, 0, 2)))
    assert oracle.answer(Question("pair", (0, 5))).is_dont_know


def test_invalid_records_and_annotators_are_refused():
    with pytest.raises(InvalidArgumentError, match="Constraints"):
        ReplayOracle([(0, 1, 1)])
    with pytest.raises(InvalidParameterError, match="no annotator 'z'"):
        ReplayOracle(RECORDED).answer(Question("pair", (0, 1)), "z")
    with pytest.raises(InvalidParameterError, match="positive"):
        next(ask_oracle(RandomPairs(), ReplayOracle(RECORDED), 0))


def test_the_loop_counts_answers_that_are_known():
    X = [[0.0], [0.1], [3.0], [3.1], [7.0], [7.1]]
    strategy = MostProbable(3, random_state=0).start(X)
    oracle = SimulatedOracle([0, 0, 1, 1, 2, 2], dont_know=0.4, random_state=1)
    counts = list(ask_oracle(strategy, oracle, 4, batch=2))
    n_known = sum(not answer.is_dont_know for answer in strategy.answers)
    assert counts[-1] == n_known
    assert n_known == 4 or strategy.ask() == []


def test_the_loop_ends_when_no_questions_are_left():
    strategy = RandomPairs(2, random_state=0).start([[0.0], [0.1], [3.0], [3.1]])
    counts = list(ask_oracle(strategy, SimulatedOracle([0, 0, 1, 1]), 99))
    assert counts == list(range(1, len(counts) + 1))
    assert len(counts) < 6
