"""What the strategies share that group by HACC: parameters, probabilities of pairs, and groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew._random import RandomState
from clew._validation import Allowed, AllowedValues
from clew.questions._known import KnownPairs
from clew.questions._pair_order import PairOrder, pair_probabilities

__all__ = ["GroupedByHACC"]


class GroupedByHACC:
    """Mixin of a `PairStrategy` that ranks pairs by probability and groups rows by HACC."""

    _allowed: ClassVar[Mapping[str, AllowedValues]] = {
        "n_clusters": Allowed(kind=int, low=1, none=True),
        "metric": Allowed(names=("euclidean", "precomputed")),
    }

    metric: str
    known: KnownPairs
    _order: PairOrder
    _seed: int

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

    def _group(self) -> NDArray[np.int64]:
        return self._order.groups(self.known.closure, self.n_clusters)
