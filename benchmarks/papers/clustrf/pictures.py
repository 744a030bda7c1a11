"""Figures 3, 4 and 5: affinities as pictures, images of one person, and curves over k."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers._pictures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    RED,
    legend_beside,
    line,
    matrix_picture,
    saved,
    tidied,
)
from benchmarks.papers.clustrf.areas import Areas
from benchmarks.papers.clustrf.methods import EUCLIDEAN, FORESTS, LABELS, MAIN, way
from benchmarks.papers.clustrf.protocol import FACES, M, Problem
from benchmarks.papers.clustrf.study import Study, affinity_of, trial_seed

__all__ = ["SHOWN_K", "draw", "of_one_person"]

Floats = NDArray[np.floating]
SHOWN_K = 50
SHOWN_FACES = 10
#: The ways of Figures 3 and 5: the paper's M, and the first reading.
SHOWN = (*(way(method, M[0]) for method in EUCLIDEAN), *(way(kind, MAIN) for kind in FORESTS))
COLORS = dict(zip(LABELS, (GREY, PINK, GREEN, ORANGE, RED, BLUE), strict=True))


def draw(areas: Areas) -> list[Path]:
    """Draw every figure.

    Returns
    -------
    list of Path
        The pictures.
    """
    import matplotlib

    matplotlib.use("Agg")
    drawn = [_curves(areas)] if areas.problems else []
    for problem in areas.problems:
        if problem.is_published:
            drawn.append(_matrices(areas.study, problem))
        if problem.name == FACES:
            drawn.append(_faces(areas.study, problem))
    return drawn


def forest_affinity(study: Study, problem: Problem, kind: str) -> Floats:
    """Give all affinities of the first trial's forest, nothing on the diagonal."""
    made = affinity_of(study, problem, way(kind, MAIN), trial_seed(problem, 0))
    found = np.array(made, dtype=np.float64)
    np.fill_diagonal(found, 0.0)
    return found


def of_one_person(study: Study, problem: Problem) -> dict[str, tuple[Floats, float, float]]:
    """Measure the affinities among images of one person.

    Returns
    -------
    dict
        Of each forest: the affinities of the first images of the first person, the sum over pairs
        of all images of a person, averaged over persons, and the same as a share of the sum of
        all of a person's affinities.
    """
    found = {}
    for kind in FORESTS:
        affinity = forest_affinity(study, problem, kind)
        within = [affinity[np.ix_(problem.y == c, problem.y == c)] for c in np.unique(problem.y)]
        total = [affinity[problem.y == c].sum() for c in np.unique(problem.y)]
        sums = np.array([block.sum() for block in within])
        first = within[0][:SHOWN_FACES, :SHOWN_FACES]
        found[kind] = (first, float(sums.mean()), float((sums / total).mean()))
    return found


def _curves(areas: Areas) -> Path:
    import matplotlib.pyplot as plt

    n = len(areas.problems)
    figure, grid = plt.subplots(
        1, n, figsize=(3.6 * n + 2.2, 3.4), squeeze=False, layout="constrained"
    )
    for panel, problem in zip(grid[0], areas.problems, strict=True):
        for one in SHOWN:
            style = {"label": LABELS[one.method], "color": COLORS[one.method], "marker": "o"}
            curves = list(areas.curves(problem, one).values())
            line(panel, areas.study.k, curves, linestyle="-" if one.is_forest else "--", **style)
        panel.set_title(problem.label, fontsize=9)
        panel.set_xlabel("k", fontsize=9)
        tidied(panel)
    grid[0, 0].set_ylabel("adjusted Rand index", fontsize=9)
    legend_beside(grid[0, -1])
    figure.suptitle(f"ARI over k, M = {M[0]} (mean ± standard error)", fontsize=11)
    return saved(figure, areas.study, "curves")


def _matrices(study: Study, problem: Problem) -> Path:
    import matplotlib.pyplot as plt

    order = np.argsort(problem.y, kind="stable")
    figure, grid = plt.subplots(2, 3, figsize=(8.2, 6.4), layout="constrained")
    for panel, one in zip(grid.ravel(), SHOWN, strict=True):
        affinity = affinity_of(study, problem, one, trial_seed(problem, 0))
        graph = one.graph(affinity, SHOWN_K).toarray()[np.ix_(order, order)]
        matrix_picture(panel, graph, np.bincount(problem.y))
        share = _share(graph, problem.y[order])
        panel.set_title(f"{LABELS[one.method]}: {share:.0%} within classes", fontsize=9)
    figure.suptitle(f"{problem.label}: graphs of k = {SHOWN_K}, rows sorted by class", fontsize=11)
    return saved(figure, study, f"affinity_{problem.name}")


def _share(affinity: Floats, y: NDArray[np.int64]) -> float:
    is_same = y[:, None] == y
    return float(affinity[is_same].sum() / affinity.sum())


def _faces(study: Study, problem: Problem) -> Path:
    import matplotlib.pyplot as plt

    found = of_one_person(study, problem)
    top = max(float(first.max()) for first, _, _ in found.values())
    figure, panels = plt.subplots(1, len(FORESTS), figsize=(8.6, 3.1), layout="constrained")
    shown: Any = None
    for panel, kind in zip(panels, FORESTS, strict=True):
        first = found[kind][0]
        shown = panel.imshow(first, cmap="magma", vmin=0, vmax=top)
        panel.set_title(f"{LABELS[kind]} ({first.sum():.1f})", fontsize=9)
        panel.set_xticks([])
        panel.set_yticks([])
    figure.colorbar(shown, ax=list(panels), shrink=0.8)
    figure.suptitle(
        f"Affinities of {SHOWN_FACES} images of one person (and their sum)", fontsize=11
    )
    return saved(figure, study, "faces")
