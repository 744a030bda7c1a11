"""Groups in the forms of other programs: tables, COCO, Label Studio, FiftyOne, Camtrap DP."""

from __future__ import annotations

import io
import json
import mimetypes
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote
from uuid import NAMESPACE_URL, uuid5

from clew._files import csv_text, needs
from clew.answers import ANSWER_WORDS, Answer
from clew.exceptions import InvalidDataError, InvalidParameterError
from clew.exports._members import Member

GROUP_COLUMNS: Final = (
    "id", "group", "name", "confidence", "subgroup", "is_exemplar", "doubtful", "doubt_reason",
    "n_answers",
)  # fmt: skip
EXEMPLAR_COLUMNS: Final = ("group", "name", "position", "id", "path")
ANSWER_COLUMNS: Final = ("kind", "id_i", "id_j", "id_k", "answer", "annotator", "weight", "entry")
Record = dict[str, Any]


def group_records(members: Sequence[Member]) -> list[Record]:
    """Return a record for each item."""
    rows = [
        (
            member.item.id, member.group, "" if member.group is None else member.title,
            member.confidence, member.subgroup, member.is_exemplar, bool(member.doubt),
            member.doubt, member.n_answers,
        )
        for member in members
    ]  # fmt: skip
    return [dict(zip(GROUP_COLUMNS, row, strict=True)) for row in rows]


def exemplar_records(members: Sequence[Member]) -> list[Record]:
    """Return a record for each example of each group, the most typical first."""
    examples = [member for member in members if member.exemplar is not None]
    examples.sort(key=lambda member: (member.group, member.exemplar))
    rows = (
        (member.group, member.title, member.exemplar, member.item.id, member.item.path)
        for member in examples
    )
    return [dict(zip(EXEMPLAR_COLUMNS, row, strict=True)) for row in rows]


def answer_records(answers: Iterable[Answer]) -> list[Record]:
    """Return a record for each answer about two or three items, as other libraries read them."""
    records = []
    for answer in answers:
        kind = answer.question.kind
        words = {code: word for word, code in ANSWER_WORDS.get(kind, {}).items()}
        ids = tuple(map(str, answer.question.ids or ()))
        if answer.value not in words:
            continue
        names = (*ids, "", "")[:3]
        row = (kind, *names, words[answer.value], answer.annotator, answer.weight, answer.id)
        records.append(dict(zip(ANSWER_COLUMNS, row, strict=True)))
    return records


def csv_bytes(columns: Sequence[str], records: Sequence[Mapping[str, Any]]) -> bytes:
    """Format records as CSV; what a spreadsheet would take for a formula gets an apostrophe."""
    return csv_text(columns, ([record[name] for name in columns] for record in records)).encode()


def json_lines(_: Sequence[str], records: Sequence[Mapping[str, Any]]) -> bytes:
    """Format records as JSON, one a line."""
    return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()


def parquet_bytes(columns: Sequence[str], records: Sequence[Mapping[str, Any]]) -> bytes:
    """Format records as Parquet."""
    with needs(
        "writing Parquet needs pyarrow; install it with pip install 'clew[parquet]', or use "
        "--as csv"
    ):
        import pyarrow as pa
        import pyarrow.parquet as pq
    table = pa.table({name: [record[name] for record in records] for name in columns})
    target = io.BytesIO()
    pq.write_table(table, target)
    return target.getvalue()


TABLE_FORMATS: Final[
    Mapping[str, Callable[[Sequence[str], Sequence[Mapping[str, Any]]], bytes]]
] = {"csv": csv_bytes, "jsonl": json_lines, "parquet": parquet_bytes}


def table_bytes(as_: str, columns: Sequence[str], records: Sequence[Mapping[str, Any]]) -> bytes:
    """Format records in one of `TABLE_FORMATS`."""
    if as_ not in TABLE_FORMATS:
        raise InvalidParameterError(f"{as_} is no form of a table; use {', '.join(TABLE_FORMATS)}")
    return TABLE_FORMATS[as_](columns, records)


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
    return list(member.item.region or (0, 0, *sizes[str(member.item.path)]))


