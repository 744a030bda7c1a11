"""Collections become items with stable ids; what is broken or hostile is listed, never fatal."""

import json
import os

import numpy as np
import pytest
from PIL import Image

from clew.collections import read_collection
from clew.exceptions import FileFormatError, InvalidDataError, InvalidParameterError


@pytest.fixture
def photos(tmp_path):
    top = tmp_path / "photos"
    (top / "sea").mkdir(parents=True)
    for name, color in (("b.png", "red"), ("a.jpg", "navy"), ("sea/c.png", "green")):
        Image.new("RGB", (40, 30), color).save(top / name)
    return top


def ids(collection):
    return [item.id for item in collection.items]


def reasons(collection):
    return {each.id: each.reason for each in collection.left_out}


def test_folder(photos):
    found = read_collection(photos)
    assert ids(found) == ["a.jpg", "b.png", "sea/c.png"]
    assert {item.kind for item in found.items} == {"image"}
    assert len({item.hash for item in found.items}) == 3
    assert found.left_out == []


def test_folder_within_the_root_has_ids_from_the_root(photos):
    assert ids(read_collection(photos / "sea", root=photos)) == ["sea/c.png"]
    with pytest.raises(InvalidParameterError, match="outside of"):
        read_collection(photos, root=photos / "sea")


def test_broken_files_are_listed(photos):
    (photos / "empty.png").touch()
    (photos / "text.png").write_text("not a picture")
    (photos / "cut.jpg").write_bytes((photos / "a.jpg").read_bytes()[:10])
    os.mkfifo(photos / "pipe.png")
    found = read_collection(photos)
    assert ids(found) == ["a.jpg", "b.png", "sea/c.png"]
    assert set(reasons(found)) == {"empty.png", "text.png", "cut.jpg", "pipe.png"}
    assert reasons(found)["empty.png"] == "the file is empty"


def test_links_that_lead_out_are_refused(photos, tmp_path):
    secret = tmp_path / "secret.png"
    Image.new("RGB", (9, 9)).save(secret)
    (photos / "out.png").symlink_to(secret)
    (photos / "up").symlink_to(tmp_path, target_is_directory=True)
    (photos / "loop").symlink_to(photos, target_is_directory=True)
    (photos / "in.png").symlink_to(photos / "b.png")
    (photos / "dead.png").symlink_to(photos / "gone.png")
    found = read_collection(photos)
    assert ids(found) == ["a.jpg", "b.png", "in.png", "sea/c.png"]
    assert reasons(found) == {
        "dead.png": "is a link that leads nowhere",
        "loop": "is a link to a folder",
        "out.png": "is a link that leads out of the folder",
        "up": "is a link that leads out of the folder",
    }


@pytest.mark.parametrize(
    "name", ["=cmd|.png", " a .png", "a\nb.png", "ü€😀.png", "'; DROP.png", "a,b.png"]
)
def test_hostile_names_are_ids_as_they_are(photos, name):
    Image.new("RGB", (9, 9)).save(photos / name, "PNG")
    assert name in ids(read_collection(photos))


def test_name_that_is_no_text_is_listed(photos):
    (photos / os.fsdecode(b"\xff.png")).write_bytes((photos / "b.png").read_bytes())
    assert list(reasons(read_collection(photos)).values()) == ["the name is not valid text"]


def test_hidden_folders_are_skipped(photos):
    (photos / ".clew").mkdir()
    Image.new("RGB", (9, 9)).save(photos / ".clew" / "thumbnail.png")
    assert len(ids(read_collection(photos))) == 3


def test_folder_without_media_says_why(tmp_path):
    (tmp_path / "a.png").touch()
    with pytest.raises(InvalidDataError, match=r"no images.*a\.png: the file is empty"):
        read_collection(tmp_path)


def test_most_frequent_kind_unless_named(photos):
    (photos / "notes.txt").write_text("a note")
    found = read_collection(photos)
    assert {item.kind for item in found.items} == {"image"}
    assert found.notes == (f"1 other file in {photos} is not an item",)
    assert ids(read_collection(photos, kind="text")) == ["notes.txt"]


def test_files_that_nobody_can_read_are_left_out_with_words(photos, tmp_path):
    (photos / "d.png").write_bytes(b"\x89PNG no picture")
    assert reasons(read_collection(photos)) == {"d.png": "not an image that can be read"}
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.txt").write_text("a bird", "utf-16")
    (texts / "b.txt").write_bytes(bytes(range(256)))
    found = read_collection(texts)
    assert ids(found) == ["a.txt"]
    assert reasons(found)["b.txt"].startswith("line 2: byte 0x80 is not valid utf-8")


