"""What every benchmark needs: where it ran, time and memory, tables and files."""

from __future__ import annotations

import ast
import gc
import hashlib
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import clew
from clew._files import atomic_write

__all__ = [
    "RESULTS",
    "alternated",
    "described",
    "markdown_table",
    "mean_and_error",
    "measured_apart",
    "medians",
    "memory_now",
    "memory_peak",
    "provenance",
    "reset_memory_peak",
    "source_tag",
    "write_json",
    "write_text",
]

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
PACKAGES = ("clew", "numpy", "scipy", "scikit-learn", "numba", "joblib")


def provenance() -> dict[str, Any]:
    """Say when, on what kind of machine and with what versions a result was made.

    Returns
    -------
    dict
        Names no host, user or folder. Holds "date", "machine", "versions", "source" and "load".
    """
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "processor": _processor(),
            "cores": len(os.sched_getaffinity(0))
            if hasattr(os, "sched_getaffinity")
            else os.cpu_count(),
            "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        },
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in PACKAGES},
        "source": source_tag(),
        # Ratios of threads mean nothing on a machine that had other work.
        "load": round(os.getloadavg()[0], 1),
    }


def described(about: Mapping[str, Any]) -> str:
    """Put `provenance` into one line."""
    machine = about["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    return (
        f"{about['date']}; {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB, load at the start {about['load']}; {versions}; "
        f"clew's source {about['source']}"
    )


def _processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or "unknown"


def source_tag() -> str:
    """Hash clew's source, but for docstrings and layout: two equal tags mean the same program."""
    digest = hashlib.sha256()
    folder = Path(clew.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        if path.relative_to(folder).parts[0] in ("cli", "datasets", "oracles"):
            continue
        digest.update(_program(path.read_text(encoding="utf-8")).encode())
    return digest.hexdigest()[:12]


def _program(source: str) -> str:
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node
        ):
            node.body = node.body[1:]
    return ast.dump(tree)


def alternated(
    runs: Mapping[str, Callable[[], object]],
    repeats: int | Mapping[str, int] = 3,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Time several things in turns, so that a slow moment of the machine strikes all of them.

    Parameters
    ----------
    runs : mapping of str to callable
        What to run, by name.
    repeats : int or mapping of str to int, default=3
        How often, for all or for each.
    clock : callable
        Gives seconds.

    Returns
    -------
    dict of str to list of float
        Seconds of each run.
    """
    wanted = {name: repeats if isinstance(repeats, int) else repeats[name] for name in runs}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for turn in range(max(wanted.values())):
        for name, run in runs.items():
            if turn < wanted[name]:
                gc.collect()
                start = clock()
                run()
                seconds[name].append(clock() - start)
    return seconds


def medians(seconds: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Give the median of each list."""
    return {name: statistics.median(values) for name, values in seconds.items()}


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """Give the mean and its standard error; the error of a single value is NaN."""
    points = np.fromiter(values, float)
    if len(points) < 2:
        return (float(points.mean()) if len(points) else float("nan")), float("nan")
    return float(points.mean()), float(points.std(ddof=1) / np.sqrt(len(points)))


def memory_now() -> float:
    """Give the resident memory of this process in MiB."""
    return _status("VmRSS") or memory_peak()


def memory_peak() -> float:
    """Give the largest resident memory of this process in MiB.

    Notes
    -----
    ``getrusage`` of a process that was just started may report the peak of the one that started
    it, so the kernel's own mark is read where there is one.
    """
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return _status("VmHWM") or peak / (2**20 if sys.platform == "darwin" else 2**10)


def reset_memory_peak() -> None:
    """Forget the peak, where the system can: compiling takes more memory than running."""
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    except OSError:
        return


def _status(name: str) -> float | None:
    status = Path("/proc/self/status")
    if not status.exists():
        return None
    for line in status.read_text(encoding="ascii", errors="replace").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) / 1024
    return None


def measured_apart(module: str, job: Mapping[str, Any]) -> dict[str, Any]:
    """Run a module in a fresh process, so that its memory is its own.

    Parameters
    ----------
    module : str
        Gets `job` as JSON in its first argument, and prints JSON on its last line.
    job : mapping
        What it should do.

    Returns
    -------
    dict
        What it printed.
    """
    done = subprocess.run(
        [sys.executable, "-m", module, json.dumps(dict(job))],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Lay out a table: first column to the left, others to the right, floats to three digits.

    Examples
    --------
    >>> print(markdown_table(["set", "ARI"], [["iris", 0.75], ["digits", None]]))
    | set    |   ARI |
    | :----- | ----: |
    | iris   | 0.750 |
    | digits |     – |
    """
    cells = [list(header), *([_cell(value) for value in row] for row in rows)]
    widths = [max(3, *(len(row[i]) for row in cells)) for i in range(len(header))]
    rule = [
        f":{'-' * (width - 1)}" if i == 0 else f"{'-' * (width - 1)}:"
        for i, width in enumerate(widths)
    ]
    lines = [
        [
            cell.ljust(w) if i == 0 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ]
        for row in cells
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], rule, *lines[1:]])


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def write_json(path: Path, content: Any) -> None:
    """Write a result, whole or not at all."""
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(text)
