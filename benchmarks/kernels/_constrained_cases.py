"""Which method is timed on which problem, and beside whom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.kernels._constrained_problems import DIGITS, Inputs, Problem
from clew.cluster import ConstrainedLinkage, COPKMeans, MPCKMeans, PCKMeans
from clew.similarity import (
    E2CP,
    AdaptiveKNN,
    ConsensusKNN,
    DominantNeighbors,
    LinkedAffinity,
    SpectralLearning,
)

__all__ = ["CASES", "CLEW", "Case"]

SURE = "active-semi-supervised-clustering"
#: Rows to which the quick form cuts every problem.
QUICK_ROWS, QUICK_ANSWERS = 300, 40


@dataclass(frozen=True)
class Case:
    """A method, how it is set, its problem and its peers."""

    method: str
    variant: str
    problem: Problem
    plain: str | None = None
    """Name of a peer in `_constrained_plain`."""
    peers: tuple[str, ...] = ()
    """Names of peers with environments of their own."""
    is_weighed: bool = False
    """Whether its memory is measured, in a fresh process."""
    repeats: int = 5
    plain_repeats: int = 3

    @property
    def name(self) -> str:
        """Method and variant."""
        return f"{self.method}, {self.variant}"

    def quick(self) -> Case:
        """Give a case that takes little time."""
        small = replace(
            self.problem,
            n_samples=min(self.problem.n_samples, QUICK_ROWS),
            n_answers=min(self.problem.n_answers, QUICK_ANSWERS),
        )
        return replace(self, problem=small, repeats=1, plain_repeats=1, is_weighed=False)


def _linkage(inputs: Inputs) -> Any:
    return ConstrainedLinkage(inputs.n_clusters).fit(inputs.X, constraints=inputs.answers).labels_


def _graph(model: Any) -> Callable[[Inputs], Any]:
    """Fit a similarity on the given graph."""

    def fit(inputs: Inputs) -> Any:
        return model.fit(inputs.graph, constraints=inputs.answers).affinity_matrix_

    return fit


def _selected(kind: Any) -> Callable[[Inputs], Any]:
    """Thin the given graph; answers have no part in it."""

    def fit(inputs: Inputs) -> Any:
        return kind("precomputed", n_neighbors=20).fit(inputs.graph).affinity_matrix_

    return fit


def _cop_kmeans(n_init: int) -> Callable[[Inputs], Any]:
    def fit(inputs: Inputs) -> Any:
        model = COPKMeans(inputs.n_clusters, n_init=n_init, random_state=0)
        return model.fit(inputs.X, constraints=inputs.answers).labels_

    return fit


def _soft_kmeans(kind: Any, **parameters: Any) -> Callable[[Inputs], Any]:
    def fit(inputs: Inputs) -> Any:
        model = kind(inputs.n_clusters, random_state=0, **parameters)
        return model.fit(inputs.X, constraints=inputs.answers).labels_

    return fit


CLEW: dict[str, Callable[[Inputs], Any]] = {
    "COPKMeans, 10 starts": _cop_kmeans(10),
    "COPKMeans, 1 start": _cop_kmeans(1),
    "PCKMeans, 4 starts": _soft_kmeans(PCKMeans, n_init=4),
    "PCKMeans, 1 start": _soft_kmeans(PCKMeans, n_init=1),
    "MPCKMeans, 4 starts": _soft_kmeans(MPCKMeans, n_init=4),
    "MPCKMeans, 1 start": _soft_kmeans(MPCKMeans, n_init=1),
    "ConstrainedLinkage, average": _linkage,
    "E2CP, dense": _graph(E2CP("precomputed", n_neighbors=20, form="dense")),
    "E2CP, sparse": _graph(E2CP("precomputed", n_neighbors=20, form="sparse")),
    "E2CP, sparse, from features": lambda inputs: (
        E2CP(n_neighbors=20, form="sparse")
        .fit(inputs.X, constraints=inputs.answers)
        .affinity_matrix_
    ),
    "SpectralLearning, graph": _graph(SpectralLearning("precomputed", n_neighbors=20)),
    "LinkedAffinity, dense": lambda inputs: (
        LinkedAffinity("precomputed")
        .fit(inputs.graph.toarray(), constraints=inputs.answers)
        .affinity_matrix_
    ),
    "AdaptiveKNN, dense": lambda inputs: AdaptiveKNN().fit(inputs.X).affinity_matrix_,
    "AdaptiveKNN, graph": lambda inputs: AdaptiveKNN().fit(inputs.X).kneighbors_graph(20),
    "DominantNeighbors, graph": _selected(DominantNeighbors),
    "ConsensusKNN, graph": _selected(ConsensusKNN),
}

LARGE = Problem(10_000, 2_000)
LINKAGE = {"method": "ConstrainedLinkage", "variant": "average"}
INVERSE, REPLICATOR = "numpy, dense inverse", "numpy, replicator dynamics"
CASES = (
    Case(
        "COPKMeans",
        "10 starts",
        DIGITS,
        peers=(SURE, "copkmeans-ht", "clumppy", "clustlib"),
    ),
    Case("COPKMeans", "1 start", DIGITS, peers=(SURE, "copkmeans-ht", "clumppy", "clustlib")),
    Case("PCKMeans", "4 starts", DIGITS, peers=(SURE,)),
    Case("PCKMeans", "1 start", DIGITS, peers=(SURE,)),
    Case("MPCKMeans", "4 starts", DIGITS, peers=(SURE,)),
    Case("MPCKMeans", "1 start", DIGITS, peers=(SURE,)),
    Case(**LINKAGE, problem=DIGITS, peers=("constrained-linkage",), is_weighed=True),
    Case(**LINKAGE, problem=replace(DIGITS, n_answers=0), plain="scipy linkage", is_weighed=True),
    Case(**LINKAGE, problem=Problem(5_000, 0), plain="scipy linkage", is_weighed=True),
    Case(**LINKAGE, problem=Problem(5_000, 5_000), is_weighed=True),
    Case(
        **LINKAGE,
        problem=Problem(10_000, 0),
        plain="scipy linkage",
        is_weighed=True,
        repeats=3,
        plain_repeats=1,
    ),
    Case(**LINKAGE, problem=Problem(10_000, 10_000), is_weighed=True, repeats=3),
    Case("E2CP", "dense", DIGITS, plain=INVERSE, is_weighed=True, repeats=3),
    Case("E2CP", "sparse", DIGITS, plain=INVERSE, is_weighed=True, repeats=3),
    Case(
        "E2CP", "sparse", Problem(5_000, 1_000), plain=INVERSE, is_weighed=True, repeats=3,
        plain_repeats=1,
    ),
    Case("E2CP", "sparse", LARGE, is_weighed=True, repeats=3),
    Case("E2CP", "sparse, from features", LARGE, is_weighed=True, repeats=3),
    Case("SpectralLearning", "graph", DIGITS, plain="scipy, lil_array"),
    Case("SpectralLearning", "graph", LARGE, plain="scipy, lil_array"),
    Case("LinkedAffinity", "dense", DIGITS, plain="numpy"),
    Case("AdaptiveKNN", "dense", DIGITS, plain="scikit-learn distances, numpy"),
    Case(
        "AdaptiveKNN", "graph", LARGE, plain="scikit-learn neighbours, numpy", is_weighed=True,
        repeats=3,
    ),
    Case(
        "DominantNeighbors", "graph", DIGITS, plain=REPLICATOR, peers=("dominant",),
        plain_repeats=1,
    ),
    Case("DominantNeighbors", "graph", LARGE),
    Case("ConsensusKNN", "graph", DIGITS, plain="scipy, one product"),
    Case("ConsensusKNN", "graph", LARGE, plain="scipy, one product", is_weighed=True),
)  # fmt: skip
