"""MinMax: `ExploreConsolidate` that next compares the row farthest from all rows seen."""

from __future__ import annotations

from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from clew.questions.explore_consolidate import ExploreConsolidate

__all__ = ["MinMax"]


class MinMax(ExploreConsolidate):
    """Explores like `ExploreConsolidate`, then compares the row that is least like all rows seen.

    That row has the smallest maximum similarity to the rows seen (min-max criterion): it is
    farthest from all of them.

    Parameters
    ----------
    n_clusters : int
        Number of groups.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What the data are: features, or distances between rows.
    random_state : int, RandomState or None, default=None
        Seed of the first row.

    Raises
    ------
    InvalidParameterError
        In `start`, if a parameter is outside its range.

    Notes
    -----
    Groups and cost are those of `ExploreConsolidate`.

    References
    ----------
    P. K. Mallapragada, R. Jin and A. K. Jain, "Active query selection for semi-supervised
    clustering", ICPR 2008.

    Examples
    --------
    >>> from clew.questions import MinMax
    >>> strategy = MinMax(2, random_state=0).start([[0.0], [0.1], [5.0], [5.1]])
    >>> [question.kind for question in strategy.ask()]
    ['pair']
    """

    _nearest_by: ClassVar[Literal["mean", "min"]] = "min"

    def _next_row(self, from_seen: NDArray[np.float64]) -> int:
        return int(from_seen.argmax())
