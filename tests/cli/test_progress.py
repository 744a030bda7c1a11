"""Messages of commands while they work: progress and compilation."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from clew.cli import _progress
from clew.cli._compilation import PARTS, compile_kernels
from clew.cli._progress import Words

PCK = ("cluster", "X.npy", "-k", "3", "--method", "pckmeans", "-o", "g.csv")


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets."""
    now = [0.0]
    monkeypatch.setattr(_progress.time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(("verbose", "n_lines"), [(False, 6), (True, 19)])
def test_lines_of_progress_come_now_and_then(clock, capsys, verbose, n_lines):
    with Words(verbose=verbose).bar("Working") as advance:
        for done in range(101):
            advance(done, 100)
            clock[0] += 1
    lines = capsys.readouterr().err.splitlines()
    assert abs(len(lines) - n_lines) <= 3
    assert lines[0].startswith("Working: ")
    assert lines[-1].split("about ")[1].split()[0] == str(100 - int(lines[-1][9:11]))


def test_quiet_prints_nothing(clock, capsys):
    with Words(quiet=True).bar("Working") as advance:
        clock[0] = 1000
        advance(1, 2)
    assert capsys.readouterr().err == ""


def test_compilation_is_announced_once(X, tmp_path):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    said = [
        subprocess.run(
            [sys.executable, "-m", "clew.cli", *PCK], env=environment, capture_output=True,
            text=True, check=True,
        ).stderr
        for _ in range(2)
    ]  # fmt: skip
    assert said[0].count("compiling, once per installation") == 1
    assert "compiling" not in said[1]


@pytest.mark.slow
def test_nothing_is_left_to_compile_for_guided_clustering(here, X, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    steps = []
    compile_kernels(lambda done, total: steps.append((done, total)))
    assert steps == [(done, len(PARTS)) for done in range(1, len(PARTS) + 1)]
    done = subprocess.run(
        [sys.executable, "-m", "clew.cli", "cluster", "X.npy", "-o", "g.csv"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "compiling" not in done.stderr
