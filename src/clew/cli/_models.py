"""The models that the commands fit, made in one place."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.decomposition import TruncatedSVD
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags

from clew._estimators import Clusterer, ConstrainedClusterer, Estimator
from clew._units import WIDE_COLUMNS, Units
from clew.cli._rows import Rows, Standardize
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
from clew.questions import Guided
from clew.similarity import COPRF, E2CP, ITML, SKLR, AdaptiveKNN, ClustRF

#: What `build_model` makes.
Model = Clusterer | ConstrainedClusterer


def build_model(
    method: str,
    n_clusters: int | None,
    *,
    n_trees: int = 1000,
    mode: Any = "soft",
    trust: Any = "auto",
    seed: int = 0,
    jobs: int | None = None,
    is_distances: bool = False,
) -> Model:
    """Make an estimator that has `labels_` once it is fitted, by its name in ``--method``."""
    k: Any = n_clusters
    metric: Any = {"metric": "precomputed"} if is_distances else {}

    def clusters_of(similarity: Any, clusterer: Any = None) -> SimilarityClustering:
        clusterer = SpectralClustering(k) if clusterer is None else clusterer
        return SimilarityClustering(similarity, clusterer, random_state=seed)

    match method:
        case "guided":
            return GuidedClustering(k, **metric, random_state=seed, n_jobs=jobs)
        case "copkmeans":
            return COPKMeans(k, **metric, random_state=seed)
        case "linkage":
            return ConstrainedLinkage(k, **metric)
        case "pckmeans":
            return PCKMeans(k, random_state=seed)
        case "mpckmeans":
            return MPCKMeans(k, random_state=seed)
        case "dcrc":
            return DCRC(k, random_state=seed, n_jobs=jobs)
        case "sklr":
            return clusters_of(SKLR(), KernelKMeans(k))
        case "itml":
            return clusters_of(ITML(), KernelKMeans(k))
        case "e2cp":
            near = AdaptiveKNN(**metric) if is_distances else None
            return clusters_of(E2CP(near, n_jobs=jobs))
        case "spectral" if is_distances:
            return clusters_of(AdaptiveKNN(**metric))
        case "spectral":
            return SpectralClustering(k, affinity="nearest_neighbors", random_state=seed)
        case "clustrf":
            return clusters_of(ClustRF(n_trees, n_jobs=jobs))
    trust = None if trust == "none" else trust
    return clusters_of(COPRF(n_trees, mode=mode, trust=trust, n_jobs=jobs))


#: Components that wide sparse features are reduced to, for methods that need dense ones.
N_COMPONENTS = 100


class Features(NamedTuple):
    """What a method is fitted to."""

    X: Any
    """Features, (n_samples, n_features), dense or, where the method takes that, CSR."""
    standardize: Standardize
    """Value for the parameter `standardize` of the method, if it has one."""
    note: str
    """What was done, as a sentence."""


def features_for(
    model: Estimator,
    X: NDArray[np.float64] | csr_array,
    standardize: Standardize,
    *,
    is_scaled: bool,
) -> Features:
    """Scale features, and bring them to the form that a method takes."""
    if issparse(X):
        if X.shape[1] > WIDE_COLUMNS:
            return _from_wide(model, X, standardize)
        X = X.toarray()  # a table, whoever wrote it
    if is_scaled:
        return Features(X, False, "features are standardized")
    units = Units.standardized(X, standardize)
    is_standardized = standardize is True or bool(np.ptp(units.unit) > 0)
    how = " (units differ)" if standardize == "auto" else ""
    note = f"features are standardized{how}" if is_standardized else "features are used as given"
    if "standardize" in model.get_params(deep=False):
        return Features(X, standardize, note)
    return Features(units.scale(X) if is_standardized else X, False, note)


def session_data(items: Rows, standardize: Standardize) -> tuple[dict[str, Any], str]:
    """Return what a `Session` asks about, and what was done, as a sentence."""
    if items.is_distances:
        return {"distances": items.X}, ""
    if items.X.shape[1] == 0:
        return {"items": items.ids}, "there are no features"
    features = features_for(Guided(), items.X, standardize, is_scaled=items.is_scaled)
    return {"X": features.X, "standardize": features.standardize}, features.note


def _from_wide(model: Estimator, X: csr_array, standardize: Standardize) -> Features:
    """Scale without centering, which keeps zeros; reduce if the method needs dense features."""
    scaled = StandardScaler(with_mean=False).fit_transform(X) if standardize is True else X
    how = "divided by their standard deviations" if standardize is True else "used as given"
    if get_tags(model).input_tags.sparse:
        return Features(scaled, False, f"sparse features are {how}")
    svd = TruncatedSVD(N_COMPONENTS, random_state=0)
    share = f"{N_COMPONENTS} components of a truncated SVD"
    return Features(svd.fit_transform(scaled), False, f"features are {how}, reduced to {share}")
