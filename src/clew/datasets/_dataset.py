"""Data sets, whatever their source, and checks of their arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.preprocessing import minmax_scale, scale

from clew.exceptions import InvalidDataError, InvalidParameterError

__all__ = ["Dataset", "as_distances", "as_features", "as_labels", "scaled"]

Scale = Literal["standard", "minmax"]
#: A type that type checkers accept in place of an array and of None: the caller knows whether a
#: data set has features.
MaybeNone = Any


@dataclass(frozen=True, kw_only=True, eq=False)
class Dataset:
    """Items with known classes.

    Parameters
    ----------
    name : str
        Its name, as `load` takes it.
    X : ndarray of shape (n_samples, n_features), float64, or None
        Features; None if there are none.
    D : ndarray of shape (n_samples, n_samples), float64, or None
        Distances, symmetric, with zeros on the diagonal; None if there are none.
    y : ndarray of shape (n_samples,), int64
        The class of each item, as a position in `class_names`.
    class_names : tuple of str
        Names of the classes.
    source : str
        Where it was loaded from.

    Examples
    --------
    >>> from clew.datasets import load
    >>> iris = load("iris")
    >>> iris.X.shape, iris.n_classes, iris.class_names[0]
    ((150, 4), 3, 'setosa')
    """

    name: str
    y: NDArray[np.int64]
    class_names: tuple[str, ...]
    source: str
    X: NDArray[np.float64] | MaybeNone = None
    D: NDArray[np.float64] | MaybeNone = None

    @property
    def n_samples(self) -> int:
        """Number of items."""
        return int(self.y.size)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.class_names)


def scaled(dataset: Dataset, how: Scale | None) -> Dataset:
    """Scale the features; constant ones become 0."""
    if how is None:
        return dataset
    if how not in ("standard", "minmax"):
        raise InvalidParameterError(f'scale must be "standard", "minmax" or None, got {how!r}')
    if dataset.X is None:
        raise InvalidParameterError(
            f"{dataset.name} has distances only, which scale={how!r} cannot change; use scale=None"
        )
    return replace(dataset, X=scale(dataset.X) if how == "standard" else minmax_scale(dataset.X))


def as_features(values: ArrayLike) -> NDArray[np.float64]:
    """Check features: two-dimensional, finite, at least one row and column."""
    X = _as_finite(values, "X")
    if X.ndim != 2 or 0 in X.shape:
        raise InvalidDataError(f"X must have shape (n_samples, n_features), got {X.shape}")
    return X


def as_distances(values: ArrayLike) -> NDArray[np.float64]:
    """Check distances: square, finite, not negative, symmetric, zero on the diagonal."""
    D = _as_finite(values, "D")
    if D.ndim != 2 or D.shape[0] != D.shape[1] or D.size == 0:
        raise InvalidDataError(f"D must have shape (n_samples, n_samples), got {D.shape}")
    if (D < 0).any() or D.diagonal().any():
        raise InvalidDataError("D must not be negative, and 0 on the diagonal")
    if not np.allclose(D, D.T):
        raise InvalidDataError("D must be symmetric")
    return D


def _as_finite(values: ArrayLike, name: str) -> NDArray[np.float64]:
    try:
        array = np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"{name} must hold numbers: {error}") from error
    if not np.isfinite(array).all():
        raise InvalidDataError(f"{name} must be finite, but holds NaN or infinite values")
    return array


def as_labels(
    values: ArrayLike, class_names: ArrayLike | None, n_samples: int
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """Check labels; without names of classes, number the distinct values."""
    labels = np.asarray(values)
    if labels.shape != (n_samples,):
        raise InvalidDataError(f"y must have shape ({n_samples},), got {labels.shape}")
    if class_names is None:
        found, y = np.unique(labels, return_inverse=True)
        return y.astype(np.int64), tuple(map(str, found))
    names = tuple(map(str, np.asarray(class_names).ravel()))
    if labels.dtype.kind not in "iu" or labels.min() < 0 or labels.max() >= len(names):
        raise InvalidDataError(
            f"y must hold positions in class_names: integers from 0 to {len(names) - 1}"
        )
    return labels.astype(np.int64), names
