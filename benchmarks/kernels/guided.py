"""Guided clustering: whole fits and further answers, many rows by anchors, distances."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, squareform
from sklearn.cluster import AgglomerativeClustering

from benchmarks.kernels._measure import COLUMNS, Case, Row, Run, agreement, fit, whole_fit
from benchmarks.kernels._page import Page, Table
from benchmarks.kernels._problems import Problem
from benchmarks.study.problems import Floats
from clew._parallel import blocks
from clew.cluster import GuidedClustering
from clew.cluster.guided._anchors import choose_anchors, nearest_anchors
from clew.metrics import adjusted_rand_score


def _guided(n_clusters: int | None, n: int, *bounds: float, **options: Any) -> Case:
    label = f"GuidedClustering, {'10 groups' if n_clusters else 'groups counted'}"
    problem = Problem("digits", n, 64, 10, n_answers=n, error=0.15, is_scaled=True)
    options |= {"kind": GuidedClustering, "n_clusters": n_clusters, "random_state": 0}
    return whole_fit(label, fit, problem, options, *bounds)


def further_answers(problem: Problem, *, n_more: int, **options: Any) -> Callable[[], Any]:
    """Fit to all answers except the last ones, then add those."""
    is_first = np.arange(len(problem.answers)) < len(problem.answers) - n_more
    first, more = (problem.answers.select(pairs=part) for part in (is_first, ~is_first))
    model = GuidedClustering(random_state=0, **options).fit(problem.X, constraints=first)
    return lambda: model.partial_fit(constraints=more).labels_


def _further(n: int, n_more: int, *bounds: float) -> Case:
    problem = Problem("digits", n, 64, 10, n_answers=n, error=0.15, is_scaled=True)
    options = {"n_clusters": 10, "n_more": n_more}
    label = f"partial_fit with the last {n_more}, 10 groups"
    return whole_fit(label, further_answers, problem, options, *bounds)


SIZES = ((600, 2.0), (2_000, 15.0), (20_000, 180.0, 2048.0))
CASES = [_guided(n_clusters, *size) for size in SIZES for n_clusters in (10, None)]
CASES[2] = _guided(10, 2_000, 5.0)
CASES += [_further(600, 20), _further(2_000, 20, 0.3)]
LABEL = "GuidedClustering in two threads, 10 groups"
CASES.append(_guided(10, 2_000, n_jobs=2)._replace(label=LABEL, goals={"ours.wall_s": 5.0}))
COST = Page("guided_cost", {"fits": Table(COLUMNS, CASES, quick=slice(2))})


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
MANY_SIZES = ((100_000, 180.0, 2048.0), (1_000_000, 480.0, 4096.0))
# Seeds are in the outer loop, so that a run that is stopped early has measured all data and sizes.
OF_MANY = [
    _many(data, size[0], seed, *size[1:])
    for seed in range(3)
    for size in MANY_SIZES
    for data in ("digits", "uneven")
]
COLUMNS_AND_WARD = {
    "data": "problem.data", "seed": "problem.seed", **COLUMNS, "ARI of Ward on anchors": "ours.ward"
}  # fmt: skip
MANY = Page("guided_many", {"fits": Table(COLUMNS_AND_WARD, OF_MANY, quick=slice(2))})


def _counted(data: str, n: int, n_clusters: int, error: float, seed: int) -> Case:
    problem = Problem(data, n, 64, n_clusters, n_answers=n, error=error, is_scaled=True, seed=seed)
    options = {"kind": GuidedClustering, "scale": "anchors", "random_state": seed}
    case = whole_fit("GuidedClustering, groups counted", fit, problem, options)
    return case._replace(ours=case.ours._replace(repeats=1), judge=beside_ward)


OF_COUNTED = [_counted("uneven", 30_000, 300, 0.15, seed) for seed in range(3)]
COLUMNS_AND_CLASSES = {
    "data": "problem.data", "classes": "problem.n_clusters", "seed": "problem.seed",
    **{heading: path for heading, path in COLUMNS.items() if heading != "method"},
    "ARI of Ward on anchors": "ours.ward",
}  # fmt: skip
COUNTED = Page("guided_counted", {"fits": Table(COLUMNS_AND_CLASSES, OF_COUNTED, quick=slice(1))})


ROWS_PER_BLOCK = 1_000


def manhattan(X: Floats, form: str) -> NDArray[np.floating]:
    """Compute distances as "square float32", "square float64" or "condensed float32"."""
    shape, dtype = form.split()
    found = np.empty((len(X), len(X)), dtype)
    for start, stop in blocks(len(X), ROWS_PER_BLOCK):
        found[start:stop] = cdist(X[start:stop], X, "cityblock")
    return found if shape == "square" else np.asarray(squareform(found, checks=False))


def fit_distances(problem: Problem, *, form: str, **options: Any) -> Callable[[], Any]:
    """Return a fit to be timed; distances are computed before."""
    D, known = manhattan(problem.X, form), problem.answers
    model = GuidedClustering(metric="precomputed", random_state=0, **options)
    return lambda: model.fit(D, constraints=known).labels_


def _fit(n: int, form: str, n_answers: int = 0) -> Case:
    problem = Problem("mixture", n, 30, 10, n_answers=n_answers, error=0.1 if n_answers else 0.0)
    run = Run("clew", fit_distances, {"form": form, "n_clusters": 10}, 1)
    mib = n * n * np.dtype(form.split()[1]).itemsize / 2**20
    goals = {} if form.startswith("condensed") else {"ours.growth_mib": mib / 2}
    goals = goals if n > 5_000 else {}
    return Case(form, problem, run, in_fresh_process=True, judge=agreement, goals=goals)


OF_DISTANCES = Table(
    {
        "distances": "label", "rows": "problem.n_samples", "answers": "problem.answers",
        "CPU s": "ours.cpu_s", "growth MiB": "ours.growth_mib", "peak MiB": "ours.peak_mib",
        "ARI": "ours.ari",
    },
    (
        *(_fit(n, "square float32", m) for n in (2_000, 5_000) for m in (0, n)),
        _fit(10_000, "square float32"),
        *(_fit(20_000, f"{of} float32") for of in ("square", "condensed")),
        _fit(20_000, "square float64"),
        _fit(20_000, "square float32", 20_000),
    ),
    quick=slice(1),
)  # fmt: skip
PRECOMPUTED = Page("guided_precomputed", {"fits": OF_DISTANCES})
