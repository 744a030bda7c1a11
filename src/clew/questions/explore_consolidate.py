"""ExploreConsolidate: finds one row of each group, then compares every other row with these."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._random import RandomState
from clew._validation import Allowed
from clew.questions._neighborhoods import Neighborhoods
from clew.questions._pair_order import all_distances
from clew.questions._strategy import PairStrategy

__all__ = ["ExploreConsolidate"]


class ExploreConsolidate(PairStrategy):
    """Finds a row of each group by farthest-first search, then compares the others with these.

    Neighborhoods are sets of rows of one group, according to answers. Explore takes the row that is
    farthest from all rows seen, and compares it with a row of each neighborhood, the nearest first;
    a row that is in none begins a new one. When there are `n_clusters` neighborhoods, Consolidate
    compares the other rows, in random order; a row that differs from all neighborhoods but one is
    in that one, without a question.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of groups.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What the data are: features, or distances between rows.
    random_state : int, RandomState or None, default=None
        Seed of the first row and of the order of rows.

    Raises
    ------
    InvalidParameterError
        In `start`, if a parameter is outside its range.

    Notes
    -----
    Rows in no neighborhood are in the group of the nearest medoid. With many groups, Explore alone
    takes a large number of questions. Probabilities given to `start` are not used.

    A question takes O(n·n_clusters) steps; memory 8·n² bytes.

    References
    ----------
    S. Basu, A. Banerjee and R. J. Mooney, "Active semi-supervision for pairwise constrained
    clustering", SDM 2004.

    Examples
    --------
    >>> from clew.questions import ExploreConsolidate
    >>> X = [[0.0], [0.1], [5.0], [5.1]]
    >>> strategy = ExploreConsolidate(2, random_state=0).start(X)
    >>> strategy.ask()
    [Question(kind='pair', rows=(3, 1))]
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1),
        "metric": Allowed(names=("euclidean", "precomputed")),
    }

    #: Distance of a row to a neighborhood when it is consolidated.
    _nearest_by: ClassVar[Literal["mean", "min"]] = "mean"
    _distances: NDArray[np.float64]
    _order: NDArray[np.int64]

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.random_state = random_state

    def _prepare(self, X: NDArray[np.float64], probabilities: ArrayLike | None) -> None:
        self._distances = all_distances(X, self.metric)
        self._order = np.random.RandomState(self._seed).permutation(len(X))

    def _candidates(self) -> Iterator[NDArray[np.integer]]:
        return (np.array([pair]) for pair in self._neighborhoods().questions())

    def _group(self) -> NDArray[np.int64]:
        return self._neighborhoods().groups()

    def _neighborhoods(self) -> Neighborhoods:
        return Neighborhoods(
            self._distances, self.known, self.n_clusters, int(self._order[0]), self._next_row,
            self._nearest_by,
        )  # fmt: skip

    def _next_row(self, from_seen: NDArray[np.float64]) -> int:
        """Return the row that is consolidated next; `from_seen` is -1 for rows seen."""
        return int(self._order[np.argmax(from_seen[self._order] >= 0)])
