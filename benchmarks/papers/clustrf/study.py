"""The study: spectral clustering of graphs, by the size of the neighborhood."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from benchmarks.study.engine import Study, Task
from benchmarks.study.log import parameters_of, seed_of, seeded, tag_of
from benchmarks.study.methods import SIMILARITIES
from benchmarks.study.problems import Problem, load, to_range
from clew.cluster import SpectralClustering
from clew.graphs import nearest_graph
from clew.metrics import adjusted_rand_score

SEGMENTS, FACES = "segment_full", "pie10_32x32"
#: The faces once more, with all principal components scaled to the same range.
STRETCHED = "pie10_stretched"
SETS = (SEGMENTS, FACES, STRETCHED)
#: The sets of the paper.
PUBLISHED_SETS = (SEGMENTS, FACES)
ROWS_PER_PERSON, N_COMPONENTS = 100, 30
#: Neighbors that determine the scale of Gaussian affinities.
M = (20, 40, 60, 80, 100)
#: Neighbors in the graph that is cut.
K = tuple(range(10, 101, 10))
EUCLIDEAN = ("knn", "dominant", "consensus")
FORESTS = ("leaf", "uniform", "adaptive")
LABELS = {
    "knn": "kNN", "dominant": "DN", "consensus": "cons-kNN", "leaf": "ClustRF-Bi",
    "uniform": "ClustRF-Strct-Unfm", "adaptive": "ClustRF-Strct-Adpt",
}  # fmt: skip
SELECTIONS = {"dominant": "dominant neighbors", "consensus": "consensus kNN"}
MAIN = "smallest child 1"
#: Settings that the paper does not specify ("readings"): the smallest node, and the number of rows
#: that each tree draws (as a multiple of the number of rows; real and pseudo rows together).
READINGS: Mapping[str, Mapping[str, float]] = {
    MAIN: {},
    **{f"smallest child {n}": {"min_samples_leaf": n} for n in (2, 5, 10, 20, 50, 100)},
    "N / 2 draws": {"draws": 0.5},
    "2 N draws": {"draws": 2.0},
}
#: Other readings than the main one are compared in fewer trials.
READING_TRIALS = 3


@dataclass(frozen=True)
class Variant:
    """A method with one setting: M for Gaussian affinities, one of `READINGS` for forests."""

    method: str
    setting: str | int

    @property
    def name(self) -> str:
        return f"{self.method}, {self.setting}"

    @property
    def label(self) -> str:
        return LABELS[self.method]

    @property
    def is_forest(self) -> bool:
        return self.method in FORESTS

    @property
    def is_main(self) -> bool:
        return not self.is_forest or self.setting == MAIN

    def similarity(self, n_rows: int, n_trees: int) -> Any:
        if not self.is_forest:
            return SIMILARITIES["adaptive kNN"](0).set_params(scale_neighbors=int(self.setting))
        reading = READINGS[str(self.setting)]
        return SIMILARITIES["ClustRF"](n_trees).set_params(
            affinity=self.method,
            min_samples_leaf=int(reading.get("min_samples_leaf", 1)),
            max_samples=round(reading["draws"] * n_rows) if "draws" in reading else None,
        )

    def selection(self, n_neighbors: int) -> Any:
        """Build the method that selects edges of the neighbor graph; None keeps all of them."""
        if self.method not in SELECTIONS:
            return None
        model = SIMILARITIES[SELECTIONS[self.method]](0)
        return model.set_params(similarity="precomputed", n_neighbors=n_neighbors)

    def version(self, n_trees: int) -> str:
        parts = [part for part in (self.similarity(100, n_trees), self.selection(2)) if part]
        return tag_of(self.method, str(self.setting), *map(parameters_of, parts))


VARIANTS = (
    *(Variant(method, m) for m in M for method in EUCLIDEAN),
    *(Variant(method, reading) for reading in READINGS for method in FORESTS),
)


class Size(NamedTuple):
    """The number of neighbors in the graph that is cut."""

    k: int

    @property
    def name(self) -> str:
        return f"k = {self.k}"


@lru_cache(maxsize=4)
def problem(name: str) -> Problem:
    """Load a set, scaled to [-1, 1]; faces as principal components of the scaled pixels."""
    if name == SEGMENTS:
        return load(name, "range")
    faces = load(FACES, "range", per_class=ROWS_PER_PERSON, n_components=N_COMPONENTS)
    return replace(faces, name=name, X=to_range(faces.X)) if name == STRETCHED else faces


@lru_cache(maxsize=1)
def affinity(name: str, of: Variant, n_trees: int, seed: int) -> NDArray[np.floating]:
    """Measure the affinities of all pairs, (n_samples, n_samples)."""
    X = problem(name).X
    model = seeded(of.similarity(len(X), n_trees), seed)
    return np.asarray(model.fit(X).affinity_matrix_)


@lru_cache(maxsize=32)
def graph(name: str, of: Variant, k: int, n_trees: int, seed: int) -> csr_array:
    """Select edges of the graph of the k nearest rows."""
    between, selection = affinity(name, of, n_trees, seed), of.selection(k)
    if selection is None:
        return nearest_graph(between, k)
    return csr_array(selection.fit(between).affinity_matrix_)


@dataclass(frozen=True)
class ClustrfStudy(Study):
    """The study of ClustRF."""

    n_trials: int = 10
    sets: tuple[str, ...] = SETS
    stem: str = "clustrf"
    n_trees: int = 1000
    k: tuple[int, ...] = K

    key_fields: ClassVar[tuple[str, ...]] = ("set", "method", "setting", "k", "trial", "version")
    method_fields: ClassVar[tuple[str, ...]] = ("method", "setting")

    problem = staticmethod(problem)

    def points(self, name: str) -> list[tuple[Variant, Size]]:
        return [(v, Size(k)) for v in VARIANTS if self.trials_of(name, v) for k in self.k]

    def trials_of(self, name: str, method: Variant) -> int:
        """Return the number of trials; there are fewer, or none, for what is not in Table 2."""
        if method.is_main:
            return self.n_trials
        return min(READING_TRIALS, self.n_trials) if name in PUBLISHED_SETS else 0

    def version(self, method: Variant) -> str:
        return method.version(self.n_trees)

    def key(self, task: Task) -> dict[str, Any]:
        name, of, size, trial = task
        fields = {"set": name, "method": of.method, "setting": str(of.setting), "k": size.k}
        return fields | {"trial": trial, "version": self.cached_version(of)}

    def group(self, task: Task) -> str:
        """Group by M, as Gaussian graphs are equal in all trials, or by the trial of a forest."""
        of: Variant = task.method
        return f"trial {task.trial}" if of.is_forest else f"M = {of.setting}"

    def measure(self, task: Task) -> dict[str, Any]:
        name, of, size, trial = task
        seed, y = seed_of("clustrf", name, trial), problem(name).y
        edges = graph(name, of, size.k, self.n_trees, seed if of.is_forest else 0)
        model = SpectralClustering(problem(name).n_classes, n_neighbors=None, random_state=seed)
        return {"ari": float(adjusted_rand_score(y, model.fit(edges).labels_))}
