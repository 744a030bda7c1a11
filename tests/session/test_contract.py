"""What an app needs of a session: topping up, pools, logs of others, repeats, flags, set aside."""

import json
from itertools import combinations

import numpy as np
import pytest
from tests.session.small import IDS, N, X, Y, oracle, session

from clew import Answer, Question, Session
from clew.answers import BAD_ITEM, NOT_COMPARABLE, Edit, Retraction, entry_from_json, entry_to_json
from clew.exceptions import (
    InvalidArgumentError,
    InvalidConstraintsError,
    InvalidDataError,
    InvalidParameterError,
)
from clew.questions._answers import key_of
from clew.session._export import read_snapshot

pytestmark = pytest.mark.usefixtures("fair_search")


def test_ask_tops_up_what_is_held() -> None:
    asking = session()
    first = asking.ask(4, annotator="ann")
    assert asking.ask(4, annotator="ann", held=first) == []
    more = asking.ask(4, annotator="ann", held=first[1:])
    assert more == first[:1]  # it was asked and is not held any more: it is not lost
    asking.tell(first[0], "same", annotator="ann")
    (new,) = asking.ask(4, annotator="ann", held=first[1:])
    assert new not in first
    assert asking.ask(2, annotator="ann", held=first[1:]) == []


def test_questions_of_a_pool_that_are_held_are_not_asked_of_others() -> None:
    asking = session()
    pool = [each.question for each in asking.suggest(3)]
    asking.ask(3, annotator="ann", held=pool)
    others = asking.ask(5, annotator="bob")
    assert not {key_of(q) for q in pool} & {key_of(q) for q in others}


def test_each_person_has_kinds() -> None:
    asking = session(strategy="guided", kinds=("pair", "triplet"))
    assert {q.kind for q in asking.ask(4, annotator="ann", kinds=["triplet"])} == {"triplet"}
    assert {q.kind for q in asking.ask(4, annotator="bob", kinds=["pair"])} == {"pair"}
    with pytest.raises(InvalidParameterError, match="the session asks pair, triplet"):
        asking.ask(annotator="ann", kinds=["odd_one_out"])


def test_suggestions_hand_out_nothing_and_change_nothing() -> None:
    asking, other = session(check_every=4), session(check_every=4)
    found = asking.suggest(6)
    assert asking.suggest(6) == found
    assert [each.is_check for each in found] == [False] * 3 + [True] + [False] * 2
    check = found[3]
    assert check.question.check == check.probability is not None
    assert check.question.origin == "random"
    scores = [each.score for each in found]
    assert scores == sorted(scores, reverse=True)
    assert asking.ask(3, annotator="ann") == other.ask(3, annotator="ann")
    excluded = asking.suggest(3, exclude=[each.question for each in found])
    assert not {key_of(e.question) for e in excluded} & {key_of(e.question) for e in found}


def test_suggestions_may_be_of_an_older_revision() -> None:
    asking = session().run(oracle(), 3)
    asking.learn()
    asking.run(oracle(), 1)
    assert asking.suggest(1, learn=False)[0].revision == 3
    assert asking.suggest(1)[0].revision == 4


def test_learning_within_a_budget_leaves_the_rest() -> None:
    asking = session()
    asking.tell(oracle().answer_all([Question("pair", (i, j)) for j in range(N) for i in range(j)]))
    n = len(asking.log)
    assert asking.learn(0.0) == n - 20
    assert asking.learn() == 0
    with pytest.raises(InvalidParameterError, match="budget_s=-1"):
        asking.learn(-1)


