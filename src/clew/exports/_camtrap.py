"""Groups as a data package of camera traps: Camtrap DP 1.0."""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from uuid import NAMESPACE_URL, uuid5

from clew.exceptions import InvalidDataError
from clew.exports._members import Member
from clew.exports._pictures import _box, _check_kinds, _json, _sizes
from clew.exports._tables import csv_bytes

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
    """Return a data package: deployments, media, and an observation for each item.

    A group is named after the species, or with `individuals` it is an animal.
    """
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
            width, height = sizes[path]
            x, y, w, h = _box(member, sizes)
            shares = (x / width, y / height, w / width, h / height)
            record |= dict(zip(OBSERVATIONS[9:13], shares, strict=True))
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
