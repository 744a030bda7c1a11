"""Feature maps of kernels, whose inner products approximate a kernel, and what learns on them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from sklearn.base import clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from clew._parallel import Progress, blocks
from clew._units import Units
from clew._validation import Allowed, AllowedValues, RandomState, derived_seeds
from clew.constraints import Constraints
from clew.exceptions import InvalidDataError, InvalidParameterError
from clew.graphs import LocalScales, check_dense_size, check_square, local_gaussian
from clew.similarity._embedding import LearnedSpace

__all__ = ["AdaptiveGaussian", "KernelFunction", "computed_kernel"]

#: If there are more rows, pivots and scales are computed from a random sample of this size.
SAMPLE_ROWS = 3000
ROWS_PER_BLOCK = 1024
#: The scale of a row is the distance to its neighbor of the first number; with n rows, to neighbor
#: n divided by the second number if that is nearer.
SCALE_NEIGHBOR, NEAREST_SHARE = 100, 8
#: Least share of the trace that the features explain; the paper's 99 %.
TRACE_SHARE = 0.99
#: Pivots with a smaller share of the largest diagonal entry are only rounding errors.
LEAST_RESIDUAL = 1e-3
MAX_AUTO_RANK = 300
Floats = NDArray[np.float64]
#: Returns the kernel of all rows of one array with all rows of another.
KernelFunction = Callable[[Floats, Floats], Floats]


class FeatureMap(Protocol):
    """A transformer from rows to features."""

    def fit(self, X: Floats) -> Self:
        """Learn the map from rows."""

    def transform(self, X: Floats) -> Floats:
        """Return the features of rows, fitted or new."""


class PivotedKernel:
    """Nyström features of a kernel, computed from its values with some rows, the pivots.

    `rank` is the largest number of pivots; None adds pivots until they explain 99 % of the trace,
    at most 300. `seed` is for the sample they are chosen from beyond 3,000 rows. Subclasses
    implement `fit`, which calls `_choose`, and `_with_pivots`.
    """

    def __init__(self, rank: int | None = None, seed: int = 0) -> None:
        self.rank = rank
        self.seed = seed

    def _sample(self, X: Floats) -> Floats:
        """Return the rows from which pivots are chosen."""
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
        """Return the kernel of rows with the pivots."""
        raise NotImplementedError

    def transform(self, X: Floats) -> Floats:
        """Return the features of rows, (n_rows, rank)."""
        features = np.empty((len(X), len(self._root)))
        if not len(self._root):  # the kernel has no positive diagonal entry
            return features
        for start, stop in blocks(len(X), ROWS_PER_BLOCK):
            kernel = self._with_pivots(X[start:stop])
            features[start:stop] = solve_triangular(self._root, kernel.T, lower=True).T
        return features


def pivoted_cholesky(
    diagonal: Floats, column: Callable[[int], Floats], max_rank: int, residual_share: float
) -> tuple[NDArray[np.int64], Floats]:
    """Choose pivots by Cholesky decomposition; return them, and L where ``L L'`` is their kernel.

    `column` returns the kernel of all rows with one. Pivots are added until the residual is at most
    a share of the trace; negative residuals of an indefinite kernel become 0. Time O(n·rank²).
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


class AdaptiveGaussian(PivotedKernel):
    """Gaussian kernel with local scales: ``exp(-d² / (s·t))`` for scales s and t.

    The scale of a row is the distance to its 100th neighbor among the fitted rows, or to its
    (n/8)th if that is nearer. Rows that coincide with it are left out. If there are more than 3,000
    rows, neighbors are found in a random sample of 3,000.
    """

    def fit(self, X: Floats) -> Self:
        """Compute scales and choose pivots."""
        self._units = Units.around_median(X)
        rows = self._sample(self._units.scale(X))
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
        rows = self._units.scale(X)
        distance = euclidean_distances(rows, self._pivots)
        return local_gaussian(distance, self._scales.of(rows)[:, None], self._pivot_scale)


class CallableKernel(PivotedKernel):
    """A kernel given as a function of two sets of rows, such as those of scikit-learn."""

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


def computed_kernel(kernel: KernelFunction, rows: Floats, others: Floats) -> Floats:
    """Call a kernel function, and refuse a result of another shape, or that is not finite."""
    values = np.asarray(kernel(rows, others), dtype=np.float64)
    if values.shape != (len(rows), len(others)) or not np.isfinite(values).all():
        raise InvalidDataError(
            f"kernel, given {len(rows)} and {len(others)} rows, must return finite numbers of "
            f"shape {(len(rows), len(others))}; it returned shape {values.shape}"
            f"{'' if np.isfinite(values).all() else ', not all finite'}"
        )
    return values


class PrecomputedKernel(PivotedKernel):
    """A precomputed kernel: each row of X holds the kernel of a row with all fitted rows."""

    def fit(self, X: Floats) -> Self:
        """Choose pivots."""
        check_square(X, "kernel")
        self._columns = self._choose(np.diagonal(X).copy(), lambda pivot: X[:, pivot])
        return self

    def _with_pivots(self, X: Floats) -> Floats:
        return X[:, self._columns]


