"""Questions that every store hands out, under leases, to several people."""

import json
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from tests.store.conftest import ITEMS, Clock, Pair, fill, ids_of, said

from clew.answers import DIFFERENT, Answer, Question
from clew.exceptions import InvalidArgumentError, InvalidParameterError
from clew.store import Annotator, Store, Suggestion, open_store
from clew.store.base import LEASE_SECONDS


def test_people_hold_different_questions_the_best_first(store: Store, pair: Pair) -> None:
    fill(store, pair)
    assert ids_of(store.lease("ann", 2)) == [("i0", "i1"), ("i1", "i2")]
    assert ids_of(store.lease("bob", 2)) == [("i2", "i3"), ("i3", "i4")]
    assert ids_of(store.lease("ann", 3)) == [("i0", "i1"), ("i1", "i2"), ("i4", "i5")]
    assert ids_of(store.lease("ann", 1)) == [("i0", "i1"), ("i1", "i2"), ("i4", "i5")]


def test_an_answer_brings_the_next_question(store: Store, pair: Pair) -> None:
    fill(store, pair)
    held = store.lease("ann", 4)
    served = store.answer_and_lease("ann", [said(held[0].question)], 4)
    assert served.statuses == ("stored",)
    assert served.leases[:3] == held[1:]
    assert served.leases[3].question.ids == ("i4", "i5")
    answered = store.find_lease(held[0].token)
    assert answered is not None
    assert answered.state == "answered"
    assert len({lease.token for lease in (*held, *served.leases)}) == 5


def test_a_held_key_is_one_answer_and_another_answer_replaces_the_first(
    store: Store, pair: Pair
) -> None:
    fill(store, pair)
    question = store.lease("ann", 1)[0].question
    for status in ("stored", "duplicate", "duplicate"):
        assert store.answer_and_lease("ann", [said(question)]).statuses == (status,)
    changed = store.answer_and_lease("ann", [said(question, "different")])
    assert changed.statuses == ("superseded",)
    (now,) = store.log(only_standing=True)
    assert isinstance(now.entry, Answer)
    assert (now.entry.value, now.entry.revokes) == (DIFFERENT, store.log()[0].entry.id)
    # The other way round, and by somebody else, it is the same question.
    turned = replace(question, ids=tuple(reversed(question.ids or ())))
    assert store.answer_and_lease("ann", [said(turned, "different")]).statuses == ("duplicate",)
    assert store.answer_and_lease("bob", [said(turned, annotator="bob")]).statuses == ("stored",)


def test_a_repeated_question_keeps_both_answers(store: Store, pair: Pair) -> None:
    again = pair(0, 1, repeat=1)
    served = store.answer_and_lease("ann", [said(pair(0, 1)), said(again, "different")])
    assert served.statuses == ("stored", "stored")
    assert store.counts().n_answers == 2


def test_a_lease_runs_out_and_a_late_answer_is_kept(store: Store, pair: Pair, clock: Clock) -> None:
    fill(store, pair, n=1)
    (lease,) = store.lease("ann")
    clock.now += LEASE_SECONDS - 1
    assert store.lease("bob") == ()
    clock.now += 2
    assert store.leases() == []
    (other,) = store.lease("bob")
    late = store.answer_and_lease("ann", [said(lease.question)])
    assert late.statuses == ("expired",)
    both = store.answer_and_lease("bob", [said(other.question, "different", "bob")])
    assert both.statuses == ("stored",)
    assert store.counts().n_answers == 2


def test_who_asks_again_keeps_the_questions(store: Store, pair: Pair, clock: Clock) -> None:
    fill(store, pair)
    held = store.lease("ann", 2)
    for _ in range(5):
        clock.now += LEASE_SECONDS * 0.8
        assert [lease.token for lease in store.lease("ann", 2)] == [each.token for each in held]


@pytest.mark.parametrize("jump", [-3600, -1, 3600])
def test_a_clock_that_jumps_loses_nothing_and_holds_no_question_for_long(
    store: Store, pair: Pair, clock: Clock, jump: float
) -> None:
    fill(store, pair, n=2)
    held = store.lease("ann", 2)
    clock.now += jump
    assert store.answer_and_lease("ann", [said(held[0].question)], 0).statuses[0] in {
        "stored",
        "expired",
    }
    clock.now += LEASE_SECONDS + 1
    assert ids_of(store.lease("bob", 2)) == [held[1].question.ids]


