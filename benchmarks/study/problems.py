"""Data sets as the studies use them: rows selected, features scaled, components taken."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from clew import datasets

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Scale = Literal["standard", "range", "largest"]


@dataclass(frozen=True, eq=False)
class Problem:
    """Features, or distances and coordinates made of them, and the true classes."""

    name: str
    X: Floats
    y: Ints
    class_names: tuple[str, ...] = ()
    distances: Floats | None = None  # Distances, if the set has no features

    @property
    def n_classes(self) -> int:
        return len(np.unique(self.y))


@lru_cache(maxsize=8)
def load(
    name: str,
    scale: Scale | None = None,
    *,
    per_class: int | None = None,
    n_components: int | None = None,
    n_coordinates: int = 30,
    is_squared: bool = False,
) -> Problem:
    """Load a data set of `clew.datasets` and prepare it; repeated calls return the same object.

    `scale`: mean 0 and variance 1, the range [-1, 1], or division by the largest value of all.
    `per_class`: only the first rows of each class. `n_components`: principal components in place of
    the scaled features. If the set has no features, classical scaling computes `n_coordinates` from
    the distances, which may be stored as squares.
    """
    data = datasets.load(name, scale="standard" if scale == "standard" else None)
    first = [np.flatnonzero(data.y == c)[:per_class] for c in np.unique(data.y)]
    rows = np.arange(len(data.y)) if per_class is None else np.concatenate(first)
    parts: dict[str, Any] = {"y": data.y[rows], "class_names": tuple(data.class_names)}
    if data.X is None:
        if data.D is None:
            raise TypeError(f"{name} has neither features nor distances")
        distances = np.sqrt(data.D) if is_squared else data.D
        X = classical_scaling(distances, n_coordinates)
        return Problem(name, X, distances=distances, **parts)
    X = data.X[rows]
    if scale == "range":
        X = to_range(X)
    elif scale == "largest":
        X = X / data.X.max()
    if n_components is not None and n_components < min(X.shape):
        X = np.asarray(PCA(n_components, svd_solver="full").fit_transform(X))
    return Problem(name, X, **parts)


def rows_of(y: Ints, n: int, per_class: int, rng: np.random.RandomState) -> Ints:
    """Draw `n` rows: `per_class` at most of each class, class by class; 0 draws among all rows."""
    if not per_class:
        return rng.permutation(len(y))[:n]
    classes = rng.permutation(np.unique(y))
    rows = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:per_class] for c in classes])
    return rng.permutation(rows[:n])


def to_range(X: Floats) -> Floats:
    """Scale every feature to [-1, 1]; a constant one to 0."""
    low, high = X.min(axis=0), X.max(axis=0)
    width = np.where(high > low, high - low, 1.0)
    return np.asarray(np.where(high > low, 2 * (X - low) / width - 1, 0.0))


def classical_scaling(distances: Floats, n_components: int) -> Floats:
    """Find coordinates whose distances approximate the given ones, largest variance first."""
    squared = distances**2
    middle = squared.mean(axis=0)
    inner = (middle[:, None] + middle - squared - middle.mean()) / 2
    variance, axes = np.linalg.eigh(inner)
    kept = slice(-1, -n_components - 1, -1)
    return np.asarray(axes[:, kept] * np.sqrt(np.maximum(variance[kept], 0.0)))