class FourierFeatures:
    """Fourier features of a Gaussian kernel of median scale; `rank` of them, None is 300."""

    def __init__(self, rank: int | None = None, seed: int = 0) -> None:
        self.rank = rank
        self.seed = seed

    def fit(self, X: Floats) -> Self:
        """Compute the scale and draw the features."""
        self._units = Units.around_median(X)
        rows = self._units.scale(X)
        pairs = np.random.RandomState(self.seed).randint(len(rows), size=(2, SAMPLE_ROWS))
        squared = np.square(rows[pairs[0]] - rows[pairs[1]]).sum(axis=1)
        squared = squared[squared > 0]
        gamma = 1 / float(np.median(squared)) if len(squared) else 1.0
        self._sampler = RBFSampler(
            gamma=gamma, n_components=self.rank or MAX_AUTO_RANK, random_state=self.seed
        ).fit(rows)
        return self

    def transform(self, X: Floats) -> Floats:
        """Return the features of rows, (n_rows, rank)."""
        return np.asarray(self._sampler.transform(self._units.scale(X)))


NAMED: dict[str, type[AdaptiveGaussian | FourierFeatures | PrecomputedKernel]] = {
    "adaptive": AdaptiveGaussian,
    "fourier": FourierFeatures,
    "precomputed": PrecomputedKernel,
}
#: Limits of features that are not 0: products of four of them must not overflow or underflow.
SMALLEST, LARGEST = 1e-70, 1e70


class Seeds(NamedTuple):
    """The seeds of a fit."""

    features: int
    distances: int
    order: int
    folds: int


class KernelSpace(LearnedSpace):
    """Learn a matrix A for features Φ of a given kernel; the learned kernel is ``Φ A Φ'``.

    Subclasses store `kernel`, `rank` and `random_state`, and implement `_learn`.
    """

    _allowed: ClassVar[dict[str, AllowedValues]] = {
        "rank": Allowed(names=("auto",), kind=int, low=1)
    }

    kernel: Any
    rank: int | Literal["auto"]
    random_state: RandomState
    A_: Floats
    rank_: int
    _map: FeatureMap
    _root: Floats

    def __sklearn_tags__(self) -> Tags:
        tags: Tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    def _learn(
        self, features: Floats, answers: Constraints, seeds: Seeds, callback: Progress | None
    ) -> Floats:
        """Learn A, (rank, rank), and set all other fitted attributes."""
        raise NotImplementedError

    def _solve(self, X: Floats, answers: Constraints, callback: Progress | None) -> None:
        seeds = Seeds(*derived_seeds(self.random_state, len(Seeds._fields)))
        self._map = self._feature_map(seeds.features).fit(X)
        features = self._features(X)
        largest = max(float(features.max()), -float(features.min()))
        if largest and not SMALLEST < largest < LARGEST:
            raise InvalidDataError(
                f"{type(self).__name__}(kernel={self.kernel!r}): the largest feature of the kernel "
                f"must be between {SMALLEST:g} and {LARGEST:g}, got {largest:.3g}. Rescale the "
                "data or the kernel"
            )
        self._set_learned(features, self._learn(features, answers, seeds, callback))

    def _feature_map(self, seed: int) -> FeatureMap:
        rank = None if self.rank == "auto" else int(self.rank)
        if isinstance(self.kernel, str) and self.kernel in NAMED:
            return NAMED[self.kernel](rank, seed)
        if hasattr(self.kernel, "transform") and not isinstance(self.kernel, type):
            if rank is not None:
                raise InvalidParameterError(
                    f"{type(self).__name__}(rank={self.rank!r}): the number of features is set by "
                    f"the transformer {type(self.kernel).__name__} given as kernel; leave "
                    "rank='auto'"
                )
            return clone(self.kernel)  # type: ignore[no-any-return]
        if callable(self.kernel):
            return CallableKernel(self.kernel, rank, seed)
        raise InvalidParameterError(
            f"{type(self).__name__}(kernel={self.kernel!r}): kernel must be one of "
            f"{', '.join(map(repr, NAMED))}, a function of two sets of rows, or a transformer"
        )

    def _features(self, X: Floats) -> Floats:
        """Return the features of rows, as an array that may be changed."""
        transformed: Any = self._map.transform(X)
        is_foreign = hasattr(self.kernel, "transform")  # a transformer may return its own data
        features = np.array(
            transformed.toarray() if hasattr(transformed, "toarray") else transformed,
            dtype=np.float64, order="C", copy=True if is_foreign else None,
        )  # fmt: skip
        if features.ndim != 2 or features.shape[1] == 0 or not np.isfinite(features).all():
            raise InvalidDataError(
                f"{type(self).__name__}(kernel={self.kernel!r}): the kernel of rows with "
                "themselves must be finite and somewhere positive; scale the features or use "
                "another kernel"
            )
        return features

    def _diameter(self) -> float | None:
        """Return the largest possible squared distance, or None if it is not known."""
        is_gaussian = isinstance(self.kernel, str) and self.kernel != "precomputed"
        return 2.0 if is_gaussian else None

    def _set_learned(self, features: Floats, A: Floats) -> None:
        """Turn features into learned features, in place, as two such arrays may not fit."""
        value, vector = np.linalg.eigh((A + A.T) / 2)
        root = np.asarray((vector * np.sqrt(np.maximum(value, 0.0))) @ vector.T)
        self.A_, self.rank_, self._root = A, len(A), root
        for start, stop in blocks(len(features), ROWS_PER_BLOCK):
            features[start:stop] = features[start:stop] @ self._root
        self.embedding_ = features

    def _embed(self, X: Floats) -> Floats:
        return np.asarray(self._map.transform(X) @ self._root)

    @property
    def kernel_(self) -> Floats:
        """The learned kernel of fitted rows, (n_samples, n_samples); computed at each access."""
        check_is_fitted(self, "embedding_")
        check_dense_size(len(self.embedding_))
        return self.embedding_ @ self.embedding_.T
