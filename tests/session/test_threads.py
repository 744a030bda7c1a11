"""Answers are recorded at once, also while the model learns; results do not depend on threads."""

import pickle
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import pytest
from tests.session.small import N, X, Y

from clew import Answer, Question, Session
from clew.oracles import SimulatedOracle
from clew.questions import MostProbable
from clew.questions._answers import key_of
from clew.session._loop import Chooser, Loop

pytestmark = pytest.mark.usefixtures("small_search")

PATIENCE = 120

#: The model of `Slow` does not finish learning before `gate` is set.
gate, is_learning = threading.Event(), threading.Event()


class Slow(MostProbable):
    """Learns answers only while `gate` is open."""

    def _learn(self, answers: Sequence[Answer]) -> None:
        if answers:
            is_learning.set()
            assert gate.wait(PATIENCE)
        super()._learn(answers)


@pytest.fixture(autouse=True)
def _open_gate() -> Iterator[None]:
    gate.set()
    is_learning.clear()
    yield
    gate.set()


def session(**parameters: Any) -> Session:
    given: dict[str, Any] = {"strategy": "most_probable", "random_state": 0} | parameters
    return Session(X, **given)


def oracle(**parameters: Any) -> SimulatedOracle:
    return SimulatedOracle(Y, **({"random_state": 0} | parameters))


def in_threads(*calls: Any) -> list[Any]:
    with ThreadPoolExecutor(len(calls)) as pool:
        return [each.result(PATIENCE) for each in [pool.submit(call) for call in calls]]


def wait_until(is_true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.001)


def test_answers_are_recorded_while_the_model_learns() -> None:
    found = session(strategy=Slow(random_state=0))
    first, second = found.ask(2, annotator="ann")
    found.tell(first, "same", annotator="ann")
    gate.clear()
    with ThreadPoolExecutor(1) as pool:
        asking = pool.submit(found.ask, annotator="bob")
        assert is_learning.wait(PATIENCE)
        found.tell(second, "same", annotator="ann")
        assert len(found.answers) == len(found.log) == 2
        assert found.undo("ann") is not None
        assert found.ask(annotator="ann") == [second]
        gate.set()
        assert len(asking.result(PATIENCE)) == 1
    assert found.strategy.answers == found.answers


def test_in_the_background_questions_are_asked_while_the_model_learns() -> None:
    found = session(strategy=Slow(random_state=0), background=True)
    (first,) = found.ask()
    found.tell(first, "different")
    (second,) = found.ask()
    wait_until(lambda: found._loop._worker is None)  # questions were chosen ahead
    gate.clear()
    found.tell(second, "different")
    assert is_learning.wait(PATIENCE)
    asked = [key_of(found.ask(annotator=name)[0]) for name in ("ann", "bob", "eve")]
    gate.set()
    assert len({*asked, key_of(first), key_of(second)}) == 5
    assert found.strategy.answers == found.answers


