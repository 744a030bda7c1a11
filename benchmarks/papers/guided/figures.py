"""Means over sets and trials, every method on the same ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.papers._scores import Score, difference
from benchmarks.papers.guided.methods import COMPARATORS, GUIDED, METHODS, Method
from benchmarks.papers.guided.parts import MAIN
from benchmarks.papers.guided.protocol import NO_ANSWERS, Cell
from benchmarks.papers.guided.study import GuidedResults

__all__ = ["EVERYWHERE", "LIMITED", "Figures", "at", "main_cells"]

Values = dict[int, float]

#: Methods that run on all sets and amounts, and those that do not.
EVERYWHERE = tuple(m for m in METHODS if m.is_run(9_999, 999_999))
LIMITED = tuple(m for m in METHODS if m not in EVERYWHERE)


def at(method: Method, cell: Cell) -> Cell:
    """Give the cell in which a method is found: those that hear nothing are run once."""
    return NO_ANSWERS if method.hears == "nothing" else cell


def main_cells(results: GuidedResults, error: float | None = None) -> list[Cell]:
    """Give the cells of the main part, of one share of wrong answers or of all."""
    study = results.study
    return [
        cell
        for cell in MAIN.cells
        if cell != NO_ANSWERS
        and cell.amount in study.amounts
        and cell.error in study.errors
        and error in (None, cell.error)
    ]


@dataclass(frozen=True)
class Figures:
    """Means of the results of a study."""

    results: GuidedResults

    def values(self, name: str, cell: Cell, method: Method, field: str = "ari") -> Values:
        """Give one field by trial."""
        key = (name, at(method, cell), method, field)
        if key not in self._read:
            self._read[key] = self.results.values(*key)
        return self._read[key]

    @cached_property
    def _read(self) -> dict[tuple[str, Cell, Method, str], Values]:
        """What was read, each once."""
        return {}

    def over(
        self,
        names: Sequence[str],
        cells: Iterable[Cell],
        method: Method,
        beside: Sequence[Method],
        field: str = "ari",
    ) -> Values:
        """Average over sets and cells, by trial.

        Parameters
        ----------
        names : sequence of str
            Sets.
        cells : iterable of Cell
            Cells.
        method : Method
            Whose.
        beside : sequence of Method
            Only what all these have counts, so that all are averaged over the same.
        field : str, default="ari"
            Which figure.
        """
        found: dict[int, list[float]] = {}
        for name in names:
            for cell in cells:
                ours = self.values(name, cell, method, field)
                shared = [self.values(name, cell, other).keys() for other in beside]
                for trial in ours.keys() & set.intersection(*map(set, shared), set(ours)):
                    found.setdefault(trial, []).append(ours[trial])
        return {trial: float(np.mean(values)) for trial, values in sorted(found.items())}

    def mean(self, cells: Sequence[Cell], method: Method) -> Score:
        """Average the main part over all sets."""
        names = self.results.study.found_sets
        return Score.of(self.over(names, cells, method, EVERYWHERE))

    def gap(self, names: Sequence[str], cells: Sequence[Cell], other: Method) -> Score:
        """Say how far guided clustering is ahead of another method."""
        both = (GUIDED, other)
        return difference(*(self.over(names, cells, method, both) for method in both))

    def best(
        self,
        score: Callable[[Method], Score],
        among: Sequence[Method] = COMPARATORS,
    ) -> tuple[Method, Score] | None:
        """Find the method of the best score, if any has one."""
        scores = [(method, score(method)) for method in among]
        known = [(method, found) for method, found in scores if not np.isnan(found.mean)]
        return max(known, key=lambda item: item[1].mean, default=None)
