"""Shifting and scaling of features: one map, and several ways to choose its numbers."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from clew.exceptions import InvalidDataError

Floats = NDArray[np.float64]
#: Features may be in different units if their largest standard deviation exceeds the median by this
#: factor.
MAX_DEVIATION_RATIO = 5.0
#: Features of more columns are wide: those that are sparse are never made dense, and are no table.
WIDE_COLUMNS = 256
#: See `_are_components`: largest correlation of exact components, in single precision; number of
#: columns, mean squared correlation, median of |mean| in standard errors, and rank correlation of
#: deviation and column number, of components computed from other rows.
EXACT_CORRELATION = 1e-4
LEAST_COMPONENTS, MEAN_SQUARE, FROM_ZERO, DECAY = 10, 0.03, 4.0, -0.5
#: Most columns whose correlations are computed.
MOST_CORRELATED = 500
#: See `_are_shares`: share of zeros among all values, and in each column of large deviation; the
#: largest ratio of deviations; and, of counts of words, share of columns that are never 0, and the
#: largest ratio of one deviation to the next.
ZEROS, ZEROS_OF_LARGE, MAX_RATIO_OF_SHARES = 0.5, 0.2, 100.0
NEVER_ZERO, MAX_STEP_OF_COUNTS = 0.05, 2.5
#: Rows have the same length if their lengths differ by less than this share, and by less than this
#: share of the root mean square distance from the mean: a large constant makes lengths alike too.
SAME_LENGTH, SAME_LENGTH_OF_DISTANCE = 1e-3, 0.05
#: Standard deviations below this share of the largest value are rounding errors.
LEAST_DEVIATION = 1e-12
#: Ranges of features whose squares, and their inverses, are finite.
MIN_RANGE, MAX_RANGE = 1e-150, 1e153
#: Features need no other unit if theirs is between ``1 / LARGEST_UNIT`` and `LARGEST_UNIT`, and no
#: other origin if it is less than `FARTHEST_ORIGIN` units away.
LARGEST_UNIT, FARTHEST_ORIGIN = 1e50, 10.0


class Units(NamedTuple):
    """Map features x to ``(x - origin) / unit - center``, computed from the rows of a fit."""

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
        """Center on the mean, divide by the root mean variance of features that vary, or by 1."""
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

        A standard deviation would give the few other values of a nearly constant feature a large
        weight.
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

        "auto" divides each by its own if they seem to be in different units; see `have_own_units`.
        """
        largest = np.abs(X).max(axis=0)
        largest[largest == 0] = 1.0
        scaled = X / largest  # no square overflows
        relative = scaled.std(axis=0)
        with np.errstate(over="ignore"):
            deviation = relative * largest
        varies = relative > LEAST_DEVIATION
        if standardize == "auto":
            standardize = have_own_units(X[:, varies], deviation[varies])
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


def have_own_units(X: Floats, deviation: Floats) -> bool:
    """Whether columns are in different units, as in a table, or share one, as in an embedding."""
    if not len(deviation) or np.median(deviation / deviation.max()) * MAX_DEVIATION_RATIO >= 1:
        return False
    values = X / np.abs(X).max()
    length = np.sqrt((values**2).sum(axis=1))
    distance = float(np.sqrt(values.var(axis=0).sum()))
    same = min(SAME_LENGTH * length.max(), SAME_LENGTH_OF_DISTANCE * distance)
    has_one_length = bool(np.ptp(length) < same)
    share = deviation / deviation.max()
    return not (has_one_length or _are_shares(X, share) or _are_components(X, share))


def _are_shares(X: Floats, deviation: Floats) -> bool:
    """Whether columns look like counts or intensities: from 0 on, and mostly 0."""
    middle, lowest, zeros = np.median(deviation), X.min(axis=0), (X == 0).mean(axis=0)
    is_rare = zeros.mean() > ZEROS and not (lowest < 0).any()
    if not is_rare or deviation.max() > MAX_RATIO_OF_SHARES * middle:
        return False
    is_large = deviation > MAX_DEVIATION_RATIO * middle
    if not lowest.any() and zeros[is_large].min() > ZEROS_OF_LARGE:
        return True
    # Some words are in nearly all texts. Their counts differ little from those of the next ones,
    # where amounts in a table beside categories stand out.
    step = np.sort(deviation)[len(deviation) // 2 :]
    has_no_gap = (step[1:] < MAX_STEP_OF_COUNTS * step[:-1]).all()
    is_whole = np.array_equal(X, np.rint(X))
    return bool(is_whole and has_no_gap and (lowest > 0).mean() <= NEVER_ZERO)


def _are_components(X: Floats, deviation: Floats) -> bool:
    """Whether columns look like principal components, of these rows or of others."""
    n, n_columns = X.shape
    chosen = np.linspace(0, n_columns - 1, min(n_columns, MOST_CORRELATED)).astype(np.int64)
    columns = X[:, chosen] / np.abs(X[:, chosen]).max(axis=0)
    mean = columns.mean(axis=0)
    centered = columns - mean
    error = centered.std(axis=0) / np.sqrt(n)
    correlation, cosine = (_off_diagonal(values) for values in (centered, columns))
    if not len(correlation):  # one column, perhaps repeated
        return False
    # Far from 0 all cosines are nearly 1, as if columns were repeated.
    is_exact = min(each.max() for each in (correlation, cosine) if len(each)) < EXACT_CORRELATION
    if is_exact and _differ_in_most_rows(columns):
        return True
    order = np.corrcoef(np.arange(n_columns), rankdata(deviation))[0, 1]
    return bool(
        n_columns >= LEAST_COMPONENTS
        and (correlation**2).mean() < MEAN_SQUARE
        and np.median(np.abs(mean) / error) < FROM_ZERO
        and order < DECAY
    )


def _off_diagonal(columns: Floats) -> Floats:
    """Return the absolute cosines between different columns; repeated columns are left out."""
    unit = columns / np.sqrt((columns**2).sum(axis=0))
    cosine = np.abs(unit.T @ unit)[np.triu_indices(unit.shape[1], 1)]
    return np.asarray(cosine[cosine < 1 - EXACT_CORRELATION])


def _differ_in_most_rows(columns: Floats) -> bool:
    """Whether columns have about as many values as rows: those of a factorial design have few."""
    weights = np.random.RandomState(0).normal(size=columns.shape[1])
    n_rows = len(np.unique(np.round(columns @ weights, 9)))
    n_values = [len(np.unique(np.round(values, 9))) for values in columns.T]
    return bool(np.median(n_values) > n_rows / 2)


def ranks_among(columns: NDArray[np.float64], X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the share of a sorted column's values below each value of X, counting ties half."""
    ranks = np.empty(X.shape)
    for at, values in enumerate(columns.T):
        below = np.searchsorted(values, X[:, at], side="left")
        ranks[:, at] = (below + np.searchsorted(values, X[:, at], side="right")) / 2
    return ranks / len(columns)
