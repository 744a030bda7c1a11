"""Shifting and scaling of features: one map, and several ways to choose its numbers."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clew.exceptions import InvalidDataError

__all__ = ["Units"]

Floats = NDArray[np.float64]
#: Features are in different units if their largest standard deviation exceeds the median by this
#: factor.
MAX_DEVIATION_RATIO = 5.0
#: Standard deviations below this share of the largest value are rounding errors.
LEAST_DEVIATION = 1e-12
#: Ranges of features whose squares, and their inverses, are finite.
MIN_RANGE, MAX_RANGE = 1e-150, 1e153
#: Features need no other unit if theirs is between ``1 / LARGEST_UNIT`` and `LARGEST_UNIT`, and no
#: other origin if it is less than `FARTHEST_ORIGIN` units away.
LARGEST_UNIT, FARTHEST_ORIGIN = 1e50, 10.0


class Units(NamedTuple):
    """Map features x to ``(x - origin) / unit - center``.

    The class methods compute the numbers from the rows of a fit. `scale` maps any rows, `unscale`
    maps them back.
    """

    origin: Floats | float
    """Subtracted first; one number for each feature."""
    unit: Any
    """Divisor: one number, or one for each feature."""
    center: Floats | float = 0.0
    """Subtracted last; one number for each feature."""

    @classmethod
    def around_median(cls, X: Floats) -> Self:
        """Center on the median and divide by the largest difference from it.

        No square overflows then, and most rows are near the origin even if there are outliers.
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

        Constant features are left out of that mean, and become 0. The number is 1 if features are
        standardized, and if all are constant.
        """
        varies = (X[0] != X).any(axis=0)
        # The mean of equal numbers may differ from them by rounding, which would count as variance.
        origin = np.where(varies, X.mean(axis=0), X[0])
        largest = float(np.abs(X - origin).max()) or 1.0
        variance = (((X - origin) / largest) ** 2).mean(axis=0)
        deviation = float(np.sqrt(variance[varies].mean())) if varies.any() else 1.0 / largest
        return cls(origin, largest * deviation)

    @classmethod
    def of_ranges(cls, X: Floats) -> Self:
        """Divide each feature by its range and center on the mean; for k-means that learns metrics.

        Dividing a nearly constant feature by its standard deviation would give its few other values
        a large weight; the range does not. Constant features become 0.

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
        # Subtracting the lowest value first makes a constant feature exactly 0.
        return cls(low, unit, ((X - low) / unit).mean(axis=0))

    @classmethod
    def to_unit_range(cls, X: Floats) -> Self:
        """Map the range of each feature to [-1, 1]; constant features become 0."""
        low, high = X.min(axis=0), X.max(axis=0)
        # Halves, because the range of finite numbers may overflow.
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
            Whether each feature is divided by its own standard deviation. "auto": if the largest
            standard deviation exceeds five times the median of those that are not 0.
        """
        largest = np.abs(X).max(axis=0)
        largest[largest == 0] = 1.0
        scaled = X / largest  # no square overflows
        with np.errstate(over="ignore"):
            deviation = scaled.std(axis=0) * largest
        varies = scaled.std(axis=0) > LEAST_DEVIATION
        if standardize == "auto":
            share = deviation[varies] / deviation[varies].max() if varies.any() else np.ones(1)
            standardize = bool(np.median(share) * MAX_DEVIATION_RATIO < 1)
        common = np.abs(X).max() or 1.0
        unit = np.where(varies, deviation, largest) if standardize else np.full(X.shape[1], common)
        return cls(0.0, unit, scaled.mean(axis=0) * largest / unit)

    @property
    def are_needless(self) -> bool:
        """Whether the features could be used as they are; only for a `unit` of one number."""
        is_far_off = bool(np.abs(self.origin).max() > FARTHEST_ORIGIN * self.unit)
        return bool(1 / LARGEST_UNIT < self.unit < LARGEST_UNIT) and not is_far_off

    def scale(self, X: Floats) -> Floats:
        """Map features into these units."""
        scaled = np.asarray(X - self.origin)
        scaled /= self.unit  # in place: two copies of many rows may not fit in memory
        scaled -= self.center
        return scaled

    def unscale(self, X: Floats) -> Floats:
        """Map features back into their own units."""
        return np.asarray((X + self.center) * self.unit + self.origin)

    def unscale_squares(self, value: float) -> float:
        """Convert a sum of squares into the features' own units; it may be inf."""
        return float(value * self.unit * self.unit)

    def unscale_metrics(self, metrics: Floats) -> Floats:
        """Convert diagonals or matrices of squared distances into the features' own units."""
        each = metrics / self.unit
        unit = np.asarray(self.unit)
        return np.asarray(each / (unit[:, None] if metrics.ndim == 3 else unit))
