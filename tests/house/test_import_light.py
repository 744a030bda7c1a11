"""Importing clew loads no extra and no subpackage: each is imported where it is first used."""

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
SUBPACKAGES = (
    "cluster", "collections", "datasets", "features", "items", "metrics", "oracles", "questions",
    "session", "similarity", "store", "tables", "trust",
)  # fmt: skip
#: One process for all subpackages: scikit-learn alone takes more than a second to import.
FIRST_USES = """
import json, sys
import sklearn.utils  # loads pandas by itself where it is installed

names = set(json.loads(sys.argv[1])) - set(sys.modules)
found = {}


def forget():
    for module in [module for module in sys.modules if module.partition(".")[0] == "clew"]:
        del sys.modules[module]


for name, public in json.loads(sys.argv[2]):
    forget()  # each subpackage is the first to be used of a clew that was just imported
    import clew
    before = f"clew.{name}" in sys.modules
    listed = name in dir(clew)
    used = getattr(getattr(clew, name), public).__name__
    found[name] = [before, listed, used, sorted(names & set(sys.modules))]
forget()
# None in sys.modules stands for a package that is not installed.
sys.modules.update(dict.fromkeys(json.loads(sys.argv[1])))
import clew, clew.cluster, clew.datasets, clew.metrics, clew.oracles  # needs no extra
print(json.dumps(found))
"""


def _python(code: str, *arguments: object) -> object:
    """Run code in a process of its own, and return the JSON that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code, *map(json.dumps, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_import_clew_loads_no_extra_and_no_subpackage() -> None:
    loaded = _python("import sys, json, clew; print(json.dumps(sorted(sys.modules)))")
    assert isinstance(loaded, list)
    assert set(HEAVY).isdisjoint(loaded)
    assert {f"clew.{name}" for name in SUBPACKAGES}.isdisjoint(loaded)


def test_answers_and_stores_load_no_model() -> None:
    code = "import sys, json, clew.answers, clew.store; print(json.dumps(sorted(sys.modules)))"
    loaded = _python(code)
    assert isinstance(loaded, list)
    assert {"numba", "sklearn", "scipy", "numpy", "joblib", *HEAVY}.isdisjoint(loaded)


def test_reading_a_table_loads_no_scikit_learn() -> None:
    loaded = _python("import sys, json, clew.tables; print(json.dumps(sorted(sys.modules)))")
    assert isinstance(loaded, list)
    assert {"numba", "sklearn", "scipy"}.isdisjoint(loaded)


@pytest.fixture(scope="module")
def first_uses() -> dict[str, tuple[bool, bool, str, list[str]]]:
    """Use each subpackage as the first one after ``import clew``; one process runs all."""
    public = [(name, importlib.import_module(f"clew.{name}").__all__[0]) for name in SUBPACKAGES]
    found = _python(FIRST_USES, HEAVY, public)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("name", SUBPACKAGES)
def test_subpackage_is_imported_when_it_is_first_used(first_uses, name: str) -> None:
    before, listed, used, _ = first_uses[name]
    assert not before
    assert listed
    assert used == importlib.import_module(f"clew.{name}").__all__[0]


@pytest.mark.parametrize("name", SUBPACKAGES)
def test_subpackage_loads_no_extra(first_uses, name: str) -> None:
    assert first_uses[name][-1] == []


@pytest.mark.parametrize(
    ("name", "module"), [("GuidedClustering", "cluster"), ("Session", "session")]
)
def test_the_classes_that_most_people_need_are_imported_from_clew(name: str, module: str) -> None:
    assert getattr(clew, name) is getattr(importlib.import_module(f"clew.{module}"), name)
    assert name in clew.__all__
    assert name in dir(clew)


def test_name_that_does_not_exist_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'clew' has no attribute 'clusters'"):
        clew.clusters  # noqa: B018
    assert not hasattr(clew, "_nothing")
