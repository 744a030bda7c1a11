"""Which published figures reproduce, and whether the methods keep their order."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import spearmanr

from benchmarks._harness import markdown_table
from benchmarks.papers._scores import Score
from benchmarks.papers.cop_rf.areas import Areas
from benchmarks.papers.cop_rf.findings import problem_groups
from benchmarks.papers.cop_rf.methods import Method, method_named
from benchmarks.papers.cop_rf.protocol import TABLES, Problem, Table
from benchmarks.papers.cop_rf.published import PUBLISHED, PUBLISHED_METHODS, published_area

__all__ = ["in_short", "reproduction", "verdict"]

#: A published figure reproduces if ours is within two standard errors, or this share of it.
TOLERANCE = 0.10
#: The least that can be told apart: a tenth of a paper's 0.06 would be nothing.
LEAST = 0.05
#: Tried once, with 500 trees and three trials.
READINGS = (
    "- RF+E2CP on Ionosphere, Table II: no reading that was tried gives the paper's 3.12, with 500 "
    "trees and three trials. Leaf or adaptive affinities; all of them, or graphs of 20 or N/10 "
    "neighbours; cut whole, or as graphs of 20 or N/10 neighbours: .31 to 2.24.",
)
YES, HIGHER, LOWER = "yes", "higher", "**lower**"


def verdict(score: Score, paper: float) -> str:
    """Say whether a published figure reproduces: "yes", or ours is "higher" or "**lower**"."""
    if np.isnan(score.mean):
        return "–"
    gap = score.mean - paper
    if abs(gap) <= max(2 * np.nan_to_num(score.error), TOLERANCE * abs(paper), LEAST):
        return YES
    return HIGHER if gap > 0 else LOWER


def reproduction(areas: Areas) -> list[str]:
    """Set every published figure beside ours, then the orders of the methods."""
    problems = [p for p in areas.problems if p.paper_name in PUBLISHED["II"]]
    lines = [
        "Each cell: the paper's area, ours, and whether it reproduces: within two standard errors, "
        "a tenth of the paper's figure, or .05.",
        "",
    ]
    for table in TABLES:
        header = [f"Table {table.name}", *(problem.name for problem in problems)]
        rows = [
            [
                column,
                *(_cell(areas, problem, method_named(name), column, table) for problem in problems),
            ]
            for column, name in PUBLISHED_METHODS.items()
        ]
        lines += [markdown_table(header, rows), ""]
    lines += ["### How many reproduce", "", *_counts(areas, problems), ""]
    lines += ["### The order of the methods", "", *_orders(areas), ""]
    return [*lines, "### E2CP", "", *_e2cp(areas), *READINGS]


def _cell(areas: Areas, problem: Problem, method: Method, column: str, table: Table) -> str:
    score = Score.of(areas.areas(problem, method, table))
    paper = published_area(table.name, column, [problem.paper_name])
    if paper is None or np.isnan(score.mean):
        return "–"
    return f"{paper:.3f}; {score}; {verdict(score, paper)}"


def _verdicts(areas: Areas, problems: Sequence[Problem], column: str) -> list[str]:
    """Judge a column of the paper in all tables."""
    method = method_named(PUBLISHED_METHODS[column])
    return [
        verdict(Score.of(areas.areas(problem, method, table)), paper)
        for table in TABLES
        for problem in problems
        if (paper := published_area(table.name, column, [problem.paper_name])) is not None
    ]


def _counted(verdicts: Sequence[str]) -> str:
    n = {kind: verdicts.count(kind) for kind in (YES, HIGHER, LOWER)}
    return (
        f"{n[YES]} of {len(verdicts)} reproduce, ours is higher in {n[HIGHER]}, lower in {n[LOWER]}"
    )


def _counts(areas: Areas, problems: Sequence[Problem]) -> list[str]:
    """Count verdicts by column of the paper."""
    return [f"- {c}: {_counted(_verdicts(areas, problems, c))}." for c in PUBLISHED_METHODS]


def in_short(areas: Areas) -> list[str]:
    """Sum up in a few lines what reproduces."""
    problems = areas.published
    if not problems:
        return []
    found = [v for column in PUBLISHED_METHODS for v in _verdicts(areas, problems, column)]
    lines = [f"- Of the paper's areas on {len(problems)} sets {_counted(found)}."]
    for table in TABLES:
        sets = [problem.paper_name for problem in problems]
        said = [published_area(table.name, column, sets) for column in ("E2CP", "COP-RF")]
        names = ("e2cp_paper", "coprf_hard", "e2cp", "coprf", "coprf_e2cp")
        means = [Score.of(areas.average(problems, method_named(m), table)) for m in names]
        if None in said or any(np.isnan(score.mean) for score in means):
            continue
        lines.append(
            f"- Table {table.name}, average of {len(problems)}: the paper has E2CP {said[0]:.3f} "
            f"and COP-RF {said[1]:.3f}; as published here E2CP {means[0]} and hard COP-RF "
            f"{means[1]}; on clew's graphs E2CP {means[2]}, default COP-RF {means[3]}, COP-RF+E2CP "
            f"{means[4]}."
        )
    return lines


def _orders(areas: Areas) -> list[str]:
    """Write the methods by their averages, the paper's and ours."""
    lines = []
    for table in TABLES:
        for problems, name in problem_groups(areas):
            sets = [problem.paper_name for problem in problems]
            paper = {c: published_area(table.name, c, sets) for c in PUBLISHED_METHODS}
            ours = {
                c: Score.of(areas.average(problems, method_named(m), table)).mean
                for c, m in PUBLISHED_METHODS.items()
            }
            if None in paper.values() or np.isnan(list(ours.values())).any():
                continue
            lines += [
                f"- Table {table.name}, {name}; rank correlation {_rank_correlation(paper, ours)}.",
                f"  Paper: {_ordered(paper)}.",
                f"  Ours: {_ordered(ours)}.",
            ]
    return lines or ["Not complete."]


def _rank_correlation(paper: dict[str, float], ours: dict[str, float]) -> str:
    values = [list(areas.values()) for areas in (paper, ours)]
    if any(np.ptp(areas) == 0 for areas in values):
        return "–"
    return f"{spearmanr(*values).statistic:.2f}"


def _ordered(areas: dict[str, float]) -> str:
    best_first = sorted(areas.items(), key=lambda item: -item[1])
    return " > ".join(f"{name} {area:.2f}" for name, area in best_first)


def _e2cp(areas: Areas) -> list[str]:
    """Check whether E2CP with alpha .8 is stronger than the paper's column, and than COP-RF."""
    lines = []
    for table in TABLES:
        for problems, name in problem_groups(areas):
            paper = published_area(table.name, "E2CP", [p.paper_name for p in problems])
            means = {
                m: Score.of(areas.average(problems, method_named(m), table))
                for m in ("e2cp_paper", "e2cp", "coprf_hard", "coprf")
            }
            if any(np.isnan(score.mean) for score in means.values()):
                continue
            beside = "" if paper is None else f"the paper's column {paper:.3f}, "
            lines.append(
                f"- Table {table.name}, {name}: {beside}ours with its graph {means['e2cp_paper']}, "
                f"with clew's {means['e2cp']}; hard COP-RF {means['coprf_hard']}, "
                f"default {means['coprf']}."
            )
    return lines or ["Not complete."]
