"""Figure 13: affinity propagation on faces, the more pairs are answered."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._harness import markdown_table
from benchmarks.papers._pictures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    RED,
    SKY,
    line,
    picture_name,
    saved,
    tidied,
)
from benchmarks.papers._scores import Score
from benchmarks.papers.cop_rf.areas import Areas
from benchmarks.papers.cop_rf.faces import (
    DISTANCES,
    EXEMPLARS,
    FACES,
    N_COORDINATES,
    PIXELS,
    Exemplars,
    face_cells,
)
from benchmarks.papers.cop_rf.protocol import Problem

__all__ = ["draw_faces", "face_report"]

ABOUT = f"""\
The paper's 900 images are ten of each of ten people, each turned and scaled in nine ways. They
could be had as distances alone: `{DISTANCES}`, with inferred labels. As the squares of these are
Euclidean, forests get {N_COORDINATES} coordinates made of them by classical scaling: not pixels,
but as far apart. `{PIXELS}` holds the 400 images of 40 people that they come from, all of them
used, with 64×64 pixels; each image has mean 0 and variance .1. Only one pair in 41 shows one
person there (one in ten in the 900), so almost every answer is a cannot-link.

Affinity propagation is scikit-learn's, with the median similarity as preference, as in the paper
it follows; it decides on the number of groups by itself. In the second table the preference is
searched, in seven runs, until the number of groups is that of the people, with damping .7, or .9
where messages do not settle: no truth but this number is used, and where no run hits it the nearest
counts. Links are `LinkedAffinity`'s, RF is `ClustRF`."""
COLORS = {
    "faces_eucl": GREY,
    "faces_eucl_links": GREY,
    "faces_rf": ORANGE,
    "faces_rf_links": ORANGE,
    "faces_coprf_hard": RED,
    "faces_coprf": BLUE,
    "faces_knn": PINK,
    "faces_sl": SKY,
    "faces_e2cp": GREEN,
}
ENDS = {"": "median preference", "_at_k": "as many groups as people"}


def face_report(areas: Areas, problems: Sequence[Problem]) -> list[str]:
    """Give both tables of every set, and say what of Figure 13 reproduces."""
    lines = [ABOUT, ""]
    for problem in problems:
        title = f"{problem.name}: {len(problem.y)} images of {problem.n_classes} people"
        lines += [f"### {title}", ""]
        lines += [_table(areas, problem, ""), "", _table(areas, problem, "_at_k"), ""]
        lines += [*_claims(areas, problem), ""]
    return [*lines, f"![Affinity propagation on faces]({picture_name(areas.study, 'faces')})", ""]


def _table(areas: Areas, problem: Problem, end: str) -> str:
    cells = face_cells(problem, EXEMPLARS[0])
    header = [ENDS[end], *(f"{cell.amount} answers" for cell in cells), "groups", "not converged"]
    rows: list[list[object]] = []
    for measure in FACES if end else EXEMPLARS:
        is_exemplars = isinstance(measure, Exemplars)
        field = f"ari{end}" if is_exemplars else "ari"
        row: list[object] = [measure.label]
        row += [areas.score(problem, measure, cell, field) for cell in cells]
        rows.append(row + (_groups(areas, problem, measure, end) if is_exemplars else [None, None]))
    return markdown_table(header, rows)


def _groups(areas: Areas, problem: Problem, measure: Exemplars, end: str) -> list[object]:
    """Give the mean number of groups, and how often the messages did not settle."""
    found = [
        [*areas.values(problem, measure, cell, f"{field}{end}").values()]
        for field in ("n_groups", "is_converged")
        for cell in face_cells(problem, measure)
    ]
    half = len(found) // 2
    groups, converged = (list(chain(*part)) for part in (found[:half], found[half:]))
    if not groups:
        return [None, None]
    return [f"{np.mean(groups):.0f}", f"{1 - np.mean(converged):.0%}"]


def _claims(areas: Areas, problem: Problem) -> list[str]:
    """Judge what the paper says of Figure 13, by the mean over the five amounts."""
    lines = []
    for end, what in ENDS.items():
        mean = {m.name: _mean(areas, problem, m, f"ari{end}") for m in EXEMPLARS}
        if any(np.isnan(score.mean) for score in mean.values()):
            continue
        pairs = (
            ("RF", "Eucl", "faces_rf", "faces_eucl"),
            ("RF+Links", "RF", "faces_rf_links", "faces_rf"),
            ("COP-RF hard", "RF+Links", "faces_coprf_hard", "faces_rf_links"),
            ("COP-RF default", "RF+Links", "faces_coprf", "faces_rf_links"),
        )
        said = [
            f"{a} {mean[x]} against {b} {mean[y]} "
            f"({'above' if mean[x].mean > mean[y].mean else '**not above**'})"
            for a, b, x, y in pairs
        ]
        lines.append(f"- {what}, mean over the amounts: {'; '.join(said)}.")
    if not lines:
        return []
    return ["The paper has RF above Eucl, links of little help, and COP-RF above all:", "", *lines]


def _mean(areas: Areas, problem: Problem, measure: Exemplars, field: str) -> Score:
    points = [areas.values(problem, measure, c, field) for c in face_cells(problem, measure)]
    complete = set.intersection(*map(set, points))
    return Score.of({t: float(np.mean([point[t] for point in points])) for t in complete})


def draw_faces(areas: Areas, problems: Sequence[Problem]) -> list[Path]:
    """Draw a row for each preference, a column for each set."""
    import matplotlib.pyplot as plt

    if not problems:
        return []
    size = (3.8 * len(problems) + 2.4, 6.0)
    figure, grid = plt.subplots(
        len(ENDS), len(problems), figsize=size, squeeze=False, layout="constrained"
    )
    for panels, (end, what) in zip(grid, ENDS.items(), strict=True):
        for panel, problem in zip(panels, problems, strict=True):
            _panel(panel, areas, problem, end)
            panel.set_title(f"{problem.name}, {what}", fontsize=9)
        panels[0].set_ylabel("adjusted Rand index", fontsize=9)
    handles, labels = grid[-1][-1].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=8)
    figure.suptitle("Affinity propagation on faces (mean ± standard error)", fontsize=11)
    return [saved(figure, areas.study, "faces")]


def _panel(panel: Any, areas: Areas, problem: Problem, end: str) -> None:
    for measure in EXEMPLARS:
        cells = face_cells(problem, measure)
        points = [areas.values(problem, measure, cell, f"ari{end}") for cell in cells]
        trials = sorted(set.intersection(*map(set, points)))
        curves = [[point[t] for point in points] for t in trials]
        is_linked = measure.uses_answers and "coprf" not in measure.name
        style = "--" if is_linked else "-" if measure.uses_answers else ":"
        color = COLORS[measure.name]
        line(panel, problem.amounts, curves, label=measure.label, color=color, linestyle=style)
    panel.set_xticks(problem.amounts, [f"{amount:g}" for amount in problem.amounts])
    panel.set_xlabel("answers", fontsize=9)
    tidied(panel)
