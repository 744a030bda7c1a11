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

import clew
from clew.cli import main


def test_version_and_help(spawn):
    done = spawn("--version")
    assert (done.returncode, done.stdout) == (0, f"clew {clew.__version__}\n")
    done = spawn("group", "--help")
    assert done.returncode == 0
    assert done.stdout.startswith("Usage: clew group")


@pytest.mark.parametrize("command", [(), ("group",), ("demo",)])
def test_every_help_begins_with_the_usage(command):
    done = CliRunner().invoke(main, [*command, "--help"], prog_name="clew")
    assert done.exit_code == 0
    assert done.stdout.startswith(" ".join(["Usage: clew", *command]))


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
def test_failure_of_a_process_is_a_sentence_and_a_status(
    spawn, bad_files, here, arguments, status, word
):
    done = spawn(*arguments)
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


def _interrupted(arguments: list[str], said: str) -> tuple[int, str]:
    """Start a command, press Ctrl-C shortly after its first output, and wait for its end."""
    process = subprocess.Popen(
        [sys.executable, "-m", "clew.cli", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        printed = ""
        for line in process.stderr:
            printed += line
            if said in line:
                break
        time.sleep(0.5)
        assert process.poll() is None, printed
        process.send_signal(signal.SIGINT)
        _, rest = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    return process.returncode, rest


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
@pytest.mark.parametrize("jobs", [pytest.param("1", marks=pytest.mark.slow), "2"])
def test_ctrl_c_leaves_nothing_behind(here, jobs):
    np.save("X.npy", np.random.RandomState(0).normal(size=(3000, 20)))
    (here / "g.csv").write_text("old")
    before = sorted(here.iterdir())
    options = ["-k5", "-og.csv", "--method=coprf", "--n-trees=200000", "-j", jobs, "-v"]
    status, words = _interrupted(["group", "X.npy", *options], "grouping by")
    assert status == 130, words
    assert words.splitlines()[-1] == "clew: interrupted, nothing was written"
    assert "Traceback" not in words
    assert sorted(here.iterdir()) == before
    assert (here / "g.csv").read_text() == "old"


@pytest.mark.skipif(os.name == "nt", reason="POSIX signals")
def test_ctrl_c_in_the_demo_leaves_no_folder(here):
    code = (
        "import clew.cli._demo as demo; from clew.cli import main; work = demo.experiment\n"
        "def announced(*arguments): print('working', flush=True); return work(*arguments)\n"
        "demo.experiment = announced; main(['demo', '--seeds', '1000', '-o', 'a/b'])"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "working\n"
        time.sleep(0.5)
        process.send_signal(signal.SIGINT)
        _, words = process.communicate(timeout=60)
    finally:
        process.kill()
        process.communicate()
    assert process.returncode == 130, words
    assert words.splitlines()[-1] == "clew: interrupted, nothing was written"
    assert "Traceback" not in words
    assert list(here.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="POSIX pipes")
def test_a_reader_that_leaves_early_causes_no_error(X):
    command = f"{sys.executable} -m clew.cli group {X} -k 3 --method pckmeans -q | head -n 1"
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, check=True, timeout=240
    )
    assert done.stdout.startswith("id,group")
    assert done.stderr == ""


@pytest.mark.skipif(os.name == "nt", reason="POSIX terminals")
def test_bar_on_a_terminal_only(here, X):
    import pty

    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "clew.cli", "group", str(X), "-k", "3", "-o", "g.csv"],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=os.environ | {"TERM": "xterm-256color"},
    )
    os.close(theirs)
    shown = b""
    # Read the terminal, as it would block when full. On Linux its end is an error.
    with contextlib.suppress(OSError):
        while part := os.read(ours, 1 << 16):
            shown += part
    os.close(ours)
    assert process.wait(timeout=240) == 0, shown
    assert b"Fitting clusterings" in shown
    assert b"30 rows in 3 groups" in shown
