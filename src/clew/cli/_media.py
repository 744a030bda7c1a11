"""Vectors beside the media that they belong to: people are shown images, spectrograms and texts."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from clew.cli._distances import read_ids
from clew.cli._rows import Rows
from clew.collections import read_collection
from clew.collections._files import kind_of_name
from clew.exceptions import FileFormatError, InvalidDataError
from clew.features.images import find_images
from clew.items import Item, Media
from clew.tables._read import read_table

#: Endings of tables that may name the file, and the part of it, of each item.
TABLES = (".csv", ".tsv", ".tab", ".parquet", ".jsonl")


def with_media(rows: Rows, folder: Path, ids: Path | None, cache: Path) -> Rows:
    """Return rows with the file of `folder`, or the region of one, that shows each of them."""
    if not folder.is_dir():
        raise FileFormatError(f"{folder} is not a folder; --media names the folder of the media")
    if ids is not None and _has_paths(ids):
        items = _items_of_table(ids, folder, rows.ids)
    elif rows.has_ids:
        items = [_item(name, folder) for name in rows.ids]
    else:
        names, left_out, _ = find_images(folder)
        if len(names) != len(rows.ids):
            unread = f" ({len(left_out)} more cannot be read)" if left_out else ""
            raise InvalidDataError(
                f"{folder} has {len(names):,} images{unread} for {len(rows.ids):,} vectors; name "
                "them with --ids: one path a line, or a table with columns id and path"
            )
        items = [Item(name, "image", path=name) for name in names]
    media = Media(folder)
    for item in items:
        media.path(item)
    rows = rows._replace(ids=[item.id for item in items], has_ids=True)
    kinds = sorted({item.kind for item in items})
    if kinds == ["text"]:
        return rows._replace(texts=[media.text(item) for item in items])
    if "text" in kinds:
        raise InvalidDataError(
            f"{folder}: items are {' and '.join(kinds)}; show one kind at a time"
        )
    return rows._replace(folder=folder, picture=Pictures(media, items, cache / "shown"))


def _has_paths(ids: Path) -> bool:
    return ids.suffix.lower() in TABLES and "path" in read_table(ids).frame.columns


def _items_of_table(ids: Path, folder: Path, names: Sequence[str]) -> list[Item]:
    read_ids(ids)  # unique, and not empty
    collection = read_collection(ids, root=folder)
    if collection.left_out:
        first = collection.left_out[0]
        raise InvalidDataError(
            f"{ids}: {len(collection.left_out):,} of {len(names):,} items have no file that can be "
            f"shown; {first.id}: {first.reason}"
        )
    by_id = {item.id: item for item in collection.items}
    return [by_id[name] for name in names]


def _item(name: str, folder: Path) -> Item:
    kind = kind_of_name(name)
    if kind is None or not (folder / name).is_file():
        raise InvalidDataError(
            f"{name!r} is no image, sound or text in {folder}; ids are paths in that folder, or "
            "--ids names a table with columns id and path"
        )
    return Item(name, kind, path=name)  # type: ignore[arg-type]


class Pictures:
    """The file that shows an item: its image, what is cut out of it, or its spectrogram."""

    def __init__(self, media: Media, items: Sequence[Item], cache: Path) -> None:
        self._media, self._items, self._cache = media, items, cache

    def __call__(self, row: int) -> Path:
        item = self._items[row]
        file = self._media.path(item)
        if item.kind == "image" and item.region is None:
            return file
        there = file.stat()
        facts = f"{file} {there.st_size} {there.st_mtime_ns} {item.region}"
        path = self._cache / f"{sha256(facts.encode('utf-8', 'replace')).hexdigest()[:32]}.webp"
        if not path.is_file():
            from clew._files import atomic_write

            is_sound = item.kind == "sound"
            content = self._media.spectrogram(item) if is_sound else self._media.full(item)
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with atomic_write(path, "wb") as output:
                output.write(content)
        return path
