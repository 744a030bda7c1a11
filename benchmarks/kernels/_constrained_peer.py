"""One peer on one problem, inside the peer's own environment, where clew is not installed.

``python _constrained_peer.py JOB`` with JSON in JOB; the last line that it prints is JSON.
"""

from __future__ import annotations

import importlib
import json
import random
import sys
import time
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

import numpy as np


def _pairs(rows: Any) -> list[tuple[int, int]]:
    return [(int(i), int(j)) for i, j in rows]


def _pairwise(name: str) -> Any:
    def fit(module: Any, data: Any) -> Any:
        model = getattr(module, name)(n_clusters=int(data["n_clusters"]))
        model.fit(data["X"], ml=_pairs(data["must_link"]), cl=_pairs(data["cannot_link"]))
        return model.labels_

    return fit


def _clumppy(module: Any, data: Any) -> Any:
    links = _pairs(data["must_link"]), _pairs(data["cannot_link"])
    seed = random.randrange(2**31)
    return module.cop_kmeans(data["X"], int(data["n_clusters"]), *links, seed=seed)


def _copkmeans_ht(module: Any, data: Any) -> Any:
    links = _pairs(data["must_link"]), _pairs(data["cannot_link"])
    labels, _ = module.cop_kmeans(data["X"].tolist(), int(data["n_clusters"]), *links)
    if labels is None:
        raise ValueError("no assignment found")
    return labels


def _linkage(module: Any, data: Any) -> Any:
    # Its constraints are penalties; these are far larger than any distance.
    distance = _distances(data["X"])
    penalty = np.zeros_like(distance)
    for sign, name in ((-1.0, "must_link"), (1.0, "cannot_link")):
        i, j = data[name].T
        penalty[i, j] = penalty[j, i] = sign * 1e6
    tree = module.constrained_linkage(distance, method="average", constraint_matrix=penalty)
    return _cut(tree, len(distance), int(data["n_clusters"]))


def _distances(X: Any) -> Any:
    squared = (X**2).sum(axis=1)
    return np.sqrt(np.maximum(squared[:, None] + squared - 2 * X @ X.T, 0.0))


def _cut(tree: Any, n: int, n_clusters: int) -> Any:
    group = {row: [row] for row in range(n)}
    for k, (a, b) in enumerate(tree[: n - n_clusters, :2].astype(int).tolist()):
        group[n + k] = group.pop(a) + group.pop(b)
    labels = np.empty(n, dtype=int)
    for label, rows in enumerate(group.values()):
        labels[rows] = label
    return labels


def _dominant(module: Any, data: Any) -> Any:
    names = [name for name in dir(module) if not name.startswith("_")]
    if not names:
        raise ImportError("the package holds no code")
    raise NotImplementedError(f"nobody has looked yet at {names}")


SURE = "active_semi_clustering.semi_supervised.pairwise_constraints"
#: Module and function of each peer and method.
TASKS = {
    "active-semi-supervised-clustering COPKMeans": (SURE, _pairwise("COPKMeans")),
    "active-semi-supervised-clustering PCKMeans": (SURE, _pairwise("PCKMeans")),
    "active-semi-supervised-clustering MPCKMeans": (SURE, _pairwise("MPCKMeans")),
    "clumppy COPKMeans": ("clumppy", _clumppy),
    "copkmeans-ht COPKMeans": ("copkmeans-ht.cop_kmeans", _copkmeans_ht),
    "constrained-linkage ConstrainedLinkage": ("constrained_linkage", _linkage),
    "dominant DominantNeighbors": ("dominant", _dominant),
}


def _memory(name: str) -> float:
    status = Path("/proc/self/status")
    lines = status.read_text(encoding="ascii").splitlines() if status.exists() else []
    found = [line.split()[1] for line in lines if line.startswith(f"{name}:")]
    return int(found[0]) / 1024 if found else float("nan")


def measured(job: dict[str, Any]) -> dict[str, Any]:
    """Run the task so often, each time with another seed."""
    data = dict(np.load(job["data"]))
    name, task = TASKS[job["task"]]
    module = importlib.import_module(name)
    seconds, failures, labels = [], [], None
    before = _memory("VmRSS")
    for seed in range(job["n_runs"]):
        np.random.seed(seed)  # noqa: NPY002  the peers draw from it
        random.seed(seed)
        start = time.process_time()
        try:
            labels = [int(label) for label in task(module, data)]
        except Exception as error:  # whatever a peer raises is reported
            failures.append(f"{type(error).__name__}: {error}"[:100].strip(": "))
        else:
            seconds.append(time.process_time() - start)
    return {
        "seconds": seconds,
        "failures": failures,
        "labels": labels,
        "growth_mib": _memory("VmHWM") - before,
        "versions": {dist.name: dist.version for dist in distributions()},
    }


if __name__ == "__main__":
    print(json.dumps(measured(json.loads(sys.argv[1]))))
