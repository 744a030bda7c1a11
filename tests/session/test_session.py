"""Session: the loop of ask and tell, and its promises."""

import copy
import inspect
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from tests.session.small import IDS, N, X, Y, oracle, session

import clew
from clew import Answer, GuidedClustering, Question
from clew.exceptions import InvalidArgumentError, InvalidConstraintsError, InvalidParameterError
from clew.metrics import adjusted_rand_score
from clew.questions import Guided, MostProbable
from clew.questions._answers import key_of
from clew.session._items import STRATEGIES

pytestmark = pytest.mark.usefixtures("small_search")


def test_the_loop_finds_the_groups() -> None:
    found = session(strategy="guided").run(oracle(), 40)
    assert len(found.answers) == 40
    assert adjusted_rand_score(Y, found.labels()) == 1


def test_questions_name_their_items() -> None:
    for question in session().ask(5):
        assert question.ids == tuple(IDS[row] for row in question.rows)


def test_a_second_run_continues_the_first() -> None:
    at_once, in_parts = session().run(oracle(), 30), session()
    with_errors = oracle()
    in_parts.run(with_errors, 12).run(with_errors, 18)
    assert in_parts.answers == at_once.answers


def test_the_same_calls_ask_the_same_questions() -> None:
    first, second = session(), session()
    for _ in range(3):
        assert first.ask(4) == second.ask(4)
        for each in (first, second):
            each.tell(oracle().answer_all(each.ask(4)))


@pytest.mark.slow
def test_sessions_in_two_threads_equal_a_session_alone() -> None:
    alone = session(strategy="guided").run(oracle(error=0.1), 20).answers

    def run(_: int) -> tuple[Answer, ...]:
        return session(strategy="guided").run(oracle(error=0.1), 20).answers

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(run, range(2))) == [alone, alone]


def test_people_at_once_get_different_questions() -> None:
    shared = session()
    names = [f"p{k}" for k in range(4)]
    with ThreadPoolExecutor(4) as pool:
        asked = list(pool.map(lambda name: shared.ask(3, annotator=name), names))
    keys = [key_of(question) for questions in asked for question in questions]
    assert len(set(keys)) == len(keys) == 12


def test_an_annotator_who_asks_again_gets_the_same_questions() -> None:
    asking = session()
    first = asking.ask(3, annotator="ann")
    assert asking.ask(3, annotator="ann") == first
    asking.tell(first[0], "same", annotator="ann")
    assert asking.ask(3, annotator="ann")[:2] == first[1:]
    assert asking.ask(2, annotator="ann") == first[1:]


def test_released_questions_go_to_others() -> None:
    asking = session()
    (question,) = asking.ask(annotator="ann")
    assert asking.ask(annotator="bob") != [question]
    assert asking.release("ann").release("bob").ask(annotator="eve") == [question]


def test_two_people_answer_each_question_if_wanted() -> None:
    asking = session(annotators=2)
    (question,) = asking.ask(annotator="ann")
    assert asking.ask(annotator="bob") == [question]
    assert asking.ask(annotator="eve") != [question]
    asking.tell(question, "same", annotator="ann").tell(question, "different", annotator="bob")
    assert [answer.value for answer in asking.answers] == [1, 0]


def test_an_oracle_answers_as_each_person() -> None:
    asking = session(annotators=["ann", "bob"]).run(oracle(annotators=["ann", "bob"]), 20)
    by_question: dict[Any, set[str]] = {}
    for answer in asking.answers:
        by_question.setdefault(key_of(answer.question), set()).add(answer.annotator)
    assert all(people == {"ann", "bob"} for people in by_question.values())
    assert len(by_question) == 10


def test_only_the_named_annotators_may_ask() -> None:
    with pytest.raises(InvalidArgumentError, match="no annotator 'eve'"):
        session(annotators=["ann", "bob"]).ask(annotator="eve")


def test_too_few_oracles() -> None:
    with pytest.raises(InvalidArgumentError, match="has only 1 annotators"):
        session(annotators=3).run(oracle(), 5)