class TestApply:
    """Entries of another log."""

    @pytest.mark.slow
    def test_a_log_is_applied_once(self) -> None:
        first = session(strategy="guided", check_every=4).run(oracle(), 20)
        first.undo()
        lines = [entry_to_json(entry) for entry in first.log]
        other = session(strategy="guided", check_every=4)
        done = other.apply(map(entry_from_json, lines))
        assert done.applied == tuple(entry.id for entry in first.log)
        assert other.apply(first.log) == ((), done.applied, ())
        assert [entry_to_json(entry) for entry in other.log] == lines
        assert other.result().quality_ == first.result().quality_
        assert np.array_equal(other.result().labels_, first.result().labels_)

    def test_what_is_unknown_is_named_and_the_rest_applied(self) -> None:
        asking = session()
        good = Answer(Question("pair", ids=(IDS[0], IDS[1])), "same", id="a")
        gone = Answer(Question("pair", ids=(IDS[0], "gone")), "same", id="b")
        edit = Edit("merge", ["gone"], [IDS[2]], id="c")
        done = asking.apply([good, gone, edit, Retraction("nothing", id="d")])
        assert done == (("a",), (), ("b", "c", "d"))
        assert [answer.id for answer in asking.answers] == ["a"]

    def test_a_later_answer_replaces_the_earlier_one(self) -> None:
        asking = session()
        question = Question("pair", ids=(IDS[0], IDS[1]))
        asking.apply([Answer(question, value, "ann", id=str(value)) for value in (1, 0)])
        assert [answer.value for answer in asking.strategy.answers] == [0]
        asking.apply([Retraction("0", "ann", id="r")])
        assert [answer.value for answer in asking.strategy.answers] == [1]

    @pytest.mark.slow
    def test_a_pair_that_the_session_did_not_draw_is_no_check(self) -> None:
        asking = session(strategy="guided")
        drawn = [Question("pair", (i, i + 8), origin="random") for i in range(8)]
        asking.tell([Answer(q, "different", origin="random") for q in drawn])
        assert {answer.origin for answer in asking.answers} == {"imported"}
        assert asking.result().quality_ is None
        asking.tell(Answer(Question("pair", (0, 9), "random", check=0.01), 0, origin="random"))
        assert asking.answers[-1].origin == "random"


class TestRepeats:
    """One question in `repeat_every` is asked again."""

    def test_one_question_in_ten_is_repeated(self) -> None:
        asking = session(strategy="random", check_every=None, repeat_every=10)
        for _ in range(60):
            (question,) = asking.ask(annotator="ann")
            asking.tell(question, int(Y[question.rows[0]] == Y[question.rows[1]]), annotator="ann")
        repeated = [answer for answer in asking.answers if answer.question.repeat]
        assert len(repeated) == 5
        assert all(answer.origin == "asked" for answer in repeated)
        # Each was asked before, not lately, and the model has learned one of the two.
        keys = [key_of(answer.question) for answer in asking.answers]
        for at, answer in enumerate(asking.answers):
            if answer.question.repeat:
                assert keys.index(keys[at]) < at - 10
        assert len(asking.strategy.answers) == 55

    def test_agreement_with_oneself_uses_both(self) -> None:
        asking = session(strategy="random", check_every=None, repeat_every=4)
        for at in range(60):
            (question,) = asking.ask(annotator="ann")
            true = int(Y[question.rows[0]] == Y[question.rows[1]])
            is_wrong = bool(question.repeat) and at % 3 == 0
            asking.tell(question, 1 - true if is_wrong else true, annotator="ann")
        again = [a for a in asking.answers if a.question.repeat]
        first = {key_of(a.question): a.value for a in asking.answers if not a.question.repeat}
        agree = [a.value == first[key_of(a.question)] for a in again]
        assert 0 < sum(agree) < len(agree)
        (person,) = asking.result().annotators_
        assert person.agreement_with_self is not None
        assert person.agreement_with_self.value == pytest.approx(np.mean(agree))
        assert person.agreement_with_self.low < np.mean(agree) < person.agreement_with_self.high
        assert (person.n, person.n_repeats) == (60, len(again))

    def test_nobody_is_asked_twice_without_it(self) -> None:
        asking = session(strategy="random", check_every=None, repeat_every=None)
        for _ in range(50):
            (question,) = asking.ask(annotator="ann")
            asking.tell(question, "dont_know", annotator="ann")
        assert not any(answer.question.repeat for answer in asking.answers)


class TestFlags:
    """Answers about the question."""

    def test_not_comparable_is_no_evidence_and_is_not_asked_again(self) -> None:
        asking = session(check_every=None)
        before = asking.labels()
        (question,) = asking.ask(annotator="ann")
        asking.tell(question, "not_comparable", annotator="ann")
        assert asking.answers[0].value == NOT_COMPARABLE
        assert np.array_equal(asking.labels(), before)
        keys = {key_of(q) for q in asking.ask(20, annotator="ann")}
        assert key_of(question) not in keys

    def test_nobody_is_asked_about_a_bad_item_until_the_answer_is_taken_back(self) -> None:
        asking = session(check_every=5, strategy="random")
        (question,) = asking.ask(annotator="ann")
        bad = question.ids[:1]
        asking.tell(Answer(question, BAD_ITEM, "ann", bad=bad))
        asked = asking.ask(60, annotator="ann")
        assert len(asked) > 15
        assert not any(set(bad) & set(q.ids) for q in asked)
        assert (asking.result().labels_ >= 0).all()
        asking.retract(question, annotator="ann")
        assert any(set(bad) & set(q.ids) for q in asking.ask(200, annotator="bob"))

    def test_a_bad_item_is_one_of_the_session(self) -> None:
        with pytest.raises(InvalidConstraintsError, match="gone"):
            session().tell(Answer(Question("pair", (0, 1)), BAD_ITEM, bad=("gone",)))


