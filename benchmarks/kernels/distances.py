"""Learned distances: time and memory, and a general solver of the same program."""

from collections.abc import Callable
from functools import cache
from typing import Any

import clarabel
import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances

from benchmarks.kernels._measure import Case, Row, Run
from benchmarks.kernels._page import Page, Table
from benchmarks.kernels._problems import Problem
from benchmarks.study.problems import Floats
from clew.similarity import DistLQP, ShortestPaths
from clew.similarity.distances._base import given_distances, links_of
from clew.similarity.distances.dist_lqp import Problem as Program, build

#: Goals at the sizes of the thesis: CPU seconds, and MiB of the whole process.
GOALS = {1_000: {"ours.cpu_s": 2.5}, 10_000: {"ours.cpu_s": 60.0, "ours.peak_mib": 4096.0}}
#: Small programs are solved by Clarabel too: rows and answers.
SMALL = ((100, 200), (200, 400))


@cache
def _distances(problem: Problem) -> Floats:
    found: Floats = pairwise_distances(problem.X, metric="manhattan")
    return found


def learn(problem: Problem, *, kind: Any, **options: Any) -> Callable[[], Any]:
    """Return a fit to be timed; distances are computed before."""
    D, model, known = _distances(problem), kind(**options), problem.answers
    return lambda: model.fit(D, constraints=known)


def solve_by_clarabel(problem: Problem, **options: Any) -> Callable[[], Any]:
    """Return a call of Clarabel to be timed; DistLQP's program is set up before."""
    D = given_distances(_distances(problem))
    program, _ = build(D, links_of(problem.answers), DistLQP(**options)._settings(D.n_samples))
    solver = clarabel.DefaultSolver(*_matrices(program), _quiet())
    constant = float(program.weight @ program.target**2)
    return lambda: float(solver.solve().obj_val) + constant


def _quiet() -> Any:
    options = clarabel.DefaultSettings()
    options.verbose = False
    return options


def _matrices(program: Program) -> tuple[Any, ...]:
    """Lay out a program as Clarabel takes it: distances, slacks of upper and of lower bounds."""
    n, m, T = len(program.target), len(program.bounds.over), len(program.sides)
    blocks: list[Any] = []
    for longest in range(3):
        sign = np.full(3, -1.0)
        sign[longest] = 1.0
        at = np.repeat(np.arange(T), 3), program.sides.ravel()
        blocks.append(sp.coo_array((np.tile(sign, T), at), (T, n + 2 * m)))
    eye, rest, none = sp.eye_array(m), sp.coo_array((m, n - m)), sp.coo_array((m, m))
    blocks += [sp.hstack([eye, rest, -eye, none]), sp.hstack([-eye, rest, none, -eye])]
    blocks.append(-sp.eye_array(n + 2 * m))
    upper, lower = program.bounds.upper, program.bounds.lower
    h = np.concatenate(
        [np.zeros(3 * T), np.full(m, upper), np.full(m, -lower), np.zeros(n + 2 * m)]
    )
    P = sp.diags_array(np.concatenate([2 * program.weight, np.zeros(2 * m)]))
    q = np.concatenate(
        [-2 * program.weight * program.target, program.bounds.over, program.bounds.under]
    )
    cones = [clarabel.NonnegativeConeT(len(h))]
    return sp.csc_matrix(P), q, sp.csc_matrix(sp.vstack(blocks)), h, cones


def judged(problem: Problem, found: Any, ours: Any) -> Row:
    """Read the objective; for a peer, also the share by which clew's objective is lower."""
    if isinstance(found, float):
        return {"objective": found, "gain": (found - ours.objective_) / found}
    if isinstance(found, ShortestPaths):
        return {"changed": found.n_changed_}
    return {"objective": found.objective_, "gap": f"{found.gap_ / found.objective_:.1e}",
            "changed": found.n_changed_}  # fmt: skip


def _problem(n_samples: int, n_answers: int) -> Problem:
    return Problem("mixture", n_samples, 30, 5, n_answers=n_answers, is_scaled=True)


def _whole(n_samples: int, n_answers: int, kind: Any, label: str, **options: Any) -> Case:
    run = Run("clew", learn, {"kind": kind, **options}, 1 if n_samples > 1_000 else 3)
    goals = GOALS[n_samples] if kind is DistLQP else {}
    problem = _problem(n_samples, n_answers)
    return Case(label, problem, run, in_fresh_process=True, judge=judged, goals=goals)


def _small(n_samples: int, n_answers: int, label: str, **options: Any) -> Case:
    peer = Run("Clarabel", solve_by_clarabel, options, 1)
    ours = Run("clew", learn, {"kind": DistLQP, **options})
    goals = {"peers.Clarabel.gain": -1e-3}
    return Case(label, _problem(n_samples, n_answers), ours, (peer,), judge=judged, goals=goals)


FITS = Table(
    {
        "method": "label", "rows": "problem.n_samples", "answers": "problem.n_answers",
        "changed distances": "ours.changed", "relative gap": "ours.gap", "CPU s": "ours.cpu_s",
        "peak MiB": "ours.peak_mib",
    },
    (
        _whole(1_000, 5_000, DistLQP, "DistLQP"),
        _whole(1_000, 5_000, DistLQP, "DistLQP, thesis", changes="absolute", alpha=2.0),
        _whole(1_000, 5_000, ShortestPaths, "ShortestPaths"),
        _whole(10_000, 25_000, DistLQP, "DistLQP"),
    ),
    quick=slice(1),
)  # fmt: skip
SETTINGS: dict[str, dict[str, Any]] = {
    "DistLQP": {},
    "DistLQP, thesis": {"changes": "absolute", "alpha": 2.0},
}
SOLVERS = Table(
    {
        "method": "label", "rows": "problem.n_samples", "answers": "problem.n_answers",
        "peer": "peer.name", "clew objective": "ours.objective", "peer objective":
        "peer.objective", "lower by": "peer.gain", "clew s": "ours.cpu_s", "peer s": "peer.cpu_s",
        "ratio": "peer.ratio",
    },
    tuple(
        _small(*size, label, **options)
        for size in SMALL
        for label, options in SETTINGS.items()
    ),
    is_long=True,
    quick=slice(1),
)  # fmt: skip
PAGE = Page("distances", {"fits": FITS, "solvers": SOLVERS})
