"""Methods that take constraints, and the similarities that they are compared with."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from benchmarks.kernels import _plain as plain
from benchmarks.kernels._measure import Case, Run, agreement, fit
from benchmarks.kernels._page import Page, Table
from benchmarks.kernels._problems import Problem
from clew import similarity
from clew.cluster import ConstrainedLinkage, COPKMeans, MPCKMeans, PCKMeans

DIGITS = Problem("digits", 1797, 64, 10, n_answers=200)
LARGE = Problem("mixture", 10_000, n_answers=2_000)


def _of(n_samples: int, n_answers: int) -> Problem:
    return replace(LARGE, n_samples=n_samples, n_answers=n_answers)


def nearest(problem: Problem) -> Callable[[], Any]:
    """Link each row to its most similar ones."""
    X = problem.X
    return lambda: similarity.AdaptiveKNN().fit(X).kneighbors_graph(20)


def without_clew(problem: Problem, *, function: Any, on: str = "graph") -> Callable[[], Any]:
    """Run a function that does not use clew; the input `on` is computed before it is timed."""
    assert getattr(problem, on) is not None
    return partial(function, problem)


def _without_clew(name: str, function: Any, repeats: int = 3, **options: Any) -> Run:
    return Run(name, without_clew, {"function": function, **options}, repeats)


def _packaged(method: str, *packages: str, repeats: int = 3) -> tuple[Run, ...]:
    return tuple(Run(p, f"{p} {method}", {}, repeats, package=p) for p in packages)


def _groups(label: str, problem: Problem, kind: Any, peers: Any = (), **more: Any) -> Case:
    repeats, goals = more.pop("repeats", 5), more.pop("goals", {})
    options = {"kind": kind, "n_clusters": problem.n_clusters} | more
    run = Run("clew", fit, options, repeats)
    measures_growth = kind is ConstrainedLinkage
    name = f"{kind.__name__}, {label}"
    return Case(name, problem, run, peers, False, measures_growth, agreement, goals)


def _k_means(kind: Any, n_init: int, peers: tuple[Run, ...], **more: Any) -> Case:
    label = f"{n_init} start{'s' if n_init > 1 else ''}"
    return _groups(label, DIGITS, kind, peers, n_init=n_init, random_state=0, **more)


def _linkage(problem: Problem, *peers: Run, **more: Any) -> Case:
    return _groups("average", problem, ConstrainedLinkage, peers, **more)


def _similarity(problem: Problem, kind: str, *peers: Run, on: str = "graph", **more: Any) -> Case:
    form = more.get("form") or ("graph" if on == "graph" else "dense")
    label = f"{kind}, {form}" + (", from features" if (kind, on) == ("E2CP", "X") else "")
    takes_answers = kind not in ("AdaptiveKNN", "ConsensusKNN", "DominantNeighbors")
    model = getattr(similarity, kind)
    options = {"kind": model, "take": "affinity_matrix_", "on": on, "takes_answers": takes_answers}
    given = {} if on == "X" else {"similarity": "precomputed"}
    return Case(label, problem, Run("clew", fit, options | given | more), peers)


def _e2cp(problem: Problem, form: str, *peers: Run, on: str = "graph", **goals: float) -> Case:
    case = _similarity(problem, "E2CP", *peers, on=on, form=form, **NEAR)
    return case._replace(measures_growth=True, goals=goals)


NEAR: dict[str, Any] = {"n_neighbors": 20}
SURE = "active-semi-supervised-clustering"
COP = _packaged("COPKMeans", SURE, "copkmeans-ht", "clumppy", "clustlib")
PCK, MPCK = _packaged("PCKMeans", SURE), _packaged("MPCKMeans", SURE, repeats=1)
LINKAGE = _packaged("ConstrainedLinkage", "constrained-linkage", repeats=1)
SCIPY = _without_clew("scipy linkage", plain.average_linkage, on="X")
INVERSE = _without_clew("numpy, dense inverse", plain.e2cp)
LIL = _without_clew("scipy, lil_array", plain.spectral_learning)
PRODUCT = _without_clew("scipy, one product", plain.consensus_knn)
REPLICATOR = _without_clew("numpy, replicator dynamics", plain.dominant_neighbors, 1)
DOMINANT = _packaged("DominantNeighbors", "dominant")
NUMPY = _without_clew("numpy", plain.linked_affinity)
NEIGHBORS = _without_clew("scikit-learn neighbors, numpy", plain.adaptive_graph, on="X")
DISTANCES = _without_clew("scikit-learn distances, numpy", plain.adaptive_affinity, on="X")
E2CP_GOALS: dict[str, Any] = {"ours.cpu_s": 5.0, "ours.growth_mib": 1024.0}
COLUMNS = {
    "method": "label", "data": "problem.data", "rows × features": "problem.size",
    "answers": "problem.n_answers", "clew s": "ours.cpu_s", "peer": "peer.name",
    "peer s": "peer.cpu_s", "ratio": "peer.ratio", "clew MiB": "ours.growth_mib",
    "peer MiB": "peer.growth_mib",
}  # fmt: skip
OF_GROUPS = {
    "clew ARI": "ours.ari", "peer ARI": "peer.ari", "clew violated": "ours.violated",
    "peer violated": "peer.violated", "clew groups": "ours.groups", "peer groups": "peer.groups",
}  # fmt: skip
GROUPS = Table(
    COLUMNS | OF_GROUPS,
    (
        _k_means(COPKMeans, 10, COP, goals={"ours.cpu_s": 0.2}),
        _k_means(COPKMeans, 1, COP),
        _k_means(PCKMeans, 4, PCK),
        _k_means(PCKMeans, 1, PCK),
        _k_means(MPCKMeans, 4, MPCK),
        _k_means(MPCKMeans, 1, MPCK),
        _linkage(DIGITS, *LINKAGE, goals={"ours.cpu_s": 0.3}),
        _linkage(replace(DIGITS, n_answers=0), SCIPY),
        _linkage(_of(5_000, 0), SCIPY),
        _linkage(_of(5_000, 5_000)),
        _linkage(_of(10_000, 0), SCIPY._replace(repeats=1), repeats=3),
        _linkage(_of(10_000, 10_000), repeats=3),
    ),
    is_long=True,
)
SIMILARITIES = Table(
    COLUMNS,
    (
        _e2cp(DIGITS, "dense", INVERSE),
        _e2cp(DIGITS, "sparse", INVERSE),
        _e2cp(_of(5_000, 1_000), "sparse", INVERSE._replace(repeats=1)),
        _e2cp(LARGE, "sparse", **E2CP_GOALS),
        _e2cp(LARGE, "sparse", on="X", **E2CP_GOALS),
        _similarity(DIGITS, "SpectralLearning", LIL, **NEAR),
        _similarity(LARGE, "SpectralLearning", LIL, **NEAR),
        _similarity(DIGITS, "LinkedAffinity", NUMPY, on="dense_graph"),
        _similarity(DIGITS, "AdaptiveKNN", DISTANCES, on="X"),
        Case("AdaptiveKNN, graph", LARGE, Run("clew", nearest), (NEIGHBORS,), measures_growth=True),
        _similarity(DIGITS, "DominantNeighbors", REPLICATOR, *DOMINANT, **NEAR),
        _similarity(LARGE, "DominantNeighbors", **NEAR),
        _similarity(DIGITS, "ConsensusKNN", PRODUCT, **NEAR),
        _similarity(LARGE, "ConsensusKNN", PRODUCT, **NEAR)._replace(measures_growth=True),
    ),
    is_long=True,
)
PAGE = Page("constrained", {"groups": GROUPS, "similarities": SIMILARITIES})
