"""Snapshots of a session in the cache of a project: they may be deleted, or damaged."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from clew._files import atomic_write
from clew.worker._rows import Rows

logger = logging.getLogger("clew")

FORMAT: Final = 1
NAME: Final = "session.snapshot"
#: Rows whose content tells whether features are those of the snapshot.
N_COMPARED: Final = 1000


class Snapshot(NamedTuple):
    """A session as it was after some entry."""

    revision: int
    content: bytes


def write_snapshot(folder: Path, rows: Rows, content: bytes, revision: int) -> None:
    """Write a snapshot in place of the one before."""
    folder.mkdir(parents=True, exist_ok=True)
    head = {
        "format": FORMAT,
        "revision": revision,
        "rows": _fingerprint(rows),
        "sha256": hashlib.sha256(content).hexdigest(),
    }
    with atomic_write(folder / NAME, "wb") as file:
        file.write(json.dumps(head).encode() + b"\n" + content)


def read_snapshot(
    folder: Path | None, rows: Rows, parameters: Mapping[str, Any]
) -> Snapshot | None:
    """Read the snapshot of the same rows; None if there is none, or if it is damaged."""
    path = None if folder is None else folder / NAME
    if path is None or not path.exists() or rows.X is None:
        return None
    try:
        first, _, content = path.read_bytes().partition(b"\n")
        head = json.loads(first)
        is_good = head["format"] == FORMAT and head["sha256"] == hashlib.sha256(content).hexdigest()
        revision = int(head["revision"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        logger.warning("%s is not used: %s", path, error)
        return None
    if not is_good:
        logger.warning("%s is damaged; the model learns the log anew", path)
        return None
    return Snapshot(revision, content) if head["rows"] == _fingerprint(rows) else None


def _fingerprint(rows: Rows) -> str:
    """Return the same text for the same ids and features; of many rows, some are read."""
    digest = hashlib.sha256("\n".join(rows.ids).encode())
    for name, data in sorted(rows.data.items()):
        at = np.unique(np.linspace(0, data.shape[0] - 1, N_COMPARED, dtype=np.int64))
        part = data[at]
        values = part.toarray() if hasattr(part, "toarray") else np.asarray(part)
        digest.update(f"{name} {data.shape}".encode() + np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()
