"""`clew compile` compiles every kernel."""

import subprocess
import sys

import pytest

#: Runs what `clew compile` runs, and prints the kernels that were not called. A kernel that another
#: one calls is loaded with it.
PROGRAM = """
import importlib, pkgutil
from numba.core.dispatcher import Dispatcher
import clew.kernels
from clew.cli._compilation import PARTS, run_part
from tests.conftest import few_partitions

with few_partitions():  # more of them call no other kernels
    for at in range(len(PARTS)):
        run_part("all", at)
kernels = {}
for found in pkgutil.walk_packages(clew.kernels.__path__, "clew.kernels."):
    for name, member in vars(importlib.import_module(found.name)).items():
        if isinstance(member, Dispatcher):
            kernels[member.py_func.__module__ + "." + member.py_func.__name__] = member
called, new = set(), [name for name, member in kernels.items() if member.signatures]
while new:
    function = kernels[name := new.pop()].py_func
    called.add(name)
    for inner in map(function.__globals__.get, function.__code__.co_names):
        if isinstance(inner, Dispatcher):
            other = inner.py_func.__module__ + "." + inner.py_func.__name__
            new += [other] if other not in called else []
print(*sorted(kernels.keys() - called), sep="\\n")
"""


@pytest.mark.slow
def test_every_kernel_is_compiled() -> None:
    # A process of its own, not a fork: once in two whole runs, a fork missed calls of kernels.
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    missing = done.stdout.split()
    assert not missing, "add a fit that calls them to PARTS of clew/cli/_compilation.py"
