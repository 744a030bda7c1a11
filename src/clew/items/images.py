"""A folder of images: ids, features, and the files that cannot be read."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from clew._files import atomic_write
from clew._parallel import in_threads
from clew.exceptions import ClewError, InvalidDataError
from clew.items._descriptors import SIDE, Descriptor, describe, joined, open_image, pillow

__all__ = ["Images", "LeftOut", "read_images"]

#: Endings of names of images that can be read.
READABLE = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".mpo", ".png", ".apng", ".gif", ".webp", ".avif"),
    *(".tif", ".tiff", ".bmp", ".dib", ".jp2", ".j2k", ".ppm", ".pgm", ".pbm", ".pnm", ".tga"),
    *(".ico", ".pcx", ".sgi"),
)
#: Endings of names of images that cannot be read.
OTHERS = (
    *(".heic", ".heif", ".svg", ".eps", ".psd", ".xcf", ".jxl"),
    *(".raw", ".dng", ".cr2", ".cr3", ".nef", ".arw", ".orf", ".rw2"),
)
#: Images are decoded at twice the size at which they are described.
DECODED = 2 * SIDE

#: Changes whenever the same image would get another descriptor.
VERSION = 1


class LeftOut(NamedTuple):
    """A file of a folder that is not among the items."""

    id: str
    """Path relative to the folder."""
    reason: str
    """Why it cannot be read."""


class Images(NamedTuple):
    """The images of a folder."""

    folder: Path
    """The folder, as it was given."""
    ids: list[str]
    """Path of each image relative to the folder, with "/", in ascending order."""
    X: NDArray[np.float64]
    """Features, (n_images, n_features)."""
    left_out: list[LeftOut]
    """Images that cannot be read, with reasons."""
    n_others: int
    """Number of files that are not images."""

    def path(self, row: int) -> Path:
        """Return the path of an image.

        Parameters
        ----------
        row : int
            Number of the image, from 0.

        Returns
        -------
        Path
            Path of the file in `folder`.
        """
        return self.folder / self.ids[row]


def read_images(
    folder: str | os.PathLike[str],
    *,
    n_components: int = 200,
    cache: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    callback: Callable[[int, int], None] | None = None,
) -> Images:
    """Read the images of a folder, and compute features of them.

    Parameters
    ----------
    folder : str or path-like
        A folder; images in folders within it are read too. Files and folders whose names begin with
        a dot are skipped.
    n_components : int, default=200
        Largest number of features; see `image_features`.
    cache : str or path-like, default=None
        A folder for a file with what was computed of each image, so that a further call reads only
        images that are new or have changed in size or time. The result does not depend on it. None:
        nothing is written.
    n_jobs : int or None, default=None
        Number of threads, as in joblib. The result does not depend on it.
    callback : callable, default=None
        Called with the number of images that are done, and of all.

    Returns
    -------
    Images
        Without the files that cannot be read, which are listed in `left_out`.

    Raises
    ------
    InvalidDataError
        If fewer than two images can be read.
    MissingDependencyError
        If Pillow or scikit-image is not installed.
    OSError
        If the folder cannot be read.

    Notes
    -----
    Nothing is downloaded. On one core a small image takes 2.3 ms and a photo of 64 million pixels
    25 ms as JPEG and 160 ms as PNG. Memory, and disk in `cache`, 5 kB for each image.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from clew.items import read_images
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, color in (("b.png", "red"), ("a.jpg", "navy")):
    ...         Image.new("RGB", (64, 48), color).save(Path(folder) / name)
    ...     Path(folder, "c.png").touch()
    ...     images = read_images(folder)
    >>> images.ids, images.left_out
    (['a.jpg', 'b.png'], [LeftOut(id='c.png', reason='the file is empty')])
    """
    top = Path(folder)
    found, left_out, n_others = find_images(top)
    pillow()
    path = None if cache is None else _described_file(top, Path(cache))
    known = {} if path is None else _read_described(path)

    def described(name: str) -> Described | LeftOut:
        file = top / name
        try:
            stat = file.stat()
            if (before := known.get(name)) is not None and before.is_of(stat):
                return before
            descriptor = describe(open_image(file, DECODED))
        except ImportError:
            raise
        except (ClewError, OSError, MemoryError) as error:
            reason = getattr(error, "strerror", None) or str(error).removeprefix(f"{file}: ")
            return LeftOut(name, reason or type(error).__name__)
        return Described(stat.st_size, stat.st_mtime_ns, descriptor)

    results = in_threads(described, found, n_jobs=n_jobs, what="images", callback=callback)
    pairs = list(zip(found, results, strict=True))
    kept = {name: each for name, each in pairs if isinstance(each, Described)}
    left_out = sorted([*left_out, *(each for each in results if isinstance(each, LeftOut))])
    if path is not None and any(known.get(name) is not each for name, each in kept.items()):
        _write_described(path, kept)
    if len(kept) < 2:
        raise InvalidDataError(_too_few(top, len(kept), left_out))
    X = joined([each.descriptor for each in kept.values()], n_components)
    return Images(top, list(kept), X, left_out, n_others)


def find_images(folder: Path) -> tuple[list[str], list[LeftOut], int]:
    """Find the images of a folder by the endings of their names."""
    ids, left_out, n_others = [], [], 0
    for name in _files(folder):
        ending = os.path.splitext(name)[1].lower()
        if ending not in (*READABLE, *OTHERS):
            n_others += 1
        elif ending in OTHERS:
            left_out.append(LeftOut(_printable(name), f"{ending} files are not read; save as JPEG"))
        elif _printable(name) != name:
            left_out.append(LeftOut(_printable(name), "the name of the file is not valid text"))
        else:
            ids.append(name)
    return sorted(ids), left_out, n_others


def _files(folder: Path) -> Iterator[str]:
    """Yield the relative paths of all files that are not hidden."""

    def refuse(error: OSError) -> None:
        if Path(error.filename) == folder:
            raise error

    for above, folders, files in os.walk(folder, onerror=refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        within = Path(above).relative_to(folder)
        yield from ((within / name).as_posix() for name in files if not name.startswith("."))


def _printable(name: str) -> str:
    """Return a name without bytes that are not valid text."""
    return name.encode("utf-8", "replace").decode("utf-8")


def _too_few(folder: Path, n: int, left_out: list[LeftOut]) -> str:
    text = f"{folder} has {'one image' if n else 'no images'}; grouping needs two or more"
    if left_out:
        first = left_out[0]
        more = f", and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        text += f" (cannot be read: {first.id}: {first.reason}{more})"
    return text


class Described(NamedTuple):
    """A descriptor, and the size and the time of the file that it describes."""

    size: int
    mtime: int
    """Nanoseconds."""
    descriptor: Descriptor

    def is_of(self, found: os.stat_result) -> bool:
        """Return whether a file is as it was when it was described."""
        return (self.size, self.mtime) == (found.st_size, found.st_mtime_ns)


def _described_file(images: Path, folder: Path) -> Path:
    """Return the file in `folder` that holds the descriptors of a folder of images."""
    name = sha256(os.fsencode(os.path.realpath(images))).hexdigest()[:16]
    return folder / f"images-{name}.npz"


def _read_described(path: Path) -> dict[str, Described]:
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


def _write_described(path: Path, described: Mapping[str, Described]) -> None:
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
