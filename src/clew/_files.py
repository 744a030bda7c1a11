"""Files that are complete under their final name."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Literal

from clew.exceptions import FileFormatError


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: Literal["w", "wb"] = "w") -> Iterator[IO[Any]]:
    r"""Open a file that gets its name only when it is complete; on an error nothing is left."""
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(f"{path} is a folder; name a file in it")
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot write {path}: the folder {target.parent} does not exist")
    if target.exists() and not target.is_file():
        # Renaming over a device or a pipe would destroy it.
        with _open(target, mode) as file:
            yield file
        return
    temporary = target.with_name(f".{target.name[:64]}.{secrets.token_hex(8)}.tmp")
    try:
        with _open(temporary, "x" + mode[1:]) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
        os.replace(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def check_regular(path: str | os.PathLike[str]) -> None:
    """Refuse a pipe or a device, where a file is read more than once or appended to."""
    there = Path(path)
    if there.exists() and not (there.is_file() or there.is_dir()):
        raise FileFormatError(
            f"{path} is a pipe or a device; answers are kept in a file, so name one"
        )


def _open(path: Path, mode: str) -> IO[Any]:
    if "b" in mode:
        return open(path, mode)
    return open(path, mode, encoding="utf-8", newline="")


def sync_folder(folder: Path) -> None:
    """Flush a folder, so that new names in it survive a power cut, if the system supports it."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
