"""The command of the study."""

from __future__ import annotations

from benchmarks.papers.cop_rf.report import report
from benchmarks.papers.cop_rf.study import SETS, CopRfStudy
from benchmarks.study.command import study_command

__all__ = ["command"]


def make(trials: int, *, is_quick: bool) -> CopRfStudy:
    """Make the study; a quick one has few trees and small sets."""
    if is_quick:
        return CopRfStudy(2, ("iris", "glass"), "cop_rf_quick", True, n_trees=200)
    return CopRfStudy(trials)


command = study_command(
    "cop_rf",
    make,
    report,
    sets=SETS,
    trials=CopRfStudy.n_trials,
    fields=("ari", "ari_at_k", "auc", "within"),
    quick="Two trials, 200 trees, two small sets",
)
