"""Whole fits of clusterers, each in a fresh process, with their scores."""

from typing import Any

from benchmarks.kernels._measure import Case, Row, Run
from benchmarks.kernels._problems import Problem
from clew.metrics import adjusted_rand_score, n_violated

COLUMNS = {
    "method": "label", "rows × features": "problem.size", "groups": "ours.groups",
    "answers": "problem.answers", "CPU s": "ours.cpu_s", "wall s": "ours.wall_s",
    "peak MiB": "ours.peak_mib", "ARI": "ours.ari",
}  # fmt: skip


def agreement(problem: Problem, labels: Any, ours: Any) -> Row:
    """Score groups against the classes and the answers."""
    return {
        "ari": float(adjusted_rand_score(problem.rows[1], labels)),
        "violated": n_violated(labels, problem.answers),
        "groups": len(set(labels.tolist())),
    }


def whole_fit(label: str, task: Any, problem: Problem, options: Any, *bounds: float) -> Case:
    """Make a case; `bounds` are upper limits of CPU seconds and of MiB of memory."""
    goals = dict(zip(("ours.cpu_s", "ours.peak_mib"), bounds, strict=False))
    run = Run("clew", task, options)
    return Case(label, problem, run, in_fresh_process=True, judge=agreement, goals=goals)
