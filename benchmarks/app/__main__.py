"""Measure the app: ``python -m benchmarks.app``; prints a table and writes it to the results."""

import os
import platform
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from benchmarks.app import asking, hour, pages
from benchmarks.app._served import chromium

RESULT = Path(__file__).parents[1] / "results" / "app.md"
Row = tuple[str, str, str]


def quantiles(values: Sequence[float]) -> str:
    p50, p95, most = np.percentile(values, [50, 95, 100])
    return f"p95 {p95:.0f} ms (median {p50:.0f}, longest {most:.0f}; {len(values)})"


def keys(browser: Any, folder: Path, quick: bool) -> list[Row]:
    rows, n = [], 25 if quick else 150
    for latency, where, saved in ((0, "loopback", 60), (100, "100 ms round trip", 190)):
        found = asking.by_keys(
            browser, folder / f"keys-{latency}", n=n, latency=latency, pace=0.4 if quick else 0.7
        )
        rows += [
            (f"key to next question painted, {where}", "p95 < 60 ms", quantiles(found.next)),
            (f"key to saved, {where}", f"p95 < {saved} ms", quantiles(found.saved)),
            (
                f"answers since a question was chosen, {where}", "≤ 10",
                f"at most {max(found.stale)} (median {np.median(found.stale):.0f}; "
                f"{len(found.stale)} questions, {found.n_repeats} repeats)",
            ),
            (f"memory of the web process, {where}", "< 120 MB", f"{found.memory:.0f} MB"),
        ]  # fmt: skip
    return rows


def people(browser: Any, folder: Path, quick: bool) -> list[Row]:
    found = asking.crowd(folder / "people", n_people=20, n_each=5 if quick else 40)
    return [
        ("20 people at once: answer and next questions", "p95 < 150 ms", quantiles(found.waits)),
        (
            "20 people at once: answers that were lost; stored twice", "0; 0",
            f"{found.n_lost}; {found.n_twice} (of {found.n_given})",
        ),
        ("memory of the web process, 20 people", "< 120 MB", f"{found.memory:.0f} MB"),
    ]  # fmt: skip


def script(browser: Any, folder: Path, quick: bool) -> list[Row]:
    """Weigh the script of the first page."""
    written, sent = pages.script_bytes(browser, folder / "script")
    said = f"{written / 1000:.1f} kB ({sent / 1000:.1f} kB sent)"
    return [("script of the first page", "< 50 kB", said)]


def gallery(browser: Any, folder: Path, quick: bool) -> list[Row]:
    n = 1000 if quick else 10_000
    found = pages.gallery(browser, folder / "gallery", n=n)
    said = f"{max(found.tasks, default=0):.0f} ms ({len(found.tasks)} over 50 ms; {found.n_shown:,} items in {found.seconds:.0f} s)"  # noqa: E501
    return [(f"longest task while a group of {n:,} pictures scrolls", "≤ 100 ms", said)]


def the_map(browser: Any, folder: Path, quick: bool) -> list[Row]:
    n = 10_000 if quick else 100_000
    found = pages.map_page(browser, folder / "map", n=n)
    return [
        (f"map of {n:,} points: arrived to drawn", "< 500 ms", f"{found.drawn:.0f} ms"),
        (f"map of {n:,} points: fetched and parsed", "", f"{found.fetched:.0f} ms"),
        (f"map of {n:,} points: page opened to drawn", "", f"{found.whole:.0f} ms"),
        (f"map of {n:,} points: one step of the wheel", "", f"{found.redrawn:.0f} ms"),
        (f"memory of the web process, {n:,} items, map", "", f"{found.memory:.0f} MB"),
    ]


def start(browser: Any, folder: Path, quick: bool) -> list[Row]:
    n = 20 if quick else 100
    photos, python = pages.photos_in(folder / "photos", n), pages.installed(folder)
    found = pages.first_start(browser, photos, python)
    said = f"{found.painted:.1f} s (link after {found.link:.1f} s, model after {found.model:.0f} s)"
    return [(f"`clew serve ./photos`, {n} photos, fresh install: first question", "< 10 s", said)]


def an_hour(browser: Any, folder: Path, quick: bool) -> list[Row]:
    return hour.rows_of(hour.label(folder / "hour", minutes=4 if quick else 60))


PARTS: dict[str, Callable[[Any, Path, bool], list[Row]]] = {
    "script": script, "start": start, "keys": keys, "people": people, "gallery": gallery,
    "map": the_map, "hour": an_hour,
}  # fmt: skip


@click.command()
@click.argument("parts", nargs=-1, type=click.Choice(list(PARTS)))
@click.option("--quick", is_flag=True, help="Small sizes; writes nothing.")
def main(parts: tuple[str, ...], quick: bool) -> None:
    """Measure PARTS of the app, or all, and write the page; rows of other parts stay."""
    lines = kept_rows() if RESULT.exists() else {}
    with tempfile.TemporaryDirectory() as name, chromium() as browser:
        for part in parts or PARTS:
            version = browser.version.partition(".")[0]
            when = f"{time.strftime('%Y-%m-%d')}, load {os.getloadavg()[0]:.1f}, {version}"
            rows = PARTS[part](browser, Path(name), quick)
            for row in rows:
                click.echo(" | ".join(row))
            lines[part] = [f"| {' | '.join((part, *row, when))} |" for row in rows]
            if not quick:
                RESULT.write_text(page_of(lines), encoding="utf-8")


def kept_rows() -> dict[str, list[str]]:
    """Read the page's rows, by part."""
    lines: dict[str, list[str]] = {}
    for line in RESULT.read_text(encoding="utf-8").splitlines():
        part = line.removeprefix("| ").partition(" |")[0]
        if part in PARTS:
            lines.setdefault(part, []).append(line)
    return lines


def page_of(lines: Mapping[str, Sequence[str]]) -> str:
    """Write the page of the results."""
    about = (
        f'{platform.machine()}, {os.cpu_count()} cores, Chromium without a window; "when" ends '
        "with the load, the average of the minute before a part, and Chromium's version. The "
        "collection is the 109 pictures that clew ships, with a worker beside the app; the round "
        "trip is Chromium's own emulation. "
        f"People answer wrongly in {asking.ERROR:.0%} of the questions; those of the hour in "
        f"{' and '.join(f'{one:.0%}' for one in hour.ERRORS.values())}. The gallery counts its "
        "group's examples and doubtful items once more."
    )
    head = ["| part | what | promised | measured | when |", "|---|---|---|---|---|"]
    rows = [line for part in PARTS for line in lines.get(part, ())]
    return "\n".join(["# The labelling app", "", about, "", *head, *rows, ""])


if __name__ == "__main__":
    main()