@pytest.mark.slow
def test_somebody_is_asked_what_others_have_answered(
    store: Store, pair: Pair, clock: Clock
) -> None:
    fill(store, pair, n=3)
    (lease,) = store.lease("ann", 1)
    store.answer_and_lease("ann", [said(lease.question)], 0)
    with pytest.raises(InvalidParameterError, match="no annotator 'bob'"):
        store.ask_of("bob", lease.question)
    store.put_annotator(Annotator("bob"))
    assert store.ask_of("bob", lease.question)
    assert not store.ask_of("bob", lease.question)
    assert not store.ask_of("ann", lease.question)
    assert ids_of(store.wanted()) == [lease.question.ids]
    assert store.lease("eve", 2)[0].question != lease.question
    assert ids_of(store.lease("bob", 2))[0] == lease.question.ids
    store.release("bob")
    clock.now += 60
    (again,) = store.lease("bob", 1)
    assert again.question == lease.question
    store.answer_and_lease("bob", [replace(said(again.question), annotator="bob")], 1)
    assert store.wanted() == []


def test_leases_given_back_go_to_others(store: Store, pair: Pair) -> None:
    fill(store, pair, n=3)
    held = store.lease("ann", 3)
    assert store.release("ann", [held[1].token]) == 1
    assert ids_of(store.lease("bob")) == [held[1].question.ids]
    assert store.release("ann") == 2
    assert ids_of(store.lease("bob")) == [
        held[1].question.ids,
        held[0].question.ids,
        held[2].question.ids,
    ]
    assert store.release("ann") == 0


@pytest.mark.slow
def test_with_overlap_each_question_goes_to_several_people(store: Store, pair: Pair) -> None:
    store.set_settings({"overlap": 2})
    fill(store, pair, n=2)
    ann = store.lease("ann", 2)
    assert ids_of(store.lease("bob", 2)) == ids_of(ann)
    assert store.lease("eve", 2) == ()
    store.answer_and_lease("ann", [said(ann[0].question)], 0)
    # The model has learned the answer and suggests others: the second person is still asked.
    store.release("bob")
    fill(store, pair, n=4, first=10)
    assert ids_of(store.lease("bob", 1)) == [ann[0].question.ids]
    store.answer_and_lease("bob", [said(ann[0].question, annotator="bob")], 0)
    fill(store, pair, n=4, first=10)
    assert ann[0].question.ids not in [each.question.ids for each in store.pool()]
    assert ann[0].question.ids not in ids_of(store.lease("eve", 10))


def test_stale_questions_are_exchanged_but_not_the_one_on_the_screen(
    store: Store, pair: Pair
) -> None:
    fill(store, pair, n=4, revision=0)
    held = store.lease("ann", 4)
    store.append([said(pair(0, 10 + at), annotator="bob") for at in range(9)])
    fill(store, pair, n=8, revision=9, first=5)
    assert store.lease("ann", 4) == tuple(
        replace(each, expires=now.expires) for each, now in zip(held, store.leases(), strict=True)
    )
    store.append([said(pair(1, 10 + at), annotator="bob") for at in range(2)])
    now = store.lease("ann", 4, keep=[held[0].token])
    assert now[0].token == held[0].token
    assert store.lease("ann", 4)[0].token == held[0].token  # as after a reload
    assert ids_of(now[1:]) == [("i5", "i6"), ("i6", "i7"), ("i7", "i8")]
    state = store.find_lease(held[1].token)
    assert state is not None
    assert state.state == "exchanged"
    # Without anything newer they stay.
    assert len(store.lease("ann", 4)) == 4


@pytest.mark.slow
def test_an_answer_taken_back_is_asked_again_first(store: Store, pair: Pair) -> None:
    fill(store, pair)
    held = store.lease("ann", 3)
    store.answer_and_lease("ann", [said(lease.question) for lease in held[:2]], 3)
    for at in (1, 0):
        undone = store.undo("ann")
        assert undone is not None
        assert undone.question.ids == held[at].question.ids
        assert store.lease("ann", 1)[0].question.ids == held[at].question.ids
    assert store.undo("ann") is None
    assert store.undo("bob") is None
    assert store.counts().n_answers == 0
    assert store.last_seq() == 4
    assert store.answer_and_lease("ann", [said(held[0].question)]).statuses == ("stored",)


