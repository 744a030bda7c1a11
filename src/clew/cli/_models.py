"""The models that the commands fit, made in one place."""

from __future__ import annotations

from typing import Any

from clew.cluster import (
    DCRC,
    ConstrainedLinkage,
    COPKMeans,
    GuidedClustering,
    KernelKMeans,
    MPCKMeans,
    PCKMeans,
    SimilarityClustering,
    SpectralClustering,
)
from clew.similarity import COPRF, E2CP, ITML, SKLR, AdaptiveKNN, ClustRF

__all__ = ["build_model"]

CLUSTERERS: dict[str, Any] = {
    "copkmeans": COPKMeans,
    "pckmeans": PCKMeans,
    "mpckmeans": MPCKMeans,
    "linkage": ConstrainedLinkage,
}
#: Methods that learn a space, in which k-means finds groups.
SPACES: dict[str, Any] = {"sklr": SKLR, "itml": ITML}


def build_model(
    method: str,
    n_clusters: Any,
    *,
    n_trees: int = 1000,
    mode: Any = "soft",
    trust: Any = "auto",
    standardize: Any = "auto",
    seed: int = 0,
    jobs: int | None = None,
    is_distances: bool = False,
) -> Any:
    """Make an estimator that has `labels_` once it is fitted.

    Parameters
    ----------
    method : str
        A name of ``clew group --method``.
    n_clusters : int or None
        Number of groups; None lets "guided" choose it.
    n_trees, mode, trust
        See `clew.similarity.COPRF`; `trust` may be "none" too.
    standardize : bool or "auto", default="auto"
        Whether "guided" standardizes features; other methods use them as they are.
    seed : int
        Seed of all random choices.
    jobs : int or None
        Number of threads.
    is_distances : bool, default=False
        Whether the model is fitted to distances; "guided", "e2cp", "copkmeans", "linkage" or
        "spectral".

    Returns
    -------
    estimator
    """
    if is_distances:
        return _model_of_distances(method, n_clusters, seed, jobs)
    if method == "guided":
        return GuidedClustering(n_clusters, standardize=standardize, random_state=seed, n_jobs=jobs)
    if method == "spectral":
        return SpectralClustering(n_clusters, affinity="nearest_neighbors", random_state=seed)
    if method in CLUSTERERS:
        model = CLUSTERERS[method](n_clusters)
        return model.set_params(random_state=seed) if method != "linkage" else model
    if method == "dcrc":
        return DCRC(n_clusters, random_state=seed, n_jobs=jobs)
    if method in SPACES:
        return SimilarityClustering(SPACES[method](), KernelKMeans(n_clusters), random_state=seed)
    if method == "e2cp":
        return SimilarityClustering(
            E2CP(n_jobs=jobs), SpectralClustering(n_clusters), random_state=seed
        )
    if method == "clustrf":
        similarity: Any = ClustRF(n_trees, n_jobs=jobs)
    else:
        similarity = COPRF(
            n_trees,
            mode=mode,
            trust=None if trust == "none" else trust,
            n_jobs=jobs,
        )
    return SimilarityClustering(similarity, SpectralClustering(n_clusters), random_state=seed)


def _model_of_distances(method: str, n_clusters: Any, seed: int, jobs: int | None) -> Any:
    metric: Any = "precomputed"
    if method == "guided":
        return GuidedClustering(n_clusters, metric=metric, random_state=seed, n_jobs=jobs)
    if method == "linkage":
        return ConstrainedLinkage(n_clusters, metric=metric)
    if method == "copkmeans":
        return COPKMeans(n_clusters, metric=metric, random_state=seed)
    similarity: Any = AdaptiveKNN(metric=metric)
    if method == "e2cp":
        similarity = E2CP(similarity, n_jobs=jobs)
    return SimilarityClustering(similarity, SpectralClustering(n_clusters), random_state=seed)
