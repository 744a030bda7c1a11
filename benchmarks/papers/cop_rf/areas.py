"""Curves and the areas under them, read from the log of single results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers._scores import Score
from benchmarks.papers.cop_rf.measures import Measure
from benchmarks.papers.cop_rf.methods import Method
from benchmarks.papers.cop_rf.protocol import Cell, Problem, Table
from benchmarks.papers.cop_rf.published import PUBLISHED
from benchmarks.papers.cop_rf.study import NO_ANSWERS, Study
from clew.metrics import area_under_curve

__all__ = ["Areas"]


@dataclass(frozen=True)
class Areas:
    """What the log holds of a study."""

    study: Study
    problems: tuple[Problem, ...]
    """The sets of the tables that could be had."""

    @property
    def fair(self) -> list[Problem]:
        """The sets whose features do not give the classes away."""
        return [problem for problem in self.problems if not problem.is_leaky]

    @property
    def published(self) -> list[Problem]:
        """Those of them that the paper has."""
        return [problem for problem in self.fair if problem.name in PUBLISHED["II"]]

    @property
    def averages(self) -> dict[str, list[Problem]]:
        """The sets to average over, by what the average is called: the paper's, and all."""
        groups = [self.published] if self.published != self.fair else []
        found = [problems for problems in [*groups, self.fair] if len(problems) > 1]
        return {f"average of {len(problems)}": problems for problems in found}

    @cached_property
    def records(self) -> dict[tuple[Any, ...], dict[str, Any]]:
        """The results of this study's measures, as they are now."""
        versions = {(m.name, m.version(self.study.n_trees)) for m in self.study.measures()}
        found = self.study.log.read()
        return {k: r for k, r in found.items() if (r["method"], r["version"]) in versions}

    def values(
        self, problem: Problem, measure: Measure, cell: Cell, field: str = "ari"
    ) -> dict[int, Any]:
        """Give one field of the results at one point, by trial; a failure has an ARI of 0."""
        task = (measure, cell if measure.uses_answers else NO_ANSWERS)
        keys = {t: self.study.key(problem, t, task) for t in range(self.study.n_trials)}
        found = {t: self.records[key] for t, key in keys.items() if key in self.records}
        return {
            t: 0.0 if record.get("failure") else record[field]
            for t, record in found.items()
            if record.get("failure") or field in record
        }

    def score(self, problem: Problem, measure: Measure, cell: Cell, field: str = "ari") -> Score:
        """Average it over the trials."""
        return Score.of(self.values(problem, measure, cell, field))

    def curves(
        self, problem: Problem, method: Measure, table: Table
    ) -> dict[int, NDArray[np.float64]]:
        """Give the curve of each trial that is complete."""
        points = [self.values(problem, method, cell) for cell in table.cells(problem.amounts)]
        complete = set.intersection(*map(set, points))
        return {t: np.array([point[t] for point in points]) for t in sorted(complete)}

    def areas(self, problem: Problem, method: Method, table: Table) -> dict[int, float]:
        """Give the area under the curve of each complete trial."""
        return {t: area_under_curve(c) for t, c in self.curves(problem, method, table).items()}

    def average(
        self, problems: Sequence[Problem], method: Method, table: Table
    ) -> dict[int, float]:
        """Average the area over data sets, for each trial complete on all of them."""
        return _averaged([self.areas(problem, method, table) for problem in problems])

    def at_place(
        self, problems: Sequence[Problem], method: Method, table: Table, place: int
    ) -> dict[int, float]:
        """Average one point of the curve over data sets, for each trial that all of them have."""
        cells = [table.cells(problem.amounts)[place] for problem in problems]
        points = zip(problems, cells, strict=True)
        return _averaged([self.values(problem, method, cell) for problem, cell in points])

    def failed_share(self, problems: Sequence[Problem], method: Method, table: Table) -> float:
        """Give the share of the points at which the method gave no groups."""
        failed = [
            "failure" in self.records[key]
            for problem in problems
            for cell in table.cells(problem.amounts)
            for t in range(self.study.n_trials)
            if (key := self.study.key(problem, t, (method, cell))) in self.records
        ]
        return float(np.mean(failed)) if failed else 0.0

    def n_missing(self) -> int:
        """Count the results that are not there."""
        wanted = sum(len(self.study.tasks(problem)) for problem in self.study.problems())
        have = sum(record["trial"] < self.study.n_trials for record in self.records.values())
        return max(wanted * self.study.n_trials - have, 0)

    def sources(self) -> set[str]:
        """Give the tags of clew's source that made the results."""
        return {record["source"] for record in self.records.values()}


def _averaged(parts: Sequence[Mapping[int, float]]) -> dict[int, float]:
    complete = set.intersection(*map(set, parts)) if parts else set()
    return {t: float(np.mean([part[t] for part in parts])) for t in sorted(complete)}
