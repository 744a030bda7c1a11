"""Speed and memory of the methods under answers: ``python -m benchmarks.kernels.constrained``."""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import click
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks import _harness as harness
from benchmarks.kernels import _constrained_measures as measures
from benchmarks.kernels._constrained_cases import CASES, CLEW
from benchmarks.kernels._constrained_measures import Options, Row
from benchmarks.kernels._constrained_problems import Problem

__all__ = ["main"]

NOTE = (
    "One thread, CPU time, medians of several runs. What is written in numpy, scipy and "
    "scikit-learn runs in turns with clew, packages from the index in environments of their own, "
    "on the same rows and answers. All answers are right, about random pairs. MiB: growth of the "
    "peak resident memory in a fresh process. Ratio: seconds of the peer / seconds of clew."
)
#: Heading and note of each table.
TABLES = {
    "Groups": "Peers make one start of k-means. ARI, answers violated and number of groups are "
    "those of the last run. scipy's linkage knows no answers.",
    "Similarities": "All on the same graph of the 20 nearest rows, unless features are named. "
    "DominantNeighbors and ConsensusKNN take no answers.",
}
HEADER = ["method", "problem", "clew s", "peer", "peer s", "ratio", "clew MiB", "peer MiB"]
GROUPS_HEADER = [
    "clew ARI", "peer ARI", "clew violated", "peer violated", "clew groups", "peer groups",
]  # fmt: skip
#: Method, variant, start of the problem; field; most that is allowed; unit.
GOALS = (
    ("COPKMeans", "10 starts", "digits", "clew_s", 0.2, "s"),
    ("ConstrainedLinkage", "average", "digits 1,797, 200", "clew_s", 0.3, "s"),
    ("E2CP", "sparse", "mixture 10,000", "clew_s", 5.0, "s"),
    ("E2CP", "sparse", "mixture 10,000", "clew_mib", 1024.0, "MiB"),
    ("E2CP", "sparse, from features", "mixture 10,000", "clew_s", 5.0, "s"),
    ("E2CP", "sparse, from features", "mixture 10,000", "clew_mib", 1024.0, "MiB"),
)


def tables(rows: Iterable[Row]) -> list[str]:
    """Make both tables, each with its heading and note."""
    parts: dict[str, list[Row]] = {name: [] for name in TABLES}
    for row in rows:
        parts["Groups" if "clew_ari" in row else "Similarities"].append(row)
    lines = []
    for name, members in parts.items():
        extra = GROUPS_HEADER if name == "Groups" else []
        cells = [_cells(row, extra) for row in members]
        table = harness.markdown_table(HEADER + extra, cells)
        lines += [f"## {name}", "", TABLES[name], "", table, ""] if members else []
    return lines


def _cells(row: Row, extra: list[str]) -> list[object]:
    ratio = f"{row['ratio']:.1f}×" if "ratio" in row else None
    whole = [None if row.get(f) is None else round(row[f]) for f in ("clew_mib", "peer_mib")]
    return [
        f"{row['method']}, {row['variant']}", row["problem"], row["clew_s"], row["peer"],
        row.get("peer_s"), ratio, *whole,
        *(row.get(heading.lower().replace(" ", "_")) for heading in extra),
    ]  # fmt: skip


def reasons(rows: Iterable[Row]) -> list[str]:
    """Say of every peer that did not run, or not always, why."""
    said = {(row["peer"], row["method"]): row["reason"] for row in rows if "reason" in row}
    return [f"- {peer}, {method}: {reason}" for (peer, method), reason in said.items()]


def targets(rows: Iterable[Row]) -> list[str]:
    """Say which of the figures to reach were reached."""
    found, seen = [], set()
    for row in rows:
        for goal in GOALS:
            method, variant, problem, field, most, unit = goal
            is_it = (row["method"], row["variant"]) == (method, variant)
            if goal in seen or not (is_it and row["problem"].startswith(problem)):
                continue
            if row.get(field) is not None:
                seen.add(goal)
                verdict = "reached" if row[field] <= most else "**missed**"
                name = f"{method}, {variant}, {row['problem']}"
                found.append(f"- {verdict}: {name}: {row[field]:.3g} {unit} (at most {most:g})")
    return found


def markdown(rows: list[Row], about: dict[str, Any], options: Options) -> str:
    """Write the page."""
    lines = ["# Methods under answers: speed and memory", ""]
    if options.is_quick:
        lines += ["**Quick run: fewer rows and answers; the figures mean little.**", ""]
    lines += [harness.described(about), "", NOTE, "", *tables(rows)]
    lines += ["## Peers that did not run, or not always", "", *(reasons(rows) or ["None."])]
    if not options.is_quick:
        lines += ["", "## Figures to reach", "", *targets(rows)]
    return "\n".join([*lines, ""])


def warm_up() -> None:
    """Compile every kernel that will be timed."""
    inputs = Problem(60, 10).inputs()
    for run in CLEW.values():
        run(inputs)


@click.command()
@click.option("--quick", is_flag=True, help="Under two minutes, into files of its own.")
@click.option("--no-peers", is_flag=True, help="Without peers that need environments. No files.")
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(sorted({case.method for case in CASES})),
    help="Measure these methods; repeatable. Writes no files.",
)
def main(quick: bool, no_peers: bool, only: tuple[str, ...]) -> None:
    """Time every method under answers beside its peers, print the table and write it."""
    about = harness.provenance()
    options = Options(is_quick=quick, has_peers=not no_peers)
    start = time.perf_counter()
    found: list[Row] = []
    with threadpool_limits(1):
        warm_up()
        for row in measures.rows(options, only):
            found.append(row)
            print(f"{row['method']}, {row['variant']}, {row['problem']}", flush=True)
    print("\n".join(["", *tables(found), *reasons(found)]))
    if not quick:
        print("\n".join(["", *targets(found)]))
    print(f"\n{time.perf_counter() - start:.0f} s in all")
    if not (only or no_peers):
        stem = "constrained_quick" if quick else "constrained"
        content = {"about": about, "options": asdict(options), "seed": 0, "rows": found}
        harness.write_json(harness.RESULTS / f"{stem}.json", content)
        harness.write_text(harness.RESULTS / f"{stem}.md", markdown(found, about, options))


if __name__ == "__main__":
    main()
