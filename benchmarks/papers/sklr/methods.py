"""The methods that the figures compare."""

from __future__ import annotations

from benchmarks.papers._relative.methods import Method
from benchmarks.papers.sklr.protocol import ALL, LABELLED
from clew.cluster import SimilarityClustering, SpectralClustering
from clew.similarity import E2CP, ITML, LSML, SKLR, SKMS

__all__ = [
    "COMPARATORS",
    "E2CP_PAIRS",
    "HARD",
    "KERNEL_KMEANS",
    "METHODS",
    "PUBLISHED",
    "SOFT",
    "VARIANTS",
    "paper_source",
]

#: To the optimum on 256 features it would take minutes, and the groups are no better there.
LSML_STEPS = 100
KERNEL_KMEANS = Method("kernel_kmeans", "kernel k-means", "nothing", SKLR)
SOFT = Method("sklr", "SKLR", "odd_one_out", SKLR)
HARD = Method("sklr_hard", "SKLR hard", "odd_one_out", lambda: SKLR(slack="none"))
PUBLISHED = Method(
    "sklr_paper", "SKLR as published", "odd_one_out", lambda: SKLR(algorithm="paper", slack="none")
)
VARIANTS = (SOFT, HARD, PUBLISHED)
#: The methods that the paper sets beside its own.
COMPARATORS = (
    Method("skkm", "SKkm", "pairs", SKMS),
    Method("itml", "ITML", "pairs", ITML),
    Method("lsml", "LSML", "odd_one_out", lambda: LSML(max_iter=LSML_STEPS)),
)
E2CP_PAIRS = Method(
    "e2cp",
    "E2CP",
    "pairs",
    groups=lambda k: SimilarityClustering(E2CP(), SpectralClustering(k)),
)
METHODS = (KERNEL_KMEANS, *VARIANTS, *COMPARATORS, E2CP_PAIRS)


def paper_source(method: Method) -> str:
    """Say where the paper draws from what a method hears: pairs from few rows, others from all."""
    return LABELLED if method.hears == "pairs" else ALL
