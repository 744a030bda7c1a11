"""Base class of the similarities that learn a kernel from a given kernel."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from clew._parallel import Progress, blocks
from clew._validation import Allowed, AllowedValues, RandomState, derived_seeds
from clew.constraints import Constraints
from clew.exceptions import InvalidDataError, InvalidParameterError
from clew.graphs import check_dense_size
from clew.similarity._embedding import LearnedSpace
from clew.similarity.kernels.feature_maps import (
    AdaptiveGaussian,
    CallableKernel,
    FeatureMap,
    FourierFeatures,
    PrecomputedKernel,
)

NAMED: dict[str, type[AdaptiveGaussian | FourierFeatures | PrecomputedKernel]] = {
    "adaptive": AdaptiveGaussian,
    "fourier": FourierFeatures,
    "precomputed": PrecomputedKernel,
}
ROWS_PER_BLOCK = 1024
#: Limits of features that are not 0: products of four of them must not overflow or underflow.
SMALLEST, LARGEST = 1e-70, 1e70
Floats = NDArray[np.float64]


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
