"""What the tables say: is the default what it should be, and what does not reproduce."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from benchmarks._harness import markdown_table
from benchmarks.papers.cop_rf.areas import Areas, Score, method_named
from benchmarks.papers.cop_rf.protocol import TABLES, Cell, Problem, Table
from benchmarks.papers.cop_rf.published import PUBLISHED, PUBLISHED_METHODS

__all__ = ["findings", "reproduction"]

DEFAULT = method_named("coprf")
HARD = method_named("coprf_hard")
FOREST = method_named("clustrf")
WARD = method_named("ward")
#: A published figure reproduces if ours is within two standard errors, or this share of it.
TOLERANCE = 0.10
Values = Mapping[int, float]


def findings(areas: Areas) -> list[str]:
    """Answer, for every table and set, the questions that a default has to answer."""
    lines = ["### The default against hard as published, on the average", ""]
    lines += _default_above_hard(areas)
    lines += ["", "### The default against the unconstrained forest, 15 % wrong", ""]
    lines += _default_above_forest(areas)
    lines += ["", "### Where the default ends", ""]
    return lines + list(_ends(areas))


def _paired(ours: Values, theirs: Values) -> Score:
    """Average the difference over the trials that both have."""
    return Score.of({t: ours[t] - theirs[t] for t in ours.keys() & theirs.keys()})


def _verdict(difference: Score) -> str:
    if np.isnan(difference.mean):
        return "not complete"
    if difference.mean >= 0:
        return "yes"
    within = not difference.mean < -2 * difference.error
    return "**no**, but within two standard errors" if within else "**no**"


def _default_above_hard(areas: Areas) -> Iterator[str]:
    for table in TABLES:
        for problems, name in _groups(areas):
            ours, theirs = (areas.average(problems, m, table) for m in (DEFAULT, HARD))
            difference = _paired(ours, theirs)
            yield (
                f"- Table {table.name}, {name}: {_verdict(difference)}; {Score.of(ours)} "
                f"against {Score.of(theirs)}, difference {difference}."
                + _against_paper(Score.of(ours), problems, table)
            )


def _against_paper(score: Score, problems: list[Problem], table: Table) -> str:
    published = PUBLISHED[table.name]
    if np.isnan(score.mean) or any(p.paper_name not in published for p in problems):
        return ""
    paper = np.mean([published[problem.paper_name][-1] for problem in problems])
    is_above = "Above" if score.mean >= paper else "**Below**"
    return f" {is_above} the paper's own COP-RF, {paper:.3f}."


def _groups(areas: Areas) -> list[tuple[list[Problem], str]]:
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
        difference = _paired(ours, theirs)
        below = [
            f"{cell.amount} answers ({_difference(areas, problem, cell)})"
            for cell in noisy.cells(problem.amounts)
            if _difference(areas, problem, cell).mean < 0
        ]
        points = f" Below at {', '.join(below)}." if below else ""
        yield f"- {problem.name}: {_verdict(difference)}; area {difference}.{points}"


def _difference(areas: Areas, problem: Problem, cell: Cell) -> Score:
    return _paired(*(areas.ari(problem, method, cell) for method in (DEFAULT, FOREST)))


def _ends(areas: Areas) -> Iterator[str]:
    """Compare the end of each curve with what every default must beat."""
    for problem in areas.fair:
        most = Cell(problem.amounts[-1], 0.0)
        ours = areas.ari(problem, DEFAULT, most)
        ward = _paired(ours, areas.ari(problem, WARD, most))
        noisy = TABLES[2].cells(problem.amounts)[3]
        forest = _difference(areas, problem, noisy)
        yield (
            f"- {problem.name}: with {most.amount} right answers ARI {Score.of(ours)}, "
            f"at or above Ward: {_verdict(ward)} ({ward}); "
            f"with {noisy.amount} answers, {noisy.error:.0%} wrong, "
            f"at or above no answers: {_verdict(forest)} ({forest})."
        )


def reproduction(areas: Areas) -> str:
    """Set the published figures beside ours, method by method."""
    rows = []
    for ours, theirs in ((method_named("spclust"), "SPClust"), (HARD, "COP-RF")):
        column = PUBLISHED_METHODS.index(theirs)
        for table in TABLES:
            for problem in areas.problems:
                if problem.paper_name not in PUBLISHED[table.name]:
                    continue
                paper = PUBLISHED[table.name][problem.paper_name][column]
                score = Score.of(areas.areas(problem, ours, table))
                rows.append(
                    [theirs, table.name, problem.name, paper, score, _reproduces(score, paper)]
                )
    return markdown_table(["method", "table", "set", "paper", "ours", "reproduces"], rows)


def _reproduces(score: Score, paper: float) -> str:
    if np.isnan(score.mean):
        return "–"
    gap = score.mean - paper
    if abs(gap) <= max(2 * np.nan_to_num(score.error), TOLERANCE * abs(paper)):
        return "yes"
    return "no, ours is higher" if gap > 0 else "**no, ours is lower**"