@pytest.mark.parametrize("background", [False, True])
def test_a_question_answered_after_the_model_has_learned_is_not_chosen_again(
    background: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = session(background=background)
    (first,) = found.ask(annotator="ann")
    learn = Chooser.learn

    def then_told(chooser: Chooser, *log_and_checks: Any) -> None:
        learn(chooser, *log_and_checks)
        found.tell(first, "different", annotator="ann")

    monkeypatch.setattr(Chooser, "learn", then_told)
    (second,) = found.ask(annotator="bob")
    assert key_of(second) != key_of(first)


@pytest.mark.parametrize("background", [False, True])
def test_many_threads_lose_no_answer(background: bool) -> None:
    found, people = session(background=background, check_every=5), oracle()

    def answer(name: str) -> int:
        n = 0
        for _ in range(6):
            for question in found.ask(2, annotator=name):
                found.tell(question, people.answer(question).value, annotator=name)
                n += 1
        return n

    given = in_threads(*(lambda name=name: answer(name) for name in ("ann", "bob", "eve")))
    keys = [key_of(each.question) for each in found.answers]
    assert len(keys) == len(set(keys)) == sum(given)
    assert found.strategy.answers == found.answers
    assert len(found.result().labels_) == N


def test_an_error_of_the_model_is_raised_by_the_next_call() -> None:
    class Broken(MostProbable):
        def _learn(self, answers: Sequence[Answer]) -> None:
            if answers:
                raise MemoryError("full")

    found = session(strategy=Broken(random_state=0), background=True)
    found.tell(found.ask()[0], "same")
    with pytest.raises(MemoryError, match="full"):
        found.labels()
    assert len(found.answers) == 1


@pytest.mark.parametrize(
    ("error", "background"), [(KeyboardInterrupt, False), (MemoryError, False), (MemoryError, True)]
)
def test_after_an_interruption_all_answers_are_learned_once(
    error: type[BaseException], background: bool
) -> None:
    class Interrupted(MostProbable):
        raises = True

        def _learn(self, answers: Sequence[Answer]) -> None:
            if len(self.known.asked) == 3 and Interrupted.raises:
                Interrupted.raises = False
                raise error
            super()._learn(answers)

    found = session(strategy=Interrupted(random_state=0), background=background)
    questions = found.ask(4)
    with suppress(error):  # in the background, an error may come before or after the last answer
        for question, word in zip(questions, ("same", "different", "same"), strict=False):
            found.tell(question, word).labels()
    with suppress(error):
        found.labels()
    assert not Interrupted.raises
    found.tell(questions[3], "different").undo()
    assert found.strategy.answers == found.answers
    assert len(found.answers) == 3
    whole = session(strategy=MostProbable(random_state=0)).tell(found.answers)
    assert (found.labels() == whole.labels()).all()


@pytest.mark.parametrize("background", [False, True])
def test_a_strategy_that_repeats_itself_is_not_asked_for_ever(background: bool) -> None:
    class Repeating(MostProbable):
        def _choose(self, n: int, pending: Sequence[Question]) -> list[Question]:
            return [Question("pair", (0, 1))]

    found = session(strategy=Repeating(random_state=0), background=background)
    assert len(found.ask(annotator="ann")) == 1
    assert found.ask(annotator="bob") == []


def test_without_a_free_thread_the_next_call_learns(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    found = session(background=True)
    monkeypatch.setattr(threading.Thread, "start", fails)
    found.run(oracle(), 5)
    assert len(found.strategy.answers) == 5


def test_a_copy_does_not_change_while_it_is_written() -> None:
    found = session().run(oracle(), 3)
    state = found._loop.__getstate__()
    found.run(oracle(), 3)
    written = Loop.__new__(Loop)
    written.__setstate__(state)
    assert len(written.log.entries) == len(written.queue.asked) == 3


def test_a_released_check_that_the_strategy_asks_later_is_not_a_check() -> None:
    found = Session(X[:3], strategy="most_probable", check_every=2, random_state=0)
    found.tell(found.question(0, 2), "different")
    (check,) = found.ask()
    assert check.origin == "random"
    found.release("")
    (other,) = {(0, 1), (1, 2)} - {check.rows}
    found.tell(found.question(*other), "dont_know")
    (question,) = found.ask()
    assert key_of(question) == key_of(check)
    assert question.origin == "asked"
    found.tell(question, "same")
    assert found._loop.answered_checks() == []


def test_a_session_in_the_background_is_copied() -> None:
    found = session(background=True).run(oracle(), 8)
    other = pickle.loads(pickle.dumps(found))
    assert other.answers == found.answers
    assert len(other.run(oracle(), 5).answers) == 13


@pytest.mark.slow
def test_checks_are_asked_in_the_background() -> None:
    found = session(strategy="guided", background=True, check_every=4).run(oracle(), 24)
    origins = [answer.origin for answer in found.answers]
    assert origins.count("random") == 6
    quality = found.result().quality_
    assert quality is not None
    assert quality.n_checks == 6


@pytest.mark.slow
def test_the_order_of_calls_alone_decides_without_background() -> None:
    one, other = session(strategy="guided"), session(strategy="guided")
    for _ in range(8):
        questions = one.ask(2)
        assert other.ask(2) == questions
        answers = oracle(error=0.2).answer_all(questions)
        one.tell(answers).labels()
        for answer in answers:
            other.tell(answer)
    assert (one.labels() == other.labels()).all()
