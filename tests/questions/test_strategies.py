"""Promises of every strategy: replay, undo, no question twice, batches, contradictions."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone
from tests.questions.strategies import D, P, X, checks_answers, every, y

from clew import Answer, Constraints, Question
from clew.exceptions import ClewError, InvalidArgumentError, InvalidConstraintsError
from clew.oracles import SimulatedOracle

N = len(y)


def started(strategy, data=X):
    return clone(strategy).start(data, probabilities=P[: len(data), : len(data)])


def oracle(error=0.0, dont_know=0.0):
    return SimulatedOracle(y, error=error, dont_know=dont_know, random_state=3, origin="asked")


def ran(strategy, n, batch=1, answers=None):
    """A strategy after n answers."""
    answers = answers or oracle()
    while len(strategy.answers) < n:
        questions = strategy.ask(min(batch, n - len(strategy.answers)))
        if not questions:
            break
        strategy.tell(answers.answer_all(questions))
    return strategy


def state(strategy):
    return strategy.ask(3), strategy.labels().tolist()


def implied(strategy, questions):
    """Which questions about pairs the answers imply, by the closure of all answers."""
    closure = Constraints.from_answers(strategy.answers, n_samples=N).as_pairs().closure()
    pairs = [q.rows for q in questions if q.kind == "pair"]
    return [p for p in pairs if closure.is_same(*p) or closure.is_different(*p)]


@every
def test_the_same_answers_lead_to_the_same_questions(strategy):
    first = ran(started(strategy), 15)
    one_by_one, at_once = started(strategy), started(strategy)
    for answer in first.answers:
        one_by_one.tell(answer)
    at_once.tell(first.answers)
    assert state(first) == state(one_by_one) == state(at_once)


@every
def test_ask_and_labels_do_not_change_the_state(strategy):
    quiet, curious = started(strategy), started(strategy)
    right = oracle()
    for _ in range(8):
        curious.ask(5), curious.labels(), curious.ask(1)
        (question,) = quiet.ask()
        assert curious.ask() == [question]
        for one in (quiet, curious):
            one.tell(right.answer(question))


@every
def test_no_question_is_repeated_or_implied(strategy):
    asked, one = set(), started(strategy)
    right = oracle()
    for _ in range(60):
        questions = one.ask(2)
        keys = {(q.kind, frozenset(q.rows)) for q in questions}
        assert len(keys) == len(questions)
        assert not keys & asked
        assert checks_answers(one) or implied(one, questions) == []
        asked |= keys
        one.tell(right.answer_all(questions))


@every
def test_undo_restores_the_questions_and_the_groups(strategy):
    one = ran(started(strategy), 8)
    before, log = state(one), one.log
    ran(one, 14)
    retracted = one.undo(6)
    assert len(retracted) == 6
    assert state(one) == before
    assert one.log[: len(log)] == log
    assert len(one.log) == 20


@every
def test_retracting_an_answer_is_as_if_it_was_never_given(strategy):
    one = ran(started(strategy), 10)
    wrong = one.answers[4]
    one.retract(wrong)
    other = started(strategy).tell(a for i, a in enumerate(one.answers))
    assert wrong not in one.answers
    assert state(one) == state(other)
    with pytest.raises(InvalidArgumentError, match="taken back"):
        one.retract(wrong)


@pytest.mark.slow
@every
def test_right_answers_end_in_the_right_groups_and_then_nothing_is_asked(strategy):
    one = ran(started(strategy), N * N, batch=3)
    assert one.ask(5) == []
    assert np.array_equal(one.labels(), np.unique(y, return_index=True)[1].argsort().argsort()[y])


@every
def test_no_question_is_left_if_all_answers_are_dont_know(strategy):
    one = ran(started(strategy, X[:6]), 100, batch=4, answers=oracle(dont_know=1.0))
    assert one.ask() == []
    assert len(one.labels()) == 6


@every
def test_a_dont_know_is_not_asked_again_and_implies_nothing(strategy):
    one = started(strategy)
    (question,) = one.ask()
    one.tell(Answer(question, "dont_know"))
    assert question not in one.ask(10)
    assert one.known.closure.n_entailed() == (0, 0)


@every
@pytest.mark.parametrize("error", [0.3, 1.0])
def test_wrong_answers_raise_no_error(strategy, error):
    one = ran(started(strategy), 80, batch=2, answers=oracle(error=error))
    labels = one.labels()
    assert labels.shape == (N,)
    assert set(labels) == set(range(labels.max() + 1))


@every
def test_contradictions_raise_no_error(strategy):
    one = ran(started(strategy), 4)
    pairs = [((0, 1), 1), ((1, 2), 1), ((0, 2), 0), ((0, 1), 0), ((2, 3), 1), ((0, 3), 0)]
    one.tell(Answer(Question("pair", rows), value, annotator="b") for rows, value in pairs)
    # (0, 1) has as many votes for as against: it is not known. Other pairs are as first answered.
    asked = np.array([question.rows for question in one.ask(3)])
    assert checks_answers(one) or one.known.is_unknown(asked).all()
    assert len(one.labels()) == N


@every
def test_answers_of_all_kinds_are_taken(strategy):
    one = started(strategy)
    one.tell([
        Answer(Question("triplet", (0, 1, 2)), 0, annotator="a"),
        Answer(Question("odd_one_out", (3, 4, 5)), 2, annotator="b", weight=0.5),
        Answer(Question("odd_one_out", (6, 7, 8)), -1),
        Answer(Question("pair", (9, 10)), "dont_know", weight=0.0),
    ])  # fmt: skip
    assert implied(one, one.ask(5)) == []
    assert len(one.labels()) == N


@every
def test_a_batch_holds_no_pair_that_its_answers_may_imply(strategy):
    questions = [q for q in ran(started(strategy), 6).ask(12) if q.kind == "pair"]
    components = Constraints(N, pairs=[(*q.rows, 1) for q in questions]).closure().n_components
    assert components == N - len(questions)


@every
def test_questions_that_others_are_answering_are_not_asked(strategy):
    one = ran(started(strategy), 5)
    first = one.ask(2)
    second = one.ask(2, pending=first)
    assert first
    assert not {q.rows for q in first} & {q.rows for q in second}
    assert one.ask(2) == first


@every
def test_two_rows_are_enough(strategy):
    one = clone(strategy)
    if getattr(one, "n_clusters", None):
        one.set_params(n_clusters=2)
    one.start([[0.0], [1.0]])
    (question,) = one.ask(3)
    assert sorted(question.rows) == [0, 1]
    assert one.tell(Answer(question, "same")).ask() == []
    assert len(one.labels()) == 2


@every
def test_equal_rows_are_no_obstacle(strategy):
    one = ran(started(strategy, np.zeros((N, 2))), 12)
    assert checks_answers(one) or implied(one, one.ask(2)) == []
    assert one.ask(2)
    assert len(one.labels()) == N


@every
def test_distances_may_be_given(strategy):
    one = clone(strategy).set_params(metric="precomputed").start(D)
    assert 1 <= len(one.ask(2)) <= 2
    with pytest.raises(ClewError, match="symmetric"):
        one.start(D + np.arange(N))


@every
def test_strategies_in_two_threads_equal_a_strategy_alone(strategy):
    expected = state(ran(started(strategy), 12))
    with ThreadPoolExecutor(2) as pool:
        runs = [pool.submit(lambda: state(ran(started(strategy), 12))) for _ in range(2)]
        assert [run.result() for run in runs] == [expected] * 2


@every
def test_invalid_answers_are_refused_and_change_nothing(strategy):
    one = ran(started(strategy), 3)
    before = state(one)
    with pytest.raises(InvalidConstraintsError, match="rows run from 0"):
        one.tell([Answer(Question("pair", (0, 1)), 1), Answer(Question("pair", (0, N)), 1)])
    with pytest.raises(InvalidArgumentError, match="tell takes"):
        one.tell([(0, 1, 1)])
    with pytest.raises(ClewError, match="positive integer"):
        one.ask(0)
    assert state(one) == before
    with pytest.raises(InvalidArgumentError, match="call start"):
        clone(strategy).ask()


@every
def test_start_forgets_all_answers(strategy):
    one = ran(started(strategy), 5)
    assert state(one.start(X, probabilities=P)) == state(started(strategy))
    assert one.answers == ()
