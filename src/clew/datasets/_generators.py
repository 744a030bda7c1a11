"""Generated data sets that resemble real ones."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from clew.datasets._dataset import Dataset
from clew.exceptions import InvalidParameterError

__all__ = ["make_leaf_like"]


def make_leaf_like(
    n_samples: int = 250,
    *,
    n_features: int = 12,
    class_size: int = 15,
    noise: float = 0.55,
    random_state: int | RandomState | None = None,
) -> Dataset:
    """Generate items that resemble photographs of leaves: many small classes and some outliers.

    Classes differ in size and in standard deviation, and one item in twelve is an outlier. The
    distance of two items ignores the fifth of the features in which they differ most, as distances
    of matched outlines do, so it may violate the triangle inequality.

    Parameters
    ----------
    n_samples : int, default=250
        Number of items.
    n_features : int, default=12
        Number of features.
    class_size : int, default=15
        Mean size of the classes; each has at least three items.
    noise : float, default=0.55
        Standard deviation within classes; that of the centers is 1.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    Dataset
        With features `X` and distances `D`.

    Raises
    ------
    InvalidParameterError
        If there are fewer than 6 items or no features, classes are smaller than 3, or the noise
        is negative.

    Notes
    -----
    Time and memory grow with the square of `n_samples`, because of the distances.

    Examples
    --------
    >>> from clew.datasets import make_leaf_like
    >>> leaves = make_leaf_like(100, random_state=0)
    >>> leaves.X.shape, leaves.D.shape, leaves.n_classes
    ((100, 12), (100, 100), 6)
    """
    for name, value, least in (
        ("n_samples", n_samples, 6),
        ("n_features", n_features, 1),
        ("class_size", class_size, 3),
        ("noise", noise, 0),
    ):
        if not value >= least:
            raise InvalidParameterError(f"{name} must be at least {least}, got {value}")
    rng = check_random_state(random_state)
    n_classes = max(2, n_samples // class_size)
    share = rng.uniform(0.2, 1.8, n_classes)
    sizes = 3 + rng.multinomial(n_samples - 3 * n_classes, share / share.sum())
    y = rng.permutation(np.repeat(np.arange(n_classes), sizes))
    deviation = noise * rng.uniform(0.6, 1.4, n_classes)[y]
    deviation[rng.random_sample(n_samples) < 1 / 12] *= 1.8
    centers = rng.standard_normal((n_classes, n_features))
    X = centers[y] + deviation[:, None] * rng.standard_normal((n_samples, n_features))
    return Dataset(
        name="leaf_like",
        X=X,
        D=_distances_without_worst(X, n_kept=max(1, round(0.8 * n_features))),
        y=y.astype(np.int64),
        class_names=tuple(f"species {label}" for label in range(n_classes)),
        source="generated",
    )


def _distances_without_worst(X: NDArray[np.float64], n_kept: int) -> NDArray[np.float64]:
    """Return the root of the sum of the `n_kept` smallest squared differences, for all pairs."""
    D = np.empty((len(X), len(X)))
    for row, x in zip(D, X, strict=True):
        differences = np.square(X - x)
        differences.partition(n_kept - 1, axis=1)
        np.sqrt(differences[:, :n_kept].sum(axis=1), out=row)
    # Partitioning changes the order of summation, so both halves may differ in the last digit.
    return np.asarray((D + D.T) / 2)
