"""The report of the study, in Markdown, and its figures for other programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import _harness as harness
from benchmarks.papers._opening import opening
from benchmarks.papers._pictures import picture_name
from benchmarks.papers._scores import Score
from benchmarks.papers.cop_rf.areas import Areas
from benchmarks.papers.cop_rf.block_figures import block_report
from benchmarks.papers.cop_rf.doubt_figures import doubt_report
from benchmarks.papers.cop_rf.face_figures import face_report
from benchmarks.papers.cop_rf.findings import findings
from benchmarks.papers.cop_rf.improvement import improvement_report
from benchmarks.papers.cop_rf.methods import METHODS
from benchmarks.papers.cop_rf.protocol import SETS, TABLES, Problem, Table
from benchmarks.papers.cop_rf.published import PUBLISHED_METHODS, published_area
from benchmarks.papers.cop_rf.reproduction import in_short, reproduction
from benchmarks.papers.cop_rf.which import which_report

__all__ = ["report", "summary"]

NOTES = """\
X. Zhu, C. C. Loy and S. Gong, "Constrained clustering with imperfect oracles". Area under the curve
of the adjusted Rand index, trapezoid with unit spacing: at most 4 in Tables II and III, 5 in Table
IV; mean ± standard error over trials. Features scaled to [-1, 1]; answers about random pairs, .1 to
.5 % of all pairs (Table IV: .3 %), an exact share of them wrong; every method of a trial gets the
same answers.

- The paper's ERCe set could not be had. Digits is not in the paper: it is here for its size, with
  250, 500, 1000, 1500 and 2000 answers (Table IV: 1000), because .1 % would be 1,614. The paper's
  averages are over its six sets; those below are over as many as they say.
- The tenth feature of the paper's Glass is the number of the row, and its rows are sorted by class.
  Ours has nine features; `glass_row_number` has ten, to be set beside the paper, and is in no
  average of the tables.
- SPClust, ClustRF and Ward see no answers: one result a trial, the same along the curve. SPClust,
  SL and E2CP work on `AdaptiveKNN`'s Gaussian affinities, RF+E2CP on those of `ClustRF`; E2CP
  spreads with the published α = .8. "k = N/10" is the paper's graph, without it clew's own.
- COP-Kmeans as published goes through the rows in order, once, and gives up at a dead end;
  `COPKMeans` looks for other ways, from ten starts. Both, and `ConstrainedLinkage` (average), keep
  every answer or refuse them all. A refusal, or no groups found, counts as an ARI of 0, as where
  the paper's curves end.
- COP-RF hard, as published: `COPRF(mode="hard", trust="inconsistency", affinity="leaf")` on the
  graph with k = N/10. Default: `SimilarityClustering(COPRF(), SpectralClustering(K))`. COP-RF+E2CP:
  `E2CP(COPRF())`, which gets the answers in both parts."""


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
    notes = "\n".join([NOTES, *_missing(areas)])
    scale = f"{study.n_trials} trials, {study.n_trees} trees."
    title = "COP-RF: Tables II to IV, Figures 6, 7, 9 to 11, 13 and 14"
    lines = opening(
        title, notes, scale, sources=areas.sources(), remedy="`--redo METHOD` or `--fresh`",
        n_missing=areas.n_missing(), is_quick=is_quick,
    )  # fmt: skip
    lines += ["", "## In short", "", *in_short(areas)]
    for table in TABLES:
        lines += ["", f"## {table.title}", "", _table(areas, table), "", _failures(areas, table)]
        lines += ["", f"![{table.title}]({picture_name(study, table.stem)})"]
    sections = {
        "Which method wins where": which_report(areas),
        "What the tables say": findings(areas),
        "What reproduces": reproduction(areas),
        "Figure 6: affinities": block_report(areas, study.problems("blocks")),
        "Figure 11: improvement by share of wrong answers": improvement_report(areas),
        "Figure 13: affinity propagation on faces": face_report(areas, study.problems("faces")),
        "Figure 14: do wrong answers stand apart?": doubt_report(areas, study.problems("doubts")),
    }
    for title, section in sections.items():
        lines += ["", f"## {title}", "", *section]
    return "\n".join(lines).rstrip() + "\n"


def _missing(areas: Areas) -> list[str]:
    """Name the sets that nobody had."""
    had = {problem.name for problem in areas.problems}
    missing = [name for name in SETS if name not in had and name in areas.study.sets]
    return [f"- Could not be had, and left out: {', '.join(missing)}."] if missing else []


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


def _table(areas: Areas, table: Table) -> str:
    """Lay out a row a method and a column a set; the paper's rows below."""
    groups = _columns(areas)
    header = ["method", *groups]
    rows: list[list[object]] = []
    for method in METHODS:
        scores = [Score.of(areas.average(problems, method, table)) for problems in groups.values()]
        rows.append([method.label, *scores])
    for column in PUBLISHED_METHODS:
        names = [[problem.paper_name for problem in problems] for problems in groups.values()]
        rows.append([f"paper: {column}", *(published_area(table.name, column, n) for n in names)])
    return harness.markdown_table(header, rows)


def _columns(areas: Areas) -> dict[str, list[Problem]]:
    """Give the sets one by one, those that are averaged, and those that are in no average."""
    groups = {problem.name: [problem] for problem in areas.fair}
    leaky = {problem.name: [problem] for problem in areas.problems if problem.is_leaky}
    return groups | areas.averages | leaky


def _failures(areas: Areas, table: Table) -> str:
    """Give the share of points at which a hard method found no groups."""
    groups = _columns(areas)
    rows: list[list[object]] = [
        [m.label, *(f"{areas.failed_share(p, m, table):.0%}" for p in groups.values())]
        for m in METHODS
        if m.is_hard
    ]
    return harness.markdown_table(["no groups found", *groups], rows)
