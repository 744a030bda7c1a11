"""What every measure of the study offers: a name in the log, a version, and a result."""

from __future__ import annotations

from functools import cached_property
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.cop_rf.protocol import Problem
from clew import Constraints
from clew.similarity import AdaptiveKNN, ClustRF

__all__ = ["Floats", "Inputs", "Measure", "Sees"]

Floats = NDArray[np.floating]
Sees = Literal["features", "gaussian", "forest", "distances", "nearness", "knn"]


class Inputs:
    """What methods may see of a set in one trial; what takes time is made once for all of them.

    Parameters
    ----------
    problem : Problem
        The set.
    n_trees : int
        Size of the unconstrained forest.
    seed : int
        Its seed.
    """

    def __init__(self, problem: Problem, n_trees: int, seed: int) -> None:
        self.problem = problem
        self.n_trees = n_trees
        self.seed = seed

    @property
    def features(self) -> Floats:
        """Features as the paper scales them, (n_samples, n_features)."""
        return self.problem.X

    @property
    def distances(self) -> Floats:
        """Euclidean distances, (n_samples, n_samples)."""
        return self.problem.distances

    @property
    def nearness(self) -> Floats:
        """Negative squared distances, (n_samples, n_samples)."""
        return -(self.problem.distances**2)

    @cached_property
    def gaussian(self) -> Floats:
        """Gaussian affinities on local scales, (n_samples, n_samples)."""
        return AdaptiveKNN().fit(self.features).affinity_matrix_

    @cached_property
    def knn(self) -> Floats:
        """The same, made of distances."""
        return AdaptiveKNN(metric="precomputed").fit(self.distances).affinity_matrix_

    @cached_property
    def forest(self) -> Floats:
        """Affinities of the unconstrained forest, (n_samples, n_samples)."""
        return ClustRF(self.n_trees, random_state=self.seed).fit(self.features).affinity_matrix_

    def get(self, sees: Sees) -> Floats:
        """Give one of them."""
        found: Floats = getattr(self, sees)
        return found


class Measure(Protocol):
    """One column of a table, or one picture's row."""

    @property
    def name(self) -> str:
        """Its name in the log."""

    @property
    def uses_answers(self) -> bool:
        """Whether it is run once a trial, or at every point of a curve."""

    def version(self, n_trees: int) -> str:
        """Hash its parameters: results under another version are another measure's."""

    def run(
        self, inputs: Inputs, n_trees: int, answers: Constraints | None, seed: int
    ) -> dict[str, Any]:
        """Give what the log should hold."""
