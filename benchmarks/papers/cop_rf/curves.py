"""Figures 7, 9 and 10: the curves of which the tables give the areas."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.papers._pictures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    RED,
    SKY,
    legend_beside,
    line,
    saved,
    tidied,
)
from benchmarks.papers.cop_rf.areas import Areas
from benchmarks.papers.cop_rf.methods import METHODS, Method, method_named
from benchmarks.papers.cop_rf.protocol import TABLES, Problem, Table

__all__ = ["draw_curves"]

#: One colour a method; what the paper has is dashed, and where nobody is asked it is dotted.
COLORS = {
    "spclust": GREY,
    "ward": GREEN,
    "clustrf": ORANGE,
    "cop_kmeans": SKY,
    "pckmeans": PINK,
    "mpckmeans": RED,
    "constrained_linkage": GREEN,
    "sl": SKY,
    "e2cp": GREEN,
    "rf_e2cp": ORANGE,
    "coprf": BLUE,
    "coprf_e2cp": PINK,
}
REFERENCE = "coprf"
ROWS = {
    "answers in the similarity": [m for m in METHODS if m.family == "in the similarity"],
    "answers in the clusterer, or none": [
        method_named(REFERENCE),
        *(m for m in METHODS if m.family != "in the similarity"),
    ],
}


def draw_curves(areas: Areas) -> list[Path]:
    """Draw one picture a table: a column for each set, a row for each kind of method."""
    return [_figure(areas, table) for table in TABLES] if areas.fair else []


def _figure(areas: Areas, table: Table) -> Path:
    import matplotlib.pyplot as plt

    n = len(areas.fair)
    figure, grid = plt.subplots(
        len(ROWS), n, figsize=(2.9 * n + 2.2, 6.6), squeeze=False, sharey="col",
        layout="constrained",
    )  # fmt: skip
    for panels, (kind, methods) in zip(grid, ROWS.items(), strict=True):
        for panel, problem in zip(panels, areas.fair, strict=True):
            _panel(panel, areas, problem, methods, table)
        panels[0].set_ylabel(f"adjusted Rand index\n{kind}", fontsize=9)
        legend_beside(panels[-1])
    for panel, problem in zip(grid[0], areas.fair, strict=True):
        panel.set_title(
            f"{problem.name} ({len(problem.y)} rows, {problem.n_classes} classes)", fontsize=9
        )
    for panel in grid[-1]:
        panel.set_xlabel(table.axis, fontsize=9)
    figure.suptitle(f"{table.title} (mean ± standard error; a refusal counts as 0)", fontsize=11)
    return saved(figure, areas.study, table.stem)


def _panel(
    panel: Any, areas: Areas, problem: Problem, methods: Sequence[Method], table: Table
) -> None:
    x = table.ticks(problem.amounts)
    for method in methods:
        curves = list(areas.curves(problem, method, table).values())
        line(panel, x, curves, label=method.label, **_style(method))
    panel.set_xticks(x, [f"{value:g}" for value in x])
    tidied(panel)


def _style(method: Method) -> dict[str, Any]:
    name = method.name.removesuffix("_paper").removesuffix("_hard").removesuffix("_auto")
    is_published = method.name in ("spclust", "coprf_hard") or method.name.endswith("_paper")
    style: dict[str, Any] = {"color": COLORS[name], "linestyle": "--" if is_published else "-"}
    if not method.uses_answers:
        style["linestyle"] = "-." if is_published else ":"
    if method.name == REFERENCE:
        style |= {"linewidth": 2.0, "marker": "o"}
    return style
