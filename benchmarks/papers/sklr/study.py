"""What the study measures, and where."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers._identity import seed_of
from benchmarks.papers._relative.methods import Method, Outcome, k_means, run_method
from benchmarks.papers._relative.study import Study
from benchmarks.papers.sklr.methods import (
    E2CP_PAIRS,
    KERNEL_KMEANS,
    METHODS,
    PUBLISHED,
    SOFT,
    paper_source,
)
from benchmarks.papers.sklr.protocol import (
    ALL,
    EQUALITIES,
    LABELLED,
    NO_ANSWERS,
    SETS,
    SIZES,
    TARGETS,
    WRONG,
    WRONG_SIZE,
    Cell,
    Problem,
    Sample,
    problem_named,
)
from clew import Constraints
from clew.metrics import adjusted_rand_score

__all__ = ["Drawn", "SklrStudy"]

#: Starts of k-means on all rows of a set, of which there are up to 11,000.
NEW_STARTS = 3


@dataclass(frozen=True)
class SklrStudy(Study):
    """The study of SKLR."""

    n_trials: int = 10
    sets: tuple[str, ...] = SETS
    stem: str = "sklr"
    sizes: tuple[int, ...] = SIZES

    def curve(self, setting: str, source: str) -> list[Cell]:
        """Give the cells of a curve."""
        return [Cell(setting, size, source) for size in self.sizes]

    def wrong_cells(self, method: Method) -> list[Cell]:
        """Give the cells of growing shares of wrong answers, drawn as the paper draws."""
        shares = (0.0, *WRONG)
        return [Cell("multi", WRONG_SIZE, paper_source(method), share) for share in shares]

    def equal_cells(self, *, with_apart: bool) -> list[Cell]:
        """Give the cells of Figure 4."""
        return [Cell("multi", n_equal=n, with_apart=with_apart and n > 0) for n in EQUALITIES]

    def cells(self, name: str) -> list[Cell]:
        """Give all cells, those that take longest first."""
        wrong = [
            Cell("multi", WRONG_SIZE, source, w)
            for w in (0.0, *WRONG)[::-1]
            for source in (LABELLED, ALL)
        ]
        curves = [
            cell for source in (ALL, LABELLED) for setting in TARGETS
            for cell in self.curve(setting, source)
        ]  # fmt: skip
        curves.sort(key=lambda cell: -cell.size)
        equal = [c for apart in (True, False) for c in self.equal_cells(with_apart=apart)]
        return list(dict.fromkeys([*wrong, *equal, *curves, NO_ANSWERS]))

    def methods_at(self, name: str, cell: Cell) -> list[Method]:
        """Give the methods of a cell."""
        if cell == NO_ANSWERS:
            return [KERNEL_KMEANS]
        if cell.n_equal is not None:
            return [SOFT, PUBLISHED]
        told = [method for method in METHODS if method.uses_answers]
        if cell.wrong:
            told = [method for method in told if method not in (PUBLISHED, E2CP_PAIRS)]
            return [method for method in told if paper_source(method) == cell.source]
        return told

    def scene(self, name: str, cell: Cell, trial: int) -> Drawn:
        """Draw the rows and the answers of a trial."""
        problem = problem_named(name)
        return Drawn(problem, problem.sample(trial), cell, trial)


@dataclass(frozen=True)
class Drawn:
    """Rows and answers of one trial."""

    problem: Problem
    sample: Sample
    cell: Cell
    trial: int

    @cached_property
    def answers(self) -> Constraints:
        """What all methods may hear."""
        return self.problem.answers(self.sample, self.cell, self.trial)

    def run(self, method: Method) -> dict[str, Any]:
        """Score the groups of one method.

        Returns
        -------
        dict
            The ARI of each target, and "new " with its name of rows outside the sample.
        """
        seed = seed_of("method", self.problem.name, self.trial)
        groups = {target: self.sample.n_groups[target] for target in self.cell.targets}
        found = run_method(method, self.sample.X, self.answers, tuple(groups.values()), seed)
        record = dict(found.notes)
        if found.labels:
            for target, k in groups.items():
                record[target] = float(adjusted_rand_score(self.sample.y[target], found.labels[k]))
            if self._is_shown_new(method):
                record |= self._of_new(found, groups, seed)
        return record

    def _is_shown_new(self, method: Method) -> bool:
        """Whether Figure 3 has this result."""
        is_paper = self.cell.source == paper_source(method) and not self.cell.wrong
        return (
            bool(method.space)
            and len(self.sample.unseen) > 0
            and (is_paper or self.cell == NO_ANSWERS)
        )

    def _of_new(self, found: Outcome, groups: dict[str, int], seed: int) -> dict[str, float]:
        """Group all rows in the learned space, and score those that it was not learned from."""
        new = found.space.transform(self.sample.unseen)
        everything = np.concatenate([found.embedding, new]) if found.embedding is not None else new
        return {
            f"new {target}": self._score_new(target, k_means(everything, k, NEW_STARTS, seed))
            for target, k in groups.items()
        }

    def _score_new(self, target: str, labels: NDArray[np.int64]) -> float:
        unseen = labels[len(self.sample.X) :]
        return float(adjusted_rand_score(self.sample.unseen_y[target], unseen))
