"""Generated items that resemble faces on the web: many classes of uneven size and difficulty."""

from __future__ import annotations

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from clew.datasets._dataset import Dataset
from clew.exceptions import InvalidParameterError

__all__ = ["make_face_like"]

#: Shape of the distribution of difficulty: a gamma distribution of mean 1.
DIFFICULTY = 4.0
N_BISECTIONS = 60


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
    """Return the sizes of all classes: the limits, and sizes between them that add up to a total.

    Logarithms of sizes are powers of uniform numbers; the power is found by bisection.
    """
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
