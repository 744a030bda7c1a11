"""The command line as a process: streams, exit statuses, Ctrl-C."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tests.programs import Program, run_program

import clew
from clew.cli import main


@pytest.mark.slow
def test_version_and_help(here):
    done = run_program("--version")
    assert (done.returncode, done.stdout) == (0, f"clew {clew.__version__}\n")
    done = run_program("group", "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: clew group")


def test_the_package_runs_as_a_module(here):
    done = subprocess.run([sys.executable, "-m", "clew", "--version"], capture_output=True)
    assert (done.returncode, done.stdout) == (0, f"clew {clew.__version__}\n".encode())


@pytest.mark.parametrize("command", [(), ("group",), ("demo",)])
def test_every_help_begins_with_the_usage(command):
    done = CliRunner().invoke(main, [*command, "--help"], prog_name="clew")
    assert done.exit_code == 0
    assert done.stdout.startswith(" ".join(["Usage: clew", *command]))


def test_help_cuts_no_sentence():
    done = CliRunner().invoke(main, ["--help"], prog_name="clew", terminal_width=80)
    listed = done.stdout.split("Commands:\n")[1]
    assert listed.count("  add  ") == 1
    assert "..." not in listed
    assert "leftovers of a project, and say what to do." in " ".join(listed.split())


def test_columns_that_are_not_clear_are_named_by_options(here):
    (here / "a.csv").write_text("x,y,z,w\na,b,same,same\nb,c,b,different\n")
    done = CliRunner().invoke(main, ["group", "--constraints", "a.csv"], prog_name="clew")
    assert done.exit_code == 1
    assert "Name them, as in --item-columns left,right --answer-column same" in done.stderr
    assert "columns=[" not in done.stderr


def test_help_loads_no_library(here):
    code = (
        "import sys, clew; before = set(sys.modules); import clew.cli;"
        "print(sorted({'sklearn', 'rich', 'numba'} & (set(sys.modules) - before)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_installed_script(X):
    script = shutil.which("clew", path=str(Path(sys.executable).parent))
    assert script is not None
    done = subprocess.run(
        [script, "group", str(X), "-k", "3", "--method", "pckmeans"],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 31
    # The standard error is not a terminal here, so there is no bar and no color.
    assert "\x1b" not in done.stderr
    assert "30 rows in 3 groups" in done.stderr


def test_json_is_the_only_thing_on_the_standard_output(run, X, answers):
    file = answers("0 1 same", "0 12 different")
    done = run(X, "-k", 3, "-c", file, "-o", "g.csv", "--json")
    assert done.exit_code == 0, done.stderr
    assert json.loads(done.stdout)["rows"] == 30


@pytest.fixture
def bad_files(X, here):
    np.save("bad.npy", [[0.0], [np.inf], [1.0]])
    (here / "a.csv").write_text("kind,i,j,answer\npair,0,1,same\npair,0,99,same\n")
    (here / "c.csv").write_text("kind,i,j,answer\npair,0,1,same\npair,0,1,different\n")
    return sorted(here.iterdir())


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [(("status",), 1, "make one with clew init"), (("group", "X.npy", "-k", "0"), 2, "Usage")],
)
def test_failure_of_a_process_is_a_sentence_and_a_status(bad_files, here, arguments, status, word):
    done = run_program(*arguments)
    assert done.returncode == status, done.stderr
    assert done.stdout == ""
    assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(here.iterdir()) == bad_files


@pytest.mark.parametrize(
    ("arguments", "status", "word"),
    [
        (("group", "X.npy", "-k", "31"), 1, "too many"),
        (("group", "X.npy", "-k", "3", "-c", "a.csv"), 1, "a.csv, line 3"),
        (("group", "bad.npy", "-k", "2"), 1, "row 1, column 0"),
        (
            ("group", "X.npy", "-k3", "-cc.csv", "--method=coprf", "--mode=hard", "--trust=none"),
            1,
            "0 = 1",
        ),
        (("group", "X.npy", "--method", "coprf"), 2, "--n-groups"),
        (("clutser",), 2, "No such command"),
        (("demo", "--seeds", "0"), 2, "Usage"),
        (("demo", "-o", "X.npy"), 1, "X.npy is a file"),
    ],
)
def test_failure_is_a_sentence_and_a_status(bad_files, here, arguments, status, word):
    done = CliRunner().invoke(main, arguments, prog_name="clew")
    assert done.exit_code == status, done.stderr
    assert done.stdout == ""
    assert word in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(here.iterdir()) == bad_files


def _interrupted(*arguments: str, said: str, code: str = "") -> tuple[int, str]:
    """Start a command, press Ctrl-C shortly after it said something, and wait for its end."""
    end, start = os.pipe()
    program = Program(*arguments, code=code, stdout=start, stderr=start)
    os.close(start)
    with open(end) as words:
        for line in words:
            if said in line:
                break
        time.sleep(0.5)
        os.kill(program.pid, signal.SIGINT)
        rest = words.read()
    return program.wait(), rest


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("jobs", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_ctrl_c_leaves_nothing_behind(here, jobs):
    np.save("X.npy", np.random.RandomState(0).normal(size=(3000, 20)))
    (here / "g.csv").write_text("old")
    before = sorted(here.iterdir())
    options = ["-k5", "-og.csv", "--method=coprf", "--n-trees=200000", "-j", jobs, "-v"]
    status, words = _interrupted("group", "X.npy", *options, said="grouping by")
    assert status == 130, words
    assert words.splitlines()[-1] == "clew: interrupted, nothing was written"
    assert "Traceback" not in words
    assert sorted(here.iterdir()) == before
    assert (here / "g.csv").read_text() == "old"


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_in_the_demo_leaves_no_folder(here):
    code = (
        "import clew.cli._demo as demo; from clew.cli import main; work = demo.experiment\n"
        "def announced(*arguments): print('working', flush=True); return work(*arguments)\n"
        "demo.experiment = announced; main(['demo', '--seeds', '1000', '-o', 'a/b'])"
    )
    status, words = _interrupted(said="working", code=code)
    assert status == 130, words
    assert words.splitlines()[-1] == "clew: interrupted, nothing was written"
    assert "Traceback" not in words
    assert list(here.iterdir()) == []


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_a_reader_that_leaves_early_causes_no_error(X):
    end, start = os.pipe()
    os.close(end)
    done = run_program("group", X, "-k", "3", "--method", "pckmeans", "-q", stdout=start)
    os.close(start)
    assert done.stderr == ""


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="POSIX terminals")
def test_bar_on_a_terminal_only(X, monkeypatch):
    import pty

    ours, theirs = pty.openpty()
    monkeypatch.setenv("TERM", "xterm-256color")
    with open(os.devnull, "w") as nothing:
        options = ["-k", "3", "-o", "g.csv"]
        program = Program("group", X, *options, stdout=nothing.fileno(), stderr=theirs)
    os.close(theirs)
    shown = b""
    # Read the terminal, as it would block when full. On Linux its end is an error.
    with contextlib.suppress(OSError):
        while part := os.read(ours, 1 << 16):
            shown += part
    os.close(ours)
    assert program.wait() == 0, shown
    assert b"Fitting clusterings" in shown
    assert b"30 rows in 3 groups" in shown
