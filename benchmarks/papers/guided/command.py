"""The command line of the study."""

from __future__ import annotations

from dataclasses import replace

import click

from benchmarks.papers._relative.command import carry_out, options
from benchmarks.papers.guided.ablations import ABLATIONS, UNCREDITED
from benchmarks.papers.guided.figures import Figures
from benchmarks.papers.guided.methods import HEARS_THREES, METHODS
from benchmarks.papers.guided.parts import PARTS
from benchmarks.papers.guided.pictures import draw
from benchmarks.papers.guided.protocol import SETS
from benchmarks.papers.guided.report import report
from benchmarks.papers.guided.study import GuidedStudy

__all__ = ["command"]

QUICK_SETS = ("glass", "iris")
EVERY_METHOD = (*METHODS, *HEARS_THREES, *ABLATIONS, UNCREDITED)


@click.command("guided")
@options(SETS, 3, "One trial, two small sets, one amount")
@click.option(
    "--part",
    "parts",
    multiple=True,
    type=click.Choice([part.name for part in PARTS]),
    help="Run only these; the report has all.",
)
@click.option(
    "--methods",
    multiple=True,
    type=click.Choice([method.name for method in EVERY_METHOD]),
    help="Run only these; the report has all.",
)
def command(
    trials: int,
    jobs: int,
    quick: bool,
    sets: tuple[str, ...],
    fresh: bool,
    report_only: bool,
    parts: tuple[str, ...],
    methods: tuple[str, ...],
) -> None:
    """Run guided clustering against every method; a run that was stopped goes on where it was.

    Data sets come from the folder that CLEW_DATA names, or from OpenML.
    """
    study = GuidedStudy(trials, sets or SETS)
    if quick:
        study = GuidedStudy(1, sets or QUICK_SETS, "guided_quick", amounts=("N",))
    carry_out(
        study,
        jobs=jobs,
        is_quick=quick,
        is_fresh=fresh,
        is_report_only=report_only,
        fields=("ari", "fit_seconds", "auc", "error_rate", "is_held"),
        report=report,
        draw=lambda results: draw(Figures(results)),
        part=replace(study, parts=parts or study.parts, methods=methods),
    )
