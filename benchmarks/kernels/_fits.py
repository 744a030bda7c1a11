"""Benchmarks of whole fits: cases, figures to reach, and the page that says which were."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from statistics import median
from typing import Any, NamedTuple

import click

from benchmarks import _harness as harness

__all__ = ["Benchmark", "Case", "command", "markdown", "measured"]

MODULE = "benchmarks.kernels._fit_apart"
N_RUNS = 3
HEADER = ["method", "rows × features", "groups", "answers", "CPU s", "wall s", "peak MiB", "ARI"]


class Case(NamedTuple):
    """One fit, and what it may take."""

    label: str
    fit: str
    data: str
    options: Mapping[str, Any]
    n_samples: int
    n_features: int
    n_clusters: int | None
    """None: to be chosen."""
    kind: str = "triplets"
    n_answers: int = 1_500
    error: float = 0.0
    """Share of wrong answers."""
    most_s: float | None = None
    """CPU seconds to reach."""
    most_mib: float | None = None


class Benchmark(NamedTuple):
    """Cases that belong on one page."""

    stem: str
    """Name of its files."""
    title: str
    note: str
    cases: Sequence[Case]
    quick: Sequence[Case]
    """Small ones."""


def measured(case: Case, n_runs: int) -> dict[str, Any]:
    """Fit some times, each in a process of its own; medians, and all CPU seconds."""
    fields = (
        "fit", "data", "options", "n_samples", "n_features", "n_clusters", "kind", "n_answers",
        "error",
    )  # fmt: skip
    job = {field: getattr(case, field) for field in fields}
    runs = [harness.measured_apart(MODULE, job) for _ in range(n_runs)]
    found = {field: median(run[field] for run in runs) for field in runs[0]}
    return case._asdict() | found | {"runs_cpu_s": [run["cpu_s"] for run in runs]}


def _cells(row: Mapping[str, Any]) -> list[object]:
    return [
        row["label"],
        f"{row['n_samples']:,} × {row['n_features']}",
        row["n_clusters"] or "chosen",
        "–" if row["fit"] == "k-means" else _answers(row),
        row["cpu_s"],
        row["wall_s"],
        round(row["peak_mib"]),
        row["ari"],
    ]


def _answers(row: Mapping[str, Any]) -> str:
    wrong = f", {row['error']:.0%} wrong" if row["error"] else ""
    return f"{row['n_answers']:,} {row['kind'].replace('_', '-')}{wrong}"


def _reached(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Say which of the figures to reach were reached."""
    found = []
    for row in rows:
        for field, most, unit in (
            ("cpu_s", row["most_s"], "s"),
            ("peak_mib", row["most_mib"], "MiB"),
        ):
            if most is not None:
                verdict = "reached" if row[field] <= most else "**missed**"
                what = f"{row['label']}, {row['n_samples']:,} rows, {_answers(row)}"
                found.append(f"- {verdict}: {what}: {row[field]:.3g} {unit} (at most {most:g})")
    return found


def markdown(
    benchmark: Benchmark, rows: list[dict[str, Any]], about: dict[str, Any], *, is_quick: bool
) -> str:
    """Write the page."""
    lines = [f"# {benchmark.title}: time and memory", ""]
    if is_quick:
        lines += ["**Quick run: few rows and answers; the figures mean little.**", ""]
    lines += [harness.described(about), "", benchmark.note, ""]
    lines += [harness.markdown_table(HEADER, map(_cells, rows)), ""]
    return "\n".join([*lines, "## Figures to reach", "", *_reached(rows), ""])


def _carry_out(benchmark: Benchmark, *, is_quick: bool) -> None:
    about, rows = harness.provenance(), []
    for case in benchmark.quick if is_quick else benchmark.cases:
        rows.append(measured(case, 1 if is_quick else N_RUNS))
        print(f"{case.label}, {case.n_samples:,} rows: {rows[-1]['cpu_s']:.2f} s", flush=True)
    stem = f"{benchmark.stem}_quick" if is_quick else benchmark.stem
    content = {"about": about, "seed": 0, "rows": rows}
    harness.write_json(harness.RESULTS / f"{stem}.json", content)
    page = markdown(benchmark, rows, about, is_quick=is_quick)
    harness.write_text(harness.RESULTS / f"{stem}.md", page)


def command(benchmark: Benchmark) -> click.Command:
    """Make the command that measures all cases, or the small ones into files of their own."""
    few = f"{len(benchmark.quick)} small fits, one run each, files of their own."

    @click.command(help=f"Measure fits: {benchmark.title}.")
    @click.option("--quick", is_flag=True, help=few)
    def main(quick: bool) -> None:
        _carry_out(benchmark, is_quick=quick)

    return main
