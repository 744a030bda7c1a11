"""Groups last from one result to the next, and confirmed items stay."""

import json
from typing import Any

import numpy as np
import pytest
from tests.session.small import IDS, N, X, Y, oracle, session

from clew import Answer, Question, Session
from clew.answers import SAME, Edit, Retraction
from clew.constraints._validation import RowIds
from clew.exceptions import InvalidArgumentError
from clew.oracles import SimulatedOracle
from clew.session._groups import (
    Before,
    Evidence,
    RowEdit,
    changes_of,
    contradicting,
    edited,
    groups_before,
    held,
    matched,
)

pytestmark = pytest.mark.usefixtures("fair_search")
#: Rows 0 to 2, 3 to 5 and 6 are three groups; row 7 is set aside.
GROUPS = np.array([0, 0, 0, 1, 1, 1, 2, -1])


def before(groups: list[int], next_id: int | None = None) -> Before:
    array = np.array(groups)
    return Before(array, array >= -1, int(array.max()) + 1 if next_id is None else next_id)


def labels(*values: int) -> np.ndarray:
    return np.array(values)


class TestMatched:
    """Ids of groups."""

    def test_a_group_keeps_the_id_of_most_of_its_items(self) -> None:
        ids, next_id = matched(labels(0, 0, 1, 1, 1), before([7, 7, 3, 3, 7]))
        assert ids.tolist() == [7, 7, 3, 3, 3]
        assert next_id == 8

    def test_the_matching_is_the_best_of_all_groups_together(self) -> None:
        # Group 0 shares 3 items with 5 and 2 with 6; group 1 shares 2 with 5 only.
        ids, _ = matched(labels(0, 0, 0, 0, 0, 1, 1), before([5, 5, 5, 6, 6, 5, 5]))
        assert ids.tolist() == [6, 6, 6, 6, 6, 5, 5]

    def test_the_larger_part_of_a_split_keeps_the_id_and_the_other_gets_a_new_one(self) -> None:
        ids, next_id = matched(labels(0, 1, 1), before([2, 2, 2], next_id=9))
        assert ids.tolist() == [9, 2, 2]
        assert next_id == 10

    def test_ids_are_never_used_again(self) -> None:
        used, now = {0, 1}, before([0, 0, 1, 1])
        for step in ([0, 0, 0, 0], [0, 1, 2, 3], [0, 0, 0, 0], [0, 1, 0, 1]):
            ids, next_id = matched(labels(*step), now)
            new = set(ids.tolist()) - set(now.groups.tolist())
            assert not new & used
            used |= new
            now = Before(ids, now.is_old, next_id)

    def test_items_in_no_group_and_new_items(self) -> None:
        ids, _ = matched(labels(-1, 0, 0, 1), before([4, 4, -1, -1]))
        assert ids.tolist() == [-1, 4, 4, 5]

    @pytest.mark.slow
    def test_many_groups_are_fast(self) -> None:
        groups = np.repeat(np.arange(5000), 4)
        moved = np.random.RandomState(0).permutation(5000)[groups]
        ids, _ = matched(moved, Before(groups, groups >= 0, 5000))
        assert np.array_equal(ids, groups)


def said(*pairs: tuple[int, int, int]) -> Evidence:
    return Evidence.of(Answer(Question("pair", (i, j)), value) for i, j, value in pairs)


