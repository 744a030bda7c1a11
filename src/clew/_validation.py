"""Checks that all estimators use, of parameters by ranges given as data, and of features; seeds."""

from __future__ import annotations

import math
import numbers
import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_array, validate_data

from clew._warnings import FILTERS, warn
from clew.exceptions import DistancesAsFeaturesWarning, InvalidDataError, InvalidParameterError

ROWS_PER_BLOCK = 1024
#: Largest difference of entries (i, j) and (j, i) of a symmetric matrix, as a share of its largest
#: entry: rounding of single precision.
SYMMETRY_TOLERANCE = 1e-6
#: Largest distance of a row to itself, as a share of the largest distance. Distances computed from
#: inner products in single precision have roots of rounding errors there.
DIAGONAL_TOLERANCE = 1e-3
#: What to do with features that are no numbers.
OF_TABLES = (
    "tables.TableFeatures makes numbers of a data frame with text, dates, categories or missing "
    "values, and features.compute of texts, images and sounds"
)


class Allowed(NamedTuple):
    """Allowed values of a parameter; bounds included unless `low_open` or `high_open` is set."""

    names: tuple[str, ...] = ()
    kind: type | None = None
    low: float = -math.inf
    high: float = math.inf
    none: bool = False
    low_open: bool = False
    high_open: bool = False

    def holds(self, value: object) -> bool:
        """Return whether a value is allowed."""
        if value is None or isinstance(value, str):
            return self.none if value is None else value in self.names
        if self.kind is None or isinstance(value, bool | np.bool_):
            return self.kind is bool and isinstance(value, bool | np.bool_)
        if self.kind is bool or not isinstance(
            value, numbers.Integral if self.kind is int else numbers.Real
        ):
            return False
        number = float(value)
        above = number > self.low if self.low_open else number >= self.low
        below = number < self.high if self.high_open else number <= self.high
        return above and below

    def __str__(self) -> str:
        parts = [repr(name) for name in self.names]
        if self.kind is bool:
            parts.append("True or False")
        elif self.kind is not None:
            word = "an integer" if self.kind is int else "a number"
            opening = "(" if self.low_open or self.low == -math.inf else "["
            closing = ")" if self.high_open or self.high == math.inf else "]"
            parts.append(f"{word} in {opening}{self.low:g}, {self.high:g}{closing}")
        if self.none:
            parts.append("None")
        return " or ".join(parts)


#: Allowed values of a parameter: one kind of values, or several.
AllowedValues = Allowed | tuple[Allowed, ...]


def is_dask(X: Any) -> bool:
    """Whether data are a Dask array or data frame."""
    return hasattr(X, "__dask_graph__") and hasattr(X, "npartitions")


def check_parameters(estimator: BaseEstimator, allowed: Mapping[str, AllowedValues]) -> None:
    """Check an estimator's parameters against the values that it declares as allowed."""
    for name, ranges in allowed.items():
        choices = (
            ranges if isinstance(ranges, tuple) and not isinstance(ranges, Allowed) else (ranges,)
        )
        value = getattr(estimator, name)
        if not any(choice.holds(value) for choice in choices):
            wanted = " or ".join(str(choice) for choice in choices)
            raise InvalidParameterError(
                f"{type(estimator).__name__}({name}={value!r}): {name} must be {wanted}"
            )


def check_n_clusters(estimator: Any, n_samples: int) -> None:
    """Check that there are at most as many groups as rows."""
    if estimator.n_clusters > n_samples:
        raise InvalidParameterError(
            f"{type(estimator).__name__}(n_clusters={estimator.n_clusters}): there are only "
            f"{n_samples} rows"
        )


def check_features(estimator: BaseEstimator, X: Any, *, reset: bool = True) -> NDArray[np.float64]:
    """Validate features as scikit-learn does: finite, two-dimensional, at least two rows.

    In `fit` it warns if an estimator of features is given what seem to be distances.
    """
    checked: NDArray[np.float64] = check_data(
        estimator, X, reset=reset, dtype=np.float64, ensure_min_samples=2 if reset else 1
    )
    if reset:
        warn_of_distances(estimator, checked)
    return checked


def seems_distances(X: Any) -> bool:
    """Whether a matrix is square, symmetric, 0 or more, and 0 on its diagonal, up to rounding."""
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.shape[0] != X.shape[1] or len(X) < 3:
        return False
    largest = float(X.max())
    if largest <= 0 or not X.min() >= 0:
        return False
    gap = SYMMETRY_TOLERANCE * largest
    if np.diagonal(X).max() > DIAGONAL_TOLERANCE * largest or abs(X[0] - X[:, 0]).max() > gap:
        return False
    starts = range(0, len(X), ROWS_PER_BLOCK)
    rows = (slice(start, start + ROWS_PER_BLOCK) for start in starts)
    return all(bool((abs(X[block] - X[:, block].T) <= gap).all()) for block in rows)


