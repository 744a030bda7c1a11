"""Importing clew costs no extra: what an extra brings is loaded where it is used."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = (
    "sqlalchemy",
    "fastapi",
    "click",
    "dask",
    "distributed",
    "matplotlib",
    "pandas",
    "pyarrow",
)
MODULES = (
    "clew",
    "clew.constraints",
    "clew.metrics",
    "clew.datasets",
    "clew.oracles",
    "clew.trust",
    "clew.similarity",
    "clew.cluster",
)


@pytest.mark.parametrize("module", MODULES)
def test_import_loads_no_extra(module: str) -> None:
    code = (
        f"import sys, json, {module}; print(json.dumps([n for n in {HEAVY!r} if n in sys.modules]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert json.loads(done.stdout) == []
