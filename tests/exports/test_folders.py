"""A folder for each group: names are safe, nothing is overwritten, and all of it can be undone."""

import os
import shutil

import pytest
from PIL import Image

from clew.exceptions import FileFormatError, InvalidDataError, InvalidParameterError
from clew.exports import Member, apply, plan, safe_name, undo
from clew.items import Item

GROUPS = {0: "sea/lions: a*?", 1: "SEA_LIONS_ A__", 2: ""}


@pytest.fixture
def root(tmp_path):
    (tmp_path / "photos" / "old").mkdir(parents=True)
    for name in ("a.png", "old/a.png", "b.png", "c.png"):
        Image.new("RGB", (40, 30), (len(name) * 9, 10, 10)).save(tmp_path / "photos" / name)
    return tmp_path / "photos"


@pytest.fixture
def members():
    def member(path, group):
        item = Item(path, "image", path=path)
        return Member(item, group, GROUPS.get(group, ""))

    return [member("a.png", 0), member("old/a.png", 0), member("b.png", 1), member("c.png", None)]


def files(folder):
    found = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    return found - {".clew-export.jsonl"}


def done(steps, members, root, folder):
    return list(apply(steps, members, root, folder))


@pytest.mark.parametrize(
    ("title", "expected"),
    [
        ("wren", "wren"),
        ("../../etc/passwd", "_.._etc_passwd"),
        (" a. ", "a"),
        ("CON", "_CON"),
        ("nul.txt", "_nul.txt"),
        ("..", "_"),
        ("a\0b\nc", "a_b_c"),
        ("ü" * 200, "ü" * 60),
        ("=1+1", "=1+1"),
    ],
)
def test_names_are_safe(title, expected):
    assert safe_name(title) == expected


def test_copies(root, members, tmp_path):
    out = tmp_path / "sorted"
    steps = plan(members, root, out, "copy")
    assert not out.exists()
    done(steps, members, root, out)
    assert files(out) == {
        "sea_lions_ a__/a.png", "sea_lions_ a__/a (2).png", "SEA_LIONS_ A__ (2)/b.png",
        "no group/c.png",
    }  # fmt: skip
    same = (out / "sea_lions_ a__" / "a (2).png").read_bytes()
    assert same == (root / "old" / "a.png").read_bytes()


def test_nothing_is_overwritten(root, members, tmp_path):
    out = tmp_path / "sorted"
    done(plan(members, root, out, "copy"), members, root, out)
    with pytest.raises(FileExistsError, match="4 of the files already"):
        plan(members, root, out, "copy")


def test_a_file_that_is_gone_is_named_before_anything_is_written(root, members, tmp_path):
    gone = next(each.item for each in members if each.item.path is not None)
    (root / gone.path).unlink()
    with pytest.raises(FileNotFoundError, match=r"1 item has no file.*clew doctor --fix"):
        plan(members, root, tmp_path / "out", "copy")


def test_a_file_that_appears_after_the_plan_is_not_overwritten(root, members, tmp_path):
    out = tmp_path / "sorted"
    steps = plan(members, root, out, "copy")
    (out / "no group").mkdir(parents=True)
    (out / "no group" / "c.png").write_text("mine")
    with pytest.raises(FileExistsError):
        done(steps, members, root, out)
    assert (out / "no group" / "c.png").read_text() == "mine"


def test_moves_and_back(root, members):
    before = {name: (root / name).read_bytes() for name in files(root)}
    out = root / "sorted"
    done(plan(members, root, out, "move"), members, root, out)
    assert files(root) == {f"sorted/{name}" for name in files(out)} | {"sorted/.clew-export.jsonl"}
    steps, problems = undo(out)
    assert problems == []
    assert len(steps) == 4
    assert {name: (root / name).read_bytes() for name in files(root)} == before
    assert not out.exists()


def test_half_a_move_can_be_undone(root, members):
    before = files(root)
    out = root / "sorted"
    steps = plan(members, root, out, "move")
    running = apply(steps, members, root, out)
    next(running), next(running)
    running.close()
    undo(out)
    assert files(root) == before


def test_a_file_goes_back_only_where_there_is_none(root, members):
    out = root / "sorted"
    done(plan(members, root, out, "move"), members, root, out)
    (root / "b.png").write_text("another")
    _, problems = undo(out)
    assert len(problems) == 1
    assert "there is another file" in problems[0]
    assert (root / "b.png").read_text() == "another"
    assert files(out) == {"SEA_LIONS_ A__ (2)/b.png"}
    (root / "b.png").unlink()
    assert undo(out)[1] == []


def test_links(root, members, tmp_path):
    out = tmp_path / "sorted"
    done(plan(members, root, out, "link"), members, root, out)
    link = out / "no group" / "c.png"
    assert link.is_symlink()
    assert os.path.realpath(link) == str(root / "c.png")
    undo(out)
    assert not out.exists()
    assert (root / "c.png").exists()


def test_a_copy_that_was_changed_stays(root, members, tmp_path):
    out = tmp_path / "sorted"
    done(plan(members, root, out, "copy"), members, root, out)
    (out / "no group" / "c.png").write_text("edited")
    _, problems = undo(out)
    assert "no longer a copy" in problems[0]
    assert files(out) == {"no group/c.png"}


@pytest.mark.parametrize(("how", "place"), [("move", "../out"), ("copy", "in"), ("link", ".")])
def test_places_that_would_confuse_the_collection_are_refused(root, members, how, place):
    with pytest.raises(InvalidParameterError, match="lies"):
        plan(members, root, root / place, how)


@pytest.mark.slow
def test_boxes_are_cut_out(root, tmp_path):
    box = Member(Item("a.png#7", "image", path="a.png", region=(5, 5, 20, 10)), 1, "x")
    out = tmp_path / "out"
    steps = plan([box], root, out, "copy")
    done(steps, [box], root, out)
    (path,) = (out / "x").iterdir()
    with Image.open(path) as image:
        assert image.size == (20, 10)
    with pytest.raises(InvalidParameterError, match="cannot be moved"):
        plan([box], root, root / "out", "move")


def test_texts_are_written_and_rows_refused(tmp_path):
    text = Member(Item("t/1", "text", text="a small ü"), 1, "x")
    done(plan([text], tmp_path / "r", tmp_path / "o", "copy"), [text], tmp_path, tmp_path / "o")
    assert (tmp_path / "o" / "x" / "t_1.txt").read_text(encoding="utf-8") == "a small ü"
    with pytest.raises(InvalidDataError, match="use --as csv"):
        plan([Member(Item("1", "row"), 1)], tmp_path / "r", tmp_path / "o", "copy")


def test_undo_of_what_was_not_exported(tmp_path):
    with pytest.raises(FileNotFoundError, match="did not fill this folder"):
        undo(tmp_path)
    (tmp_path / ".clew-export.jsonl").write_text("no\n")
    with pytest.raises(FileFormatError, match="line 1"):
        undo(tmp_path)


def test_a_log_that_leads_out_is_refused(root, tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / ".clew-export.jsonl").write_text(
        '{"do": "copy", "source": "x", "target": "../photos/a.png", "id": "a"}\n'
    )
    with pytest.raises(FileFormatError, match="leads out"):
        undo(out)
    assert (root / "a.png").exists()
    shutil.rmtree(out)
