"""Which-of and confirm questions: what is shown, what the answers imply, and what they cost."""

import numpy as np
import pytest

from clew.answers import DIFFERENT, DONT_KNOW, SAME, Answer, Question, SecondsModel, expand
from clew.exceptions import InvalidParameterError
from clew.metrics import adjusted_rand_score
from clew.oracles import SimulatedOracle
from clew.questions import Guided
from clew.questions._group_questions import (
    Fragments,
    asked_pairs,
    choice_information,
    confirm_questions,
    group_examples,
    hit_probabilities,
    which_of_questions,
)

SECONDS = SecondsModel()


def blocks(*sizes, between=0.02):
    """Probabilities of rows in surely separate sets."""
    label = np.repeat(np.arange(len(sizes)), sizes)
    same = np.where(label[:, None] == label, 0.95, between)
    np.fill_diagonal(same, 1.0)
    return same, label


def test_fragments_are_the_sure_sets_and_show_their_typical_rows():
    same, label = blocks(5, 3, 1)
    same[0, 1:5] = same[1:5, 0] = 0.8  # row 0 is the least typical of its set
    found = Fragments.of(same)
    assert [set(np.flatnonzero(found.label == k)) for k in range(3)] == [
        set(np.flatnonzero(label == k)) for k in range(3)
    ]
    assert 0 not in found.examples[0]
    assert (found.examples[2, 1:] == -1).all()


