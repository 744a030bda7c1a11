"""Snapshots of a session in the cache of a project: they may be deleted, or damaged."""

from __future__ import annotations

import hashlib
import json
import logging
from pathlib import Path
from typing import Final

import numpy as np

from clew._files import atomic_write
from clew.worker._rows import Rows, content_of

logger = logging.getLogger("clew")

FORMAT: Final = 1
NAME: Final = "session.snapshot"
#: Rows whose content tells whether features are those of the snapshot.
N_COMPARED: Final = 1000


def write_snapshot(folder: Path, rows: Rows, content: bytes) -> None:
    """Write a snapshot in place of the one before."""
    folder.mkdir(parents=True, exist_ok=True)
    head = {
        "format": FORMAT, "rows": fingerprint(rows), "sha256": hashlib.sha256(content).hexdigest()
    }  # fmt: skip
    with atomic_write(folder / NAME, "wb") as file:
        file.write(json.dumps(head).encode() + b"\n" + content)


def read_snapshot(folder: Path | None, rows: Rows) -> bytes | None:
    """Read the snapshot of the same rows; None if there is none, or if it is damaged."""
    path = None if folder is None else folder / NAME
    if path is None or not path.exists():
        return None
    try:
        first, _, content = path.read_bytes().partition(b"\n")
        head = json.loads(first)
        is_good = head["sha256"] == hashlib.sha256(content).hexdigest()
        is_same = head["format"] == FORMAT and head["rows"] == fingerprint(rows)
    except (OSError, ValueError, KeyError, TypeError) as error:
        logger.warning("%s is damaged, the model learns the log anew: %r", path, error)
        return None
    if not is_good:
        logger.warning("%s is damaged, the model learns the log anew", path)
    return content if is_good and is_same else None


def fingerprint(rows: Rows) -> str:
    """Return the same text for the same ids and features; of many rows, some are read."""
    digest = hashlib.sha256("\n".join(rows.ids).encode())
    for name, data in rows.data.items():
        at = np.unique(np.linspace(0, data.shape[0] - 1, N_COMPARED, dtype=np.int64))
        digest.update(f"{name} {data.shape}".encode() + content_of(data, at))
    return digest.hexdigest()
