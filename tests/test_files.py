import os
import stat

import pytest

from clew._files import atomic_write, decoded
from clew.exceptions import FileFormatError


def test_text_is_utf8_with_line_ends_as_given(tmp_path):
    with atomic_write(tmp_path / "a.txt") as file:
        file.write("größer\nnext\r\n")
    assert (tmp_path / "a.txt").read_bytes() == "größer\nnext\r\n".encode()


def test_bytes(tmp_path):
    with atomic_write(str(tmp_path / "a.bin"), "wb") as file:
        file.write(b"\x00\xff")
    assert (tmp_path / "a.bin").read_bytes() == b"\x00\xff"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_nothing_appears_and_nothing_is_lost_on_an_error(tmp_path, error):
    old = tmp_path / "old.txt"
    old.write_text("precious")
    for path in (old, tmp_path / "new.txt"):
        with pytest.raises(error), atomic_write(path) as file:  # noqa: PT012 - the block fails
            file.write("half")
            raise error
    assert old.read_text() == "precious"
    assert list(tmp_path.iterdir()) == [old]


def test_the_name_holds_the_old_content_until_the_end(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with atomic_write(path) as file:
        file.write("new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"


def test_missing_folder_and_folder_as_target_are_named(tmp_path):
    with (
        pytest.raises(FileNotFoundError, match=r"folder .*nowhere does not exist"),
        atomic_write(tmp_path / "nowhere" / "a.txt"),
    ):
        pass
    with pytest.raises(IsADirectoryError, match="is a folder"), atomic_write(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions, links and devices")
def test_permissions_links_and_devices_stay_what_they_are(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    with atomic_write(link) as file:
        file.write("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    with atomic_write(pipe) as file:
        file.write("through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_new_files_have_the_usual_permissions(tmp_path):
    (tmp_path / "usual").touch()
    with atomic_write(tmp_path / "a.txt"):
        pass
    assert (tmp_path / "a.txt").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_what_cannot_be_decoded_is_named():
    with pytest.raises(FileFormatError, match="line 2: byte 0xfc is not valid utf-8"):
        decoded(b"\xef\xbb\xbfab\nc\xfcd", None)
    for encoding in ("latin-99", "rot13", "zlib", "undefined"):
        with pytest.raises(FileFormatError, match=f"there is no encoding '{encoding}'"):
            decoded(b"abc", encoding)
    assert decoded("aé".encode()[:2], None, is_cut=True) == "a"