def test_the_item_whose_order_of_groups_is_in_doubt_is_shown_likeliest_group_first():
    same, _ = blocks(4, 4, 4, 1)
    for group, p in ((0, 0.3), (4, 0.45), (8, 0.15)):
        same[12, group : group + 4] = same[group : group + 4, 12] = p
    taken = np.eye(13, dtype=bool)
    best, *_ = which_of_questions(same, Fragments.of(same), taken, 0.05, SECONDS, 5)
    question = best.question
    assert question.rows[0] == 12
    firsts = [question.rows[at] // 4 for at in np.cumsum(question.parts[:-1])]
    assert firsts == [1, 0, 2]
    # What was compared is not compared again.
    for row in range(4, 8):
        taken[12, row] = taken[row, 12] = True
    again = which_of_questions(same, Fragments.of(same), taken, 0.05, SECONDS, 13)
    of_item = next(each.question for each in again if each.question.rows[0] == 12)
    assert not set(of_item.rows) & set(range(4, 8))


def of_pairs(same):
    return lambda pairs: same[tuple(pairs.T)]


def test_examples_beside_an_item_tell_nothing_of_the_answer():
    same, _ = blocks(6, 6)
    same += np.random.RandomState(0).uniform(-0.02, 0.02, same.shape)
    before = group_examples(of_pairs(same), 12, 0, [5], 3)
    assert len(set(before)) == 3
    assert set(before) <= {1, 2, 3, 4}
    for row in (5, 6):  # of its own group, and of the other one
        found = set()
        for p in (0.01, 0.5, 0.99):
            same[0, row] = same[row, 0] = p
            found.add(tuple(group_examples(of_pairs(same), 12, 0, [row], 3)))
        assert len(found) == 1
    assert len(group_examples(of_pairs(same), 12, 0, [6], 2)) == 2


def test_only_the_item_of_a_settled_group_has_examples():
    same, _ = blocks(6, 4, 1)
    assert group_examples(of_pairs(same), 11, 6, [0], 3) == [7, 8, 9]
    assert group_examples(of_pairs(same), 11, 6, [9], 3) == []
    assert group_examples(of_pairs(same), 11, 10, [0], 3) == []
    same[0, 1:6] = same[1:6, 0] = 0.85  # row 0 is not surely in its group
    assert group_examples(of_pairs(same), 11, 0, [7], 3) == []
    assert 0 not in group_examples(of_pairs(same), 11, 1, [7], 3)
    assert group_examples(lambda _: None, 11, 1, [7], 3) == []


def test_an_item_surely_in_its_group_is_not_asked_about_others():
    # Two groups may be one: that is a question about a typical row, not about every other row.
    same, _ = blocks(6, 6, between=0.3)
    found = which_of_questions(same, Fragments.of(same), np.eye(12, dtype=bool), 0.02, SECONDS, 12)
    assert found[0].question.rows[0] in Fragments.of(same).first
    assert found[0].question.parts[1:] == (3,)


def test_probabilities_of_the_first_right_group_add_up():
    random = np.random.RandomState(0)
    p = -np.sort(-random.random_sample((50, 4)), axis=1)
    hit = hit_probabilities(p, np.zeros((50, 4, 4)))
    assert (hit >= 0).all()
    assert (hit.sum(axis=1) <= 1 + 1e-9).all()
    # Two groups that are one: only the first of them is hit.
    both = hit_probabilities(np.array([[0.6, 0.6]]), np.ones((1, 2, 2)))
    assert both.tolist() == [[0.6, 0.0]]


def test_a_sure_choice_tells_nothing():
    sure, even = np.array([[1.0, 0.0, 0.0]]), np.full((1, 3), 1 / 3)
    assert choice_information(sure, 0.1)[0] == pytest.approx(0.0, abs=1e-9)
    assert choice_information(even, 1e-6)[0] == pytest.approx(np.log(3), abs=1e-4)


def test_screens_have_at_most_eight_members_and_sometimes_a_stranger():
    same, label = blocks(12, 6, between=0.001)
    members = np.arange(3, 12)
    same[0, members] = same[members, 0] = 0.75
    fragments, taken = Fragments.of(same), np.eye(18, dtype=bool)
    screens = confirm_questions(same, label, fragments, taken, 0.05, SECONDS)
    planted = confirm_questions(same, label, fragments, taken, 0.05, SECONDS, n_asked=3)
    for each in (*screens, *planted):
        assert 1 <= sum(each.question.parts[1:]) <= 8
    # A screen that is not full gets a row of the other set.
    rows = [each.question.rows for each in planted if sum(each.question.parts[1:]) < 8]
    assert rows
    assert all(len(set(label[list(shown)])) == 2 for shown in rows)


def test_one_choice_is_one_same_and_what_was_read_before():
    question = Question("which_of", (9, 0, 1, 2, 3, 4), parts=(1, 2, 2, 1))
    chosen = expand(Answer(question, 1, weight=0.8))
    assert [(i, j, said) for i, j, said, _ in chosen] == [(0, 1, DIFFERENT), (0, 3, SAME)]
    assert chosen[1][3] == 0.8
    assert chosen[0][3] < 0.8
    none = expand(Answer(question, "none_of_these"))
    assert [said for *_, said, _ in none] == [DIFFERENT] * 3
    assert none[0][3] > none[2][3]  # the last groups are looked at with less care
    assert expand(Answer(question, "dont_know")) == []
    assert [*asked_pairs(Answer(question, 0))] == [(9, 0)]
    assert [*asked_pairs(Answer(question, "dont_know"))] == [(9, 0), (9, 2), (9, 4)]


def test_members_of_one_part_share_one_answer():
    question = Question("confirm", (0, 1, 5, 6, 7, 8), parts=(2, 3, 1))
    found = expand(Answer(question, 0b0100))
    assert [(i, j, said) for i, j, said, _ in found] == [
        (0, 2, SAME), (0, 3, SAME), (0, 4, DIFFERENT), (0, 5, SAME)
    ]  # fmt: skip
    assert [weight for *_, weight in found] == [0.5, 0.5, 1.0, 1.0]


def test_seconds_follow_what_is_read():
    which = Question("which_of", (9, 0, 2, 4), parts=(1, 1, 1, 1))
    screen = Question("confirm", (0, 5, 6), parts=(1, 2))
    assert SECONDS.of_answer(Answer(which, 0)) == pytest.approx(1.6)
    assert SECONDS.of_answer(Answer(which, "none_of_these")) == pytest.approx(2.4)
    assert SECONDS.of_answer(Answer(screen, 0b11)) == pytest.approx(1.5 + 2 * 0.8 + 2 * 0.8)
    assert SECONDS.of_answer(Answer(Question("pair", (0, 1)), "same")) == 2.0


def test_measured_times_replace_assumed_ones():
    quick = [Answer(Question("pair", (0, at)), "same", "ann", ms=700) for at in range(1, 60)]
    slow = [Answer(Question("pair", (0, at)), "same", "ben", ms=4000) for at in range(1, 60)]
    ann, ben = (SECONDS.fitted([*quick, *slow], annotator=name) for name in ("ann", "ben"))
    assert ann.pair == pytest.approx(0.7, rel=0.15)
    assert ben.pair == pytest.approx(4.0, rel=0.1)
    assert ben.which_of > 1.5 * SECONDS.which_of  # a slow person is slow at other kinds
    assert SECONDS.fitted([]) == SECONDS
    pause = Answer(Question("pair", (0, 1)), "same", ms=3_600_000)
    assert SECONDS.fitted([pause]).pair < 3
    with pytest.raises(InvalidParameterError, match="tick must be a positive number"):
        SecondsModel(tick=0)


def test_people_read_groups_in_order_and_miss_whole_classes():
    y = np.repeat([0, 1, 2], 20)
    question = Question("which_of", (0, 20, 21, 1, 2, 40), parts=(1, 2, 2, 1))
    right = SimulatedOracle(y, seconds=SECONDS, random_state=0).answer(question)
    assert (right.value, right.ms) == (1, 2000)
    wrong = SimulatedOracle(y, error=0.3, random_state=0)
    values = [wrong.answer(question).value for _ in range(2000)]
    share = np.mean(np.array(values) == 1)
    assert share == pytest.approx(0.7, abs=0.04)
    assert set(values) == {-1, 0, 1, 2}
    screen = Question("confirm", (0, 20, 21, 22, 1, 2), parts=(1, 5))
    careful = SimulatedOracle(y, random_state=0).answer(screen)
    assert careful.value == 0b00111
    together = SimulatedOracle(y, error=0.4, missed_together=1.0, random_state=0)
    ticks = np.array([together.answer(screen).value & 0b111 for _ in range(300)])
    assert set(ticks) == {0, 0b111}
    by_pairs = {"pair": [[1, 0, 0], [0, 0, 1], [0, 0, 1]]}
    assert SimulatedOracle(y, confusion=by_pairs).answer(question).value == DONT_KNOW
    with pytest.raises(InvalidParameterError, match="for pairs"):
        SimulatedOracle(y, confusion={"triplet": np.eye(3)}).answer(question)


def test_repeated_questions_have_the_same_error():
    y = np.repeat([0, 1, 2], 5)
    question = Question("which_of", (0, 5, 1, 10), parts=(1, 1, 1, 1))
    oracle = SimulatedOracle(y, error=0.5, persistent=True, random_state=3)
    assert len({oracle.answer(question).value for _ in range(20)}) == 1


@pytest.fixture(scope="module")
def groups():
    random = np.random.RandomState(0)
    y = np.repeat(np.arange(8), 10)
    X = random.normal(size=(8, 5))[y] * 2.2 + random.normal(size=(80, 5))
    return X, y


def minutes_to(groups, kinds, goal=0.9):
    X, y = groups
    strategy = Guided(kinds=kinds, random_state=0).start(X)
    oracle = SimulatedOracle(y, seconds=SECONDS, origin="asked", random_state=1)
    spent = 0.0
    while adjusted_rand_score(y, strategy.labels()) < goal:
        questions = strategy.ask(2)
        assert questions
        answers = oracle.answer_all(questions)
        strategy.tell(answers)
        spent += sum(answer.ms for answer in answers) / 60_000
        assert spent < 15
    return spent


@pytest.mark.slow
def test_which_of_takes_fewer_minutes_than_pairs(groups):
    assert minutes_to(groups, "auto") < 0.8 * minutes_to(groups, ("pair",))


@pytest.mark.slow
def test_a_slow_kind_is_left_out(groups):
    X, _ = groups
    slow = Guided(kinds="auto", seconds={"which_of": 60.0}, random_state=0).start(X)
    assert {question.kind for question in slow.ask(4)} == {"pair"}
    usual = Guided(kinds="auto", random_state=0).start(X)
    assert {question.kind for question in usual.ask(1)} == {"which_of"}
    # The times of the answers decide where none are given.
    at_pairs = [
        Answer(Question("which_of", (a, a + 40), parts=(1, 1)), "dont_know", ms=15_000)
        for a in range(40)
    ] + [Answer(Question("pair", (a, a + 40)), "dont_know", ms=500) for a in range(40)]
    usual.tell(at_pairs)
    assert {question.kind for question in usual.ask(1)} == {"pair"}


@pytest.mark.slow
def test_dont_know_is_not_asked_again(groups):
    X, _ = groups
    strategy = Guided(kinds=("which_of", "confirm"), random_state=0).start(X)
    seen = set()
    for _ in range(20):
        questions = strategy.ask(2)
        keys = {(q.kind, q.rows) for q in questions}
        assert not keys & seen
        seen |= keys
        strategy.tell([Answer(question, "dont_know") for question in questions])
