"""COBRA: small groups that are merged by questions about their representatives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._limits import ALL_PAIRS_ROWS
from clew._random import RandomState
from clew._validation import Allowed
from clew.cluster.linkage._ordered_edges import Edges, edges_in_order, euclidean, given
from clew.questions._pair_order import in_blocks
from clew.questions._representatives import Representatives
from clew.questions._strategy import PairStrategy

__all__ = ["COBRA"]


class COBRA(PairStrategy):
    """Divides rows into small groups (super-instances), and asks which of them are the same.

    Pairs of super-instances are compared by their representatives, the nearest pair first, unless
    earlier answers imply the answer. It needs no number of groups and few questions, but rows of
    one super-instance are never separated.

    Parameters
    ----------
    n_super_instances : int, default=25
        Number of super-instances; all rows if there are fewer.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What the data are: features, or distances between rows.
    random_state : int, RandomState or None, default=None
        Seed of the super-instances.

    Raises
    ------
    InvalidParameterError
        In `start`, if a parameter is outside its range.

    Notes
    -----
    Super-instances are the groups of k-means, and their representatives the rows nearest to the
    means; for distances, those of k-medoids. When all representatives are compared, `ask`
    returns nothing. Probabilities given to `start` are not used.

    A question takes at most O(m²) for m super-instances; memory 2·m² bytes.

    References
    ----------
    T. Van Craenendonck, S. Dumančić and H. Blockeel, "COBRA: a fast and simple method for active
    clustering with pairwise constraints", IJCAI 2017.

    Examples
    --------
    >>> from clew.questions import COBRA
    >>> X = [[0.0], [0.1], [5.0], [5.1], [9.0], [9.1]]
    >>> strategy = COBRA(3, random_state=0).start(X)
    >>> len(strategy.ask(5)), strategy.labels().tolist()
    (2, [0, 0, 1, 1, 2, 2])
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "n_super_instances": Allowed(kind=int, low=1, high=ALL_PAIRS_ROWS),
        "metric": Allowed(names=("euclidean", "precomputed")),
    }

    _parts: Representatives
    _edges: Edges

    def __init__(
        self,
        n_super_instances: int = 25,
        *,
        metric: Literal["euclidean", "precomputed"] = "euclidean",
        random_state: RandomState = None,
    ) -> None:
        self.n_super_instances = n_super_instances
        self.metric = metric
        self.random_state = random_state

    def _prepare(self, X: NDArray[np.float64], probabilities: ArrayLike | None) -> None:
        n_parts = min(self.n_super_instances, len(X))
        self._parts = Representatives.of(X, self.metric, n_parts, self._seed)
        data = self._parts.data(X, self.metric)
        distances = given(data) if self.metric == "precomputed" else euclidean(data)
        self._edges = edges_in_order(distances, len(data))

    def _candidates(self) -> Iterator[NDArray[np.integer]]:
        return (self._parts.rows[pairs] for pairs in in_blocks(self._edges))

    def _group(self) -> NDArray[np.int64]:
        component = self.known.closure.component
        return np.asarray(component[self._parts.rows[self._parts.number]])
