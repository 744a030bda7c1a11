"""Runs what is missing of the study, one result at a time."""

from __future__ import annotations

import time
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cache

from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks._harness import RESULTS
from benchmarks._result_log import ResultLog
from benchmarks.papers._identity import seed_of
from benchmarks.papers._running import run_missing
from benchmarks.papers.cop_rf.measures import Inputs, Measure
from benchmarks.papers.cop_rf.parts import ALL_SETS, PARTS, Part, problem_named
from benchmarks.papers.cop_rf.protocol import Cell, Problem
from clew.exceptions import DatasetNotFoundError

__all__ = ["KEY", "NO_ANSWERS", "Study", "run"]

KEY = ("set", "method", "amount", "error", "trial", "version")
NO_ANSWERS = Cell(0, 0.0)
#: Sets that take long go first, so that no process is left with one of them at the end.
SLOW = ("apfaces_900", "digits", "olivetti_64x64")
Task = tuple[Measure, Cell]


@dataclass(frozen=True)
class Study:
    """How large the study is, and where its results are kept."""

    n_trials: int = 10
    n_trees: int = 1000
    sets: tuple[str, ...] = ALL_SETS
    stem: str = "cop_rf"

    @property
    def log(self) -> ResultLog:
        """The file of single results."""
        return ResultLog(RESULTS / f"{self.stem}.jsonl", KEY)

    def problems(self, part: str | None = None) -> list[Problem]:
        """Give the sets that can be had, of one part or of all."""
        names = ALL_SETS if part is None else part_named(part).sets
        found = [problem_named(name) for name in names if name in self.sets]
        return [problem for problem in found if not missing(problem)]

    def measures(self) -> list[Measure]:
        """Give everything that is measured."""
        return [measure for part in PARTS for measure in part.measures]

    def tasks(self, problem: Problem) -> list[Task]:
        """Give every measure of a set at every point; those without answers once."""
        return [
            (measure, cell)
            for part in PARTS
            if problem.name in part.sets
            for measure in part.measures
            for cell in (part.cells(problem, measure) if measure.uses_answers else [NO_ANSWERS])
        ]

    def key(self, problem: Problem, trial: int, task: Task) -> tuple[object, ...]:
        """Give the key under which the log holds a result."""
        measure, cell = task
        version = _version(measure, self.n_trees)
        return (problem.name, measure.name, cell.amount, cell.error, trial, version)


@cache
def _version(measure: Measure, n_trees: int) -> str:
    return measure.version(n_trees)


def part_named(name: str) -> Part:
    """Find a part."""
    return next(part for part in PARTS if part.name == name)


def missing(problem: Problem) -> str:
    """Say why a set cannot be had; nothing if it can."""
    try:
        return "" if problem.amounts else "no answers"
    except DatasetNotFoundError as error:
        return str(error)


def run(study: Study, n_jobs: int) -> None:
    """Run every (set, trial) that is not complete, in processes with one thread each.

    Parameters
    ----------
    study : Study
        What to run. Results that its log holds are not made again.
    n_jobs : int
        Processes.
    """
    run_missing(
        study, _units, _run_unit, lambda name: missing(problem_named(name)), n_jobs,
        what="(set, trial)",
    )  # fmt: skip


def _units(study: Study, done: Container[tuple[object, ...]]) -> list[tuple[str, int, list[int]]]:
    """Give what is left of each (set, trial): positions of tasks, those that take long first."""
    units = []
    for problem in study.problems():
        tasks = study.tasks(problem)
        for trial in range(study.n_trials):
            left = [
                i for i, task in enumerate(tasks) if study.key(problem, trial, task) not in done
            ]
            if left:
                units.append((problem.name, trial, left))
    units.sort(key=lambda unit: (SLOW.index(unit[0]) if unit[0] in SLOW else len(SLOW), unit[1]))
    return units


def _run_unit(study: Study, name: str, trial: int, positions: Sequence[int], source: str) -> str:
    """Run some tasks of one trial on one set; the log grows with each."""
    problem = problem_named(name)
    tasks, log = study.tasks(problem), study.log
    seed = seed_of("method", name, trial)
    inputs = Inputs(problem, study.n_trees, seed)
    with threadpool_limits(1):
        for position in positions:
            measure, cell = tasks[position]
            answers = problem.answers(cell, trial) if measure.uses_answers else None
            start = time.perf_counter()
            found = measure.run(inputs, study.n_trees, answers, seed)
            seconds = round(time.perf_counter() - start, 3)
            key = dict(zip(KEY, study.key(problem, trial, tasks[position]), strict=True))
            log.append(key | found | {"seconds": seconds, "seed": seed, "source": source})
    return f"{name}, trial {trial}"
