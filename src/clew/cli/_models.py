"""The models that the commands fit, made in one place."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew._units import Units
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
from clew.similarity import COPRF, E2CP, ITML, SKLR, ClustRF

__all__ = ["build_model", "features_for"]

CLUSTERERS: dict[str, Any] = {
    "copkmeans": COPKMeans,
    "pckmeans": PCKMeans,
    "mpckmeans": MPCKMeans,
    "linkage": ConstrainedLinkage,
}
#: They learn a space in which k-means finds groups.
SPACES: dict[str, Any] = {"sklr": SKLR, "itml": ITML}
#: Methods for which a feature of larger numbers would count for more.
STANDARDISED = (*SPACES, "dcrc")


def features_for(method: str, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give the features that a method gets: standardised where it asks for that, or as they are.

    Parameters
    ----------
    method : str
        A name of ``clew cluster --method``.
    X : ndarray of shape (n_samples, n_features)
        What the file holds, of any unit.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        Standardised ones have mean 0 and variance 1; those that do not vary are 0.
    """
    if method not in STANDARDISED:
        return X
    return Units.of(X, standardize=True).applied(X)


def build_model(
    method: str,
    n_clusters: int | None,
    *,
    n_trees: int = 1000,
    mode: Any = "soft",
    trust: Any = "auto",
    seed: int = 0,
    jobs: int | None = None,
) -> Any:
    """Make an estimator that has `labels_` once it is fitted.

    Parameters
    ----------
    method : str
        A name of ``clew cluster --method``.
    n_clusters : int or None
        Number of groups. None: "guided" chooses it.
    n_trees, mode, trust
        See `clew.similarity.COPRF`; `trust` may be "none" too.
    seed : int
        Seed of everything.
    jobs : int or None
        Threads.

    Returns
    -------
    estimator
    """
    if method == "guided":
        return GuidedClustering(n_clusters, random_state=seed, n_jobs=jobs)
    assert n_clusters is not None  # the command has seen to that
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
