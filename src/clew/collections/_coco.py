"""Boxes in images from a file of COCO: each annotation is an item."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from clew._text import content_of
from clew.collections._files import FileFacts
from clew.collections._tables import plain, relative_path
from clew.exceptions import FileFormatError, InvalidDataError
from clew.items import Item, LeftOut

#: Fields of an annotation that become `meta` under their own names.
KEPT = ("score", "individual", "track_id", "name", "attributes")


def is_coco(path: Path) -> bool:
    """Whether a file is one of COCO, by its ending and its keys."""
    if path.suffix.lower() != ".json":
        return False
    with path.open("rb") as file:
        return b'"annotations"' in file.read() if path.stat().st_size < 1 << 30 else False


def items_of_coco(
    path: Path,
    root: Path,
    facts_of: Callable[[Sequence[str]], Mapping[str, FileFacts | LeftOut]],
) -> tuple[list[Item], list[LeftOut], list[str]]:
    """Return an item for each box, those left out with reasons, and notes.

    The id is the name of the image and the id of the annotation, "img/1.jpg#17".
    """
    images, annotations, categories = _parts(path)
    left_out: list[LeftOut] = []
    paths: dict[Any, str] = {}
    reasons: dict[Any, str] = {}
    for key, image in images.items():
        try:
            paths[key] = _found(image.get("file_name"), path.parent, root)
        except ValueError as error:
            reasons[key] = str(error)
    used = {each.get("image_id") for each in annotations}
    facts = facts_of([name for key, name in paths.items() if key in used])
    items: list[Item] = []
    for each in annotations:
        key = each.get("image_id")
        name = paths.get(key, str(images.get(key, {}).get("file_name", key)))
        item_id = f"{name}#{each['id']}"
        found = facts.get(name)
        if not isinstance(found, FileFacts):
            why = found.reason if found is not None else reasons.get(key, "there is no such image")
            left_out.append(LeftOut(item_id, why))
            continue
        meta: dict[str, Any] = {"date": found.date} if found.date else {}
        meta |= {of: plain(images[key][of]) for of in ("date_captured",) if images[key].get(of)}
        if (category := categories.get(each.get("category_id"))) is not None:
            meta["category"] = category
        meta |= {of: each[of] for of in KEPT if each.get(of) is not None}
        try:
            region = tuple(plain(float(value)) for value in each["bbox"])
            items.append(
                Item(item_id, "image", path=name, region=region, meta=meta, hash=found.hash)
            )
        except (KeyError, TypeError, ValueError, InvalidDataError) as error:
            problem = "has no bbox" if isinstance(error, KeyError) else str(error)
            left_out.append(LeftOut(item_id, problem))
    n_without = len(images) - len(used & images.keys())
    notes = [f"{n_without:,} images without boxes are not items"] if n_without else []
    return items, left_out, notes


def _found(name: object, folder: Path, root: Path) -> str:
    """Return the path of an image, which lies beside the file, above it, or in images/."""
    for place in (folder, folder.parent, folder / "images", folder.parent / "images"):
        if name and (place / str(name)).is_file():
            return relative_path(name, place, root)
    return relative_path(name or "", folder, root)


def _parts(path: Path) -> tuple[dict[Any, Any], list[Any], dict[Any, str]]:
    try:
        stored = json.loads(content_of(path))
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: not JSON: {error}") from error
    parts = [stored.get(name) if isinstance(stored, dict) else None
             for name in ("images", "annotations")]  # fmt: skip
    if not all(isinstance(part, list) for part in parts):
        raise FileFormatError(
            f"{path}: a file of COCO is an object with the lists images and annotations"
        )
    images, annotations = parts
    try:
        by_id = {each["id"]: each for each in images or ()}
        categories = {each["id"]: str(each["name"]) for each in stored.get("categories") or ()}
        ids = [each["id"] for each in annotations or ()]
    except (KeyError, TypeError) as error:
        raise FileFormatError(f"{path}: {error} is missing in an image, box or category") from error
    if len(set(ids)) < len(ids):
        twice = next(each for each in ids if ids.count(each) > 1)
        raise FileFormatError(f"{path}: two annotations have the id {twice!r}; make them unique")
    return by_id, list(annotations or ()), categories
