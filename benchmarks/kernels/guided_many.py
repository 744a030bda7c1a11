"""Guided clustering of many rows by anchors: whole fits."""

from typing import Any

import numpy as np
from sklearn.cluster import AgglomerativeClustering

from benchmarks.kernels._fits import COLUMNS, agreement, whole_fit
from benchmarks.kernels._measure import Case, Row, fit
from benchmarks.kernels._page import Page, Table
from benchmarks.kernels._problems import Problem
from clew.cluster import GuidedClustering
from clew.cluster.guided._anchors import choose_anchors, nearest_anchors
from clew.metrics import adjusted_rand_score


def beside_ward(problem: Problem, labels: Any, ours: Any) -> Row:
    """Score groups; and, as "ward", those of the nearest anchors in Ward's linkage of anchors."""
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
    case = whole_fit("GuidedClustering", fit, problem, options, *bounds)
    return case._replace(
        ours=case.ours._replace(repeats=1),
        judge=beside_ward,
        goals={**case.goals, "ours.ari": LEAST_ARI[data, n]},
    )


LEAST_ARI = {
    ("digits", 100_000): 0.97, ("uneven", 100_000): 0.89,
    ("digits", 1_000_000): 0.96, ("uneven", 1_000_000): 0.92,
}  # fmt: skip
SIZES = ((100_000, 180.0, 2048.0), (1_000_000, 480.0, 4096.0))
# Seeds are in the outer loop, so that a run that is stopped early has measured all data and sizes.
CASES = [
    _many(data, size[0], seed, *size[1:])
    for seed in range(3)
    for size in SIZES
    for data in ("digits", "uneven")
]
COLUMNS_AND_WARD = {
    "data": "problem.data", "seed": "problem.seed", **COLUMNS, "ARI of Ward on anchors": "ours.ward"
}  # fmt: skip
PAGE = Page("guided_many", {"fits": Table(COLUMNS_AND_WARD, CASES, quick=slice(2))})
