"""Figure 11: how much better COP-RF is than other propagation, the more answers are wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks._harness import markdown_table
from benchmarks.papers._pictures import (
    BLUE,
    RED,
    legend_beside,
    picture_name,
    saved,
    tidied,
)
from benchmarks.papers._scores import Score
from benchmarks.papers.cop_rf.areas import Areas
from benchmarks.papers.cop_rf.methods import Method, method_named
from benchmarks.papers.cop_rf.protocol import ERRORS, TABLES, Problem

__all__ = ["draw_improvement", "improvement_report", "relative_gain"]

OURS = ("coprf_hard", "coprf")
OTHERS = ("e2cp_paper", "rf_e2cp_paper")
COLORS = {"coprf_hard": RED, "coprf": BLUE}
STYLES = {"e2cp_paper": "-", "rf_e2cp_paper": "--"}
#: What the paper says, in per cent, averaged over its six sets.
PAPER = {("e2cp_paper", 0.05): 63, ("rf_e2cp_paper", 0.05): 2}
PAPER |= {("e2cp_paper", 0.30): 48, ("rf_e2cp_paper", 0.30): 8}
NOISY = TABLES[2]
TICKS = (-100, -50, 0, 50, 100, 1000)


def relative_gain(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Score:
    """Say by how many per cent of theirs our mean is larger.

    The error is the jackknife's over trials: a ratio of single trials would have no mean where
    theirs come near 0.
    """
    trials = sorted(ours.keys() & theirs.keys())
    a, b = (np.array([values[t] for t in trials]) for values in (ours, theirs))
    if not len(trials) or b.mean() <= 0:
        return Score(float("nan"), float("nan"))
    n = len(trials)
    gain = float(100 * (a.mean() / b.mean() - 1))
    rest = (b.sum() - b) / max(n - 1, 1)
    if n < 2 or (rest <= 0).any():
        return Score(gain, float("nan"))
    without = 100 * ((a.sum() - a) / (n - 1) / rest - 1)
    return Score(gain, float(np.sqrt((n - 1) * without.var())))


def _gain(areas: Areas, problems: Sequence[Problem], names: tuple[str, str], place: int) -> Score:
    ours, theirs = (areas.at_place(problems, method_named(name), NOISY, place) for name in names)
    return relative_gain(ours, theirs)


def _cell(score: Score) -> str:
    if np.isnan(score.mean):
        return "–"
    return f"{score.mean:.0f}" + ("" if np.isnan(score.error) else f" ± {score.error:.0f}")


def improvement_report(areas: Areas) -> list[str]:
    """Give the improvement in per cent, for each set and of the averages."""
    lines = [
        "Relative improvement of the ARI in per cent, of the means over trials, with .3 % of the "
        "pairs answered (digits: 1000). Of an average: of the mean ARI over the sets, which is how "
        "the paper's 63 and 48 % follow from its Table IV. Both E2CP have the paper's graph.",
        "",
    ]
    groups = {problem.name: [problem] for problem in areas.fair} | areas.averages
    for theirs in OTHERS:
        header = [f"over {method_named(theirs).label}", "ours", *(f"{e:.0%}" for e in ERRORS)]
        rows = [
            [name, method_named(ours).label]
            + [_cell(_gain(areas, problems, (ours, theirs), i)) for i in range(len(ERRORS))]
            for name, problems in groups.items()
            for ours in OURS
        ]
        said = [PAPER.get((theirs, error)) for error in ERRORS]
        rows.append(["the paper's average of 6", "COP-RF", *said])
        lines += [markdown_table(header, rows), ""]
    picture = picture_name(areas.study, "improvement")
    return [*lines, f"![Relative improvement by share of wrong answers]({picture})", ""]


def draw_improvement(areas: Areas) -> list[Path]:
    """Draw a panel for each set: improvement over both, by share of wrong answers."""
    import matplotlib.pyplot as plt

    if not areas.fair:
        return []
    n = len(areas.fair)
    figure, grid = plt.subplots(
        1, n, figsize=(2.6 * n + 2.6, 3.1), squeeze=False, layout="constrained"
    )
    for panel, problem in zip(grid[0], areas.fair, strict=True):
        for ours in OURS:
            for theirs in OTHERS:
                _line(panel, areas, problem, (ours, theirs))
        panel.axhline(0, color="black", linewidth=0.8)
        # Where the others come near 0, a ratio has no bounds: straight up to 100 %, then by powers.
        panel.set_yscale("symlog", linthresh=100)
        panel.set_ylim(-100, 3000)
        panel.set_yticks(TICKS, [f"{tick:+d}" for tick in TICKS])
        panel.set_title(problem.name, fontsize=9)
        panel.set_xlabel("wrong answers, %", fontsize=9)
        tidied(panel)
    grid[0][0].set_ylabel("improvement of the ARI, %", fontsize=9)
    legend_beside(grid[0][-1])
    figure.suptitle("Relative improvement of COP-RF over other propagation", fontsize=11)
    return [saved(figure, areas.study, "improvement")]


def _line(panel: Any, areas: Areas, problem: Problem, names: tuple[str, str]) -> None:
    ours, theirs = (method_named(name) for name in names)
    gains = [_gain(areas, [problem], names, place) for place in range(len(ERRORS))]
    x, mean = 100 * np.array(ERRORS), np.array([gain.mean for gain in gains])
    error = np.nan_to_num([gain.error for gain in gains])
    label = f"{_short(ours)} over {_short(theirs)}"
    panel.plot(x, mean, color=COLORS[ours.name], linestyle=STYLES[theirs.name], label=label)
    panel.fill_between(x, mean - error, mean + error, color=COLORS[ours.name], alpha=0.15, lw=0)


def _short(method: Method) -> str:
    return method.label.partition(",")[0]