@pytest.mark.parametrize("strategy", ["guided", "most_probable"])
def test_items_that_are_set_aside_are_in_no_group_and_not_asked_about(strategy: str) -> None:
    asking = session(strategy=strategy, check_every=3).run(oracle(), 12)
    first = asking.result()
    asking.set_aside([IDS[0], IDS[9]], annotator="ann", note="blurred")
    result = asking.result(first)
    assert result.labels_[[0, 9]].tolist() == result.group_ids_[[0, 9]].tolist() == [-1, -1]
    assert result.confidence_[0] == 0
    assert {(c.id, c.after) for c in result.changes_} >= {(IDS[0], None), (IDS[9], None)}
    assert not any(IDS[0] in names for names in result.exemplars_.values())
    questions = asking.ask(60, annotator="bob")
    assert questions
    assert not any({IDS[0], IDS[9]} & set(q.ids) for q in questions)
    json.dumps(result.to_dict())
    asking.restore_items([IDS[9]])
    assert asking.edits[0].items == (IDS[0],)
    assert asking.result(result).labels_[9] >= 0
    asking.restore_items([IDS[0]])
    assert asking.edits == ()
    assert np.array_equal(asking.result().labels_, first.labels_)


@pytest.mark.parametrize("ids", ["item 00", b"item 00", 3])
def test_one_id_is_no_list_of_ids(ids: object) -> None:
    asking = session()
    for call in (asking.set_aside, asking.restore_items):
        with pytest.raises(InvalidArgumentError, match="expected several ids"):
            call(ids)


@pytest.mark.slow
@pytest.mark.parametrize("n_left", [0, 1, 2])
@pytest.mark.parametrize("strategy", ["guided", "random"])
def test_all_items_may_be_set_aside(strategy: str, n_left: int) -> None:
    asking = session(strategy=strategy).run(oracle(), 5)
    asking.set_aside(IDS[n_left:])
    result = asking.result()
    assert (result.labels_ >= 0).sum() == n_left
    assert len(asking.ask(4, annotator="ann")) <= n_left // 2
    json.dumps(result.to_dict())


@pytest.mark.parametrize(
    "call",
    [
        lambda asking: asking.apply(["same"]),
        lambda asking: asking.ask(2, held=["a"]),
        lambda asking: asking.suggest(2, exclude=[3]),
        lambda asking: asking.edit("merge"),
        lambda asking: asking.preview(3),
    ],
)
def test_other_things_are_refused(call) -> None:
    asking = session()
    with pytest.raises(InvalidArgumentError, match=r"got ('|3)"):
        call(asking)
    assert asking.log == ()


@pytest.mark.slow
def test_added_items_join_groups_and_groups_keep_their_ids() -> None:
    asking = session(strategy="guided").run(oracle(), 30)
    first = asking.result()
    asking.add_items(X[[0, 8, 16]] + 0.01, ["new a", "new b", "new c"])
    result = asking.result(first)
    assert len(result.ids) == len(asking.ids) == N + 3
    assert (result.group_ids_[:N] == first.group_ids_).mean() > 0.95
    assert result.group_ids_[N:].tolist() == first.group_ids_[[0, 8, 16]].tolist()
    assert len(asking.answers) == 30
    asking.tell(asking.question("new a", IDS[1]), "same")
    with pytest.raises(InvalidDataError, match="do not fit"):
        asking.add_items(np.zeros((1, 7)), ["other"])
    with pytest.raises(InvalidConstraintsError):
        asking.add_items(X[:1], ["new a"])


def test_items_of_a_data_frame_are_added_by_its_index() -> None:
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, index=IDS).rename(columns="x{}".format)
    asking = Session(frame, random_state=0)
    asking.add_items(frame[:2].set_axis(["new a", "new b"]))
    assert asking.ids == (*IDS, "new a", "new b")
    with pytest.raises(InvalidDataError, match="give one with the columns x0, x1"):
        asking.add_items(X[:1], ["new c"])
    with pytest.raises(InvalidArgumentError, match="needs the ids"):
        asking.add_items(X[:1])


