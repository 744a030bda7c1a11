"""Figures 2 and 4 to 7."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

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
from benchmarks.papers._relative.methods import Method
from benchmarks.papers.dcrc.boundaries import EPSILONS, SPREADS, fitted, plane
from benchmarks.papers.dcrc.methods import (
    COMPARATORS,
    DEFAULT,
    E2CP_PAIRS,
    FREE,
    HARD,
    KERNEL,
    KMEANS,
    LINEAR,
    METHODS,
    PUBLISHED,
    SKLR_TRIPLETS,
    YES_NO,
)
from benchmarks.papers.dcrc.protocol import NO_ANSWERS
from benchmarks.papers.dcrc.study import DcrcResults
from clew.questions import pair_information, triplet_information

__all__ = ["draw"]

COLORS = dict(
    zip(
        (m.name for m in METHODS),
        (
            BLUE,
            GREY,
            BLUE,
            SKY,
            PINK,
            RED,
            ORANGE,
            GREEN,
            ORANGE,
            RED,
            SKY,
            PINK,
            GREY,
            GREEN,
            "black",
        ),
        strict=True,
    )
)
DASHED = (LINEAR, KERNEL, YES_NO, HARD, FREE, SKLR_TRIPLETS, E2CP_PAIRS)
SHOWN = (
    DEFAULT,
    YES_NO,
    PUBLISHED,
    *COMPARATORS,
    KMEANS,
    LINEAR,
    KERNEL,
    SKLR_TRIPLETS,
    E2CP_PAIRS,
)
N_CLUSTERS = np.arange(2, 21)


def draw(results: DcrcResults) -> list[Path]:
    """Draw every figure.

    Returns
    -------
    list of Path
        The pictures.
    """
    import matplotlib

    matplotlib.use("Agg")
    return [
        _information(results),
        _curves(results, SHOWN, "curves", with_none=False),
        _entropy(results),
        _curves(results, (LINEAR, HARD), "hard", with_none=False),
        _curves(results, (LINEAR, FREE, KMEANS), "balance", with_none=True),
    ]


def _information(results: DcrcResults) -> Path:
    figure, grid = panels(1, 1)
    curves = {
        "triplet, with don't-know": triplet_information(N_CLUSTERS),
        "triplet, yes or no alone": triplet_information(N_CLUSTERS, dont_know=False),
        "pair": pair_information(N_CLUSTERS),
    }
    for (label, values), color in zip(curves.items(), (BLUE, SKY, ORANGE), strict=True):
        grid[0, 0].plot(N_CLUSTERS, values, marker="o", markersize=3, label=label, color=color)
    grid[0, 0].set_xlabel("groups", fontsize=9)
    grid[0, 0].set_ylabel("mutual information, nats", fontsize=9)
    tidied(grid[0, 0])
    legend_beside(grid[0, 0])
    return saved(figure, results.study, "information")


def _curves(results: DcrcResults, methods: Sequence[Method], stem: str, *, with_none: bool) -> Path:
    """Draw F above and ARI below, a column for each set."""
    study = results.study
    cells = [NO_ANSWERS] * with_none + study.curve
    figure, grid = panels(2, len(study.found_sets))
    for row, (field, label) in zip(grid, (("f", "F-measure"), ("ari", "ARI")), strict=True):
        for place, name in zip(row, study.found_sets, strict=True):
            for method in methods:
                own = cells if method.uses_answers else [NO_ANSWERS] * len(cells)
                style = {"color": COLORS[method.name], "linestyle": _stroke(method)}
                x = [cell.share for cell in cells]
                draw_curve(place, results, name, (method, own), x, field, **style)
            place.set_title(name, fontsize=9)
            tidied(place)
        row[0].set_ylabel(label, fontsize=9)
        legend_beside(row[-1])
    for place in grid[-1]:
        place.set_xlabel("triplets / N", fontsize=9)
    figure.suptitle("Mean ± standard error", fontsize=11)
    return saved(figure, study, stem)


def _stroke(method: Method) -> str:
    return ":" if not method.uses_answers else "--" if method in DASHED else "-"


def _entropy(results: DcrcResults) -> Path:
    figure, grid = panels(len(SPREADS), len(EPSILONS))
    for row, spread in zip(grid, SPREADS, strict=True):
        for place, kind in zip(row, EPSILONS, strict=True):
            _shaded(place, spread, kind)
    return saved(figure, results.study, "entropy")


def _shaded(place: Any, spread: str, kind: str) -> None:
    """Shade the plane by how unsure the groups are, and show the rows."""
    given, (model, share) = plane(spread), fitted(spread, kind)
    low, high = given.X.min(axis=0) - 0.5, given.X.max(axis=0) + 0.5
    x, y = (np.linspace(*ends, 120) for ends in zip(low, high, strict=True))
    points = np.column_stack([of.ravel() for of in np.meshgrid(x, y)])
    chances = np.clip(model.predict_proba(points), 1e-12, 1)
    entropy = -(chances * np.log(chances)).sum(axis=1).reshape(len(y), len(x))
    place.contourf(x, y, entropy, levels=12, cmap="Greys", alpha=0.7)
    colors = np.array([BLUE, PINK, GREEN])[model.labels_]
    place.scatter(*given.X.T, c=colors, s=8)
    place.set_title(f"{spread}, {kind}: {share:.1%}", fontsize=9)
    place.set_xticks([])
    place.set_yticks([])
