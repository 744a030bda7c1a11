"""Guided clustering: whole fits, and further answers."""

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.kernels._fits import COLUMNS, whole_fit
from benchmarks.kernels._measure import Case, fit
from benchmarks.kernels._page import Page, Table
from benchmarks.kernels._problems import Problem
from clew.cluster import GuidedClustering


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
PAGE = Page("guided_cost", {"fits": Table(COLUMNS, CASES, quick=slice(2))})
