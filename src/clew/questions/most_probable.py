"""MostProbable: the pair that is most probably the same."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._random import RandomState
from clew._validation import Allowed
from clew.questions._pair_order import PairOrder, in_blocks, pair_probabilities
from clew.questions._strategy import PairStrategy

__all__ = ["MostProbable"]


class MostProbable(PairStrategy):
    """Asks about the pair that is most probably the same, of those that answers do not imply.

    Each "same" joins two groups of rows, and each "different" separates two: few answers imply many
    pairs. If no answer is wrong, it reaches a nearly perfect grouping with fewer questions than
    `Uncertain` and `ExpectedChange`, which are better at the beginning. A wrong answer is never
    corrected. Groups are those of `clew.cluster.HACC`.

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
    Memory 6·n² bytes, and 8·n² in `start`.

    References
    ----------
    J. Wang, T. Kraska, M. J. Franklin and J. Feng, "CrowdER: crowdsourcing entity resolution",
    VLDB 2012; N. Vesdapunt, K. Bellare and N. Dalvi, "Crowdsourcing algorithms for entity
    resolution", VLDB 2014 (descending probability with closure).

    Examples
    --------
    >>> from clew.questions import MostProbable
    >>> strategy = MostProbable(2, random_state=0).start([[0.0], [0.1], [5.0], [5.1]])
    >>> strategy.ask()
    [Question(kind='pair', rows=(0, 1))]
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "n_clusters": Allowed(kind=int, low=1, none=True),
        "metric": Allowed(names=("euclidean", "precomputed")),
    }

    _order: PairOrder

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.random_state = random_state

    def _prepare(self, X: NDArray[np.float64], probabilities: ArrayLike | None) -> None:
        P = pair_probabilities(X, self.metric, self.n_clusters, probabilities, self._seed)
        self._order = PairOrder.of(X, self.metric, P)

    def _candidates(self) -> Iterator[NDArray[np.integer]]:
        return in_blocks(self._order.edges)

    def _group(self) -> NDArray[np.int64]:
        return self._order.groups(self.known.closure, self.n_clusters)
