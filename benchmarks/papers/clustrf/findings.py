"""What the table says: which of the paper's statements hold, and by how much."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks._harness import markdown_table
from benchmarks.papers._scores import Score, difference, verdict
from benchmarks.papers.clustrf.areas import Areas, percent
from benchmarks.papers.clustrf.methods import EUCLIDEAN, FORESTS, LABELS, MAIN, READINGS, way
from benchmarks.papers.clustrf.protocol import Problem

__all__ = ["findings", "reading_table", "readings_above"]


def findings(areas: Areas) -> list[str]:
    """Answer for every set what the paper says of its methods."""
    lines = []
    for problem in areas.problems:
        lines += ["", f"### {problem.label}", "", *_forests_above(areas, problem)]
        lines += [*_selection(areas, problem), *_stability(areas, problem)]
    return lines[1:]


def _forests_above(areas: Areas, problem: Problem) -> Iterator[str]:
    leaf = areas.heights(problem, way("leaf", MAIN))
    for kind in FORESTS[1:]:
        gap = difference(areas.heights(problem, way(kind, MAIN)), leaf)
        yield f"- {LABELS[kind]} above ClustRF-Bi: {verdict(gap)} ({percent(gap, is_signed=True)})."
    for kind in FORESTS:
        ours = areas.heights(problem, way(kind, MAIN))
        gaps = {method: difference(ours, areas.best(problem, method)) for method in EUCLIDEAN}
        said = "; ".join(
            f"{LABELS[method]} {verdict(gap)} ({percent(gap, is_signed=True)})"
            for method, gap in gaps.items()
        )
        yield f"- {LABELS[kind]} above, each at its best M: {said}."


def _selection(areas: Areas, problem: Problem) -> Iterator[str]:
    plain = areas.best(problem, "knn")
    for method in EUCLIDEAN[1:]:
        gap = difference(areas.best(problem, method), plain)
        yield (
            f"- {LABELS[method]} above kNN, each at its best M: {verdict(gap)} "
            f"({percent(gap, is_signed=True)})."
        )


def _stability(areas: Areas, problem: Problem) -> Iterator[str]:
    """Compare the ends of the curves: Unfm is said to suffer from large k, Adpt to be stable."""
    falls = {}
    for kind in FORESTS:
        curves = list(areas.curves(problem, way(kind, MAIN)).values())
        if curves:
            mean = np.mean(curves, axis=0)
            falls[kind] = 100 * float(mean[-1] - mean.max())
    if falls:
        ends = ", ".join(f"{LABELS[kind]} {fall:+.1f}" for kind, fall in falls.items())
        yield f"- From the best k to k = {areas.study.k[-1]}: {ends}."


def reading_table(areas: Areas, problem: Problem) -> str:
    """Set the readings of what the paper leaves open side by side."""
    rows = [
        [
            reading,
            *(percent(_of_readings(areas, problem, kind, reading)) for kind in FORESTS),
            *(
                percent(
                    difference(
                        areas.heights(problem, way(kind, reading)),
                        areas.heights(problem, way("leaf", reading)),
                    ),
                    is_signed=True,
                )
                for kind in FORESTS[1:]
            ),
        ]
        for reading in READINGS
    ]
    header = [problem.label, *(LABELS[k] for k in FORESTS), "Unfm − Bi", "Adpt − Bi"]
    return markdown_table(header, rows)


def readings_above(areas: Areas) -> str:
    """Say under which readings the paper's order of the forests holds on all of its sets."""
    found = []
    for reading in READINGS:
        gaps = [
            difference(
                areas.heights(problem, way(kind, reading)),
                areas.heights(problem, way("leaf", reading)),
            ).mean
            for problem in areas.problems
            if problem.is_published
            for kind in FORESTS[1:]
        ]
        if gaps and min(gaps) > 0:
            found.append(reading)
    said = ", ".join(found) or "none"
    return f"Readings under which both ClustRF-Strct are above ClustRF-Bi on all sets: {said}."


def _of_readings(areas: Areas, problem: Problem, kind: str, reading: str) -> Score:
    return Score.of(areas.heights(problem, way(kind, reading)))
