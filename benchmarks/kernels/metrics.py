"""Learned metrics of clew and of the package metric-learn."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from benchmarks.kernels._measure import Case, Row, Run, fit
from benchmarks.kernels._page import Page, Table
from benchmarks.kernels._problems import Problem
from benchmarks.study.problems import Floats
from clew.similarity import ITML, LSML, MMC

#: clew's objective counts as equally low if it exceeds that of the package by at most this share.
SLACK = 1e-5
#: A negligible ridge, as the package has none.
NO_RIDGE = 1e-9


def _squared(problem: Problem, metric: Floats, rows: Any) -> Floats:
    apart = problem.X[rows[:, 0]] - problem.X[rows[:, 1]]
    return np.asarray(np.einsum("ij,ij->i", apart @ metric, apart))


def _divergence(metric: Floats) -> float:
    sign, log_det = np.linalg.slogdet(metric)
    return float(np.trace(metric) - log_det - len(metric)) if sign > 0 else float("inf")


def _itml(metric: Floats, problem: Problem) -> float:
    """Add the divergence of the metric and those of the violated bounds (gamma=1)."""
    upper, lower = problem.bounds
    must = np.maximum(_squared(problem, metric, problem.answers.must_link) / upper, 1.0)
    cannot = np.minimum(_squared(problem, metric, problem.answers.cannot_link) / lower, 1.0)
    moved = np.concatenate([must, cannot])
    return _divergence(metric) + float((moved - np.log(moved) - 1.0).sum())


def _lsml(metric: Floats, problem: Problem) -> float:
    """Add the divergence of the metric and the mean squared residual."""
    near, far = (np.sqrt(_squared(problem, metric, rows)) for rows in problem.comparisons)
    return _divergence(metric) + float((np.maximum(near - far, 0.0) ** 2).mean())


def _mmc(metric: Floats, problem: Problem) -> float:
    """Divide the root mean square distance of must-links by the mean distance of cannot-links."""
    must = _squared(problem, metric, problem.answers.must_link)
    cannot = _squared(problem, metric, problem.answers.cannot_link)
    return float(np.sqrt(must.mean()) / np.sqrt(np.maximum(cannot, 0.0)).mean())


def _has_minimum(name: str, problem: Problem) -> bool:
    """Return whether must-linked rows differ in all directions; if not, MMC needs a ridge."""
    if not name.startswith("MMC"):
        return True
    rows = problem.answers.must_link
    apart = problem.X[rows[:, 0]] - problem.X[rows[:, 1]]
    if name == "MMC diagonal":
        return bool(apart.any(axis=0).all())
    return bool(np.linalg.matrix_rank(apart) == apart.shape[1])


class Method(NamedTuple):
    """The objective, clew's options, and the options that make the package converge."""

    value: Callable[[Floats, Problem], float]
    options: Row
    to_end: Row


METHODS = {
    "ITML": Method(
        _itml, {"kind": ITML, "tol": 1e-6, "max_iter": 20_000, "random_state": 0},
        {"tol": 1e-9, "max_iter": 20_000},
    ),
    "LSML": Method(_lsml, {"kind": LSML, "penalty": 1.0}, {"tol": 1e-9, "max_iter": 3_000}),
    "MMC full": Method(_mmc, {"kind": MMC, "ridge": NO_RIDGE}, {"tol": 1e-9, "max_iter": 500}),
    "MMC diagonal": Method(
        _mmc, {"kind": MMC, "diagonal": True, "ridge": NO_RIDGE}, {"tol": 1e-12, "max_iter": 300}
    ),
}  # fmt: skip


def learn(problem: Problem, *, kind: Any, **options: Any) -> Callable[[], Any]:
    """Fit clew's method; ITML gets the same bounds as the package."""
    options |= {"bounds": problem.bounds} if kind is ITML else {}
    return fit(problem, kind=kind, take="metric_", **options)


def judged(name: str, problem: Problem, metric: Floats, ours: Floats | None) -> Row:
    """Evaluate the objective of the paper, and compare the package's metric with clew's."""
    value = METHODS[name].value
    row: Row = {"objective": value(metric, problem)}
    if ours is None:
        return row
    if _has_minimum(name, problem):
        theirs, least = row["objective"], value(ours, problem)
        row["gain"] = (theirs - least) / (max(theirs, least) or 1.0)
    if name.startswith("MMC"):
        ours, metric = ours / np.trace(ours), metric / np.trace(metric)
    return row | {"difference": float(np.abs(ours - metric).max() / np.abs(ours).max())}


def _case(name: str, data: str, size: tuple[int, int, int], n_answers: int, error: float) -> Case:
    method = METHODS[name]
    kind = "triplets" if name == "LSML" else "pairs"
    problem = Problem(data, *size, kind, n_answers, error, is_scaled=True, drops_constant=True)
    peers = tuple(
        Run(label, f"metric-learn {name}", options, 1 if options else 3, package="metric-learn")
        for label, options in (("defaults", {}), ("to the end", method.to_end))
    )
    ours = Run("clew", learn, method.options)
    goals = {f"peers.{peer.name}.gain": -SLACK for peer in peers}
    return Case(name, problem, ours, peers, judge=partial(judged, name), goals=goals)


PROBLEMS = (
    ("iris", (150, 4, 3), 200, 0.0),
    ("wine", (178, 13, 3), 200, 0.0),
    ("wine", (178, 13, 3), 200, 0.1),
    ("digits", (1797, 64, 10), 2000, 0.0),
    ("mixture", (2000, 30, 5), 1000, 0.0),
)
TABLE = Table(
    {
        "method": "label", "data": "problem.data", "answers": "problem.answers",
        "peer": "peer.name", "clew objective": "ours.objective",
        "peer objective": "peer.objective", "lower by": "peer.gain",
        "difference": "peer.difference", "clew s": "ours.cpu_s", "peer s": "peer.cpu_s",
        "ratio": "peer.ratio",
    },
    tuple(_case(name, *problem) for problem in PROBLEMS for name in METHODS),
    is_long=True,
    quick=slice(8),
)  # fmt: skip
PAGE = Page("metrics", {"fits": TABLE})
