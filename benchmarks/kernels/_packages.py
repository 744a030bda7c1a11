"""Fits of other packages, which run in environments of their own, where clew is not installed."""

from __future__ import annotations

import importlib
import random
import time
from importlib.metadata import distributions
from typing import Any

import numpy as np

from benchmarks._memory import memory_now, memory_peak


def _links(data: Any) -> Any:
    return [[(int(i), int(j)) for i, j in data[kind]] for kind in ("must_link", "cannot_link")]


def _pairwise(name: str) -> Any:
    def fit(module: Any, data: Any) -> Any:
        must, cannot = _links(data)
        model = getattr(module, name)(n_clusters=int(data["n_clusters"]))
        return model.fit(data["X"], ml=must, cl=cannot).labels_

    return fit


def _clumppy(module: Any, data: Any) -> Any:
    k, seed = int(data["n_clusters"]), random.randrange(2**31)
    return module.cop_kmeans(data["X"], k, *_links(data), seed=seed)


def _copkmeans_ht(module: Any, data: Any) -> Any:
    labels, _ = module.cop_kmeans(data["X"].tolist(), int(data["n_clusters"]), *_links(data))
    if labels is None:
        raise ValueError("no assignment found")
    return labels


def _linkage(module: Any, data: Any) -> Any:
    squared = (data["X"] ** 2).sum(axis=1)
    square = squared[:, None] + squared - 2 * data["X"] @ data["X"].T
    distance = np.sqrt(np.maximum(square, 0.0))
    # Its constraints are penalties; these are far larger than any distance.
    penalty = np.zeros_like(distance)
    for sign, name in ((-1.0, "must_link"), (1.0, "cannot_link")):
        i, j = data[name].T
        penalty[i, j] = penalty[j, i] = sign * 1e6
    tree = module.constrained_linkage(distance, method="average", constraint_matrix=penalty)
    return _cut(tree, len(distance), int(data["n_clusters"]))


def _cut(tree: Any, n: int, n_clusters: int) -> Any:
    group = {row: [row] for row in range(n)}
    for k, (a, b) in enumerate(tree[: n - n_clusters, :2].astype(int).tolist()):
        group[n + k] = group.pop(a) + group.pop(b)
    labels = np.empty(n, dtype=int)
    for label, rows in enumerate(group.values()):
        labels[rows] = label
    return labels


def _dominant(module: Any, data: Any) -> Any:
    raise ImportError(f"the package holds {[n for n in dir(module) if n[0] != '_'] or 'no code'}")


def _metric(name: str, **fixed: Any) -> Any:
    def fit(module: Any, data: Any, **options: Any) -> Any:
        # A copy, because ITML changes its bounds.
        bounds = {"bounds": data["bounds"].copy()} if name == "ITML" else {}
        model = getattr(module, name)(**fixed, **options).fit(*_answers(name, data), **bounds)
        return model.get_mahalanobis_matrix()

    return fit


def _answers(name: str, data: Any) -> Any:
    """Return features of the rows that answers name; for pairs also 1 (must-link) and -1."""
    if name == "LSML":
        return (data["X"][np.concatenate([data["near"], data["far"]], axis=1)],)
    must, cannot = data["must_link"], data["cannot_link"]
    y = np.concatenate([np.ones(len(must), int), -np.ones(len(cannot), int)])
    return data["X"][np.concatenate([must, cannot])], y


SURE = "active-semi-supervised-clustering"
MODULES = {
    SURE: "active_semi_clustering.semi_supervised.pairwise_constraints",
    "copkmeans-ht": "copkmeans-ht.cop_kmeans", "constrained-linkage": "constrained_linkage",
    "metric-learn": "metric_learn",
}  # fmt: skip
#: Tasks by package and method.
TASKS = {
    f"{SURE} COPKMeans": _pairwise("COPKMeans"), f"{SURE} PCKMeans": _pairwise("PCKMeans"),
    f"{SURE} MPCKMeans": _pairwise("MPCKMeans"), "clumppy COPKMeans": _clumppy,
    "copkmeans-ht COPKMeans": _copkmeans_ht, "dominant DominantNeighbors": _dominant,
    "constrained-linkage ConstrainedLinkage": _linkage, "metric-learn ITML": _metric("ITML"),
    "metric-learn LSML": _metric("LSML"), "metric-learn MMC full": _metric("MMC"),
    "metric-learn MMC diagonal": _metric("MMC", diagonal=True),
}  # fmt: skip


def measured(
    data: Any, task: str, n_runs: int, options: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Run one of `TASKS` `n_runs` times, with seeds 0, 1, ...

    Returns times, failures, growth in memory and versions; and the last result.
    """
    package = task.split()[0]
    module = importlib.import_module(MODULES.get(package, package))
    before, seconds, failures, results = memory_now(), [], [], {}
    fit = TASKS[task]
    if package == "metric-learn":  # imports on first use are not timed
        fit(module, data, max_iter=1)
    for seed in range(n_runs):
        np.random.seed(seed)  # noqa: NPY002  the packages draw from it
        random.seed(seed)
        try:
            start = time.process_time()
            results["result"] = np.asarray(fit(module, data, **options))
        except Exception as error:  # whatever a package raises is reported
            failures.append(f"{type(error).__name__}: {error}"[:100].strip(": "))
        else:
            seconds.append(time.process_time() - start)
    versions = {dist.metadata["Name"]: dist.version for dist in distributions()}
    found = {"seconds": seconds, "failures": failures, "growth_mib": memory_peak() - before}
    return found | {"versions": versions}, results
