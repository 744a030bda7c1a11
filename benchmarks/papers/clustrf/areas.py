"""Curves over k and their mean heights, read from the log of single results."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers._scores import Score
from benchmarks.papers.clustrf.methods import WAYS, Way, way
from benchmarks.papers.clustrf.protocol import M, Problem
from benchmarks.papers.clustrf.study import Study, Task
from clew.metrics import area_under_curve

__all__ = ["Areas", "percent"]

Values = dict[int, float]


@dataclass(frozen=True)
class Areas:
    """What the log holds of a study."""

    study: Study
    problems: tuple[Problem, ...]

    @cached_property
    def records(self) -> dict[tuple[Any, ...], dict[str, Any]]:
        """The results of this study's ways, as they are now."""
        n_trees = self.study.n_trees
        versions = {(one.method, one.setting, one.version(n_trees)) for one in WAYS}
        found = self.study.log.read()
        return {
            key: record
            for key, record in found.items()
            if (record["method"], record["setting"], record["version"]) in versions
        }

    def curves(self, problem: Problem, one: Way) -> dict[int, NDArray[np.float64]]:
        """Give the ARI over k of each trial that is complete."""
        found = {}
        for trial in range(self.study.n_trials):
            keys = [self.study.key(problem, Task(one, k, trial)) for k in self.study.k]
            if all(key in self.records for key in keys):
                found[trial] = np.array([self.records[key]["ari"] for key in keys])
        return found

    def heights(self, problem: Problem, one: Way) -> Values:
        """Give the area under each curve, divided by the range of k: the mean ARI."""
        n_gaps = len(self.study.k) - 1
        curves = self.curves(problem, one).items()
        return {trial: area_under_curve(curve) / n_gaps for trial, curve in curves}

    def best(self, problem: Problem, method: str) -> Values:
        """Give for a method with an M its heights at the M that is best on the average."""
        heights = [self.heights(problem, way(method, m)) for m in M]
        means = [Score.of(values).mean for values in heights]
        return {} if np.isnan(means).all() else heights[int(np.nanargmax(means))]

    def sources(self) -> set[str]:
        """Give the tags of clew's source that made the results."""
        return {record["source"] for record in self.records.values()}

    def n_missing(self) -> int:
        """Count the results that are not there."""
        wanted = [
            self.study.key(problem, task)
            for problem in self.problems
            for task in self.study.tasks(problem)
        ]
        return sum(key not in self.records for key in wanted)


def percent(score: Score, *, is_signed: bool = False) -> str:
    """Write a mean and its error in hundredths."""
    if np.isnan(score.mean):
        return "–"
    text = f"{100 * score.mean:+.1f}" if is_signed else f"{100 * score.mean:.1f}"
    return text + ("" if np.isnan(score.error) else f" ± {100 * score.error:.1f}")
