"""The area under a curve of scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clew._validation import check_rectangular
from clew.exceptions import InvalidDataError

__all__ = ["area_under_curve"]


def area_under_curve(values: ArrayLike) -> float:
    """Area under a curve of scores by the trapezoid rule, for points one unit apart.

    Parameters
    ----------
    values : array-like of shape (n_points,)
        The score at each step, such as the adjusted Rand index at each number of answers.

    Returns
    -------
    float
        At most n_points - 1 where scores are at most 1.

    Raises
    ------
    InvalidDataError
        If there are fewer than two points, or some are not finite.

    References
    ----------
    .. [1] X. Zhu, C. C. Loy and S. Gong, "Constrained clustering with imperfect oracles", IEEE
       Transactions on Neural Networks and Learning Systems, 2016, tables II to IV.

    Examples
    --------
    >>> from clew.metrics import area_under_curve
    >>> area_under_curve([0.5, 0.7, 0.9])
    1.4
    """
    points = check_rectangular(values, "a curve")
    if points.ndim != 1 or points.size < 2:
        raise InvalidDataError(
            f"a curve is a one-dimensional array of at least two points, got shape {points.shape}"
        )
    if points.dtype.kind not in "biuf":
        raise InvalidDataError(f"a curve must hold numbers, got dtype {points.dtype}")
    if not np.isfinite(points).all():
        raise InvalidDataError(f"point {int(np.argmin(np.isfinite(points)))} is not finite")
    return float(np.trapezoid(points))
