"""The log of a study, one result per line; seeds and hashes, which identify results."""

import hashlib
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

Record = dict[str, Any]


class ResultLog(NamedTuple):
    """A file of JSON lines; some fields of a line are its key, and the last line with a key counts.

    Several processes may append at once: a line is one write to a file opened for appending. A line
    that was cut short is skipped. Nothing is ever removed: a result that is measured again is
    appended again.
    """

    path: Path
    key_fields: Sequence[str]

    def append(self, record: Mapping[str, Any]) -> None:
        line = json.dumps(dict(record), ensure_ascii=False) + "\n"
        descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            size = os.fstat(descriptor).st_size
            is_cut_short = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            os.write(descriptor, ("\n" * is_cut_short + line).encode())
        finally:
            os.close(descriptor)

    def read(self) -> dict[tuple[Any, ...], Record]:
        """Read all complete results by key, in the order of their last lines."""
        found: dict[tuple[Any, ...], Record] = {}
        lines = self.path.read_text(encoding="utf-8").splitlines() if self.path.exists() else []
        for line in lines:
            try:
                record = json.loads(line)
                key = tuple(record[name] for name in self.key_fields)
            except (json.JSONDecodeError, KeyError, TypeError):
                continue
            found.pop(key, None)
            found[key] = record
        return found


def seed_of(*parts: object) -> int:
    """Derive a seed from names and numbers; the same on every machine."""
    return zlib.crc32("/".join(map(str, parts)).encode()) & 0x7FFFFFFF


def tag_of(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:10]


def parameters_of(model: Any) -> dict[str, str]:
    """List the parameters of an estimator, nested ones included, as text."""
    return {key: str(value) for key, value in sorted(model.get_params(deep=True).items())}


def seeded(model: Any, seed: int) -> Any:
    """Set `random_state` of an estimator that has it."""
    return model.set_params(random_state=seed) if "random_state" in model.get_params() else model
