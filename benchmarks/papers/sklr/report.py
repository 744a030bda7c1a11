"""The report of the study, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.papers._opening import opening
from benchmarks.papers._pictures import picture_name
from benchmarks.papers._relative.methods import Method
from benchmarks.papers._relative.tables import Row, score_table
from benchmarks.papers.sklr.findings import findings, in_short
from benchmarks.papers.sklr.methods import (
    COMPARATORS,
    HARD,
    KERNEL_KMEANS,
    METHODS,
    PUBLISHED,
    SOFT,
    paper_source,
)
from benchmarks.papers.sklr.pictures import CURVES
from benchmarks.papers.sklr.points import PANELS, Panel, SklrResults, panel_cells
from benchmarks.papers.sklr.protocol import (
    ALL,
    EQUALITIES,
    FIRST_ANSWERS,
    LABELLED,
    NO_ANSWERS,
    USPS,
    WRONG,
    WRONG_SIZE,
)
from benchmarks.papers.sklr.study import NEW_STARTS

__all__ = ["report"]

NOTES = """\
E. Amid, A. Gionis and A. Ukkonen, "A kernel-learning approach to semi-supervised clustering with
relative distance comparisons". Adjusted Rand index (ARI), mean ± standard error over trials; the
best of each column in bold.

- Data: `vehicle`, `scene8_outdoor` (119 features, not the paper's GIST), `usps_11000`; digits,
  which is not in the paper. Of all but vehicle a trial takes 100 rows of each class. Features of
  vehicle and scenes are standardised; pixels are not.
- Two groups: vans and the rest, natural and man-made scenes, even and odd digits.
- Answers by s labelled rows of each class: all must-links among them, as many cannot-links, and as
  many odd ones out as both together (two rows of one class, one of another). **The paper draws the
  odd ones out from all rows, the pairs from the labelled rows alone.** The tables say which; those
  with * are as the paper draws. "Mixed" answers are half of those about two groups and half
  of those about all classes; both groupings are then looked for in the same features.
- SKLR, SKkm (SKMS) and kernel k-means without answers see the same adaptive Gaussian kernel; groups
  are found by k-means, with ten starts and the true number of groups, in the learned features.
  SKLR: clew's default, soft. Hard: `slack="none"`. As published: `algorithm="paper"` as well, which
  stops at the first point that keeps all answers. E2CP (pairs, spectral clustering) is none of the
  paper's methods.
- The paper does not say how its ITML, SKMS and LSML are set; here they have clew's defaults.
- A method that refuses contradictory answers has no score; how often it did is in brackets."""
WRONG_NOTES = f"""\
All classes, s = {WRONG_SIZE}, as the paper draws; an exact share of the answers says something
else: a pair the opposite, an odd one out another row. The paper has no wrong answers."""
UNSEEN_NOTES = f"""\
Features learned from the sample, all rows of the set grouped in them ({NEW_STARTS} starts); the ARI
of the rows outside the sample."""
EQUAL_NOTES = f"""\
All classes; {", ".join(f"{name} {n}" for name, n in FIRST_ANSWERS.items())} odd ones out, then
answers that none of three rows differs: of one class; or, as the paper draws them, of one class or
(half of them) of three classes. Three rows of three classes are "none differs" in the paper's sense
alone, that all their distances are equal; asked for groups, people would say don't-know."""


def report(results: SklrResults, *, is_quick: bool) -> str:
    """Write everything down.

    Parameters
    ----------
    results : Results
        Complete or not: what is missing is a dash.
    is_quick : bool
        Whether to warn that the figures mean little.

    Returns
    -------
    str
        Markdown.
    """
    study = results.study
    sizes = ", ".join(map(str, study.sizes))
    lines = opening(
        "SKLR: Figures 1 to 4", NOTES, f"{study.n_trials} trials, s = {sizes}.",
        sources=results.sources(), remedy="`--fresh`", n_missing=results.n_missing(),
        is_quick=is_quick, absent=study.absent_sets,
    )  # fmt: skip
    lines += ["", "## In short", "", *in_short(results), "", "## Figure 1", ""]
    lines += [f"![Figure 1]({picture_name(study, 'curves')})", "", *_curves(results)]
    for sampling, stem in list(CURVES.items())[1:]:
        lines += [f"![Answers {sampling}]({picture_name(study, stem)})", ""]
    if USPS in study.found_sets:
        lines += ["## Figure 2: USPS digits", "", f"![Figure 2]({picture_name(study, 'tsne')})", ""]
    if unseen := list(_unseen(results)):
        lines += ["## Figure 3: rows outside the sample", "", UNSEEN_NOTES, "", *unseen]
    lines += ["## Figure 4: equalities", "", EQUAL_NOTES, "", *_equalities(results)]
    lines += ["## Wrong answers", "", WRONG_NOTES, "", *_wrong(results)]
    lines += ["## What the paper says", "", *findings(results)]
    return "\n".join(lines).rstrip() + "\n"


def _label(method: Method, source: str) -> str:
    if not method.uses_answers:
        return method.label
    star = " *" if source == paper_source(method) else ""
    return f"{method.label}, {source}{star}"


def _rows(results: SklrResults, panel: Panel) -> list[Row]:
    rows: list[Row] = []
    for method in METHODS:
        for source in (LABELLED, ALL) if method.uses_answers else (ALL,):
            cells = (
                results.study.curve(panel.setting, source)
                if method.uses_answers
                else panel_cells(results.study, panel, method)
            )
            rows.append((_label(method, source), [(method, cell) for cell in cells]))
    return rows


def _curves(results: SklrResults) -> Iterator[str]:
    for name in results.study.found_sets:
        for panel in PANELS:
            header = [f"{name} {panel.title}", *(f"s = {size}" for size in results.study.sizes)]
            yield score_table(results, name, header, _rows(results, panel), panel.target)
            yield ""


def _unseen(results: SklrResults) -> Iterator[str]:
    for name in results.study.found_sets:
        for panel in PANELS:
            field = f"new {panel.target}"
            if np.isnan(results.score(name, NO_ANSWERS, KERNEL_KMEANS, field).mean):
                continue
            header = [f"{name} {panel.title}", *(f"s = {size}" for size in results.study.sizes)]
            rows: list[Row] = [
                (m.label, [(m, cell) for cell in panel_cells(results.study, panel, m)])
                for m in METHODS
                if m.space
            ]
            yield score_table(results, name, header, rows, field)
            yield ""


def _equalities(results: SklrResults) -> Iterator[str]:
    yield f"![Figure 4]({picture_name(results.study, 'equalities')})"
    yield ""
    for name in results.study.found_sets:
        rows: list[Row] = [
            (
                f"{method.label}, {'one class or three' if with_apart else 'one class'}",
                [(method, cell) for cell in results.study.equal_cells(with_apart=with_apart)],
            )
            for method in (SOFT, PUBLISHED)
            for with_apart in (False, True)
        ]
        yield score_table(results, name, [name, *map(str, EQUALITIES)], rows, "multi")
        yield ""


def _wrong(results: SklrResults) -> Iterator[str]:
    yield f"![Wrong answers]({picture_name(results.study, 'wrong')})"
    yield ""
    for name in results.study.found_sets:
        none = [(KERNEL_KMEANS, NO_ANSWERS)] * (1 + len(WRONG))
        rows: list[Row] = [(KERNEL_KMEANS.label, none)]
        for method in (SOFT, HARD, *COMPARATORS):
            rows.append(
                (method.label, [(method, cell) for cell in results.study.wrong_cells(method)])
            )
        header = [name, *(f"{share:.0%} wrong" for share in (0.0, *WRONG))]
        yield score_table(results, name, header, rows, "multi")
        yield ""
