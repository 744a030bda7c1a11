"""An edit that no answer contradicts is done, whatever features say."""

from typing import Any

import numpy as np
import pytest
from tests.session.small import IDS, X, Y, oracle, session

from clew import Answer, Question, Session
from clew.answers import Edit, Retraction
from clew.session._groups import RowEdit, contradicting, edited

pytestmark = pytest.mark.usefixtures("small_search")
#: Rows 0 to 2, 3 to 5 and 6 are three groups; row 7 is set aside.
GROUPS = np.array([0, 0, 0, 1, 1, 1, 2, -1])


def after(*edits: RowEdit, said: tuple[tuple[int, int, int], ...] = ()) -> list[int]:
    answers = [Answer(Question("pair", (i, j)), value) for i, j, value in said]
    found = edited(GROUPS, edits, answers)
    assert found[7] == -1
    first = {group: int(np.flatnonzero(found == group)[0]) for group in set(found.tolist())}
    return [first[group] for group in found[:7].tolist()]


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (RowEdit("move", (0,), (3,)), [0, 1, 1, 0, 0, 0, 6]),
        (RowEdit("move", (0, 3), (3, 4)), [0, 1, 1, 0, 0, 0, 6]),
        (RowEdit("move", (7,), (3,)), [0, 0, 0, 3, 3, 3, 6]),
        (RowEdit("merge", (0,), (3,)), [0, 0, 0, 0, 0, 0, 6]),
        (RowEdit("merge", (0, 1, 6), (3, 4, 7)), [0, 0, 0, 0, 0, 0, 0]),
        (RowEdit("split", (0, 1), (2,)), [0, 0, 2, 3, 3, 3, 6]),
        (RowEdit("split", (0, 3), (1, 2)), [0, 1, 1, 3, 3, 3, 6]),
        (RowEdit("split", (0, 1), (3, 4, 2)), [0, 0, 2, 2, 2, 2, 6]),
        (RowEdit("split", (0,), (6,)), [0, 0, 0, 3, 3, 3, 6]),
        (RowEdit("not_in", (0, 1, 6), (2,)), [0, 1, 2, 3, 3, 3, 6]),
        (RowEdit("lock", (0, 1, 6), ()), [0, 0, 0, 3, 3, 3, 0]),
    ],
)
def test_groups_after_an_edit(edit: RowEdit, expected: list[int]) -> None:
    assert after(edit) == expected
    assert GROUPS.tolist() == [0, 0, 0, 1, 1, 1, 2, -1]


@pytest.mark.parametrize(
    ("edit", "said", "expected"),
    [
        # Row 0 is the same as a row that stays, or different from one where it would go.
        (RowEdit("move", (0,), (3,)), (0, 1, 1), [0, 0, 0, 3, 3, 3, 6]),
        (RowEdit("move", (0,), (3,)), (0, 5, 0), [0, 0, 0, 3, 3, 3, 6]),
        (RowEdit("move", (0, 1), (3,)), (0, 1, 1), [0, 0, 2, 0, 0, 0, 6]),
        (RowEdit("move", (0, 1), (3,)), (0, 5, 0), [0, 1, 0, 1, 1, 1, 6]),
        (RowEdit("merge", (0,), (3,)), (1, 5, 0), [0, 0, 0, 3, 3, 3, 6]),
        (RowEdit("split", (0,), (2,)), (0, 2, 1), [0, 0, 0, 3, 3, 3, 6]),
        (RowEdit("split", (0,), (2,)), (0, 1, 1), [0, 0, 2, 3, 3, 3, 6]),
        (RowEdit("not_in", (0, 1), (2,)), (0, 1, 1), [0, 0, 2, 3, 3, 3, 6]),
        (RowEdit("not_in", (0, 1), (2,)), (0, 2, 1), [0, 1, 0, 3, 3, 3, 6]),
        (RowEdit("lock", (0, 1, 6), ()), (6, 2, 0), [0, 0, 0, 3, 3, 3, 6]),
        # The groups do not agree with these answers, so they do not count.
        (RowEdit("merge", (0,), (3,)), (1, 2, 0), [0, 0, 0, 0, 0, 0, 6]),
        (RowEdit("move", (0,), (3,)), (0, 6, 1), [0, 1, 1, 0, 0, 0, 6]),
    ],
)
def test_answers_with_which_the_groups_agree_hold(
    edit: RowEdit, said: tuple[int, int, int], expected: list[int]
) -> None:
    assert after(edit, said=(said,)) == expected


def test_the_later_of_two_edits_holds() -> None:
    merge, split = RowEdit("merge", (0, 1), (3, 4)), RowEdit("split", (0, 1, 2), (3, 4, 5))
    assert after(merge, split) == [0, 0, 0, 3, 3, 3, 6]
    assert after(split, merge) == [0, 0, 0, 0, 0, 0, 6]


def test_contradicting_answers_are_named() -> None:
    answers = [Answer(Question("pair", (1, 5)), 0, "ann"), Answer(Question("pair", (1, 2)), 1)]
    found = contradicting(GROUPS, RowEdit("merge", (0,), (3,)), answers)
    assert found == [(1, 5, answers[0])]
    assert contradicting(GROUPS, RowEdit("move", (0,), (3,)), answers) == []


@pytest.mark.parametrize(
    ("edit", "is_one"),
    [
        (Edit("merge", IDS[8:16], IDS[16:], annotator="ed"), True),
        (Edit("split", IDS[:4], IDS[4:8], annotator="ed"), False),
        (Edit("move", [IDS[19]], IDS[1:4], annotator="ed"), True),
    ],
)
def test_an_edit_against_the_features_is_done_and_taken_back(edit: Edit, *, is_one: bool) -> None:
    asking = session(strategy="guided", check_every=None, n_clusters=3).run(oracle(), 5)
    first = asking.result()
    assert np.array_equal(first.labels_, Y)
    preview = asking.preview(edit, previous=first)
    assert not preview.contradicts
    asking.edit(edit)
    second = asking.result(first)
    group = dict(zip(IDS, second.labels_.tolist(), strict=True))
    assert {group[i] == group[j] for i in edit.items for j in edit.target} == {is_one}
    assert {change[:3] for change in second.changes_} == {move[:3] for move in preview.moves}
    asking.apply([Retraction(asking.edits[-1].id, "ed")])
    assert np.array_equal(asking.result(first).group_ids_, first.group_ids_)


@pytest.mark.parametrize("strategy", ["guided", "most_probable"])
def test_a_merge_that_an_answer_forbids_names_it(strategy: Any) -> None:
    asking = Session(X, ids=IDS, strategy=strategy, random_state=0)
    asking.run(oracle(), 40)
    assert np.array_equal(asking.result().labels_, Y)
    edit = Edit("merge", IDS[:8], IDS[8:16], annotator="ed")
    preview = asking.preview(edit)
    assert preview.moves == ()
    assert preview.contradicts
    for contradiction in preview.contradicts:
        assert {answer.value for answer in contradiction.answers} <= {0, 1}
        assert sum(answer.value == 0 for answer in contradiction.answers) == 1
