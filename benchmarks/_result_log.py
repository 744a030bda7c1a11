"""Results appended one line at a time, so that a study that was stopped goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks._harness import write_text

__all__ = ["ResultLog"]

Record = dict[str, Any]


class ResultLog:
    """A file of JSON lines, each found again by some of its fields.

    Parameters
    ----------
    path : Path
        The file; it need not be there.
    key_fields : sequence of str
        Fields that tell one result from another. Of two with the same key the later one holds.

    Notes
    -----
    Several processes may append at once: a line is one write to a file opened for appending. A line
    that was cut short is skipped, and `keep` removes it.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     log = ResultLog(Path(folder) / "study.jsonl", ["set", "trial"])
    ...     log.append({"set": "iris", "trial": 0, "ari": 0.7})
    ...     log.read()
    {('iris', 0): {'set': 'iris', 'trial': 0, 'ari': 0.7}}
    """

    def __init__(self, path: Path, key_fields: Sequence[str]) -> None:
        self.path = path
        self.key_fields = tuple(key_fields)

    def key(self, record: Mapping[str, Any]) -> tuple[Any, ...]:
        """Give the key of a result."""
        return tuple(record[name] for name in self.key_fields)

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a result at the end of the file."""
        line = json.dumps(dict(record), ensure_ascii=False) + "\n"
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)

    def read(self) -> dict[tuple[Any, ...], Record]:
        """Read all results that are whole."""
        found = {}
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        for line in lines:
            try:
                record = json.loads(line)
                found[self.key(record)] = record
            except (json.JSONDecodeError, KeyError, TypeError):
                continue
        return found

    def keep(self, is_wanted: Callable[[Record], bool] = lambda record: True) -> None:
        """Write the file anew with the wanted results; also heals a line that was cut short."""
        kept = [json.dumps(r, ensure_ascii=False) for r in self.read().values() if is_wanted(r)]
        write_text(self.path, "".join(line + "\n" for line in kept))
