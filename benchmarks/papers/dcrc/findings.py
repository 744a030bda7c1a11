"""The paper's statements, one by one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks import _harness as harness
from benchmarks.papers._relative.methods import Method
from benchmarks.papers._relative.study import Cell
from benchmarks.papers._relative.tables import in_order, signed, standing
from benchmarks.papers._scores import Score, difference, verdict
from benchmarks.papers.dcrc.methods import (
    ANNOTATORS,
    COMPARATORS,
    DEFAULT,
    E2CP_PAIRS,
    FREE,
    HARD,
    ITML_PAIRS,
    KERNEL,
    KMEANS,
    LINEAR,
    METHODS,
    ONE_PERSON,
    PEOPLES,
    PUBLISHED,
    SIX_PEOPLE,
    SKLR_TRIPLETS,
    YES_NO,
)
from benchmarks.papers.dcrc.protocol import BIRDS, DIGITS, LETTERS, NO_ANSWERS
from benchmarks.papers.dcrc.study import ONE, SIX, DcrcResults

__all__ = ["findings", "gap", "in_short"]

MEASURES = {"f": "F", "ari": "ARI"}


def findings(results: DcrcResults) -> list[str]:
    """Hold the paper's statements against the results.

    Returns
    -------
    list of str
        Lines of Markdown.
    """
    lines: list[str] = []
    for method in (DEFAULT, PUBLISHED, YES_NO):
        lines += [f"### {method.label} at or above every comparator at every size", ""]
        lines += [_against(results, method, (*COMPARATORS, KMEANS)), ""]
    lines += ["### The order of the methods with most answers", "", *_orders(results), ""]
    sections = {
        "Don't-knows help: DCRC linear above DCRC-YN": (LINEAR, (YES_NO,)),
        "Soft above hard: DCRC linear above DCRC hard": (LINEAR, (HARD,)),
        "Balance helps: DCRC linear above DCRC without": (LINEAR, (FREE,)),
        "clew's default above DCRC as published": (DEFAULT, (PUBLISHED,)),
        "clew's default above its linear form, its kernel form, SKLR and E2CP": (
            DEFAULT,
            (LINEAR, KERNEL, SKLR_TRIPLETS, E2CP_PAIRS),
        ),
    }
    for title, (ours, others) in sections.items():
        lines += [f"### {title}", "", _against(results, ours, others), ""]
    balance, people = list(_balance(results)), list(_people(results))
    if balance:
        lines += ["### Balance, by whether classes are even", "", *balance, ""]
    lines += [*_digits(results), ""]
    return [*lines, "### People who err", "", *people] if people else lines


def in_short(results: DcrcResults) -> list[str]:
    """Count how often the main statement holds, by method and measure."""
    lines = []
    for method in (DEFAULT, PUBLISHED):
        for field, label in MEASURES.items():
            said = [
                verdict(found)
                for name in results.study.found_sets
                for found in _gaps(results, name, method, COMPARATORS, field).values()
            ]
            counts = {word: said.count(word) for word in ("yes", "level", "**no**")}
            lines.append(
                f"- {method.label}, {label}: above a comparator in {counts['yes']} of {len(said)} "
                f"comparisons (set × size × method), level in {counts['level']}, below in "
                f"{counts['**no**']}."
            )
    return [*lines, *_digits(results)]


def gap(results: DcrcResults, name: str, cell: Cell, pair: Sequence[Method], field: str) -> Score:
    """Give by how much the first of two methods is ahead; k-means is the same at every point."""
    cells = [cell if method.uses_answers else NO_ANSWERS for method in pair]
    ours, theirs = (
        results.values(name, c, method, field) for c, method in zip(cells, pair, strict=True)
    )
    return difference(ours, theirs)


def _gaps(
    results: DcrcResults, name: str, ours: Method, others: Sequence[Method], field: str
) -> dict[str, Score]:
    return {
        f"{other.label} at {cell.share:g} N": gap(results, name, cell, (ours, other), field)
        for other in others
        for cell in results.study.curve
    }


def _against(results: DcrcResults, ours: Method, others: Sequence[Method]) -> str:
    rows = []
    for name in results.study.found_sets:
        found = [_gaps(results, name, ours, others, field) for field in MEASURES]
        rows.append([name, *map(standing, found)])
    return harness.markdown_table(["set", *MEASURES.values()], rows)


def _orders(results: DcrcResults) -> Iterator[str]:
    yield "The paper's: DCRC, then DCRC-YN and ITML, then the others."
    yield ""
    cell = results.study.curve[-1]
    for name in results.study.found_sets:
        for field, label in MEASURES.items():
            scores = {
                m.label: results.score(name, cell if m.uses_answers else NO_ANSWERS, m, field)
                for m in METHODS
            }
            yield f"- {name}, {label}: {in_order(scores) or 'not complete'}."


def _balance(results: DcrcResults) -> Iterator[str]:
    """Check what the paper says of balance: good without answers, bad for birds with many."""
    even = {BIRDS: "the paper: helps without answers, hurts with many", LETTERS: "the paper: helps"}
    for name, paper in even.items():
        if name not in results.study.found_sets:
            continue
        for cell in (NO_ANSWERS, results.study.curve[-1]):
            found = [gap(results, name, cell, (LINEAR, FREE), field) for field in MEASURES]
            said = ", ".join(
                f"{label} {signed(score)} ({_direction(score)})"
                for label, score in zip(MEASURES.values(), found, strict=True)
            )
            yield f"- {name}, {cell.name}: {said}; {paper}."


def _direction(found: Score) -> str:
    return {"yes": "helps", "**no**": "hurts"}.get(verdict(found), verdict(found))


def _digits(results: DcrcResults) -> list[str]:
    if DIGITS not in results.study.found_sets:
        return []
    cell = results.study.curve[-1]
    ours, theirs = (results.score(DIGITS, cell, m, "f") for m in (DEFAULT, ITML_PAIRS))
    found = gap(results, DIGITS, cell, (DEFAULT, ITML_PAIRS), "f")
    return [
        f"- Digits-389, {cell.name}: DCRC F {ours}, ITML {theirs}; DCRC above: {verdict(found)} "
        f"({signed(found)}). The paper's ITML has about .97."
    ]


def _people(results: DcrcResults) -> Iterator[str]:
    """Check Table V: DCRC above k-means where the others fall below it."""
    for cell, methods in ((ONE, ONE_PERSON), (SIX, SIX_PEOPLE)):
        for name in results.study.found_sets:
            if cell not in results.study.cells(name):
                continue
            for field, label in MEASURES.items():
                above = {m: gap(results, name, cell, (m, KMEANS), field) for m in methods}
                said = "; ".join(f"{m.label} {signed(found)}" for m, found in above.items())
                yield f"- {cell.kind}, {name}, {label} above k-means: {said}."
            found = gap(results, name, cell, (ANNOTATORS, PEOPLES), "f")
            yield (
                f"- {cell.kind}, {name}: a confusion matrix for each annotator above ε = .15: "
                f"{verdict(found)} (F {signed(found)})."
            )
