import copy
import dataclasses
import pickle

import numpy as np
import pytest

from clew import Answer, Question
from clew.answers import ALL_ALIKE, ANSWER_WORDS, DIFFERENT, DONT_KNOW, SAME
from clew.exceptions import InvalidConstraintsError


def test_every_word_of_an_answer_has_its_documented_code():
    assert dict(ANSWER_WORDS["pair"]) == {"same": 1, "different": 0, "dont_know": -2}
    assert dict(ANSWER_WORDS["triplet"]) == {"first": 0, "second": 1, "dont_know": -2}
    assert dict(ANSWER_WORDS["odd_one_out"]) == {
        "first": 0,
        "second": 1,
        "third": 2,
        "all_alike": -1,
        "dont_know": -2,
    }
    assert (SAME, DIFFERENT, ALL_ALIKE, DONT_KNOW) == (1, 0, -1, -2)


def test_question_keeps_the_order_asked_as_plain_integers():
    question = Question("pair", tuple(np.array([9, 3])))
    assert question.rows == (9, 3)
    assert all(type(row) is int for row in question.rows)


def test_questions_and_answers_are_frozen_hashable_and_picklable():
    answer = Answer(Question("triplet", (0, 1, 2)), 1, "ann", 0.5)
    with pytest.raises(dataclasses.FrozenInstanceError):
        answer.value = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        answer.question.rows = (1, 2, 3)
    assert pickle.loads(pickle.dumps(answer)) == answer
    assert copy.deepcopy(answer) == answer
    assert len({answer, copy.deepcopy(answer)}) == 1


@pytest.mark.parametrize(
    ("kind", "rows", "message"),
    [
        ("edit", (0, 1), "unknown kind 'edit'; use one of pair, triplet, odd_one_out"),
        ("pair", (0, 1, 2), "asks about 2 rows"),
        ("triplet", (0, 1), "asks about 3 rows"),
        ("pair", (), "asks about 2 rows"),
        ("pair", (0, -1), "counted from 0"),
        ("odd_one_out", (4, 2, 4), "different rows"),
        ("pair", (0, 1.0), "must be integers"),
        ("pair", (0, True), "must be integers"),
        ("pair", (0, "1"), "must be integers"),
    ],
)
def test_bad_questions_are_refused(kind, rows, message):
    with pytest.raises(InvalidConstraintsError, match=message):
        Question(kind, rows)


@pytest.mark.parametrize(
    ("kind", "value"),
    [("pair", -1), ("pair", 2), ("triplet", 2), ("triplet", -1), ("odd_one_out", 3)],
)
def test_codes_of_another_kind_are_refused(kind, value):
    rows = (0, 1) if kind == "pair" else (0, 1, 2)
    with pytest.raises(
        InvalidConstraintsError, match=f"{value} is not an answer to an? {kind} question"
    ):
        Answer(Question(kind, rows), value)


@pytest.mark.parametrize("value", [1.0, True, "first", "", None])
def test_other_values_are_refused_as_answers(value):
    with pytest.raises(InvalidConstraintsError, match=r"answer .*to a pair question"):
        Answer(Question("pair", (0, 1)), value)


@pytest.mark.parametrize(
    ("kind", "word", "code"),
    [
        ("pair", "same", 1),
        ("pair", "Different", 0),
        ("pair", "don't know", -2),
        ("triplet", " second ", 1),
        ("odd-one-out", "third", 2),
        ("odd_one_out", "All alike", -1),
        ("odd_one_out", "dont-know", -2),
    ],
)
def test_words_are_answers_too(kind, word, code):
    rows = (0, 1) if kind == "pair" else (0, 1, 2)
    answer = Answer(Question(kind, rows), word)
    assert type(answer.value) is int
    assert answer == Answer(Question(kind.replace("-", "_"), rows), code)


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan"), float("inf"), "1", True, None])
def test_weights_outside_the_range_are_refused(weight):
    with pytest.raises(InvalidConstraintsError, match=r"weight must be a number in \[0, 1\]"):
        Answer(Question("pair", (0, 1)), SAME, weight=weight)


def test_annotators_are_names_and_questions_are_questions():
    with pytest.raises(InvalidConstraintsError, match="annotator must be a string"):
        Answer(Question("pair", (0, 1)), SAME, annotator=3)
    with pytest.raises(InvalidConstraintsError, match="question must be a Question"):
        Answer((0, 1), SAME)


def test_only_dont_know_is_dont_know():
    question = Question("odd_one_out", (0, 1, 2))
    said = {value: Answer(question, value).is_dont_know for value in (0, 1, 2, -1, -2)}
    assert said == {0: False, 1: False, 2: False, -1: False, -2: True}


def test_examples_are_other_items_beside_a_pair_or_a_triplet():
    question = Question("pair", ids=("a", "b"), examples=["c", "d"])
    assert question == Question("pair", ids=("a", "b"))
    assert "examples=('c', 'd')" in repr(question)
    for kind, ids, examples in (("pair", "ab", "b"), ("odd_one_out", "abc", "d")):
        with pytest.raises(InvalidConstraintsError, match="examples are other items"):
            Question(kind, ids=tuple(ids), examples=(examples,))


def test_yes_and_no_answer_whether_two_are_the_same():
    question = Question("pair", (0, 1))
    for word, value in {"yes": SAME, "Y": SAME, "no": DIFFERENT, "n": DIFFERENT}.items():
        assert Answer(question, word).value == value
    with pytest.raises(InvalidConstraintsError, match="same, different, dont_know, or yes"):
        Answer(question, "maybe")
    with pytest.raises(InvalidConstraintsError, match="unknown answer 'yes'"):
        Answer(Question("triplet", (0, 1, 2)), "yes")
