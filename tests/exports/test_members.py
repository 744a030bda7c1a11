"""Groups, exemplars and doubts of items, as every export has them."""

from clew.answers import Answer, Edit, Question
from clew.exports._members import members_of
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
        (5, "wren"), (5, "wren"), (9, "group 10"), (9, "group 10"), (None, "no group"),
        (None, "no group"),
    ]  # fmt: skip
    assert [one.is_exemplar for one in found.values()] == [True, False, True, False, False, False]
    assert [one.doubt for one in found.values()] == [
        "goes against an answer", "between groups; goes against an answer", "", "",
        "not grouped yet", "set aside: blurred",
    ]  # fmt: skip
    assert [one.n_answers for one in found.values()] == [2, 1, 2, 1, 0, 0]


def test_doubted_answers_contradict_nothing():
    body = BODY | {"doubtful": [{"id": "ab", "edit": ""}]}
    found = members_of(
        ITEMS, body, {}, [pair("a", "b", "different"), pair("a", "d", "same", weight=0)]
    )
    assert [one.doubt for one in found[:4]] == ["", "between groups", "", ""]


def test_without_a_result():
    found = members_of(ITEMS, None, {}, [])
    assert {one.group for one in found} == {None}
    assert [one.doubt for one in found] == ["", "", "", "", "", "set aside: blurred"]


def test_subgroups_are_what_answers_hold_together():
    names = [f"i{row}" for row in range(9)]
    body = {
        "ids": names, "group_ids": [0] * 7 + [1, 1], "confidence": [1.0] * 9,
        "exemplars": {}, "doubtful": [{"id": "i5i6", "edit": ""}],
    }  # fmt: skip
    entries = [
        pair("i0", "i1", "same"),
        pair("i2", "i3", "same"),
        Edit("move", ("i4",), ("i3",), "ann", id="e"),
        pair("i5", "i6", "same"),  # doubted
        pair("i1", "i2", "different"),
        pair("i6", "i7", "same"),  # the groups violate it
        Answer(Question("triplet", ids=("i7", "i8", "i0")), "first", "ann", id="t"),
    ]
    found = members_of([Item(name, "row") for name in names], body, {}, entries)
    assert [one.subgroup for one in found] == [1, 1, 0, 0, 0, None, None, 0, 0]
