"""Measure some logged results again and compare them with the log."""

from numbers import Real
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.study.engine import EVERYTHING, Wanted, is_wanted
from benchmarks.study.log import Record
from benchmarks.study.results import Results

#: Point, field, logged value, new value, difference.
Row = tuple[str, str, Any, Any, float]
#: Fields that are not results: they differ from run to run, or with versions of libraries.
IGNORED = ("seconds", "fit_seconds", "warnings")


def measured_again(
    results: Results[Any], n: int, seed: int, wanted: Wanted = EVERYTHING, tolerance: float = 1e-6
) -> list[Row]:
    """Measure `n` random results of the log again, and compare.

    Returns for each result the fields that differ by more than `tolerance`; if none does, the one
    that differs most.
    """
    tasks = [task for task in results.records if is_wanted(task, wanted)]
    drawn = np.random.RandomState(seed).permutation(len(tasks))[:n]
    rows = []
    with threadpool_limits(1):
        for task in (tasks[i] for i in drawn):
            point = f"{task.set}, {task.cell.name}, {task.method.name}, trial {task.trial}"
            now = results.study.measure(task)
            keys = results.study.key_fields
            logged = {k: v for k, v in results.records[task].items() if k not in keys}
            found = [(point, *row) for row in compared(logged, now, tolerance)]
            print(*found, sep="\n", flush=True)
            rows += found
    return rows


def compared(logged: Record, now: Record, tolerance: float) -> list[tuple[str, Any, Any, float]]:
    """Find the fields that differ; the difference is infinite for a field that only one has."""
    measured = {k for k, v in logged.items() if k == "failure" or isinstance(v, float)}
    known = sorted((measured | set(now)) - set(IGNORED))
    rows = [(k, logged.get(k), now.get(k), _gap(logged.get(k), now.get(k))) for k in known]
    rows.sort(key=lambda row: -row[-1])
    return [row for row in rows if row[-1] > tolerance] or rows[:1]


def _gap(logged: Any, now: Any) -> float:
    if isinstance(logged, Real) and isinstance(now, Real):
        return abs(float(now) - float(logged))
    return 0.0 if logged == now else float("inf")
