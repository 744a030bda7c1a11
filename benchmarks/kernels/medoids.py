"""Medoids and subclusters: time, memory, and how many classes are shown."""

from collections.abc import Callable
from typing import Any

from sklearn.metrics import pairwise_distances

from benchmarks.kernels._measure import Case, Row, Run
from benchmarks.kernels._page import Page, Table
from benchmarks.kernels._problems import Problem
from clew.cluster import CLARANS, FastPAM, KMedoids, Subclustering
from clew.metrics import jaccard_score_pairs, subclustering_jaccard

#: Goals: CPU seconds, and MiB of the whole process.
GOALS = {51_418: {"ours.cpu_s": 8.0, "ours.peak_mib": 1024.0}, 1_000_000: {"ours.cpu_s": 30.0}}
SIZE = 10


def find(
    problem: Problem, *, kind: Any, metric: str = "euclidean", **options: Any
) -> Callable[[], Any]:
    """Fit to features, or to distances that are computed before, with the true number of groups."""
    rows = problem.X if metric == "euclidean" else pairwise_distances(problem.X)
    # Kernels are compiled for a few rows, which may be fewer than all subclusters need.
    n_clusters = min(problem.n_clusters, len(rows) // (2 * SIZE))
    model = kind(n_clusters, metric=metric, random_state=0, **options)
    return lambda: model.fit(rows)


def judged(problem: Problem, found: Any, ours: Any) -> Row:
    """Read the cost, and score the groups or the subclusters."""
    y = problem.rows[1]
    if isinstance(found, Subclustering):
        return {"sjc": f"{subclustering_jaccard(y, found.exemplars_):.3f}"}
    return {"jcc": f"{jaccard_score_pairs(y, found.labels_):.3f}", "cost": f"{found.inertia_:.6g}"}


def _subclusters(n_samples: int, n_clusters: int, label: str, **options: Any) -> Case:
    problem = Problem("face_like", n_samples, 32, n_clusters)
    run = Run("clew", find, {"kind": Subclustering, "size": SIZE, **options}, 1)
    goals = GOALS.get(n_samples, {}) if n_clusters == 200 else {}
    return Case(label, problem, run, in_fresh_process=True, judge=judged, goals=goals)


def _medoids(n_samples: int, kind: Any, label: str, **options: Any) -> Case:
    run = Run("clew", find, {"kind": kind, **options}, 1)
    problem = Problem("face_like", n_samples, 32, 20)
    return Case(label, problem, run, in_fresh_process=True, judge=judged)


SUBCLUSTERS = Table(
    {
        "overlap": "label", "rows": "problem.n_samples", "subclusters": "problem.n_clusters",
        "SJC": "ours.sjc", "CPU s": "ours.cpu_s", "peak MiB": "ours.peak_mib",
    },
    (
        _subclusters(10_000, 40, "auto"),
        _subclusters(51_418, 200, "auto"),
        _subclusters(51_418, 200, "shared", overlap="shared"),
        _subclusters(51_418, 200, "thesis", overlap="rule", swaps="best", members="nearest",
                     n_init=1),
        _subclusters(1_000_000, 200, "auto"),
    ),
    quick=slice(1),
)  # fmt: skip
MEDOIDS = Table(
    {
        "method": "label", "rows": "problem.n_samples", "JCC": "ours.jcc",
        "sum of distances": "ours.cost", "CPU s": "ours.cpu_s", "peak MiB": "ours.peak_mib",
    },
    (
        _medoids(4_000, KMedoids, "KMedoids", n_init=1),
        _medoids(4_000, KMedoids, "KMedoids, distances", n_init=1, metric="precomputed"),
        _medoids(4_000, FastPAM, "FastPAM"),
        _medoids(4_000, FastPAM, "FastPAM, best swaps", swaps="best"),
        _medoids(4_000, CLARANS, "CLARANS", n_init=2),
        _medoids(50_000, KMedoids, "KMedoids, samples", n_init=1),
        _medoids(50_000, FastPAM, "FastPAM"),
    ),
    quick=slice(1),
)  # fmt: skip
PAGE = Page("medoids", {"subclusters": SUBCLUSTERS, "medoids": MEDOIDS})
