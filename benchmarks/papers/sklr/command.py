"""The command line of the study."""

from __future__ import annotations

import click

from benchmarks.papers._relative.command import carry_out, options
from benchmarks.papers.sklr.pictures import draw
from benchmarks.papers.sklr.protocol import ALL_SIZES, SETS, SIZES, VEHICLE
from benchmarks.papers.sklr.report import report
from benchmarks.papers.sklr.study import SklrStudy

__all__ = ["command"]


@click.command("sklr")
@options(SETS, 10, "One trial, vehicle, two sizes")
@click.option("--all-sizes", is_flag=True, help="5, 7, ... 19 labelled rows of each class.")
def command(
    trials: int,
    jobs: int,
    quick: bool,
    sets: tuple[str, ...],
    fresh: bool,
    report_only: bool,
    all_sizes: bool,
) -> None:
    """Run SKLR's figures anew; a run that was stopped goes on where it was.

    Data sets come from the folder that CLEW_DATA names, or from OpenML.
    """
    study = SklrStudy(trials, sets or SETS, sizes=ALL_SIZES if all_sizes else SIZES)
    if quick:
        study = SklrStudy(1, sets or (VEHICLE,), "sklr_quick", (5, 13))
    carry_out(
        study,
        jobs=jobs,
        is_quick=quick,
        is_fresh=fresh,
        is_report_only=report_only,
        fields=("binary", "multi", "new binary", "new multi"),
        report=report,
        draw=draw,
    )
