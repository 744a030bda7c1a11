"""The command line of the study."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import click

from benchmarks import _harness as harness
from benchmarks.papers.cop_rf.areas import Areas
from benchmarks.papers.cop_rf.block_figures import draw_blocks
from benchmarks.papers.cop_rf.curves import draw_curves
from benchmarks.papers.cop_rf.doubt_figures import draw_doubts
from benchmarks.papers.cop_rf.face_figures import draw_faces
from benchmarks.papers.cop_rf.improvement import draw_improvement
from benchmarks.papers.cop_rf.parts import ALL_SETS
from benchmarks.papers.cop_rf.report import report, summary
from benchmarks.papers.cop_rf.study import Study, run
from benchmarks.papers.cop_rf.which import which_report

__all__ = ["command", "draw"]

QUICK_SETS = tuple(name for name in ALL_SETS if name not in ("digits", "apfaces_900"))


@click.command("cop_rf")
@click.option("--trials", default=10, show_default=True, type=click.IntRange(1))
@click.option("--jobs", default=2, show_default=True, help="Processes, one thread each.")
@click.option("--quick", is_flag=True, help="Two trials, few trees, small sets; own files.")
@click.option("--sets", multiple=True, type=click.Choice(ALL_SETS), help="Only these; repeatable.")
@click.option("--fresh", is_flag=True, help="Forget all results of the sets first.")
@click.option(
    "--redo",
    multiple=True,
    type=click.Choice([measure.name for measure in Study().measures()]),
    help="Forget this method's results on the sets first; repeatable.",
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
    """Run COP-RF's tables and figures anew; a run that was stopped goes on where it was.

    Data sets beyond scikit-learn's own come from the folder that CLEW_DATA names, or from OpenML.
    """
    start = time.perf_counter()
    study = Study(trials, 1000, sets or ALL_SETS)
    if quick:
        study = Study(2, 200, sets or QUICK_SETS, "cop_rf_quick")
    # A quick run is a trial of the programme, not a study to go on with.
    if fresh or quick or redo:
        _forget(study, None if fresh or quick else redo)
    if not report_only:
        run(study, jobs)
    areas = Areas(study, tuple(study.problems("tables")))
    if not study.problems():
        raise click.ClickException("none of the data sets is here; set CLEW_DATA to their folder")
    text = _write(areas, is_quick=quick)
    spent = time.perf_counter() - start
    print(f"\n{text}\n{spent:.0f} s; files {study.stem}* in benchmarks/results/")


def _forget(study: Study, methods: Collection[str] | None) -> None:
    """Forget results on the sets of a study: those of some methods, or all."""

    def is_kept(record: Mapping[str, Any]) -> bool:
        is_meant = methods is None or record["method"] in methods
        return record["set"] not in study.sets or not is_meant

    study.log.keep(is_kept)


def _write(areas: Areas, *, is_quick: bool) -> str:
    """Write the report, the tables that the documentation shows, the areas and the pictures."""
    text, stem = report(areas, is_quick=is_quick), areas.study.stem
    which = "\n".join(which_report(areas)) + "\n"
    harness.write_text(harness.RESULTS / f"{stem}.md", text)
    harness.write_text(harness.RESULTS / f"{stem}_which.md", which)
    harness.write_json(harness.RESULTS / f"{stem}.json", summary(areas))
    draw(areas)
    return text


def draw(areas: Areas) -> list[Path]:
    """Draw every figure of which there is anything.

    Returns
    -------
    list of Path
        The pictures.
    """
    import matplotlib

    matplotlib.use("Agg")
    study = areas.study
    pictures = [*draw_curves(areas), *draw_improvement(areas)]
    pictures += draw_blocks(areas, study.problems("blocks"))
    pictures += draw_faces(areas, study.problems("faces"))
    return pictures + draw_doubts(areas, study.problems("doubts"))
