"""The tables of the study, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks import _harness as harness
from benchmarks.papers.cop_rf.areas import Areas, Score
from benchmarks.papers.cop_rf.findings import findings, reproduction
from benchmarks.papers.cop_rf.methods import METHODS
from benchmarks.papers.cop_rf.protocol import TABLES, Problem, Table
from benchmarks.papers.cop_rf.published import PUBLISHED, PUBLISHED_METHODS

__all__ = ["report", "summary"]

NOTES = """\
X. Zhu, C. C. Loy and S. Gong, "Constrained clustering with imperfect oracles". Area under the curve
of the adjusted Rand index, trapezoid with unit spacing: at most 4 in Tables II and III, 5 in Table
IV; mean ± standard error over trials. Features scaled to [-1, 1]; answers about random pairs, .1 to
.5 % of all pairs (Table IV: .3 %), an exact share of them wrong; every method of a trial gets the
same answers.

- The paper's Parkinsons and ERCe sets could not be had. Digits is not in the paper: it is here for
  its size, with 250, 500, 1000, 1500 and 2000 answers (Table IV: 1000), because .1 % would be
  1,614. The paper's averages are over its six sets; those below are over as many as they say.
- The tenth feature of the paper's Glass is the number of the row, and its rows are sorted by class.
  Ours has nine features; `glass_row_number` has ten, to be set beside the paper, and is in no
  average of the tables.
- SPClust: Gaussian affinity, scaled by the mean distance to 20 neighbours; "k = N/10" is the
  paper's graph, "k auto" clew's. ClustRF, Ward and SPClust see no answers: one result a trial, the
  same along the curve.
- COP-RF hard, as published: `COPRF(mode="hard", trust="inconsistency", affinity="leaf")` on the
  graph with k = N/10. Default: `SimilarityClustering(COPRF(), SpectralClustering(K))`."""


def report(areas: Areas, *, is_quick: bool) -> str:
    """Write everything down.

    Parameters
    ----------
    areas : Areas
        The results, complete or not: what is missing is a dash.
    is_quick : bool
        Whether to warn that the figures mean little.

    Returns
    -------
    str
        Markdown.
    """
    study = areas.study
    lines = ["# COP-RF, Tables II to IV", ""]
    if is_quick:
        lines += ["**Quick run: few trees, few trials; the figures mean little.**", ""]
    lines += [NOTES, "", f"{study.n_trials} trials, {study.n_trees} trees.", ""]
    lines += [harness.described(harness.provenance()), *_doubts(areas)]
    for table in TABLES:
        lines += ["", f"## {table.title}", "", _table(areas, table), ""]
        lines += [f"![Adjusted Rand index, {table.title}]({study.stem}_{table.stem}.png)"]
    lines += ["", "## What the tables say", "", *findings(areas), ""]
    return "\n".join([*lines, "## What reproduces", "", reproduction(areas), ""])


def summary(areas: Areas) -> dict[str, Any]:
    """Give areas for other programs: table, set and method to mean, standard error and trials.

    Returns
    -------
    dict
        Holds "about", "study" and "areas". Seeds and single results are in the log.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for table in TABLES:
        for problem in areas.problems:
            row = found.setdefault(table.name, {}).setdefault(problem.name, {})
            for method in METHODS:
                values = areas.areas(problem, method, table)
                if values:
                    score = Score.of(values)
                    error = None if np.isnan(score.error) else score.error
                    row[method.name] = {"mean": score.mean, "error": error, "trials": len(values)}
    study = {"trials": areas.study.n_trials, "trees": areas.study.n_trees}
    return {"about": harness.provenance(), "study": study, "areas": found}


def _doubts(areas: Areas) -> list[str]:
    """Say where the results are not of one piece."""
    found = []
    sources = areas.sources()
    if len(sources) > 1 or (sources and harness.source_tag() not in sources):
        found.append(
            f"The results are of clew's sources {', '.join(sorted(sources))}; now it is "
            f"{harness.source_tag()}. `--redo METHOD` or `--fresh` makes them anew."
        )
    wanted = sum(len(areas.study.tasks(problem)) for problem in areas.problems)
    wanted *= areas.study.n_trials
    have = sum(record["trial"] < areas.study.n_trials for record in areas.records.values())
    if have < wanted:
        found.append(f"Not complete: {have} of {wanted} results.")
    return ["", *(f"**{line}**" for line in found)] if found else []


def _table(areas: Areas, table: Table) -> str:
    header = ["set", *(m.label for m in METHODS), *(f"paper: {name}" for name in PUBLISHED_METHODS)]
    rows = [_row(areas, table, [problem], problem.name) for problem in areas.fair]
    groups = [areas.published] if areas.published != areas.fair else []
    for group in [*groups, areas.fair]:
        if len(group) > 1:
            rows.append(_row(areas, table, group, f"average of {len(group)}"))
    leaky = [problem for problem in areas.problems if problem.is_leaky]
    rows += [_row(areas, table, [problem], problem.name) for problem in leaky]
    return harness.markdown_table(header, rows)


def _row(areas: Areas, table: Table, problems: Sequence[Problem], name: str) -> list[object]:
    scores = [Score.of(areas.average(problems, method, table)) for method in METHODS]
    return [name, *scores, *_paper(problems, table)]


def _paper(problems: Sequence[Problem], table: Table) -> list[float | None]:
    """Give the paper's figures, averaged; dashes where it lacks a set."""
    published = PUBLISHED[table.name]
    if any(problem.paper_name not in published for problem in problems):
        return [None] * len(PUBLISHED_METHODS)
    rows = [published[problem.paper_name] for problem in problems]
    return [float(mean) for mean in np.mean(rows, axis=0)]
