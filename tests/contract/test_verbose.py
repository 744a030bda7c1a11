"""`verbose=1` with the line of the tutorial prints progress, from every thread, and only then."""

import re
from pathlib import Path

import pytest
from tests.programs import run_program

pytestmark = pytest.mark.usefixtures("small_search")

TUTORIAL = (Path(__file__).parents[2] / "docs" / "tutorial.md").read_text(encoding="utf-8")
(LINE,) = re.findall(r"`(logging\.basicConfig\(.*?\))`", TUTORIAL)

#: Fits in threads without the line of the tutorial, then with it; a marked line ends each part.
FITS = """
import logging, sys, threading
import numpy as np
from clew.similarity import ClustRF
from sklearn.base import clone

def fit(verbose):
    model = ClustRF(n_trees=40, n_jobs=2, random_state=0, verbose=verbose)
    threads = [threading.Thread(target=model.fit, args=(np.eye(20),))]
    threads.append(threading.Thread(target=clone(model).fit, args=(np.eye(20),)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for stream in (sys.stdout, sys.stderr):
        print("end of a part", file=stream, flush=True)

fit(1)
{line}
fit(0)
fit(1)
"""


@pytest.fixture(scope="module")
def printed() -> tuple[list[str], list[str]]:
    """What each part prints on the standard output, and on the standard error."""
    code = FITS.format(line=LINE)
    done = run_program(code=code)
    out, err = (words.split("end of a part\n") for words in (done.stdout, done.stderr))
    return out, err


@pytest.mark.slow
def test_the_line_of_the_readme_prints_progress_of_fits_in_threads(printed) -> None:
    out, err = printed
    assert out == ["", "", "", ""]
    lines = err[2].splitlines()
    assert len(lines) == 2
    assert all(re.fullmatch(r"INFO:clew:blocks of trees: (\d+) of \1 done", line) for line in lines)
    assert err[3] == ""


@pytest.mark.slow
def test_nothing_is_printed_without_the_line_or_without_verbose(printed) -> None:
    _, (without_line, without_verbose, *_) = printed
    assert without_line == without_verbose == ""
