"""A project through files: what comes out goes in, and comes out the same."""

from pathlib import Path

import pytest
from tests.store.conftest import Pair

from clew.answers import Answer, Edit, Question, Retraction, parse_log
from clew.exceptions import FileFormatError, InvalidConstraintsError
from clew.items import Item
from clew.store import Annotator, AnswerFile, Store, export_all, import_all, open_store


@pytest.fixture
def used(store: Store, pair: Pair) -> Store:
    """A store with some of everything."""
    store.add_items([Item("f", "image", "é/1.jpg", (1.0, 2.0, 3.5, 4.0), meta={"when": "“now”"})])
    which = Question("which_of", (), "asked", ("f", "i1", "i2"), (1, 1, 1))
    store.put_annotator(Annotator("ann", role="owner", kinds=("pair",), note="é"))
    store.append(
        [
            Answer(
                pair(0, 1, "random", check=0.2), "same", "ann", id="a1", ms=900, origin="random"
            ),
            Answer(pair(0, 1), 0, "bob", 0.5, id="a2", note="line\nbreak", shown=("i1", "i0")),
            Answer(which, 1, "bob", id="a3"),
            Edit("set_aside", ("i5",), (), "ann", id="e1", note="blurred"),
            Edit("merge", ("i6",), ("i7",), "ann", id="e2"),
            Retraction("e2", "ann", id="r1"),
        ]
    )
    for revision, groups in ((3, [0, 0, 1]), (6, [0, 0, 0])):
        store.publish(revision, {"ids": ["i0", "i1", "i2"], "group_ids": groups, "labels": groups})
    store.name_group(0, name="wrens", note="small")
    store.set_settings({"name": "birds", "overlap": 2})
    return store


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_a_project_exported_and_imported_exports_the_same_bytes(
    used: Store, tmp_path: Path
) -> None:
    paths = export_all(used, tmp_path / "one")
    assert {path.name for path in paths} == set(contents(tmp_path / "one"))
    with open_store(tmp_path / "new.db") as new:
        for _ in range(2):  # once more changes nothing
            import_all(new, tmp_path / "one")
            export_all(new, tmp_path / "two")
            assert contents(tmp_path / "two") == contents(tmp_path / "one")
        assert new.log() == used.log()
        assert new.items() == used.items()
        assert new.items_by_id(["i5"])["i5"].set_aside == "blurred"
        assert new.groups(also_gone=True) == used.groups(also_gone=True)
        assert new.counts() == used.counts()


def test_a_file_of_clew_ask_goes_in_unchanged(store: Store, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    file = AnswerFile(path, store.item_ids())
    first = file.append(Answer(Question("pair", (0, 2)), "same", "ann", ms=700))
    file.revoke(first, annotator="ann")
    file.append(Answer(Question("odd_one_out", (0, 2, 4)), "all_alike", annotator="ann"))
    assert store.append(parse_log(path.read_bytes(), path).entries) == ("stored",) * 3
    export_all(store, tmp_path / "out")
    assert (tmp_path / "out" / "answers.jsonl").read_bytes() == path.read_bytes()


def test_files_that_do_not_fit_are_refused(used: Store, tmp_path: Path) -> None:
    export_all(used, tmp_path / "out")
    items = tmp_path / "out" / "items.jsonl"
    lines = items.read_text(encoding="utf-8").splitlines(keepends=True)
    with open_store(":memory:") as new:
        items.write_text("".join([*lines[:2], '{"id": 3}\n']), encoding="utf-8")
        with pytest.raises(FileFormatError, match=r"items\.jsonl, line 3"):
            import_all(new, tmp_path / "out")
        assert new.item_ids() == []
        items.write_text("".join(lines[:1]), encoding="utf-8")
        with pytest.raises(InvalidConstraintsError, match="there are no items"):
            import_all(new, tmp_path / "out")
        assert new.log() == []
