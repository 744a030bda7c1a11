"""Tables of the other parts: kinds of answers, annotators, ablations."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks import _harness as harness
from benchmarks.papers._relative.tables import marked, signed
from benchmarks.papers._scores import Score, difference
from benchmarks.papers.guided.ablations import ABLATIONS, UNCREDITED
from benchmarks.papers.guided.figures import Figures
from benchmarks.papers.guided.methods import COMPARATORS, GUIDED, HEARS_THREES, Method
from benchmarks.papers.guided.parts import ABLATION, ANNOTATORS, KIND_METHODS, KINDS_PART
from benchmarks.papers.guided.protocol import KINDS, Cell

__all__ = ["ablated", "ablations", "annotators", "kinds"]


def kinds(figures: Figures, amount: str, error: float) -> str:
    """Lay out means over sets: a row for each method, a column for each kind of answers."""
    names = _names(figures, KINDS_PART.sets)
    everywhere = [method for method in KIND_METHODS if method.max_rows > 5_000]
    rows: list[list[object]] = []
    columns = []
    for kind in KINDS:
        cell = [Cell(kind, amount, error)]
        columns.append(
            marked([Score.of(figures.over(names, cell, m, everywhere)) for m in everywhere])
        )
    for i, method in enumerate(everywhere):
        rows.append([method.label, *(column[i] for column in columns)])
    for method in (*KIND_METHODS, *HEARS_THREES):
        if method not in everywhere:
            gaps = [figures.gap(names, [Cell(kind, amount, error)], method) for kind in KINDS]
            rows.append([f"guided ahead of {method.label}", *map(signed, gaps)])
    return harness.markdown_table([f"{amount}, {100 * error:g} % wrong", *KINDS], rows)


def annotators(figures: Figures, people: str, amount: str) -> str:
    """Lay out sets: names known, names dropped, and the best comparator of both."""
    names = _names(figures, ANNOTATORS.sets)
    cells = [Cell(people, amount, 0.0, is_named) for is_named in (True, False)]
    rows: list[list[object]] = []
    for label, of in [*((name, [name]) for name in names), ("mean", names)]:
        variants = [(cells[0], GUIDED), (cells[0], UNCREDITED), (cells[1], GUIDED)]
        scores = [Score.of(figures.over(of, [cell], m, (m,))) for cell, m in variants]
        best = figures.best(lambda method, of=of: _better(figures, of, cells, method))
        theirs = best[1] if best else Score(np.nan, np.nan)
        rows.append([label, *map(str, scores), best[0].label if best else "–", str(theirs)])
    columns = ["names known", "alike at first", "names dropped", "best comparator", "its"]
    header = [f"{people}, {amount}", *columns]
    return harness.markdown_table(header, rows)


def _better(figures: Figures, names: Sequence[str], cells: Sequence[Cell], method: Method) -> Score:
    """Give the better of a comparator's scores with names and without."""
    scores = [Score.of(figures.over(names, [cell], method, COMPARATORS)) for cell in cells]
    return max(scores, key=lambda score: np.nan_to_num(score.mean, nan=-9.0))


def ablations(figures: Figures) -> str:
    """Lay out what each step is worth: a row for each way to leave one out."""
    errors = figures.results.study.errors
    rows: list[list[object]] = []
    for method in (GUIDED, *ABLATIONS):
        means = [ablated(figures, method, error) for error in errors]
        gap = difference(_ablated(figures, method, None), _ablated(figures, GUIDED, None))
        seconds = Score.of(_ablated(figures, method, None, "fit_seconds")).mean
        label = "all steps" if method is GUIDED else method.label
        last = "" if method is GUIDED else signed(gap)
        rows.append(
            [label, *map(str, means), last, f"{seconds:.2f}" if seconds == seconds else "–"]
        )
    wrong = [f"{100 * error:g} % wrong" for error in errors]
    return harness.markdown_table(["", *wrong, "beside all steps", "s"], rows)


def ablated(figures: Figures, method: Method, error: float | None) -> Score:
    """Average a variant over sets and amounts."""
    return Score.of(_ablated(figures, method, error))


def _ablated(
    figures: Figures, method: Method, error: float | None, field: str = "ari"
) -> dict[int, float]:
    amounts, errors = figures.results.study.amounts, figures.results.study.errors
    cells = [
        cell
        for cell in ABLATION.cells
        if cell.amount in amounts and cell.error in errors and error in (None, cell.error)
    ]
    names = _names(figures, ABLATION.sets)
    return figures.over(names, cells, method, (GUIDED, *ABLATIONS), field)


def _names(figures: Figures, wanted: Sequence[str]) -> list[str]:
    return [name for name in figures.results.study.found_sets if name in wanted]
