"""Subclustering, and complete clusterings of which the rows nearest to each center are taken."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from benchmarks.study.problems import Floats, Ints
from clew.cluster import CLARANS, FastPAM, KMedoids, SpectralClustering, Subclustering
from clew.similarity import AdaptiveKNN

#: Iterations of the k-medoids baseline and of BBC-S.
MAX_ITER = 100
ROWS_PER_BLOCK = 4096
#: Confidences are compared with the truth between two of these limits, below and above them.
CONFIDENCES = (0.5, 0.7, 0.9, 0.97)

Exemplars = Ints
Find = Callable[[Floats, int, int, int], Exemplars]


@dataclass(frozen=True)
class Method:
    """A method that finds subclusters: ``find(X, n_clusters, size, seed)``."""

    name: str
    find: Find
    version: str = "1"
    uses_answers: bool = False


def subclusters(X: Floats, k: int, size: int, seed: int, **more: object) -> Exemplars:
    """Run `Subclustering`."""
    return fitted(X, k, size, seed, **more).exemplars_


def fitted(X: Floats, k: int, size: int, seed: int, **more: object) -> Subclustering:
    """Fit `Subclustering`."""
    return Subclustering(k, size=size, random_state=seed, **more).fit(X)  # type: ignore[arg-type]


def reliability(y: Ints, model: Subclustering) -> dict[str, float]:
    """Count exemplars by confidence, and those of their center's class; centers are left out."""
    sure = model.confidence_[:, 1:].ravel()
    right = (y[model.exemplars_] == y[model.centers_][:, None])[:, 1:].ravel()
    at = np.searchsorted(CONFIDENCES, sure, side="right")
    found: dict[str, float] = {}
    for part in range(len(CONFIDENCES) + 1):
        of = at == part
        found |= {f"n_{part}": int(of.sum()), f"right_{part}": int(right[of].sum())}
        found |= {f"sure_{part}": float(sure[of].sum())}
    return found


def of_medoids(X: Floats, k: int, size: int, seed: int, *, model: object) -> Exemplars:
    """Take the rows nearest to each medoid."""
    found = model.set_params(n_clusters=k, random_state=seed).fit(X)  # type: ignore[attr-defined]
    return within_groups(X, X[found.medoid_indices_], found.labels_, size)


def of_spectral_groups(X: Floats, k: int, size: int, seed: int) -> Exemplars:
    """Cut the normalized graph of the 20 nearest rows; take the rows nearest to each medoid."""
    graph = AdaptiveKNN().fit(X).kneighbors_graph(20)
    labels = SpectralClustering(k, random_state=seed).fit(graph).labels_
    return within_groups(X, X[[medoid_of(X, np.flatnonzero(labels == g)) for g in range(k)]],
                         labels, size)  # fmt: skip


def lloyd_medoids(X: Floats, k: int, seed: int) -> tuple[Ints, Ints]:
    """Assign rows and compute medoids in turn, the thesis' baseline; return medoids and labels."""
    medoids = np.random.RandomState(seed).choice(len(X), k, replace=False)
    for _ in range(MAX_ITER):
        labels = nearest(X, X[medoids])[0]
        labels[medoids] = np.arange(k)
        moved = np.array([medoid_of(X, np.flatnonzero(labels == g)) for g in range(k)])
        if (moved == medoids).all():
            break
        medoids = moved
    return medoids, labels


def of_lloyd_medoids(X: Floats, k: int, size: int, seed: int) -> Exemplars:
    """Take the rows nearest to each medoid of the baseline."""
    medoids, labels = lloyd_medoids(X, k, seed)
    return within_groups(X, X[medoids], labels, size)


def bubbles(X: Floats, k: int, size: int, seed: int) -> Exemplars:
    """BBC-S of Gupta and Ghosh for squared distances: means of the ``k * size`` nearest rows."""
    centers = X[np.random.RandomState(seed).choice(len(X), k, replace=False)]
    for _ in range(MAX_ITER):
        labels, apart = nearest(X, centers)
        kept = np.argsort(apart, kind="stable")[: k * size]
        moved = centers.copy()
        for group in np.unique(labels[kept]):
            moved[group] = X[kept[labels[kept] == group]].mean(axis=0)
        if np.allclose(moved, centers):
            break
        centers = moved
    return within_groups(X, centers, labels, size)


