"""The command line of the study."""

from __future__ import annotations

import time

import click

from benchmarks import _harness as harness
from benchmarks.papers.cop_rf.areas import Areas
from benchmarks.papers.cop_rf.methods import METHODS
from benchmarks.papers.cop_rf.plots import draw
from benchmarks.papers.cop_rf.protocol import SETS
from benchmarks.papers.cop_rf.report import report, summary
from benchmarks.papers.cop_rf.study import Study, run

__all__ = ["command"]

QUICK_SETS = tuple(name for name in SETS if name != "digits")


@click.command("cop_rf")
@click.option("--trials", default=10, show_default=True, type=click.IntRange(1))
@click.option("--jobs", default=2, show_default=True, help="Processes, one thread each.")
@click.option("--quick", is_flag=True, help="Two trials, 200 trees, no digits; files of its own.")
@click.option("--sets", multiple=True, type=click.Choice(SETS), help="Only these; repeatable.")
@click.option("--fresh", is_flag=True, help="Forget all results first.")
@click.option(
    "--redo",
    multiple=True,
    type=click.Choice([method.name for method in METHODS]),
    help="Forget the results of this method first; repeatable.",
)
@click.option("--report-only", is_flag=True, help="Run nothing; write what there is.")
def command(
    trials: int,
    jobs: int,
    quick: bool,
    sets: tuple[str, ...],
    fresh: bool,
    redo: tuple[str, ...],
    report_only: bool,
) -> None:
    """Run Tables II, III and IV of COP-RF; a run that was stopped goes on where it was.

    Data sets beyond scikit-learn's own come from the folder that CLEW_DATA names, or from OpenML.
    """
    start = time.perf_counter()
    study = Study(trials, 1000, sets or SETS)
    if quick:
        study = Study(2, 200, sets or QUICK_SETS, "cop_rf_quick")
    # A quick run is a trial of the programme, not a study to go on with.
    if fresh or quick:
        study.log.keep(lambda record: False)
    elif redo:
        study.log.keep(lambda record: record["method"] not in redo)
    if not report_only:
        run(study, jobs)
    areas = Areas(study, tuple(study.problems()))
    if not areas.fair:
        raise click.ClickException("none of the data sets is here; set CLEW_DATA to their folder")
    text = report(areas, is_quick=quick)
    harness.write_text(harness.RESULTS / f"{study.stem}.md", text)
    harness.write_json(harness.RESULTS / f"{study.stem}.json", summary(areas))
    draw(areas)
    print(
        f"\n{text}\n{time.perf_counter() - start:.0f} s; files {study.stem}* in benchmarks/results/"
    )
