"""The methods that the study compares: all that the house has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from sklearn.cluster import AgglomerativeClustering, KMeans

from benchmarks.papers._identity import parameters_of, tag_of
from clew.cluster import (
    DCRC,
    ConstrainedLinkage,
    COPKMeans,
    GuidedClustering,
    KernelKMeans,
    KernelMeanShift,
    MPCKMeans,
    PCKMeans,
    SimilarityClustering,
    SpectralClustering,
    SSSVaD,
)
from clew.similarity import (
    COPRF,
    E2CP,
    ITML,
    LSML,
    MMC,
    SKLR,
    SKMS,
    AdaptiveKNN,
    ConsensusKNN,
    DominantNeighbors,
    LinkedAffinity,
    SparseLP,
    SpectralLearning,
)

__all__ = ["COMPARATORS", "GUIDED", "HEARS_ALL", "HEARS_THREES", "METHODS", "N_TREES", "Method"]

N_TREES = 500


@dataclass(frozen=True)
class Method:
    """One row of the tables."""

    name: str
    label: str
    make: Callable[[int], Any]
    """Gives a clusterer for a number of groups."""
    hears: Literal["nothing", "pairs", "threes", "all"] = "pairs"
    """What it is told: nothing, all answers, all read as pairs, or what compares three rows."""
    sees: Literal["features", "forest"] = "features"
    """What it reads: features, or affinities of the forest that all cells of a trial share."""
    max_rows: int = 10_000
    """Of more rows it is left out."""
    max_answers: int = 1_000_000
    """Of more answers it is left out."""

    def is_run(self, n_rows: int, n_answers: int) -> bool:
        """Whether it is within its limits."""
        return n_rows <= self.max_rows and n_answers <= self.max_answers

    @property
    def version(self) -> str:
        """Hash the parameters: results under another version are another method's."""
        return tag_of(self.name, self.hears, self.sees, parameters_of(self.make(2)))


def _cut(similarity: Any) -> Callable[[int], Any]:
    return lambda k: SimilarityClustering(similarity, SpectralClustering(k))


def _means(similarity: Any) -> Callable[[int], Any]:
    return lambda k: SimilarityClustering(similarity, KMeans(k, n_init=10))


def _kernel_means(similarity: Any) -> Callable[[int], Any]:
    return lambda k: SimilarityClustering(similarity, KernelKMeans(k))


def _published(k: int) -> Any:
    forest = COPRF(N_TREES, mode="hard", trust="inconsistency")
    return SimilarityClustering(forest, SpectralClustering(k, n_neighbors="paper"))


GUIDED = Method(
    "guided", "GuidedClustering", lambda k: GuidedClustering(k, standardize=False), "all"
)
METHODS = (
    GUIDED,
    Method("e2cp", "E2CP", _cut(E2CP())),
    Method("coprf", "soft COP-RF", _cut(COPRF(N_TREES))),
    Method("coprf_hard", "hard COP-RF", _published),
    Method("rf_e2cp", "RF+E2CP", _cut(E2CP("precomputed")), sees="forest"),
    Method("coprf_e2cp", "COP-RF+E2CP", _cut(E2CP(COPRF(N_TREES)))),
    Method("itml", "ITML", _means(ITML())),
    Method("constrained_linkage", "constrained linkage", ConstrainedLinkage),
    Method("mmc", "MMC diagonal", _means(MMC(diagonal=True))),
    Method("mmc_full", "MMC", _means(MMC())),
    Method("skms", "SKMS", _kernel_means(SKMS()), max_rows=1000),
    Method(
        "skms_shift",
        "SKMS, mean shift",
        lambda k: SimilarityClustering(SKMS(), KernelMeanShift()),
        max_rows=1000,
    ),
    Method(
        "sklr",
        "SKLR",
        _kernel_means(SKLR()),
        "all",
        max_rows=1000,
    ),
    Method("dcrc", "DCRC", DCRC, "all", max_rows=1000, max_answers=1000),
    Method("linked", "LinkedAffinity", _cut(LinkedAffinity())),
    Method("spectral_learning", "SpectralLearning", _cut(SpectralLearning())),
    Method("pckmeans", "PCKMeans", PCKMeans),
    Method("mpckmeans", "MPCKMeans", MPCKMeans),
    Method("cop_kmeans", "COPKMeans", COPKMeans),
    Method("ward", "Ward", AgglomerativeClustering, "nothing"),
    Method("kmeans", "k-means", lambda k: KMeans(k, n_init=10), "nothing"),
    Method("spectral", "Euclidean spectral", _cut(AdaptiveKNN()), "nothing"),
    Method("clustrf", "ClustRF", SpectralClustering, "nothing", "forest"),
    Method("consensus_knn", "ConsensusKNN", _cut(ConsensusKNN()), "nothing"),
    Method("dominant_neighbors", "DominantNeighbors", _cut(DominantNeighbors()), "nothing"),
)


def _named(*names: str) -> tuple[Method, ...]:
    return tuple(method for method in METHODS if method.name in names)


#: Those that guided clustering is held against, set by set.
COMPARATORS = _named(
    "e2cp", "coprf", "coprf_hard", "rf_e2cp", "itml", "constrained_linkage", "ward", "spectral"
)
#: Those that take answers of all kinds as they are, and those that take no pairs.
HEARS_ALL = _named("sklr", "dcrc")
HEARS_THREES = (
    Method("lsml", "LSML", _means(LSML()), "threes"),
    Method("sparse_lp", "SparseLP", _means(SparseLP()), "threes"),
    Method("sssvad", "SSSVaD", SSSVaD, "threes"),
)
