"""Guided clustering of distances: whole fits, and their memory in addition to the distances."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist, squareform

from benchmarks.kernels._fits import agreement
from benchmarks.kernels._measure import Case, Run
from benchmarks.kernels._page import Page, Table
from benchmarks.kernels._problems import Problem
from benchmarks.study.problems import Floats
from clew._parallel import blocks
from clew.cluster import GuidedClustering

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


FITS = Table(
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
PAGE = Page("guided_precomputed", {"fits": FITS})
