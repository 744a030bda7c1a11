"""The command of the study."""

from __future__ import annotations

import click

from benchmarks.papers.dcrc.report import report
from benchmarks.papers.dcrc.study import ALL_SHARES, SETS, SHARES, DcrcStudy
from benchmarks.study.command import study_command

__all__ = ["command"]


def make(trials: int, *, is_quick: bool, all_sizes: bool) -> DcrcStudy:
    """Make the study; a quick one has two sets and one size."""
    if is_quick:
        sets = ("balance_scale", "ionosphere")
        return DcrcStudy(1, sets, "dcrc_quick", is_quick=True, shares=SHARES[-1:])
    return DcrcStudy(trials, shares=ALL_SHARES if all_sizes else SHARES)


command = study_command(
    "dcrc",
    make,
    report,
    sets=SETS,
    trials=DcrcStudy.n_trials,
    fields=("f", "ari", "nmi", "fit_seconds"),
    quick="One trial, two small sets, one size",
    extra=[click.Option(["--all-sizes"], is_flag=True, help="0.05, 0.1, ... 0.3 N triplets.")],
)
