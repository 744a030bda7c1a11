"""The pictures of Figure 6, and the figures beside them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks._harness import markdown_table
from benchmarks.papers._identity import seed_of
from benchmarks.papers._pictures import matrix_picture, picture_name, saved
from benchmarks.papers.cop_rf.areas import Areas
from benchmarks.papers.cop_rf.blocks import BLOCKS, block_cells
from benchmarks.papers.cop_rf.measures import Inputs
from benchmarks.papers.cop_rf.protocol import Problem

__all__ = ["block_report", "draw_blocks"]

N_COLORS = 64
ABOUT = """\
Rows are sorted by class; the pictures are of the first trial, the figures of all. AUC: how often
two rows of one class are more alike than two rows of different classes. Within: the mean affinity
within classes, as a share of it and of that between classes; .5 is no structure, 1 leaves nothing
between classes. SL and E2CP hold few affinities that are not nil, forests hold all: the AUC says
more of a forest, the share more of a graph."""


def block_report(areas: Areas, problems: Sequence[Problem]) -> list[str]:
    """Put the figures beside the pictures."""
    lines = [ABOUT, ""]
    for problem in problems:
        cells = block_cells(problem, BLOCKS[0])
        fields = (("AUC", "auc"), ("within", "within"))
        header = [
            problem.name,
            *(f"{name}, {c.amount} answers" for name, _ in fields for c in cells),
        ]
        rows = [
            [
                block.label,
                *(areas.score(problem, block, c, field) for _, field in fields for c in cells),
            ]
            for block in BLOCKS
        ]
        picture = picture_name(areas.study, f"blocks_{problem.name}")
        lines += [markdown_table(header, rows), "", f"![Affinities, {problem.name}]({picture})", ""]
        lines += [_clearest(areas, problem), ""]
    return lines


def _clearest(areas: Areas, problem: Problem) -> str:
    """Say whether COP-RF has the most distinct blocks, as the paper sees it."""
    least, *_, most = block_cells(problem, BLOCKS[0])
    auc = {b.name: areas.score(problem, b, most, "auc").mean for b in BLOCKS}
    if any(np.isnan(value) for value in auc.values()):
        return ""
    others = max(auc[name] for name in ("block_sl", "block_e2cp", "block_rf_e2cp"))
    grows = areas.score(problem, BLOCKS[3], least, "auc").mean < auc["block_coprf_hard"]
    said = {True: "yes", False: "**no**"}
    return (
        "The paper sees the most distinct blocks with COP-RF, clearer with more answers. By the "
        f"AUC with {most.amount} answers on {problem.name}: hard COP-RF above SL, E2CP and "
        f"RF+E2CP: {said[auc['block_coprf_hard'] > others]}; the default above them: "
        f"{said[auc['block_coprf'] > others]}; hard COP-RF above itself with {least.amount} "
        f"answers: {said[grows]}."
    )


def draw_blocks(areas: Areas, problems: Sequence[Problem]) -> list[Path]:
    """Draw one picture a set: a column for each method, more answers further down."""
    return [_draw(areas, problem) for problem in problems]


def _draw(areas: Areas, problem: Problem) -> Path:
    import matplotlib.pyplot as plt

    n_trees, seed = areas.study.n_trees, seed_of("method", problem.name, 0)
    inputs = Inputs(problem, n_trees, seed)
    order = np.argsort(problem.y, kind="stable")
    cells = block_cells(problem, BLOCKS[0])
    size = (2.1 * len(BLOCKS), 2.25 * len(cells) + 0.4)
    figure, grid = plt.subplots(len(cells), len(BLOCKS), figsize=size, layout="constrained")
    for panels, cell in zip(grid, cells, strict=True):
        answers = problem.answers(cell, 0)
        for panel, block in zip(panels, BLOCKS, strict=True):
            affinity = block.affinity(inputs, n_trees, answers, seed)[np.ix_(order, order)]
            matrix_picture(panel, affinity, np.bincount(problem.y))
            panel.set_xlabel(f"AUC {areas.score(problem, block, cell, 'auc').mean:.3f}", fontsize=8)
        panels[0].set_ylabel(f"{cell.amount} answers", fontsize=9)
    for panel, block in zip(grid[0], BLOCKS, strict=True):
        panel.set_title(block.label, fontsize=9)
    figure.suptitle(f"Affinities on {problem.name}, rows sorted by class", fontsize=11)
    return _in_few_colors(saved(figure, areas.study, f"blocks_{problem.name}"))


def _in_few_colors(path: Path) -> Path:
    """Write a picture anew with a palette: affinities look like noise, which hardly packs."""
    from PIL import Image

    with Image.open(path) as picture:
        small = picture.convert("RGB").quantize(N_COLORS)
    small.save(path, optimize=True)
    return path
