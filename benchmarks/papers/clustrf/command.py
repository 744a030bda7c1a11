"""The command line of the study."""

from __future__ import annotations

import time

import click

from benchmarks import _harness as harness
from benchmarks.papers.clustrf.areas import Areas
from benchmarks.papers.clustrf.pictures import draw
from benchmarks.papers.clustrf.protocol import FACES, SETS
from benchmarks.papers.clustrf.report import report, summary
from benchmarks.papers.clustrf.study import Study, run

__all__ = ["command"]


@click.command("clustrf")
@click.option("--trials", default=10, show_default=True, type=click.IntRange(1))
@click.option("--jobs", default=2, show_default=True, help="Processes, one thread each.")
@click.option("--quick", is_flag=True, help="One trial, few trees, faces, three k; own files.")
@click.option("--sets", multiple=True, type=click.Choice(SETS), help="Only these; repeatable.")
@click.option("--fresh", is_flag=True, help="Forget all results first.")
@click.option("--report-only", is_flag=True, help="Run nothing; write what there is.")
def command(
    trials: int, jobs: int, quick: bool, sets: tuple[str, ...], fresh: bool, report_only: bool
) -> None:
    """Run ClustRF's table and figures anew; a run that was stopped goes on where it was.

    Data sets come from the folder that CLEW_DATA names, or from OpenML.
    """
    start = time.perf_counter()
    study = Study(trials, 1000, sets or SETS)
    if quick:
        study = Study(1, 100, sets or (FACES,), "clustrf_quick", (10, 50, 100))
    # A quick run is a trial of the programme, not a study to go on with.
    if fresh or quick:
        study.log.keep(lambda record: False)
    if not report_only:
        run(study, jobs)
    areas = Areas(study, tuple(study.problems()))
    if not areas.problems:
        raise click.ClickException("none of the data sets is here; set CLEW_DATA to their folder")
    text = report(areas, is_quick=quick)
    harness.write_text(harness.RESULTS / f"{study.stem}.md", text)
    harness.write_json(harness.RESULTS / f"{study.stem}.json", summary(areas))
    draw(areas)
    spent = time.perf_counter() - start
    print(f"\n{text}\n{spent:.0f} s; files {study.stem}* in benchmarks/results/")
