"""The command of the study."""

from __future__ import annotations

from benchmarks.papers.clustrf.report import report
from benchmarks.papers.clustrf.study import FACES, SETS, ClustrfStudy
from benchmarks.study.command import study_command

__all__ = ["command"]


def make(trials: int, *, is_quick: bool) -> ClustrfStudy:
    """Make the study; a quick one has few trees and three sizes."""
    if is_quick:
        return ClustrfStudy(1, (FACES,), "clustrf_quick", True, n_trees=100, k=(10, 50, 100))
    return ClustrfStudy(trials)


command = study_command(
    "clustrf",
    make,
    report,
    sets=SETS,
    trials=ClustrfStudy.n_trials,
    fields=("ari",),
    quick="One trial, 100 trees, faces, three sizes",
)
