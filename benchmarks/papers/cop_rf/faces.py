"""Figure 13: affinity propagation on faces."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.cluster import AffinityPropagation
from sklearn.exceptions import ConvergenceWarning

from benchmarks.papers._identity import parameters_of, seeded, tag_of
from benchmarks.papers.cop_rf.measures import Floats, Inputs, Measure, Sees
from benchmarks.papers.cop_rf.methods import Method
from benchmarks.papers.cop_rf.protocol import Cell, Problem, shares_of_pairs
from clew import Constraints, datasets
from clew.cluster import COPKMeans, SimilarityClustering, SpectralClustering
from clew.metrics import adjusted_rand_score
from clew.similarity import COPRF, E2CP, LinkedAffinity, SpectralLearning

__all__ = [
    "EXEMPLARS",
    "FACES",
    "REFERENCES",
    "SETS",
    "Exemplars",
    "Faces",
    "Found",
    "coordinates",
    "face_cells",
    "propagated",
    "with_n_groups",
]

#: Pixels, and distances alone.
PIXELS, DISTANCES = "olivetti_64x64", "apfaces_900"
SETS = (PIXELS, DISTANCES)
N_COORDINATES = 60
PIXEL_VARIANCE = 0.1
MAX_STEPS = 7
#: With the usual damping, .5, messages often run in circles where the preference is low.
STEADIER = ({"damping": 0.7, "max_iter": 200}, {"damping": 0.9, "max_iter": 400})
GIVEN = "precomputed"


class Faces(Problem):
    """Images of faces."""

    @cached_property
    def _data(self) -> datasets.Dataset:
        return datasets.load(self.name)

    @cached_property
    def X(self) -> NDArray[np.float64]:  # noqa: N802
        """Pixels, each image with mean 0 and variance .1; or coordinates made of distances."""
        pixels = self._data.X
        if pixels is None:
            return coordinates(self.distances, N_COORDINATES)
        centred = pixels - pixels.mean(axis=1, keepdims=True)
        return np.asarray(centred * np.sqrt(PIXEL_VARIANCE) / centred.std(axis=1, keepdims=True))

    @cached_property
    def distances(self) -> NDArray[np.float64]:
        """Euclidean distances; `apfaces_900` holds their squares."""
        squared = self._data.D
        return super().distances if squared is None else np.sqrt(squared)

    @cached_property
    def amounts(self) -> tuple[int, ...]:
        """Numbers of answers: .1 to .5 % of all pairs."""
        return shares_of_pairs(len(self.y))


def coordinates(distances: Floats, n_components: int) -> NDArray[np.float64]:
    """Find rows that lie at such Euclidean distances: classical scaling, largest spread first."""
    squared = np.asarray(distances, dtype=np.float64) ** 2
    inner = -(squared - squared.mean(axis=0) - squared.mean(axis=1, keepdims=True)) / 2
    inner -= squared.mean() / 2
    spread, axes = np.linalg.eigh(inner)
    kept = slice(-1, -n_components - 1, -1)
    return np.asarray(axes[:, kept] * np.sqrt(np.maximum(spread[kept], 0.0)))


class Found(NamedTuple):
    """What affinity propagation gave."""

    labels: NDArray[np.int64]
    n_groups: int
    is_converged: bool


def propagated(similarity: Floats, seed: int, **parameters: Any) -> Found:
    """Run affinity propagation; without a preference, with the median of the similarities."""
    model = AffinityPropagation(affinity=GIVEN, random_state=seed, **parameters)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        labels = model.fit(similarity).labels_
    is_converged = not any(issubclass(w.category, ConvergenceWarning) for w in given)
    return Found(labels, len(np.unique(labels)), is_converged)


def with_n_groups(similarity: Floats, n_groups: int, seed: int) -> Found:
    """Look for the preference that gives so many groups.

    The farther the preference is below the largest similarity, the fewer groups there are, about
    as a power of the distance: it is followed, in steps of a factor of 3 at most.

    Returns
    -------
    Found
        Of the runs that settled, the one whose number of groups is nearest; of several the first.
    """
    i, j = np.triu_indices(len(similarity), 1)
    middle, high = (float(v) for v in np.quantile(similarity[i, j], [0.5, 1.0]))
    gap = high - middle or 1.0
    too_small, too_large, runs = 0.0, np.inf, []
    settled: list[tuple[float, int]] = []
    for _ in range(MAX_STEPS):
        runs.append(_steadily(similarity, seed, high - gap))
        found = runs[-1].n_groups
        if runs[-1].is_converged and found == n_groups:
            break
        # Messages that do not settle say nothing of the number; they do so where groups are few.
        if runs[-1].is_converged and found > n_groups:
            too_small = gap
        else:
            too_large = gap
        if runs[-1].is_converged:
            settled.append((gap, found))
            ratio = (found / n_groups) ** (1 / _power(settled[-2:]))
            gap *= float(np.clip(ratio, 1 / 3, 3.0))
        gap = _between(gap, too_small, too_large)
    return min(runs, key=lambda run: (not run.is_converged, abs(run.n_groups - n_groups)))


def _between(gap: float, too_small: float, too_large: float) -> float:
    """Keep a distance that lies between the bounds, or take one in the middle, by ratio."""
    if too_small < gap < too_large:
        return gap
    if too_small == 0:
        return too_large / 3
    return float(np.sqrt(too_small * min(too_large, 9 * too_small)))


def _steadily(similarity: Floats, seed: int, preference: float) -> Found:
    """Run affinity propagation, with more damping if the messages do not settle."""
    for parameters in STEADIER:
        found = propagated(similarity, seed, preference=preference, **parameters)
        if found.is_converged:
            break
    return found


def _power(points: list[tuple[float, int]]) -> float:
    """Fit ``n_groups ∝ gap ** -power`` to the last two runs, within reason."""
    if len(points) < 2 or points[0][1] == points[1][1]:
        return 1.0
    (gap, found), (other_gap, other_found) = points
    slope = np.log(found / other_found) / np.log(other_gap / gap)
    return float(np.clip(slope, 0.3, 4.0))


@dataclass(frozen=True)
class Exemplars:
    """Affinity propagation on one similarity."""

    name: str
    label: str
    sees: Sees
    make: Callable[[int], Any] | None = None
    """Gives the similarity that is learned, for a number of trees; None takes what it sees."""

    @property
    def uses_answers(self) -> bool:
        """Whether the similarity is told the answers."""
        return self.make is not None

    def version(self, n_trees: int) -> str:
        """Hash the parameters."""
        trees = n_trees if self.sees == "forest" else 0
        parameters = parameters_of(self.make(n_trees)) if self.make else {}
        return tag_of(self.name, self.sees, trees, parameters, MAX_STEPS, STEADIER, N_COORDINATES)

    def run(
        self, inputs: Inputs, n_trees: int, answers: Constraints | None, seed: int
    ) -> dict[str, Any]:
        """Find groups with the usual preference, and with one that gives the true number."""
        similarity = inputs.get(self.sees)
        if self.make is not None:
            model = seeded(self.make(n_trees), seed).fit(similarity, constraints=answers)
            similarity = model.affinity_matrix_
        # Single precision halves the time; that of forests is no finer.
        dense = (similarity.toarray() if issparse(similarity) else similarity).astype(np.float32)
        problem = inputs.problem
        found: dict[str, Any] = {}
        usual, matched = propagated(dense, seed), with_n_groups(dense, problem.n_classes, seed)
        for end, run in (("", usual), ("_at_k", matched)):
            found[f"ari{end}"] = float(adjusted_rand_score(problem.y, run.labels))
            found[f"n_groups{end}"] = run.n_groups
            found[f"is_converged{end}"] = run.is_converged
        return found


EXEMPLARS = (
    Exemplars("faces_eucl", "Eucl", "nearness"),
    Exemplars("faces_eucl_links", "Eucl+Links", "nearness", lambda t: LinkedAffinity(GIVEN)),
    Exemplars("faces_rf", "RF", "forest"),
    Exemplars("faces_rf_links", "RF+Links", "forest", lambda t: LinkedAffinity(GIVEN)),
    Exemplars(
        "faces_coprf_hard",
        "COP-RF hard",
        "features",
        lambda t: COPRF(t, mode="hard", trust="inconsistency", affinity="leaf"),
    ),
    Exemplars("faces_coprf", "COP-RF default", "features", lambda t: COPRF(t)),
    Exemplars("faces_knn", "AdaptiveKNN", "knn"),
    Exemplars("faces_sl", "SL", "knn", lambda t: SpectralLearning(GIVEN)),
    Exemplars("faces_e2cp", "E2CP", "knn", lambda t: E2CP(GIVEN)),
)
#: What other clusterers, which are told the number of groups, make of the same answers.
REFERENCES = (
    Method(
        "faces_cop_kmeans",
        "COPKMeans on distances",
        lambda k, t: COPKMeans(k, metric="precomputed"),
        "in the clusterer",
        "distances",
    ),
    Method(
        "faces_spectral",
        "COP-RF default, SpectralClustering",
        lambda k, t: SimilarityClustering(COPRF(t), SpectralClustering(k)),
        "in the similarity",
    ),
)
FACES: tuple[Exemplars | Method, ...] = (*EXEMPLARS, *REFERENCES)


def face_cells(problem: Problem, measure: Measure) -> list[Cell]:
    """Give the points: right answers, .1 to .5 % of the pairs."""
    return [Cell(amount, 0.0) for amount in problem.amounts]
