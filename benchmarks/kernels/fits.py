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
from clew.cluster.guided._anchors.anchors import choose_anchors, nearest_anchors
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


def further_answers(problem: Problem, *, n_more: int, **options: Any) -> Callable[[], Any]:
    """Fit to all answers but the last, then add these."""
    is_first = np.arange(len(problem.answers)) < len(problem.answers) - n_more
    first, more = (problem.answers.select(pairs=part) for part in (is_first, ~is_first))
    model = GuidedClustering(random_state=0, **options).fit(problem.X, constraints=first)
    return lambda: model.partial_fit(constraints=more).labels_


def _further(n: int, n_more: int, *bounds: float) -> Case:
    problem = Problem("digits", n, 64, 10, n_answers=n, error=0.15, is_scaled=True)
    options = {"n_clusters": 10, "n_more": n_more}
    label = f"partial_fit with the last {n_more}, 10 groups"
    return _case(label, further_answers, problem, options, *bounds)


SIZES = ((600, 2.0), (2_000, 15.0), (20_000, 180.0, 2048.0))
CASES = [_guided(n_clusters, *size) for size in SIZES for n_clusters in (10, None)]
CASES[2] = _guided(10, 2_000, 5.0)
CASES += [_further(600, 20), _further(2_000, 20, 0.3)]
GUIDED = Page("guided_cost", {"fits": Table(COLUMNS, CASES, quick=slice(2))})


def beside_ward(problem: Problem, labels: Any, ours: Any) -> Row:
    """Score groups, and those of Ward's linkage of as many anchors; rows follow the nearest."""
    X = problem.X.astype(np.float32)
    anchors = choose_anchors(X[:400_000], 5_000, problem.seed)
    of_anchors = AgglomerativeClustering(problem.n_clusters).fit_predict(anchors)
    ward = of_anchors[nearest_anchors(X, anchors, 1)[:, 0]]
    scores = agreement(problem, labels, ours)
    return scores | {"ward": float(adjusted_rand_score(problem.rows[1], ward))}


def _many(data: str, n: int, seed: int, *bounds: float) -> Case:
    n_clusters = 10 if data == "digits" else 300
    problem = Problem(data, n, 64, n_clusters, n_answers=n, error=0.15, is_scaled=True, seed=seed)
    options = {
        "kind": GuidedClustering, "n_clusters": n_clusters, "scale": "anchors",
        "random_state": seed,
    }  # fmt: skip
    case = _case("GuidedClustering", fit, problem, options, *bounds)
    return case._replace(
        ours=case.ours._replace(repeats=1),
        judge=beside_ward,
        goals={**case.goals, "ours.ari": LEAST_ARI[data, n]},
    )


LEAST_ARI = {
    ("digits", 100_000): 0.97, ("uneven", 100_000): 0.89,
    ("digits", 1_000_000): 0.96, ("uneven", 1_000_000): 0.92,
}  # fmt: skip
MANY_SIZES = ((100_000, 180.0, 2048.0), (1_000_000, 480.0, 4096.0))
# By seed first: pages are written after each case, so one that is stopped has all data.
MANY_CASES = [
    _many(data, size[0], seed, *size[1:])
    for seed in range(3)
    for size in MANY_SIZES
    for data in ("digits", "uneven")
]
MANY_COLUMNS = {
    "data": "problem.data", "seed": "problem.seed", **COLUMNS, "ARI of Ward on anchors": "ours.ward"
}  # fmt: skip
GUIDED_MANY = Page("guided_many", {"fits": Table(MANY_COLUMNS, MANY_CASES, quick=slice(2))})
