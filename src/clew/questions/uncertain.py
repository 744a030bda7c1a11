"""Uncertain: the pair whose probability is nearest to one half."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.questions._pair_order import GroupedByHACC, in_blocks
from clew.questions._strategy import PairStrategy

__all__ = ["Uncertain"]


class Uncertain(GroupedByHACC, PairStrategy):
    """Asks about the pair whose probability of being the same is nearest to one half.

    Among equally uncertain pairs, the one whose rows are nearest is asked first. Groups are those
    of `clew.cluster.HACC`.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of groups. None: rows are merged while they are the same with a probability above
        one half.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What the data are: features, or distances between rows.
    random_state : int, RandomState or None, default=None
        Seed of the clusterings from which probabilities are computed.

    Raises
    ------
    InvalidParameterError
        In `start`, if a parameter is outside its range.

    Notes
    -----
    `start` takes the time of `consensus_probabilities` and O(n²·log n); a question O(n²) at worst.
    Memory 8·n² bytes, and 10·n² in `start`.

    References
    ----------
    D. D. Lewis and W. A. Gale, "A sequential algorithm for training text classifiers", SIGIR 1994
    (uncertainty sampling).

    Examples
    --------
    >>> from clew.questions import Uncertain
    >>> strategy = Uncertain(2, random_state=0)
    >>> P = [[1.0, 0.9, 0.6], [0.9, 1.0, 0.1], [0.6, 0.1, 1.0]]
    >>> strategy.start([[0.0], [0.1], [5.0]], probabilities=P).ask()
    [Question(kind='pair', rows=(0, 2))]
    """

    _by_uncertainty: NDArray[np.uint32]

    def _prepare(self, X: NDArray[np.float64], probabilities: ArrayLike | None) -> None:
        super()._prepare(X, probabilities)
        first, second, _ = self._order.edges
        P = self._order.probabilities
        by_uncertainty = np.argsort(np.abs(P[first, second] - 0.5), kind="stable")
        self._by_uncertainty = by_uncertainty.astype(np.uint32)

    def _candidates(self) -> Iterator[NDArray[np.integer]]:
        return in_blocks(self._order.edges, self._by_uncertainty)
