"""MostProbable: the pair that is most probably the same."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from clew.questions._pair_order import GroupedByHACC, in_blocks
from clew.questions._strategy import PairStrategy

__all__ = ["MostProbable"]


class MostProbable(GroupedByHACC, PairStrategy):
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

    def _candidates(self) -> Iterator[NDArray[np.integer]]:
        return in_blocks(self._order.edges)
