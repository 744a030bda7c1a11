"""Runs what is missing of the study, one result at a time."""

from __future__ import annotations

import time
from collections.abc import Container, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks._harness import RESULTS
from benchmarks._result_log import ResultLog
from benchmarks.papers._identity import seed_of, seeded
from benchmarks.papers._running import run_missing
from benchmarks.papers.clustrf.methods import WAYS, Way
from benchmarks.papers.clustrf.protocol import SETS, K, Problem
from clew.cluster import SpectralClustering
from clew.exceptions import DatasetNotFoundError
from clew.metrics import adjusted_rand_score

__all__ = ["KEY", "READING_TRIALS", "Study", "Task", "affinity_of", "run", "trial_seed"]

KEY = ("set", "method", "setting", "k", "trial", "version")
#: Readings beside the table are compared in fewer trials.
READING_TRIALS = 3


class Task(NamedTuple):
    """One result: a way to make affinities, neighbours in the graph, and a trial."""

    way: Way
    k: int
    trial: int

    @property
    def shares(self) -> str:
        """What it shares with others."""
        return f"trial {self.trial}" if self.way.is_forest else f"M = {self.way.setting}"


@dataclass(frozen=True)
class Study:
    """How large the study is, and where its results are kept."""

    n_trials: int = 10
    n_trees: int = 1000
    sets: tuple[str, ...] = SETS
    stem: str = "clustrf"
    k: tuple[int, ...] = K

    @property
    def log(self) -> ResultLog:
        """The file of single results."""
        return ResultLog(RESULTS / f"{self.stem}.jsonl", KEY)

    def problems(self) -> list[Problem]:
        """Give the sets that can be had."""
        return [Problem(name) for name in self.sets if not missing(name)]

    def tasks(self, problem: Problem) -> list[Task]:
        """Give every way at every k in every trial, what shares a graph side by side."""
        return [
            Task(one, k, trial)
            for one in WAYS
            for k in self.k
            for trial in range(self.n_trials_of(problem, one))
        ]

    def n_trials_of(self, problem: Problem, one: Way) -> int:
        """Give the number of trials of a way; readings beside the table have fewer, or none."""
        if one.is_main:
            return self.n_trials
        return min(READING_TRIALS, self.n_trials) if problem.is_published else 0

    def key(self, problem: Problem, task: Task) -> tuple[object, ...]:
        """Give the key under which the log holds a result."""
        one = task.way
        version = _version(one, self.n_trees)
        return (problem.name, one.method, one.setting, task.k, task.trial, version)


@cache
def _version(one: Way, n_trees: int) -> str:
    return one.version(n_trees)


@cache
def missing(name: str) -> str:
    """Say why a set cannot be had; nothing if it can."""
    try:
        return "" if len(Problem(name).y) else "no rows"
    except DatasetNotFoundError as error:
        return str(error)


def run(study: Study, n_jobs: int) -> None:
    """Run every (set, trial) that is not complete.

    Parameters
    ----------
    study : Study
        What to run. Results that its log holds are not made again.
    n_jobs : int
        Processes.
    """
    run_missing(study, _units, _run_unit, missing, n_jobs)


def _units(study: Study, done: Container[object]) -> list[tuple[str, str, list[Task]]]:
    """Sort what is not done by what it shares: affinities of one M, or a trial of the forests."""
    units: dict[tuple[str, str], list[Task]] = {}
    for problem in study.problems():
        for task in study.tasks(problem):
            if study.key(problem, task) not in done:
                units.setdefault((problem.name, task.shares), []).append(task)
    return [(*unit, tasks) for unit, tasks in units.items()]


def _run_unit(study: Study, name: str, shares: str, tasks: Sequence[Task], source: str) -> str:
    """Run some tasks on one set; the log grows with each."""
    problem = Problem(name)
    affinity = lru_cache(maxsize=1)(partial(affinity_of, study, problem))
    graph = lru_cache(maxsize=1)(lambda one, k, seed: one.graph(affinity(one, seed), k))
    with threadpool_limits(1):
        for task in tasks:
            start = time.perf_counter()
            seed = trial_seed(problem, task.trial)
            # Without trees nothing is drawn: the graph of one trial is that of all.
            edges = graph(task.way, task.k, seed if task.way.is_forest else 0)
            model = SpectralClustering(problem.n_classes, n_neighbors=None, random_state=seed)
            ari = float(adjusted_rand_score(problem.y, model.fit(edges).labels_))
            seconds = round(time.perf_counter() - start, 3)
            key = dict(zip(KEY, study.key(problem, task), strict=True))
            study.log.append(key | {"ari": ari, "seconds": seconds, "seed": seed, "source": source})
    return f"{name}, {shares}"


def trial_seed(problem: Problem, trial: int) -> int:
    """Give the seed of a trial; its forests grow from one, and differ in how they are read."""
    return seed_of("clustrf", problem.name, trial)


def affinity_of(study: Study, problem: Problem, one: Way, seed: int) -> NDArray[np.floating]:
    """Measure the affinities of all pairs, (n_samples, n_samples)."""
    similarity = seeded(one.similarity(len(problem.y), study.n_trees), seed)
    found: NDArray[np.floating] = similarity.fit(problem.X).affinity_matrix_
    return found
