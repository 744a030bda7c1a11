"""The media files of a folder: found one by one, checked, and known by the hash of content."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import file_digest
from pathlib import Path
from typing import Any, Final, NamedTuple

from clew._files import atomic_write
from clew._parallel import in_threads
from clew.features._read import READABLE, files_below
from clew.items import Item, ItemKind, LeftOut, Media

#: Endings of the names of files, by the kind of item that such a file is.
ENDINGS: Final[Mapping[str, tuple[str, ...]]] = {
    "image": READABLE,
    "sound": (".wav", ".flac", ".ogg", ".oga", ".opus", ".mp3", ".aif", ".aiff", ".au", ".caf"),
    "text": (".txt", ".md"),
}
#: Called with the number of finished files and of all files.
Advance = Callable[[int, int], None]
EXIF_DATE, EXIF_DATE_ORIGINAL, EXIF_PART = 306, 36867, 34665


def kind_of_name(name: str) -> str | None:
    """Return the kind of item that a file is by its ending, or None."""
    ending = os.path.splitext(name)[1].lower()
    return next((kind for kind, endings in ENDINGS.items() if ending in endings), None)


def kind_of_folder(folder: Path) -> ItemKind:
    """Return the most frequent kind of the files of a folder; without any, that of images."""
    names = [each for each in files_below(folder, folder) if isinstance(each, str)]
    kinds = [kind_of_name(name) for name in names]
    most: ItemKind = max(("image", "sound", "text"), key=kinds.count)
    return most


class FileFacts(NamedTuple):
    """What is read of a file once."""

    size: int
    mtime: int
    """Nanoseconds."""
    hash: str
    """SHA-256 of the content."""
    date: str
    """When a photo was taken, ISO 8601; empty if the file does not say."""


@dataclass
class FileCache:
    """Facts of files by path, so that an unchanged file is not read again; None keeps nothing."""

    path: Path | None
    facts: dict[str, FileFacts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is None:
            return
        with suppress(OSError, ValueError, TypeError):
            stored = json.loads(self.path.read_text(encoding="utf-8"))
            self.facts = {name: FileFacts(*each) for name, each in stored.items()}

    def write(self) -> None:
        """Keep the facts, unless that is impossible."""
        if self.path is None:
            return
        with suppress(OSError):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_write(self.path) as file:
                json.dump(self.facts, file, ensure_ascii=False, separators=(",", ":"))


def read_facts(
    root: Path,
    names: Sequence[str],
    cache: FileCache,
    *,
    n_jobs: int | None = None,
    callback: Advance | None = None,
) -> dict[str, FileFacts | LeftOut]:
    """Return the facts of files by name; a file that cannot be used has a reason in their place."""

    def facts_of(name: str) -> FileFacts | LeftOut:
        try:
            return _facts(root, name, cache.facts.get(name))
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error).removeprefix(f"{name}: ")
            return LeftOut(name, reason)

    results = in_threads(facts_of, names, n_jobs=n_jobs, what="files", callback=callback)
    found = dict(zip(names, results, strict=True))
    fresh = {name: facts for name, facts in found.items() if isinstance(facts, FileFacts)}
    if any(cache.facts.get(name) != facts for name, facts in fresh.items()):
        cache.facts.update(fresh)
        cache.write()
    return found


def _facts(root: Path, name: str, before: FileFacts | None) -> FileFacts:
    path = root / name
    if not Path(os.path.realpath(path)).is_relative_to(root.resolve()):
        raise ValueError("leads out of the folder of the collection")
    there = path.stat()
    if not stat.S_ISREG(there.st_mode):
        raise ValueError("is not a file")
    if before is not None and (before.size, before.mtime) == (there.st_size, there.st_mtime_ns):
        return before
    if there.st_size == 0:
        raise ValueError("the file is empty")
    with path.open("rb") as file:
        digest = file_digest(file, "sha256").hexdigest()
        file.seek(0)
        date = _check_image(file) if kind_of_name(name) == "image" else ""
    if kind_of_name(name) == "sound":
        _check_sound(path)
    if kind_of_name(name) == "text":
        Media(root).text(Item(name, "text", path=name))  # refuses what nobody can read
    return FileFacts(there.st_size, there.st_mtime_ns, digest, date)


def _check_image(file: Any) -> str:
    """Refuse a file whose head is not that of an image; return when the photo was taken."""
    try:
        from PIL import Image
    except ImportError:
        return ""  # the features of images, which need Pillow, say how to install it
    if file.name.lower().endswith((".heic", ".heif")):
        return ""  # Pillow reads these with a plug-in only
    try:
        with Image.open(file) as image:
            exif = image.getexif()
            written = exif.get_ifd(EXIF_PART).get(EXIF_DATE_ORIGINAL) or exif.get(EXIF_DATE)
    except Exception as error:  # a damaged file raises whatever its decoder meets
        raise ValueError("not an image that can be read") from error
    return _iso(str(written or ""))


def _check_sound(path: Path) -> None:
    """Refuse a file whose head is not that of a sound."""
    try:
        import soundfile
    except ImportError:
        return  # the features of sounds, which need soundfile, say how to install it
    try:
        with path.open("rb") as file, soundfile.SoundFile(file):
            pass
    except (soundfile.SoundFileError, RuntimeError) as error:
        raise ValueError("not a sound that can be read") from error


def _iso(written: str) -> str:
    """Return a date of EXIF, "2024:05:31 08:25:38", as ISO 8601; empty if it is none."""
    day, _, time = written.strip("\0 ").partition(" ")
    parts = [*day.split(":"), *time.split(":")]
    if len(parts) != 6 or not all(part.isdecimal() for part in parts) or int(parts[0]) == 0:
        return ""
    return f"{'-'.join(parts[:3])}T{':'.join(parts[3:])}"


def items_of_folder(
    folder: Path,
    root: Path,
    kind: str | None,
    cache: FileCache,
    *,
    n_jobs: int | None = None,
    callback: Advance | None = None,
) -> tuple[list[Item], list[LeftOut], list[str]]:
    """Items of a folder's media, of the most frequent kind if None; those left out; notes."""
    names: dict[str, list[str]] = {each: [] for each in ENDINGS}
    left_out: list[LeftOut] = []
    n_others = 0
    for each in files_below(folder, root):
        if isinstance(each, LeftOut):
            left_out.append(each)
        elif (of_name := kind_of_name(each)) is not None:
            names[of_name].append(each)
        else:
            n_others += 1
    chosen = kind or max(names, key=lambda each: len(names[each]))
    unused = n_others + sum(len(each) for other, each in names.items() if other != chosen)
    what = "file in {} is not an item" if unused == 1 else "files in {} are not items"
    notes = [f"{unused:,} other {what.format(folder)}"] if unused else []
    facts = read_facts(root, names[chosen], cache, n_jobs=n_jobs, callback=callback)
    items = []
    for name, found in facts.items():
        if isinstance(found, LeftOut):
            left_out.append(found)
        else:
            meta = {"date": found.date} if found.date else {}
            items.append(Item(name, chosen, path=name, hash=found.hash, meta=meta))  # type: ignore[arg-type]
    return items, left_out, notes
