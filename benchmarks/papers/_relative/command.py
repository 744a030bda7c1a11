"""What the commands of the studies share: their options, and the order of work."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from benchmarks import _harness as harness
from benchmarks.papers._relative.study import Results, Study, run
from benchmarks.papers._relative.tables import summary

__all__ = ["carry_out", "options"]

Command = Callable[..., None]


def options(sets: Sequence[str], trials: int, quick: str) -> Callable[[Command], Command]:
    """Give a command the options that all studies have."""
    found = [
        click.option("--trials", default=trials, show_default=True, type=click.IntRange(1)),
        click.option("--jobs", default=2, show_default=True, help="Processes, one thread each."),
        click.option("--quick", is_flag=True, help=f"{quick}; own files."),
        click.option("--sets", multiple=True, type=click.Choice(sets), help="Only these."),
        click.option("--fresh", is_flag=True, help="Forget what is to run first."),
        click.option("--report-only", is_flag=True, help="Run nothing; write what there is."),
    ]  # fmt: skip

    def decorated(command: Command) -> Command:
        for option in reversed(found):
            command = option(command)
        return command

    return decorated


def carry_out(
    study: Study,
    *,
    jobs: int,
    is_quick: bool,
    is_fresh: bool,
    is_report_only: bool,
    fields: Sequence[str],
    report: Callable[..., str],
    draw: Callable[[Any], list[Path]],
    part: Study | None = None,
) -> None:
    """Run what is missing of a study, and write its report, its figures and its pictures.

    Parameters
    ----------
    study : Study
        What to run.
    jobs : int
        Processes.
    is_quick, is_fresh, is_report_only : bool
        Whether the figures mean little; whether results are forgotten first; whether nothing runs.
    fields : sequence of str
        Scores that other programs are given.
    report : callable
        Writes the results down: gets them and `is_quick`.
    draw : callable
        Draws them.
    part : Study, optional
        What to run of it; everything if not given.
    """
    start = time.perf_counter()
    if not study.found_sets:
        raise click.ClickException("none of the data sets is here; set CLEW_DATA to their folder")
    wanted = part or study
    # A quick run is a trial of the programme, not a study to go on with.
    if (is_fresh or is_quick) and not is_report_only:
        study.log.keep(lambda record: not wanted.is_of(record))
    if not is_report_only:
        run(wanted, jobs)
    results = Results(study)
    text = report(results, is_quick=is_quick)
    harness.write_text(harness.RESULTS / f"{study.stem}.md", text)
    harness.write_json(harness.RESULTS / f"{study.stem}.json", summary(results, fields))
    draw(results)
    spent = time.perf_counter() - start
    print(f"\n{text}\n{spent:.0f} s; files {study.stem}* in benchmarks/results/")
