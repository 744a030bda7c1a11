"""Which method wins where, and by how much."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks._harness import markdown_table
from benchmarks.papers._scores import Score
from benchmarks.papers.cop_rf.areas import Areas
from benchmarks.papers.cop_rf.methods import METHODS, Method
from benchmarks.papers.cop_rf.protocol import TABLES, Problem, Table

__all__ = ["which_report"]

#: Methods that are there to be set beside the paper, not to be chosen.
PUBLISHED_ONLY = frozenset(
    {"spclust", "cop_kmeans_paper", "sl_paper", "e2cp_paper", "rf_e2cp_paper", "coprf_hard"}
)
CHOICES = tuple(method for method in METHODS if method.name not in PUBLISHED_ONLY)
CLEAN, NOISY, RATES = TABLES
#: Moments of the curves: a title, the table, and the place on its curve.
MOMENTS = (
    ("fewest, right", CLEAN, 0),
    ("most, right", CLEAN, -1),
    ("fewest, 15 % wrong", NOISY, 0),
    ("most, 15 % wrong", NOISY, -1),
    ("30 % wrong", RATES, -1),
)
Row = list[object]


def which_report(areas: Areas) -> list[str]:
    """Give three tables: means and wins, the best for each set, and by amount and quality.

    Returns
    -------
    list of str
        Lines of Markdown; scores are mean adjusted Rand indices along the curves.
    """
    lines = [_means(areas), "", *_refusals(areas), "", "### The best by set", ""]
    lines += [_best(areas), "", "### By the amount of answers, and how many are wrong", ""]
    return [*lines, _moments(areas)]


def _height(areas: Areas, problems: Sequence[Problem], method: Method, table: Table) -> Score:
    """Give the mean height of the curve: its area by its width."""
    width = len(table.cells(areas.problems[0].amounts)) - 1
    found = areas.average(problems, method, table)
    return Score.of({t: area / width for t, area in found.items()})


def _marked(scores: Sequence[Score]) -> list[str]:
    """Print the best score in bold."""
    means = [score.mean for score in scores]
    best = np.nanmax(means) if not np.isnan(means).all() else np.nan
    return [f"**{s}**" if s.mean == best else str(s) for s in scores]


def _columns(header: Sequence[str], columns: Sequence[Sequence[object]]) -> str:
    rows: list[Row] = [
        [method.label, *cells] for method, *cells in zip(CHOICES, *columns, strict=True)
    ]
    return markdown_table(header, rows)


def _means(areas: Areas) -> str:
    header, columns = ["method"], []
    for table in TABLES:
        header += [_what(table), "sets won"]
        columns.append(_marked([_height(areas, areas.fair, m, table) for m in CHOICES]))
        won = [_winner(areas, problem, table)[0] for problem in areas.fair]
        columns.append([sum(winner is m for winner in won) or "" for m in CHOICES])
    return _columns(header, columns)


def _what(table: Table) -> str:
    return {"II": "all right", "III": "15 % wrong", "IV": "5 to 30 % wrong"}[table.name]


def _winner(
    areas: Areas, problem: Problem, table: Table, among: Sequence[Method] = CHOICES
) -> tuple[Method | None, Score]:
    scores = [(m, _height(areas, [problem], m, table)) for m in among]
    known = [(m, score) for m, score in scores if not np.isnan(score.mean)]
    return max(known, key=lambda pair: pair[1].mean, default=(None, Score.of({})))


def _best(areas: Areas) -> str:
    """Give the best of all, the best other one, and the best without answers."""
    rows: list[Row] = []
    silent = [method for method in CHOICES if not method.uses_answers]
    for problem in areas.fair:
        for table in TABLES:
            first, score = _winner(areas, problem, table)
            rest = [method for method in CHOICES if method is not first]
            seconds = (_winner(areas, problem, table, among) for among in (rest, silent))
            row: Row = [problem.name, _what(table), _named(first, score)]
            rows.append(row + [_named(*second) for second in seconds])
    return markdown_table(["set", "answers", "best", "next", "best without answers"], rows)


def _named(method: Method | None, score: Score) -> str:
    return f"{method.label} {score}" if method else "–"


def _refusals(areas: Areas) -> list[str]:
    """Say how often hard methods gave no groups; such a point counts as 0."""
    lines = []
    for method in METHODS:
        if not method.is_hard:
            continue
        shares = [areas.failed_share(areas.fair, method, table) for table in TABLES]
        said = ", ".join(f"{_what(t)} {s:.0%}" for t, s in zip(TABLES, shares, strict=True))
        lines.append(f"- {method.label}: {said}.")
    intro = "Hard methods refuse answers that cannot all be kept; such a point counts as 0 here:"
    return [intro, "", *lines]


def _moments(areas: Areas) -> str:
    header = ["method", *(title for title, *_ in MOMENTS)]
    score: Callable[[Method, Table, int], Score] = lambda m, table, place: Score.of(  # noqa: E731
        areas.at_place(areas.fair, m, table, place)
    )
    columns = [_marked([score(m, table, place) for m in CHOICES]) for _, table, place in MOMENTS]
    return _columns(header, columns)
