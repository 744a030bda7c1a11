"""The files of an export: the same for the command line and the app."""

import csv
import io
import json
import zipfile

import pytest

from clew import exports
from clew.answers import Answer, Edit, Question, Retraction, entry_to_json
from clew.exceptions import InvalidDataError, InvalidParameterError
from clew.items import Item
from clew.store import open_store


def doubt(id, p_wrong, edit=""):
    return {
        "id": id, "edit": edit, "p_wrong": p_wrong, "reason": "others say so", "items": [],
        "annotator": "", "chain": ["a", "c"], "chain_answers": ["x"],
    }  # fmt: skip


@pytest.fixture
def store():
    def pair(first, second, word, id):
        return Answer(Question("pair", ids=(first, second)), word, "ann", id=id)

    with open_store(":memory:") as opened:
        opened.add_items(Item(name, "text", text=name) for name in "abcd")
        opened.append(
            [
                pair("a", "b", "same", "x"),
                pair("a", "c", "same", "y"),
                pair("b", "d", "different", "z"),
                Edit("merge", ("c",), ("d",), "ben", id="e"),
                Retraction("z", "ann", id="r"),
            ]
        )
        yield opened


@pytest.fixture
def published(store):
    body = {
        "ids": list("abcd"), "group_ids": [0, 0, 3, 3], "confidence": [0.9, 0.4, 1, 1],
        "exemplars": {"3": ["d", "c"], "0": ["a"]},
        "doubtful": [doubt("z", 0.99), doubt("", 0.6, "e"), doubt("", 0.7, "e"), doubt("y", 0.9)],
    }  # fmt: skip
    store.publish(5, body)
    store.name_group(3, name="wren")
    return store


def rows_of(files, name):
    return list(csv.DictReader(io.StringIO(files[name].decode())))


def test_groups(published):
    rows = rows_of(exports.files_of("groups", published), "groups.csv")
    assert list(rows[0]) == [
        "id", "group", "name", "confidence", "subgroup", "is_exemplar", "doubtful",
        "doubt_reason", "n_answers",
    ]  # fmt: skip
    assert [(row["group"], row["name"]) for row in rows] == [
        ("0", "group 1"), ("0", "group 1"), ("3", "wren"), ("3", "wren"),
    ]  # fmt: skip
    assert [row["subgroup"] for row in rows] == ["0", "0", "", ""]  # the edit is doubted
    assert [row["n_answers"] for row in rows] == ["2", "1", "1", "0"]


def test_examples_are_in_their_order(published):
    rows = rows_of(exports.files_of("exemplars", published), "exemplars.csv")
    assert [(row["name"], row["position"], row["id"]) for row in rows] == [
        ("group 1", "0", "a"), ("wren", "0", "d"), ("wren", "1", "c"),
    ]  # fmt: skip


def test_doubts_are_those_that_stand_the_worst_first(published):
    found = exports.doubts_of(published)
    assert [(one.entry.id, one.p_wrong) for one in found] == [("y", 0.9), ("e", 0.7)]
    rows = rows_of(exports.files_of("doubtful", published, "csv"), "doubtful.csv")
    assert [(row["entry"], row["kind"], row["answer"]) for row in rows] == [
        ("y", "pair", "same"), ("e", "merge", ""),
    ]  # fmt: skip
    assert json.loads(rows[0]["items"]) == ["a", "c"]
    (line, _) = exports.files_of("doubtful", published, "jsonl")["doubtful.jsonl"].splitlines()
    assert json.loads(line)["chain"] == ["a", "c"]


def test_answers(published):
    lines = exports.files_of("answers", published)["answers.jsonl"].decode().splitlines()
    assert lines == [entry_to_json(each.entry) for each in published.log()]
    rows = rows_of(exports.files_of("answers", published, "csv"), "answers.csv")
    assert [row["id_j"] for row in rows] == ["b", "c"]


def test_a_table_has_no_answers_that_only_repeat(store):
    again = Question("pair", ids=("a", "b"), repeat=1)
    store.append([Answer(again, "different", "ann", id="again")])
    rows = rows_of(exports.files_of("answers", store, "csv"), "answers.csv")
    assert [(row["id_j"], row["answer"]) for row in rows] == [("b", "same"), ("c", "same")]
    assert len(exports.files_of("answers", store)["answers.jsonl"].splitlines()) == 6


def test_coco_says_what_to_do_about_a_file_that_is_gone(tmp_path):
    with open_store(":memory:") as store:
        store.add_items([Item("a.png", "image", path="a.png"), Item("b", "text", text="b")])
        store.publish(0, {"ids": ["a.png", "b"], "group_ids": [0, 0], "confidence": [1, 1],
                          "exemplars": {"0": ["b"]}, "doubtful": []})  # fmt: skip
        with pytest.raises(FileNotFoundError, match=r"a\.png.*clew doctor --fix"):
            exports.files_of("groups", store, "coco", root=tmp_path)


@pytest.mark.slow
def test_all_makes_the_project_again(published, tmp_path):
    from clew.store import import_all

    files = exports.files_of("all", published)
    content = exports.zipped(files)
    assert content == exports.zipped(exports.files_of("all", published))
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.extractall(tmp_path)
    with open_store(":memory:") as other:
        import_all(other, tmp_path)
        assert exports.files_of("all", other) == files


def test_before_there_are_groups(store):
    assert list(exports.tables_of(store)) == ["answers.csv"]
    assert "result.json" not in exports.files_of("all", store)
    for what in ("groups", "exemplars", "doubtful", "affinity"):
        with pytest.raises(InvalidDataError, match="clew group"):
            exports.files_of(what, store)


@pytest.mark.parametrize(("what", "as_"), [("answers", "coco"), ("groups", "folders")])
def test_unknown_forms_are_refused(published, what, as_):
    with pytest.raises(InvalidParameterError, match="use one of"):
        exports.files_of(what, published, as_)


def test_every_form_has_a_choice_of_the_command():
    from clew.cli.import_export import AS, WHATS

    assert tuple(exports.FORMS) == tuple(sorted(WHATS, key=list(exports.FORMS).index))
    assert set(AS) == {form for forms in exports.FORMS.values() for form in forms} - {
        "npz", "folder"
    }  # fmt: skip
