"""A project as a folder of files: everything that people made, in forms that other programs read.

=================== ============================================================================
items.jsonl         the items, in order of their rows: fields of `clew.items.Item` that are set
answers.jsonl       the log, a line an entry, as `clew ask` writes it
annotators.jsonl    people, rules and models; no secrets of links
groups.jsonl        lasting groups with names, notes and history
settings.json       the settings
result.json         the newest result, so that groups keep their ids
=================== ============================================================================
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from clew._files import atomic_write
from clew.answers import entry_to_json, parse_log
from clew.exceptions import FileFormatError
from clew.items import Item
from clew.store.base import Annotator, Group, Store

T = TypeVar("T")


def export_all(store: Store, folder: str | os.PathLike[str]) -> list[Path]:
    """Write everything that people made into a folder.

    Parameters
    ----------
    store : Store
        The store of the project.
    folder : str or path-like
        Folder for the files; made if it is not there.

    Returns
    -------
    list of Path
        The files: ``items.jsonl``, ``answers.jsonl``, ``annotators.jsonl``, ``groups.jsonl``,
        ``settings.json`` and, if there is a result, ``result.json``. Vectors and media are not
        among them, nor are links and sessions of people.

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    top = Path(folder)
    top.mkdir(parents=True, exist_ok=True)
    result = store.result()
    contents: dict[str, Iterable[str]] = {
        "items.jsonl": (_line(_record_of(item)) for item in store.items()),
        "answers.jsonl": (entry_to_json(each.entry) for each in store.log()),
        "annotators.jsonl": (_line(asdict(each)) for each in store.annotators()),
        "groups.jsonl": (_line(asdict(each)) for each in store.groups(also_gone=True)),
        "settings.json": (_line(store.settings()),),
    }
    if result is not None:
        contents["result.json"] = (_line({"revision": result.revision, "body": result.body}),)
    for name, lines in contents.items():
        with atomic_write(top / name) as file:
            file.writelines(f"{line}\n" for line in lines)
    return [top / name for name in contents]


def import_all(store: Store, folder: str | os.PathLike[str]) -> None:
    """Read what `export_all` has written into a store that is empty.

    Parameters
    ----------
    store : Store
        The store of a new project. What it has already stays: the same items and entries are kept
        once.
    folder : str or path-like
        Folder of the files.

    Raises
    ------
    FileNotFoundError
        If ``items.jsonl`` or ``answers.jsonl`` is not there.
    FileFormatError
        If a line is invalid. Nothing of that file is kept.
    InvalidConstraintsError
        If an answer names an item that is not among the items.

    Examples
    --------
    >>> import tempfile
    >>> from clew.items import Item
    >>> from clew.store import export_all, import_all, open_store
    >>> with tempfile.TemporaryDirectory() as folder, open_store(":memory:") as store:
    ...     _ = store.add_items([Item("wren", "text", text="a bird")])
    ...     _ = export_all(store, folder)
    ...     with open_store(":memory:") as other:
    ...         import_all(other, folder)
    ...         other.item_ids()
    ['wren']
    """
    top = Path(folder)
    items = _records(top / "items.jsonl", _item)
    path = top / "answers.jsonl"
    entries = parse_log(path.read_bytes(), path).entries
    people = _records(top / "annotators.jsonl", _annotator, is_optional=True)
    groups = _records(top / "groups.jsonl", _group, is_optional=True)
    settings = _records(top / "settings.json", dict, is_optional=True)
    results = _records(
        top / "result.json", lambda record: (record["revision"], record["body"]), is_optional=True
    )
    store.add_items(items)
    for annotator in people:
        store.put_annotator(annotator)
    store.append(entries)
    for values in settings:
        store.set_settings(values)
    for revision, body in results:
        store.publish(revision, body)
    store.put_groups(groups)


def _record_of(item: Item) -> dict[str, Any]:
    values = {field.name: getattr(item, field.name) for field in fields(item)}
    return {name: value for name, value in values.items() if value not in (None, {})}


def _line(record: Mapping[str, Any]) -> str:
    return json.dumps(record, ensure_ascii=False, separators=(",", ":"))


def _records(
    path: Path, make: Callable[[dict[str, Any]], T], *, is_optional: bool = False
) -> list[T]:
    """Read a file of JSON lines."""
    if is_optional and not path.exists():
        return []
    made: list[T] = []
    with path.open(encoding="utf-8") as file:
        for number, text in enumerate(file, start=1):
            try:
                made.append(make(dict(json.loads(text))))
            except (ValueError, TypeError, KeyError) as error:
                raise FileFormatError(f"{path}, line {number}: {error!r}") from error
    return made


def _item(record: dict[str, Any]) -> Item:
    region = record.pop("region", None)
    return Item(region=None if region is None else tuple(region), **record)


def _annotator(record: dict[str, Any]) -> Annotator:
    kinds = record.pop("kinds", None)
    return Annotator(kinds=None if kinds is None else tuple(kinds), **record)


def _group(record: dict[str, Any]) -> Group:
    return Group(came_from=tuple(record.pop("came_from", ())), **record)
