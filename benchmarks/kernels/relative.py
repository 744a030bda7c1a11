"""SKLR and DCRC: time and memory. ``python -m benchmarks.kernels.relative``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from statistics import median
from typing import Any, NamedTuple

import click

from benchmarks import _harness as harness

__all__ = ["CASES", "Case", "main", "markdown", "measured"]

MODULE = "benchmarks.kernels._relative_apart"
N_RUNS = 3
HEADER = ["method", "rows × features", "groups", "answers", "CPU s", "wall s", "peak MiB", "ARI"]
NOTE = (
    "One thread, a fresh process for each run, medians of three; peak: of the whole process, data "
    "and libraries included. 1,000 rows are digits, others come from a mixture of Gaussians; all "
    "are standardised. Answers are about random rows. SKLR: the fit and k-means on what it "
    "learned. DCRC: the whole fit, starts and choices included. k-means, of scikit-learn with ten "
    "starts, hears no answers."
)


class Case(NamedTuple):
    """One fit, and what it may take."""

    label: str
    fit: str
    data: str
    options: Mapping[str, Any]
    n_samples: int
    n_features: int
    n_clusters: int
    kind: str = "triplets"
    n_answers: int = 1_500
    error: float = 0.0
    """Share of wrong answers."""
    most_s: float | None = None
    """CPU seconds to reach."""
    most_mib: float | None = None


GIVEN = {"tau": 1.0, "lam": 2.0**-8, "kernel": None, "init": "kmeans"}
STARTS = {"n_init": 10}
DIGITS, BIRDS = (1_000, 64, 10), (5_000, 38, 13)
MANY, MILLION = (100_000, 50, 10), (10**6, 20, 10)
#: 2,500 odd-one-out answers are 5,000 inequalities.
ODD = ("odd_one_out", 2_500)
RANK = {"rank": 300}


def _on_digits(label: str, options: Mapping[str, Any], error: float, most_s: float | None) -> Case:
    return Case(label, "SKLR", "digits", RANK | options, *DIGITS, *ODD, error, most_s)


def _plain(data: str, size: tuple[int, int, int]) -> Case:
    return Case("k-means", "k-means", data, STARTS, *size)


CASES = (
    _on_digits("SKLR, rank 300, C = .2", {"C": 0.2}, 0.0, 2.0),
    _on_digits("SKLR, rank 300, C = 1", {"C": 1.0}, 0.0, 2.0),
    _on_digits("SKLR, rank 300, no slack", {"slack": "none"}, 0.0, 2.0),
    _on_digits("SKLR, rank 300, C chosen", {}, 0.0, None),
    _on_digits("SKLR, rank 300, C = .2", {"C": 0.2}, 0.15, 2.0),
    _on_digits("SKLR, rank 300, C = 1", {"C": 1.0}, 0.15, 2.0),
    _plain("digits", DIGITS),
    Case("DCRC, all given, from k-means", "DCRC", "mixture", GIVEN, *BIRDS, most_s=2.0),
    Case("DCRC, tau and lam given", "DCRC", "mixture", GIVEN | {"init": "best"}, *BIRDS),
    Case("DCRC, kernel, from k-means", "DCRC", "mixture", GIVEN | {"kernel": "adaptive"}, *BIRDS),
    Case("DCRC, default", "DCRC", "mixture", {}, *BIRDS),
    _plain("mixture", BIRDS),
    Case("SKLR, rank 100", "SKLR", "mixture", {"rank": 100}, *MANY, most_s=30.0, most_mib=1024.0),
    Case("SKLR, default", "SKLR", "mixture", {}, *MANY, most_s=30.0, most_mib=1024.0),
    Case("DCRC, default", "DCRC", "mixture", {}, *MILLION, most_s=30.0),
    _plain("mixture", MILLION),
)
QUICK = tuple(case._replace(n_samples=500, n_answers=200) for case in CASES[:2] + CASES[7:8])


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
        row["n_clusters"],
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


def markdown(rows: list[dict[str, Any]], about: dict[str, Any], *, is_quick: bool) -> str:
    """Write the page."""
    lines = ["# SKLR and DCRC: time and memory", ""]
    if is_quick:
        lines += ["**Quick run: few rows and answers; the figures mean little.**", ""]
    lines += [harness.described(about), "", NOTE, ""]
    lines += [harness.markdown_table(HEADER, map(_cells, rows)), ""]
    return "\n".join([*lines, "## Figures to reach", "", *_reached(rows), ""])


@click.command()
@click.option("--quick", is_flag=True, help="Three small fits, one run each, files of their own.")
def main(quick: bool) -> None:
    """Measure fits from answers about three rows."""
    about, rows = harness.provenance(), []
    for case in QUICK if quick else CASES:
        rows.append(measured(case, 1 if quick else N_RUNS))
        print(f"{case.label}, {case.n_samples:,} rows: {rows[-1]['cpu_s']:.2f} s", flush=True)
    stem = "relative_quick" if quick else "relative"
    content = {"about": about, "seed": 0, "rows": rows}
    harness.write_json(harness.RESULTS / f"{stem}.json", content)
    harness.write_text(harness.RESULTS / f"{stem}.md", markdown(rows, about, is_quick=quick))


if __name__ == "__main__":
    main()
