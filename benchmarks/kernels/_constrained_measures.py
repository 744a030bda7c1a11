"""The measures of the benchmark of methods under answers: one row for each case and peer."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from benchmarks._harness import alternated, measured_apart, medians
from benchmarks.kernels._constrained_cases import CASES, CLEW, Case
from benchmarks.kernels._constrained_plain import PLAIN
from benchmarks.kernels._constrained_problems import Inputs, save
from benchmarks.kernels._peers import PEERS, PeerMissingError, environment_of, run_peer
from clew.exceptions import ClewWarning
from clew.metrics import adjusted_rand_score, n_violated

__all__ = ["Options", "Row", "rows"]

APART = "benchmarks.kernels._constrained_apart"
SCRIPT = Path(__file__).with_name("_constrained_peer.py")
#: Runs of a peer, and the seconds that all of them may take.
PEER_RUNS = {"MPCKMeans": 1, "ConstrainedLinkage": 1}
DEFAULT_PEER_RUNS, SECONDS_FOR_PEER = 3, 900.0
Row = dict[str, Any]


@dataclass(frozen=True)
class Options:
    """How thorough to be."""

    is_quick: bool = False
    has_peers: bool = True

    def cases(self) -> list[Case]:
        """Give the cases."""
        # Cut to few rows, some cases are the same.
        return list(dict.fromkeys(c.quick() for c in CASES)) if self.is_quick else list(CASES)


def rows(options: Options, methods: Iterable[str] = ()) -> Iterator[Row]:
    """Time every case beside its peers; a peer that does not run is a row that says why."""
    wanted, known_peers = set(methods), {}
    for case in options.cases():
        if wanted and case.method not in wanted:
            continue
        inputs = case.problem.inputs()
        own = _timed(case, inputs)
        peers = case.peers if options.has_peers else ()
        if case.plain or not peers:
            yield own
        for name in peers:
            key = (name, case.method, case.problem)
            if key not in known_peers:
                known_peers[key] = _peer(name, case, inputs)
            yield _own_part(own) | _against(own, known_peers[key])


def _timed(case: Case, inputs: Inputs) -> Row:
    """Time clew, and the plain form in turns with it."""
    who = {"clew": CLEW[case.name]} | ({"plain": PLAIN[case.plain]} if case.plain else {})
    repeats = {"clew": case.repeats, "plain": case.plain_repeats}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ClewWarning)  # dead ends are counted below
        found = CLEW[case.name](inputs)
        runs = {name: partial(run, inputs) for name, run in who.items()}
        seconds = alternated(runs, repeats, clock=time.process_time)
    typical = medians(seconds)
    row: Row = {
        "method": case.method,
        "variant": case.variant,
        "problem": case.problem.name,
        "clew_s": typical["clew"],
        "clew_runs": seconds["clew"],
        "clew_mib": _memory(case.name, case),
        **_quality("clew", found, inputs),
        "peer": case.plain,
    }
    if case.plain:
        row |= {"peer_s": typical["plain"], "peer_runs": seconds["plain"]}
        row |= {"peer_mib": _memory(case.plain, case), "ratio": typical["plain"] / typical["clew"]}
    return row


def _memory(run: str, case: Case) -> float | None:
    if not case.is_weighed:
        return None
    job = {"run": run, "problem": asdict(case.problem)}
    return float(measured_apart(APART, job)["growth_mib"])


def _quality(who: str, found: Any, inputs: Inputs) -> Row:
    """Judge groups; an affinity is not judged here."""
    if not (isinstance(found, np.ndarray) and found.ndim == 1):
        return {}
    return {
        f"{who}_ari": adjusted_rand_score(inputs.y, found),
        f"{who}_violated": n_violated(found, inputs.answers),
        f"{who}_groups": len(set(found.tolist())),
    }


def _peer(name: str, case: Case, inputs: Inputs) -> Row:
    """Run a peer in its own environment."""
    try:
        python = environment_of(PEERS[name])
        with TemporaryDirectory() as folder:
            data = Path(folder) / "inputs.npz"
            save(inputs, data)
            n_runs = PEER_RUNS.get(case.method, DEFAULT_PEER_RUNS)
            job = {"task": f"{name} {case.method}", "data": str(data), "n_runs": n_runs}
            found = run_peer(python, SCRIPT, job, SECONDS_FOR_PEER)
    except PeerMissingError as error:
        return {"peer": name, "reason": str(error)}
    row: Row = {"peer": name, "peer_runs": found["seconds"], "peer_versions": found["versions"]}
    if found["failures"]:
        failed = f"{len(found['failures'])} of {n_runs} runs failed: {found['failures'][0]}"
        row["reason"] = failed
    if found["labels"] is not None:
        row["peer_s"] = median(found["seconds"])
        row["peer_mib"] = found["growth_mib"] if case.is_weighed else None
        row |= _quality("peer", np.array(found["labels"]), inputs)
    return row


def _own_part(row: Row) -> Row:
    """Leave the plain peer out of a row."""
    return {name: value for name, value in row.items() if not name.startswith(("peer", "ratio"))}


def _against(own: Row, peer: Row) -> Row:
    return peer | ({"ratio": peer["peer_s"] / own["clew_s"]} if "peer_s" in peer else {})
