"""Groups, exemplars and doubts of items, as every export has them."""

from __future__ import annotations

from clew.answers import Answer, Question
from clew.exports import members_of
from clew.items import Item

BODY = {
    "ids": ["a", "b", "c", "d"],
    "labels": [0, 0, 1, 1],
    "group_ids": [5, 5, 9, 9],
    "confidence": [0.9, 0.4, 1.0, 0.8],
    "exemplars": {"5": ["a"], "9": ["c"]},
    "doubtful": [],
}
ITEMS = [Item(name, "row") for name in "abcd"] + [
    Item("e", "row"),
    Item("f", "row", set_aside="blurred"),
]


def pair(first, second, word, **more):
    return Answer(Question("pair", ids=(first, second)), word, "ann", id=first + second, **more)


def test_members():
    answers = [
        pair("a", "b", "different"),
        pair("a", "c", "different"),
        pair("c", "d", "dont_know"),
    ]
    found = {one.item.id: one for one in members_of(ITEMS, BODY, {5: "wren"}, answers)}
    assert [(one.group, one.title) for one in found.values()] == [
        (5, "wren"), (5, "wren"), (9, "group 9"), (9, "group 9"), (None, "no group"),
        (None, "no group"),
    ]  # fmt: skip
    assert [one.is_exemplar for one in found.values()] == [True, False, True, False, False, False]
    assert [one.doubt for one in found.values()] == [
        "goes against an answer", "between groups; goes against an answer", "", "",
        "not grouped yet", "set aside: blurred",
    ]  # fmt: skip
    assert [one.n_answers for one in found.values()] == [2, 1, 2, 1, 0, 0]


def test_doubted_answers_contradict_nothing():
    body = BODY | {"doubtful": [{"id": "ab"}]}
    found = members_of(
        ITEMS, body, {}, [pair("a", "b", "different"), pair("a", "d", "same", weight=0)]
    )
    assert [one.doubt for one in found[:4]] == ["", "between groups", "", ""]


def test_without_a_result():
    found = members_of(ITEMS, None, {}, [])
    assert {one.group for one in found} == {None}
    assert [one.doubt for one in found] == ["", "", "", "", "", "set aside: blurred"]
