"""Packages to compare with, each in its own environment, which is made when first needed."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks._harness import ROOT

FOLDER = ROOT / ".venv-peers"
SECONDS_TO_INSTALL, SECONDS_TO_RUN = 600.0, 900.0
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
#: Requirements of each package. The index lists clustlib without a file to install; metric-learn
#: does not run with a newer scikit-learn.
PACKAGES = {
    "active-semi-supervised-clustering": (
        "active-semi-supervised-clustering==0.0.1", "metric-learn==0.7.0", "numpy", "scipy",
    ),
    # Newer numpy has no `np.int`, which it uses.
    "cobras-ts": ("cobras-ts==0.1.3", "numpy==1.23.5", "scikit-learn==1.2.2", "scipy==1.10.1"),
    "clumppy": ("clumppy==0.1.1", "numpy"),
    "copkmeans-ht": ("copkmeans-ht==1.5", "numpy"),
    "cblearn": ("cblearn==0.4.0",),
    "clustlib": ("clustlib==0.1.0",),
    "constrained-linkage": ("constrained-linkage==1.0.1", "numpy"),
    # A newer BTrees lacks a method that dedupe calls; Splink 5 has another interface.
    "dedupe": ("dedupe==3.0.3", "BTrees==6.0", "numpy"),
    "splink": ("splink==4.0.17", "pandas", "numpy"),
    "dominant": ("dominant==0.0.1", "numpy"),
    "scikit-query": ("scikit-query==0.4.2",),
    "metric-learn": ("metric-learn==0.7.0", "scikit-learn==1.4.2", "numpy<2", "scipy<1.13"),
}  # fmt: skip


class PackageError(RuntimeError):
    """A package could not be installed, or its run failed; the message says why."""


def run_in_environment(
    package: str, function: str, arrays: Mapping[str, Any], /, **options: Any
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Call ``MODULE:FUNCTION`` on one thread; the environment is made if it is missing.

    Returns what the function returns: what it measured, and arrays.
    """
    home, wanted = FOLDER / package, PACKAGES[package]
    python, stamp = str(home / "bin" / "python"), home / ".installed"
    if not (stamp.exists() and stamp.read_text(encoding="utf-8") == "\n".join(wanted)):
        print(f"installing {package}", flush=True)
        called(SECONDS_TO_INSTALL, sys.executable, "-m", "venv", "--clear", str(home))
        install = ("-m", "pip", "install", "--quiet", "--retries", "1", "--timeout", "15")
        called(SECONDS_TO_INSTALL, python, *install, *wanted)
        stamp.write_text("\n".join(wanted), encoding="utf-8")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "arrays.npz"
        np.savez(path, **arrays)
        job = json.dumps({"function": function, "arrays": str(path), "options": options})
        script = "benchmarks._peers"
        printed = called(SECONDS_TO_RUN, python, "-m", script, job)
        with np.load(path) as file:
            return json.loads(printed.splitlines()[-1]), dict(file)


def called(seconds: float, *command: str) -> str:
    """Run a command and return its output; failure and timeout raise PackageError."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=seconds,
            env=os.environ | ONE_THREAD, cwd=ROOT,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise PackageError(f"not done after {seconds:.0f} s") from error
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or ["no message"]
        errors = [line for line in lines if line.startswith("ERROR")] or lines[-1:]
        raise PackageError(errors[-1].removeprefix("ERROR: "))
    return done.stdout
