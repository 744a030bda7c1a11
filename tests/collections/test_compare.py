"""Adding again changes nothing, a moved file keeps its id, and ids are never taken twice."""

import shutil

import pytest
from PIL import Image

from clew.collections import compare, read_collection


@pytest.fixture
def photos(tmp_path):
    for name, color in (("a.png", "red"), ("b.png", "navy"), ("c.png", "green")):
        Image.new("RGB", (40, 30), color).save(tmp_path / name)
    return tmp_path


def test_the_same_again_changes_nothing(photos):
    before = read_collection(photos).items
    found = compare(before, read_collection(photos))
    assert (found.new, found.changed, found.moved, found.n_same) == ([], [], [], 3)


def test_a_moved_file_keeps_its_id(photos):
    before = read_collection(photos).items
    (photos / "old").mkdir()
    (photos / "a.png").rename(photos / "old" / "z.png")
    found = compare(before, read_collection(photos))
    ((item, path),) = found.moved
    assert (item.id, item.path, path) == ("a.png", "old/z.png", "a.png")
    assert found.new == []
    assert found.ids == {"old/z.png": "a.png"}


def test_a_new_file_where_one_was_gets_an_id_of_its_own(photos):
    before = read_collection(photos).items
    (photos / "a.png").rename(photos / "z.png")
    Image.new("RGB", (9, 9), "white").save(photos / "a.png")
    after = compare(before, read_collection(photos))
    # The item a.png is now about another picture: who renamed it is known only by its content.
    assert [item.id for item in after.changed] == ["a.png"]
    assert [item.id for item in after.new] == ["z.png"]


def test_the_id_of_a_moved_item_is_not_taken(photos):
    before = read_collection(photos).items
    (photos / "a.png").rename(photos / "z.png")
    moved = compare(before, read_collection(photos)).moved[0][0]
    now = [moved, *before[1:]]
    Image.new("RGB", (9, 9), "white").save(photos / "a.png")
    found = compare(now, read_collection(photos))
    assert [(item.id, item.path) for item in found.new] == [("a.png (2)", "a.png")]
    again = compare([*now, *found.new], read_collection(photos))
    assert (again.new, again.changed, again.moved, again.n_same) == ([], [], [], 4)


def test_a_changed_file_is_the_same_item(photos):
    before = read_collection(photos).items
    Image.new("RGB", (9, 9), "white").save(photos / "b.png")
    found = compare(before, read_collection(photos))
    assert [item.id for item in found.changed] == ["b.png"]
    assert found.n_same == 2


def test_a_copy_is_a_new_item_and_is_told(photos):
    before = read_collection(photos).items
    shutil.copy(photos / "b.png", photos / "d.png")
    found = compare(before, read_collection(photos))
    assert [item.id for item in found.new] == ["d.png"]
    assert found.copies == [("d.png", "b.png")]


def test_boxes_of_a_moved_file_keep_their_ids(photos):
    (photos / "t.csv").write_text("id,path,x,y,width,height\n1,a.png,1,1,9,9\n2,a.png,3,3,9,9\n")
    before = read_collection(photos / "t.csv").items
    (photos / "a.png").rename(photos / "z.png")
    (photos / "t.csv").write_text("id,path,x,y,width,height\n1,z.png,1,1,9,9\n2,z.png,3,3,9,9\n")
    found = compare(before, read_collection(photos / "t.csv"))
    assert [(item.id, item.path) for item, _ in found.moved] == [("1", "z.png"), ("2", "z.png")]


def test_columns_that_were_edited(photos):
    (photos / "t.csv").write_text("id,a\n1,5\n2,6\n")
    before = read_collection(photos / "t.csv").items
    (photos / "t.csv").write_text("id,a\n1,5\n2,7\n3,8\n")
    found = compare(before, read_collection(photos / "t.csv"))
    assert [item.id for item in found.changed] == ["2"]
    assert [item.id for item in found.new] == ["3"]