class TestHeld:
    """Confirmed items."""

    def test_what_is_not_confirmed_moves_freely(self) -> None:
        after = labels(1, 0, 1, 1)
        assert held(before([0, 0, 1, 1]), after, said()).tolist() == after.tolist()

    def test_a_confirmed_item_stays_without_an_answer(self) -> None:
        evidence = said((0, 1, 1))
        assert held(before([0, 0, 1, 1]), labels(1, 0, 1, 1), evidence).tolist() == [0, 0, 1, 1]

    @pytest.mark.parametrize("pair", [(0, 1, 0), (0, 2, 1), (1, 4, 0)])
    def test_it_leaves_with_an_answer_that_contradicts_its_group(self, pair: Any) -> None:
        # 0, 1, 4 were together, confirmed by 0 = 4 and 1 = 4.
        old, after = before([0, 0, 1, 1, 0]), labels(1, 0, 1, 1, 1)
        evidence = said((0, 4, 1), (1, 4, 1), pair)
        assert held(old, after, evidence).tolist() == after.tolist()

    def test_it_does_not_leave_with_an_answer_about_other_groups(self) -> None:
        old, after = before([0, 0, 1, 1, 2]), labels(2, 0, 2, 1, 2)
        evidence = said((0, 1, 1), (2, 3, 0))  # an answer about group 1 moves 2, not 0
        assert held(old, after, evidence).tolist() == [0, 0, 2, 1, 2]

    def test_it_does_not_leave_with_an_answer_that_the_new_groups_violate(self) -> None:
        old, after = before([0, 0, 0, 1]), labels(1, 0, 0, 1)
        evidence = said((0, 1, 1), (1, 2, 0))
        assert held(old, after, evidence).tolist() == [0, 0, 0, 1]

    def test_a_merge_that_an_answer_asks_for_takes_the_whole_group(self) -> None:
        old, after = before([0, 0, 0, 1, 1]), labels(0, 0, 0, 0, 0)
        evidence = said((0, 1, 1), (3, 4, 1), (2, 3, 1))
        assert held(old, after, evidence).tolist() == after.tolist()

    def test_items_called_the_same_move_together(self) -> None:
        # Kept, two items that were compared with each other alone never left a wrong group.
        old, after = before([0, 0, 0, 1, 1, 1]), labels(0, 0, 0, 0, 0, 1)
        assert held(old, after, said((3, 4, 1))).tolist() == after.tolist()
        assert held(old, after, said((3, 4, 1), (4, 5, 1))).tolist() == old.groups.tolist()


def test_changes_name_the_answer_that_moved_the_item() -> None:
    old, after = before([0, 0, 1, 1, -1]), labels(1, 0, 1, 1, 0)
    answers = [Answer(Question("pair", (0, 2)), SAME, "ann")]
    found = changes_of(list("abcde"), old, after, Evidence.of(answers))
    assert [change[:3] for change in found] == [("a", 0, 1), ("e", None, 0)]
    assert found[0].answer == answers[0]
    assert found[1].answer is None
    assert str(found[0]) == "a moved from group 1 to group 2: ann's answer"


@pytest.mark.slow
def test_an_earlier_result_is_an_object_or_its_dict() -> None:
    asking = session(strategy="guided").run(oracle(), 20)
    first = asking.result()
    asking.run(oracle(), 5)
    one = asking.result(first)
    other = asking.result(json.loads(json.dumps(first.to_dict())))
    assert np.array_equal(one.group_ids_, other.group_ids_)
    assert one.to_dict() == other.to_dict()
    with pytest.raises(InvalidArgumentError, match="previous must be a SessionResult"):
        asking.result({"ids": ["a"]})
    with pytest.raises(InvalidArgumentError, match="previous must be a SessionResult"):
        asking.result("first")


@pytest.mark.slow
def test_a_result_counts_its_log() -> None:
    asking = session(strategy="guided").run(oracle(), 8)
    asking.undo()
    result = asking.result()
    assert (result.revision, result.n_answers) == (9, 7)
    assert result.changes_ == ()
    assert result.next_group_id_ == result.group_ids_.max() + 1
    assert np.array_equal(result.group_ids_, result.labels_)


@pytest.mark.slow
def test_a_result_is_plain_for_json() -> None:
    asking = session(strategy="guided", check_every=3, ids=range(100, 100 + N))
    asking.run(SimulatedOracle(Y, error=0.15, annotators=["ann", "ben"], random_state=1), 60)
    first = asking.result()
    found = json.loads(json.dumps(first.to_dict()))
    assert found["ids"] == list(range(100, 100 + N))
    assert found["group_ids"] == first.group_ids_.tolist()
    assert set(found["exemplars"]) == {str(name) for name in set(found["group_ids"])}
    ids = {entry.id for entry in asking.log}
    assert found["doubtful"]
    for doubt in found["doubtful"]:
        assert doubt["id"] in ids
        assert set(doubt["chain_answers"]) <= ids
        assert len(doubt["chain_answers"]) == max(0, len(doubt["chain"]) - 1)
    assert found["quality"]["n_checks"] >= 4
    low, high = found["quality"]["jaccard"][1:]
    assert low <= found["quality"]["jaccard"][0] <= high
    assert {person["name"] for person in found["annotators"]} == {"ann", "ben"}
    assert all(person["error"][0] > 0 for person in found["annotators"])


