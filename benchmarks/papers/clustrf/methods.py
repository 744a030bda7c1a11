"""The ways to make affinities that the paper compares, each with its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from benchmarks.papers._identity import parameters_of, tag_of
from benchmarks.papers.clustrf.protocol import M
from clew.graphs import nearest_graph
from clew.similarity import AdaptiveKNN, ClustRF, ConsensusKNN, DominantNeighbors

__all__ = [
    "EUCLIDEAN",
    "FORESTS",
    "LABELS",
    "MAIN",
    "READINGS",
    "WAYS",
    "Way",
    "way",
]

Kind = Literal["leaf", "uniform", "adaptive"]
EUCLIDEAN = ("knn", "dominant", "consensus")
FORESTS: tuple[Kind, ...] = ("leaf", "uniform", "adaptive")
LABELS = {
    "knn": "kNN",
    "dominant": "DN",
    "consensus": "cons-kNN",
    "leaf": "ClustRF-Bi",
    "uniform": "ClustRF-Strct-Unfm",
    "adaptive": "ClustRF-Strct-Adpt",
}
MAIN = "smallest child 1"
#: What the paper leaves open: the smallest node, and how many rows a tree draws (in units of the
#: number of rows; real and pseudo rows together).
READINGS: Mapping[str, Mapping[str, float]] = {
    MAIN: {},
    "smallest child 2": {"min_samples_leaf": 2},
    "smallest child 5": {"min_samples_leaf": 5},
    "smallest child 10": {"min_samples_leaf": 10},
    "smallest child 20": {"min_samples_leaf": 20},
    "smallest child 50": {"min_samples_leaf": 50},
    "smallest child 100": {"min_samples_leaf": 100},
    "N / 2 draws": {"draws": 0.5},
    "2 N draws": {"draws": 2.0},
}


@dataclass(frozen=True)
class Way:
    """One way to make affinities, with one setting."""

    method: str
    setting: str

    @property
    def is_forest(self) -> bool:
        """Whether trees make it."""
        return self.method in FORESTS

    @property
    def is_main(self) -> bool:
        """Whether it belongs into Table 2, rather than to the readings beside it."""
        return not self.is_forest or self.setting == MAIN

    def similarity(self, n_rows: int, n_trees: int) -> AdaptiveKNN | ClustRF:
        """Give what makes the affinities of all pairs."""
        if not self.is_forest:
            return AdaptiveKNN(int(self.setting))
        reading = READINGS[self.setting]
        draws = round(reading["draws"] * n_rows) if "draws" in reading else None
        kind: Any = self.method
        return ClustRF(
            n_trees,
            affinity=kind,
            min_samples_leaf=int(reading.get("min_samples_leaf", 1)),
            max_samples=draws,
        )

    def graph(self, affinity: NDArray[np.floating], n_neighbors: int) -> csr_array:
        """Choose edges among the affinities of all pairs: the nearest rows, or some of them."""
        selection = self._selection(n_neighbors)
        if selection is None:
            return nearest_graph(affinity, n_neighbors)
        found: csr_array = selection.fit(affinity).affinity_matrix_
        return found

    def _selection(self, n_neighbors: int) -> DominantNeighbors | ConsensusKNN | None:
        if self.method == "dominant":
            return DominantNeighbors("precomputed", n_neighbors=n_neighbors)
        if self.method == "consensus":
            return ConsensusKNN("precomputed", n_neighbors=n_neighbors)
        return None

    def version(self, n_trees: int) -> str:
        """Hash the parameters: results under another version are another way's."""
        selection = self._selection(2)
        parts = [parameters_of(part) for part in (self.similarity(100, n_trees), selection) if part]
        return tag_of(self.method, self.setting, *parts)


def way(method: str, setting: object) -> Way:
    """Give the way of this method with this setting."""
    return Way(method, str(setting))


WAYS = (
    *(way(method, m) for m in M for method in EUCLIDEAN),
    *(way(method, reading) for reading in READINGS for method in FORESTS),
)
