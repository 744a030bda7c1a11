"""Files with one text a line."""

from gzip import compress

import numpy as np
import pytest

from clew.exceptions import FileFormatError, InvalidDataError
from clew.features import read_texts

LINES = ["a small brown bird", "a large white bird", "ein kleiner Vogel", "ein großer Vogel"]


def write(folder, text, encoding="utf-8"):
    (folder / "texts.txt").write_bytes(text.encode(encoding))
    return folder / "texts.txt"


def test_a_text_is_its_own_id(tmp_path):
    texts = read_texts(write(tmp_path, "\n".join(LINES)), model="tf-idf")
    assert texts.ids == texts.texts == LINES
    assert texts.X.shape[0] == 4
    assert np.allclose(texts.X.multiply(texts.X).sum(axis=1), 1)
    near = (texts.X @ texts.X.T).toarray()
    assert near[0, 1] > 0 == near[0, 2]


def test_ids_do_not_change_with_the_lines_around(tmp_path):
    before = read_texts(write(tmp_path, "\n".join(LINES))).ids
    after = read_texts(write(tmp_path, "\r\n".join(["new", "", *LINES[::-1], LINES[0]])))
    assert after.ids == ["new", *before[::-1]]
    assert after.n_repeated == 1


def test_long_texts_have_short_and_different_ids(tmp_path):
    long = "word " * 60
    texts = read_texts(write(tmp_path, f"{long}one\n{long}two\n"))
    assert len(set(texts.ids)) == 2
    assert max(map(len, texts.ids)) < 121
    assert texts.texts[1].endswith("two")


def test_encoding(tmp_path):
    path = write(tmp_path, "\n".join(LINES), "latin-1")
    with pytest.raises(FileFormatError, match="encoding"):
        read_texts(path)
    assert read_texts(path, "latin-1").ids == LINES
    with pytest.raises(FileFormatError, match="there is no encoding"):
        read_texts(path, "latin-99")


def test_packed_files_and_utf_16_are_read(tmp_path):
    content = "\n".join(LINES)
    for packed in (compress(content.encode()), content.encode("utf-16")):
        (tmp_path / "t.txt").write_bytes(packed)
        assert read_texts(tmp_path / "t.txt").ids == LINES


@pytest.mark.parametrize(
    ("text", "word"), [("", "no lines"), ("a\na\n", "one line"), ("!\n?", "no words")]
)
def test_too_little_text(tmp_path, text, word):
    with pytest.raises(InvalidDataError, match=word):
        read_texts(write(tmp_path, text), model="tf-idf")
