"""Speed and memory of the clustering forests: ``python -m benchmarks.kernels.forest``."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from typing import Any, NamedTuple

import click
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from benchmarks import _harness as harness
from benchmarks.kernels import _forest_measures as measures
from benchmarks.kernels._forest_measures import Options, Row
from benchmarks.kernels._forest_problems import warm_up

__all__ = ["main"]

Table = tuple[list[str], list[list[object]]]


def _forests(rows: Iterable[Row]) -> Table:
    header = [
        "problem", "data", "trees", "trees of peers", "clew s", "RandomForest s", "ExtraTrees s",
        "RF / clew", "ET / clew", "clew MiB", "RF MiB", "ET MiB",
    ]  # fmt: skip
    return header, [
        [
            row["size"], row["data"], row["n_trees"], row["peer_trees"],
            *row["seconds"].values(), *(f"{ratio:.1f}×" for ratio in row["ratio"].values()),
            *(round(mib) for mib in (row["memory_mib"] or {}).values()), *_blanks(row),
        ]
        for row in rows
    ]  # fmt: skip


def _blanks(row: Row) -> list[None]:
    return [] if row["memory_mib"] else [None] * 3


def _coprf(rows: Iterable[Row]) -> Table:
    header = ["mode", "trust", "wrong answers", "trees", "seconds", "paper's 213 s / ours"]
    return header, [
        [
            *(row[name] for name in ("mode", "trust", "wrong", "n_trees", "seconds")),
            f"{row['paper_ratio']:.0f}×" if row["paper_ratio"] else None,
        ]
        for row in rows
    ]


def _threads(rows: Iterable[Row]) -> Table:
    header = ["problem", "data", "trees", "one thread s", "two threads s", "ratio"]
    return header, [
        [r["size"], r["data"], r["n_trees"], r["one"], r["two"], f"{r['ratio']:.2f}×"] for r in rows
    ]


def _affinities(rows: Iterable[Row]) -> Table:
    header = ["problem", "data", "trees", "leaf s", "uniform s", "adaptive s"]
    return header, [list(row.values()) for row in rows]


#: Heading and field of each column.
SPARSE_COLUMNS = {
    "rows": "n_samples",
    "trees": "n_trees",
    "k": "k",
    "max_samples": "max_samples",
    "threads": "n_jobs",
    "forest s": "forest_s",
    "graph s": "graph_s",
    "both s": "total_s",
    "peak MiB": "peak_mib",
}


def _sparse(rows: Iterable[Row]) -> Table:
    cells = [row | {"peak_mib": round(row["peak_mib"])} for row in rows]
    return list(SPARSE_COLUMNS), [[row[name] for name in SPARSE_COLUMNS.values()] for row in cells]


class Part(NamedTuple):
    """One table: what it says, how its rows are measured and laid out."""

    title: str
    note: str
    measure: Callable[[Options], Iterable[Row]]
    layout: Callable[[Iterable[Row]], Table]


PARTS = {
    "forests": Part(
        "Forests on the same two-class problem",
        "One thread. clew's time is `ClustRF(...).fit(X)`, pseudo rows, binning and all; peers get "
        'the pseudo rows for nothing: `max_features="sqrt", bootstrap=True, max_samples=N` of 2N '
        "rows. Where peers grew fewer trees, their time is scaled linearly in the trees, and their "
        "memory along the line through two numbers of trees. Medians of 3 runs in turns; peers at "
        "the large sizes 1 run. MiB: growth of the peak resident memory during the fit, each in "
        "a fresh process.",
        measures.forests,
        _forests,
    ),
    "coprf": Part(
        "COP-RF at 600×30, 539 answers (0.3 % of all pairs)",
        "One thread, medians of 3. `COPRF(...).fit(X, constraints=...)`, the weighing of the "
        "answers included. The paper: 213 s a forest, in C++, one core. The published model is "
        "hard with trust inconsistency. Hard constraints with nothing filtered out refuse "
        "contradictions, so there is no such row with wrong answers.",
        measures.coprf,
        _coprf,
    ),
    "threads": Part(
        "Two threads against one",
        "`ClustRF(...).fit(X)`, medians of 5 runs in turns.",
        measures.threads,
        _threads,
    ),
    "affinities": Part(
        "Dense affinity of a grown forest",
        "One thread, medians of 3.",
        measures.affinities,
        _affinities,
    ),
    "sparse": Part(
        "Nearest rows by affinity, nothing dense",
        "50 features, 20 Gaussian clusters, `kneighbors_graph`; each row in a fresh process. Peak: "
        "resident memory of the whole process, libraries and data included.",
        measures.sparse,
        _sparse,
    ),
}


def targets(tables: dict[str, list[Row]]) -> list[str]:
    """Say which of the figures to reach were reached."""
    forest, found = tables.get("forests", []), []
    worst = min(forest, key=lambda row: row["ratio"]["RandomForest"], default=None)
    if worst:
        ratio = worst["ratio"]["RandomForest"]
        found.append(
            _target("RandomForest / clew at every size", ratio, 8, f"×, lowest at {worst['size']}")
        )
    for row in forest:
        if row["size"] == "50,000×50":
            ratio = row["ratio"]["ExtraTrees"]
            found.append(_target("ExtraTrees / clew at 50,000×50", ratio, 1, "×"))
    for row in tables.get("coprf", []):
        name = f"COP-RF {row['mode']}, trust {row['trust']}, wrong {row['wrong']}"
        found.append(_target(name, row["seconds"], 0.6, " s", is_most=True))
    for row in tables.get("threads", []):
        found.append(_target(f"two threads at {row['size']}", row["ratio"], 1.9, "×"))
    for row in tables.get("sparse", [])[:1]:
        found.append(
            _target("sparse top-20 with its forest", row["total_s"], 15, " s", is_most=True)
        )
        found.append(
            _target("sparse top-20, peak", row["peak_mib"] / 1024, 2, " GiB", is_most=True)
        )
    return found


def _target(name: str, value: float, goal: float, unit: str, *, is_most: bool = False) -> str:
    is_reached = value <= goal if is_most else value >= goal
    bound = "at most" if is_most else "at least"
    verdict = "reached" if is_reached else "**missed**"
    return f"- {verdict}: {name} {value:.2f}{unit} ({bound} {goal:g})"


def _markdown(tables: dict[str, list[Row]], about: dict[str, Any], options: Options) -> str:
    lines = ["# Clustering forests: speed and memory", ""]
    if options.is_quick:
        lines += ["**Quick run: fewer trees and rows; the figures mean little.**", ""]
    lines.append(harness.described(about))
    for name, rows in tables.items():
        title, note, _, layout = PARTS[name]
        lines += ["", f"## {title}", "", note, "", harness.markdown_table(*layout(rows))]
    return "\n".join([*lines, "", "## Figures to reach", "", *targets(tables), ""])


@click.command()
@click.option("--quick", is_flag=True, help="Under two minutes, into files of its own.")
@click.option("--full", is_flag=True, help="Peers grow all their trees, at the large sizes too.")
@click.option(
    "--peer-share",
    default=0.1,
    show_default=True,
    help="Share of the trees that peers grow at the large sizes.",
)
@click.option(
    "--only",
    multiple=True,
    type=click.Choice(list(PARTS)),
    help="Measure these tables; repeatable. Writes no files.",
)
def main(quick: bool, full: bool, peer_share: float, only: tuple[str, ...]) -> None:
    """Time the forests beside scikit-learn's, print the tables and write them."""
    about = harness.provenance()
    options = Options(peer_share=1.0 if full else peer_share, is_quick=quick)
    start = time.perf_counter()
    tables: dict[str, list[Row]] = {}
    with threadpool_limits(1):
        warm_up()
        for name in only or PARTS:
            title, _, measure, layout = PARTS[name]
            tables[name] = list(measure(options))
            print(f"\n{title}\n{harness.markdown_table(*layout(tables[name]))}", flush=True)
    print("\n" + "\n".join(targets(tables)))
    print(f"\n{time.perf_counter() - start:.0f} s in all")
    if not only:
        stem = "forest_quick" if quick else "forest"
        content = {"about": about, "options": asdict(options), "seed": 0, "tables": tables}
        harness.write_json(harness.RESULTS / f"{stem}.json", content)
        harness.write_text(harness.RESULTS / f"{stem}.md", _markdown(tables, about, options))


if __name__ == "__main__":
    main()
