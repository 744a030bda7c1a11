import itertools

import numpy as np
import pytest

from clew import Constraints, Question
from clew.exceptions import InvalidConstraintsError, InvalidDataError, InvalidParameterError
from clew.oracles import SimulatedOracle

Y = np.arange(90) % 3
PAIRS = [Question("pair", pair) for pair in itertools.combinations(range(90), 2)]
# 0 and 3 are in one class, 1 and 2 of two others.
TRUE_ANSWERS = {
    Question("pair", (0, 3)): 1,
    Question("pair", (3, 1)): 0,
    Question("triplet", (0, 3, 1)): 0,
    Question("triplet", (0, 1, 3)): 1,
    Question("triplet", (0, 1, 2)): -2,
    Question("triplet", (0, 3, 6)): -2,
    Question("odd_one_out", (1, 0, 3)): 0,
    Question("odd_one_out", (0, 1, 3)): 1,
    Question("odd_one_out", (0, 3, 1)): 2,
    Question("odd_one_out", (0, 3, 6)): -1,
    Question("odd_one_out", (0, 1, 2)): -2,
}


def values(answers):
    return np.array([answer.value for answer in answers])


def test_without_errors_answers_follow_the_labels():
    oracle = SimulatedOracle(Y)
    assert {question: oracle.answer(question).value for question in TRUE_ANSWERS} == TRUE_ANSWERS


@pytest.mark.slow
@pytest.mark.parametrize("question", [q for q, truth in TRUE_ANSWERS.items() if truth != -2])
def test_errors_and_dont_knows_have_the_given_probabilities(question):
    oracle = SimulatedOracle(Y, error=0.2, dont_know=0.3, random_state=0)
    said = values(oracle.answer_all([question] * 2000))
    truth = TRUE_ANSWERS[question]
    wrong = (said != truth) & (said != -2)
    assert abs((said == -2).mean() - 0.3) < 5 * np.sqrt(0.3 * 0.7 / 2000)
    assert abs(wrong.mean() - 0.2) < 5 * np.sqrt(0.2 * 0.8 / 2000)
    if question.kind == "odd_one_out":
        others, counts = np.unique(said[wrong], return_counts=True)
        assert set(others) == {0, 1, 2, -1} - {truth}
        assert counts.min() > 90


@pytest.mark.parametrize("question", [q for q, truth in TRUE_ANSWERS.items() if truth == -2])
def test_the_answer_is_dont_know_where_labels_determine_none(question):
    oracle = SimulatedOracle(Y, error=1.0, random_state=0)
    assert (values(oracle.answer_all([question] * 50)) == -2).all()


def test_questions_about_rows_without_a_label_are_answered_dont_know():
    oracle = SimulatedOracle([-1, 0, 0, -1], random_state=0)
    assert oracle.answer(Question("pair", (1, 2))).value == 1
    for question in (
        Question("pair", (0, 1)),
        Question("pair", (0, 3)),
        Question("triplet", (1, 2, 0)),
        Question("odd_one_out", (1, 2, 3)),
    ):
        assert oracle.answer(question).is_dont_know


def test_error_one_is_always_wrong():
    oracle = SimulatedOracle(Y, error=1.0, random_state=0)
    truth = values(SimulatedOracle(Y).answer_all(PAIRS[:200]))
    np.testing.assert_array_equal(values(oracle.answer_all(PAIRS[:200])), 1 - truth)


def test_independent_errors_vary_between_repetitions_and_the_seed_determines_them():
    def ask(seed):
        return values(SimulatedOracle(Y, error=0.3, random_state=seed).answer_all([PAIRS[0]] * 100))

    assert len(set(ask(0).tolist())) == 2
    np.testing.assert_array_equal(ask(0), ask(0))
    assert (ask(0) != ask(1)).any()


def persistent(seed=0, **arguments):
    return SimulatedOracle(
        Y, error=0.3, dont_know=0.1, persistent=True, random_state=seed, **arguments
    )


@pytest.mark.slow
def test_persistent_answers_do_not_depend_on_order_or_repetition():
    first = {q: a.value for q, a in zip(PAIRS, persistent().answer_all(PAIRS), strict=True)}
    oracle = persistent()
    for question in [*reversed(PAIRS), *PAIRS[::7]]:
        assert oracle.answer(question).value == first[question]
    truth = values(SimulatedOracle(Y).answer_all(PAIRS))
    said = np.array(list(first.values()))
    wrong = ((said != truth) & (said != -2)).mean()
    assert abs(wrong - 0.3) < 5 * np.sqrt(0.3 * 0.7 / len(PAIRS))
    other = values(persistent(seed=1).answer_all(PAIRS))
    assert (said != other).mean() > 0.2


@pytest.mark.slow
def test_persistent_errors_follow_the_items_not_the_order_asked():
    oracle = persistent()
    for question in PAIRS[:200]:
        turned = Question("pair", question.rows[::-1])
        assert oracle.answer(turned).value == oracle.answer(question).value
    for a, b, c in itertools.islice(itertools.combinations(range(20), 3), 300):
        said = oracle.answer(Question("triplet", (a, b, c))).value
        turned = oracle.answer(Question("triplet", (a, c, b))).value
        assert turned == {0: 1, 1: 0, -2: -2}[said]
        odd = set()
        for rows in itertools.permutations((a, b, c)):
            value = oracle.answer(Question("odd_one_out", rows)).value
            odd.add(("row", rows[value]) if value >= 0 else ("code", value))
        assert len(odd) == 1


