"""Whole fits, each in a fresh process: SKLR and DCRC, and guided clustering."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans

from benchmarks.kernels._measure import Case, Row, Run, fit
from benchmarks.kernels._page import Page, Table
from benchmarks.kernels._problems import Problem
from clew.cluster import DCRC, GuidedClustering, KernelKMeans
from clew.cluster.guided._anchors import choose_anchors, link_rows
from clew.cluster.guided._feature_space import FeatureSpace
from clew.metrics import adjusted_rand_score, n_violated
from clew.similarity import SKLR

#: Rows in a mini-batch of k-means on the embedding of many rows.
BATCH, MANY_ROWS = 4_096, 20_000


def sklr(problem: Problem, **options: Any) -> Callable[[], Any]:
    """Learn the kernel, then find the groups."""
    X, known = problem.X, problem.answers
    batch = BATCH if len(X) > MANY_ROWS else None
    groups = KernelKMeans(problem.n_clusters, batch_size=batch, random_state=0)
    space = SKLR(random_state=0, **options)
    return lambda: groups.fit(space.fit(X, constraints=known).embedding_).labels_


def k_means(problem: Problem) -> Callable[[], Any]:
    """Run scikit-learn's k-means."""
    X, model = problem.X, KMeans(problem.n_clusters, n_init=10, random_state=0)
    return lambda: model.fit_predict(X)


def agreement(problem: Problem, labels: Any, ours: Any) -> Row:
    """Score groups against the classes and the answers."""
    return {
        "ari": float(adjusted_rand_score(problem.rows[1], labels)),
        "violated": n_violated(labels, problem.answers),
        "groups": len(set(labels.tolist())),
    }


def _case(label: str, task: Any, problem: Problem, options: Any, *bounds: float) -> Case:
    """Make a case; `bounds` are the most CPU seconds and the most MiB that it should take."""
    goals = dict(zip(("ours.cpu_s", "ours.peak_mib"), bounds, strict=False))
    run = Run("clew", task, options)
    return Case(label, problem, run, in_fresh_process=True, judge=agreement, goals=goals)


COLUMNS = {
    "method": "label", "rows × features": "problem.size", "groups": "ours.groups",
    "answers": "problem.answers", "CPU s": "ours.cpu_s", "wall s": "ours.wall_s",
    "peak MiB": "ours.peak_mib", "ARI": "ours.ari",
}  # fmt: skip
DIGITS = Problem("digits", 1_000, 64, 10, "odd_one_out", 2_500, is_scaled=True)
WRONG = replace(DIGITS, error=0.15)
BIRDS = Problem("mixture", 5_000, 38, 13, "triplets", 1_500, is_scaled=True)
MANY = replace(BIRDS, n_samples=100_000, n_features=50, n_clusters=10)
MILLION = replace(MANY, n_samples=10**6, n_features=20)
DEFAULT = {"kind": DCRC, "n_clusters": 13, "random_state": 0}
GIVEN = DEFAULT | {"tau": 1.0, "lam": 2.0**-8, "kernel": None}
STARTED = GIVEN | {"init": "kmeans"}
RANK = {"rank": 300}
SKLR_AND_DCRC = (
    _case("SKLR, rank 300, C = .2", sklr, DIGITS, RANK | {"C": 0.2}, 2.0),
    _case("SKLR, rank 300, C = 1", sklr, DIGITS, RANK | {"C": 1.0}, 2.0),
    _case("SKLR, rank 300, no slack", sklr, DIGITS, RANK | {"slack": "none"}, 2.0),
    _case("SKLR, rank 300, C chosen", sklr, DIGITS, RANK),
    _case("SKLR, rank 300, C = .2", sklr, WRONG, RANK | {"C": 0.2}, 2.0),
    _case("SKLR, rank 300, C = 1", sklr, WRONG, RANK | {"C": 1.0}, 2.0),
    _case("k-means", k_means, replace(DIGITS, n_answers=0), {}),
    _case("DCRC, all given, from k-means", fit, BIRDS, STARTED, 2.0),
    _case("DCRC, tau and lam given", fit, BIRDS, GIVEN | {"init": "best"}),
    _case("DCRC, kernel, from k-means", fit, BIRDS, STARTED | {"kernel": "adaptive"}),
    _case("DCRC, default", fit, BIRDS, DEFAULT),
    _case("k-means", k_means, replace(BIRDS, n_answers=0), {}),
    _case("SKLR, rank 100", sklr, MANY, {"rank": 100}, 30.0, 1024.0),
    _case("SKLR, default", sklr, MANY, {}, 30.0, 1024.0),
    _case("DCRC, default", fit, MILLION, DEFAULT | {"n_clusters": 10}, 30.0),
    _case("k-means", k_means, replace(MILLION, n_answers=0), {}),
)
RELATIVE = Page("relative", {"fits": Table(COLUMNS, SKLR_AND_DCRC, quick=slice(0, 8, 7))})


