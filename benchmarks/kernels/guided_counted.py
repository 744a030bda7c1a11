"""Guided clustering of many rows by anchors, with the number of groups to be found."""

from benchmarks.kernels._fits import COLUMNS, whole_fit
from benchmarks.kernels._measure import Case, fit
from benchmarks.kernels._page import Page, Table
from benchmarks.kernels._problems import Problem
from benchmarks.kernels.guided_many import beside_ward
from clew.cluster import GuidedClustering


def _counted(data: str, n: int, n_clusters: int, error: float, seed: int) -> Case:
    problem = Problem(data, n, 64, n_clusters, n_answers=n, error=error, is_scaled=True, seed=seed)
    options = {"kind": GuidedClustering, "scale": "anchors", "random_state": seed}
    case = whole_fit("GuidedClustering, groups counted", fit, problem, options)
    return case._replace(ours=case.ours._replace(repeats=1), judge=beside_ward)


CASES = [_counted("uneven", 30_000, 300, 0.15, seed) for seed in range(3)]
COLUMNS_AND_CLASSES = {
    "data": "problem.data", "classes": "problem.n_clusters", "seed": "problem.seed",
    **{heading: path for heading, path in COLUMNS.items() if heading != "method"},
    "ARI of Ward on anchors": "ours.ward",
}  # fmt: skip
PAGE = Page("guided_counted", {"fits": Table(COLUMNS_AND_CLASSES, CASES, quick=slice(1))})
