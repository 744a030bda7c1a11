"""The rows of a project, with features, distances or nothing, in the form of rows of a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd

from clew.answers import Answer, Entry, Retraction, items_of, last_answers, new_id, now, standing
from clew.cli._options import project_and_store
from clew.cli._reading import Pictures
from clew.cli._rows import Rows, from_table
from clew.cli._words import Words, counted
from clew.constraints import Constraints
from clew.exceptions import InvalidDataError
from clew.items import Item, Media
from clew.tables import Table

if TYPE_CHECKING:
    from clew.collections import Project
    from clew.store import Store
    from clew.worker import Rows as ProjectRows

Standardize = bool | Literal["auto"]


def rows_of_project(
    place: Path, words: Words, standardize: Standardize, drop: Sequence[str] = ()
) -> Rows:
    """Return the rows of items that are not set aside, without the columns `drop`."""
    from clew.worker import rows_of

    with project_and_store(place) as (project, store):
        items = [item for item in store.items() if item.set_aside is None]
        if len(items) < 2:
            raise InvalidDataError(
                f"{project.name} has {counted(len(items), 'item')}; grouping needs two or "
                "more: clew add"
            )
        with words.bar("Computing features") as advance:
            found = rows_of(project, store, callback=advance)(items)
    by_id = {item.id: item for item in items}
    used = [by_id[name] for name in found.ids]
    rows = rows_of_items(project, used, found, standardize, drop)
    if len(used) < len(items):
        words.say(f"{counted(len(items) - len(used), 'item')} cannot be read, and are left out")
    return rows


def rows_of_items(
    project: Project,
    items: list[Item],
    found: ProjectRows,
    standardize: Standardize = "auto",
    drop: Sequence[str] = (),
) -> Rows:
    """Return the rows of items, as a worker knows them."""
    data = found.data
    ids = [item.id for item in items]
    kinds = {item.kind for item in items}
    name = project.name
    if "distances" in data:
        note = f"{name}: {counted(len(ids), 'item')}; distances between them"
        D = data["distances"]
        rows = Rows.without_columns(D, ids, [note], is_scaled=True, is_distances=True)
    elif "X" not in data:
        note = f"{name}: {counted(len(ids), 'item')} without features; answers alone group them"
        rows = Rows.without_columns(None, ids, [note])
    elif isinstance(data["X"], pd.DataFrame):
        columns = [column for column in data["X"].columns if column not in drop]
        frame = data["X"][columns].reset_index(drop=True)
        rows = from_table(Path(name), Table(frame, ids, "id"), standardize)
    else:
        X = np.ascontiguousarray(data["X"], np.float64)
        note = f"{name}: {counted(len(ids), 'item')}; {counted(X.shape[1], 'feature')}"
        is_scaled = kinds == {"image"} and standardize is not True
        rows = Rows.without_columns(X, ids, [note], is_scaled=is_scaled)
        if found.note:  # records: their columns are shown, and their characters compared
            frame = pd.DataFrame([dict(item.columns) for item in items])
            rows = from_table(Path(name), Table(frame, ids, "id"), standardize)._replace(
                X=X, notes=[found.note], are_records=True, is_scaled=True
            )
    if kinds in ({"image"}, {"sound"}):
        shown = Pictures(Media(project.root), items, project.cache / "shown")
        return rows._replace(folder=project.root, picture=shown)
    if kinds == {"text"}:
        media = Media(project.root)
        texts = [media.text(item) if item.text is None else item.text for item in items]
        return rows._replace(texts=texts)
    return rows


def answers_of_project(place: Path, ids: Sequence[str]) -> Constraints:
    """Return the answers that stand about these items; edits are the worker's."""
    with project_and_store(place) as (_, store):
        entries = [each.entry for each in store.log(only_standing=True)]
    known = set(ids)
    answers = [
        entry
        for entry in last_answers(entries)
        if isinstance(entry, Answer) and known.issuperset(map(str, entry.question.ids or ()))
    ]
    return Constraints.from_answers(answers, ids=ids)


def column_of_project(place: Path, name: str, ids: Sequence[str]) -> pd.Series[Any]:
    """Return a column of the items, among those that people are shown and the others."""
    with project_and_store(place) as (_, store):
        items = store.items_by_id(ids)
    cells = [dict(items[each].meta) | dict(items[each].columns) for each in ids]
    if not any(name in each for each in cells):
        names = ", ".join(sorted({one for each in cells for one in each})) or "none"
        raise InvalidDataError(f"no item has a column {name!r}; columns are {names}")
    return pd.Series([each.get(name) for each in cells])


class StoreLog:
    """The log of a project, as `clew ask` keeps a file of answers."""

    def __init__(self, store: Store, name: str, ids: Sequence[str]) -> None:
        self._store, self.path, self.ids = store, Path(name), list(ids)
        self.entries: list[Entry] = []
        self.torn: list[int] = []
        self._known = set(self.ids)
        self._seq = 0
        self._seen: set[str] = set()
        self.read_new()

    @property
    def standing(self) -> list[Any]:
        """The answers and edits that were not taken back, in order."""
        return standing(self.entries)

    def read_new(self) -> list[Entry]:
        """Read what others have appended, about items that are not set aside."""
        new: list[Entry] = []
        for each in self._store.log(after=self._seq):
            self._seq = each.seq
            is_about_rows = self._known.issuperset(map(str, items_of(each.entry)))
            if each.entry.id not in self._seen and is_about_rows:
                new.append(each.entry)
                self._seen.add(each.entry.id)
        self.entries += new
        return new

    def append(self, entry: Entry) -> Entry:
        """Append an entry, and return when it is on disk."""
        if isinstance(entry, Answer) and entry.question.rows:
            names = tuple(self.ids[row] for row in entry.question.rows)
            entry = replace(entry, question=replace(entry.question, rows=(), ids=names))
        entry = replace(
            entry, id=entry.id or new_id(), at=entry.at or now(),
            source=entry.source or f"clew {version('clew')}",
        )  # fmt: skip
        self._store.append([entry])
        self.entries.append(entry)
        self._seen.add(entry.id)
        return entry

    def revoke(self, entry: Entry, *, annotator: str) -> Entry:
        """Take an entry back."""
        return self.append(Retraction(entry.id, annotator))
