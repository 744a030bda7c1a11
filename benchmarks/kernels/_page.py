"""Measure the cases of a page, lay out its tables, write them as Markdown and JSON."""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import _harness as harness
from benchmarks.kernels._measure import Case, Row, measured

UNITS = {"ratio": "×", "cpu_s": " s", "wall_s": " s", "growth_mib": " MiB", "peak_mib": " MiB"}
PAGES = Path(__file__).parent / "pages"
#: Format of values, by the last key of their path.
FORMS = {
    "growth_mib": "{:.0f}", "peak_mib": "{:.0f}", "error": "{:.0%}", "objective": "{:.6g}",
    "least_wall_s": "{:.3f}",
    "gain": "{:.1e}", "difference": "{:.1e}", "n_samples": "{:,}", "n_answers": "{:,}",
}  # fmt: skip


class Table(NamedTuple):
    columns: Mapping[str, str]  # Path of the value, by heading: keys of a row, joined by dots
    cases: Sequence[Case]
    clock: str = "cpu_s"  # The seconds that ratios compare: "cpu_s" or "wall_s"
    is_long: bool = False  # Whether each peer has a line of its own, under the path "peer"
    quick: slice = slice(None)  # Which cases a quick run keeps


class Page(NamedTuple):
    """Tables of one file, by their place in ``pages/STEM.md``."""

    stem: str
    tables: Mapping[str, Table]


Rows = dict[str, list[Row]]


def carry_out(page: Page, *, is_quick: bool, only: str) -> None:
    """Measure and print a page; write it after each case, unless some cases were left out."""
    about, start = harness.provenance(), time.perf_counter()
    rows: Rows = {name: [] for name in page.tables}
    for name, table in page.tables.items():
        cases = [case.quick() for case in table.cases[table.quick]] if is_quick else table.cases
        for case in (case for case in cases if only in case.label):
            print(f"{case.label}, {case.problem.n_samples:,} rows", flush=True)
            rows[name].append(measured(case, table.clock))
            if not only:
                _write(page, rows, about, is_quick=is_quick)
        if rows[name]:
            print(f"\n{laid_out(table, rows[name])}\n", flush=True)
    print(f"{goals_of(rows)}\n{time.perf_counter() - start:.0f} s in all")


def _write(page: Page, rows: Rows, about: dict[str, Any], *, is_quick: bool) -> None:
    """Write what was measured so far: a long run may be stopped."""
    stem = f"{page.stem}_quick" if is_quick else page.stem
    content = {"about": about, "seed": 0, "tables": rows}
    text_of_json = json.dumps(content, indent=1, ensure_ascii=False) + "\n"
    harness.write_text(harness.RESULTS / f"{stem}.json", text_of_json)
    text = markdown(page, rows, about, is_quick=is_quick)
    harness.write_text(harness.RESULTS / f"{stem}.md", text)


def markdown(page: Page, rows: Rows, about: dict[str, Any], *, is_quick: bool) -> str:
    notice = "**Quick run: few rows, answers and trees; the figures mean little.**\n\n"
    places = {"about": (notice if is_quick else "") + harness.described(about)}
    places |= {name: laid_out(table, rows[name]) for name, table in page.tables.items()}
    places |= {"failures": failures_of(rows), "goals": goals_of(rows)}
    template = (PAGES / f"{page.stem}.md").read_text(encoding="utf-8")
    return template.format(**places)


def laid_out(table: Table, rows: Iterable[Row]) -> str:
    """Make the table; a long one has a line for each peer."""
    if table.is_long:
        rows = [
            row | {"peer": peer}
            for row in rows
            for peer in [{"name": k} | peer for k, peer in _peers(row)] or [{}]
        ]
    cells = [[_cell(row, path) for path in table.columns.values()] for row in rows]
    return harness.markdown_table(list(table.columns), cells)


def _peers(row: Row) -> Iterable[tuple[str, Row]]:
    return dict(row.get("peers", {})).items()


def _value(row: Row, path: str) -> Any:
    value: Any = row
    for key in path.split("."):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _cell(row: Row, path: str) -> object:
    value, name = _value(row, path), path.rpartition(".")[2]
    if name == "ratio" and value is not None:
        return f"{value:.{(value < 100) + (value < 10)}f}×"
    return value if value is None or name not in FORMS else FORMS[name].format(value)


def failures_of(rows: Rows) -> str:
    """List the peers that failed in some runs, with the reason."""
    said = [
        f"- {name}, {_about(row)}: {peer['reason']}"
        for row in chain(*rows.values())
        for name, peer in _peers(row)
        if "reason" in peer
    ]
    return "\n".join(said) or "None."


def goals_of(rows: Rows) -> str:
    """List for each goal whether it was reached."""
    every = [(row, *goal) for row in chain(*rows.values()) for goal in row["goals"].items()]
    return "\n".join(_verdict(*goal) for goal in every) or "None here."


def _verdict(row: Row, path: str, bound: float) -> str:
    """Compare a value with its bound: a minimum for ratios and gains, a maximum for all else."""
    *_, peer, name = path.split(".")
    is_least, value = name in ("ratio", "gain", "ari"), _value(row, path)
    what = _about(row) + (f", {peer}" if name in ("ratio", "gain") else "")
    if value is None:
        return f"- not judged: {what}"
    verdict = "reached" if (value >= bound if is_least else value <= bound) else "**missed**"
    unit = UNITS.get(name, "")
    limit = f"{'at least' if is_least else 'at most'} {bound:g}"
    return f"- {verdict}: {what}: {value:.3g}{unit} ({limit})"


def _about(row: Row) -> str:
    problem = row["problem"]
    answers = f", {problem['answers']}" if problem["n_answers"] else ""
    return f"{row['label']}, {problem['data']} {problem['size']}{answers}"
