"""RandomPairs: pairs drawn at random."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

import numpy as np
from numpy.typing import NDArray

from clew.constraints._from_labels import pair_from_rank
from clew.questions._pair_order import PAIRS_PER_BLOCK, GroupedByHACC
from clew.questions._strategy import PairStrategy

__all__ = ["RandomPairs"]

#: Blocks of pairs that are drawn; if answers imply all of these, the rest is enumerated.
N_DRAWN_BLOCKS = 4


class RandomPairs(GroupedByHACC, PairStrategy):
    """Asks about pairs drawn uniformly from those that the answers do not imply.

    The baseline for all other strategies. Groups are those of `clew.cluster.HACC`.

    Parameters
    ----------
    n_clusters : int or None, default=None
        Number of groups. None: rows are merged while they are the same with a probability above
        one half.
    metric : {"euclidean", "precomputed"}, default="euclidean"
        What the data are: features, or distances between rows.
    random_state : int, RandomState or None, default=None
        Seed of the questions.

    Raises
    ------
    InvalidParameterError
        In `start`, if a parameter is outside its range.

    Notes
    -----
    A question takes constant time until most pairs are implied, and O(n²) at worst.

    Examples
    --------
    >>> from clew.questions import RandomPairs
    >>> strategy = RandomPairs(2, random_state=0).start([[0.0], [0.1], [5.0], [5.1]])
    >>> [question.kind for question in strategy.ask(2)]
    ['pair', 'pair']
    """

    def _candidates(self) -> Iterator[NDArray[np.integer]]:
        n = self.n_samples_
        n_pairs = n * (n - 1) // 2
        random = np.random.RandomState(self._seed)
        for _ in range(N_DRAWN_BLOCKS):
            yield np.column_stack(pair_from_rank(random.randint(n_pairs, size=PAIRS_PER_BLOCK)))
        # Enumerate all pairs in a fixed order that needs no memory: numbers modulo the number of
        # pairs, in equal steps.
        offset, step = random.randint(n_pairs), random.randint(n_pairs) + 1
        while gcd(step, n_pairs) > 1:
            step += 1
        for start in range(0, n_pairs, PAIRS_PER_BLOCK):
            steps = np.arange(start, min(start + PAIRS_PER_BLOCK, n_pairs))
            yield np.column_stack(pair_from_rank((offset + steps * step) % n_pairs))
