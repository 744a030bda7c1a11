"""Peers from the package index, each in an environment of its own that is made when needed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._harness import ROOT

__all__ = ["PEERS", "Peer", "PeerMissingError", "environment_of", "run_peer"]

FOLDER = ROOT / ".venv-peers"
SECONDS_TO_INSTALL = 600
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


class PeerMissingError(RuntimeError):
    """The peer could not be installed, or did not do its work; the message says why."""


@dataclass(frozen=True)
class Peer:
    """A package, and what must be installed beside it."""

    name: str
    requirements: tuple[str, ...]


#: clustlib has a name on the index and no file; copkmeans is not there.
PEERS = {
    peer.name: peer
    for peer in (
        Peer(
            "active-semi-supervised-clustering",
            ("active-semi-supervised-clustering==0.0.1", "metric-learn==0.7.0", "numpy", "scipy"),
        ),
        Peer("clumppy", ("clumppy==0.1.1", "numpy")),
        Peer("copkmeans-ht", ("copkmeans-ht==1.5", "numpy")),
        Peer("clustlib", ("clustlib==0.1.0",)),
        Peer("constrained-linkage", ("constrained-linkage==1.0.1", "numpy")),
        Peer("dominant", ("dominant==0.0.1", "numpy")),
        # It does not run with a scikit-learn of today.
        Peer(
            "metric-learn",
            ("metric-learn==0.7.0", "scikit-learn==1.4.2", "numpy<2", "scipy<1.13"),
        ),
    )
}


def environment_of(peer: Peer, folder: Path = FOLDER) -> Path:
    """Give the Python of a peer's environment, and make the environment if it is not there.

    Raises
    ------
    PeerMissingError
        With the last line of what pip said.
    """
    home = folder / peer.name
    python, stamp = home / "bin" / "python", home / ".installed"
    wanted = "\n".join(peer.requirements)
    if not (stamp.exists() and stamp.read_text(encoding="utf-8") == wanted):
        print(f"installing {peer.name}", flush=True)
        _called([sys.executable, "-m", "venv", "--clear", str(home)], SECONDS_TO_INSTALL)
        install = ["install", "--quiet", "--retries", "1", "--timeout", "15"]
        _called([str(python), "-m", "pip", *install, *peer.requirements], SECONDS_TO_INSTALL)
        stamp.write_text(wanted, encoding="utf-8")
    return python


def run_peer(python: Path, script: Path, job: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Run a script with a peer's Python, on one thread; give the JSON of its last line.

    Raises
    ------
    PeerMissingError
        If the script fails, or is not done in time.
    """
    printed = _called([str(python), str(script), json.dumps(dict(job))], seconds)
    found: dict[str, Any] = json.loads(printed.splitlines()[-1])
    return found


def _called(command: Sequence[str], seconds: float) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=seconds,
            env=os.environ | ONE_THREAD, cwd=ROOT,
        )  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise PeerMissingError(f"not done after {seconds:.0f} s") from error
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()] or ["nothing said"]
        errors = [line for line in said if line.startswith("ERROR")] or said[-1:]
        raise PeerMissingError(errors[-1].removeprefix("ERROR: "))
    return done.stdout
