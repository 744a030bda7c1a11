"""The methods that the tables compare."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.cluster import AgglomerativeClustering

from benchmarks.papers._identity import parameters_of, seeded, tag_of
from benchmarks.papers.cop_rf.measures import Inputs, Sees
from clew import Constraints
from clew.cluster import (
    ConstrainedLinkage,
    COPKMeans,
    MPCKMeans,
    PCKMeans,
    SimilarityClustering,
    SpectralClustering,
)
from clew.exceptions import InvalidConstraintsError
from clew.metrics import adjusted_rand_score
from clew.similarity import COPRF, E2CP, SpectralLearning

__all__ = ["METHODS", "Family", "Method", "method_named"]

Family = Literal["no answers", "in the clusterer", "in the similarity"]
GIVEN: Literal["precomputed"] = "precomputed"


@dataclass(frozen=True)
class Method:
    """One row of the tables: a clusterer, with all that it is made of."""

    name: str
    label: str
    make: Callable[[int, int], Any]
    """Gives the estimator for a number of clusters and of trees."""
    family: Family
    sees: Sees = "features"
    """What it is fitted on; affinities that all points of a trial share are made once."""

    @property
    def uses_answers(self) -> bool:
        """Whether it is told the answers."""
        return self.family != "no answers"

    @property
    def is_hard(self) -> bool:
        """Whether it may refuse the answers: it binds all of them."""
        return self.name in ("cop_kmeans_paper", "cop_kmeans", "constrained_linkage")

    def version(self, n_trees: int) -> str:
        """Hash the parameters: results under another version are another method's."""
        trees = n_trees if self.sees == "forest" else 0
        return tag_of(
            self.name, self.family, self.sees, trees, parameters_of(self.make(2, n_trees))
        )

    def run(
        self, inputs: Inputs, n_trees: int, answers: Constraints | None, seed: int
    ) -> dict[str, Any]:
        """Find the groups and score them.

        Returns
        -------
        dict
            "ari", which is None if the method refuses the answers or finds no groups that keep
            them; then "failure" says how. "warnings" names those given, if any.
        """
        model = seeded(self.make(inputs.problem.n_classes, n_trees), seed)
        extra = {"constraints": answers} if self.uses_answers else {}
        with warnings.catch_warnings(record=True) as given:
            warnings.simplefilter("always")
            try:
                labels = model.fit(inputs.get(self.sees), **extra).labels_
            except InvalidConstraintsError as error:
                return {"ari": None, "failure": type(error).__name__}
        found: dict[str, Any] = {"ari": float(adjusted_rand_score(inputs.problem.y, labels))}
        if given:
            found["warnings"] = sorted({w.category.__name__ for w in given})
            found["n_groups"] = len(np.unique(labels))
        return found


def _cut(similarity: Any, n_clusters: int, **parameters: Any) -> SimilarityClustering:
    return SimilarityClustering(similarity, SpectralClustering(n_clusters, **parameters))


def _published(n_clusters: int, n_trees: int) -> SimilarityClustering:
    forest = COPRF(n_trees, mode="hard", trust="inconsistency", affinity="leaf")
    return _cut(forest, n_clusters, n_neighbors="paper")


def _learned(n_neighbors: Literal["auto", "paper"]) -> Callable[[int, int], Any]:
    return lambda k, t: _cut(SpectralLearning(GIVEN, n_neighbors=n_neighbors), k)


def _spread(n_neighbors: Literal["auto", "paper"]) -> Callable[[int, int], Any]:
    return lambda k, t: _cut(E2CP(GIVEN, n_neighbors=n_neighbors), k)


NONE: Family = "no answers"
CLUSTERER: Family = "in the clusterer"
SIMILARITY: Family = "in the similarity"
PAPER_K = ", k = N/10"

METHODS = (
    Method(
        "spclust",
        f"SPClust{PAPER_K}",
        lambda k, t: SpectralClustering(k, n_neighbors="paper"),
        NONE,
        "gaussian",
    ),
    Method("spclust_auto", "SPClust", lambda k, t: SpectralClustering(k), NONE, "gaussian"),
    Method("ward", "Ward", lambda k, t: AgglomerativeClustering(k), NONE),
    Method("clustrf", "ClustRF", lambda k, t: SpectralClustering(k), NONE, "forest"),
    Method(
        "cop_kmeans_paper",
        "COP-Kmeans, as published",
        lambda k, t: COPKMeans(k, algorithm="paper", n_init=1),
        CLUSTERER,
    ),
    Method("cop_kmeans", "COPKMeans", lambda k, t: COPKMeans(k), CLUSTERER),
    Method("pckmeans", "PCKMeans", lambda k, t: PCKMeans(k), CLUSTERER),
    Method("mpckmeans", "MPCKMeans", lambda k, t: MPCKMeans(k), CLUSTERER),
    Method(
        "constrained_linkage", "ConstrainedLinkage", lambda k, t: ConstrainedLinkage(k), CLUSTERER
    ),
    Method("sl_paper", f"SL{PAPER_K}", _learned("paper"), SIMILARITY, "gaussian"),
    Method("sl", "SL", _learned("auto"), SIMILARITY, "gaussian"),
    Method("e2cp_paper", f"E2CP{PAPER_K}", _spread("paper"), SIMILARITY, "gaussian"),
    Method("e2cp", "E2CP", _spread("auto"), SIMILARITY, "gaussian"),
    Method("rf_e2cp_paper", f"RF+E2CP{PAPER_K}", _spread("paper"), SIMILARITY, "forest"),
    Method("rf_e2cp", "RF+E2CP", _spread("auto"), SIMILARITY, "forest"),
    Method("coprf_hard", "COP-RF hard, as published", _published, SIMILARITY),
    Method("coprf", "COP-RF default", lambda k, t: _cut(COPRF(t), k), SIMILARITY),
    Method("coprf_e2cp", "COP-RF+E2CP", lambda k, t: _cut(E2CP(COPRF(t)), k), SIMILARITY),
)  # fmt: skip


def method_named(name: str) -> Method:
    """Find a method."""
    return next(method for method in METHODS if method.name == name)
