"""Clustering forests and the forests of scikit-learn; COP-RF; threads; affinities."""

import time
from collections.abc import Callable
from typing import Any

from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier

from benchmarks.kernels._measure import Case, Row, Run, fit
from benchmarks.kernels._page import Page, Table
from benchmarks.kernels._problems import Problem
from clew.similarity import COPRF, ClustRF


def grow_peer(problem: Problem, *, kind: Any, n_trees: int) -> Callable[[], Any]:
    """Fit a forest of scikit-learn to rows and pseudo rows that are already drawn."""
    X, y = problem.two_classes
    draws = {"max_features": "sqrt", "bootstrap": True, "max_samples": len(problem.X)}
    return lambda: kind(n_trees, **draws, n_jobs=1, random_state=0).fit(X, y)


def affinity(problem: Problem, *, n_trees: int, affinity: Any) -> Callable[[], Any]:
    """Compute the dense affinity of a forest that is already grown."""
    model = ClustRF(n_trees, proximity=affinity, n_jobs=1, random_state=0).fit(problem.X)

    def work() -> Any:
        model.__dict__.pop("affinity_matrix_", None)
        return model.affinity_matrix_

    return work


def nearest(problem: Problem, *, k: int, **options: Any) -> Callable[[], Row]:
    """Fit ClustRF and link each row to its most similar ones, without an N×N matrix."""

    def work() -> Row:
        start = time.perf_counter()
        model = ClustRF(**options, random_state=0).fit(problem.X)
        grown = time.perf_counter()
        n_links = model.kneighbors_graph(k).nnz
        return {"forest_s": grown - start, "graph_s": time.perf_counter() - grown, "links": n_links}

    return work


def stages(problem: Problem, found: Row, ours: Any) -> Row:
    """Return the seconds of each stage, as measured by the work itself."""
    return found


FOREST = {"kind": ClustRF, "take": "forest_", "takes_answers": False, "random_state": 0}
RF, ET = "peers.RandomForestClassifier", "peers.ExtraTreesClassifier"


def _forest(data: str, n: int, d: int, n_trees: int, share: float, **more: float) -> Case:
    """Make a case; at large sizes, peers grow a share of the trees, in one run."""
    repeats, few = 3 if share == 1 else 1, round(share * n_trees)
    peers = tuple(
        Run(kind.__name__, grow_peer, {"kind": kind, "n_trees": few}, repeats, scale=1 / share)
        for kind in (RandomForestClassifier, ExtraTreesClassifier)
    )
    goals = {f"{RF}.ratio": 8.0} | more
    ours = Run("clew", fit, FOREST | {"n_trees": n_trees})
    return Case("ClustRF", Problem(data, n, d, 10), ours, peers, measures_growth=True, goals=goals)


SIZE = {"problem": "problem.size", "data": "problem.data", "trees": "options.n_trees"}
FORESTS = Table(
    SIZE | {
        "trees of peers": f"{RF}.options.n_trees", "clew s": "ours.wall_s",
        "RandomForest s": f"{RF}.wall_s", "ExtraTrees s": f"{ET}.wall_s",
        "RF / clew": f"{RF}.ratio", "ET / clew": f"{ET}.ratio", "clew MiB": "ours.growth_mib",
        "RF MiB": f"{RF}.growth_mib", "ET MiB": f"{ET}.growth_mib",
    },
    (
        _forest("mixture", 600, 30, 1000, 1.0),
        _forest("segment_full", 2310, 19, 1000, 1.0),
        _forest("digits", 1797, 64, 1000, 1.0),
        _forest("mixture", 10_000, 50, 1000, 0.1),
        _forest("mixture", 50_000, 50, 200, 0.1, **{f"{ET}.ratio": 1.0}),
    ),
    clock="wall_s",
)  # fmt: skip


def _coprf(mode: str, trust: str | None, error: float, **more: str) -> Case:
    problem = Problem("mixture", 600, 30, 6, n_answers=539, error=error)
    options = {"mode": mode, "trust": trust, "n_trees": 1000, "random_state": 0} | more
    run = Run("clew", fit, {"kind": COPRF, "take": "forest_"} | options)
    paper, goals = Run("paper", 213.0), {"ours.wall_s": 0.6}
    return Case(f"COP-RF {mode}, trust {trust}", problem, run, (paper,), goals=goals)


COP_RF = Table(
    {
        "mode": "options.mode", "trust": "options.trust", "wrong answers": "problem.error",
        "trees": "options.n_trees", "seconds": "ours.wall_s",
        "paper's 213 s / ours": "peers.paper.ratio",
    },
    [
        _coprf(mode, trust, error)
        for error in (0.0, 0.15)
        for mode in ("soft", "hard")
        for trust in (None, "auto")
        if (mode, trust, error) != ("hard", None, 0.15)
    ]
    + [_coprf("hard", "inconsistency", error, proximity="leaf") for error in (0.0, 0.15)],
    clock="wall_s",
)  # fmt: skip


SMALL = (Problem("mixture", 600, 30, 10), Problem("digits", 1797, 64, 10))
TWO, ONE = (
    Run(name, fit, FOREST | {"n_trees": 1000, "n_jobs": n_jobs}, repeats=9)
    for name, n_jobs in (("clew", 2), ("one thread", 1))
)
THREADS = Table(
    SIZE | {
        "one thread s": "peers.one thread.wall_s", "two threads s": "ours.wall_s",
        "ratio": "peers.one thread.ratio",
    },
    [
        Case("ClustRF, two threads", of, TWO, (ONE,), goals={"peers.one thread.ratio": 1.9})
        for of in (*SMALL, Problem("mixture", 10_000, 50, 10))
    ],
    clock="wall_s",
)  # fmt: skip


LEAF, *OTHERS = (
    Run(kind, affinity, {"n_trees": 1000, "affinity": kind})
    for kind in ("leaf", "uniform", "adaptive")
)
AFFINITIES = Table(
    SIZE | {
        "leaf s": "ours.wall_s", "uniform s": "peers.uniform.wall_s",
        "adaptive s": "peers.adaptive.wall_s",
    },
    [Case("dense affinity", of, LEAF, tuple(OTHERS)) for of in SMALL],
    clock="wall_s",
)  # fmt: skip


def _nearest(max_samples: int | None, n_jobs: int, **goals: float) -> Case:
    options = {"n_trees": 100, "k": 20, "max_samples": max_samples, "n_jobs": n_jobs}
    run = Run("clew", nearest, options, repeats=1)
    problem = Problem("mixture", 100_000, 50)
    return Case(
        "ClustRF, sparse top-20", problem, run, in_fresh_process=True, judge=stages, goals=goals
    )


SPARSE = Table(
    {
        "rows": "problem.n_samples", "trees": "options.n_trees", "k": "options.k",
        "max_samples": "options.max_samples", "threads": "options.n_jobs",
        "forest s": "ours.forest_s", "graph s": "ours.graph_s", "both s": "ours.wall_s",
        "peak MiB": "ours.peak_mib",
    },
    # A forest grown on fewer rows has shallower trees; the other rows are passed down to leaves.
    [
        _nearest(None, 1, **{"ours.wall_s": 15.0, "ours.peak_mib": 2048.0}),
        _nearest(20_000, 1),
        _nearest(None, 2),
    ],
    quick=slice(1),
)  # fmt: skip
TABLES = {"coprf": COP_RF, "threads": THREADS, "affinities": AFFINITIES, "sparse": SPARSE}
PAGE = Page("forest", {"forests": FORESTS} | TABLES)
