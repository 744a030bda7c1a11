"""One loop over the parts of a study, and reading what it left in the log."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Generic, Protocol, TypeVar

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks import _harness as harness
from benchmarks._result_log import ResultLog
from benchmarks.papers._relative.methods import Method
from benchmarks.papers._running import run_missing
from benchmarks.papers._scores import Score
from clew import Constraints, datasets
from clew.exceptions import DatasetNotFoundError

__all__ = ["KEY", "Cell", "OfOneTrial", "Results", "Scene", "Study", "run"]

KEY = ("set", "cell", "method", "trial", "version")
Values = dict[int, float]


class Cell(Protocol):
    """A point at which methods are measured."""

    @property
    def name(self) -> str:
        """How the log calls it."""


class Scene(Protocol):
    """Features and answers of one set, cell and trial."""

    def run(self, method: Method) -> dict[str, Any]:
        """Give what the log should hold of a method."""


@dataclass(frozen=True)
class OfOneTrial:
    """A set and the answers of one trial, which studies know how to run methods on."""

    problem: Any
    cell: Any
    trial: int

    @cached_property
    def answers(self) -> Constraints:
        """What all methods may hear."""
        found: Constraints = self.problem.answers(self.cell, self.trial)
        return found


@dataclass(frozen=True)
class Study:
    """How large a study is, and where its results are kept; each says what there is to run."""

    n_trials: int
    sets: tuple[str, ...]
    stem: str

    @property
    def log(self) -> ResultLog:
        """The file of single results."""
        return ResultLog(harness.RESULTS / f"{self.stem}.jsonl", KEY)

    @property
    def found_sets(self) -> list[str]:
        """The sets that can be had."""
        return [name for name in self.sets if not missing(name)]

    @property
    def absent_sets(self) -> list[str]:
        """The others."""
        return [name for name in self.sets if missing(name)]

    def is_of(self, record: dict[str, Any]) -> bool:
        """Whether a result of the log is of what there is to run, be it of another version."""
        return record["set"] in self.sets

    def cells(self, name: str) -> list[Any]:
        """Give the points on a set, those that take longest first."""
        raise NotImplementedError

    def methods_at(self, name: str, cell: Any) -> Sequence[Method]:
        """Give the methods that are measured at a point."""
        raise NotImplementedError

    def scene(self, name: str, cell: Any, trial: int) -> Scene:
        """Draw the rows and the answers of a trial."""
        raise NotImplementedError

    def key(self, name: str, cell: Cell, method: Method, trial: int) -> tuple[object, ...]:
        """Give the key under which the log holds a result."""
        return (name, cell.name, method.name, trial, _version(method))

    def keys(self, name: str) -> list[tuple[object, ...]]:
        """Give the keys of all results of a set."""
        return [
            self.key(name, cell, method, trial)
            for cell in self.cells(name)
            for method in self.methods_at(name, cell)
            for trial in range(self.n_trials)
        ]


@cache
def _version(method: Method) -> str:
    return method.version


@cache
def missing(name: str) -> str:
    """Say why a set cannot be had; nothing if it can."""
    try:
        datasets.load(name)
    except DatasetNotFoundError as error:
        return str(error)
    return ""


def run(study: Study, n_jobs: int) -> None:
    """Run every (trial, set, cell) that is not complete, in processes with one thread each.

    Parameters
    ----------
    study : Study
        What to run. Results that its log holds are not made again.
    n_jobs : int
        Processes.
    """
    run_missing(study, _units, _run_unit, missing, n_jobs)


Unit = tuple[str, Any, int, list[str]]


def _units(study: Study, done: dict[tuple[Any, ...], Any]) -> list[Unit]:
    """Give what is not done, trial by trial: who stops the study still has whole trials."""
    units: list[Unit] = []
    for trial in range(study.n_trials):
        for name in study.found_sets:
            for cell in study.cells(name):
                left = [
                    method.name
                    for method in study.methods_at(name, cell)
                    if study.key(name, cell, method, trial) not in done
                ]
                if left:
                    units.append((name, cell, trial, left))
    return units


def _run_unit(
    study: Study, name: str, cell: Cell, trial: int, methods: Sequence[str], source: str
) -> str:
    """Run some methods at one point; the log grows with each."""
    with threadpool_limits(1):
        scene = study.scene(name, cell, trial)
        for method in study.methods_at(name, cell):
            if method.name not in methods:
                continue
            start = time.process_time()
            found = scene.run(method)
            seconds = round(time.process_time() - start, 3)
            key = dict(zip(KEY, study.key(name, cell, method, trial), strict=True))
            study.log.append(key | {"seconds": seconds} | found | {"source": source})
    return f"{name}, {cell.name}, trial {trial}"


S = TypeVar("S", bound=Study)


@dataclass(frozen=True)
class Results(Generic[S]):
    """What the log holds of a study."""

    study: S

    @cached_property
    def records(self) -> dict[tuple[Any, ...], dict[str, Any]]:
        """The results of the methods as they are now."""
        found = self.study.log.read()
        return {key: found[key] for key in self._wanted if key in found}

    @cached_property
    def _wanted(self) -> list[tuple[object, ...]]:
        return [key for name in self.study.found_sets for key in self.study.keys(name)]

    def values(self, name: str, cell: Cell, method: Method, field: str) -> Values:
        """Give one field of the results at one point, by trial; a refusal has none."""
        keys = {t: self.study.key(name, cell, method, t) for t in range(self.study.n_trials)}
        found = {t: self.records[key] for t, key in keys.items() if key in self.records}
        return {t: record[field] for t, record in found.items() if field in record}

    def score(self, name: str, cell: Cell, method: Method, field: str) -> Score:
        """Average it over the trials."""
        return Score.of(self.values(name, cell, method, field))

    def n_refused(self, name: str, cell: Cell, method: Method) -> int:
        """Count the trials in which the method refused the answers."""
        keys = [self.study.key(name, cell, method, t) for t in range(self.study.n_trials)]
        return sum("failure" in self.records[key] for key in keys if key in self.records)

    def n_missing(self) -> int:
        """Count the results that are not there."""
        return len(self._wanted) - len(self.records)

    def sources(self) -> set[str]:
        """Give the tags of clew's source that made the results."""
        return {record["source"] for record in self.records.values()}
