"""Generated data sets that resemble real ones: leaves, and faces on the web."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from clew.datasets._load import Dataset
from clew.exceptions import InvalidParameterError

#: Shape of the distribution of difficulty: a gamma distribution of mean 1.
DIFFICULTY = 4.0
N_BISECTIONS = 60


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


def make_face_like(
    n_samples: int = 51_418,
    *,
    n_classes: int = 200,
    n_features: int = 32,
    class_sizes: tuple[int, int] = (56, 1434),
    noise: float = 1.1,
    random_state: int | RandomState | None = None,
) -> Dataset:
    """Generate items that resemble photographs of faces: classes and items differ in difficulty.

    The standard deviation around the center of its class is drawn for each item: easy items are
    near the center, and hard ones are among those of other classes. Sizes of classes are uneven.

    Parameters
    ----------
    n_samples : int, default=51_418
        Number of items.
    n_classes : int, default=200
        Number of classes.
    n_features : int, default=32
        Number of features.
    class_sizes : tuple of two int, default=(56, 1434)
        Sizes of the smallest and the largest class; between them, sizes are unevenly distributed.
    noise : float, default=1.1
        Mean standard deviation within classes; that of the centers is 1.
    random_state : int, RandomState or None, default=None
        Seed.

    Returns
    -------
    Dataset
        With features `X`. Numbers and sizes are, by default, those of PubFig as the thesis used it.

    Raises
    ------
    InvalidParameterError
        If a number is too small, or the sizes of classes cannot add up to `n_samples`.

    Notes
    -----
    Standard deviations have a gamma distribution of shape 4. Time and memory O(n_samples).

    References
    ----------
    A. Biswas, "Semi-supervised and active image clustering with pairwise constraints from humans",
    PhD thesis, University of Maryland, 2014, section 4.6 (Face-200).

    Examples
    --------
    >>> import numpy as np
    >>> from clew.datasets import make_face_like
    >>> faces = make_face_like(2000, n_classes=20, class_sizes=(20, 300), random_state=0)
    >>> np.bincount(faces.y).min(), np.bincount(faces.y).max()
    (np.int64(20), np.int64(300))
    """
    smallest, largest = class_sizes
    for name, value, least in (
        ("n_classes", n_classes, 2),
        ("n_features", n_features, 1),
        ("the smallest class", smallest, 1),
        ("the largest class", largest, smallest),
        ("noise", noise, 0),
    ):
        if not value >= least:
            raise InvalidParameterError(f"{name} must be at least {least}, got {value}")
    middle = n_classes - 2
    low, high = largest + (middle + 1) * smallest, smallest + (middle + 1) * largest
    if not low <= n_samples <= high:
        raise InvalidParameterError(
            f"{n_classes} classes of {smallest} to {largest} items, of each at least one, have "
            f"{low} to {high} items, not {n_samples}; change class_sizes"
        )
    rng = check_random_state(random_state)
    sizes = _sizes(n_samples - smallest - largest, middle, class_sizes, rng)
    y = rng.permutation(np.repeat(np.arange(n_classes), rng.permutation(sizes)))
    centers = rng.standard_normal((n_classes, n_features))
    deviation = noise * rng.gamma(DIFFICULTY, 1 / DIFFICULTY, n_samples)
    X = centers[y] + deviation[:, None] * rng.standard_normal((n_samples, n_features))
    return Dataset(
        name="face_like",
        X=X,
        y=y.astype(np.int64),
        class_names=tuple(f"person {label}" for label in range(n_classes)),
        source="generated",
    )


def _sizes(
    total: int, n_middle: int, class_sizes: tuple[int, int], rng: RandomState
) -> NDArray[np.int64]:
    """Sizes between limits by a power law; bisection finds the exponent for the total."""
    smallest, largest = class_sizes
    uniform = rng.uniform(size=n_middle)
    span, low, high = np.log(largest / smallest), -20.0, 20.0
    for _ in range(N_BISECTIONS):
        power = (low + high) / 2
        sizes = smallest * np.exp(span * uniform ** np.exp(power))
        low, high = (power, high) if sizes.sum() > total else (low, power)
    whole = np.clip(np.round(sizes), smallest, largest).astype(np.int64)
    while (gap := total - int(whole.sum())) != 0:
        step = 1 if gap > 0 else -1
        room = np.flatnonzero((whole + step >= smallest) & (whole + step <= largest))
        whole[room[: abs(gap)]] += step
    return np.concatenate([[smallest, largest], whole])