def test_add_items_needs_features() -> None:
    with pytest.raises(TypeError, match=r"Session\(\.\.\.\)\.apply"):
        Session(items=IDS, random_state=0).add_items([[0.0]], ["new"])


class TestSnapshot:
    """A session goes on as if it had not been interrupted."""

    @pytest.mark.slow
    @pytest.mark.parametrize("strategy", ["guided", "cobras", "random"])
    def test_the_next_questions_are_the_same(self, strategy: str) -> None:
        going = session(strategy=strategy, check_every=6, repeat_every=5)
        for at in range(40):
            for question in going.ask(annotator="ann"):
                true = Y[question.rows[0]] == Y[question.rows[1]]
                going.tell(question, int(true), annotator="ann")
            if at == 20:
                going.undo("ann")
        open_question = going.ask(2, annotator="bob")
        data, log = going.snapshot(), going.log
        again = Session.restore(X, data, map(entry_from_json, map(entry_to_json, log)), ids=IDS)
        assert again.ask(2, annotator="bob") == open_question
        assert again.ask(7, annotator="ann") == going.ask(7, annotator="ann")
        assert [e.question for e in again.suggest(5)] == [e.question for e in going.suggest(5)]
        one, other = again.result(), going.result()
        assert one.to_dict() == other.to_dict()
        headers = [read_snapshot(each.snapshot())[0] for each in (again, going)]
        for header in headers:
            header["out"].sort(key=lambda out: out[0])
        assert headers[0] == headers[1]

    def test_answers_that_came_later_are_learned(self) -> None:
        going = session(strategy="guided").run(oracle(), 20)
        data = going.snapshot()
        going.run(oracle(), 10)
        again = Session.restore(X, data, going.log, ids=IDS)
        assert again.answers == going.answers
        assert np.array_equal(again.labels(), going.labels())

    @pytest.mark.slow
    def test_a_short_time_to_learn_is_enough_for_what_was_learned_before(self) -> None:
        going = session(strategy="guided").run(oracle(), 50)
        again = Session.restore(X, going.snapshot(), going.log, ids=IDS)
        assert again.learn(budget_s=0) == 0
        assert session(strategy="guided").tell(going.answers).learn(budget_s=0) > 0
        assert again.ask(3, annotator="ann") == going.ask(3, annotator="ann")

    @pytest.mark.slow
    @pytest.mark.parametrize("seed", [None, np.random.RandomState(3), np.int64(3)])
    def test_it_holds_the_parameters_also_a_seed_that_was_drawn(self, seed):
        going = Session(X, n_clusters=4, kinds=["pair", "which_of"], random_state=seed)
        going.run(oracle(), 21)
        again = Session.restore(X, going.snapshot(), going.log)
        assert again.ask(5) == going.ask(5)
        assert again.result().to_dict() == going.result().to_dict()

    def test_it_holds_no_objects(self) -> None:
        assert b"pickle" not in session(strategy="guided").run(oracle(), 20).snapshot()

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            ({"ids": IDS[::-1]}, "its items differ"),
            ({"X": X + 0.5}, "its features differ"),
            ({"strategy": "random"}, "its strategy differ"),
            ({"log": 3}, "its entries differ"),
            ({"data": b"nothing"}, "no snapshot"),
        ],
    )
    def test_another_session_is_refused(self, change, message: str) -> None:
        going = session().run(oracle(), 6)
        parameters = {"ids": IDS, "strategy": "most_probable", "random_state": 0} | change
        log = going.log[: parameters.pop("log", 6)]
        data = parameters.pop("data", going.snapshot())
        points = parameters.pop("X", X)
        with pytest.raises(InvalidDataError, match=message):
            Session.restore(points, data, log, **parameters)


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 120])  # 120 joined all rows
def test_random_answers_are_said(n: int) -> None:
    random, y = np.random.RandomState(1), np.arange(120) % 3
    rows = random.randn(120, 2) * 0.5 + 4 * np.column_stack([y == 1, y == 2])
    session = Session(rows, random_state=0)
    for a, b in random.permutation([*combinations(range(120), 2)])[:n].tolist():
        session.tell(session.question(a, b), ["same", "different"][random.randint(2)])
    result = session.result()
    assert result.regime_ == "features"
    assert result.to_dict()["regime"] == {"name": "features", "reason": "the answers look random"}
