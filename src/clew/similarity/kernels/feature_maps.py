"""Features whose inner products are a kernel, nearly: for fitted rows and for new ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics.pairwise import euclidean_distances

from clew._parallel import blocks
from clew._units import Units
from clew.exceptions import InvalidDataError
from clew.graphs import LocalScales, check_square, local_gaussian

__all__ = [
    "AdaptiveGaussian",
    "CallableKernel",
    "FeatureMap",
    "FourierFeatures",
    "KernelFunction",
    "PrecomputedKernel",
    "computed_kernel",
    "pivoted_cholesky",
]

#: Of more rows than these, a sample is looked at to choose pivots and to measure scales.
SAMPLE_ROWS = 3000
ROWS_PER_BLOCK = 1024
#: Which neighbour gives the scale of a row, and at most which share of the rows are nearer.
SCALE_NEIGHBOR, NEAREST_SHARE = 100, 8
#: Share of the trace that features hold at least; the paper's 99 %.
TRACE_SHARE = 0.99
#: Where a rank is asked for: below this share there is only rounding, or nothing positive.
LEAST_RESIDUAL = 1e-3
MAX_AUTO_RANK = 300
Floats = NDArray[np.float64]
#: Gives the inner products of all rows of one array with all rows of another.
KernelFunction = Callable[[Floats, Floats], Floats]


class FeatureMap(Protocol):
    """Turns rows into features."""

    def fit(self, X: Floats) -> Self:
        """Learn from rows."""

    def transform(self, X: Floats) -> Floats:
        """Give the features of rows, fitted or new."""


def computed_kernel(kernel: KernelFunction, rows: Floats, others: Floats) -> Floats:
    """Call the function, and check what it returns.

    Raises
    ------
    InvalidDataError
        If it is not one finite number for each two rows.
    """
    found = np.asarray(kernel(rows, others), dtype=np.float64)
    if found.shape != (len(rows), len(others)) or not np.isfinite(found).all():
        raise InvalidDataError(
            f"kernel, given {len(rows)} and {len(others)} rows, must return finite numbers of "
            f"shape {(len(rows), len(others))}; it returned shape {found.shape}"
            f"{'' if np.isfinite(found).all() else ', not all finite'}"
        )
    return found


def pivoted_cholesky(
    diagonal: Floats, column: Callable[[int], Floats], max_rank: int, residual_share: float
) -> tuple[NDArray[np.int64], Floats]:
    """Choose rows from which a kernel can be told.

    Parameters
    ----------
    diagonal : ndarray of shape (n_rows,)
        Kernel of each row with itself.
    column : callable
        Gives the kernel of all rows with one of them, (n_rows,), by its number.
    max_rank : int
        How many rows at most.
    residual_share : float
        No more are chosen once the rest of the trace is at most such a share of it.

    Returns
    -------
    pivots : ndarray of shape (rank,), int64
        The rows.
    root : ndarray of shape (rank, rank)
        Lower triangular L with ``L L'`` the kernel of the pivots.

    Notes
    -----
    For a kernel that is not positive semidefinite: what is left is taken for nil where it is
    negative, so that no square root fails. Time O(n·rank²) and memory O(n·rank).
    """
    left = diagonal.astype(np.float64)
    trace = float(left.sum())
    root = np.empty((len(left), min(max_rank, len(left))))
    pivots: list[int] = []
    while len(pivots) < root.shape[1] and left.sum() > residual_share * trace:
        at, pivot = len(pivots), int(np.argmax(left))
        if left[pivot] <= LEAST_RESIDUAL * diagonal.max():
            break
        rest = column(pivot) - root[:, :at] @ root[pivot, :at]
        root[:, at] = rest / np.sqrt(left[pivot])
        root[pivot, at] = np.sqrt(left[pivot])
        left = np.maximum(left - root[:, at] ** 2, 0.0)
        left[pivot] = 0.0
        pivots.append(pivot)
    chosen = np.array(pivots, np.int64)
    return chosen, np.tril(root[chosen, : len(chosen)])


class PivotedKernel:
    """Features from the kernel with some rows, the pivots (Nyström).

    The inner products of features are the kernel of rows with pivots exactly, and nearly the
    kernel of all rows. Subclasses write `_pivots_of` and `_with_pivots`.

    Parameters
    ----------
    rank : int or None
        How many pivots. None: until they hold 99 % of the trace, 300 at most.
    seed : int
        Samples the rows from which pivots are chosen, where there are many.
    """

    def __init__(self, rank: int | None = None, seed: int = 0) -> None:
        self.rank = rank
        self.seed = seed

    def _sample(self, X: Floats) -> Floats:
        """Give the rows to choose from."""
        if len(X) <= SAMPLE_ROWS:
            return X
        chosen = np.random.RandomState(self.seed).choice(len(X), SAMPLE_ROWS, replace=False)
        return X[np.sort(chosen)]

    def _choose(self, diagonal: Floats, column: Callable[[int], Floats]) -> NDArray[np.int64]:
        share = 1 - TRACE_SHARE if self.rank is None else LEAST_RESIDUAL
        max_rank = MAX_AUTO_RANK if self.rank is None else self.rank
        pivots, self._root = pivoted_cholesky(diagonal, column, max_rank, share)
        return pivots

    def _with_pivots(self, X: Floats) -> Floats:
        """Give the kernel of rows with the pivots."""
        raise NotImplementedError

    def transform(self, X: Floats) -> Floats:
        """Give the features of rows, (n_rows, rank)."""
        features = np.empty((len(X), len(self._root)))
        if not len(self._root):  # nothing positive: there is no pivot to ask about
            return features
        for start, stop in blocks(len(X), ROWS_PER_BLOCK):
            kernel = self._with_pivots(X[start:stop])
            features[start:stop] = solve_triangular(self._root, kernel.T, lower=True).T
        return features


class AdaptiveGaussian(PivotedKernel):
    """Gaussian kernel whose width follows the density: ``exp(-d² / (s·t))`` for scales s and t.

    The scale of a row is its distance to the 100th of the nearest fitted rows, but no more than an
    eighth of them are nearer. Rows that coincide with it do not count, so that no scale is 0.
    Past 3,000 rows, scales are measured among a sample of so many.
    """

    def fit(self, X: Floats) -> Self:
        """Measure scales and choose pivots."""
        self._units = Units.around_median(X)
        rows = self._sample(self._units.inside(X))
        n_neighbors = min(SCALE_NEIGHBOR, max(len(rows) // NEAREST_SHARE, 1))
        self._scales = LocalScales(rows, n_neighbors)
        scale = self._scales.of(rows)

        def column(pivot: int) -> Floats:
            distance = euclidean_distances(rows, rows[pivot : pivot + 1])
            return local_gaussian(distance, scale[:, None], scale[pivot])[:, 0]

        pivots = self._choose(np.ones(len(rows)), column)
        self._pivots, self._pivot_scale = rows[pivots], scale[pivots]
        return self

    def _with_pivots(self, X: Floats) -> Floats:
        rows = self._units.inside(X)
        distance = euclidean_distances(rows, self._pivots)
        return local_gaussian(distance, self._scales.of(rows)[:, None], self._pivot_scale)


class CallableKernel(PivotedKernel):
    """Any kernel that is a function of two sets of rows, as scikit-learn's are.

    Parameters
    ----------
    kernel : callable
        Gives the kernel of rows of X with rows of Y, (len(X), len(Y)).
    rank, seed
        As for `PivotedKernel`.
    """

    def __init__(self, kernel: KernelFunction, rank: int | None = None, seed: int = 0) -> None:
        super().__init__(rank, seed)
        self.kernel = kernel

    def fit(self, X: Floats) -> Self:
        """Choose pivots."""
        rows = self._sample(X)
        diagonal = np.concatenate([
            np.diagonal(self._of(rows[start:stop], rows[start:stop]))
            for start, stop in blocks(len(rows), ROWS_PER_BLOCK // 4)
        ])  # fmt: skip
        self._pivots = rows[
            self._choose(diagonal, lambda pivot: self._of(rows, rows[pivot : pivot + 1])[:, 0])
        ]
        return self

    def _of(self, X: Floats, Y: Floats) -> Floats:
        return computed_kernel(self.kernel, X, Y)

    def _with_pivots(self, X: Floats) -> Floats:
        return self._of(X, self._pivots)


class PrecomputedKernel(PivotedKernel):
    """A kernel that is given: rows are the kernel with all fitted rows."""

    def fit(self, X: Floats) -> Self:
        """Choose pivots."""
        check_square(X, "kernel")
        self._columns = self._choose(np.diagonal(X).copy(), lambda pivot: X[:, pivot])
        return self

    def _with_pivots(self, X: Floats) -> Floats:
        return X[:, self._columns]


class FourierFeatures:
    """Random Fourier features of a Gaussian kernel as wide as the median distance.

    Parameters
    ----------
    rank : int or None
        How many; None is 300.
    seed : int
        Draws them.
    """

    def __init__(self, rank: int | None = None, seed: int = 0) -> None:
        self.rank = rank
        self.seed = seed

    def fit(self, X: Floats) -> Self:
        """Measure the width and draw the features."""
        self._units = Units.around_median(X)
        rows = self._units.inside(X)
        pairs = np.random.RandomState(self.seed).randint(len(rows), size=(2, SAMPLE_ROWS))
        squared = np.square(rows[pairs[0]] - rows[pairs[1]]).sum(axis=1)
        squared = squared[squared > 0]
        gamma = 1 / float(np.median(squared)) if len(squared) else 1.0
        self._sampler = RBFSampler(
            gamma=gamma, n_components=self.rank or MAX_AUTO_RANK, random_state=self.seed
        ).fit(rows)
        return self

    def transform(self, X: Floats) -> Floats:
        """Give the features of rows, (n_rows, rank)."""
        return np.asarray(self._sampler.transform(self._units.inside(X)))
