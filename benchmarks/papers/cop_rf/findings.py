"""What the tables say of the default."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks._harness import markdown_table
from benchmarks.papers._scores import Score, difference
from benchmarks.papers.cop_rf.areas import Areas
from benchmarks.papers.cop_rf.methods import method_named
from benchmarks.papers.cop_rf.protocol import TABLES, Cell, Problem
from benchmarks.papers.cop_rf.published import published_area

__all__ = ["findings", "problem_groups"]

DEFAULT = method_named("coprf")
HARD = method_named("coprf_hard")
FOREST = method_named("clustrf")
WARD = method_named("ward")
#: Other methods that the default is set beside.
RIVALS = tuple(
    map(method_named, ("coprf_hard", "e2cp", "e2cp_paper", "rf_e2cp", "constrained_linkage"))
)


def findings(areas: Areas) -> list[str]:
    """Answer, for every table and set, the questions that a default has to answer."""
    lines = ["### The default against others, on the average", "", *_against_rivals(areas), ""]
    lines += _against_paper(areas)
    lines += ["", "### The default against the unconstrained forest, 15 % wrong", ""]
    lines += _default_above_forest(areas)
    lines += ["", "### Where the default ends", ""]
    return lines + list(_ends(areas))


def _verdict(gap: Score) -> str:
    if np.isnan(gap.mean):
        return "not complete"
    if gap.mean >= 0:
        return "yes"
    within = not gap.mean < -2 * gap.error
    return "**no**, but within two standard errors" if within else "**no**"


def _against_rivals(areas: Areas) -> list[str]:
    """Give the area of the default less that of others, trial by trial."""
    groups = problem_groups(areas)
    rows: list[list[object]] = []
    for rival in RIVALS:
        for table in TABLES:
            row: list[object] = [rival.label, table.name]
            for problems, _ in groups:
                ours, theirs = (areas.average(problems, m, table) for m in (DEFAULT, rival))
                gap = difference(ours, theirs)
                row.append(f"{gap}; {_verdict(gap)}")
            rows.append(row)
    header = ["default above", "table", *(name for _, name in groups)]
    return markdown_table(header, rows).splitlines()


def _against_paper(areas: Areas) -> Iterator[str]:
    """Set the default beside the paper's own COP-RF."""
    for table in TABLES:
        for problems, name in problem_groups(areas):
            sets = [problem.paper_name for problem in problems]
            paper = published_area(table.name, "COP-RF", sets)
            ours = Score.of(areas.average(problems, DEFAULT, table))
            if paper is not None and not np.isnan(ours.mean):
                is_above = "above" if ours.mean >= paper else "**below**"
                yield (
                    f"- Table {table.name}, {name}: the default, {ours}, is {is_above} the paper's "
                    f"own COP-RF, {paper:.3f}."
                )


def problem_groups(areas: Areas) -> list[tuple[list[Problem], str]]:
    """Average over all sets, over the paper's, and over those with Glass as the paper has it."""
    groups = [(areas.fair, f"all {len(areas.fair)} sets")]
    leaky = [problem for problem in areas.problems if problem.is_leaky]
    if areas.published not in ([], areas.fair):
        groups.append((areas.published, f"the paper's {len(areas.published)}"))
    if leaky and areas.published:
        others = [problem for problem in areas.published if problem.name != "glass"]
        groups.append((others + leaky, "the paper's, Glass with the row number"))
    return groups


def _default_above_forest(areas: Areas) -> Iterator[str]:
    noisy = TABLES[1]
    for problem in areas.fair:
        ours, theirs = (areas.areas(problem, method, noisy) for method in (DEFAULT, FOREST))
        gap = difference(ours, theirs)
        below = [
            f"{cell.amount} answers ({_difference(areas, problem, cell)})"
            for cell in noisy.cells(problem.amounts)
            if _difference(areas, problem, cell).mean < 0
        ]
        points = f" Below at {', '.join(below)}." if below else ""
        yield f"- {problem.name}: {_verdict(gap)}; area {gap}.{points}"


def _difference(areas: Areas, problem: Problem, cell: Cell) -> Score:
    return difference(*(areas.values(problem, method, cell) for method in (DEFAULT, FOREST)))


def _ends(areas: Areas) -> Iterator[str]:
    """Compare the end of each curve with what every default must beat."""
    for problem in areas.fair:
        most = Cell(problem.amounts[-1], 0.0)
        ours = areas.values(problem, DEFAULT, most)
        ward = difference(ours, areas.values(problem, WARD, most))
        noisy = TABLES[2].cells(problem.amounts)[3]
        forest = _difference(areas, problem, noisy)
        yield (
            f"- {problem.name}: with {most.amount} right answers ARI {Score.of(ours)}, "
            f"at or above Ward: {_verdict(ward)} ({ward}); "
            f"with {noisy.amount} answers, {noisy.error:.0%} wrong, "
            f"at or above no answers: {_verdict(forest)} ({forest})."
        )