def _guided(n_clusters: int | None, n: int, *bounds: float) -> Case:
    label = f"GuidedClustering, {'10 groups' if n_clusters else 'groups counted'}"
    problem = Problem("digits", n, 64, 10, n_answers=n, error=0.15, is_scaled=True)
    options = {"kind": GuidedClustering, "n_clusters": n_clusters, "random_state": 0}
    return _case(label, fit, problem, options, *bounds)


SIZES = ((600, 2.0), (2_000, 15.0), (20_000, 180.0, 2048.0))
CASES = [_guided(n_clusters, *size) for size in SIZES for n_clusters in (10, None)]
GUIDED = Page("guided_cost", {"fits": Table(COLUMNS, CASES, quick=slice(2))})


def _ward_on_anchors(problem: Problem, seed: int) -> Callable[[], Any]:
    """Cluster the anchors of `GuidedClustering` by Ward's linkage; rows follow the nearest."""
    X, n_clusters = problem.X, problem.n_clusters

    def clustered() -> Any:
        space = FeatureSpace.fit(X)
        rows = space.transform(X).astype(np.float32)
        anchors = choose_anchors(rows[:400_000], 5_000, seed)
        labels = AgglomerativeClustering(n_clusters).fit_predict(anchors)
        return labels[link_rows(rows, anchors).nearest[:, 0]]

    return clustered


def _many(data: str, n: int, seed: int, *bounds: float) -> list[Case]:
    n_clusters = 10 if data == "digits" else 300
    problem = Problem(data, n, 64, n_clusters, n_answers=n, error=0.15, is_scaled=True, seed=seed)
    options = {
        "kind": GuidedClustering, "n_clusters": n_clusters, "scale": "anchors",
        "random_state": seed,
    }  # fmt: skip
    ours = _case("GuidedClustering", fit, problem, options, *bounds)
    ours = ours._replace(ours=ours.ours._replace(repeats=1))
    ours = ours._replace(goals={**ours.goals, "ours.ari": LEAST_ARI[data, n]})
    ward = _case("Ward on anchors", _ward_on_anchors, replace(problem, n_answers=0), {"seed": seed})
    return [ours, ward._replace(ours=ward.ours._replace(repeats=1))]


LEAST_ARI = {
    ("digits", 100_000): 0.97, ("uneven", 100_000): 0.89,
    ("digits", 1_000_000): 0.96, ("uneven", 1_000_000): 0.92,
}  # fmt: skip
MANY_SIZES = ((100_000, 180.0, 2048.0), (1_000_000, 480.0, 4096.0))
MANY_CASES = [
    case
    for size in MANY_SIZES
    for data in ("digits", "uneven")
    for seed in range(3)
    for case in _many(data, size[0], seed, *size[1:])
]
MANY_COLUMNS = {"data": "problem.data", "seed": "problem.seed", **COLUMNS}
GUIDED_MANY = Page("guided_many", {"fits": Table(MANY_COLUMNS, MANY_CASES, quick=slice(0, 12, 5))})
