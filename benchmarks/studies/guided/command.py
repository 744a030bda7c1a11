"""The command of the study."""

from __future__ import annotations

from benchmarks.studies.guided.report import report
from benchmarks.studies.guided.study import SETS, GuidedStudy
from benchmarks.study.command import study_command

__all__ = ["command"]


def make(trials: int, *, is_quick: bool) -> GuidedStudy:
    """Make the study; a quick one has two sets and one amount."""
    if is_quick:
        return GuidedStudy(1, ("glass", "iris"), "guided_quick", is_quick=True, amounts=("N",))
    return GuidedStudy(trials)


command = study_command(
    "guided",
    make,
    report,
    sets=SETS,
    trials=GuidedStudy.n_trials,
    fields=("ari", "fit_seconds", "auc", "error_rate", "is_held"),
    quick="One trial, two small sets, one amount",
)
