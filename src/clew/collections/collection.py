"""Read a collection: a folder, a table, boxes, vectors or distances as items with stable ids."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew._files import of_spreadsheet
from clew.collections._files import Advance, FileCache, FileFacts, items_of_folder, read_facts
from clew.collections._tables import (
    ARRAYS,
    JSON_LINES,
    Rows,
    is_coco,
    items_of_coco,
    items_of_sheet,
    positions,
    read_sheet,
    read_square,
    read_vectors,
    texts_of_lines,
)
from clew.exceptions import FileFormatError, InvalidDataError, InvalidParameterError
from clew.features._read import what_is_there
from clew.items import Item, ItemKind, LeftOut
from clew.tables._read import Columns, Format

__all__ = ["Additions", "Collection", "compare", "read_collection"]

TABLES = (".csv", ".tsv", ".tab", ".parquet", *JSON_LINES)


@dataclass(frozen=True, eq=False)
class Collection:
    """The items of a folder or a file.

    Parameters
    ----------
    items : list of Item
        In the order of the names or of the table.
    root : Path
        Folder to which the paths of the items are relative.
    left_out : list of LeftOut
        What cannot be used, with reasons.
    notes : tuple of str
        What was recognized and assumed, a sentence each.
    vectors : ndarray of shape (n_items, n_features) or None
        Vectors of the items, if a file has them.
    distances : ndarray of shape (n_items, n_items) or None
        Distances between the items, if a file has them.
    """

    items: list[Item]
    root: Path
    left_out: list[LeftOut] = field(default_factory=list)
    notes: tuple[str, ...] = ()
    vectors: NDArray[Any] | None = None
    distances: NDArray[Any] | None = None


def read_collection(
    path: str | os.PathLike[str],
    *,
    root: str | os.PathLike[str] | None = None,
    kind: ItemKind | None = None,
    vectors: str | os.PathLike[str] | None = None,
    distances: str | os.PathLike[str] | None = None,
    ids: str | os.PathLike[str] | None = None,
    id_column: str | None = None,
    columns: Sequence[str] | None = None,
    drop: Sequence[str] = (),
    sep: str | None = None,
    decimal: str | None = None,
    header: bool | None = None,
    encoding: str | None = None,
    cache: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    callback: Advance | None = None,
) -> Collection:
    r"""Read the items of a folder of media, a table, a file of COCO, or an array of vectors.

    Parameters
    ----------
    path : str or path-like
        A folder of images, sounds or texts; a table (CSV, TSV, JSON lines, Parquet) with a column
        of ids, whose rows are files (`path`), texts (`text`) or rows of columns; boxes in images
        (COCO, .json); one text a line (.txt); vectors (.npy, .npz).
    root : str or path-like, default=None
        Folder to which paths of items are relative, and out of which no file may lie. None: the
        folder itself, or the folder of the file.
    kind : {"image", "sound", "text", "row", "vector"}, default=None
        What the items are. None: the most frequent kind of file in a folder; of a table, what its
        columns say.
    vectors, distances : str or path-like, default=None
        A file of vectors of the items, or of distances between them: .npy, .npz (with `ids`), or
        Parquet with a column of lists.
    ids : str or path-like, default=None
        Ids of the rows of an array: one on each line, or a table with a column id. None: those in
        the file, or else the items in order.
    id_column, columns, drop, sep, decimal, header, encoding : optional
        How a table is read, as by `clew.tables.read_table`.
    cache : str or path-like, default=None
        A file that remembers hashes of files by size and time, so that the next call reads only
        what is new.
    n_jobs : int or None, default=None
        Number of threads that read files.
    callback : callable, default=None
        Called with the number of files that are read, and of all.

    Returns
    -------
    Collection
        Files that cannot be read are in `left_out`.

    Raises
    ------
    FileFormatError
        If a file is not what its ending says, or has no ids.
    InvalidDataError
        If ids are missing or repeated, numbers are not finite, or vectors do not fit the items.
    OSError
        If the folder or the file cannot be read.

    Notes
    -----
    Files are read once, for their SHA-256 and the head of an image: 10,000 photos of 2 MB take as
    long as the disk needs for 20 GB. Links that lead out of `root` are not followed.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from clew.collections import read_collection
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "birds.csv"
    ...     _ = path.write_text("id,text,place\nb1,a small wren,Oslo\nb2,a heron,\n")
    ...     birds = read_collection(path)
    >>> [(item.id, item.kind, item.text, dict(item.meta)) for item in birds.items]
    [('b1', 'text', 'a small wren', {'place': 'Oslo'}), ('b2', 'text', 'a heron', {})]
    """
    place = Path(path)
    if not place.exists():
        raise FileNotFoundError(f"there is no file or folder {path}")
    top = Path(
        os.path.realpath(root if root is not None else place if place.is_dir() else place.parent)
    )
    store = FileCache(None if cache is None else Path(cache))

    def facts_of(names: Sequence[str]) -> dict[str, FileFacts | LeftOut]:
        return read_facts(top, names, store, n_jobs=n_jobs, callback=callback)

    notes: list[str] = []
    left_out: list[LeftOut] = []
    of_array: Rows | None = None
    ending = place.suffix.lower()
    names = None if ids is None else Path(ids)
    if place.is_dir():
        if not Path(os.path.realpath(place)).is_relative_to(top):
            raise InvalidParameterError(
                f"{path} lies outside of {top}, the folder of the collection"
            )
        of_files = _of_files(kind, place)
        within = Path(os.path.realpath(place))
        items, left_out, notes = items_of_folder(
            within, top, of_files, store, n_jobs=n_jobs, callback=callback
        )
        if not items:
            raise InvalidDataError(_nothing(place, left_out))
    elif ending in ARRAYS or (ending == ".parquet" and kind == "vector"):
        of_array = read_vectors(place, names) if distances is None else None
        own = of_array or read_square(Path(distances or place), names)
        found = own.ids or [str(row) for row in range(len(own.values))]
        items = [Item(name, "vector") for name in found]
        names = None
    elif is_coco(place):
        items, left_out, notes = items_of_coco(place, top, facts_of)
    elif ending == ".txt" and kind in (None, "text"):
        items, notes = texts_of_lines(place, encoding)
    elif ending in TABLES or place.name.lower().endswith(tuple(f"{each}.gz" for each in TABLES)):
        form = Format(sep, decimal, header, encoding)
        sheet = read_sheet(place, form, Columns(id_column, columns, drop))
        items, left_out = items_of_sheet(place, sheet, top, kind, facts_of)
        notes = list(sheet.notes)
    else:
        raise FileFormatError(
            f"{path}: a collection is a folder, a table ({', '.join(TABLES)}), boxes of COCO "
            f"(.json), texts (.txt) or vectors ({', '.join(ARRAYS)}){of_spreadsheet(ending)}"
        )
    made = Collection(items, top, sorted(left_out), tuple(notes))
    if of_array is not None:
        return replace(made, vectors=of_array.values)
    if vectors is not None:
        made = replace(
            made, vectors=_beside(made, read_vectors(Path(vectors), names), Path(vectors))
        )
    if distances is not None:
        square = read_square(Path(distances), names)
        rows = _rows_beside(made, square, Path(distances))
        made = replace(made, distances=square.values[np.ix_(rows, rows)])
    return made


def _of_files(kind: str | None, folder: Path) -> str | None:
    if kind in ("row", "vector"):
        raise InvalidParameterError(
            f"{folder} is a folder, whose items are files: image, sound or text; name the table or "
            "the array itself"
        )
    return kind


def _nothing(folder: Path, left_out: Sequence[LeftOut]) -> str:
    text = f"{folder} has no images, sounds or texts that can be read; "
    text += "name a folder that has some" if left_out else what_is_there(folder)
    if left_out:
        first = left_out[0]
        more = f", and {len(left_out) - 1:,} more" if len(left_out) > 1 else ""
        text += f" (left out: {first.id}: {first.reason}{more})"
    return text


def _beside(made: Collection, rows: Rows, path: Path) -> NDArray[Any]:
    at = _rows_beside(made, rows, path)
    is_in_order = len(at) == len(rows.values) and bool((np.diff(at) == 1).all())
    return rows.values if is_in_order else rows.values[at]


def _rows_beside(made: Collection, rows: Rows, path: Path) -> NDArray[np.int64]:
    """Return the row of each item in an array; without ids, in order."""
    ids = [item.id for item in made.items]
    if rows.ids is not None:
        return positions(ids, rows.ids, path)
    if len(rows.values) != len(ids):
        left = f" ({len(made.left_out):,} are left out)" if made.left_out else ""
        raise InvalidDataError(
            f"{path} has {len(rows.values):,} rows for {len(ids):,} items{left}; name its "
            "rows with --ids, or with an array ids in a .npz"
        )
    return np.arange(len(ids))


@dataclass(frozen=True)
class Additions:
    """What a collection changes in a project.

    Parameters
    ----------
    new : list of Item
        Items to add.
    changed : list of Item
        Items that are there, with another content or other columns than before.
    moved : list of (Item, str)
        Items whose file was moved or renamed, with the path before; they keep their ids.
    n_same : int
        Number of items that are there already.
    copies : list of (str, str)
        Ids of new items whose file has the same content as that of another item, and its id.
    ids : dict of str to str
        Id in the project of each item of the collection whose id there is another one.
    """

    new: list[Item]
    changed: list[Item]
    moved: list[tuple[Item, str]]
    n_same: int
    copies: list[tuple[str, str]]
    ids: dict[str, str]


def compare(before: Iterable[Item], collection: Collection) -> Additions:
    """Compare a collection with the items of a project.

    Parameters
    ----------
    before : iterable of Item
        Items of the project.
    collection : Collection
        What is added.

    Returns
    -------
    Additions
        An item whose file is gone, while a new file has the same content, has moved: it keeps its
        id. A new file under the path of an item that has moved gets an id of its own.

    Examples
    --------
    >>> from pathlib import Path
    >>> from clew.collections import Collection, compare
    >>> from clew.items import Item
    >>> before = [Item("a.png", "image", path="a.png", hash="7f")]
    >>> moved = Item("old/a.png", "image", path="old/a.png", hash="7f")
    >>> found = compare(before, Collection([moved], Path("photos")))
    >>> found.moved[0][0].id, found.moved[0][0].path, found.new
    ('a.png', 'old/a.png', [])
    """
    by_id = {item.id: item for item in before}
    by_content: dict[tuple[Any, ...], list[Item]] = {}
    by_place: dict[tuple[Any, ...], Item] = {}
    for item in by_id.values():
        if item.path is not None:
            by_content.setdefault((item.hash, item.region), []).append(item)
            by_place[item.path, item.region] = item
    exists: dict[str, bool] = {}

    def is_gone(item: Item) -> bool:
        name = str(item.path)
        if name not in exists:
            exists[name] = (collection.root / name).is_file()
        return not exists[name]

    found = Additions([], [], [], 0, [], {})
    n_same = 0
    taken = set(by_id) | {item.id for item in collection.items}
    claimed: set[str] = set()
    for item in collection.items:
        old = _of_old(item, by_id, by_place)
        if old is not None and old.id not in claimed:
            claimed.add(old.id)
            if old.id != item.id:
                found.ids[item.id] = old.id
            if _content(old) == _content(item):
                n_same += 1
            elif old.path is not None and old.path != item.path and is_gone(old):
                found.moved.append((_updated(old, item), str(old.path)))
            else:
                found.changed.append(_updated(old, item))
            continue
        alike = [] if item.path is None else by_content.get((item.hash, item.region), [])
        lost = next((one for one in alike if one.id not in claimed and is_gone(one)), None)
        if lost is not None:
            claimed.add(lost.id)
            found.moved.append((_updated(lost, item), str(lost.path)))
            found.ids[item.id] = lost.id
            continue
        new = item
        if item.id in by_id or item.id in claimed:
            new = replace(item, id=_free(item.id, taken))
            taken.add(new.id)
            found.ids[item.id] = new.id
        if alike:
            found.copies.append((new.id, alike[0].id))
        found.new.append(new)
    return replace(found, n_same=n_same)


def _of_old(
    item: Item, by_id: Mapping[str, Item], by_place: Mapping[tuple[Any, ...], Item]
) -> Item | None:
    """Return the item of the project that an item is: one in the same place, or of the same id."""
    if item.path is not None and (there := by_place.get((item.path, item.region))) is not None:
        return there
    old = by_id.get(item.id)
    # The file of the old item has moved, and another file lies where it was.
    is_other = old is not None and item.id == item.path and old.path != item.path
    return None if is_other else old


def _content(item: Item) -> tuple[Any, ...]:
    return (
        item.kind, item.path, item.region, item.text, dict(item.columns), dict(item.meta), item.hash
    )  # fmt: skip


def _updated(old: Item, item: Item) -> Item:
    return replace(item, id=old.id, set_aside=old.set_aside, meta=dict(old.meta) | dict(item.meta))


def _free(name: str, taken: set[str]) -> str:
    number = 2
    while f"{name} ({number})" in taken:
        number += 1
    return f"{name} ({number})"