def test_each_person_is_asked_the_kinds_they_want(store: Store, pair: Pair) -> None:
    odd = Question("odd_one_out", (), "asked", ("i1", "i2", "i3"))
    store.replace_pool([Suggestion(odd), Suggestion(pair(0, 1))])
    store.put_annotator(Annotator("eve", kinds=("odd_one_out",)))
    assert ids_of(store.lease("ann")) == [("i0", "i1")]
    assert ids_of(store.lease("eve")) == [odd.ids]
    store.release("eve")
    assert ids_of(store.lease("bob", kinds=["triplet", "odd_one_out"])) == [odd.ids]


@pytest.mark.slow
def test_one_question_in_twenty_is_a_repeat(store: Store) -> None:
    names = [(i, j) for i in range(20) for j in range(i)]
    store.replace_pool(
        [Suggestion(Question("pair", (), "asked", (f"i{i}", f"i{j}"))) for i, j in names]
    )
    served = store.lease("ann", 4)
    asked: list[Question] = []
    for _ in range(100):
        asked.append(served[0].question)
        served = store.answer_and_lease("ann", [said(asked[-1])], 4).leases
    repeats = [at for at, question in enumerate(asked) if question.repeat]
    assert 3 <= len(repeats) <= 6
    for at in repeats:
        first = next(i for i, each in enumerate(asked) if each.ids == asked[at].ids)
        assert at - first >= 10
    assert len({question.ids for question in asked}) == 100 - len(repeats)


def test_a_check_that_was_shown_stays_until_it_is_answered(
    store: Store, pair: Pair, clock: Clock
) -> None:
    check = Suggestion(pair(0, 9, "random", check=0.01), is_check=True, probability=0.3)
    store.replace_pool([check, Suggestion(pair(1, 2))])
    (lease,) = store.lease("ann", 1)
    assert lease.question.check == 0.01
    clock.now += LEASE_SECONDS + 1
    fill(store, pair, n=3, first=4)
    assert store.pool()[0] == check
    store.answer_and_lease("bob", [said(check.question, annotator="bob")], 0)
    fill(store, pair, n=3, first=4)
    assert check not in store.pool()


def test_entries_of_others_and_people_who_left_get_nothing(store: Store, pair: Pair) -> None:
    fill(store, pair)
    with pytest.raises(InvalidArgumentError, match="takes entries of 'ann'"):
        store.answer_and_lease("ann", [said(pair(0, 1), annotator="bob")])
    store.put_annotator(Annotator("eve", is_active=False))
    assert store.lease("eve") == ()


@pytest.mark.slow
@settings(
    max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None
)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ann", "bob", "eve"]),
            st.sampled_from(["answer", "undo", "lease", "learn", "release", "wait"]),
            st.integers(0, 3),
        ),
        max_size=40,
    ),
    st.integers(1, 3),
)
def test_no_question_has_more_people_than_wanted_whatever_they_do(
    acts: list[tuple[str, str, int]], overlap: int
) -> None:
    clock = Clock()
    with open_store(":memory:", clock=clock) as store:
        store.add_items(ITEMS)
        store.set_settings({"overlap": overlap})
        for name, act, n in acts:
            if act == "answer":
                held = [lease for lease in store.leases() if lease.annotator == name]
                answers = [said(lease.question, annotator=name) for lease in held[:1]]
                served = store.answer_and_lease(name, answers, n)
                assert set(served.statuses) <= {"stored"}
            elif act == "undo":
                store.undo(name)
            elif act == "lease":
                assert len({each.question for each in store.lease(name, n)}) >= min(n, 0)
            elif act == "learn":
                pairs = [Question("pair", (), "asked", (f"i{n}", f"i{k}")) for k in range(5, 9)]
                store.replace_pool(map(Suggestion, pairs))
            elif act == "release":
                store.release(name)
            else:
                clock.now += LEASE_SECONDS / 2
            people: dict[str, set[str]] = {}
            for lease in store.leases():
                people.setdefault(json.dumps(lease.question.ids), set()).add(lease.annotator)
            assert all(len(names) <= overlap for names in people.values())
            answers = [each.entry for each in store.log(only_standing=True)]
            keys = [(each.annotator, each.question.ids) for each in answers]  # type: ignore[union-attr]
            assert len(set(keys)) == len(keys)