def _shares(member: Member, sizes: Mapping[str, tuple[int, int]]) -> list[float]:
    """Return x, y, width and height of the box, divided by those of the image."""
    whole = sizes[str(member.item.path)]
    return [at / side for at, side in zip(_box(member, sizes), 2 * whole, strict=True)]


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
    """Label Studio's tasks, with groups as predictions, and its labeling interface."""
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
        predictions = [{"model_version": "clew", "result": []}]
        task = tasks.setdefault(key, {"data": data | {"clew_id": key}, "predictions": predictions})
        if member.group is not None:
            task["predictions"][0]["result"].append(_result(member, kind, sizes, has_boxes))
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


def _result(
    member: Member, kind: str, sizes: Mapping[str, tuple[int, int]], has_boxes: bool
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
    x, y, w, h = (100 * share for share in _shares(member, sizes))
    return result | {
        "type": "rectanglelabels", "original_width": width, "original_height": height,
        "image_rotation": 0,
        "value": {
            "x": x, "y": y, "width": w, "height": h, "rotation": 0,
            "rectanglelabels": [member.title],
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
    """FiftyOne's data set of images or boxes, and a list of the files, which stay in place."""
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
        boxes = labels.setdefault(key, [])
        if member.group is not None:
            box = {"label": number[member.title], "bounding_box": _shares(member, sizes)}
            boxes.append(box | {"confidence": member.confidence, "attributes": about})
    return {"labels.json": _json({"classes": titles, "labels": labels}), "data.json": _json(files)}


def _json(value: Any) -> bytes:
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


SCHEMAS: Final = "https://raw.githubusercontent.com/tdwg/camtrap-dp/1.0.2/"
DEPLOYMENTS: Final = (
    *("deploymentID", "locationID", "locationName", "latitude", "longitude"),
    *("deploymentStart", "deploymentEnd"),
)
MEDIA: Final = (
    *("mediaID", "deploymentID", "timestamp", "filePath", "filePublic", "fileName"),
    "fileMediatype",
)
OBSERVATIONS: Final = (
    *("observationID", "deploymentID", "mediaID", "eventStart", "eventEnd", "observationLevel"),
    *("observationType", "scientificName", "individualID", "bboxX", "bboxY", "bboxWidth"),
    *("bboxHeight", "classificationMethod", "classifiedBy", "classificationTimestamp"),
    *("classificationProbability", "observationComments"),
)
#: Names of columns of `meta`, in any case, that hold what the standard requires.
COLUMNS: Final[Mapping[str, tuple[str, ...]]] = {
    "deployment": ("deploymentid", "deployment", "camera", "station", "site", "place"),
    "latitude": ("latitude", "lat"),
    "longitude": ("longitude", "lon", "lng"),
    "date": ("timestamp", "datetime", "date", "date_captured", "time"),
}
WHERE: Final = "clew add items.csv with the columns id, path, deployment, latitude, longitude, date"


def camtrap_dp(
    members: Sequence[Member], root: Path, *, name: str, individuals: bool = False
) -> dict[str, bytes]:
    """Camtrap DP; groups are species, or with `individuals` animals."""
    _check_kinds(members, ("image",), "Camtrap DP")
    known = [_columns(member) for member in members]
    sizes = _sizes(root, members) if any(member.item.region for member in members) else {}
    now = datetime.now(UTC).replace(microsecond=0).isoformat().replace("+00:00", "Z")
    media: dict[str, dict[str, Any]] = {}
    observations = []
    of_deployment: dict[str, list[dict[str, str]]] = {}
    for member, found in zip(members, known, strict=True):
        path = str(member.item.path)
        of_deployment.setdefault(found["deployment"], []).append(found)
        media_id = str(uuid5(NAMESPACE_URL, path))
        media[path] = {
            "mediaID": media_id, "deploymentID": found["deployment"], "timestamp": found["date"],
            "filePath": path, "filePublic": False, "fileName": Path(path).name,
            "fileMediatype": mimetypes.guess_type(path)[0] or "image/jpeg",
        }  # fmt: skip
        is_grouped = member.group is not None
        record = dict.fromkeys(OBSERVATIONS) | {
            "observationID": str(uuid5(NAMESPACE_URL, member.item.id)),
            "deploymentID": found["deployment"], "mediaID": media_id,
            "eventStart": found["date"], "eventEnd": found["date"], "observationLevel": "media",
            "observationType": "animal" if is_grouped else "unclassified",
            "observationComments": f"clew {member.item.id}",
        }  # fmt: skip
        if is_grouped:
            record["individualID" if individuals else "scientificName"] = member.title
            record |= {"classificationMethod": "machine", "classifiedBy": "clew",
                       "classificationTimestamp": now,
                       "classificationProbability": member.confidence}  # fmt: skip
        if member.item.region is not None:
            record |= dict(zip(OBSERVATIONS[9:13], _shares(member, sizes), strict=True))
        observations.append(record)
    deployments = [_deployment(each, found) for each, found in of_deployment.items()]
    tables = {
        "deployments": (DEPLOYMENTS, deployments),
        "media": (MEDIA, list(media.values())),
        "observations": (OBSERVATIONS, observations),
    }
    return {
        "datapackage.json": _package(name, now, deployments, observations, individuals=individuals),
        **{f"{each}.csv": csv_bytes(*table) for each, table in tables.items()},
    }


def _columns(member: Member) -> dict[str, str]:
    """Return what the standard requires of an item: its deployment, where that is, and when."""
    lower = {str(key).lower(): value for key, value in member.item.meta.items()}
    found: dict[str, str] = {}
    for wanted, names in COLUMNS.items():
        value = next((lower[each] for each in names if lower.get(each) not in (None, "")), None)
        if value is None:
            raise InvalidDataError(
                f"Camtrap DP needs the {wanted} of every photo, and {member.item.id!r} has none; "
                f"add it: {WHERE}"
            )
        found[wanted] = str(value)
    for wanted, most in (("latitude", 90), ("longitude", 180)):
        try:
            is_place = abs(float(found[wanted])) <= most
        except ValueError:
            is_place = False
        if not is_place:
            raise InvalidDataError(
                f"{member.item.id!r}: the {wanted} {found[wanted]!r} is not a number of degrees up "
                f"to {most}"
            )
    found["date"] = _timestamp(member.item.id, found["date"])
    return found


def _timestamp(name: str, text: str) -> str:
    """Return a date with time and zone; a camera's clock without a zone is taken for UTC."""
    plain = re.sub(r"^(\d{4}):(\d\d):(\d\d)", r"\1-\2-\3", text.strip()).replace("Z", "+00:00")
    try:
        when = datetime.fromisoformat(plain)
    except ValueError as error:
        raise InvalidDataError(
            f"{name!r}: the date {text!r} is not one like 2024-05-31T08:25:38"
        ) from error
    when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
    return when.replace(microsecond=0).isoformat().replace("+00:00", "Z")


def _deployment(name: str, found: Sequence[Mapping[str, str]]) -> dict[str, Any]:
    dates = sorted(each["date"] for each in found)
    return {
        "deploymentID": name, "locationID": name, "locationName": name,
        "latitude": found[0]["latitude"], "longitude": found[0]["longitude"],
        "deploymentStart": dates[0], "deploymentEnd": dates[-1],
    }  # fmt: skip


def _package(
    name: str,
    now: str,
    deployments: Sequence[Mapping[str, Any]],
    observations: Sequence[Mapping[str, Any]],
    *,
    individuals: bool,
) -> bytes:
    slug = re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-.") or "clew"
    places = [[float(each["longitude"]), float(each["latitude"])] for each in deployments]
    resources = [
        {
            "name": table, "path": f"{table}.csv", "profile": "tabular-data-resource",
            "format": "csv", "mediatype": "text/csv", "encoding": "utf-8",
            "schema": f"{SCHEMAS}{table}-table-schema.json",
        }
        for table in ("deployments", "media", "observations")
    ]  # fmt: skip
    species = sorted({each["scientificName"] for each in observations if each["scientificName"]})
    return _json(
        {
            "resources": resources,
            "profile": f"{SCHEMAS}camtrap-dp-profile.json",
            "name": slug,
            "created": now,
            "title": name,
            "contributors": [{"title": "unknown", "role": "contact"}],
            "licenses": [{"name": "unlicensed", "scope": "data"},
                         {"name": "unlicensed", "scope": "media"}],
            "project": {"title": name, "samplingDesign": "opportunistic",
                        "captureMethod": ["activityDetection"], "individualAnimals": individuals,
                        "observationLevel": ["media"]},
            "spatial": {"type": "MultiPoint", "coordinates": places},
            "temporal": {"start": min(each["deploymentStart"] for each in deployments)[:10],
                         "end": max(each["deploymentEnd"] for each in deployments)[:10]},
            "taxonomic": [{"scientificName": each} for each in species],
        }
    )  # fmt: skip
