"""Units in which features are computed with: one way to shift and scale, several ways to choose."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clew.exceptions import InvalidDataError

__all__ = ["Units"]

Floats = NDArray[np.float64]
#: Features whose largest standard deviation exceeds so many medians are in different units.
MAX_DEVIATION_RATIO = 5.0
#: Standard deviations below this share of the largest value are rounding errors.
LEAST_DEVIATION = 1e-12
#: Ranges of features whose squares, and their inverses, are finite.
MIN_RANGE, MAX_RANGE = 1e-150, 1e153
#: Features between the inverse of the first and it need no other unit; nor another origin unless
#: it is more than so many units away.
LARGEST_UNIT, FARTHEST_ORIGIN = 1e50, 10.0


class Units(NamedTuple):
    """Map features x to ``(x - origin) / unit - center``.

    The class methods choose the numbers from the rows of a fit; `inside` and `outside` apply them
    to any rows.
    """

    origin: Floats | float
    """Subtracted first, one for each feature."""
    unit: Any
    """Divided by: one number, or one for each feature."""
    center: Floats | float = 0.0
    """Subtracted last, one for each feature."""

    @classmethod
    def around_median(cls, X: Floats) -> Self:
        """Center on the median and divide by one length, such that no square overflows.

        Most rows are then near the origin and none is far, even where one row is an outlier.
        """
        middle = np.median(X, axis=0)
        half = float(np.abs(X / 2 - middle / 2).max())
        length = min(half, np.finfo(np.float64).max / 2) * 2 or 1.0
        return cls(0.0, length, middle / length)

    @classmethod
    def around_mean(cls, X: Floats) -> Self:
        """Center on the mean and divide by the largest difference from it."""
        mean = X.mean(axis=0)
        farthest = np.maximum(X.max(axis=0) - mean, mean - X.min(axis=0))
        return cls(mean, float(farthest.max()) or 1.0)

    @classmethod
    def of_mean_variance(cls, X: Floats) -> Self:
        """Center on the mean and divide by one number, the root of the mean variance.

        Features that do not vary are left out of the mean, and become 0. The number is 1 where
        features are standardized, and where none varies.
        """
        varies = (X[0] != X).any(axis=0)
        # The mean of equal numbers is not always that number: what is left would count as variance.
        origin = np.where(varies, X.mean(axis=0), X[0])
        largest = float(np.abs(X - origin).max()) or 1.0
        variance = (((X - origin) / largest) ** 2).mean(axis=0)
        deviation = float(np.sqrt(variance[varies].mean())) if varies.any() else 1.0 / largest
        return cls(origin, largest * deviation)

    @classmethod
    def of_ranges(cls, X: Floats) -> Self:
        """Divide each feature by its range and center on the mean, as metrics are learned.

        A range leaves rare values of a feature that is nearly constant their small weight, as in
        k-means; a standard deviation would raise it. Features without a range become 0.

        Raises
        ------
        InvalidDataError
            If the square of a range, or its inverse, is not finite.
        """
        low = X.min(axis=0)
        with np.errstate(over="ignore"):
            span = X.max(axis=0) - low
        bad = np.flatnonzero((span > MAX_RANGE) | ((span > 0) & (span < MIN_RANGE)))
        if len(bad):
            raise InvalidDataError(
                f"the values of feature {bad[0]} span {span[bad[0]]:.3g}; a metric is in inverse "
                f"squared units, so a span must be 0 or within {MIN_RANGE:g} and {MAX_RANGE:g}. "
                "Give the feature in other units"
            )
        unit = np.where(span > 0, span, 1.0)
        # Lowest values first: a feature without a range becomes 0, not a rounding error.
        return cls(low, unit, ((X - low) / unit).mean(axis=0))

    @classmethod
    def to_unit_range(cls, X: Floats) -> Self:
        """Map the range of each feature to [-1, 1]; features without a range become 0."""
        low, high = X.min(axis=0), X.max(axis=0)
        # Halves, because the range of finite numbers may not be finite.
        half = high / 2 - low / 2
        return cls(low / 2 + high / 2, np.where(half > 0, half, np.inf))

    @classmethod
    def standardized(cls, X: Floats, standardize: bool | Literal["auto"]) -> Self:
        """Center on the mean; divide each feature by its standard deviation, or all by one number.

        Parameters
        ----------
        X : ndarray of shape (n_samples, n_features)
            Features.
        standardize : bool or "auto"
            Whether each feature is divided by its own standard deviation. "auto": where the largest
            standard deviation exceeds five times the median of those that are not 0.
        """
        largest = np.abs(X).max(axis=0)
        largest[largest == 0] = 1.0
        inside = X / largest  # no square overflows
        with np.errstate(over="ignore"):
            deviation = inside.std(axis=0) * largest
        varies = inside.std(axis=0) > LEAST_DEVIATION
        if standardize == "auto":
            share = deviation[varies] / deviation[varies].max() if varies.any() else np.ones(1)
            standardize = bool(np.median(share) * MAX_DEVIATION_RATIO < 1)
        common = np.abs(X).max() or 1.0
        unit = np.where(varies, deviation, largest) if standardize else np.full(X.shape[1], common)
        return cls(0.0, unit, inside.mean(axis=0) * largest / unit)

    @property
    def are_needless(self) -> bool:
        """Whether features can be computed with as they are; only of one number `unit`."""
        is_far_off = bool(np.abs(self.origin).max() > FARTHEST_ORIGIN * self.unit)
        return bool(1 / LARGEST_UNIT < self.unit < LARGEST_UNIT) and not is_far_off

    def inside(self, X: Floats) -> Floats:
        """Bring features into the units that are computed in."""
        inside = np.asarray(X - self.origin)
        inside /= self.unit  # in place: of many rows two copies may not fit
        inside -= self.center
        return inside

    def outside(self, X: Floats) -> Floats:
        """Bring features back into their own units."""
        return np.asarray((X + self.center) * self.unit + self.origin)

    def squared_outside(self, value: float) -> float:
        """Bring a sum of squares back into its own units; too large a one is inf."""
        return float(value * self.unit * self.unit)

    def metrics_outside(self, metrics: Floats) -> Floats:
        """Bring diagonals or matrices of squared distances back into the features' own units."""
        each = metrics / self.unit
        unit = np.asarray(self.unit)
        return np.asarray(each / (unit[:, None] if metrics.ndim == 3 else unit))
