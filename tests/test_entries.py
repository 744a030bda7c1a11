"""Entries of a log: the line of each is read back, and invalid ones are refused in words."""

import dataclasses
import json

import pytest
from hypothesis import given, strategies as st

from clew import Answer, Constraints, Question
from clew.answers import (
    BAD_ITEM,
    DIFFERENT,
    DONT_KNOW,
    NONE_OF_THESE,
    NOT_COMPARABLE,
    SAME,
    Edit,
    Retraction,
    entry_from_json,
    entry_to_json,
    expand,
    standing,
)
from clew.exceptions import InvalidConstraintsError

#: Some ids are words for answers, and some hold characters that JSON escapes.
NAMES = ["wren", "same", "dont_know", 'her"o}n', "ü\u2028\n", "none_of_these", "7"]
QUESTIONS = {
    "pair": Question("pair", ids=NAMES[:2]),
    "triplet": Question("triplet", ids=NAMES[:3]),
    "odd_one_out": Question("odd_one_out", ids=NAMES[1:4]),
    "which_of": Question("which_of", ids=NAMES[:6], parts=(1, 2, 1, 2)),
    "confirm": Question("confirm", ids=NAMES, parts=(2, 5)),
}
VALUES = {
    "pair": [0, 1],
    "triplet": [0, 1],
    "odd_one_out": [-1, 0, 1, 2],
    "which_of": [-1, 0, 1, 2],
    "confirm": [0, 1, 5, 31],
}
texts = st.text(max_size=8)


def fields(entry) -> dict:
    """All fields, also those that are not compared."""
    found = dataclasses.asdict(entry)
    if isinstance(entry, Answer):
        found["shown"] = found["shown"] or found["question"]["ids"]
    return found


@st.composite
def answers(draw) -> Answer:
    kind = draw(st.sampled_from(list(QUESTIONS)))
    question = dataclasses.replace(
        QUESTIONS[kind],
        origin=draw(st.sampled_from(["asked", "random", "imported", "edit", "rule"])),
        repeat=draw(st.integers(0, 3)),
        check=draw(st.none() | st.floats(1e-9, 1)),
    )
    value = draw(st.sampled_from([*VALUES[kind], DONT_KNOW, NOT_COMPARABLE, BAD_ITEM]))
    return Answer(
        question, value, draw(texts), draw(st.floats(0, 1)), question.origin, draw(texts),
        draw(texts), draw(st.none() | st.integers(0, 10**6)), draw(st.permutations(question.ids)),
        draw(st.none() | texts), draw(texts), draw(texts), draw(texts),
        question.ids[:1] if value == BAD_ITEM else (),
    )  # fmt: skip


@given(answers())
def test_an_answer_is_read_back(answer: Answer) -> None:
    line = entry_to_json(answer)
    assert "\n" not in line
    again = entry_from_json(line)
    assert fields(again) == fields(answer)
    assert entry_to_json(again) == line


@given(
    st.sampled_from(["merge", "split", "move", "not_in", "lock", "set_aside"]),
    st.permutations(NAMES),
    texts, texts, texts, texts, st.none() | texts,
)  # fmt: skip
def test_an_edit_is_read_back(kind, names, annotator, name, at, note, revokes) -> None:
    target = () if kind in ("lock", "set_aside") else names[3:]
    edit = Edit(kind, names[:3], target, annotator, name, at, "app", note, revokes)
    assert fields(entry_from_json(entry_to_json(edit))) == fields(edit)


@given(texts.filter(bool), texts, texts, texts)
def test_a_retraction_is_read_back(revokes, annotator, name, at) -> None:
    entry = Retraction(revokes, annotator, name, at, "app")
    assert entry_from_json(entry_to_json(entry)) == entry


def test_a_line_of_before_is_read() -> None:
    line = {
        "version": 1, "id": "a", "question": "0", "kind": "pair", "items": ["x", "y"],
        "shown": ["y", "x"], "answer": "same", "annotator": "ann", "ms": 1200.5, "time": "t",
        "origin": "random", "revokes": None, "source": "clew 0.1",
    }  # fmt: skip
    answer = entry_from_json(line)
    assert answer == Answer(
        Question("pair", (), "random", ("x", "y")), SAME, "ann", origin="random"
    )
    assert (answer.ms, answer.shown, answer.at) == (1200, ("y", "x"), "t")
    assert entry_from_json(line | {"answer": "not_comparable"}).value == NOT_COMPARABLE
    undone = entry_from_json(line | {"answer": None, "id": "b", "revokes": "a"})
    assert undone == Retraction("a", "ann", "b", "t", "clew 0.1")
    assert standing([answer, undone]) == []


