"""Edits: what they imply, what they would do, and how they are taken back."""

from dataclasses import replace

import numpy as np
import pytest
from tests.session.small import IDS, Y, oracle, session

from clew import Answer, Question
from clew.answers import DIFFERENT, SAME, Edit, Retraction
from clew.exceptions import InvalidConstraintsError
from clew.questions._answers import key_of

pytestmark = pytest.mark.usefixtures("fair_search")


def group(asking, *rows: int) -> list[int]:
    labels = asking.result().labels_
    return [int(labels[row]) for row in rows]


@pytest.mark.slow
def test_an_edit_is_learned_like_answers_and_taken_back_as_one() -> None:
    asking = session(strategy="guided").run(oracle(), 40)
    before = asking.result()
    assert np.array_equal(before.labels_, Y)
    edit = asking.edit(Edit("move", [IDS[0]], [IDS[8], IDS[9], IDS[10]], annotator="ann"))
    assert asking.edits == (edit,)
    assert len(asking.answers) == 40
    learned = [answer for answer in asking.strategy.answers if answer.edit == edit.id]
    assert [(a.question.rows, a.value, a.origin) for a in learned] == [
        ((0, 8), SAME, "edit"), ((0, 9), SAME, "edit"), ((0, 10), SAME, "edit"),
    ]  # fmt: skip
    assert sum(answer.weight for answer in learned) == pytest.approx(2)
    after = asking.result(before)
    if after.group_ids_[0] != before.group_ids_[0]:
        (change,) = (change for change in after.changes_ if change.id == IDS[0])
        assert change.answer is not None
        assert change.answer.edit == edit.id
    asking.apply([Retraction(edit.id, "ann")])
    assert asking.edits == ()
    assert np.array_equal(asking.result().labels_, before.labels_)


@pytest.mark.slow
def test_an_edit_moves_an_item_that_nobody_was_asked_about() -> None:
    asking = session(strategy="guided", check_every=None).run(oracle(), 5)
    asked = {row for answer in asking.answers for row in answer.question.rows}
    row = next(row for row in range(8) if row not in asked)
    before = asking.result()
    target = [name for name, y in zip(IDS, Y, strict=True) if y == 2][:3]
    asking.edit(Edit("move", [IDS[row]], target))
    after = asking.result(before)
    assert after.labels_[row] == after.labels_[16]


def test_an_edit_does_not_replace_the_person_s_own_answers() -> None:
    asking = session()
    own = Answer(Question("pair", ids=(IDS[0], IDS[8])), "different", "ann")
    asking.tell(own)
    edit = asking.edit(Edit("move", [IDS[0]], [IDS[8]], annotator="ann"))
    assert [answer.value for answer in asking.answers] == [DIFFERENT]
    assert [a.value for a in asking.strategy.answers] == [DIFFERENT, SAME]
    asking.retract(asking.answers[0].question, annotator="ann")
    assert [a.edit for a in asking.strategy.answers] == [edit.id]


def test_items_of_an_edit_are_items_of_the_session() -> None:
    asking = session()
    for call in (asking.edit, asking.preview):
        with pytest.raises(InvalidConstraintsError, match="no row with the id 'gone'"):
            call(Edit("merge", ["gone"], [IDS[0]]))
    assert asking.log == ()


@pytest.mark.parametrize("strategy", ["guided", "most_probable", "random"])
def test_nobody_is_asked_about_locked_pairs(strategy: str) -> None:
    asking = session(strategy=strategy, check_every=3)
    asking.edit(Edit("lock", IDS[:6], annotator="ann"))
    asked = asking.ask(80, annotator="ben")
    assert len(asked) > 10
    locked = set(IDS[:6])
    assert all(len(locked & set(question.ids)) < 2 for question in asked)


@pytest.mark.slow
@pytest.mark.parametrize("strategy", ["guided", "most_probable"])
def test_a_preview_is_what_happens(strategy: str) -> None:
    asking = session(strategy=strategy).run(oracle(), 30)
    before = asking.result()
    edit = Edit("merge", [IDS[0], IDS[1]], [IDS[8], IDS[9]], annotator="ann")
    found = asking.preview(edit, previous=before)
    n = len(asking.log)
    assert asking.edits == ()
    assert np.array_equal(asking.result(before).group_ids_, before.group_ids_)
    asking.edit(edit)
    after = asking.result(before)
    assert {(m.id, m.before, m.after) for m in found.moves} == {
        (c.id, c.before, c.after) for c in after.changes_
    }
    assert found.revision == n


