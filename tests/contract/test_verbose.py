"""`verbose=1` with the line of the README prints progress, from every thread, and only then."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
(LINE,) = re.findall(r"`(logging\.basicConfig\(.*\))`", README)

FIT = """
import logging, threading
{setup}
import numpy as np
from clew.similarity import ClustRF

def fit():
    ClustRF(n_trees=40, n_jobs=2, random_state=0, verbose={verbose}).fit(np.eye(20))

threads = [threading.Thread(target=fit) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def printed(setup: str, verbose: int) -> tuple[str, str]:
    code = FIT.format(setup=setup, verbose=verbose)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    return done.stdout, done.stderr


def test_the_line_of_the_readme_prints_progress_of_fits_in_threads() -> None:
    out, err = printed(LINE, verbose=1)
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 2
    assert all(re.fullmatch(r"INFO:clew:blocks of trees: (\d+) of \1 done", line) for line in lines)


@pytest.mark.parametrize(("setup", "verbose"), [("", 1), (LINE, 0)])
def test_nothing_is_printed_without_it_or_without_verbose(setup: str, verbose: int) -> None:
    assert printed(setup, verbose) == ("", "")
