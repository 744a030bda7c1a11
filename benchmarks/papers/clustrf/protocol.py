"""The paper's protocol: data, sizes of neighbourhoods, seeds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from clew import datasets

__all__ = ["FACES", "SETS", "K", "M", "Problem"]

SEGMENTS, FACES = "segment_full", "pie10_32x32"
#: The faces once more, with all principal components stretched to one range.
STRETCHED = "pie10_stretched"
SETS = (SEGMENTS, FACES, STRETCHED)
ROWS_PER_PERSON = 100
N_COMPONENTS = 30
#: Neighbours that Gaussian scales are made of.
M = (20, 40, 60, 80, 100)
#: Neighbours in the graph that is cut.
K = tuple(range(10, 101, 10))


@dataclass(frozen=True)
class Problem:
    """A data set, prepared as the paper prepares it."""

    name: str

    @cached_property
    def _data(self) -> datasets.Dataset:
        return datasets.load(SEGMENTS if self.name == SEGMENTS else FACES)

    @cached_property
    def _rows(self) -> NDArray[np.intp]:
        y = self._data.y
        if self.name == SEGMENTS:
            return np.arange(len(y))
        return np.concatenate([np.flatnonzero(y == c)[:ROWS_PER_PERSON] for c in np.unique(y)])

    @property
    def label(self) -> str:
        """Name in tables."""
        return f"{FACES}, components stretched" if self.name == STRETCHED else self.name

    @property
    def is_published(self) -> bool:
        """Whether the paper has it so."""
        return self.name != STRETCHED

    @cached_property
    def X(self) -> NDArray[np.float64]:  # noqa: N802
        """Features in [-1, 1]; of the faces the first 30 principal components of them."""
        if self._data.X is None:
            raise TypeError(f"{self.name} has no features")
        scaled = _scaled(self._data.X[self._rows])
        if self.name == SEGMENTS:
            return scaled
        components = PCA(N_COMPONENTS, svd_solver="full").fit_transform(scaled)
        return _scaled(components) if self.name == STRETCHED else np.asarray(components)

    @cached_property
    def y(self) -> NDArray[np.int64]:
        """True classes."""
        return self._data.y[self._rows]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(np.unique(self.y))


def _scaled(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Put every feature into [-1, 1]; a constant one to 0."""
    low, high = X.min(axis=0), X.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    return np.asarray(np.where(high > low, 2 * (X - low) / width - 1, 0.0))
