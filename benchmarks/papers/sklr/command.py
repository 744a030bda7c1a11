"""The command of the study."""

from __future__ import annotations

import click

from benchmarks.papers.sklr.report import report
from benchmarks.papers.sklr.study import ALL_SIZES, SETS, SIZES, VEHICLE, SklrStudy
from benchmarks.study.command import study_command

__all__ = ["command"]


def make(trials: int, *, is_quick: bool, all_sizes: bool) -> SklrStudy:
    """Make the study; a quick one has one set and two sizes."""
    if is_quick:
        return SklrStudy(1, (VEHICLE,), "sklr_quick", is_quick=True, sizes=(5, 13))
    return SklrStudy(trials, sizes=ALL_SIZES if all_sizes else SIZES)


command = study_command(
    "sklr",
    make,
    report,
    sets=SETS,
    trials=SklrStudy.n_trials,
    fields=("binary", "multi", "new binary", "new multi"),
    quick="One trial, vehicle, two sizes",
    extra=[click.Option(["--all-sizes"], is_flag=True, help="5, 7, ... 19 labelled rows a class.")],
)
