"""Fits of rows in blocks, in this process and on workers: CPU time and memory.

Rows are digits, drawn again with noise, of 64 columns in single precision, in an array of Zarr;
there are as many answers, a million at most.
"""

import os
import resource
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple, Self

import numpy as np
import psutil
from scipy.stats import linregress

from benchmarks.study.command import study_command
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import tag_of
from benchmarks.study.problems import Problem, load
from benchmarks.study.report import Report, Table
from clew import Constraints, datasets
from clew.cluster import GuidedClustering
from clew.metrics import adjusted_rand_score

BLOCK, NOISE, ERROR, MOST_ANSWERS = 65_536, 3.0, 0.15, 1_000_000
#: Memory of each worker.
MEMORY = "700MiB"
#: The last takes eight minutes.
SIZES = {"100,000 rows": 10**5, "1,000,000 rows": 10**6, "10,000,000 rows": 10**7}


def made_rows(folder: Path, n: int) -> tuple[str, Any]:
    """Write the rows, block by block, and return the path of their array and their classes."""
    import zarr

    digits = datasets.load("digits")
    mean, deviation = digits.X.mean(axis=0), np.hypot(digits.X.std(axis=0), NOISE)
    path = folder / f"{n}.zarr"
    stored = zarr.create_array(str(path), shape=(n, 64), chunks=(BLOCK, 64), dtype="f4")
    y = np.empty(n, np.int8)
    for block, start in enumerate(range(0, n, BLOCK)):
        random = np.random.RandomState(block)
        end = min(start + BLOCK, n)
        chosen = random.randint(len(digits.X), size=end - start)
        rows = digits.X[chosen] + NOISE * random.normal(size=(end - start, 64))
        stored[start:end] = ((rows - mean) / deviation).astype(np.float32)
        y[start:end] = digits.y[chosen]
    return str(path), y


def answers_of(y: Any, n_answers: int, seed: int = 0) -> Constraints:
    """Ask about random pairs, of which half are the same."""
    random = np.random.RandomState(seed)
    order = np.argsort(y, kind="stable")
    start = np.searchsorted(y[order], np.arange(10))
    size = np.bincount(y, minlength=10)
    i = random.randint(len(y), size=n_answers)
    near = order[start[y[i]] + (random.random_sample(n_answers) * size[y[i]]).astype(np.int64)]
    j = np.where(
        random.random_sample(n_answers) < 0.5, near, random.randint(len(y), size=n_answers)
    )
    i, j = i[i != j], j[i != j]
    is_same = (y[i] == y[j]) ^ (random.random_sample(len(i)) < ERROR)
    return Constraints(len(y), pairs=np.column_stack([i, j, is_same]))


class Watch:
    """CPU seconds and peaks of resident memory of this process and of its children."""

    def __init__(self) -> None:
        self.worker_peak = self.peak = 0.0
        self._children: dict[int, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._start = time.perf_counter(), self._own()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()
        self.wall_s = time.perf_counter() - self._start[0]
        self.cpu_s = self._own() - self._start[1] + sum(self._children.values())

    @staticmethod
    def _own() -> float:
        used = resource.getrusage(resource.RUSAGE_SELF)
        return used.ru_utime + used.ru_stime

    def _watch(self) -> None:
        here = psutil.Process(os.getpid())
        first: dict[int, float] = {}
        while not self._stop.wait(0.5):
            self.peak = max(self.peak, here.memory_info().rss / 2**20)
            for child in here.children(recursive=True):
                try:
                    used, size = child.cpu_times(), child.memory_info().rss / 2**20
                except psutil.Error:
                    continue
                total = used.user + used.system
                first.setdefault(child.pid, total)
                self._children[child.pid] = total - first[child.pid]
                self.worker_peak = max(self.worker_peak, size)


@contextmanager
def _workers(n: int, memory: str) -> Iterator[None]:
    from dask.distributed import Client, LocalCluster

    made = LocalCluster(
        n_workers=n, threads_per_worker=1, memory_limit=memory, dashboard_address=":0"
    )
    with made, Client(made):
        yield


class Method(NamedTuple):
    """Workers of one thread; none: blocks are read in threads of this process."""

    n_workers: int
    uses_answers: bool = True

    @property
    def name(self) -> str:
        return f"{self.n_workers} workers" if self.n_workers else "no workers"


class Cell(NamedTuple):
    name: str = f"{ERROR:.0%} wrong"


ALONE, TWO, CELL = Method(0), Method(2), Cell()


@dataclass(frozen=True)
class MachinesStudy(Study):
    n_trials: int = 1
    sets: tuple[str, ...] = tuple(SIZES)
    stem: str = "many_machines"
    n_rows: int = 0  # In place of those of the set

    def problem(self, name: str) -> Problem:
        return load("digits")

    def points(self, name: str) -> list[tuple[Method, Cell]]:
        return [(method, CELL) for method in ((ALONE, TWO) if SIZES[name] < 10**7 else (TWO,))]

    def version(self, method: Method) -> str:
        return tag_of(method.name, MEMORY, BLOCK, NOISE, ERROR, MOST_ANSWERS)

    def measure(self, task: Task) -> dict[str, Any]:
        import dask.array as da

        n = self.n_rows or SIZES[task.set]
        model = GuidedClustering(10, scale="anchors", random_state=0, n_jobs=1)
        with TemporaryDirectory(prefix="clew-rows-") as folder:
            path, y = made_rows(Path(folder), n)
            X, answers = da.from_zarr(path), answers_of(y, min(n, MOST_ANSWERS))
            workers = _workers(task.method.n_workers, MEMORY) if task.method.n_workers else None
            with workers or nullcontext(), Watch() as watch:
                model.fit(X, constraints=answers)
        return {
            "ari": round(float(adjusted_rand_score(y, model.labels_)), 5),
            "cpu_s": round(watch.cpu_s, 1),
            "wall_s": round(watch.wall_s, 1),
            "peak_mib": round(watch.peak),
            "worker_peak_mib": round(watch.worker_peak),
        }


class MachinesReport(Report[MachinesStudy]):
    memory = MEMORY

    def value(self, name: str, method: Method, field: str) -> float:
        return float(self.results.values(name, CELL, method, field).mean())

    def fits(self) -> Table:
        fields = {"ARI": ("ari", ".4f"), "CPU s": ("cpu_s", ",.0f"), "s": ("wall_s", ",.0f")}
        fields |= {"peak, MiB": ("peak_mib", ",.0f"), "of a worker": ("worker_peak_mib", ",.0f")}
        rows = []
        for name in self.sets:
            for method, _ in self.study.points(name):
                texts = [f"{self.value(name, method, field):{of}}" for field, of in fields.values()]
                rows.append([name, method.name, *texts])
        return Table(["", "", *fields], rows)

    def growth(self) -> str:
        seconds = {SIZES[name]: self.value(name, TWO, "cpu_s") for name in self.sets}
        points = [(n, spent) for n, spent in seconds.items() if not np.isnan(spent)]
        if len(points) < 3:
            return "Too few sizes were measured for how time grows."
        line = linregress(*np.log(points).T)
        power = f"{line.slope:.2f} (± {line.stderr:.2f})"
        return f"CPU time with two workers grows like rows to the power of {power}."


QUICK = MachinesStudy(1, ("100,000 rows",), "many_machines_quick", True, n_rows=20_000)
command = study_command(MachinesStudy(), MachinesReport, __file__, QUICK, "20,000 rows")
