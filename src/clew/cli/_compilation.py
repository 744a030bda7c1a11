"""Compiles all kernels, so that no later run has to.

A new kernel needs a line in `PARTS`: a small fit that calls it. tests/house fails without it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from heapq import heappop, heappush
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import pdist, squareform
from sklearn.cluster import KMeans

from clew._estimators import Clusterer
from clew.answers import DIFFERENT
from clew.cli._models import build_model
from clew.cluster import (
    CLARANS,
    HACC,
    CorrelationClustering,
    FastPAM,
    GuidedClustering,
    PCKMeans,
    Subclustering,
    consensus_probabilities,
)
from clew.constraints import Constraints
from clew.graphs import local_scale_graph
from clew.oracles import SimulatedOracle
from clew.questions import ExpectedChange, Guided, Margin, Strategy
from clew.similarity import (
    E2CP,
    ClustRF,
    DistLQP,
    DominantNeighbors,
    OrdinalEmbedding,
    ShortestPaths,
)
from clew.similarity.graphs import Propagation
from clew.trust import constraint_inconsistency

N_ROWS, N_GROUPS, N_ASKED = 150, 3, 5
#: Seconds until a process has imported what it needs.
START = 2.0


class Problem(NamedTuple):
    """A few rows, and answers about them."""

    X: NDArray[np.float64]
    y: NDArray[np.int64]
    right: Constraints
    """Pairs, all of them right."""
    apart: Constraints
    """Cannot-links, all of them right, many for each row."""
    pairs: Constraints
    """Pairs, some of them wrong."""
    mixed: Constraints
    """Answers of all kinds."""

    @classmethod
    def small(cls) -> Problem:
        """Draw the problem that is used to compile."""
        y = np.arange(N_ROWS) % N_GROUPS
        X = np.random.RandomState(0).normal(size=(N_ROWS, 4)) + 4 * y[:, None]
        pairs = Constraints.from_labels(y, N_ROWS, error=0.1, random_state=0)
        triples = Constraints.from_labels(y, n_triplets=20, n_odd_one_out=20, random_state=0)
        right = Constraints.from_labels(y, N_ROWS, random_state=0)
        many = Constraints.from_labels(y, 4 * N_ROWS, random_state=0)
        apart = many.select(pairs=many.pair_answers == DIFFERENT)
        return cls(X, y, right, apart, pairs, pairs + triples)


def _method(name: str, answers: str = "pairs") -> Callable[[Problem], object]:
    """Return a fit by a method of ``clew group``, to some answers of the problem."""

    def fit(problem: Problem) -> object:
        model = build_model(name, N_GROUPS, n_trees=20)
        if isinstance(model, Clusterer):
            return model.fit(problem.X)
        return model.fit(problem.X, constraints=getattr(problem, answers, None))

    return fit


class Part(NamedTuple):
    """Small fits that share kernels, and run in one process."""

    seconds: float
    """Time to compile them, measured on one core without kept kernels."""
    fits: tuple[Callable[[Problem], object], ...]


#: What `clew demo` calls.
DEMO: tuple[Part, ...] = (Part(15.0, (_method("guided", "nothing"), _method("guided"))),)
#: Small fits that together call every kernel; the parts that take longest come first.
PARTS: tuple[Part, ...] = (
    Part(
        18.0,
        (
            lambda p: _asked(Guided(random_state=0), p),
            lambda p: _asked(Guided(random_state=0), p._replace(X=np.zeros_like(p.X))),
        ),
    ),
    Part(17.2, (lambda p: _asked(ExpectedChange(N_GROUPS, random_state=0), p),)),
    Part(
        12.3,
        (
            _method("clustrf", "none"),
            _method("coprf"),
            lambda p: ClustRF(20, random_state=0).fit(p.X).kneighbors_graph(20),
            lambda p: ClustRF(20, random_state=0).fit(p.X).apply(p.X),
            lambda p: constraint_inconsistency(p.X, p.pairs, n_trees=20),
        ),
    ),
    Part(
        8.6,
        (
            lambda p: Subclustering(N_GROUPS, size=5, random_state=0).fit(p.X),
            lambda p: Subclustering(N_GROUPS, size=5, swaps="best", random_state=0).fit(p.X),
            lambda p: FastPAM(N_GROUPS, random_state=0).fit(p.X),
            lambda p: FastPAM(N_GROUPS, swaps="best", random_state=0).fit(p.X),
            lambda p: CLARANS(N_GROUPS, random_state=0).fit(p.X),
        ),
    ),
    Part(
        8.4,
        (
            lambda p: OrdinalEmbedding(2, random_state=0).fit(constraints=p.mixed),
            lambda p: GuidedClustering(N_GROUPS, random_state=0).fit(
                constraints=p.mixed.select(pairs=[])
            ),
        ),
    ),
    Part(7.7, (lambda p: _asked(Margin(random_state=0), p),)),
    Part(7.7, (_method("dcrc", "mixed"),)),
    Part(
        6.8,
        (
            # The steps of guided clustering, without its forests.
            lambda p: _guided().fit(p.X, constraints=p.mixed),
            lambda p: _guided(scale="anchors", n_anchors=50).fit(p.X, constraints=p.mixed),
            lambda p: GuidedClustering(random_state=0).fit(p.X, constraints=p.pairs),
            lambda p: Propagation(local_scale_graph(p.X, 10)).fast_affinity(p.pairs),
        ),
    ),
    Part(5.5, (lambda p: CorrelationClustering(random_state=0).fit(p.X, constraints=p.apart),)),
    Part(
        5.4,
        (
            _method("copkmeans", "right"),
            _method("copkmeans", "apart"),
            _method("pckmeans"),
            _method("mpckmeans"),
            # Two rows that differ, in three groups, one of which becomes empty.
            lambda p: PCKMeans(N_GROUPS).fit(p.X[:2].repeat(N_ROWS // 2, 0), constraints=p.pairs),
        ),
    ),
    Part(5.2, (lambda p: DominantNeighbors().fit(p.X),)),
    Part(
        5.0,
        (
            _method("itml"),
            _method("sklr", "mixed"),
            lambda p: E2CP(form="sparse").fit(p.X, constraints=p.pairs),
        ),
    ),
    Part(
        3.7,
        (
            _method("linkage", "right"),
            lambda p: HACC(N_GROUPS, n_runs=2, random_state=0).fit(p.X, constraints=p.right),
            lambda p: consensus_probabilities(p.X, N_GROUPS, n_runs=2, method="kmedoids"),
        ),
    ),
    Part(
        2.3,
        (
            lambda p: DistLQP().fit(squareform(pdist(p.X)), constraints=p.pairs),
            lambda p: ShortestPaths().fit(squareform(pdist(p.X)), constraints=p.pairs),
        ),
    ),
)


def _guided(**parameters: Any) -> GuidedClustering:
    pool = [("k-means", KMeans(N_GROUPS))]
    return GuidedClustering(N_GROUPS, pool=pool, random_state=0, **parameters)


def _asked(strategy: Strategy, problem: Problem) -> NDArray[np.int64]:
    """Ask and answer questions, so that later questions are about groups of several rows."""
    strategy.start(problem.X)
    oracle = SimulatedOracle(problem.y, origin="asked", random_state=0)
    for _ in range(N_ASKED):
        strategy.tell(oracle.answer_all(strategy.ask(2)))
    return strategy.labels()


#: What can be compiled.
WHAT: dict[str, tuple[Part, ...]] = {"all": PARTS, "demo": DEMO}


def compile_kernels(what: str, advance: Callable[[int, int], None]) -> None:
    """Run the fits of all parts of `WHAT[what]`, several at once in separate processes."""
    parts = WHAT[what]
    ends = _ends(parts)
    with ProcessPoolExecutor(_n_workers(parts), mp_context=get_context("spawn")) as pool:
        tasks = [pool.submit(run_part, what, at) for at in range(len(parts))]
        for end, task in zip(ends, as_completed(tasks), strict=True):
            task.result()
            advance(round(end), round(ends[-1]))


def expected_seconds(what: str) -> float:
    """Return how long compilation takes on the cores of this machine, by the measured table."""
    return _ends(WHAT[what])[-1]


def _n_workers(parts: Sequence[Part]) -> int:
    return min(os.cpu_count() or 1, len(parts))


def _ends(parts: Sequence[Part]) -> list[float]:
    """Return when the first part ends, the second and so on, if they take what was measured."""
    free = [START] * _n_workers(parts)
    ends = []
    for part in parts:
        end = heappop(free) + part.seconds
        heappush(free, end)
        ends.append(end)
    return sorted(ends)


def run_part(what: str, at: int) -> None:
    """Run the fits of one part."""
    problem = Problem.small()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for fit in WHAT[what][at].fits:
            fit(problem)
