"""Importing clew loads no extra and no subpackage: each is imported where it is first used."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys

import pytest

import clew

HEAVY = (
    "sqlalchemy",
    "fastapi",
    "click",
    "dask",
    "distributed",
    "matplotlib",
    "pandas",
    "pyarrow",
    "PIL",
    "skimage",
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


SUBPACKAGES = (
    "cluster", "datasets", "items", "metrics", "oracles", "questions", "session", "similarity",
    "store", "tables", "trust",
)  # fmt: skip


def test_import_clew_loads_no_subpackage() -> None:
    loaded = json.loads(_python("import sys, json, clew; print(json.dumps(sorted(sys.modules)))"))
    assert {f"clew.{name}" for name in SUBPACKAGES}.isdisjoint(loaded)


@pytest.mark.parametrize("name", SUBPACKAGES)
def test_subpackage_is_imported_when_it_is_first_used(name: str) -> None:
    public = importlib.import_module(f"clew.{name}").__all__[0]
    code = f"import clew; print('{name}' in dir(clew)); print(clew.{name}.{public}.__name__)"
    assert _python(code).splitlines() == ["True", public]


def test_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'clew' has no attribute 'clusters'"):
        clew.clusters  # noqa: B018
    assert not hasattr(clew, "_nothing")
