"""Curves and the areas under them, read from the log of single results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks._harness import mean_and_error
from benchmarks.papers.cop_rf.methods import METHODS, Method
from benchmarks.papers.cop_rf.protocol import Cell, Problem, Table
from benchmarks.papers.cop_rf.published import PUBLISHED
from benchmarks.papers.cop_rf.study import NO_ANSWERS, Study
from clew.metrics import area_under_curve

__all__ = ["Areas", "Score", "method_named"]


@dataclass(frozen=True)
class Score:
    """A mean over trials and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: Mapping[int, float]) -> Score:
        """Average over trials."""
        return cls(*mean_and_error(values.values()))

    def __str__(self) -> str:
        if np.isnan(self.mean):
            return "–"
        return f"{self.mean:.3f}" + ("" if np.isnan(self.error) else f" ± {self.error:.3f}")


@dataclass(frozen=True)
class Areas:
    """What the log holds of a study."""

    study: Study
    problems: tuple[Problem, ...]

    @property
    def fair(self) -> list[Problem]:
        """The sets whose features do not give the classes away."""
        return [problem for problem in self.problems if not problem.is_leaky]

    @property
    def published(self) -> list[Problem]:
        """Those of them that the paper has."""
        return [problem for problem in self.fair if problem.name in PUBLISHED["II"]]

    @cached_property
    def records(self) -> dict[tuple[Any, ...], dict[str, Any]]:
        """The results of this study's methods, as they are now."""
        versions = {(method.name, method.version(self.study.n_trees)) for method in METHODS}
        found = self.study.log.read()
        return {k: r for k, r in found.items() if (r["method"], r["version"]) in versions}

    def ari(self, problem: Problem, method: Method, cell: Cell) -> dict[int, float]:
        """Give the score at one point, by trial."""
        task = (method, cell if method.uses_answers else NO_ANSWERS)
        keys = {t: self.study.key(problem, t, task) for t in range(self.study.n_trials)}
        return {t: self.records[key]["ari"] for t, key in keys.items() if key in self.records}

    def curves(
        self, problem: Problem, method: Method, table: Table
    ) -> dict[int, NDArray[np.float64]]:
        """Give the curve of each trial that is complete."""
        points = [self.ari(problem, method, cell) for cell in table.cells(problem.amounts)]
        complete = set.intersection(*map(set, points))
        return {t: np.array([point[t] for point in points]) for t in sorted(complete)}

    def areas(self, problem: Problem, method: Method, table: Table) -> dict[int, float]:
        """Give the area under the curve of each complete trial."""
        return {t: area_under_curve(c) for t, c in self.curves(problem, method, table).items()}

    def average(
        self, problems: Sequence[Problem], method: Method, table: Table
    ) -> dict[int, float]:
        """Average the area over data sets, for each trial complete on all of them."""
        parts = [self.areas(problem, method, table) for problem in problems]
        complete = set.intersection(*map(set, parts)) if parts else set()
        return {t: float(np.mean([part[t] for part in parts])) for t in sorted(complete)}

    def sources(self) -> set[str]:
        """Give the tags of clew's source that made the results."""
        return {record["source"] for record in self.records.values()}


def method_named(name: str) -> Method:
    """Find a method."""
    return next(method for method in METHODS if method.name == name)
