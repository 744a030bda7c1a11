"""How many groups there are, by answers held out, or by how far groups are apart."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics import silhouette_score

from clew.cluster._similarity_clustering import SimilarityClustering
from clew.cluster._spectral import SpectralClustering
from clew.cluster.guided._ensemble import Fold
from clew.cluster.guided._pool import MANY_ROWS, Candidate
from clew.cluster.guided._views import Views
from clew.metrics._likelihood import answer_counts, log_likelihood_of_counts
from clew.similarity import E2CP

__all__ = ["choose_n_clusters"]

#: Numbers that are tried first; then those between the best and its neighbours.
FEWEST, MOST, STEP = 2, 100, 1.4
MAX_TRIED_BETWEEN = 6
SAMPLE_ROWS = 2_000


def choose_n_clusters(views: Views, folds: Sequence[Fold], seed: int) -> int:
    """Choose the number of groups.

    Parameters
    ----------
    views : Views
        What there is to read.
    folds : sequence of Fold
        Answers to learn from and answers held out; none where there are no answers.
    seed : int
        Seed of k-means.

    Returns
    -------
    int

    Notes
    -----
    Two to five ways to group are tried with each number. With answers the number wins that gives
    those held out best; without, the one of the largest mean silhouette.
    """
    n = len(views.X)
    most = min(MOST, max(n // 2, 1))
    if most < FEWEST:
        return 1
    merit: dict[int, float] = {}

    def try_all(numbers: Sequence[int]) -> int:
        for k in numbers:
            if k not in merit:
                merit[k] = _merit(k, views, folds, seed)
        return max(merit, key=lambda k: (merit[k], -k))

    coarse = np.unique(np.round(FEWEST * STEP ** np.arange(40)).astype(int))
    best = try_all([int(k) for k in coarse if k <= most])
    tried = sorted(merit)
    at = tried.index(best)
    low, high = tried[max(at - 1, 0)], tried[min(at + 1, len(tried) - 1)]
    between = np.unique(np.round(np.linspace(low, high, MAX_TRIED_BETWEEN + 2)).astype(int))
    return try_all(between.tolist())


def _merit(n_clusters: int, views: Views, folds: Sequence[Fold], seed: int) -> float:
    cut = SpectralClustering(n_clusters, n_neighbors=None, n_init=5, random_state=seed)
    spread = SimilarityClustering(
        E2CP("precomputed", n_neighbors=None, form="sparse"), cut, random_state=seed
    )
    ways = [Candidate("neighbors", cut, "neighbors", 20)]
    if len(views.X) <= MANY_ROWS:
        ways.append(Candidate("ward", AgglomerativeClustering(n_clusters)))
    else:
        ways.append(Candidate("k-means", KMeans(n_clusters, n_init=3, random_state=seed)))
    if not folds:
        return max(_silhouette(way.partition(views, None), views, seed) for way in ways)
    led = [views.given(fold.kept.as_pairs()) for fold in folds]
    ways.append(Candidate("spread", spread, "neighbors", 20))
    scores = []
    for way in ways:
        if way.follows_answers:
            partitions = [way.partition(of_fold, of_fold.answers) for of_fold in led]
        else:
            partitions = [way.partition(views, None)] * len(folds)
        made = [
            answer_counts(labels, fold.held) for labels, fold in zip(partitions, folds, strict=True)
        ]
        counts = {kind: np.sum([part[kind] for part in made], axis=0) for kind in made[0]}
        scores.append(log_likelihood_of_counts(counts))
    return max(scores)


def _silhouette(labels: np.ndarray, views: Views, seed: int) -> float:
    if not 1 < len(np.unique(labels)) < len(labels):
        return -1.0
    size = min(SAMPLE_ROWS, len(labels))
    return float(silhouette_score(views.X, labels, sample_size=size, random_state=seed))
