"""Benchmarks are not installed: tests import them from the root of the repository."""

import sys
from pathlib import Path

import pytest

ROOT = str(Path(__file__).parents[2])
if ROOT not in sys.path:
    sys.path.insert(0, ROOT)


@pytest.fixture(scope="session")
def about():
    """The description of a machine, as on a page of results."""
    machine = {"processor": "P", "cores": 2, "memory_gib": 8}
    return {"date": "-", "machine": machine, "load": 0.0, "versions": {}, "source": "-"}


@pytest.fixture
def pictured(monkeypatch):
    """Names of the pictures that a report draws, in place of files."""
    plt = pytest.importorskip("matplotlib.pyplot")
    from benchmarks.study import pictures

    names = []

    def save(figure, path, n_colors=None):
        names.append(path.stem)
        plt.close(figure)

    monkeypatch.setattr(pictures, "save", save)
    return names


@pytest.fixture(autouse=True)
def source(monkeypatch):
    """A constant in place of the hash of clew's source, which takes more than a second."""
    from benchmarks import _harness

    monkeypatch.setattr(_harness, "source_tag", lambda: "now")


@pytest.fixture
def replaced(tmp_path, monkeypatch):
    """Replace what loads data sets, and the folder of results; empties caches before and after."""
    from benchmarks.study import problems

    from benchmarks import _harness as harness

    emptied = []

    def replace(load, *cached):
        monkeypatch.setattr(problems.datasets, "load", load)
        monkeypatch.setattr(harness, "RESULTS", tmp_path)
        emptied.extend((problems.load, *cached))
        for function in emptied:
            function.cache_clear()

    yield replace
    for function in emptied:
        function.cache_clear()


@pytest.fixture
def fill_log():
    """Write every result of a study: .5, more in each trial, and a lead for some methods."""

    def fill_log(study, lead, leaders, fields=("ari",), **more):
        for task in study.tasks():
            score = 0.5 + 0.02 * task.trial + lead * (task.method in leaders)
            scores = dict.fromkeys(fields, score)
            study.log.append(study.key(task) | scores | {"source": "x"} | more)

    return fill_log
