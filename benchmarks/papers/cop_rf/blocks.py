"""Figure 6: the affinities of each method, and how well they tell the classes apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.metrics import roc_auc_score

from benchmarks.papers._identity import parameters_of, seeded, tag_of
from benchmarks.papers.cop_rf.measures import Floats, Inputs, Measure, Sees
from benchmarks.papers.cop_rf.protocol import Cell, Problem
from clew import Constraints
from clew.similarity import COPRF, E2CP, SpectralLearning

__all__ = ["BLOCKS", "SETS", "Block", "block_cells", "share_within"]

SETS = ("ionosphere", "glass")
#: The paper shows .1, .3 and .5 % of the pairs.
SHOWN = (0, 2, 4)


@dataclass(frozen=True)
class Block:
    """A row of pictures: the affinities of one method."""

    name: str
    label: str
    make: Callable[[int], Any]
    """Gives the similarity for a number of trees."""
    sees: Sees = "features"
    uses_answers: bool = True

    def version(self, n_trees: int) -> str:
        """Hash the parameters."""
        trees = n_trees if self.sees == "forest" else 0
        return tag_of(self.name, self.sees, trees, parameters_of(self.make(n_trees)))

    def affinity(
        self, inputs: Inputs, n_trees: int, answers: Constraints | None, seed: int
    ) -> NDArray[np.float64]:
        """Learn affinities, (n_samples, n_samples); nothing on the diagonal."""
        model = seeded(self.make(n_trees), seed)
        found = model.fit(inputs.get(self.sees), constraints=answers).affinity_matrix_
        dense = np.array(found.toarray() if issparse(found) else found, dtype=np.float64)
        np.fill_diagonal(dense, 0.0)
        return dense

    def run(
        self, inputs: Inputs, n_trees: int, answers: Constraints | None, seed: int
    ) -> dict[str, Any]:
        """Say how well the affinities tell pairs of one class from others."""
        affinity = self.affinity(inputs, n_trees, answers, seed)
        y = inputs.problem.y
        i, j = np.triu_indices(len(y), 1)
        auc = float(roc_auc_score(y[i] == y[j], affinity[i, j]))
        return {"auc": auc, "within": share_within(affinity, y)}


def share_within(affinity: Floats, y: NDArray[np.int64]) -> float:
    """Give the mean affinity within classes, as a share of it and of that between classes.

    .5 means no blocks at all, 1 nothing outside of them. Neither the scale of the affinities nor
    the sizes of the classes count.
    """
    i, j = np.triu_indices(len(y), 1)
    is_same = y[i] == y[j]
    within, between = affinity[i, j][is_same].mean(), affinity[i, j][~is_same].mean()
    return float(within / (within + between))


BLOCKS = (
    Block(
        "block_sl", "SL", lambda t: SpectralLearning("precomputed", n_neighbors="paper"), "gaussian"
    ),
    Block("block_e2cp", "E2CP", lambda t: E2CP("precomputed", n_neighbors="paper"), "gaussian"),
    Block("block_rf_e2cp", "RF+E2CP", lambda t: E2CP("precomputed", n_neighbors="paper"), "forest"),
    Block(
        "block_coprf_hard",
        "COP-RF hard",
        lambda t: COPRF(t, mode="hard", trust="inconsistency", affinity="leaf"),
    ),
    Block("block_coprf", "COP-RF default", lambda t: COPRF(t)),
)


def block_cells(problem: Problem, measure: Measure) -> list[Cell]:
    """Give the points that are shown."""
    return [Cell(problem.amounts[place], 0.0) for place in SHOWN]
