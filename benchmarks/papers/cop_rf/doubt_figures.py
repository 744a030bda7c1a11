"""The picture of Figure 14: how far wrong answers stand apart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._harness import markdown_table
from benchmarks.papers._pictures import RED, SKY, picture_name, saved
from benchmarks.papers.cop_rf.areas import Areas
from benchmarks.papers.cop_rf.doubts import DOUBTS, QUANTILES, Doubt, doubt_cells
from benchmarks.papers.cop_rf.protocol import MIDDLE, TABLE_III_ERROR, Cell, Problem

__all__ = ["doubt_report", "draw_doubts"]

MEDIAN = QUANTILES.index(0.5)


def doubt_report(areas: Areas, problems: Sequence[Problem]) -> list[str]:
    """Give the AUCs: how often a wrong answer gets a higher score than a right one."""
    lines = [
        f"AUC of telling wrong answers from right ones, {TABLE_III_ERROR:.0%} of them wrong. In "
        "the picture, with .3 % of the pairs: medians and quartiles, and whiskers from the 5th to "
        "the 95th percentile of the scores, each averaged over the trials.",
        "",
    ]
    for problem in problems:
        cells = doubt_cells(problem, DOUBTS[0])
        header = [problem.name, *(f"{cell.amount} answers" for cell in cells)]
        rows = [
            [doubt.label, *(areas.score(problem, doubt, cell, "auc") for cell in cells)]
            for doubt in DOUBTS
        ]
        lines += [markdown_table(header, rows), "", _apart(areas, problem, cells[MIDDLE]), ""]
    return [*lines, f"![Scores of answers]({picture_name(areas.study, 'doubts')})", ""]


def _apart(areas: Areas, problem: Problem, cell: Cell) -> str:
    found = [areas.values(problem, DOUBTS[0], cell, kind).values() for kind in ("right", "wrong")]
    if not all(found):
        return ""
    right, wrong = (float(np.mean(list(values), axis=0)[MEDIAN]) for values in found)
    verdict = "yes" if wrong > right else "**no**"
    return (
        "The paper: wrong answers have a much higher median inconsistency. On "
        f"{problem.name}, with {cell.amount} answers: {verdict}, {wrong:.3f} against {right:.3f}."
    )


def draw_doubts(areas: Areas, problems: Sequence[Problem]) -> list[Path]:
    """Draw boxes of right and of wrong answers, a row a set and a column a score."""
    import matplotlib.pyplot as plt

    if not problems:
        return []
    size = (3.0 * len(DOUBTS), 2.4 * len(problems) + 0.3)
    figure, grid = plt.subplots(
        len(problems), len(DOUBTS), figsize=size, squeeze=False, layout="constrained"
    )
    for panels, problem in zip(grid, problems, strict=True):
        for panel, doubt in zip(panels, DOUBTS, strict=True):
            _boxes(panel, areas, problem, doubt)
        panels[0].set_ylabel(problem.name, fontsize=10)
    for panel, doubt in zip(grid[0], DOUBTS, strict=True):
        panel.set_title(doubt.label, fontsize=9)
    figure.suptitle(f"Scores of answers, {TABLE_III_ERROR:.0%} of them wrong", fontsize=11)
    return [saved(figure, areas.study, "doubts")]


def _boxes(panel: Any, areas: Areas, problem: Problem, doubt: Doubt) -> None:
    cell = doubt_cells(problem, doubt)[MIDDLE]
    boxes = []
    for kind in ("right", "wrong"):
        found = list(areas.values(problem, doubt, cell, kind).values())
        if not found:
            return
        names = ("whislo", "q1", "med", "q3", "whishi")
        boxes.append(dict(zip(names, np.mean(found, axis=0), strict=True)) | {"fliers": []})
    drawn = panel.bxp(boxes, patch_artist=True, widths=0.5, showfliers=False)
    for patch, color in zip(drawn["boxes"], (SKY, RED), strict=True):
        patch.set_facecolor(color)
    for line in drawn["medians"]:
        line.set_color("black")
    panel.set_xticks([1, 2], ["right", "wrong"])
    panel.set_xlabel(f"AUC {areas.score(problem, doubt, cell, 'auc')}", fontsize=8)
    panel.tick_params(labelsize=8)
    panel.spines[["top", "right"]].set_visible(False)
