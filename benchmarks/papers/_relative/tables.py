"""Tables, statements and figures for other programs, made of the results of a study."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks import _harness as harness
from benchmarks.papers._relative.methods import Method
from benchmarks.papers._relative.study import Cell, Results
from benchmarks.papers._scores import Score, verdict

__all__ = ["Row", "in_order", "marked", "score_table", "signed", "standing", "summary"]

#: A label, and the method and point of each cell of the row.
Row = tuple[str, Sequence[tuple[Method, Cell]]]


def score_table(
    results: Results[Any],
    name: str,
    header: Sequence[str],
    rows: Iterable[Row],
    field: str,
    score: Callable[[Mapping[int, float]], Score] = Score.of,
) -> str:
    """Lay out means over trials; the best of each column in bold, refusals in brackets."""
    rows = list(rows)
    scores = [[score(results.values(name, c, m, field)) for m, c in points] for _, points in rows]
    columns = [marked(column) for column in zip(*scores, strict=True)]
    cells: list[list[object]] = []
    for (label, points), texts in zip(rows, zip(*columns, strict=True), strict=True):
        pairs = zip(points, texts, strict=True)
        cells.append([label, *(_with_refusals(results, name, *pair) for pair in pairs)])
    return harness.markdown_table(header, cells)


def marked(scores: Sequence[Score]) -> list[str]:
    """Print the best score in bold."""
    means = [score.mean for score in scores]
    best = np.nanmax(means) if not np.isnan(means).all() else np.nan
    return [f"**{s}**" if s.mean == best else str(s) for s in scores]


def _with_refusals(results: Results[Any], name: str, point: tuple[Method, Cell], text: str) -> str:
    method, cell = point
    n_refused = results.n_refused(name, cell, method)
    return f"{text} ({n_refused} refused)" if n_refused else text


def signed(score: Score) -> str:
    """Write a difference with its sign."""
    if np.isnan(score.mean):
        return "–"
    error = "" if np.isnan(score.error) else f" ± {score.error:.3f}"
    return f"{score.mean:+.3f}{error}"


def standing(gaps: Mapping[str, Score]) -> str:
    """Say whether all differences are above nothing, how many are not, and which is the least.

    Parameters
    ----------
    gaps : mapping of str to Score
        What is ahead of whom and where, by how much.

    Returns
    -------
    str
        "yes", "**no**" or "level", or "not complete".
    """
    said = [verdict(gap) for gap in gaps.values()]
    if not said or "not complete" in said:
        return "not complete"
    name = min(gaps, key=lambda label: gaps[label].mean)
    least = f"least {name} {signed(gaps[name])}"
    n_of = {
        "above": said.count("yes"),
        "level": said.count("level"),
        "behind": said.count("**no**"),
    }
    if n_of["above"] == len(said):
        return f"yes; {least}"
    counts = ", ".join(f"{n} {word}" for word, n in n_of.items() if n)
    return f"{'**no**' if n_of['behind'] else 'level'}: {counts}; {least}"


def in_order(scores: Mapping[str, Score]) -> str:
    """Write names by their means, the best first."""
    known = {label: score.mean for label, score in scores.items() if not np.isnan(score.mean)}
    best_first = sorted(known.items(), key=lambda item: -item[1])
    return " > ".join(f"{label} {mean:.2f}" for label, mean in best_first)


def summary(results: Results[Any], fields: Sequence[str]) -> dict[str, Any]:
    """Give means for other programs: set, cell, method and field to mean, error and trials.

    Returns
    -------
    dict
        Holds "about", "study" and "scores". Seeds and single results are in the log.
    """
    study = results.study
    found: dict[str, Any] = {}
    for name in study.found_sets:
        for cell in study.cells(name):
            for method in study.methods_at(name, cell):
                row = _fields(results, name, cell, method, fields)
                if row:
                    found.setdefault(name, {}).setdefault(cell.name, {})[method.name] = row
    about = {"trials": study.n_trials, "sets": list(study.sets)}
    return {"about": harness.provenance(), "study": about, "scores": found}


def _fields(
    results: Results[Any], name: str, cell: Cell, method: Method, fields: Sequence[str]
) -> dict[str, Any]:
    row = {}
    for field in fields:
        values = results.values(name, cell, method, field)
        if values:
            score = Score.of(values)
            error = None if np.isnan(score.error) else score.error
            row[field] = {"mean": score.mean, "error": error, "trials": len(values)}
    return row
