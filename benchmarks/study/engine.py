"""The base class of studies, and the loop that measures missing results."""

import time
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, ClassVar, NamedTuple

from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks import _harness as harness
from benchmarks.study.log import ResultLog
from benchmarks.study.methods import version
from benchmarks.study.problems import Problem
from clew._parallel import has_cluster
from clew.exceptions import DatasetNotFoundError


class Task(NamedTuple):
    set: str
    method: Any
    cell: Any  # A point at which methods are measured, such as a number of answers, with a `name`
    trial: int


@dataclass(frozen=True)
class Study:
    """Sets, methods and points to measure; each study is a subclass.

    The names of all files begin with `stem`. A quick study is a test of the program.
    """

    n_trials: int
    sets: tuple[str, ...]
    stem: str
    is_quick: bool = False

    #: Fields that identify a result in the log, and those of them that identify a method.
    key_fields: ClassVar[tuple[str, ...]] = ("set", "cell", "method", "trial", "version")
    method_fields: ClassVar[tuple[str, ...]] = ("method",)
    #: The only cell of methods without answers.
    no_answers: ClassVar[Any] = None
    #: Trees of forests.
    n_trees: int = 0
    #: Score of a method that refuses the answers; None leaves it out.
    refusal: ClassVar[float | None] = None

    def problem(self, name: str) -> Problem:
        raise NotImplementedError

    def points(self, name: str) -> Sequence[tuple[Any, Any]]:
        """Return every method with every cell of a set, those that take longest first."""
        raise NotImplementedError

    def base(self, method: Any, cell: Any) -> Any:
        """Return the cell of a method's results: `no_answers` if it uses no answers."""
        return cell if self.no_answers is None or method.uses_answers else self.no_answers

    def version(self, method: Any) -> str:
        """Hash the parameters of a method; results of another version are measured again."""
        return version(method, self.n_trees)

    @cache  # noqa: B019  a command has one study
    def cached_version(self, method: Any) -> str:
        return self.version(method)

    def measure(self, task: Task) -> dict[str, Any]:
        raise NotImplementedError

    def trials_of(self, name: str, method: Any) -> int:
        return self.n_trials

    def group(self, task: Task) -> Hashable:
        """Group tasks: those of one group run one after the other in one process."""
        return task.trial, task.cell

    def key(self, task: Task) -> dict[str, Any]:
        name, method, cell, trial = task
        found = {"set": name, "cell": cell.name, "method": method.name, "trial": trial}
        return found | {"version": self.cached_version(method)}

    @property
    def trials(self) -> str:
        return "1 trial" if self.n_trials == 1 else f"{self.n_trials} trials"

    @property
    def log(self) -> ResultLog:
        return ResultLog(harness.RESULTS / f"{self.stem}.jsonl", self.key_fields)

    @cached_property
    def absent_sets(self) -> dict[str, str]:
        """The sets that cannot be loaded, and why."""
        found = {}
        for name in self.sets:
            try:
                self.problem(name)
            except DatasetNotFoundError as error:
                found[name] = str(error)
        return found

    @property
    def found_sets(self) -> list[str]:
        return [name for name in self.sets if name not in self.absent_sets]

    def tasks(self) -> list[Task]:
        """List every result of the study once, trial by trial."""
        return [
            Task(name, method, cell, trial)
            for trial in range(self.n_trials)
            for name in self.found_sets
            for method, cell in dict.fromkeys((m, self.base(m, c)) for m, c in self.points(name))
            if trial < self.trials_of(name, method)
        ]


#: Sets, methods and parts of the names of cells; an empty collection means all.
Wanted = tuple[Collection[str], Collection[str], Collection[str]]
EVERYTHING: Wanted = ((), (), ())


def is_wanted(task: Task, wanted: Wanted) -> bool:
    """Return whether a task belongs to these sets, methods and cells."""
    sets, methods, cells = wanted
    return (
        (not sets or task.set in sets)
        and (not methods or task.method.name in methods)
        and (not cells or any(part in task.cell.name for part in cells))
    )


def run(study: Study, n_jobs: int, wanted: Wanted = EVERYTHING, *, is_fresh: bool = False) -> None:
    """Measure the results that are not in the log, in `n_jobs` processes with one thread each.

    `is_fresh` measures again what the log holds; until a result is measured, the old one counts.
    """
    for reason in study.absent_sets.values():
        print(f"left out: {reason}")
    done = {} if is_fresh else study.log.read()
    groups: dict[Hashable, list[Task]] = {}
    for task in study.tasks():
        is_done = tuple(study.key(task).values()) in done
        if is_wanted(task, wanted) and not is_done:
            groups.setdefault((task.set, study.group(task)), []).append(task)
    n_left = sum(map(len, groups.values()))
    print(f"{n_left} results to measure, {len(done)} found", flush=True)
    source, start = harness.source_tag(), time.perf_counter()
    calls = (delayed(_run_group)(study, tasks, source) for tasks in groups.values())
    # The chosen backend decides how many run at once; of processes, the option does.
    finished = Parallel(
        n_jobs=-1 if has_cluster() else n_jobs, return_as="generator_unordered", batch_size=1
    )(calls)
    for count, name in enumerate(finished, start=1):
        spent = time.perf_counter() - start
        print(f"{count:4d} of {len(groups)}: {name}; {spent:.0f} s", flush=True)


def _run_group(study: Study, tasks: Sequence[Task], source: str) -> str:
    """Measure some tasks, and append each result to the log."""
    with threadpool_limits(1):
        for task in tasks:
            start = time.process_time()
            found = study.measure(task)
            seconds = round(time.process_time() - start, 3)
            study.log.append(study.key(task) | found | {"seconds": seconds, "source": source})
    return f"{tasks[0].set}, {tasks[0].cell.name}, trial {tasks[0].trial}"
