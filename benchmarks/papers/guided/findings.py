"""What was to be reached, held against the results."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.papers._relative.tables import signed
from benchmarks.papers._scores import Score, difference
from benchmarks.papers.guided.figures import EVERYWHERE, Figures, main_cells
from benchmarks.papers.guided.methods import COMPARATORS, GUIDED
from benchmarks.papers.guided.tables import answer_score, n_behind, worst_below

__all__ = ["findings"]

AHEAD, AUC, LOSS = 0.05, 0.85, 0.02


def findings(figures: Figures) -> list[str]:
    """Say in short what was reached.

    Returns
    -------
    list of str
        Lines of Markdown.
    """
    parts = (_over_all, _cells, _answers, _others)
    return [f"- {line}" for part in parts for line in part(figures)]


def _over_all(figures: Figures) -> Iterator[str]:
    cells = main_cells(figures.results)
    best = figures.best(lambda method: figures.mean(cells, method))
    if best is None:
        yield "The main part is not run."
        return
    names = figures.results.study.found_sets
    gap = difference(*(figures.over(names, cells, m, EVERYWHERE) for m in (GUIDED, best[0])))
    yield (
        f"Over all, mean ARI {figures.mean(cells, GUIDED)}; the best comparator is "
        f"{best[0].label} with {best[1]}. Ahead by {signed(gap)} "
        f"({_reached(gap.mean >= AHEAD)}; sought {AHEAD})."
    )


def _others(figures: Figures) -> Iterator[str]:
    """Name the best of what is no comparator, too: parts of clew joined by hand."""
    cells = main_cells(figures.results)
    others = [method for method in EVERYWHERE if method not in (GUIDED, *COMPARATORS)]
    best = figures.best(lambda method: figures.mean(cells, method), others)
    if best is not None:
        names = figures.results.study.found_sets
        gap = difference(*(figures.over(names, cells, m, EVERYWHERE) for m in (GUIDED, best[0])))
        yield (
            f"Of the other methods that run on all sets the best is {best[0].label} with "
            f"{best[1]}: {signed(gap)}."
        )


def _cells(figures: Figures) -> Iterator[str]:
    gaps = {}
    for cell in main_cells(figures.results):
        best = figures.best(lambda method, cell=cell: figures.mean([cell], method))
        if best:
            gaps[cell.name] = (figures.mean([cell], GUIDED).mean - best[1].mean, best[0].label)
    if not gaps:
        return
    least = min(gaps, key=lambda name: gaps[name][0])
    n_ahead = sum(gap >= 0 for gap, _ in gaps.values())
    yield (
        f"At or above every comparator on the mean in {n_ahead} of {len(gaps)} cells "
        f"({_reached(n_ahead == len(gaps))}); least {least}: {gaps[least][0]:+.3f} beside "
        f"{gaps[least][1]}."
    )
    behind = []
    for error in figures.results.study.errors:
        sets, n_sets = n_behind(figures, error, by_amount=False)
        points, n_points = n_behind(figures, error, by_amount=True)
        behind.append(f"{sets} of {n_sets} ({points} of {n_points}) at {100 * error:g} %")
    yield (
        "More than a standard error below the best comparator of a set, over its amounts (and at "
        f"single amounts): {', '.join(behind)}."
    )


def _answers(figures: Figures) -> Iterator[str]:
    for error in figures.results.study.errors:
        cells = main_cells(figures.results, error)
        if error:
            auc = answer_score(figures, cells, "auc")
            yield f"Wrong answers found at {100 * error:g} %: AUC {auc}{_auc_verdict(auc, error)}."
        rate, held = (answer_score(figures, cells, field) for field in ("error_rate", "is_held"))
        yield (
            f"Error rate at {100 * error:g} %: estimated {rate}"
            + (f"; its interval holds the truth in a share of {held}." if error else ".")
        )
    worst = max(figures.results.study.errors)
    losses = [loss for loss in worst_below(figures, worst) if loss[2] < -LOSS]
    told = "; ".join(f"{name}, {amount} {loss:+.3f}" for name, amount, loss in losses[:5])
    yield (
        f"With {100 * worst:g} % wrong, more than {LOSS} below no answers at {len(losses)} sets "
        f"and amounts ({_reached(not losses)})" + (f": {told}." if told else ".")
    )


def _auc_verdict(auc: Score, error: float) -> str:
    if error != 0.15 or np.isnan(auc.mean):
        return ""
    return f" ({_reached(auc.mean >= AUC)}; sought {AUC})"


def _reached(is_so: bool) -> str:
    return "reached" if is_so else "**not reached**"
