"""Log-likelihood ratio of a pair of rows: within one group against between two groups.

A linear discriminant model with Gaussian groups (as PLDA for faces and voices), with the heavier
tails of Student's distribution.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clew._parallel import blocks
from clew.kernels.partitions.pairs import number_of_pairs
from clew.questions.guided._pair_features import put_below

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]

#: Degrees of freedom of Student's distribution.
TAIL = 10.0
#: Ratios are clipped to this range, in nats.
LIMIT = 6.0
#: Least number of differences within groups from which the covariance is estimated.
FEWEST = 5
#: Rows whose ratios are computed at once.
ROWS_AT_ONCE = 256


class WithinRatio(NamedTuple):
    """The ratio of all pairs; `refitted` returns a new one for new groups."""

    coordinates: Floats
    """(n_rows, n_dimensions)"""
    prior: Floats | None
    """Covariance within the first groups, shrunk."""
    within: Floats | None
    """Covariance within groups that the ratios are computed from."""
    values: Singles
    """(n_pairs,), in nats, positive where the pair is more likely in one group."""

    @classmethod
    def start(cls, coordinates: Floats) -> Self:
        """Start without groups: all ratios are 0."""
        return cls.of(coordinates, None, None)

    @classmethod
    def of(cls, coordinates: Floats, prior: Floats | None, within: Floats | None) -> Self:
        """Compute the ratios from covariances; all are 0 without one."""
        if within is None:
            zeros = np.zeros(number_of_pairs(len(coordinates)), np.float32)
            return cls(coordinates, prior, within, zeros)
        return cls(coordinates, prior, within, _ratio(coordinates, within))

    def refitted(self, labels: NDArray[np.int64]) -> WithinRatio:
        """Learn the covariance within groups, unless there are too few differences within them.

        The first time, the covariance, shrunk, becomes the prior of later ones.
        """
        points = self.coordinates
        n_dimensions = points.shape[1]
        sizes = np.bincount(labels)
        means = np.zeros((len(sizes), n_dimensions))
        np.add.at(means, labels, points)
        rest = points - (means / np.maximum(sizes, 1)[:, None])[labels]
        n_differences = int(np.maximum(sizes - 1, 0).sum())
        if n_differences < FEWEST or not rest.any():
            return self
        within = rest.T @ rest / n_differences
        if self.prior is None:
            within = _shrunk(within, np.cov(points.T).reshape(within.shape))
            return WithinRatio.of(points, within, within)
        within = n_differences * within + n_dimensions * self.prior
        return WithinRatio.of(points, self.prior, within / (n_differences + n_dimensions))


def _shrunk(within: Floats, overall: Floats) -> Floats:
    """Average of a sphere and the shape of all rows, with the trace of `within`."""
    mean = np.trace(within) / len(within)
    sphere = mean * np.eye(len(within))
    return np.asarray(0.5 * sphere + 0.5 * overall * np.trace(within) / np.trace(overall))


def _ratio(points: Floats, within: Floats) -> Singles:
    value, vectors = np.linalg.eigh(within)
    white = points @ (vectors / np.sqrt(np.maximum(value, 1e-12 * value[-1])))
    _, turned = np.linalg.eigh(np.cov(white.T).reshape(within.shape))
    white = white @ turned
    white -= white.mean(axis=0)
    between = np.maximum(white.var(axis=0) - 1.0, 0.05)
    ratio = np.empty(number_of_pairs(len(points)), np.float32)
    same, different = _squares(white), _squares(white / np.sqrt(2 + 2 * between))
    rest = 0.5 * np.log1p(between).sum()
    for start, stop in blocks(len(points), ROWS_AT_ONCE):
        tails = np.log1p(same(start, stop) / 2 / TAIL) - np.log1p(different(start, stop) / TAIL)
        of_rows = rest - 0.5 * (TAIL + points.shape[1]) * tails
        put_below(ratio, np.clip(of_rows, -LIMIT, LIMIT), start)
    return ratio


def _squares(points: Floats) -> Callable[[int, int], Floats]:
    """Return a function that computes squared distances of some rows to all."""
    lengths = (points**2).sum(axis=1)

    def of_rows(start: int, stop: int) -> Floats:
        products = (2 * points[start:stop]) @ points.T
        return np.asarray(np.maximum(lengths[start:stop, None] + lengths - products, 0.0))

    return of_rows
