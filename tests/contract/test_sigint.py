"""Ctrl-C in a terminal: a real signal ends a long fit within two seconds of processor time."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads times from /proc"),
]

PROGRAM = """
import signal
import numpy as np
from clew import Constraints
from clew.cluster import DCRC, GuidedClustering
from clew.similarity import COPRF, SKLR

signal.signal(signal.SIGINT, signal.default_int_handler)  # as in a terminal
random = np.random.RandomState(0)
y = random.randint(10, size={n_rows})
X = random.normal(size=(10, {n_features}))[y] + 3 * random.normal(size=({n_rows}, {n_features}))
answers = Constraints.from_labels(y, 400, error=0.1, random_state=0)
few = Constraints.from_labels(y[:80], 60, random_state=0)
model = {model}
# Loads the kernels: Python ignores a KeyboardInterrupt that is raised in a destructor, and many
# destructors run while Numba loads or compiles.
model.fit(X[:80, :20], constraints=few)
print("start", flush=True)
model.fit(X, constraints=answers)
"""


def cpu_seconds(pid: int) -> float:
    """The processor time of a process and its threads up to now."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def interrupted(program: str, seconds_of_work: float) -> tuple[float, str]:
    """Interrupt a program, and return the processor time that it then takes to end, and its error.

    Wall-clock time would depend on the load of the machine.
    """
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    assert child.stderr is not None
    with child.stdout, child.stderr:
        assert child.stdout.readline() == "start\n", child.stderr.read()
        start = cpu_seconds(child.pid)
        while cpu_seconds(child.pid) - start < seconds_of_work:
            assert child.poll() is None, "the fit ended before the signal"
            time.sleep(0.02)
        before = cpu_seconds(child.pid)
        child.send_signal(signal.SIGINT)
        error = child.stderr.read()
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
    return usage.ru_utime + usage.ru_stime - before, error


@pytest.mark.parametrize(
    ("model", "n_rows", "n_features", "seconds_of_work"),
    [
        ("GuidedClustering(10, random_state=0)", 300, 12_288, 1),
        ("GuidedClustering(10, random_state=0, n_jobs=2)", 2_000, 30, 4),
        ("DCRC(10, random_state=0, n_jobs=2)", 4_000, 100, 4),
        ("COPRF(n_trees=5_000, random_state=0, n_jobs=2)", 2_000, 30, 1),
    ],
    ids=["wide", "2,000 rows", "DCRC", "COPRF"],
)
def test_a_signal_ends_a_fit(model, n_rows, n_features, seconds_of_work):
    program = PROGRAM.format(model=model, n_rows=n_rows, n_features=n_features)
    seconds_to_end, error = interrupted(program, seconds_of_work)
    assert error.rstrip().endswith("KeyboardInterrupt")
    assert seconds_to_end < 2
