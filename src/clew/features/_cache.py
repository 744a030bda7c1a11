"""Numbers of items on disk, by the content of the items: what was computed is never lost."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

FILE = "features.sqlite"
SCHEMA = """
CREATE TABLE IF NOT EXISTS numbers (key BLOB PRIMARY KEY, numbers BLOB NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (
    path TEXT PRIMARY KEY, size INTEGER NOT NULL, mtime INTEGER NOT NULL, hash TEXT NOT NULL
) WITHOUT ROWID;
"""
#: Parameters in one statement.
MOST_PARAMETERS = 500


class Cache:
    """A SQLite file; where that is impossible (a full disk, a damaged file), nothing is kept.

    Each call of `keep` is one transaction, so a process that is killed loses one batch.
    """

    def __init__(self, folder: Path | None) -> None:
        self._database: sqlite3.Connection | None = None
        if folder is None:
            return
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        path = folder / FILE
        for _ in range(2):
            try:
                self._database = sqlite3.connect(path, timeout=10.0, isolation_level=None)
                self._database.execute("PRAGMA synchronous=NORMAL")
                self._database.executescript(SCHEMA)
                self._database.execute("SELECT count(*) FROM (SELECT 1 FROM numbers LIMIT 1)")
                return
            except sqlite3.OperationalError:  # read-only, locked, or no such folder
                self.close()
                return
            except sqlite3.DatabaseError:  # damaged: all of it can be computed again
                self.close()
                with suppress(OSError):
                    path.unlink()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; what is asked for is then no longer there."""
        if self._database is not None:
            self._database.close()
            self._database = None

    def read(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        """Return the numbers that are kept, by key."""
        found: dict[bytes, NDArray[np.float32]] = {}
        for some in _parts(keys):
            marks = ",".join("?" * len(some))
            query = f"SELECT key, numbers FROM numbers WHERE key IN ({marks})"
            for key, numbers in self._rows(query, some):
                found[key] = np.frombuffer(numbers, "<f4")
        return found

    def keep(self, numbers: Mapping[bytes, NDArray[np.float32]]) -> None:
        """Keep numbers by key."""
        rows = [(key, each.astype("<f4").tobytes()) for key, each in numbers.items()]
        self._write("INSERT OR REPLACE INTO numbers VALUES (?, ?)", rows)

    def hashes(self) -> dict[str, tuple[int, int, str]]:
        """Return size, time and hash of the files whose content was read, by path."""
        rows = self._rows("SELECT path, size, mtime, hash FROM files", ())
        return {path: (size, mtime, each) for path, size, mtime, each in rows}

    def keep_hashes(self, files: Mapping[str, tuple[int, int, str]]) -> None:
        """Keep size, time and hash of files by path."""
        self._write(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?)",
            [(path, *facts) for path, facts in files.items()],
        )

    def _rows(self, query: str, parameters: Sequence[object]) -> list[tuple]:  # type: ignore[type-arg]
        if self._database is None:
            return []
        try:
            return self._database.execute(query, tuple(parameters)).fetchall()
        except sqlite3.DatabaseError:
            return []

    def _write(self, query: str, rows: Iterable[Sequence[object]]) -> None:
        if self._database is None:
            return
        try:
            self._database.execute("BEGIN IMMEDIATE")
            self._database.executemany(query, rows)
            self._database.execute("COMMIT")
        except sqlite3.DatabaseError:
            with suppress(sqlite3.DatabaseError):
                self._database.execute("ROLLBACK")


def _parts(keys: Sequence[bytes]) -> Iterable[Sequence[bytes]]:
    return (keys[at : at + MOST_PARAMETERS] for at in range(0, len(keys), MOST_PARAMETERS))