class TestTell:
    """What `tell` takes."""

    def test_the_same_answer_twice_counts_once(self) -> None:
        asking = session()
        (question,) = asking.ask()
        asking.tell(question, "same").tell(question, 1)
        i, j = question.rows
        asking.tell(Question("pair", (j, i)), "Same")
        assert len(asking.log) == 1

    def test_another_answer_replaces_the_first(self) -> None:
        asking = session()
        (question,) = asking.ask()
        asking.tell(question, "same").tell(question, "different")
        assert [answer.value for answer in asking.answers] == [0]
        first, second = asking.log
        assert isinstance(second, Answer)
        assert second.revokes == first.id

    def test_three_rows_in_another_order_mean_the_same(self) -> None:
        asking = session()
        asking.tell(Question("odd_one_out", (0, 8, 1)), "second")
        asking.tell(Question("odd_one_out", (0, 1, 8)), "third")
        assert len(asking.log) == 1

    def test_answers_in_any_order_and_number(self) -> None:
        asking = session()
        questions = asking.ask(6)
        asking.tell(reversed(oracle().answer_all(questions)))
        assert [answer.question for answer in asking.answers] == questions[::-1]
        assert all(answer.origin == "asked" for answer in asking.answers)

    def test_an_answer_about_ids(self) -> None:
        asking = session()
        asking.tell(asking.question("item 03", "item 04"), "same", annotator="ann")
        assert asking.answers[0].question.rows == (3, 4)
        assert asking.answers[0].origin == "imported"

    def test_unknown_id(self) -> None:
        with pytest.raises(InvalidConstraintsError, match="no row with the id 'item 99'"):
            session().question("item 99", "item 01")

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (("item 01", "same"), "session.question"),
            ((("item 01", "item 02"), "same"), "session.question"),
            ((Question("pair", (0, 1)),), "the answer is missing"),
            (([Question("pair", (0, 1))],), "takes clew.Answer objects"),
            ((Question("pair", (0, 1)), "maybe"), "unknown answer 'maybe'"),
            ((Question("pair", (0, N)), "same"), "rows run from 0 to 23"),
        ],
    )
    def test_mistakes(self, arguments: tuple[Any, ...], message: str) -> None:
        asking = session()
        with pytest.raises(clew.exceptions.ClewError, match=message):
            asking.tell(*arguments)
        assert asking.log == ()

    def test_ids_decide_which_items_a_question_is_about(self) -> None:
        (asked,) = session(ids=list("abcdefghijklmnopqrstuvwx")).ask()
        other = session(ids=list("xwvutsrqponmlkjihgfedcba"))
        other.tell(asked, "same", annotator="ann")
        (answer,) = other.answers
        assert answer.question.ids == asked.ids
        assert tuple(other.ids[row] for row in answer.question.rows) == asked.ids
        assert other.retract(asked, annotator="ann") == answer

    @pytest.mark.parametrize("ids", [("item 01", "item 99"), ("item 01", "item 01"), ("1", "2")])
    def test_ids_of_other_items_are_refused(self, ids: tuple[str, str]) -> None:
        asking = session()
        question = Question("pair", (0, 1), ids=ids)
        for call in (asking.tell, asking.retract):
            with pytest.raises(InvalidConstraintsError, match="does not fit the items"):
                call(*((question, "same") if call == asking.tell else (question,)))
        assert asking.log == ()

    def test_on_an_error_no_answer_is_taken(self) -> None:
        asking = session()
        good = Answer(Question("pair", (0, 1)), "same")
        with pytest.raises(InvalidConstraintsError):
            asking.tell([good, Answer(Question("pair", (0, N)), "same")])
        assert asking.answers == ()

    def test_a_late_answer_is_taken(self) -> None:
        asking = session()
        (question,) = asking.ask(annotator="ann")
        asking.release("ann").ask(annotator="bob")
        asking.tell(question, "same", annotator="bob").tell(question, "same", annotator="ann")
        assert len(asking.answers) == 2

    def test_only_dont_knows(self) -> None:
        asking = session(strategy="guided", check_every=3)
        asking.run(oracle(dont_know=1.0), 30)
        result = asking.result()
        assert result.quality_ is None
        assert result.doubtful_ == ()
        assert len({key_of(answer.question) for answer in asking.answers}) == 30

    @pytest.mark.slow
    def test_contradictions_raise_no_error(self) -> None:
        asking = session(strategy="guided", annotators=2)
        asking.run(oracle(error=[0.0, 1.0], annotators=2), 40)
        assert len(asking.result().labels_) == N


def test_undo_asks_the_question_again() -> None:
    asking = session()
    asking.run(oracle(), 5)
    before, (question,) = asking.labels(), asking.ask()
    asking.tell(question, "different")
    assert asking.undo() == Answer(question, "different", origin="asked")
    assert asking.ask() == [question]
    assert np.array_equal(asking.labels(), before)


def test_undo_of_one_person() -> None:
    asking = session()
    for name in ("ann", "bob"):
        asking.tell(asking.ask(annotator=name)[0], "same", annotator=name)
    undone = asking.undo("ann")
    assert undone is not None
    assert undone.annotator == "ann"
    assert asking.undo("ann") is None
    assert [answer.annotator for answer in asking.answers] == ["bob"]


