"""The paper's statements, one by one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks import _harness as harness
from benchmarks.papers._relative.methods import Method
from benchmarks.papers._relative.tables import in_order, signed, standing
from benchmarks.papers._scores import Score, difference, verdict
from benchmarks.papers.sklr.methods import (
    COMPARATORS,
    E2CP_PAIRS,
    HARD,
    KERNEL_KMEANS,
    METHODS,
    PUBLISHED,
    SOFT,
)
from benchmarks.papers.sklr.points import PANELS, SAMPLINGS, Panel, SklrResults, gaps, panel_cells
from benchmarks.papers.sklr.protocol import NO_ANSWERS, WRONG

__all__ = ["findings", "in_short"]

SAMPLED = "as the paper draws"


def findings(results: SklrResults) -> list[str]:
    """Hold the paper's statements against the results.

    Returns
    -------
    list of str
        Lines of Markdown.
    """
    lines: list[str] = []
    for method in (SOFT, PUBLISHED):
        lines += [f"### {method.label} above SKkm, ITML and LSML at every size", ""]
        lines += [_above(results, sampling, method) for sampling in SAMPLINGS]
    lines += ["### Soft, hard and as published", "", _variants(results)]
    lines += ["", "### The order of the methods at the largest size", "", *_orders(results)]
    lines += ["", "### Mixed answers", "", *_mixed(results)]
    lines += ["", "### ITML falls in the multi-class setting as answers are added", ""]
    lines += _itml_falls(results)
    if unseen := list(_unseen(results)):
        lines += ["", "### Rows outside the sample", "", *unseen]
    lines += ["", "### Equalities", "", *_equalities(results)]
    return [*lines, "", "### Wrong answers", "", *_wrong(results)]


def in_short(results: SklrResults) -> list[str]:
    """Count how often the main statement holds, under each sampling."""
    lines = []
    for method in (SOFT, PUBLISHED):
        for sampling in SAMPLINGS:
            said = [
                verdict(gap)
                for name in results.study.found_sets
                for panel in PANELS
                for gap in gaps(results, name, panel, sampling, method, COMPARATORS).values()
            ]
            counts = {word: said.count(word) for word in ("yes", "level", "**no**")}
            lines.append(
                f"- {method.label}, {sampling}: above a comparator in {counts['yes']} of "
                f"{len(said)} comparisons, level in {counts['level']}, below in {counts['**no**']}."
            )
    return [*lines, *_wrong(results)[:1]]


def _above(results: SklrResults, sampling: str, method: Method) -> str:
    rows = []
    for name in results.study.found_sets:
        found = [gaps(results, name, panel, sampling, method, COMPARATORS) for panel in PANELS]
        rows.append([name, *map(standing, found)])
    header = [sampling, *(panel.title for panel in PANELS)]
    return harness.markdown_table(header, rows) + "\n"


def _variants(results: SklrResults) -> str:
    others = (HARD, PUBLISHED, E2CP_PAIRS)
    rows = [
        [f"{panel.title}, {name}"]
        + [standing(gaps(results, name, panel, SAMPLED, SOFT, [other])) for other in others]
        for panel in PANELS
        for name in results.study.found_sets
    ]
    return harness.markdown_table(["SKLR above ...", *(other.label for other in others)], rows)


def _last(results: SklrResults, name: str, panel: Panel, sampling: str) -> dict[str, Score]:
    return {
        method.label: results.score(
            name, panel_cells(results.study, panel, method, sampling)[-1], method, panel.target
        )
        for method in METHODS
    }


def _orders(results: SklrResults) -> Iterator[str]:
    yield "The paper's: SKLR first, then SKkm, ITML and LSML in changing order, then no answers."
    yield ""
    for sampling in SAMPLINGS:
        for name in results.study.found_sets:
            for panel in PANELS:
                order = in_order(_last(results, name, panel, sampling))
                yield f"- {sampling}, {name}, {panel.title}: {order or 'not complete'}."


def _mixed(results: SklrResults) -> Iterator[str]:
    """Check what the paper says of mixed answers: (c) above no answers, (d) SKkm and ITML below."""
    for panel, others, direction in (
        (PANELS[2], COMPARATORS, "above"),
        (PANELS[3], COMPARATORS[:2], "below"),
    ):
        for name in results.study.found_sets:
            base = results.values(name, NO_ANSWERS, KERNEL_KMEANS, panel.target)
            said = []
            for method in others:
                cell = panel_cells(results.study, panel, method)[-1]
                gap = difference(results.values(name, cell, method, panel.target), base)
                said.append(f"{method.label} {_direction(gap)} ({signed(gap)})")
            yield (
                f"- {panel.title}, {name}: said to be {direction} kernel k-means; here "
                f"{', '.join(said)}."
            )


def _direction(gap: Score) -> str:
    return {"yes": "above", "**no**": "below"}.get(verdict(gap), verdict(gap))


def _itml_falls(results: SklrResults) -> Iterator[str]:
    itml, panel = COMPARATORS[1], PANELS[1]
    for name in results.study.found_sets:
        cells = panel_cells(results.study, panel, itml)
        first, last = (results.values(name, cells[i], itml, panel.target) for i in (0, -1))
        gap = difference(last, first)
        answer = {"**no**": "yes", "yes": "**no**"}.get(verdict(gap), verdict(gap))
        yield f"- {name}: {answer} ({signed(gap)} from the smallest to the largest size)."


def _unseen(results: SklrResults) -> Iterator[str]:
    for name in results.study.found_sets:
        for panel in PANELS:
            field = f"new {panel.target}"
            if np.isnan(results.score(name, NO_ANSWERS, KERNEL_KMEANS, field).mean):
                continue
            for ours in (SOFT, PUBLISHED):
                found = standing(gaps(results, name, panel, SAMPLED, ours, COMPARATORS, field))
                yield f"- {panel.title}, {name}: {ours.label} above the others: {found}."


def _equalities(results: SklrResults) -> Iterator[str]:
    for method in (SOFT, PUBLISHED):
        for with_apart in (False, True):
            kind = "of one class or of three" if with_apart else "of one class"
            for name in results.study.found_sets:
                first, *_, last = results.study.equal_cells(with_apart=with_apart)
                gap = difference(
                    *(results.values(name, cell, method, "multi") for cell in (last, first))
                )
                yield (
                    f"- {method.label}, {name}: {last.n_equal} equalities {kind} improve the "
                    f"groups: {verdict(gap)} ({signed(gap)})."
                )


def _wrong(results: SklrResults) -> list[str]:
    """Compare soft SKLR with no answers where most answers are wrong."""
    gaps_of = {}
    for name in results.study.found_sets:
        base = results.values(name, NO_ANSWERS, KERNEL_KMEANS, "multi")
        ours = results.values(name, results.study.wrong_cells(SOFT)[-1], SOFT, "multi")
        gaps_of[name] = difference(ours, base)
    said = standing(gaps_of)
    lines = [f"- Soft SKLR above kernel k-means with {WRONG[-1]:.0%} of the answers wrong: {said}."]
    for name in results.study.found_sets:
        ends = {m: results.study.wrong_cells(m)[-1] for m in (SOFT, HARD, *COMPARATORS)}
        scores = {m.label: results.score(name, cell, m, "multi") for m, cell in ends.items()}
        order = in_order(scores)
        lines.append(f"- {name}, {WRONG[-1]:.0%} wrong: {order or 'not complete'}.")
    return lines
