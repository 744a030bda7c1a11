"""Figures 1, 2 and 4, and the curves of wrong answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.manifold import TSNE

from benchmarks.papers._pictures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    RED,
    SKY,
    legend_beside,
    panels,
    saved,
    tidied,
)
from benchmarks.papers._relative.curves import draw_curve
from benchmarks.papers._relative.methods import run_method
from benchmarks.papers.sklr.methods import (
    COMPARATORS,
    HARD,
    KERNEL_KMEANS,
    METHODS,
    PUBLISHED,
    SOFT,
)
from benchmarks.papers.sklr.points import PANELS, SAMPLINGS, SklrResults, panel_cells
from benchmarks.papers.sklr.protocol import (
    ALL,
    EQUALITIES,
    LABELLED,
    NO_ANSWERS,
    USPS,
    WRONG,
    Cell,
    problem_named,
)

__all__ = ["CURVES", "draw"]

COLORS = dict(
    zip(
        (m.name for m in METHODS), (GREY, BLUE, SKY, PINK, GREEN, ORANGE, RED, "black"), strict=True
    )
)
#: File names of Figure 1 under each sampling.
CURVES = dict(zip(SAMPLINGS, ("curves", "curves_labelled", "curves_all"), strict=True))
#: Shown in Figure 2, with where the rows of their answers are drawn from.
SHOWN = ((COMPARATORS[0], LABELLED), (SOFT, ALL))


def draw(results: SklrResults) -> list[Path]:
    """Draw every figure.

    Returns
    -------
    list of Path
        The pictures.
    """
    import matplotlib

    matplotlib.use("Agg")
    drawn = [_curves(results, sampling) for sampling in SAMPLINGS]
    drawn += [_equalities(results), _wrong(results)]
    if USPS in results.study.found_sets:
        drawn.append(_tsne(results))
    return drawn


def _curves(results: SklrResults, sampling: str) -> Path:
    study = results.study
    figure, grid = panels(len(study.found_sets), len(PANELS))
    for row, name in zip(grid, study.found_sets, strict=True):
        for place, column in zip(row, PANELS, strict=True):
            for method in METHODS:
                cells = panel_cells(study, column, method, sampling)
                points, color = (method, cells), COLORS[method.name]
                draw_curve(place, results, name, points, study.sizes, column.target, color=color)
            place.set_title(f"{name} {column.title}", fontsize=9)
            tidied(place)
        row[0].set_ylabel("ARI", fontsize=9)
        legend_beside(row[-1])
    for place in grid[-1]:
        place.set_xlabel("labelled rows of each class", fontsize=9)
    figure.suptitle(f"Answers {sampling} (mean ± standard error)", fontsize=11)
    return saved(figure, study, CURVES[sampling])


def _equalities(results: SklrResults) -> Path:
    study = results.study
    figure, grid = panels(1, len(study.found_sets))
    for place, name in zip(grid[0], study.found_sets, strict=True):
        for method in (SOFT, PUBLISHED):
            for with_apart in (False, True):
                kind = "one class or three" if with_apart else "one class"
                cells = study.equal_cells(with_apart=with_apart)
                style = {
                    "color": COLORS[method.name],
                    "label": f"{method.label}, {kind}",
                    "linestyle": "--" if with_apart else "-",
                }
                draw_curve(place, results, name, (method, cells), EQUALITIES, "multi", **style)
        place.set_title(name, fontsize=9)
        place.set_xlabel("equalities", fontsize=9)
        tidied(place)
    grid[0, 0].set_ylabel("ARI", fontsize=9)
    legend_beside(grid[0, -1])
    return saved(figure, study, "equalities")


def _wrong(results: SklrResults) -> Path:
    study = results.study
    figure, grid = panels(1, len(study.found_sets))
    x = [100 * share for share in (0.0, *WRONG)]
    for place, name in zip(grid[0], study.found_sets, strict=True):
        for method in (KERNEL_KMEANS, SOFT, HARD, *COMPARATORS):
            cells = study.wrong_cells(method) if method.uses_answers else [NO_ANSWERS] * len(x)
            color = COLORS[method.name]
            draw_curve(place, results, name, (method, cells), x, "multi", color=color)
        place.set_title(name, fontsize=9)
        place.set_xlabel("wrong answers, %", fontsize=9)
        tidied(place)
    grid[0, 0].set_ylabel("ARI", fontsize=9)
    legend_beside(grid[0, -1])
    return saved(figure, study, "wrong")


def _tsne(results: SklrResults) -> Path:
    """Show the digits as given, and as two methods see them after the largest mixed answers."""
    study, problem = results.study, problem_named(USPS)
    sample = problem.sample(0)
    figure, grid = panels(1, 1 + len(SHOWN))
    _map(grid[0, 0], sample.X, sample.y, "as given")
    for place, (method, source) in zip(grid[0, 1:], SHOWN, strict=True):
        known = problem.answers(sample, Cell("mixed", study.sizes[-1], source), 0)
        found = run_method(method, sample.X, known, (2,), 0)
        if found.embedding is not None:
            _map(place, found.embedding, sample.y, method.label)
    figure.suptitle("USPS digits by t-SNE: colours are digits; dots even, crosses odd", fontsize=11)
    return saved(figure, study, "tsne")


def _map(place: Any, Z: NDArray[np.float64], y: dict[str, NDArray[np.int64]], title: str) -> None:
    flat = TSNE(2, init="pca", random_state=0).fit_transform(Z)
    for is_even, marker in ((1, "."), (0, "x")):
        shown = y["binary"] == is_even
        style = {"cmap": "tab10", "vmin": 0, "vmax": 9, "s": 9, "linewidths": 0.6}
        place.scatter(*flat[shown].T, c=y["multi"][shown], marker=marker, **style)
    place.set_title(title, fontsize=9)
    place.set_xticks([])
    place.set_yticks([])