def test_sounds_that_cannot_be_read_are_left_out(tmp_path):
    sounds = pytest.importorskip("soundfile")
    sounds.write(tmp_path / "a.wav", np.zeros(800), 8000)
    (tmp_path / "b.wav").write_bytes(b"RIFFxxxx")
    found = read_collection(tmp_path)
    assert ids(found) == ["a.wav"]
    assert reasons(found) == {"b.wav": "not a sound that can be read"}


@pytest.mark.parametrize(
    ("text", "which"),
    [("Name,n\nwren,1\nowl,1\n", "such as 'Name'"), ("x,n\na,1\na,1\n", "but no column has")],
)
def test_a_table_without_ids_says_which_column_could_hold_them(tmp_path, text, which):
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(InvalidDataError, match=f"of clew init and clew add, {which}"):
        read_collection(tmp_path / "t.csv")


def test_files_are_read_once(photos, tmp_path, monkeypatch):
    cache = tmp_path / "files.json"
    first = read_collection(photos, cache=cache)
    monkeypatch.setattr("clew.collections._files.file_digest", None)
    again = read_collection(photos, cache=cache)
    assert again.items == first.items
    os.utime(photos / "a.jpg", ns=(0, 0))
    with pytest.raises(TypeError):
        read_collection(photos, cache=cache)


def test_date_of_a_photo(photos):
    exif = Image.Exif()
    exif[306] = "2024:05:31 08:25:38"
    Image.new("RGB", (9, 9)).save(photos / "dated.jpg", exif=exif)
    dated = next(item for item in read_collection(photos).items if item.id == "dated.jpg")
    assert dated.meta == {"date": "2024-05-31T08:25:38"}


def test_table_of_files_with_boxes(photos):
    (photos / "boxes.csv").write_text(
        "ID,File,x,y,width,height,place\n1,b.png,2,3,10,12.5,Oslo\n2,b.png,,,,,\n"
        "3,gone.png,1,1,5,5,\n4,../outside.png,1,1,5,5,\n5,a.jpg,1,1,0,5,\n"
    )
    found = read_collection(photos / "boxes.csv")
    first, second = found.items
    assert (first.id, first.path, first.region) == ("1", "b.png", (2, 3, 10, 12.5))
    assert (first.kind, first.meta) == ("image", {"place": "Oslo"})
    assert (second.region, second.hash) == (None, first.hash)
    left = reasons(found)
    assert set(left) == {"3", "4", "5"}
    assert "line 5: ../outside.png lies outside of" in left["4"]
    assert "is empty" in left["5"]


def test_table_of_texts(tmp_path):
    (tmp_path / "t.csv").write_text("id;text;source\na;one, two;web\nb;;web\n")
    found = read_collection(tmp_path / "t.csv")
    assert [(item.id, item.text, item.meta) for item in found.items] == [
        ("a", "one, two", {"source": "web"})
    ]
    assert reasons(found) == {"b": "line 3: the text is empty"}


def test_table_of_rows(tmp_path):
    (tmp_path / "t.csv").write_text("id,weight,color\n01,$12,red\n02,,blue\n")
    found = read_collection(tmp_path / "t.csv")
    assert [(item.id, item.kind, item.columns) for item in found.items] == [
        ("01", "row", {"weight": 12, "color": "red"}),
        ("02", "row", {"weight": None, "color": "blue"}),
    ]


def test_table_without_ids_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("weight,color\n12,red\n13,blue\n")
    with pytest.raises(InvalidDataError, match=r"no column of ids.*--id-column"):
        read_collection(tmp_path / "t.csv")


def test_json_lines(tmp_path):
    lines = [{"id": 1, "text": "a"}, {"id": "b", "text": "c", "place": "Oslo"}]
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, lines)))
    found = read_collection(tmp_path / "t.jsonl")
    assert [(item.id, item.text) for item in found.items] == [("1", "a"), ("b", "c")]
    (tmp_path / "t.jsonl").write_text('{"id": 1}\n{"id": "1"}\n')
    with pytest.raises(InvalidDataError, match=r"row 1 \(line 2\)"):
        read_collection(tmp_path / "t.jsonl")
    (tmp_path / "t.jsonl").write_text('{"id": 1}\n[]\n')
    with pytest.raises(FileFormatError, match="line 2"):
        read_collection(tmp_path / "t.jsonl")