@pytest.mark.slow
def test_annotators_err_on_their_own():
    oracle = persistent(annotators=["ann", "bob"])
    ann, bob = (values(oracle.answer_all(PAIRS, name)) for name in ("ann", "bob"))
    assert (ann != bob).mean() > 0.2
    assert oracle.answer(PAIRS[0], "bob").annotator == "bob"


def test_annotators_are_numbered_or_named_and_drawn_at_random():
    assert SimulatedOracle(Y).annotators == ("0",)
    oracle = SimulatedOracle(Y, annotators=3, random_state=0)
    asked = [answer.annotator for answer in oracle.answer_all(PAIRS[:300])]
    assert {name: asked.count(name) > 60 for name in asked} == dict.fromkeys("012", True)


def test_error_of_each_annotator():
    oracle = SimulatedOracle(Y, error=[0, 1], annotators=["right", "wrong"])
    assert oracle.answer(PAIRS[0], "right").value == 0
    assert oracle.answer(PAIRS[0], "wrong").value == 1


def test_confusion_says_what_is_said_for_each_truth():
    # The oracle answers "different" for "same", and don't-know for "different".
    oracle = SimulatedOracle(Y, confusion=[[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    assert oracle.answer(Question("pair", (0, 3))).value == 0
    assert oracle.answer(Question("pair", (0, 1))).value == -2
    # First becomes second, second don't-know, and don't-know first.
    assert oracle.answer(Question("triplet", (0, 3, 1))).value == 1
    assert oracle.answer(Question("triplet", (0, 1, 3))).value == -2
    assert oracle.answer(Question("triplet", (0, 1, 2))).value == 0
    with pytest.raises(InvalidParameterError, match="no matrix for odd_one_out questions"):
        oracle.answer(Question("odd_one_out", (0, 1, 3)))


def test_confusion_by_kind_and_annotator():
    right, swap = np.eye(5), np.eye(5)[[1, 0, 2, 3, 4]]
    oracle = SimulatedOracle(
        Y, annotators=["a", "b"], confusion={"odd_one_out": [right, swap]}, persistent=True
    )
    for rows, a, b in (
        ((1, 0, 3), 0, 1),
        ((3, 1, 0), 1, 0),
        ((0, 3, 1), 2, 2),
        ((0, 3, 6), -1, -1),
    ):
        question = Question("odd_one_out", rows)
        assert (oracle.answer(question, "a").value, oracle.answer(question, "b").value) == (a, b)
    with pytest.raises(InvalidParameterError, match="no matrix for pair questions"):
        oracle.answer(PAIRS[0])


def test_answers_make_constraints():
    oracle = SimulatedOracle(Y, annotators=2, random_state=0)
    c = Constraints.from_answers(oracle.answer_all([*PAIRS[:50], *TRUE_ANSWERS]), n_samples=90)
    assert len(c) == 50 + len(TRUE_ANSWERS)
    assert c.conflicts() == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"error": 1.5}, r"error must lie in \[0, 1\]"),
        ({"dont_know": np.nan}, "dont_know must lie in"),
        ({"error": 0.6, "dont_know": 0.6}, "must not exceed 1"),
        ({"error": [0.1, 0.2]}, "one number for each of 1 annotators"),
        ({"error": "much"}, "error must be a number"),
        ({"annotators": 0}, "a positive number or names"),
        ({"annotators": []}, "a positive number or names"),
        ({"annotators": ["ann", "ann"]}, "distinct names"),
        ({"annotators": [1, 2]}, "or names"),
        ({"confusion": np.eye(3), "error": 0.1}, "one or the other"),
        ({"confusion": np.eye(4)}, "must be 3×3"),
        ({"confusion": np.ones((3, 3))}, "add up to 1"),
        ({"confusion": [[2, -1, 0], [0, 1, 0], [0, 0, 1]]}, "add up to 1"),
        ({"confusion": {"edit": np.eye(3)}}, "unknown kind 'edit'"),
        ({"confusion": {"pair": np.eye(5)}}, "pair answers must have shape"),
        ({"confusion": [np.eye(3)] * 2, "annotators": 3}, "pair answers must have shape"),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(InvalidParameterError, match=message):
        SimulatedOracle(Y, **arguments)


def test_bad_labels_questions_and_annotators():
    with pytest.raises(InvalidDataError, match="NaN"):
        SimulatedOracle([0, np.nan])
    oracle = SimulatedOracle(Y)
    with pytest.raises(InvalidConstraintsError, match="rows run from 0 to 89"):
        oracle.answer(Question("pair", (0, 90)))
    with pytest.raises(InvalidParameterError, match="no annotator 'zoe'; there are 0"):
        oracle.answer(PAIRS[0], "zoe")
