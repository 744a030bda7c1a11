"""Random, uncertain and most probable pairs: what other strategies are compared with."""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clew.constraints._meanings import pair_from_rank
from clew.questions._pair_order import PAIRS_PER_BLOCK, GroupedByHACC, in_blocks
from clew.questions._strategy import PairStrategy

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
