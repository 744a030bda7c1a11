"""The command line of the study."""

from __future__ import annotations

import click

from benchmarks.papers._relative.command import carry_out, options
from benchmarks.papers.dcrc.pictures import draw
from benchmarks.papers.dcrc.protocol import ALL_SHARES, SETS, SHARES
from benchmarks.papers.dcrc.report import report
from benchmarks.papers.dcrc.study import DcrcStudy

__all__ = ["command"]

QUICK_SETS = ("balance_scale", "ionosphere")


@click.command("dcrc")
@options(SETS, 20, "One trial, two small sets, one size")
@click.option("--all-sizes", is_flag=True, help="0.05, 0.1, ... 0.3 triplets for each row.")
def command(
    trials: int,
    jobs: int,
    quick: bool,
    sets: tuple[str, ...],
    fresh: bool,
    report_only: bool,
    all_sizes: bool,
) -> None:
    """Run DCRC's figures and table anew; a run that was stopped goes on where it was.

    Data sets come from the folder that CLEW_DATA names, or from OpenML.
    """
    study = DcrcStudy(trials, sets or SETS, shares=ALL_SHARES if all_sizes else SHARES)
    if quick:
        study = DcrcStudy(1, sets or QUICK_SETS, "dcrc_quick", SHARES[-1:])
    carry_out(
        study,
        jobs=jobs,
        is_quick=quick,
        is_fresh=fresh,
        is_report_only=report_only,
        fields=("f", "ari", "nmi", "fit_seconds"),
        report=report,
        draw=draw,
    )
