"""The figures that belong to the tables: a small panel for each data set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._harness import RESULTS
from benchmarks.papers.cop_rf.areas import Areas
from benchmarks.papers.cop_rf.methods import METHODS, Method
from benchmarks.papers.cop_rf.protocol import TABLES, Problem, Table

__all__ = ["draw"]

#: Colours that stay apart for colour-blind readers (Okabe and Ito); what sees answers is solid.
STYLES: dict[str, dict[str, Any]] = {
    "spclust": {"color": "#999999", "linestyle": ":"},
    "spclust_auto": {"color": "#56B4E9", "linestyle": ":"},
    "ward": {"color": "#009E73", "linestyle": "--"},
    "clustrf": {"color": "#E69F00", "linestyle": "--"},
    "coprf_hard": {"color": "#D55E00", "marker": "s"},
    "coprf": {"color": "#0072B2", "marker": "o", "linewidth": 2.0},
}


def draw(areas: Areas) -> list[Path]:
    """Draw one picture a table.

    Returns
    -------
    list of Path
        The pictures.
    """
    import matplotlib

    matplotlib.use("Agg")
    return [_figure(areas, table) for table in TABLES]


def _figure(areas: Areas, table: Table) -> Path:
    import matplotlib.pyplot as plt

    n = len(areas.fair)
    width = min(n, 3)
    height = -(-n // width)
    figure, grid = plt.subplots(
        height,
        width,
        figsize=(3.6 * width, 2.9 * height + 0.9),
        squeeze=False,
        layout="constrained",
    )
    panels = grid.ravel()
    for panel, problem in zip(panels, areas.fair, strict=False):
        _panel(panel, areas, problem, table)
    for panel in panels[n:]:
        panel.set_axis_off()
    for row in grid:
        row[0].set_ylabel("adjusted Rand index")
    lines, labels = panels[0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    figure.suptitle(f"{table.title} (mean ± standard error)", fontsize=11)
    path = RESULTS / f"{areas.study.stem}_{table.stem}.png"
    figure.savefig(path, dpi=130, metadata={"Software": None})
    plt.close(figure)
    return path


def _panel(panel: Any, areas: Areas, problem: Problem, table: Table) -> None:
    x = table.ticks(problem.amounts)
    for method in METHODS:
        _line(panel, x, areas, problem, method, table)
    panel.set_title(
        f"{problem.name} ({len(problem.y)} rows, {problem.n_classes} classes)", fontsize=9
    )
    panel.set_xlabel(table.axis, fontsize=9)
    panel.set_xticks(x, [f"{value:g}" for value in x])
    panel.tick_params(labelsize=8)
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)


def _line(
    panel: Any, x: list[float], areas: Areas, problem: Problem, method: Method, table: Table
) -> None:
    curves = list(areas.curves(problem, method, table).values())
    if not curves:
        return
    style: dict[str, Any] = {"linewidth": 1.4, "markersize": 4} | STYLES[method.name]
    mean = np.mean(curves, axis=0)
    panel.plot(x, mean, label=method.label, **style)
    if len(curves) > 1:
        error = np.std(curves, axis=0, ddof=1) / np.sqrt(len(curves))
        panel.fill_between(x, mean - error, mean + error, color=style["color"], alpha=0.15, lw=0)
