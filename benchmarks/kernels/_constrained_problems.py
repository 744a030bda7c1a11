"""The problems that the methods under answers are timed on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from benchmarks.kernels._forest_problems import gaussian_mixture
from clew import Constraints, datasets
from clew.similarity import AdaptiveKNN

__all__ = ["DIGITS", "Inputs", "Problem", "save"]

Floats = NDArray[np.float64]


class Inputs(NamedTuple):
    """What a method gets."""

    X: Floats
    y: NDArray[np.int64]
    answers: Constraints
    n_clusters: int
    lists: csr_array
    """Affinities of the 20 most similar rows of each row."""
    graph: csr_array
    """The same, symmetric: the larger where rows disagree."""


@dataclass(frozen=True)
class Problem:
    """Rows of digits or of a mixture of 20 Gaussians, and right answers about random pairs."""

    n_samples: int
    n_answers: int
    is_digits: bool = False

    @property
    def name(self) -> str:
        """Data, rows, answers."""
        data = "digits" if self.is_digits else "mixture"
        return f"{data} {self.n_samples:,}, {self.n_answers:,} answers"

    def inputs(self) -> Inputs:
        """Make or load the data; kept, as several methods get the same."""
        return _inputs(self)


DIGITS = Problem(1797, 200, is_digits=True)
N_CLUSTERS, N_FEATURES, N_NEIGHBORS = 20, 50, 20


@lru_cache(maxsize=2)
def _inputs(problem: Problem) -> Inputs:
    n = problem.n_samples
    if problem.is_digits:
        found = datasets.load("digits")
        X, y, n_clusters = np.asarray(found.X)[:n], np.asarray(found.y)[:n], 10
    else:
        X, y = gaussian_mixture(n, N_FEATURES, n_clusters=N_CLUSTERS, seed=0)
        n_clusters = N_CLUSTERS
    answers = Constraints.from_labels(y, problem.n_answers, random_state=0)
    lists = AdaptiveKNN().fit(X).kneighbors_graph(N_NEIGHBORS)
    return Inputs(X, y, answers, n_clusters, lists, csr_array(lists.maximum(lists.T)))


def save(inputs: Inputs, path: Path) -> None:
    """Write what a peer in another environment needs."""
    np.savez(
        path,
        X=inputs.X,
        must_link=inputs.answers.must_link,
        cannot_link=inputs.answers.cannot_link,
        n_clusters=np.array(inputs.n_clusters),
    )
