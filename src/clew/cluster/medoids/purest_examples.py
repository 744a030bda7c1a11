"""Pure examples of known groups: those of a clustering, or classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_random_state

from clew._validation import Allowed, RandomState, check_rectangular
from clew.cluster.medoids._distances import Metric, RowDistances, checked_distances
from clew.cluster.medoids._subclusters import compact_rows
from clew.exceptions import InvalidDataError, InvalidParameterError

__all__ = ["purest_examples"]

Index = NDArray[np.int64]
Floats = NDArray[np.float64]
#: Number of rows of a group that may become its center, and of nearest rows that are read for each.
MAX_CENTERS, MAX_NEIGHBORHOOD = 100, 100
#: Rows to choose examples from, as a multiple of their number.
SHORTLIST = 3
#: Confidences are clipped to at least this, so that the logarithm is finite.
LEAST_CONFIDENCE = 0.01


def purest_examples(
    X: ArrayLike,
    labels: ArrayLike,
    size: int = 10,
    *,
    confidence: ArrayLike | None = None,
    metric: Metric = "euclidean",
    metric_params: Mapping[str, Any] | None = None,
    random_state: RandomState = 0,
    n_jobs: int | None = None,
) -> Index:
    """Find the purest examples of each group: near each other, and far from other groups.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features) or (n_samples, n_samples)
        Features, or distances between rows.
    labels : array-like of shape (n_samples,), int
        Groups, such as `labels_` of `GuidedClustering`; -1 for rows without one.
    size : int, default=10
        Number of examples of each group.
    confidence : array-like of shape (n_samples,), default=None
        How certain each label is, in [0, 1], such as ``model.probabilities_.max(axis=1)``; None
        for equally certain.
    metric : str or callable, default="euclidean"
        Any metric of scikit-learn's ``pairwise_distances``; a function of two rows; or
        "precomputed" if `X` holds the distances.
    metric_params : dict, default=None
        Further arguments of the metric.
    random_state : int, RandomState or None, default=0
        Draws the rows of large groups that may become centers.
    n_jobs : int or None, default=None
        Number of threads.

    Returns
    -------
    ndarray of shape (n_groups, size), int64
        Row numbers: for each group, in the order of labels, the center and then others by their
        distance from it. -1 fills the rows of groups with fewer than `size` rows.

    Raises
    ------
    InvalidDataError
        If the arrays differ in length, or a confidence is not in [0, 1].
    InvalidParameterError
        If `size` is not an integer of 1 or more.

    See Also
    --------
    Subclustering : Finds groups too, and only those rows.

    Notes
    -----
    The center of a group is the row, of up to 100 random ones, with the lowest sum of three terms:
    the mean distance to its nearest rows of the group, divided by the median of this over all
    groups; the negated logarithm of the group's share among its nearest rows of any group (as many
    as half of the group, at most 100); and that of its confidence. The examples are those of
    the group's rows nearest to the center that have the lowest mean distance to each other.

    Time O(K·100·N·d) for K groups, N rows and d features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from clew.cluster import GuidedClustering, purest_examples
    >>> X, y = load_iris(return_X_y=True)
    >>> purest_examples(X, y, size=3).shape
    (3, 3)
    """
    if not Allowed(kind=int, low=1).holds(size):
        raise InvalidParameterError(f"size must be an integer of 1 or more, got {size!r}")
    distances = checked_distances(None, X, metric, metric_params)
    groups, certain = _checked(labels, confidence, distances.n_samples)
    random = check_random_state(random_state)
    names = np.unique(groups[groups >= 0])
    members = [np.flatnonzero(groups == name) for name in names]
    centers = [_drawn(rows, random) for rows in members]
    found = [
        _costs(distances, groups, centers[at], rows, size, n_jobs)
        for at, rows in enumerate(members)
    ]
    apart = np.concatenate([each[0] for each in found]) if found else np.ones(1)
    typical = float(np.median(apart)) or 1.0
    examples = np.full((len(names), size), -1, np.int64)
    for at, rows in enumerate(members):
        cost = found[at][0] / typical + found[at][1] - np.log(certain[centers[at]])
        chosen = _examples(distances, rows, int(centers[at][cost.argmin()]), size)
        examples[at, : len(chosen)] = chosen
    return examples


def _drawn(rows: Index, random: np.random.RandomState) -> Index:
    """Draw the rows of a group that may become its center."""
    if len(rows) <= MAX_CENTERS:
        return rows
    return np.sort(random.choice(rows, MAX_CENTERS, replace=False))


def _costs(
    distances: RowDistances,
    groups: Index,
    centers: Index,
    rows: Index,
    size: int,
    n_jobs: int | None,
) -> tuple[Floats, Floats]:
    """Return for each center the mean distance to its rows, and how mixed its neighborhood is."""
    n_others = min(size, len(rows)) - 1
    apart = np.zeros(len(centers))
    if n_others:
        apart = distances.nearest(centers, n_others, rows, n_jobs)[1].mean(axis=1)
    m = min(max(len(rows) // 2, 1), MAX_NEIGHBORHOOD, distances.n_samples - 1)
    nearest = distances.nearest(centers, m, n_jobs=n_jobs)[0]
    n_own = (groups[nearest] == groups[rows[0]]).sum(axis=1)
    return apart, -np.log((n_own + 1) / (m + 1))


def _examples(distances: RowDistances, rows: Index, center: int, size: int) -> Index:
    """Choose the examples of a group around its center."""
    if len(rows) == 1 or size == 1:
        return np.array([center])
    n_listed = min(SHORTLIST * size, len(rows) - 1)
    listed = distances.nearest(np.array([center]), n_listed, rows)[0][0]
    return compact_rows(distances, np.append(center, listed), min(size, len(rows)))


def _checked(labels: ArrayLike, confidence: ArrayLike | None, n: int) -> tuple[Index, Floats]:
    """Check labels and confidences."""
    groups = check_rectangular(labels, "labels")
    if groups.shape != (n,) or groups.dtype.kind not in "iu":
        raise InvalidDataError(
            f"labels must be {n} integers, one for each row, got {groups.dtype} of shape "
            f"{groups.shape}"
        )
    if confidence is None:
        return groups.astype(np.int64), np.ones(n)
    certain = check_rectangular(confidence, "confidence").astype(np.float64)
    if certain.shape != (n,) or not ((certain >= 0) & (certain <= 1)).all():
        raise InvalidDataError(f"confidence must be {n} numbers in [0, 1], one for each row")
    return groups.astype(np.int64), np.maximum(certain, LEAST_CONFIDENCE)
