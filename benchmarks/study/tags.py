"""Seeds derived from names, and hashes of parameters, which identify results of a study."""

from __future__ import annotations

import hashlib
import zlib
from typing import Any


def seed_of(*parts: object) -> int:
    """Derive a seed from names and numbers; the same on every machine."""
    return zlib.crc32("/".join(map(str, parts)).encode()) & 0x7FFFFFFF


def tag_of(*parts: object) -> str:
    """Hash names and parameters."""
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:10]


def parameters_of(model: Any) -> dict[str, str]:
    """List the parameters of an estimator, nested ones included, as text."""
    return {key: str(value) for key, value in sorted(model.get_params(deep=True).items())}


def seeded(model: Any, seed: int) -> Any:
    """Set `random_state` of an estimator that has it."""
    return model.set_params(random_state=seed) if "random_state" in model.get_params() else model
