"""One measure in a process of its own: ``python -m benchmarks.kernels._forest_apart JOB``."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from typing import Any

from benchmarks import _harness as harness
from benchmarks.kernels._forest_problems import Size, fit, gaussian_mixture, prepared, warm_up
from clew.similarity import ClustRF


def forest_memory(job: Mapping[str, Any]) -> dict[str, float]:
    """Grow one contender's forest; memory is counted above what data and libraries take."""
    X, _ = Size(**job["size"]).features()
    data = prepared(job["who"], X)
    del X
    harness.reset_memory_peak()
    before = harness.memory_now()
    model = fit(job["who"], data, job["n_trees"])
    return {"growth_mib": harness.memory_peak() - before, "kept": float(model is not None)}


def sparse_neighbours(job: Mapping[str, Any]) -> dict[str, float]:
    """Grow a forest on many rows and link each to its most similar ones, never making N×N."""
    X, _ = gaussian_mixture(job["n_samples"], 50, n_clusters=20, seed=0)
    harness.reset_memory_peak()
    start = time.perf_counter()
    model = ClustRF(
        job["n_trees"], max_samples=job["max_samples"], n_jobs=job["n_jobs"], random_state=0
    ).fit(X)
    grown = time.perf_counter()
    graph = model.kneighbors_graph(job["k"])
    done = time.perf_counter()
    return {
        "forest_s": grown - start,
        "graph_s": done - grown,
        "total_s": done - start,
        "peak_mib": harness.memory_peak(),
        "links": float(graph.nnz),
    }


TASKS = {"forest_memory": forest_memory, "sparse_neighbours": sparse_neighbours}


if __name__ == "__main__":
    wanted = json.loads(sys.argv[1])
    warm_up()
    print(json.dumps(TASKS[wanted["task"]](wanted)))
