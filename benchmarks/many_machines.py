"""``python -m benchmarks.many_machines``: fits of rows in blocks, on one machine and on workers.

Rows are digits, drawn again with noise, of 64 columns in single precision, in an array of Zarr;
there are as many answers, 15 % of them wrong. Results are appended to a log, and what it holds is
not measured again.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import click
import numpy as np
import psutil
from scipy.stats import linregress

from benchmarks import _harness as harness
from clew import Constraints, datasets
from clew.cluster import GuidedClustering
from clew.metrics import adjusted_rand_score

BLOCK, NOISE, ERROR = 65_536, 3.0, 0.15
LOG = harness.RESULTS / "many_machines.jsonl"
SIZES = (100_000, 1_000_000, 10_000_000)


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

    def __enter__(self) -> Watch:
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


def measured(path: str, y: Any, n_answers: int, n_workers: int, memory: str) -> dict[str, Any]:
    """Fit once; 0 workers read the blocks in threads of this process."""
    import dask.array as da

    X, answers = da.from_zarr(path), answers_of(y, n_answers)
    model = GuidedClustering(10, scale="anchors", random_state=0, n_jobs=1)
    with _workers(n_workers, memory) if n_workers else nullcontext(), Watch() as watch:
        model.fit(X, constraints=answers)
    return {
        "ari": round(float(adjusted_rand_score(y, model.labels_)), 5),
        "cpu_s": round(watch.cpu_s, 1),
        "wall_s": round(watch.wall_s, 1),
        "peak_mib": round(watch.peak),
        "worker_peak_mib": round(watch.worker_peak),
    }


def _page(records: list[dict[str, Any]]) -> str:
    lines = ["| rows | answers | workers | memory of each | ARI | CPU s | s | peak | of a worker |"]
    lines.append("|---:|---:|---:|---|---:|---:|---:|---:|---:|")
    for one in sorted(records, key=lambda one: (one["rows"], one["workers"])):
        limit = one["memory"] if one["workers"] else "–"
        own = f"{one['peak_mib']:,} MiB"
        each = f"{one['worker_peak_mib']:,} MiB" if one["workers"] else "–"
        lines.append(
            f"| {one['rows']:,} | {one['answers']:,} | {one['workers'] or 'none'} | {limit} | "
            f"{one['ari']:.4f} | {one['cpu_s']:,.0f} | {one['wall_s']:,.0f} | {own} | {each} |"
        )
    for workers in sorted({one["workers"] for one in records}):
        those = [one for one in records if one["workers"] == workers]
        if len(those) > 2:
            slope, error = _slope(*([one[name] for one in those] for name in ("rows", "cpu_s")))
            how = f"with {workers} workers" if workers else "in this process"
            lines += ["", f"CPU time {how} grows like rows^{slope:.2f} (± {error:.2f})."]
    return "\n".join(lines)


def _slope(rows: list[int], seconds: list[float]) -> tuple[float, float]:
    """Return the exponent with which time grows, and its standard error."""
    line = linregress(np.log(rows), np.log(seconds))
    return float(line.slope), float(line.stderr)


@click.command()
@click.option("--rows", multiple=True, type=int, help="Numbers of rows.  [default: 1e5, 1e6]")
@click.option("--workers", multiple=True, type=int, help="Numbers of workers.  [default: 0, 2]")
@click.option("--memory", default="700MiB", show_default=True, help="Limit of each worker.")
@click.option("--report-only", is_flag=True, help="Run nothing; print the table.")
def main(rows: tuple[int, ...], workers: tuple[int, ...], memory: str, report_only: bool) -> None:
    """Measure what is missing, and print the table."""
    records = [json.loads(line) for line in LOG.read_text().splitlines()] if LOG.exists() else []
    for n in () if report_only else rows or SIZES[:2]:
        folder = Path(tempfile.mkdtemp(prefix="clew-rows-"))
        try:
            path, y = made_rows(folder, n)
            for n_workers in workers or (0, 2):
                point = {"rows": n, "answers": min(n, 1_000_000), "workers": n_workers}
                if any(point.items() <= one.items() for one in records):
                    continue
                found = measured(path, y, point["answers"], n_workers, memory)
                records.append(
                    point | {"memory": memory} | found | {"source": harness.source_tag()}
                )
                with LOG.open("a") as file:
                    file.write(json.dumps(records[-1]) + "\n")
                print(records[-1], flush=True)
        finally:
            shutil.rmtree(folder)
    print(_page(records))


if __name__ == "__main__":
    main()
