"""What similarities that learn a Mahalanobis distance have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew._parallel import Progress
from clew.constraints import Constraints
from clew.similarity._embedding import LearnedSpace

__all__ = ["LinearMetric", "differences"]


class LinearMetric(LearnedSpace):
    """Learn a matrix M; the squared distance of x and y is ``(x - y)ᵀ M (x - y)``.

    Subclasses write `_learn`.
    """

    metric_: NDArray[np.float64]
    components_: NDArray[np.float64]

    def _learn(
        self, X: NDArray[np.float64], known: Constraints, callback: Progress | None
    ) -> dict[str, Any]:
        """Find the fitted attributes by name: `metric_`, (n_features, n_features), and others."""
        raise NotImplementedError

    def _solve(
        self, X: NDArray[np.float64], known: Constraints, callback: Progress | None
    ) -> dict[str, Any]:
        found = self._learn(X, known, callback)
        components = root_of(found["metric_"])
        return found | {"components_": components, "embedding_": X @ components.T}

    def _embed(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.asarray(X @ self.components_.T)


def root_of(metric: NDArray[np.float64]) -> NDArray[np.float64]:
    """Find L with ``LᵀL = M``, M symmetric positive semidefinite; of the shape of M.

    Directions that rounding made negative become nil.
    """
    value, vector = np.linalg.eigh((metric + metric.T) / 2)
    return np.asarray(np.sqrt(np.maximum(value, 0.0))[:, None] * vector.T)


def differences(X: NDArray[np.float64], rows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give the differences of pairs of rows, (n_pairs, n_features)."""
    return np.asarray(X[rows[:, 0]] - X[rows[:, 1]])