def warn_of_distances(estimator: BaseEstimator, X: Any) -> None:
    """Warn if an estimator of features is given what seem to be distances."""
    if get_tags(estimator).input_tags.pairwise or not seems_distances(X):
        return
    name = type(estimator).__name__
    do = (
        f"use {name}(metric='precomputed')"
        if "metric" in estimator.get_params(deep=False)
        else "use a class that takes them, such as GuidedClustering(metric='precomputed')"
    )
    warn(
        f"{name} takes X for features, but X is square and symmetric with zeros on its diagonal: "
        f"if these are distances, {do}",
        DistancesAsFeaturesWarning,
    )


def refuse_repeated(columns: Iterable[Hashable]) -> None:
    """Refuse repeated names of columns."""
    repeated = [name for name, n in Counter(columns).items() if n > 1]
    if repeated:
        raise InvalidDataError(f"two columns are named {repeated[0]!r}; rename one")


def check_data(estimator: BaseEstimator, X: Any, *, advice: str = OF_TABLES, **checks: Any) -> Any:
    """Call scikit-learn's `validate_data`, which also stores number and names of the columns.

    `advice` is what to do with text. `validate_data` replaces the warning filters of the process:
    two threads must not do so at once.
    """
    refuse_lazy(X)
    columns = list(getattr(X, "columns", ()))
    if hasattr(X, "columns") and not columns:
        raise InvalidDataError("X is a data frame without columns; features are columns of numbers")
    refuse_repeated(columns)
    with FILTERS, bad_values_named(X, advice):
        return validate_data(estimator, X, **checks)


def check_matrix(X: Any, **checks: Any) -> Any:
    """Validate the features given to a function: finite, two-dimensional, at least two rows."""
    with FILTERS, bad_values_named(X):
        return check_array(
            X, **{"dtype": np.float64, "order": "C", "ensure_min_samples": 2} | checks
        )


def refuse_lazy(X: Any) -> None:
    """Refuse a query of polars, which has no rows before it is run."""
    if type(X).__name__ == "LazyFrame":
        raise InvalidDataError(
            "a LazyFrame of polars is a query without rows; pass what its collect() returns"
        )


@contextmanager
def bad_values_named(X: Any, advice: str = OF_TABLES) -> Iterator[None]:
    """Say in scikit-learn's error about text, NaN or infinity where the first such value is."""
    try:
        with np.errstate(invalid="ignore"):  # of the sum of inf and -inf
            yield
    except (TypeError, ValueError) as error:
        is_text = str(error).startswith("could not convert")
        column = _column_of_text(X) if is_text or isinstance(error, TypeError) else ""
        if column or is_text:
            why = f": {error}" if isinstance(error, ValueError) else ""
            of_text = f"X must hold numbers{column}{why}"
            raise InvalidDataError(f"{of_text}. {advice}" if advice else of_text) from error
        if not re.search("contains (NaN|infinity)", str(error)) or not (bad := bad_value(X)):
            raise
        raise InvalidDataError(bad) from error


def _column_of_text(X: Any) -> str:
    """Name the first column of a data frame of pandas that does not hold numbers."""
    kinds = zip(X.columns, X.dtypes, strict=True) if hasattr(X, "iloc") else ()
    name = next((repr(name) for name, kind in kinds if kind.kind not in "biuf"), "")
    return name and f", but column {name} does not"


def bad_value(X: Any) -> str:
    """Name the first value of features that is NaN or infinite, by row and column; "" if none."""
    if bool(issparse(X)):
        entries = X.tocoo()
        at = np.flatnonzero(~np.isfinite(entries.data))[:1]
        places, values = np.transpose(entries.coords)[at], entries.data[at]
    else:
        array = np.asarray(X, np.float64)
        places = np.argwhere(~np.isfinite(array))[:1]
        values = array[tuple(places.T)]
    if not len(places):
        return ""
    (row, column), value = places[0].tolist(), values[0]
    name = repr(X.columns[column]) if hasattr(X, "columns") else column
    said = "NaN" if value != value else value
    return f"X holds {said} in row {row}, column {name}: fill such values in, or leave the row out"


def check_rectangular(values: ArrayLike, name: str) -> NDArray[Any]:
    """Convert to an array."""
    try:
        return np.asarray(values)
    except ValueError as error:
        raise InvalidDataError(f"{name} must be a rectangular array: {error}") from error


RandomState = int | np.random.RandomState | None


def derived_seeds(random_state: RandomState, n: int) -> list[int]:
    """Derive `n` seeds below 2³¹ from a `random_state`."""
    random = check_random_state(random_state)
    return [int(seed) for seed in random.randint(np.iinfo(np.int32).max, size=n)]