def test_retract_one_answer() -> None:
    asking = session().run(oracle(), 5)
    question = asking.answers[2].question
    asking.retract(question, annotator="0")
    assert question not in [answer.question for answer in asking.answers]
    with pytest.raises(InvalidArgumentError, match="has no answer of '0'"):
        asking.retract(question, annotator="0")


class TestChecks:
    """One question in `check_every` is drawn at random."""

    def test_every_fifth_question_is_random(self) -> None:
        asking = session(strategy="guided", check_every=5).run(oracle(), 25)
        origins = [answer.origin for answer in asking.answers]
        assert [at + 1 for at, origin in enumerate(origins) if origin == "random"] == [
            5, 10, 15, 20, 25,
        ]  # fmt: skip

    def test_without_check_every_there_are_no_checks(self) -> None:
        asking = session(strategy="guided", check_every=None).run(oracle(), 21)
        assert {answer.origin for answer in asking.answers} == {"asked"}

    @pytest.mark.slow
    def test_checks_that_were_answered_elsewhere_count(self) -> None:
        first = session(strategy="guided", check_every=4).run(oracle(), 20)
        second = session(strategy="guided", check_every=4).tell(first.answers)
        one, other = first.result().quality_, second.result().quality_
        assert one is not None
        assert one == other


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"strategy": "best"}, "strategy must be one of guided, random"),
        ({"strategy": "min_max"}, "needs Session"),
        ({"strategy": "cobras", "n_clusters": 3}, "takes no number of groups"),
        ({"strategy": MostProbable(3), "n_clusters": 3}, r"MostProbable\(n_clusters=3\)"),
        ({"strategy": "random", "kinds": ("triplet",)}, "asks about pairs only"),
        ({"kinds": "pair"}, "kinds must be 'auto' or a list"),
        ({"check_every": 1}, "check_every must be"),
        ({"n_clusters": 0}, "n_clusters must be"),
        ({"annotators": 0}, "annotators must be"),
        ({"annotators": ["ann", "ann"]}, "distinct names"),
    ],
)
def test_parameters_are_checked(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidParameterError, match=message):
        session(**parameters)


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_every_strategy_by_name(strategy: str) -> None:
    number = inspect.signature(STRATEGIES[strategy]).parameters.get("n_clusters")
    needs_number = number is not None and number.default is not None
    found = session(strategy=strategy, n_clusters=3 if needs_number else None).run(oracle(), 12)
    result = found.result()
    assert len(result.labels_) == len(result.confidence_) == N
    assert ((result.confidence_ >= 0) & (result.confidence_ <= 1)).all()


def test_a_strategy_object_is_copied() -> None:
    mine = Guided(update_every=5, random_state=0)
    found = session(strategy=mine).run(oracle(), 5)
    assert not hasattr(mine, "n_samples_")
    assert found.strategy.update_every == 5  # type: ignore[attr-defined]


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda found: pickle.loads(pickle.dumps(found))])
def test_a_copied_session_continues(copied: Any) -> None:
    found = session().run(oracle(), 10)
    other = copied(found)
    assert other.ask(3) == found.ask(3)
    other.tell(other.ask()[0], "same")
    assert len(found.answers) == 10


def test_a_session_is_readable() -> None:
    assert repr(session()) == "Session(24 items, 0 answers, strategy=MostProbable)"


@pytest.mark.slow
def test_two_thousand_rows_need_less_than_three_hundred_megabytes_beside_the_libraries() -> None:
    code = """
import resource
import numpy as np
from clew import Session
rows = np.random.RandomState(0).randn(2000, 64) + 4 * np.random.RandomState(1).randn(10, 64)[
    np.arange(2000) % 10
]
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
Session(rows[:60], random_state=0).ask(1)  # loads all libraries and kernels
before = peak()
Session(rows, random_state=0).ask(1)
print(peak() - before)
"""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert float(done.stdout) < 300


@pytest.mark.slow
def test_fit_all_is_the_fit_of_the_result_and_may_be_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fits: list[int] = []
    fit = GuidedClustering.fit

    def spy(self: GuidedClustering, X: Any, y: Any = None, **data: Any) -> GuidedClustering:
        fits.append(len(X))
        return fit(self, X, y, **data)

    monkeypatch.setattr(GuidedClustering, "fit", spy)
    asking = session(strategy="guided").run(oracle(), 20)
    before = asking.result().labels_
    model = asking.fit_all()
    assert fits == [N]
    assert np.array_equal(model.labels_, before)
    model.set_params(n_clusters=2).fit(X)
    assert np.array_equal(asking.result().labels_, before)
    assert asking.fit_all().n_clusters is None
