"""Shared by all benchmarks: a description of the machine, time, tables and files."""

import ast
import gc
import hashlib
import os
import platform
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from joblib import cpu_count

import clew
from clew._files import atomic_write

ROOT = Path(__file__).parents[1]
RESULTS = Path(__file__).parent / "results"
PACKAGES = ("clew", "numpy", "scipy", "scikit-learn", "numba", "joblib")


def provenance() -> dict[str, Any]:
    """Return date, machine, versions and load, without names of host, user or folders."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "machine": {
            "system": f"{platform.system()} {platform.machine()}",
            "processor": _processor(),
            "cores": cpu_count(),
            "memory_gib": round(memory / 2**30),
        },
        "versions": {"python": platform.python_version()} | {p: version(p) for p in PACKAGES},
        "source": source_tag(),
        # A busy machine makes ratios between numbers of threads meaningless.
        "load": round(os.getloadavg()[0], 1),
    }


def described(about: Mapping[str, Any]) -> str:
    machine = about["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    return (
        f"{about['date']}; {machine['processor']}, {machine['cores']} cores, "
        f"{machine['memory_gib']} GiB, load at the start {about['load']}; {versions}; "
        f"clew's source {about['source']}"
    )


def _processor() -> str:
    path = Path("/proc/cpuinfo")
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return (names or [platform.processor() or "unknown"])[0]


@cache
def source_tag() -> str:
    """Hash clew's source code without docstrings and layout."""
    digest = hashlib.sha256()
    folder = Path(clew.__file__).parent
    for path in sorted(folder.rglob("*.py")):
        if path.relative_to(folder).parts[0] not in ("cli", "datasets", "oracles"):
            digest.update(_program(path.read_text(encoding="utf-8")).encode())
    return digest.hexdigest()[:12]


def _program(source: str) -> str:
    tree = ast.parse(source)
    kinds = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, kinds) and ast.get_docstring(node):
            node.body = node.body[1:]
    return ast.dump(tree)


def alternated(
    runs: Mapping[str, Callable[[], Any]], repeats: Mapping[str, int]
) -> tuple[dict[str, list[tuple[float, float]]], dict[str, Any]]:
    """Time several runs in turns, so that a busy machine slows all of them.

    Returns wall and CPU seconds of each repeat of each run, and what each run returned last.
    """
    seconds: dict[str, list[tuple[float, float]]] = {name: [] for name in runs}
    found: dict[str, Any] = {}
    for turn in range(max(repeats[name] for name in runs)):
        for name, run in runs.items():
            if turn < repeats[name]:
                found.pop(name, None)
                gc.collect()
                wall, cpu, found[name] = timed(run)
                seconds[name].append((wall, cpu))
    return seconds, found


def timed(run: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return wall seconds, CPU seconds and the result of one run."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = run()
    return time.perf_counter() - wall, time.process_time() - cpu, found


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Lay out a table: first column to the left, others to the right, floats to three digits."""
    lines = [list(header), *(list(map(_cell, row)) for row in rows)]
    widths = [max(3, *map(len, column)) for column in zip(*lines, strict=True)]
    rule = [":" + "-" * (widths[0] - 1), *("-" * (width - 1) + ":" for width in widths[1:])]
    lines.insert(1, rule)
    laid = [[line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in laid)


def _cell(value: object) -> str:
    if value is None or (isinstance(value, float) and value != value):
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def write_text(path: Path, text: str) -> None:
    """Write a text; a failure leaves the old file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path) as file:
        file.write(text)
