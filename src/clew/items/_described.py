"""Descriptors of images that were read before, in a file; they are computed again if images change.

The file only saves time. It is ignored if it is missing, damaged or of another version; and a
folder that cannot be written is no error.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np

from clew._files import atomic_write
from clew.items._descriptors import Descriptor

__all__ = ["Described", "file_for", "read", "write"]

#: Changes whenever the same image would get another descriptor.
VERSION = 1


class Described(NamedTuple):
    """A descriptor, and the size and the time of the file that it describes."""

    size: int
    mtime: int
    """Nanoseconds."""
    descriptor: Descriptor

    def is_of(self, found: os.stat_result) -> bool:
        """Return whether a file is as it was when it was described."""
        return (self.size, self.mtime) == (found.st_size, found.st_mtime_ns)


def file_for(images: Path, folder: Path) -> Path:
    """Return the file in `folder` that holds the descriptors of a folder of images."""
    name = sha256(os.fsencode(os.path.realpath(images))).hexdigest()[:16]
    return folder / f"images-{name}.npz"


def read(path: Path) -> dict[str, Described]:
    """Read descriptors by the relative paths of their images; empty if the file holds none."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            if int(stored["version"]) != VERSION:
                return {}
            names, sizes, mtimes = (stored[key].tolist() for key in ("names", "sizes", "mtimes"))
            parts = [stored[field] for field in Descriptor._fields]
    except (OSError, ValueError, KeyError, EOFError, BadZipFile):
        return {}
    return {
        name: Described(size, mtime, Descriptor(*descriptor))
        for name, size, mtime, *descriptor in zip(names, sizes, mtimes, *parts, strict=True)
    }


def write(path: Path, described: Mapping[str, Described]) -> None:
    """Write descriptors, unless that is impossible."""
    parts = zip(*(each.descriptor for each in described.values()), strict=True)
    columns = {
        "version": np.array(VERSION),
        "names": np.array(list(described)),
        "sizes": np.array([each.size for each in described.values()], np.int64),
        "mtimes": np.array([each.mtime for each in described.values()], np.int64),
    } | {field: np.stack(part) for field, part in zip(Descriptor._fields, parts, strict=True)}
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with atomic_write(path, "wb") as file:
            np.savez(file, **columns)  # type: ignore[arg-type]
