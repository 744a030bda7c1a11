"""Runs what is missing of the study, one result at a time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks._harness import RESULTS, source_tag
from benchmarks._result_log import ResultLog
from benchmarks.papers.cop_rf.methods import METHODS, Method
from benchmarks.papers.cop_rf.protocol import SETS, Cell, Problem, cells, seed_of
from clew.exceptions import DatasetNotFoundError
from clew.metrics import adjusted_rand_score

__all__ = ["KEY", "Study", "run"]

KEY = ("set", "method", "amount", "error", "trial", "version")
NO_ANSWERS = Cell(0, 0.0)
Task = tuple[Method, Cell]


@dataclass(frozen=True)
class Study:
    """How large the study is, and where its results are kept."""

    n_trials: int = 10
    n_trees: int = 1000
    sets: tuple[str, ...] = SETS
    stem: str = "cop_rf"

    @property
    def log(self) -> ResultLog:
        """The file of single results."""
        return ResultLog(RESULTS / f"{self.stem}.jsonl", KEY)

    def problems(self) -> list[Problem]:
        """Give the sets that can be had."""
        found = []
        for name in self.sets:
            problem = Problem(name)
            try:
                assert problem.amounts
            except DatasetNotFoundError as error:
                print(f"left out: {error}")
            else:
                found.append(problem)
        return found

    def tasks(self, problem: Problem) -> list[Task]:
        """Give every method at every point; those without answers once."""
        points = cells(problem.amounts)
        return [(m, cell) for m in METHODS for cell in (points if m.uses_answers else [NO_ANSWERS])]

    def key(self, problem: Problem, trial: int, task: Task) -> tuple[object, ...]:
        """Give the key under which the log holds a result."""
        method, cell = task
        version = method.version(self.n_trees)
        return (problem.name, method.name, cell.amount, cell.error, trial, version)


def run(study: Study, n_jobs: int) -> None:
    """Run every (set, trial) that is not complete, in processes with one thread each.

    Parameters
    ----------
    study : Study
        What to run. Results that its log holds are not made again.
    n_jobs : int
        Processes.
    """
    log = study.log
    log.keep()
    done = log.read()
    source = source_tag()
    units = []
    for trial in range(study.n_trials):
        for problem in study.problems():
            tasks = study.tasks(problem)
            left = [
                i for i, task in enumerate(tasks) if study.key(problem, trial, task) not in done
            ]
            if left:
                units.append((problem.name, trial, left))
    # The sets that take long first, so that no process is left with one of them at the end.
    units.sort(key=lambda unit: (unit[0] != "digits", unit[1]))
    print(f"{len(units)} (set, trial) to run, {len(done)} results found", flush=True)
    calls = (delayed(_run_unit)(study, *unit, source) for unit in units)
    start = time.perf_counter()
    finished = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)(calls)
    for count, (name, trial) in enumerate(finished, start=1):
        spent = time.perf_counter() - start
        print(f"{count:4d} of {len(units)}: {name}, trial {trial}; {spent:.0f} s", flush=True)


def _run_unit(
    study: Study, name: str, trial: int, positions: Sequence[int], source: str
) -> tuple[str, int]:
    """Run some tasks of one trial on one set; the log grows with each."""
    problem = Problem(name)
    X, tasks, log = problem.X, study.tasks(problem), study.log
    with threadpool_limits(1):
        for position in positions:
            method, cell = tasks[position]
            answers = problem.answers(cell, trial) if method.uses_answers else None
            seed = seed_of("method", name, trial)
            start = time.perf_counter()
            labels = method.labels(X, problem.n_classes, study.n_trees, answers, seed)
            seconds = time.perf_counter() - start
            ari = float(adjusted_rand_score(problem.y, labels))
            key = dict(zip(KEY, study.key(problem, trial, tasks[position]), strict=True))
            log.append(
                key | {"ari": ari, "seconds": round(seconds, 3), "seed": seed, "source": source}
            )
    return name, trial
