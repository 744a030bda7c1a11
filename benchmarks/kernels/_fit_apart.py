"""One fit in a process of its own: ``python -m benchmarks.kernels._fit_apart JOB``."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import scale
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks import _harness as harness
from benchmarks.kernels._forest_problems import gaussian_mixture
from clew import Constraints
from clew.cluster import DCRC, GuidedClustering, KernelKMeans
from clew.similarity import SKLR

__all__ = ["FITS", "fitted"]

#: Starts of k-means on what SKLR learned from very many rows: mini-batches of so many.
BATCH = 4_096
MANY_ROWS = 20_000
#: Standard deviation of the noise of digits that are drawn again.
NOISE = 3.0


def _sklr(X: Any, known: Constraints, n_clusters: int, options: Mapping[str, Any]) -> Any:
    space = SKLR(random_state=0, **options).fit(X, constraints=known)
    batch = BATCH if len(X) > MANY_ROWS else None
    groups = KernelKMeans(n_clusters, batch_size=batch, random_state=0)
    return groups.fit(space.embedding_).labels_


def _dcrc(X: Any, known: Constraints, n_clusters: int, options: Mapping[str, Any]) -> Any:
    return DCRC(n_clusters, random_state=0, **options).fit(X, constraints=known).labels_


def _guided(X: Any, known: Constraints, n_clusters: int, options: Mapping[str, Any]) -> Any:
    model = GuidedClustering(n_clusters, random_state=0, **options)
    return model.fit(X, constraints=known).labels_


def _kmeans(X: Any, known: Constraints, n_clusters: int, options: Mapping[str, Any]) -> Any:
    return KMeans(n_clusters, random_state=0, **options).fit_predict(X)


FITS: dict[str, Callable[..., Any]] = {
    "SKLR": _sklr, "DCRC": _dcrc, "guided": _guided, "k-means": _kmeans,
}  # fmt: skip


def fitted(job: Mapping[str, Any]) -> dict[str, float]:
    """Fit once more than is measured, on few rows, so that all is compiled.

    Parameters
    ----------
    job : mapping
        "fit", a name in `FITS`, and its "options"; "n_samples", "n_features", "n_clusters" of the
        "data", and "kind", "n_answers" and "error", the share of wrong ones, of the answers.

    Returns
    -------
    dict of str to float
        CPU and wall seconds, the peak memory of the process in MiB, and the ARI.
    """
    fit = FITS[job["fit"]]
    few = job | {"n_samples": 300, "n_answers": 60}
    fit(*_inputs(few)[:2], few["n_clusters"], few["options"])
    X, known, y = _inputs(job)
    harness.reset_memory_peak()
    wall, cpu = time.perf_counter(), time.process_time()
    labels = fit(X, known, job["n_clusters"], job["options"])
    return {
        "cpu_s": time.process_time() - cpu,
        "wall_s": time.perf_counter() - wall,
        "peak_mib": harness.memory_peak(),
        "ari": float(adjusted_rand_score(y, labels)),
    }


def _inputs(job: Mapping[str, Any]) -> tuple[Any, Constraints, Any]:
    n = job["n_samples"]
    if job["data"] == "digits":
        X, y = _digits(n)
    else:
        X, y = gaussian_mixture(n, job["n_features"], n_clusters=job["n_clusters"], seed=0)
    answers = {f"n_{job['kind']}": job["n_answers"]}
    known = Constraints.from_labels(y, **answers, error=job["error"], random_state=0)
    return np.ascontiguousarray(scale(X)), known, y


def _digits(n: int) -> tuple[Any, Any]:
    """Give the first digits; of more than there are, draw them again and add noise."""
    X, y = load_digits(return_X_y=True)
    if n <= len(y):
        return X[:n], y[:n]
    random = np.random.RandomState(0)
    rows = random.randint(0, len(y), n)
    return X[rows] + random.normal(0, NOISE, (n, X.shape[1])), y[rows]


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of groups that stay empty among few rows
    with threadpool_limits(1):
        print(json.dumps(fitted(json.loads(sys.argv[1]))))
