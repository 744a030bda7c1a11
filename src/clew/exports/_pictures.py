"""Groups for programs that annotate pictures: COCO, Label Studio and FiftyOne."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from clew.exceptions import InvalidDataError
from clew.exports._members import Member

#: Name of the choice in Label Studio, of the object that it is about, and tags by kind of item.
CHOICE, OBJECT = "group", "item"
LABEL_STUDIO: Final[Mapping[str, str]] = {"image": "image", "sound": "audio", "text": "text"}


def _check_kinds(members: Sequence[Member], kinds: Sequence[str], program: str) -> None:
    wrong = next((one for one in members if one.item.kind not in kinds), None)
    if wrong is not None:
        raise InvalidDataError(
            f"{program} takes items of the kind {' or '.join(kinds)}, but {wrong.item.id!r} is of "
            f"the kind {wrong.item.kind}; use --as csv"
        )


def _sizes(root: Path, members: Sequence[Member]) -> dict[str, tuple[int, int]]:
    """Return width and height of the upright image of each file."""
    from PIL import Image

    sizes: dict[str, tuple[int, int]] = {}
    for member in members:
        name = str(member.item.path)
        if name not in sizes:
            try:
                with Image.open(root / name) as image:
                    is_turned = image.getexif().get(0x0112, 1) in (5, 6, 7, 8)
                    sizes[name] = (image.size[1], image.size[0]) if is_turned else image.size
            except (OSError, ValueError, Image.DecompressionBombError) as error:
                raise InvalidDataError(f"{root / name} cannot be read: {error}") from error
    return sizes


def _box(member: Member, sizes: Mapping[str, tuple[int, int]]) -> list[float]:
    """Return x, y, width and height in pixels; the whole image for an item without a region."""
    width, height = sizes[str(member.item.path)]
    return list(member.item.region) if member.item.region else [0, 0, width, height]


def coco(members: Sequence[Member], root: Path) -> dict[str, bytes]:
    """Return a file of COCO: an annotation for each item, a category for each group."""
    _check_kinds(members, ("image",), "COCO")
    grouped = [member for member in members if member.group is not None]
    sizes = _sizes(root, members)
    number = {name: at for at, name in enumerate(sizes, start=1)}
    images = [
        {"id": number[name], "file_name": name, "width": width, "height": height}
        for name, (width, height) in sizes.items()
    ]
    annotations = []
    for at, member in enumerate(grouped, start=1):
        box = _box(member, sizes)
        annotations.append(
            {
                "id": at, "image_id": number[str(member.item.path)], "category_id": member.group,
                "bbox": box, "area": box[2] * box[3], "iscrowd": 0,
                "score": member.confidence, "clew_id": member.item.id,
            }
        )  # fmt: skip
    titles = {int(member.group): member.title for member in grouped if member.group is not None}
    categories = [
        {"id": group, "name": title, "supercategory": ""} for group, title in sorted(titles.items())
    ]
    info = {"description": "groups by clew", "version": "1.0"}
    stored = {"info": info, "licenses": [], "images": images, "annotations": annotations,
              "categories": categories}  # fmt: skip
    return {"coco.json": _json(stored)}


def label_studio(members: Sequence[Member], root: Path) -> dict[str, bytes]:
    """Return tasks of Label Studio with the groups as predictions, and the labeling interface.

    Media are named as Label Studio's local storage serves them, with `root` as its folder.
    """
    _check_kinds(members, tuple(LABEL_STUDIO), "Label Studio")
    kinds = {member.item.kind for member in members}
    if len(kinds) > 1:
        raise InvalidDataError(
            f"a project of Label Studio has one kind of item; there are "
            f"{' and '.join(sorted(kinds))}"
        )
    (kind,) = kinds
    tag = LABEL_STUDIO[kind]
    has_boxes = any(member.item.region for member in members)
    titles = list(dict.fromkeys(one.title for one in members if one.group is not None))
    sizes = _sizes(root, members) if kind == "image" and has_boxes else {}
    tasks: dict[str, dict[str, Any]] = {}
    for member in members:
        item = member.item
        key = item.id if item.path is None else item.path
        if kind == "text":
            text = (
                item.text if item.text is not None else (root / str(item.path)).read_text("utf-8")
            )
            data: dict[str, Any] = {tag: text}
        else:
            data = {tag: f"/data/local-files/?d={quote(str(item.path))}"}
        task = tasks.setdefault(
            key, {"data": data | {"clew_id": key}, "predictions": [_prediction()]}
        )
        if member.group is not None:
            task["predictions"][0]["result"].append(_result(member, kind, tag, sizes, has_boxes))
            scores = task["predictions"][0].setdefault("scores", [])
            scores.append(member.confidence or 0.0)
    for task in tasks.values():
        (prediction,) = task["predictions"]
        scores = prediction.pop("scores", [0.0])
        prediction["score"] = min(scores)
    return {
        "tasks.json": _json(list(tasks.values())),
        "interface.xml": _interface(tag, kind, titles, has_boxes).encode(),
    }


def _prediction() -> dict[str, Any]:
    return {"model_version": "clew", "result": []}


def _result(
    member: Member,
    kind: str,
    tag: str,
    sizes: Mapping[str, tuple[int, int]],
    has_boxes: bool,
) -> dict[str, Any]:
    region = member.item.region
    result: dict[str, Any] = {"from_name": CHOICE, "to_name": OBJECT}
    if not has_boxes:
        return result | {"type": "choices", "value": {"choices": [member.title]}}
    if kind == "sound":
        start, end = region or (0.0, 0.0)
        value = {"start": start, "end": end, "channel": 0, "labels": [member.title]}
        return result | {"type": "labels", "value": value}
    width, height = sizes[str(member.item.path)]
    x, y, w, h = _box(member, sizes)
    return result | {
        "type": "rectanglelabels", "original_width": width, "original_height": height,
        "image_rotation": 0,
        "value": {
            "x": 100 * x / width, "y": 100 * y / height, "width": 100 * w / width,
            "height": 100 * h / height, "rotation": 0, "rectanglelabels": [member.title],
        },
    }  # fmt: skip


def _interface(tag: str, kind: str, titles: Sequence[str], has_boxes: bool) -> str:
    """Return the labeling interface."""
    shown = {"image": "Image", "sound": "Audio", "text": "Text"}[kind]
    control = "Choices" if not has_boxes else "Labels" if kind == "sound" else "RectangleLabels"
    option = "Choice" if control == "Choices" else "Label"
    options = "\n".join(f'    <{option} value="{escape(title)}"/>' for title in titles)
    return (
        f'<View>\n  <{shown} name="{OBJECT}" value="${tag}"/>\n'
        f'  <{control} name="{CHOICE}" toName="{OBJECT}">\n{options}\n  </{control}>\n</View>\n'
    )


def fiftyone(members: Sequence[Member], root: Path) -> dict[str, bytes]:
    """Return a data set of FiftyOne: labels, and a list of the files, which stay where they are.

    Images become a FiftyOneImageClassificationDataset, boxes a FiftyOneImageDetectionDataset.
    """
    _check_kinds(members, ("image",), "FiftyOne")
    has_boxes = any(member.item.region for member in members)
    sizes = _sizes(root, members) if has_boxes else {}
    labels: dict[str, Any] = {}
    files: dict[str, str] = {}
    titles = list(dict.fromkeys(one.title for one in members if one.group is not None))
    number = {title: at for at, title in enumerate(titles)}
    for member in members:
        name = str(member.item.path)
        # FiftyOne cuts the ending off; the name with the folders is unique, the stem is not.
        key = name.replace("/", "__")
        files[key] = str(root / name)
        about = {"clew_id": member.item.id, "doubt": member.doubt}
        if not has_boxes:
            label = {"confidence": member.confidence, "attributes": about}
            is_grouped = member.group is not None
            labels[key] = label | {"label": number[member.title]} if is_grouped else None
            continue
        width, height = sizes[name]
        x, y, w, h = _box(member, sizes)
        boxes = labels.setdefault(key, [])
        if member.group is not None:
            box = [x / width, y / height, w / width, h / height]
            boxes.append({"label": number[member.title], "bounding_box": box,
                          "confidence": member.confidence, "attributes": about})  # fmt: skip
    return {
        "labels.json": _json({"classes": titles, "labels": labels}),
        "data.json": _json(files),
    }


def _json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()
