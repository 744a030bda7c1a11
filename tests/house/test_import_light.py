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
MODULES = ("clew", "clew.cluster", "clew.datasets, clew.metrics, clew.oracles")


def _python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("module", MODULES)
def test_import_loads_no_extra(module: str) -> None:
    # scikit-learn loads pandas by itself where it is installed.
    before = "sys, json" if module == "clew" else "sys, json, sklearn.utils"
    code = (
        f"import {before}; names = set({HEAVY!r}) - set(sys.modules);"
        f"import {module}; print(json.dumps(sorted(names & set(sys.modules))))"
    )
    assert json.loads(_python(code)) == []


@pytest.mark.parametrize("module", MODULES)
def test_import_needs_no_extra(module: str) -> None:
    # None in sys.modules stands for a package that is not installed.
    code = f"import sys; sys.modules.update(dict.fromkeys({HEAVY!r})); import {module}"
    assert _python(f"{code}; print('imported')") == "imported\n"
