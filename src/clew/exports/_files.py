"""The files of an export, by their names: the command line and the app write the same ones."""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from clew.answers import Answer, entry_to_json
from clew.exceptions import InvalidDataError, InvalidParameterError
from clew.exports._camtrap import camtrap_dp
from clew.exports._doubts import DOUBT_COLUMNS, doubt_records, doubts_of
from clew.exports._members import Member, members_of
from clew.exports._pictures import coco, fiftyone, label_studio
from clew.exports._tables import (
    ANSWER_COLUMNS,
    EXEMPLAR_COLUMNS,
    GROUP_COLUMNS,
    Record,
    answer_records,
    exemplar_records,
    group_records,
    table_bytes,
)
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
    """Return the files of an export by their names.

    Parameters
    ----------
    what : {"groups", "exemplars", "doubtful", "answers", "affinity", "all"}
        What is exported. "all" are the files of `clew.store.export_all`, which make the project
        again, and the tables that spreadsheets read.
    store : Store
        The store of the project.
    as_ : str, default=""
        One of ``FORMS[what]``. Empty: the first of them.
    root : Path, default=None
        Folder of the media, which COCO, Label Studio, FiftyOne and Camtrap DP need.
    name : str, default=""
        Name of the project, for Camtrap DP.
    individuals : bool, default=False
        Camtrap DP: whether groups are animals, not species.

    Returns
    -------
    dict of str to bytes

    Raises
    ------
    InvalidParameterError
        If there is no such form.
    InvalidDataError
        If there are no groups yet, or an item has not what the form needs.
    MissingDependencyError
        If Parquet is wanted, and pyarrow is not installed.
    """
    form = as_ or FORMS[what][0]
    if form not in FORMS[what] or form == "folders":
        raise InvalidParameterError(f"{what} as {form}: use one of {', '.join(FORMS[what])}")
    if what == "all":
        return _all(store)
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
    standing = (each.entry for each in store.log(only_standing=True))
    return answer_records(entry for entry in standing if isinstance(entry, Answer))


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


def _all(store: Store) -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        files = {path.name: path.read_bytes() for path in export_all(store, folder)}
    return files | tables_of(store)


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return files as a ZIP archive; the same files give the same bytes."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return content.getvalue()
