"""Measure some logged results again, to see whether today's code still gives them."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Real
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks import _harness as harness
from benchmarks.study.engine import is_wanted
from benchmarks.study.log import Record
from benchmarks.study.results import Results

__all__ = ["Row", "check", "compared", "laid_out"]

#: Point, field, logged value, value of today, difference.
Row = tuple[str, str, Any, Any, float]
#: Fields that are no result: they differ from run to run, or with versions of libraries.
IGNORED = ("seconds", "fit_seconds", "warnings")


def check(
    results: Results[Any], n: int, seed: int = 0, wanted: Collection[Collection[str]] = ((), (), ())
) -> list[Row]:
    """Measure results of the log again, and compare.

    Parameters
    ----------
    results : Results
        What the report is made of.
    n : int
        How many results are drawn, at random and without replacement.
    seed : int, default=0
        Of the draw.
    wanted : (sets, methods, cells), default=((), (), ())
        Draw from these only, see `is_wanted`.

    Returns
    -------
    list of Row
        For each result, the field that differs most.
    """
    tasks = [task for task in results.records if is_wanted(task, *wanted)]
    drawn = np.random.RandomState(seed).permutation(len(tasks))[:n]
    rows = []
    with threadpool_limits(1):
        for task in (tasks[i] for i in drawn):
            point = f"{task.set}, {task.cell.name}, {task.method.name}, trial {task.trial}"
            row = (point, *compared(results.records[task], results.study.measure(task)))
            print(*row, sep="; ", flush=True)
            rows.append(row)
    return rows


def compared(logged: Record, now: Record) -> tuple[str, Any, Any, float]:
    """Find the field that differs most; a field that only one of both has differs infinitely."""
    measured = {k for k, v in logged.items() if k == "failure" or isinstance(v, float)}
    known = sorted((measured | set(now)) - set(IGNORED))
    gaps = {name: _gap(logged.get(name), now.get(name)) for name in known}
    most = max(gaps, key=lambda name: gaps[name])
    return most, logged.get(most), now.get(most), gaps[most]


def _gap(logged: Any, now: Any) -> float:
    if isinstance(logged, Real) and isinstance(now, Real):
        return abs(float(now) - float(logged))
    return 0.0 if logged == now else float("inf")


def laid_out(rows: list[Row]) -> str:
    """Lay out the comparison as a table."""
    header = ["point", "field", "logged", "now", "difference"]
    return harness.markdown_table(header, [[*row[:4], f"{row[4]:.1e}"] for row in rows])