def confirmed_stays_confirmed(seed: int, n_results: int = 6) -> tuple[int, int]:
    """Check one random session; return the numbers of items that moved and of confirmed ones."""
    random = np.random.RandomState(seed)
    n, n_groups = int(random.randint(8, 22)), int(random.randint(2, 5))
    y = random.randint(n_groups, size=n)
    points = random.randn(n, 2) + random.choice([0.5, 2.0, 4.0]) * np.column_stack(
        [np.cos(2 * y), np.sin(2 * y)]
    )
    strategy = str(random.choice(["random", "most_probable"]))
    asking = Session(points, strategy=strategy, random_state=seed)
    if seed % 10 == 0:
        asking = Session(points, strategy="guided", random_state=seed, n_jobs=1)
    people = SimulatedOracle(y, error=float(random.choice([0.0, 0.1, 0.25])), random_state=seed)
    previous, n_moved, n_confirmed = None, 0, 0
    for _ in range(n_results):
        asking.run(people, int(random.randint(1, 6)))
        if random.rand() < 0.2:
            asking.undo()
        if random.rand() < 0.2:
            item, *others = random.permutation(n)[:3].tolist()
            asking.edit(Edit(str(random.choice(["move", "not_in", "split"])), [item], others))
        result = asking.result(previous)
        if previous is not None:
            old, new = previous.group_ids_, result.group_ids_
            evidence = Evidence.of(asking.strategy.answers)
            pairs = evidence.pairs[evidence.is_same & evidence.holds(old)]
            is_parted = (new[pairs[:, 0]] != new[pairs[:, 1]]) & (new[pairs] >= 0).all(axis=1)
            was_confirmed = np.isin(np.arange(n), pairs)
            changes = {change.id: change for change in result.changes_}
            assert set(changes) == set(np.flatnonzero(old != new).tolist())
            for row in np.intersect1d(pairs[is_parted], np.flatnonzero(old != new)).tolist():
                answer = changes[row].answer
                assert answer is not None, (seed, row)
                # The answer contradicts the group: of old groups, and not of new ones.
                own = Evidence.of([answer])
                assert not own.holds(old).all()
                about = old[list(answer.question.rows)]
                assert old[row] in about
            n_moved += len(changes)
            n_confirmed += int(was_confirmed.sum())
        previous = result
    return n_moved, n_confirmed


@pytest.mark.slow
def test_confirmed_stays_confirmed_in_random_sessions() -> None:
    counts = np.array([confirmed_stays_confirmed(seed, 4) for seed in range(1, 9)])
    assert (counts.sum(axis=0) > 10).all()


@pytest.mark.slow
@pytest.mark.parametrize("hundred", range(10))
def test_confirmed_stays_confirmed_in_a_thousand_random_sessions(hundred: int) -> None:
    seeds = range(100 * hundred, 100 * (hundred + 1))
    counts = np.array([confirmed_stays_confirmed(seed) for seed in seeds])
    assert (counts.sum(axis=0) > 100).all()


@pytest.mark.slow
def test_groups_before_are_those_of_the_same_ids() -> None:
    asking = session(strategy="guided").run(oracle(), 30)
    result = asking.result()
    other = groups_before(result, RowIds((*IDS[::-1], "new")))
    assert other.groups.tolist() == [*result.group_ids_[::-1].tolist(), -1]
    assert other.is_old.tolist() == [True] * N + [False]
    assert X.shape[0] == N


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


@pytest.mark.slow
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


@pytest.mark.slow
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
