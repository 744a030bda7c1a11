"""Places of the items on a map, near to each other if they are alike or in one group."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors

Floats = NDArray[np.float64]
#: Items that t-SNE places; the others are placed among their neighbors.
N_ANCHORS = 1500
#: Dimensions in which neighbors are looked for.
N_DIMENSIONS = 50
#: Anchors among which an item is placed.
N_NEIGHBORS = 5
#: Share of the distance between two items of one group, about which the model is sure.
WITHIN = 0.5


def places(X: Any, labels: NDArray[np.int64], confidence: Floats, seed: int = 0) -> Floats:
    """Return two coordinates of each item, (n, 2), of features X, (n, n_features).

    Distances are those of the leading principal components, halved within groups of which the
    model is sure. t-SNE places up to 1,500 items; each other item lies at the mean of its nearest.
    """
    n = len(labels)
    random = np.random.RandomState(seed)
    reduced = _reduced(X, random)
    anchors = np.sort(random.permutation(n)[:N_ANCHORS])
    if len(anchors) < 4:
        return np.column_stack([np.arange(n, dtype=float), np.zeros(n)])
    squares = (reduced[anchors] ** 2).sum(axis=1)
    gram = reduced[anchors] @ reduced[anchors].T
    distances = np.sqrt(np.maximum(squares[:, None] + squares - 2 * gram, 0))
    np.fill_diagonal(distances, 0)
    own, sure = labels[anchors], confidence[anchors]
    is_same = (own[:, None] == own) & (own >= 0)[:, None]
    distances *= np.where(is_same, 1 - WITHIN * np.minimum(sure[:, None], sure), 1)
    start = PCA(2, random_state=seed).fit_transform(reduced[anchors])
    start *= 1e-4 / max(float(start[:, 0].std()), 1e-12)
    model = TSNE(
        perplexity=min(30.0, (len(anchors) - 1) / 3), metric="precomputed", init=start,
        random_state=seed, max_iter=500, n_jobs=1,
    )  # fmt: skip
    found: Floats = np.asarray(model.fit_transform(distances), np.float64)
    placed = np.empty((n, 2))
    placed[anchors] = found
    others = np.setdiff1d(np.arange(n), anchors)
    if len(others):
        near = NearestNeighbors(n_neighbors=N_NEIGHBORS).fit(reduced[anchors])
        _, at = near.kneighbors(reduced[others])
        placed[others] = np.median(found[at], axis=1)
    return placed


def _reduced(X: Any, random: np.random.RandomState) -> Floats:
    """Return the leading principal components, (n, at most 50)."""
    n_components = min(N_DIMENSIONS, min(X.shape) - 1)
    if issparse(X) and n_components > 0:
        return np.asarray(TruncatedSVD(n_components, random_state=random).fit_transform(X))
    dense = np.asarray(X.toarray() if hasattr(X, "toarray") else X, np.float64)
    if X.shape[1] <= 2 or n_components < 1:
        return np.column_stack([dense, np.zeros(len(dense))])
    return np.asarray(PCA(n_components, random_state=random).fit_transform(dense))