@pytest.mark.slow
@pytest.mark.parametrize("revise", ["retract", "replace", "answer"])
def test_a_preview_of_other_entries_is_what_happens(revise: str) -> None:
    asking = session(strategy="guided", check_every=None).run(oracle(), 25)
    wrong = asking.question(IDS[0], IDS[9])
    asking.tell(wrong, "same", annotator="ben")
    before = asking.result()
    told = asking.answers[-1]
    entry: Answer | Retraction = Answer(replace(wrong, rows=()), "different", "cleo", id="new")
    if revise == "retract":
        entry = Retraction(told.id, "cleo", id="new")
    elif revise == "replace":
        entry = replace(entry, revokes=told.id)
    found = asking.preview(entry, previous=before)
    assert len(asking.log) == found.revision == 26
    asking.apply([entry])
    assert {(m.id, m.before, m.after) for m in found.moves} == {
        (c.id, c.before, c.after) for c in asking.result(before).changes_
    }


@pytest.mark.slow
def test_a_preview_of_items_that_come_back() -> None:
    asking = session(strategy="guided").run(oracle(), 20)
    aside = asking.set_aside([IDS[3]])
    before = asking.result()
    found = asking.preview(Retraction(aside.id), previous=before)
    assert [(move.id, move.before) for move in found.moves] == [(IDS[3], None)]


@pytest.mark.slow
def test_a_preview_names_the_answers_that_contradict_the_edit() -> None:
    asking = session(strategy="guided", check_every=None)
    said = {(0, 1): "same", (1, 8): "different", (8, 9): "same"}
    for (i, j), word in said.items():
        asking.tell(asking.question(IDS[i], IDS[j]), word, annotator="ann")
    found = asking.preview(Edit("move", [IDS[0]], [IDS[9]]))
    (contradiction,) = found.contradicts
    assert contradiction.pair == (IDS[0], IDS[9])
    assert contradiction.chain == (IDS[0], IDS[1], IDS[8], IDS[9])
    assert contradiction.answers == asking.answers
    assert asking.preview(Edit("not_in", [IDS[0]], [IDS[9]])).contradicts == ()


def test_a_preview_names_questions_that_become_superfluous() -> None:
    asking = session(check_every=None)
    asking.tell(asking.question(IDS[0], IDS[1]), "same")
    open_questions = asking.ask(20, annotator="ann")
    rows = open_questions[0].rows
    edit = Edit("move", [IDS[rows[0]]], [IDS[rows[1]]])
    superfluous = {key_of(question) for question in asking.preview(edit).superfluous}
    assert key_of(open_questions[0]) in superfluous
    assert len(superfluous) < len(open_questions)
    aside = asking.preview(Edit("set_aside", [IDS[rows[0]]])).superfluous
    assert all(rows[0] in question.rows for question in aside)
    assert aside


@pytest.mark.slow
def test_a_preview_of_items_that_are_set_aside() -> None:
    asking = session(strategy="guided").run(oracle(), 20)
    found = asking.preview(Edit("set_aside", [IDS[3]]))
    assert [(move.id, move.after) for move in found.moves] == [(IDS[3], None)]


def test_merging_and_splitting_are_judgments_of_groups() -> None:
    merge = Edit("merge", IDS[:6], IDS[8:14], id="e").answers()
    assert len(merge) == 3
    assert sum(answer.weight for answer in merge) == pytest.approx(2)
    split = Edit("split", IDS[:2], IDS[2:6], id="e").answers()
    values = [answer.value for answer in split]
    assert values == [SAME] + [DIFFERENT] * 6
    assert {answer.edit for answer in split} == {"e"}
    assert Edit("set_aside", IDS[:2]).answers() == ()


@pytest.mark.slow
def test_a_group_is_merged_by_an_edit() -> None:
    asking = session(strategy="guided", check_every=None).run(oracle(), 20)
    assert group(asking, 0, 8) == [0, 1]
    asking.edit(Edit("merge", IDS[:3], IDS[8:11], annotator="ann"))
    asking.edit(Edit("merge", IDS[3:6], IDS[11:14], annotator="ben"))
    found = asking.preview(Edit("merge", IDS[:3], IDS[16:19]))
    assert isinstance(found.moves, tuple)
