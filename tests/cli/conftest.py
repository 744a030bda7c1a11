"""Fixtures of the command line's tests: data, and a way to run it."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from tests.cli.projects import answered, clew, photos

from clew.cli import main
from clew.collections import Project

Run = Callable[..., Result]

#: Options for a fit that is fast enough for a test.
FAST = {"--method": "coprf", "--n-trees": "20", "-j": "1"}


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the tests out of the user's folders."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(here: Path) -> Run:
    """Run ``clew group`` in this process."""

    def invoke(*arguments: object, fast: bool = True) -> Result:
        given = [str(argument) for argument in arguments]
        for name, value in FAST.items() if fast else ():
            given += () if name in given else (name, value)
        return CliRunner().invoke(main, ["group", *given], prog_name="clew")

    return invoke


@pytest.fixture
def X(here: Path) -> Path:  # noqa: N802 - the name of the features
    """Three blobs of ten rows each, in order."""
    rng = np.random.RandomState(0)
    centers = np.repeat([[0.0, 0.0, 0.0], [9.0, 0.0, 4.0], [0.0, 9.0, -4.0]], 10, axis=0)
    np.save("X.npy", centers + rng.normal(size=centers.shape))
    return here / "X.npy"


@pytest.fixture
def answers(here: Path) -> Callable[..., Path]:
    """Write a file of answers about pairs, each "i j same|different|dont_know"."""

    def write(*lines: str, name: str = "answers.csv") -> Path:
        table = ["kind,i,j,answer", *("pair," + line.replace(" ", ",") for line in lines)]
        (here / name).write_text("\n".join(table) + "\n", encoding="utf-8")
        return here / name

    return write


@pytest.fixture
def birds(here: Path) -> Project:
    """A project of nine photos."""
    photos(here / "birds")
    done = clew("init", "birds")
    assert done.exit_code == 0, done.output
    return Project.open(here / "birds")


@pytest.fixture
def grouped(birds: Project) -> Project:
    """The same with three answers and three groups."""
    answered(birds)
    return birds