@pytest.fixture
def coco(photos):
    stored = {
        "images": [{"id": 7, "file_name": "b.png"}, {"id": 8, "file_name": "gone.png"},
                   {"id": 9, "file_name": "a.jpg"}],
        "annotations": [
            {"id": 1, "image_id": 7, "category_id": 3, "bbox": [1, 2, 10, 12.5], "score": 0.9},
            {"id": 2, "image_id": 8, "bbox": [1, 2, 10, 12]},
            {"id": 3, "image_id": 7, "bbox": [1, 2, 0, 12]},
            {"id": 4, "image_id": 77, "bbox": [1, 2, 3, 12]},
        ],
        "categories": [{"id": 3, "name": "whale"}],
    }  # fmt: skip
    (photos / "boxes.json").write_text(json.dumps(stored))
    return photos / "boxes.json"


def test_coco(coco):
    found = read_collection(coco)
    (item,) = found.items
    assert (item.id, item.path, item.region) == ("b.png#1", "b.png", (1, 2, 10, 12.5))
    assert item.meta == {"category": "whale", "score": 0.9}
    assert set(reasons(found)) == {"gone.png#2", "b.png#3", "77#4"}
    assert found.notes == ("1 image without boxes is not an item",)


def test_coco_that_is_none(photos):
    (photos / "x.json").write_text('{"annotations": {}}')
    with pytest.raises(FileFormatError, match="lists images and annotations"):
        read_collection(photos / "x.json")


def test_vectors_beside_media(photos):
    X = np.arange(6.0).reshape(3, 2)
    np.save(photos.parent / "X.npy", X)
    assert np.array_equal(read_collection(photos, vectors=photos.parent / "X.npy").vectors, X)
    names = ["sea/c.png", "b.png", "more.png", "a.jpg"]
    np.savez(photos.parent / "X.npz", X=np.eye(4), ids=names)
    found = read_collection(photos, vectors=photos.parent / "X.npz")
    assert found.vectors.argmax(axis=1).tolist() == [3, 1, 0]
    (photos / "empty.png").touch()
    (photos / "d.png").write_bytes((photos / "b.png").read_bytes())
    with pytest.raises(InvalidDataError, match=r"3 rows for 4 items \(1 are left out\)"):
        read_collection(photos, vectors=photos.parent / "X.npy")
    with pytest.raises(
        InvalidDataError, match=r"1 of 4 items have no row in .*, such as 'd.png'; give"
    ):
        read_collection(photos, vectors=photos.parent / "X.npz")


def test_vectors_alone(tmp_path):
    np.save(tmp_path / "X.npy", np.eye(3, dtype=np.float32))
    (tmp_path / "ids.txt").write_text("a\nb\nc\n")
    found = read_collection(tmp_path / "X.npy", ids=tmp_path / "ids.txt")
    assert (ids(found), found.items[0].kind) == (["a", "b", "c"], "vector")
    assert found.vectors.dtype == np.float32
    assert ids(read_collection(tmp_path / "X.npy")) == ["0", "1", "2"]


def test_vectors_of_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(
        pa.table({"id": ["a", "b"], "v": [[1.0, 2.0], [3.0, 4.0]]}), tmp_path / "X.parquet"
    )
    found = read_collection(tmp_path / "X.parquet", kind="vector")
    assert (ids(found), found.vectors.tolist()) == (["a", "b"], [[1, 2], [3, 4]])


@pytest.mark.parametrize(
    ("array", "problem"),
    [
        (np.array([[1.0, np.nan], [1, 2]]), "row 0, column 1: nan"),
        (np.ones(3), "rows by features"),
        (np.array([["a"]]), "vectors are numbers"),
    ],
)
def test_bad_vectors(tmp_path, array, problem):
    np.save(tmp_path / "X.npy", array)
    with pytest.raises((FileFormatError, InvalidDataError), match=problem):
        read_collection(tmp_path / "X.npy")


def test_distances(photos):
    D = np.array([[0.0, 1, 2], [1, 0, 3], [2, 3, 0]])
    np.savez(photos / "D.npz", D=D, ids=["sea/c.png", "b.png", "a.jpg"])
    found = read_collection(photos, distances=photos / "D.npz")
    assert found.distances.tolist() == [[0, 3, 2], [3, 0, 1], [2, 1, 0]]
    np.save(photos / "D.npy", np.array([[0.0, 1], [2, 0]]))
    with pytest.raises(InvalidDataError, match=r"D\.npy"):
        read_collection(photos, distances=photos / "D.npy")


def test_what_is_no_collection(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no file or folder"):
        read_collection(tmp_path / "nothing")
    (tmp_path / "a.xyz").touch()
    with pytest.raises(FileFormatError, match=r"a collection is a folder, a table.*\.npz\)$"):
        read_collection(tmp_path / "a.xyz")
    (tmp_path / "a.xlsx").touch()
    with pytest.raises(FileFormatError, match=r"; save the sheet as CSV$"):
        read_collection(tmp_path / "a.xlsx")
