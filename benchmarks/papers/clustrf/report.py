"""The report of the study, in Markdown, and its figures for other programs."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import _harness as harness
from benchmarks.papers._opening import opening
from benchmarks.papers._pictures import picture_name
from benchmarks.papers._scores import Score
from benchmarks.papers.clustrf.areas import Areas, percent
from benchmarks.papers.clustrf.findings import findings, reading_table, readings_above
from benchmarks.papers.clustrf.methods import EUCLIDEAN, FORESTS, LABELS, MAIN, WAYS, way
from benchmarks.papers.clustrf.pictures import SHOWN_FACES, SHOWN_K, of_one_person
from benchmarks.papers.clustrf.protocol import FACES, M, Problem
from benchmarks.papers.clustrf.published import PUBLISHED
from benchmarks.papers.clustrf.study import READING_TRIALS

__all__ = ["report", "summary"]

NOTES = """\
X. Zhu, C. C. Loy and S. Gong, "Constructing robust affinity graphs for spectral clustering". The
area under the curve of the adjusted Rand index (ARI) over the size k of the neighbourhood, divided
by the range of k: the mean ARI, in hundredths, ± its standard error over trials.

- The paper's own areas stand beside ours in its units, which it does not give; the axis of its
  Figure 5 cannot be read in the copy at hand. If k went up to about a hundred there too, its 100
  is an ARI of about 1. Compare the order of the methods, not the values.
- The paper's USAA and ERCe sets could not be had. `pie10_32x32` has ten persons of CMU-PIE, of each
  the first 100 of 170 images: not the paper's choice of persons and images.
- Features are scaled to [-1, 1]; the pixels of faces then go into 30 principal components, as the
  paper has it. "Components stretched" scales the components to [-1, 1] once more: forests do not
  change by it, distances do.
- kNN: `AdaptiveKNN(M)`; DN: `DominantNeighbors` on it, cons-kNN: `ConsensusKNN` on it, both as clew
  reads them (see the page on neighbour graphs). Their graphs are the same in every trial, which
  differs by the starts of k-means alone; a trial of a forest also has trees of its own.
- Forests: `ClustRF` with its defaults. The three affinities of a trial are read off the same trees.
- All graphs are cut by `SpectralClustering(K, n_neighbors=k)`. The paper cites another spectral
  clustering, with local scales and a rotation in the place of k-means."""
FACE_NOTES = """\
The paper sums the affinities among images of one person and calls a larger sum better. Larger
affinities everywhere would make it larger too: the share says how much of all affinity of a
person's images is among themselves (a tenth if affinities knew nothing)."""
READING_NOTES = f"""\
The paper chose the smallest node by cross-validation on each set and does not say what came out;
how many rows a tree draws it does not say either. "Smallest child" is `min_samples_leaf`; the draws
are from the N rows and N pseudo rows together, N by default. {READING_TRIALS} trials of each (all
of the first). Differences are paired."""


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
    sizes = ", ".join(map(str, study.k))
    scale = f"{study.n_trials} trials, {study.n_trees} trees, k = {sizes}."
    title = "ClustRF: Table 2, Figures 3 to 5"
    lines = opening(
        title, NOTES, scale, sources=areas.sources(), remedy="`--fresh`",
        n_missing=areas.n_missing(), is_quick=is_quick,
    )  # fmt: skip
    lines += ["", "## Table 2", ""]
    for problem in areas.problems:
        lines += [_table(areas, problem), ""]
    lines += ["## What the table says", "", *findings(areas), ""]
    lines += ["## What the paper leaves open", "", READING_NOTES, ""]
    for problem in areas.problems:
        if problem.is_published:
            lines += [reading_table(areas, problem), ""]
    lines += [readings_above(areas), ""]
    return "\n".join([*lines, *_figures(areas)])


def summary(areas: Areas) -> dict[str, Any]:
    """Give heights for other programs: set, method and setting to mean, error and trials.

    Returns
    -------
    dict
        Holds "about", "study" and "mean_ari". Seeds and single results are in the log.
    """
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for problem in areas.problems:
        for one in WAYS:
            values = areas.heights(problem, one)
            if values:
                score = Score.of(values)
                error = None if np.isnan(score.error) else score.error
                row = found.setdefault(problem.name, {}).setdefault(one.method, {})
                row[one.setting] = {"mean": score.mean, "error": error, "trials": len(values)}
    study = areas.study
    about = {"trials": study.n_trials, "trees": study.n_trees, "k": list(study.k)}
    return {"about": harness.provenance(), "study": about, "mean_ari": found}


def _table(areas: Areas, problem: Problem) -> str:
    published = PUBLISHED.get(problem.name, {})
    rows: list[list[object]] = []
    for method in EUCLIDEAN:
        scores = [Score.of(areas.heights(problem, way(method, m))) for m in M]
        rows.append([LABELS[method], *map(percent, scores)])
        rows += _published_row(published.get(method, ()))
    for kind in FORESTS:
        score = Score.of(areas.heights(problem, way(kind, MAIN)))
        rows.append([LABELS[kind], percent(score), *[""] * (len(M) - 1)])
        rows += _published_row(published.get(kind, ()))
    header = [f"{problem.label} ({len(problem.y)} rows)", *(f"M = {m}" for m in M)]
    return harness.markdown_table(header, rows)


def _published_row(areas: tuple[float, ...]) -> list[list[object]]:
    if not areas:
        return []
    return [["  the paper", *(f"{area:.1f}" for area in areas), *[""] * (len(M) - len(areas))]]


def _figures(areas: Areas) -> list[str]:
    """Put the pictures into the report, with what they say in numbers."""
    study = areas.study
    lines = ["## Figure 5: ARI over k", "", f"![ARI over k]({picture_name(study, 'curves')})", ""]
    lines += ["## Figure 3: affinities", ""]
    lines += [f"First trial; graphs of k = {SHOWN_K}, M = {M[0]}.", ""]
    for problem in areas.problems:
        if problem.is_published:
            name = picture_name(study, f"affinity_{problem.name}")
            lines += [f"![Affinities on {problem.label}]({name})", ""]
    for problem in areas.problems:
        if problem.name == FACES:
            lines += ["## Figure 4: images of one person", "", *_faces(areas, problem)]
    return lines


def _faces(areas: Areas, problem: Problem) -> list[str]:
    found = of_one_person(areas.study, problem)
    rows = [
        [LABELS[kind], f"{first.sum():.1f}", f"{total:.0f}", f"{share:.1%}"]
        for kind, (first, total, share) in found.items()
    ]
    header = [
        "affinity",
        f"sum, {SHOWN_FACES} images",
        "sum, all images",
        "share within the person",
    ]
    return [
        FACE_NOTES,
        "",
        f"![Affinities of images of one person]({picture_name(areas.study, 'faces')})",
        "",
        harness.markdown_table(header, rows),
        "",
    ]
