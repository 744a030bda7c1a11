"""A folder for each group: items are copied, linked or moved into it, and moves can be undone."""

from __future__ import annotations

import json
import os
import re
import shutil
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Final, Literal

from clew.exceptions import FileFormatError, InvalidDataError, InvalidParameterError
from clew.exports._members import Member

How = Literal["copy", "link", "move", "crop", "text"]
#: The log of what was done to a folder; the walk through a collection skips hidden files.
LOG: Final = ".clew-export.jsonl"
#: Characters that some system does not allow in names, and names that Windows keeps for itself.
UNSAFE: Final = re.compile(r'[<>:"/\\|?*\x00-\x1f\x7f]')
RESERVED: Final = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\..*)?")
#: Length of a name in bytes; systems allow 255, and a number may follow.
LONGEST: Final = 120


@dataclass(frozen=True, slots=True)
class Step:
    """One file that is put into a folder."""

    do: How
    source: str
    """Path of the file, or id of a text."""
    target: str
    """Path relative to the folder of the export."""
    id: str


def safe_name(title: str) -> str:
    """Return a name that every system takes for a file: no separators, dots at the end, or NUL."""
    plain = UNSAFE.sub("_", unicodedata.normalize("NFC", title)).strip(" .")
    plain = plain.encode("utf-8", "replace")[:LONGEST].decode("utf-8", "ignore").strip(" .")
    if RESERVED.fullmatch(plain):
        plain = f"_{plain}"
    return plain or "_"


def _unique(name: str, taken: set[str]) -> str:
    """Return a name that is not taken, whatever the case of its letters, and take it."""
    stem, ending = os.path.splitext(name)
    found, number = name, 2
    while found.casefold() in taken:
        found, number = f"{stem} ({number}){ending}", number + 1
    taken.add(found.casefold())
    return found


def plan(
    members: Sequence[Member], root: Path, folder: Path, how: Literal["copy", "link", "move"]
) -> list[Step]:
    """Say what would be done; regions of images are cut out, those of sounds copied whole."""
    _check_place(root, folder, how)
    titles: dict[int | None, str] = {}
    taken: set[str] = set()
    names: dict[str, set[str]] = {}
    steps: list[Step] = []
    for member in members:
        item = member.item
        if item.set_aside is not None:
            continue
        if item.path is None and item.text is None:
            raise InvalidDataError(
                f"{item.id!r} is a {item.kind} without a file, which no folder can hold; use "
                "--as csv"
            )
        if member.group not in titles:
            titles[member.group] = _unique(safe_name(member.title), taken)
        group = titles[member.group]
        do: How = how
        if item.path is None:
            do, name = "text", f"{safe_name(item.id)}.txt"
        else:
            name = safe_name(Path(item.path).name)
            if item.region is not None and item.kind == "image":
                do, name = "crop", f"{Path(name).stem} {safe_name(item.id)[-40:]}.jpg"
        if item.region is not None and how == "move":
            raise InvalidParameterError(
                f"{item.id!r} is a part of {item.path}, which cannot be moved to a group; use copy"
            )
        name = _unique(name, names.setdefault(group, set()))
        source = item.id if item.path is None else str(root / item.path)
        steps.append(Step(do, source, f"{group}/{name}", item.id))
    there = [step.target for step in steps if (folder / step.target).exists()]
    if there:
        raise FileExistsError(
            f"{folder} has {len(there):,} of the files already, such as {there[0]}; nothing is "
            "overwritten: name another folder, or take the last export back with "
            f"clew export --undo {folder}"
        )
    return steps


def _check_place(root: Path, folder: Path, how: str) -> None:
    """Refuse copies in the collection, new items then, and moves out of it, lost to it."""
    is_within = Path(os.path.realpath(folder)).is_relative_to(root)
    if how == "move" and not is_within:
        raise InvalidParameterError(
            f"{folder} lies outside of {root}: files that are moved stay in the folder of the "
            f"project; name a folder in it, such as {root / 'sorted'}"
        )
    if how != "move" and is_within:
        raise InvalidParameterError(
            f"{folder} lies in {root}, where copies would become items of their own; name a folder "
            "outside of it, or move the files"
        )


def apply(
    steps: Sequence[Step], members: Sequence[Member], root: Path, folder: Path
) -> Iterator[Step]:
    """Do what a plan says, one step at a time; yield each step that is done.

    Each step is in the log before it is done, so what an interruption leaves can be undone.
    """
    from clew.items import Media

    item_of = {member.item.id: member.item for member in members}
    media = Media(root)
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / LOG).open("a", encoding="utf-8") as log:
        for step in steps:
            target = folder / step.target
            target.parent.mkdir(parents=True, exist_ok=True)
            log.write(json.dumps(asdict(step), ensure_ascii=False) + "\n")
            log.flush()
            item = item_of[step.id]
            if step.do == "text":
                _write_new(target, str(item.text).encode())
            elif step.do == "crop":
                with target.open("xb") as file:
                    media.image(item).save(file, "JPEG", quality=95)
            elif step.do == "copy":
                with media.path(item).open("rb") as source, target.open("xb") as file:
                    shutil.copyfileobj(source, file)
                shutil.copystat(media.path(item), target)
            elif step.do == "link":
                target.symlink_to(media.path(item))
            else:
                _move(Path(step.source), target)
            yield step


def _write_new(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)


def _move(source: Path, target: Path) -> None:
    """Rename a file, never over another one."""
    try:
        os.link(source, target)  # fails if the target exists, which rename would replace
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if target.exists():
            raise FileExistsError(f"{target} exists") from None
        shutil.move(source, target)
        return
    source.unlink()


def undo(folder: Path) -> tuple[list[tuple[Step, bool]], list[str]]:
    """Take back what the log of a folder says, but for files that were changed since."""
    path = folder / LOG
    if not path.is_file():
        raise FileNotFoundError(f"{folder} has no {LOG}: clew export did not fill this folder")
    steps = []
    for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            steps.append(Step(**json.loads(text)))
        except (ValueError, TypeError) as error:
            raise FileFormatError(f"{path}, line {line}: {error}") from error
    top = Path(os.path.realpath(folder))
    done: list[tuple[Step, bool]] = []
    problems: list[str] = []
    for step in reversed(steps):
        target = folder / step.target
        if not Path(os.path.realpath(target.parent)).is_relative_to(top):
            raise FileFormatError(f"{path}: {step.target} leads out of the folder")
        if not target.is_symlink() and not target.exists():
            continue  # never done, or taken back already
        problem = _taken_back(step, target)
        done.append((step, not problem))
        problems += [problem] * bool(problem)
    for each in sorted({folder / Path(step.target).parts[0] for step in steps}):
        if each.is_dir() and not any(each.iterdir()):
            each.rmdir()
    if not problems:
        path.unlink()
        if not any(folder.iterdir()):
            folder.rmdir()
    return done, problems


def _taken_back(step: Step, target: Path) -> str:
    """Take one step back; return what stands in the way."""
    if step.do == "move":
        source = Path(step.source)
        if source.exists():
            return f"{target} stays: there is another file at {source} now"
        source.parent.mkdir(parents=True, exist_ok=True)
        _move(target, source)
        return ""
    if step.do == "copy" and not _is_same(Path(step.source), target):
        return f"{target} stays: it is no longer a copy of {step.source}"
    target.unlink()
    return ""


def _is_same(one: Path, other: Path) -> bool:
    if not one.is_file() or one.stat().st_size != other.stat().st_size:
        return False
    with one.open("rb") as first, other.open("rb") as second:
        return file_digest(first, "sha256").digest() == file_digest(second, "sha256").digest()
