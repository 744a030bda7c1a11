"""The promised commands are there: two for everyone, the others for whoever works on clew."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TARGETS = ("venv", "demo", "test", "test-all", "lint", "bench", "docs")


def _dry_run(target: str) -> str:
    """The commands that make would run on a fresh machine."""
    # `make test` passes its own flags to every make that it starts.
    environment = {name: value for name, value in os.environ.items() if name != "MAKEFLAGS"}
    done = subprocess.run(
        ["make", "--dry-run", "--always-make", target],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize("target", TARGETS)
def test_target_sets_up_what_it_needs(target: str) -> None:
    steps = _dry_run(target)
    assert "-m venv" in steps
    assert "pip install" in steps


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_demo_installs_only_what_clew_needs_to_run() -> None:
    steps = _dry_run("demo")
    assert "--editable '.'" in steps
    assert "[all,dev]" not in steps
    assert "clew compile --demo" in steps
    assert "clew compile\n" not in steps
    assert "--editable '.[all,dev]'" in _dry_run("venv")


def test_ci_runs_lint_and_tests() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "make lint" in script
    assert "make test" in script


@pytest.mark.parametrize("command", ["make demo", "make test"])
def test_readme_names_the_two_commands(command: str) -> None:
    assert command in (ROOT / "README.md").read_text(encoding="utf-8")
