"""A folder of images, or a file with one text a line: ids, features, what cannot be read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew._files import at_path, content_of, decoded
from clew.exceptions import FileFormatError, InvalidDataError
from clew.features._computing import compute
from clew.features._extractor import chosen_for_texts
from clew.items import Item, LeftOut

#: Endings of names of images that can be read.
READABLE = (
    *(".jpg", ".jpeg", ".jpe", ".jfif", ".mpo", ".png", ".apng", ".gif", ".webp", ".avif"),
    *(".tif", ".tiff", ".bmp", ".dib", ".jp2", ".j2k", ".ppm", ".pgm", ".pbm", ".pnm", ".tga"),
    *(".ico", ".pcx", ".sgi", ".heic", ".heif"),
)
#: Endings of names of images that cannot be read.
OTHERS = (
    *(".svg", ".eps", ".psd", ".xcf", ".jxl"),
    *(".raw", ".dng", ".cr2", ".cr3", ".nef", ".arw", ".orf", ".rw2"),
)
#: Endings of names of files that are a collection each: tables, and arrays of features.
COLLECTIONS = (".csv", ".tsv", ".tab", ".parquet", ".npy", ".npz")
#: A text of at most `LONGEST_ID` characters is its own id; the id of a longer one begins with
#: `KEPT` characters of it.
LONGEST_ID, KEPT = 120, 100


class Texts(NamedTuple):
    """Texts, one an item."""

    ids: list[str]
    """The text itself; its beginning and a checksum if it is longer than 120 characters."""
    texts: list[str]
    """The texts, without repeated ones."""
    X: NDArray[np.float64]
    """What `model` computes, (n_texts, n_features)."""
    n_repeated: int
    """Number of lines that repeat another line, and are left out."""
    model: str
    """Name of the features; see `compute`."""
    note: str
    """What the features are, in a few words."""


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
    model: str
    """Name of the features; see `compute`."""
    note: str
    """What the features are, in a few words."""

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
    model: str = "auto",
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
    model : str, default="auto"
        What computes the features; see `compute`.
    cache : str or path-like, default=None
        A folder where what was computed is kept by the content of the images, so that a further
        call reads only what is new. The result does not depend on it. None: nothing is written.
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
        If Pillow, or what computes the features, is not installed.
    OSError
        If the folder cannot be read.

    Notes
    -----
    Nothing is downloaded. Memory, and disk in `cache`, 5 kB for each image.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from PIL import Image
    >>> from clew.features import read_images
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
    if len(found) < 2:
        raise InvalidDataError(_too_few(top, len(found), left_out))
    items = [Item(name, "image", path=name) for name in found]
    try:
        made = compute(items, top, model=model, cache=cache, n_jobs=n_jobs, callback=callback)
    except InvalidDataError as error:
        raise InvalidDataError(f"{top}: {error}") from error
    left_out = sorted([*left_out, *made.left_out])
    return Images(top, made.ids, made.X, left_out, n_others, made.name, made.note)


def find_images(folder: Path) -> tuple[list[str], list[LeftOut], int]:
    """Find the images of a folder by the endings of their names."""
    ids, left_out, n_others = [], [], 0
    for name in files_below(folder, folder):
        if isinstance(name, LeftOut):
            left_out.append(name)
            continue
        ending = os.path.splitext(name)[1].lower()
        if ending in OTHERS:
            left_out.append(LeftOut(name, f"{ending} files are not read; save as JPEG"))
        elif ending in READABLE:
            ids.append(name)
        else:
            n_others += 1
    return sorted(ids), left_out, n_others


def files_below(folder: Path, root: Path) -> Iterator[str | LeftOut]:
    """Yield the paths of all files below a folder relative to `root`, in order of their names.

    Hidden files, links out of `root` or to folders, and names that are no valid text are left out.
    """
    top = root.resolve()

    def walk(at: Path) -> Iterator[str | LeftOut]:
        try:
            with os.scandir(at) as scan:
                entries = sorted(scan, key=lambda entry: entry.name)
        except OSError as error:
            if at == folder:
                raise
            yield LeftOut(shown_name(_relative(at, root)), error.strerror or str(error))
            return
        for entry in entries:
            name = _relative(Path(entry.path), root)
            if entry.name.startswith("."):
                continue
            if shown_name(name) != name:
                yield LeftOut(shown_name(name), "the name is not valid text")
            elif "\\" in name:
                yield LeftOut(
                    name, "the name holds a backslash, which other systems take for a folder"
                )
            elif entry.is_symlink() and (reason := _why_not_followed(entry.path, top)):
                yield LeftOut(name, reason)
            elif entry.is_dir(follow_symlinks=False):
                yield from walk(Path(entry.path))
            elif entry.is_file():
                yield name
            else:
                yield LeftOut(name, "is neither a file nor a folder")

    yield from walk(folder)


def _why_not_followed(path: str, top: Path) -> str:
    """Return why a link is not followed; empty if it leads to a file within the collection."""
    target = Path(os.path.realpath(path))
    if not target.exists():
        return "is a link that leads nowhere"
    if not target.is_relative_to(top):
        return "is a link that leads out of the folder"
    return "is a link to a folder" if target.is_dir() else ""


def _relative(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def shown_name(name: str) -> str:
    """Return a name without bytes that are not valid text."""
    return name.encode("utf-8", "replace").decode("utf-8")


def what_is_there(folder: Path) -> str:
    """Say what a folder holds in place of images, and what to name if it is tables or arrays."""
    names = [name for name in files_below(folder, folder) if isinstance(name, str)]
    own = [name for name in names if name.lower().removesuffix(".gz").endswith(COLLECTIONS)]
    more = f" and {len(own or names) - 3:,} more" if len(own or names) > 3 else ""
    listed = ", ".join((own or names)[:3]) + more
    if own:
        return f"it holds {listed}: name one such file in place of the folder, {folder / own[0]}"
    return f"it holds {listed}" if names else "it is empty"


def _too_few(folder: Path, n: int, left_out: list[LeftOut]) -> str:
    text = f"{folder} has {'one image' if n else 'no images'}; grouping needs two or more"
    if not n and not left_out:
        text += f"; {what_is_there(folder)}"
    if left_out:
        first = left_out[0]
        more = f", and {len(left_out) - 1} more" if len(left_out) > 1 else ""
        text += f" (cannot be read: {first.id}: {first.reason}{more})"
    return text


def read_texts(
    path: str | os.PathLike[str],
    encoding: str | None = None,
    *,
    model: str = "auto",
    cache: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    callback: Callable[[int, int], None] | None = None,
) -> Texts:
    r"""Read a file with one text a line.

    Parameters
    ----------
    path : str or path-like
        A text file, which may be compressed by gzip. Empty lines are left out; a repeated line is
        one item.
    encoding : str, default=None
        Encoding; None is UTF-8, or UTF-16 if the file begins like it.
    model : str, default="auto"
        What computes the features; see `compute`.
    cache : str or path-like, default=None
        A folder where what was computed is kept; see `compute`.
    n_jobs : int or None, default=None
        Number of threads, as in joblib. The result does not depend on it.
    callback : callable, default=None
        Called with the number of texts that are done, and of all.

    Returns
    -------
    Texts

    Raises
    ------
    FileFormatError
        If the file has another encoding, or is damaged; names the line.
    InvalidDataError
        If it has fewer than two different lines, or no words.
    OSError
        If it cannot be read.

    Notes
    -----
    The id of a text is the text, so that it stays the same if lines are added, removed or sorted.
    Time and memory are linear in the number of words.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from clew.features import read_texts
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "birds.txt"
    ...     _ = path.write_text("a small brown bird\na large white bird\n")
    ...     texts = read_texts(path, model="tf-idf")
    >>> texts.ids, texts.X.shape
    (['a small brown bird', 'a large white bird'], (2, 1))
    """
    ids, texts, n_repeated = text_lines(path, encoding)
    name, note = chosen_for_texts() if model == "auto" else (model, f"by {model}")
    items = [Item(str(at), "text", text=each) for at, each in enumerate(texts)]
    try:
        X = compute(items, ".", model=name, cache=cache, n_jobs=n_jobs, callback=callback).X
    except InvalidDataError as error:
        raise InvalidDataError(f"{path}: {error}") from error
    return Texts(ids, texts, X, n_repeated, name, note)


def text_lines(
    path: str | os.PathLike[str], encoding: str | None = None
) -> tuple[list[str], list[str], int]:
    """Return the ids and the texts of a file, and the number of lines that repeat others."""
    try:
        content = decoded(content_of(path), encoding)
    except FileFormatError as error:
        raise FileFormatError(at_path(path, error)) from error
    every = [" ".join(line.split()) for line in content.splitlines()]
    texts = list(dict.fromkeys(text for text in every if text))
    if len(texts) < 2:
        raise InvalidDataError(
            f"{path} has {'one line' if texts else 'no lines'}; grouping needs two texts or more"
        )
    return [_id(text) for text in texts], texts, sum(map(bool, every)) - len(texts)


def _id(text: str) -> str:
    if len(text) <= LONGEST_ID:
        return text
    return f"{text[:KEPT]}… {hashlib.sha256(text.encode()).hexdigest()[:8]}"
