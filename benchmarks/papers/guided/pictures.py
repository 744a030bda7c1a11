"""Two pictures: ARI by the number of answers, and what each step is worth."""

from __future__ import annotations

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
    line,
    panels,
    saved,
    tidied,
)
from benchmarks.papers.guided.ablations import ABLATIONS
from benchmarks.papers.guided.figures import EVERYWHERE, Figures, main_cells
from benchmarks.papers.guided.methods import GUIDED, Method
from benchmarks.papers.guided.other_tables import ablated

__all__ = ["draw"]

N_OTHERS = 6
COLORS = (BLUE, RED, GREEN, ORANGE, PINK, SKY, GREY)


def draw(figures: Figures) -> list[Path]:
    """Draw both.

    Returns
    -------
    list of Path
        The pictures.
    """
    import matplotlib

    matplotlib.use("Agg")
    return [_curves(figures), _bars(figures)]


def shown(figures: Figures) -> list[Method]:
    """Give guided clustering and the best others."""
    cells = main_cells(figures.results)
    scores = {method: figures.mean(cells, method).mean for method in EVERYWHERE}
    others = [m for m, mean in scores.items() if m is not GUIDED and not np.isnan(mean)]
    return [GUIDED, *sorted(others, key=lambda m: -scores[m])[:N_OTHERS]]


def _curves(figures: Figures) -> Any:
    errors = figures.results.study.errors
    figure, places = panels(1, len(errors))
    names = figures.results.study.found_sets
    for panel, error in zip(places[0], errors, strict=True):
        cells = main_cells(figures.results, error)
        ticks = list(range(len(cells)))
        for method, color in zip(shown(figures), COLORS, strict=False):
            by_cell = [figures.over(names, [cell], method, EVERYWHERE) for cell in cells]
            trials = set.intersection(*map(set, by_cell)) if by_cell else set()
            curves = [[values[trial] for values in by_cell] for trial in sorted(trials)]
            width = 2.2 if method is GUIDED else 1.1
            line(panel, ticks, curves, color=color, label=method.label, marker="o", linewidth=width)
        panel.set_xticks(ticks, [cell.amount for cell in cells])
        panel.set_title(f"{100 * error:g} % wrong", fontsize=9)
        tidied(panel)
    places[0][0].set_ylabel("mean ARI over sets", fontsize=8)
    legend_beside(places[0][-1])
    return saved(figure, figures.results.study, "curves")


def _bars(figures: Figures) -> Any:
    errors = figures.results.study.errors
    figure, places = panels(1, 1)
    panel = places[0][0]
    figure.set_size_inches(7.5, 3.6)
    methods = (GUIDED, *ABLATIONS)
    rows = np.arange(len(methods))
    height = 0.8 / len(errors)
    for at, (error, color) in enumerate(zip(errors, (BLUE, SKY, GREY), strict=False)):
        scores = [ablated(figures, method, error) for method in methods]
        means = np.nan_to_num([score.mean for score in scores])
        spread = np.nan_to_num([score.error for score in scores])
        label = f"{100 * error:g} % wrong"
        panel.barh(rows + at * height, means, height, xerr=spread, color=color, label=label)
    labels = ["all steps", *(method.label for method in ABLATIONS)]
    panel.set_yticks(rows + 0.4 - height / 2, labels)
    panel.invert_yaxis()
    panel.set_xlabel("mean ARI", fontsize=8)
    tidied(panel)
    legend_beside(panel)
    return saved(figure, figures.results.study, "ablations")
