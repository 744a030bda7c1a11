"""The files of an export by their names, and folders of media by group, with a way back."""

from __future__ import annotations

import filecmp
import io
import json
import os
import re
import shutil
import tempfile
import unicodedata
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

from clew.answers import Answer, entry_to_json, last_answers
from clew.exceptions import FileFormatError, InvalidDataError, InvalidParameterError
from clew.exports._forms import (
    ANSWER_COLUMNS,
    EXEMPLAR_COLUMNS,
    GROUP_COLUMNS,
    Record,
    answer_records,
    camtrap_dp,
    coco,
    exemplar_records,
    fiftyone,
    group_records,
    label_studio,
    table_bytes,
)
from clew.exports._members import DOUBT_COLUMNS, Member, doubt_records, doubts_of, members_of
from clew.store import Store, export_all

TABLES: Final = ("csv", "jsonl", "parquet")
PROGRAMS: Final = ("coco", "label-studio", "fiftyone", "camtrap-dp")
#: Forms of what can be exported, the first by default. Folders are written by `plan` and `apply`.
FORMS: Final[Mapping[str, tuple[str, ...]]] = {
    "groups": (*TABLES, "folders", *PROGRAMS),
    "exemplars": TABLES,
    "doubtful": TABLES,
    "answers": ("jsonl", "csv", "parquet"),
    "affinity": ("npz",),
    "all": ("folder",),
}


def files_of(
    what: str,
    store: Store,
    as_: str = "",
    *,
    root: Path | None = None,
    name: str = "",
    individuals: bool = False,
) -> dict[str, bytes]:
    """Return the files of an export by their names; `what` and `as_` are those of `FORMS`."""
    form = as_ or FORMS[what][0]
    if form not in FORMS[what] or form == "folders":
        raise InvalidParameterError(f"{what} as {form}: use one of {', '.join(FORMS[what])}")
    if what == "all":
        with tempfile.TemporaryDirectory() as place:
            files = {path.name: path.read_bytes() for path in export_all(store, place)}
        return files | tables_of(store)
    if what == "affinity":
        stored = store.artifact("affinity")
        if stored is None:
            raise InvalidDataError(
                "there are no affinities yet; clew group, or clew worker, computes them"
            )
        return {"affinity.npz": stored[1]}
    if form in PROGRAMS:
        used = [member for member in grouped(store) if member.item.set_aside is None]
        folder = Path() if root is None else root
        if form == "coco":
            _check_files(used, folder)
        if form == "camtrap-dp":
            return camtrap_dp(used, folder, name=name, individuals=individuals)
        write = {"coco": coco, "label-studio": label_studio, "fiftyone": fiftyone}[form]
        return write(used, folder)
    if what == "answers" and form == "jsonl":
        lines = (f"{entry_to_json(each.entry)}\n" for each in store.log())
        return {"answers.jsonl": "".join(lines).encode()}
    columns, records = TABLE_OF[what](store)
    return {f"{what}.{form}": table_bytes(form, columns, records)}


def _answers(store: Store) -> list[Record]:
    learned = last_answers(each.entry for each in store.log(only_standing=True))
    return answer_records(entry for entry in learned if isinstance(entry, Answer))


def grouped(store: Store) -> list[Member]:
    """Return the items of a project with their groups; an error if there are none yet."""
    result = store.result()
    if result is None:
        raise InvalidDataError("there are no groups yet; clew group makes them")
    names = {group.id: group.name for group in store.groups() if group.name}
    standing = [each.entry for each in store.log(only_standing=True)]
    return members_of(store.items(), result.body, names, standing)


#: Columns and records of each table.
TABLE_OF: Final[Mapping[str, Callable[[Store], tuple[Sequence[str], list[Record]]]]] = {
    "groups": lambda store: (GROUP_COLUMNS, group_records(grouped(store))),
    "exemplars": lambda store: (EXEMPLAR_COLUMNS, exemplar_records(grouped(store))),
    "doubtful": lambda store: (DOUBT_COLUMNS, doubt_records(doubts_of(store))),
    "answers": lambda store: (ANSWER_COLUMNS, _answers(store)),
}


def tables_of(store: Store) -> dict[str, bytes]:
    """Return the tables for spreadsheets that there are: groups, exemplars, doubtful, answers."""
    whats = list(TABLE_OF) if store.result_revision() is not None else ["answers"]
    return {f"{what}.csv": table_bytes("csv", *TABLE_OF[what](store)) for what in whats}


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return files as a ZIP archive; the same files give the same bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return content.getvalue()


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
    _check_files(members, root)
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


def _check_files(members: Sequence[Member], root: Path) -> None:
    """Refuse, before anything is written, if files are gone that have to be read."""
    items = [member.item for member in members if member.item.set_aside is None]
    gone = [each.id for each in items if each.path is not None and not (root / each.path).is_file()]
    if gone:
        what = "1 item has no file" if len(gone) == 1 else f"{len(gone):,} items have no file"
        raise FileNotFoundError(
            f"{what} any more, such as {gone[0]}: if files were moved, clew add {root} finds them; "
            "else clew doctor --fix sets such items aside. Nothing was written"
        )


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
    """Do a plan's steps, each logged before it is done, so that all can be undone."""
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
                with target.open("xb") as file:
                    file.write(str(item.text).encode())
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
    source = Path(step.source)
    if step.do == "move":
        if source.exists():
            return f"{target} stays: there is another file at {source} now"
        source.parent.mkdir(parents=True, exist_ok=True)
        _move(target, source)
        return ""
    if step.do == "copy" and not (source.is_file() and filecmp.cmp(source, target, shallow=False)):
        return f"{target} stays: it is no longer a copy of {source}"
    target.unlink()
    return ""