def nearest(X: Floats, centers: Floats) -> tuple[Ints, Floats]:
    """Return the nearest center of each row, and the squared distance to it."""
    squares = (centers**2).sum(axis=1)
    labels, apart = np.empty(len(X), np.int64), np.empty(len(X))
    for start in range(0, len(X), ROWS_PER_BLOCK):
        block = X[start : start + ROWS_PER_BLOCK]
        table = squares - 2 * block @ centers.T
        rows = slice(start, start + len(block))
        labels[rows], apart[rows] = table.argmin(axis=1), table.min(axis=1)
        apart[rows] += (block**2).sum(axis=1)
    return labels, apart


def medoid_of(X: Floats, rows: Ints) -> int:
    """Return the row with the lowest sum of distances to the others; of a sample above 2,000."""
    rows = rows[:: len(rows) // 2000 + 1]
    part = X[rows]
    squares = (part**2).sum(axis=1)
    table = squares[:, None] + squares - 2 * part @ part.T
    return int(rows[np.sqrt(np.maximum(table, 0)).sum(axis=1).argmin()])


def within_groups(X: Floats, centers: Floats, labels: Ints, size: int) -> Exemplars:
    """Take the rows of each group nearest to its center, then the nearest rows of other groups."""
    found = np.empty((len(centers), size), np.int64)
    for group, center in enumerate(centers):
        apart = ((X - center) ** 2).sum(axis=1)
        found[group] = np.lexsort((apart, labels != group))[:size]
    return found


def exact(**settings: object) -> Find:
    """Fix the settings of `Subclustering`."""
    return partial(subclusters, **settings)  # type: ignore[arg-type]


PAPER = {"overlap": "rule", "swaps": "best", "members": "nearest", "n_init": 1}
AUTO = Method("Subclustering", subclusters, version="3")
SHARED = Method("shared", exact(overlap="shared"))
PENALTY = Method("penalty", exact(overlap="penalty"))
RULE = Method("rule", exact(overlap="rule"))
BOTH = Method("both", exact(overlap="both"))
SILHOUETTE = Method("silhouette", exact(overlap="silhouette"))
PENALTY_1 = Method("penalty, scale 1", exact(overlap="penalty", scale=1.0))
RULE_1 = Method("rule, scale 1", exact(overlap="rule", scale=1.0))
THESIS = Method("thesis", exact(**PAPER))
THESIS_1 = Method("thesis, scale 1", exact(**PAPER, scale=1.0))
BUBBLES = Method("BBC-S", bubbles)
LLOYD = Method("k-medoids baseline", of_lloyd_medoids)
SPECTRAL = Method("normalized cut", of_spectral_groups)
FASTER_PAM = Method("FasterPAM", partial(of_medoids, model=KMedoids(n_init=1)))
FAST_PAM = Method("FastPAM", partial(of_medoids, model=FastPAM()))
OURS = (AUTO, SHARED, PENALTY, BOTH, SILHOUETTE, RULE, PENALTY_1, RULE_1, THESIS, THESIS_1)
OTHERS = (BUBBLES, LLOYD, FASTER_PAM, FAST_PAM, SPECTRAL)


def medoid_groups(name: str, X: Floats, k: int, seed: int) -> tuple[Ints, float]:
    """Group all rows around medoids; return labels and the sum of distances (Fig. 2)."""
    if name == LLOYD.name:
        medoids, labels = lloyd_medoids(X, k, seed)
        labels, squared = nearest(X, X[medoids])
        return labels, float(np.sqrt(np.maximum(squared, 0)).sum())
    models = {
        "FastPAM, best swaps": FastPAM(k, swaps="best", random_state=seed),
        "FastPAM": FastPAM(k, random_state=seed),
        "CLARANS": CLARANS(k, n_init=2, max_neighbors=1000, random_state=seed),
        "FasterPAM": KMedoids(k, n_init=1, random_state=seed),
    }
    model = models[name].fit(X)
    return model.labels_, model.inertia_


MEDOID_METHODS = tuple(
    Method(name, AUTO.find)
    for name in ("FastPAM, best swaps", "FastPAM", "CLARANS", "FasterPAM", LLOYD.name)
)