def test_what_is_the_default_is_not_written() -> None:
    line = json.loads(entry_to_json(Answer(QUESTIONS["pair"], "same")))
    assert not {"repeat", "check", "parts", "note", "bad", "edit", "weight", "content"} & set(line)


def test_a_question_without_ids_has_no_line() -> None:
    with pytest.raises(InvalidConstraintsError, match="has no ids"):
        entry_to_json(Answer(Question("pair", (0, 1)), "same"))


def test_questions_without_rows_are_compared_by_ids() -> None:
    one, same, other = (Question("pair", ids=ids) for ids in ("ab", "ab", "ac"))
    assert one == same != other
    assert len({one, same, other}) == 2
    assert Question("pair", (0, 1), ids="ab") == Question("pair", (0, 1), ids="cd")
    assert Question("pair", (0, 1)) != Question("pair", (0, 1), repeat=1)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Question("pair", (0, 1), ids="abc"), "ids must be 2"),
        (lambda: Question("pair", ids="aa"), "different rows"),
        (lambda: Question("pair", (0, 1), parts=(1, 1)), "has no parts"),
        (lambda: Question("pair", (0, 1), repeat=-1), "repeat is how often"),
        (lambda: Question("pair", (0, 1), check=0.0), "probability of a drawn question"),
        (lambda: Question("which_of", (0, 1, 2), parts=(1, 1)), "parts of a which_of"),
        (lambda: Question("confirm", (0, 1, 2), parts=(3,)), "parts of a confirm"),
        (lambda: Answer(QUESTIONS["which_of"], 3), "use one of 0 to 2, dont_know, none_of_these"),
        (lambda: Answer(QUESTIONS["confirm"], 32), "use one of 0 to 31"),
        (lambda: Answer(QUESTIONS["pair"], "same", bad=("wren",)), "bad names the items"),
        (lambda: Answer(QUESTIONS["pair"], "same", ms=-1), "ms must be"),
        (lambda: Answer(QUESTIONS["pair"], "same", id=3), "id must be a string"),
        (lambda: Edit("paint", "a", "b"), "unknown kind of edit 'paint'; use one of merge"),
        (lambda: Edit("merge", ["a"]), "has 1 or more items and a target"),
        (lambda: Edit("lock", ["a"]), "has 2 or more items and no target"),
        (lambda: Edit("lock", ["a", "b"], ["c"]), "no target"),
        (lambda: Edit("move", ["a"], ["a"]), "names each item once"),
        (lambda: Edit("move", "ab", ["c"]), "items must be a sequence of ids"),
        (lambda: Retraction(""), "revokes must be the id"),
        (lambda: Retraction(None), "revokes must be the id"),
        (lambda: entry_from_json("{"), "not JSON"),
        (lambda: entry_from_json('{"id":"a"}'), "'version' is missing"),
        (lambda: entry_from_json({"version": 1, "id": "a", "kind": "paint"}), "unknown kind"),
    ],
)
def test_invalid_entries_are_refused(make, message: str) -> None:
    with pytest.raises(InvalidConstraintsError, match=message):
        make()


def test_constraints_leave_out_what_is_no_evidence_of_groups(tmp_path) -> None:
    which = Answer(Question("which_of", ids=("a", "b", "c"), parts=(1, 1, 1)), 1, id="3")
    entries = [
        Answer(Question("pair", ids=("a", "b")), "not_comparable", id="1"),
        Answer(Question("pair", ids=("a", "b")), "bad_item", bad="a", id="2"),
        which,
        Edit("move", ["d"], ["a", "b"], "ann", id="4"),
        Edit("set_aside", ["c"], id="5"),
        Answer(Question("pair", ids=("c", "d")), "dont_know", id="6"),
    ]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(entry_to_json(entry) + "\n" for entry in entries))
    known = Constraints.read_jsonl(path, ids=list("abcd"))
    assert known.triplets.size == known.odd_one_out.size == 0
    assert known.pairs.tolist() == [[0, 1], [0, 2], [0, 3], [1, 3], [2, 3]]
    assert known.pair_answers.tolist() == [DIFFERENT, SAME, SAME, SAME, DONT_KNOW]
    assert known.pair_weights.tolist() == [*(each[3] for each in expand(which)), 1, 1, 1]
    assert known.pair_origins.tolist()[2:4] == ["edit", "edit"]
    told = [entry for entry in entries if isinstance(entry, Answer)]
    assert len(Constraints.from_answers(told, ids=list("abcd"))) == 3


def test_none_of_these_is_different_from_all() -> None:
    answer = Answer(QUESTIONS["which_of"], NONE_OF_THESE)
    assert {said for _, _, said, _ in expand(answer)} == {DIFFERENT}
    assert {i for i, *_ in expand(answer)} == {0}
    assert expand(Answer(QUESTIONS["which_of"], "dont_know")) == []
