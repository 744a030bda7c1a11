"""Tables of the main part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks import _harness as harness
from benchmarks.papers._relative.tables import marked, signed
from benchmarks.papers._scores import Score, difference
from benchmarks.papers.guided.figures import EVERYWHERE, LIMITED, Figures, main_cells
from benchmarks.papers.guided.methods import GUIDED, Method
from benchmarks.papers.guided.protocol import NO_ANSWERS, Cell

__all__ = [
    "about_answers",
    "below_no_answers",
    "by_amount",
    "by_set",
    "limited",
    "n_behind",
    "over_all",
    "seconds",
    "worst_below",
]

ROUNDING = 1e-9


def by_amount(figures: Figures, error: float) -> str:
    """Lay out means over sets: a row for each method, a column for each amount."""
    cells = main_cells(figures.results, error)
    columns = [[cell] for cell in cells] + [cells]
    scores = [[figures.mean(column, method) for method in EVERYWHERE] for column in columns]
    texts = [marked(column) for column in scores]
    rows: list[list[object]] = [
        [method.label, *(column[i] for column in texts)] for i, method in enumerate(EVERYWHERE)
    ]
    rows.append(["best comparator", *(_best_of(figures, column) for column in columns)])
    rows.append(["guided ahead by", *(_ahead(figures, column) for column in columns)])
    header = [f"{100 * error:g} % wrong", *(cell.amount for cell in cells), "mean"]
    return harness.markdown_table(header, rows)


def _best_of(figures: Figures, cells: Sequence[Cell]) -> str:
    found = figures.best(lambda method: figures.mean(cells, method))
    return found[0].label if found else "–"


def _ahead(figures: Figures, cells: Sequence[Cell]) -> str:
    found = figures.best(lambda method: figures.mean(cells, method))
    if found is None:
        return "–"
    names = figures.results.study.found_sets
    ours = figures.over(names, cells, GUIDED, EVERYWHERE)
    theirs = figures.over(names, cells, found[0], EVERYWHERE)
    return signed(difference(ours, theirs))


def over_all(figures: Figures) -> str:
    """Lay out means over everything, the best method first."""
    cells = main_cells(figures.results)
    scores = [(method, figures.mean(cells, method)) for method in EVERYWHERE]
    scores.sort(key=lambda item: -np.nan_to_num(item[1].mean, nan=-9.0))
    return harness.markdown_table(
        ["all sets, amounts and shares", "ARI"], [[m.label, str(score)] for m, score in scores]
    )


def by_set(figures: Figures, error: float) -> str:
    """Lay out sets: guided clustering, with and without answers, and the best comparator."""
    cells = main_cells(figures.results, error)
    rows: list[list[object]] = []
    for name in figures.results.study.found_sets:
        ours = Score.of(figures.over([name], cells, GUIDED, (GUIDED,)))
        best, gap = _rival(figures, name, cells)
        unled = Score.of(figures.values(name, NO_ANSWERS, GUIDED))
        theirs = best[1] if best else Score(np.nan, np.nan)
        label = best[0].label if best else "–"
        rows.append([name, str(ours), str(unled), label, str(theirs), signed(gap)])
    header = [f"{100 * error:g} % wrong", "guided", "no answers", "best comparator", "its", "gap"]
    return harness.markdown_table(header, rows)


def _rival(
    figures: Figures, name: str, cells: Sequence[Cell]
) -> tuple[tuple[Method, Score] | None, Score]:
    """Find the best comparator on a set, and how far guided clustering is ahead of it."""
    best = figures.best(lambda m: Score.of(figures.over([name], cells, m, (GUIDED, m))))
    return best, figures.gap([name], cells, best[0]) if best else Score(np.nan, np.nan)


def n_behind(figures: Figures, error: float | None, *, by_amount: bool) -> tuple[int, int]:
    """Count where guided clustering is more than a standard error behind the best comparator.

    Returns
    -------
    n_behind, n_all : int
        Of sets, or of sets by amounts.
    """
    cells = main_cells(figures.results, error)
    points = [[cell] for cell in cells] if by_amount else [cells]
    gaps = [
        _rival(figures, name, point)[1]
        for name in figures.results.study.found_sets
        for point in points
    ]
    known = [gap for gap in gaps if not np.isnan(gap.mean)]
    behind = [gap for gap in known if gap.mean < -np.nan_to_num(gap.error) - ROUNDING]
    return len(behind), len(known)


def limited(figures: Figures) -> str:
    """Lay out how far guided clustering is ahead of methods that do not run everywhere."""
    names = figures.results.study.found_sets
    rows: list[list[object]] = []
    for method in LIMITED:
        gaps = [
            figures.gap(names, main_cells(figures.results, error), method)
            for error in figures.results.study.errors
        ]
        reach = f"{method.max_rows:,} rows"
        if method.max_answers < 10_000:
            reach += f", {method.max_answers:,} answers"
        rows.append([method.label, reach, *map(signed, gaps)])
    wrong = [f"{100 * error:g} % wrong" for error in figures.results.study.errors]
    return harness.markdown_table(["guided ahead of", "run up to", *wrong], rows)


def about_answers(figures: Figures) -> str:
    """Lay out how well wrong answers are found, and how well their share is estimated."""
    rows: list[list[object]] = []
    for cell in main_cells(figures.results):
        fields = ("auc", "error_rate", "true_error", "is_held")
        row: list[object] = [cell.name.removeprefix("pairs, ")]
        rows.append(row + [str(answer_score(figures, [cell], field)) for field in fields])
    return harness.markdown_table(
        ["mean over sets", "AUC", "estimated share", "true share", "interval holds it"], rows
    )


def answer_score(figures: Figures, cells: Sequence[Cell], field: str) -> Score:
    """Average what guided clustering says of answers."""
    names = figures.results.study.found_sets
    return Score.of(figures.over(names, cells, GUIDED, (GUIDED,), field))


def below_no_answers(figures: Figures, error: float) -> str:
    """Lay out by set what wrong answers do, beside no answers at all."""
    cells = main_cells(figures.results, error)
    rows: list[list[object]] = [
        [name, *(signed(_gain(figures, [name], cell)) for cell in cells)]
        for name in figures.results.study.found_sets
    ]
    names = figures.results.study.found_sets
    rows.append(["mean", *(signed(_gain(figures, names, cell)) for cell in cells)])
    return harness.markdown_table(
        [f"{100 * error:g} % wrong", *(cell.amount for cell in cells)], rows
    )


def worst_below(figures: Figures, error: float) -> list[tuple[str, str, float]]:
    """Name the set and amount of each loss beside no answers, the largest first."""
    found = [
        (name, cell.amount, _gain(figures, [name], cell).mean)
        for name in figures.results.study.found_sets
        for cell in main_cells(figures.results, error)
    ]
    return sorted((loss for loss in found if loss[2] < 0), key=lambda loss: loss[2])


def _gain(figures: Figures, names: Sequence[str], cell: Cell) -> Score:
    with_answers: dict[int, list[float]] = {}
    for name in names:
        unled = figures.values(name, NO_ANSWERS, GUIDED)
        for trial, ari in figures.values(name, cell, GUIDED).items():
            if trial in unled:
                with_answers.setdefault(trial, []).append(ari - unled[trial])
    return Score.of({trial: float(np.mean(gains)) for trial, gains in with_answers.items()})


def seconds(figures: Figures, methods: Sequence[Method]) -> str:
    """Lay out CPU seconds of a fit by set, the mean over the cells that each method is run on."""
    cells = main_cells(figures.results)
    rows: list[list[object]] = []
    for name in figures.results.study.found_sets:
        row: list[object] = [name]
        for method in methods:
            spent = [
                value
                for cell in cells
                for value in figures.values(name, cell, method, "fit_seconds").values()
            ]
            row.append(f"{np.mean(spent):.2f}" if spent else "–")
        rows.append(row)
    return harness.markdown_table(["mean over cells", *(m.label for m in methods)], rows)
