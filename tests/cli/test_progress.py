"""Messages of commands while they work: progress and compilation."""

import subprocess
import sys

import pytest
from click.testing import CliRunner
from numba.core import event
from tests.programs import run_program

from clew.cli import _words, main
from clew.cli._compilation import PARTS, START, compile_kernels, expected_seconds
from clew.cli._words import Words
from clew.cluster import PCKMeans

PCK = ("group", "X.npy", "-k", "3", "--method", "pckmeans", "-o", "g.csv")


@pytest.fixture
def clock(monkeypatch):
    """A clock that the test sets."""
    now = [0.0]
    monkeypatch.setattr(_words.time, "monotonic", lambda: now[0])
    return now


@pytest.mark.parametrize(("verbose", "n_lines"), [(False, 6), (True, 19)])
def test_lines_of_progress_come_every_few_seconds(clock, capsys, verbose, n_lines):
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


#: A program that calls two kernels; Numba keeps them compiled in the folder of the program.
WORK = """
from numba import njit
from clew.cli._words import Words

@njit(cache=True)
def one():
    return 1

@njit(cache=True)
def two():
    return one() + 1

with Words().bar("Working"):
    one()
    two()
"""


@pytest.mark.slow
def test_compilation_is_announced_once(tmp_path):
    program = tmp_path / "work.py"
    program.write_text(WORK)
    code = f"import runpy; runpy.run_path({str(program)!r}, run_name='__main__')"
    said = [run_program(code=code).stderr for _ in range(2)]
    assert said[0].count("compiling, once per installation") == 1
    assert said[1] == ""


def test_compilation_by_a_command_is_announced(here, X, monkeypatch):
    fit = PCKMeans.fit

    def compiled_first(*arguments, **options):
        with event.trigger_event("numba:compile"):
            return fit(*arguments, **options)

    monkeypatch.setattr(PCKMeans, "fit", compiled_first)
    done = CliRunner().invoke(main, PCK, prog_name="clew")
    assert done.exit_code == 0, done.output
    assert done.stderr.count("compiling, once per installation") == 1


def test_the_time_to_compile_is_expected_from_measured_times(monkeypatch):
    monkeypatch.setattr("clew.cli._compilation.os.cpu_count", lambda: 1)
    alone = expected_seconds("all")
    assert alone == pytest.approx(START + sum(part.seconds for part in PARTS))
    monkeypatch.setattr("clew.cli._compilation.os.cpu_count", lambda: 2)
    assert alone / 2 <= expected_seconds("all") < alone
    assert expected_seconds("demo") < min(60, expected_seconds("all"))
    assert [part.seconds for part in PARTS] == sorted((p.seconds for p in PARTS), reverse=True)


@pytest.mark.slow
def test_the_demo_needs_no_more_than_is_compiled_for_it(here, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(here / "cache"))
    for command in (["compile", "--demo"], ["demo", "--seeds", "1", "-o", "out"]):
        done = subprocess.run(
            [sys.executable, "-m", "clew.cli", *command],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        is_said = "compiling, once per installation" in done.stderr
        assert is_said == (command[0] == "compile")


@pytest.mark.slow
def test_nothing_is_left_to_compile_for_guided_clustering(here, X, tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    steps = []
    compile_kernels("all", lambda done, total: steps.append((done, total)))
    assert len(steps) == len(PARTS)
    assert steps == sorted(steps)
    assert steps[-1][0] == steps[-1][1]
    done = subprocess.run(
        [sys.executable, "-m", "clew.cli", "group", "X.npy", "-o", "g.csv"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert "compiling" not in done.stderr
