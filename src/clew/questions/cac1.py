"""CAC1: large groups that are probably one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from clew.questions._pair_order import GroupedByHACC, in_blocks
from clew.questions._strategy import PairStrategy

__all__ = ["CAC1"]

Integers = NDArray[np.int64]

#: In place of the expected number of pairs, for two groups that an answer separates.
SEPARATED = -1.0


class CAC1(GroupedByHACC, PairStrategy):
    """Asks about the nearest rows of two large, near groups of `HACC`.

    The two groups are those between which most pairs of rows are expected to be the same, of the
    groups that no answer separates. "Same" joins them, and another group falls apart; "different"
    separates them.

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

    See Also
    --------
    MostProbable : Needs fewer questions until the groups are nearly perfect.

    Notes
    -----
    A reconstruction, because neither the paper nor its program is publicly available. Later papers
    say that CAC1 seeks constraints between large, near groups of a hierarchical clustering (Xiong
    et al.), by a heuristic with several parameters (Biswas). Here the two groups have the largest
    sum of the probabilities of `consensus_probabilities` over all pairs between them. After all
    groups are separated, pairs within groups follow, the most probable first.

    `start` takes the time of `consensus_probabilities` and O(n²·log n); a question O(n²). Memory
    14·n² bytes.

    References
    ----------
    A. Biswas and D. Jacobs, "Large scale image clustering with active pairwise constraints", ICML
    2011 workshop on combining learning strategies to reduce label cost; A. Biswas, PhD thesis,
    University of Maryland, 2014, chapter 3; C. Xiong, D. M. Johnson and J. J. Corso, "Active
    clustering with model-based uncertainty reduction", IEEE TPAMI 2017.

    Examples
    --------
    >>> from clew.questions import CAC1
    >>> strategy = CAC1(2, random_state=0).start([[0.0], [0.1], [5.0], [5.1]])
    >>> strategy.ask()
    [Question(kind='pair', rows=(1, 2))]
    """

    def _candidates(self) -> Iterator[NDArray[np.integer]]:
        group = np.unique(self._group(), return_inverse=True)[1]
        expected = _sums(self._order.probabilities, group)
        closure = self.known.closure
        row_of = np.unique(closure.component, return_index=True)[1]
        first, second = group[row_of[closure.cannot_link_components]].T
        expected[first, second] = expected[second, first] = SEPARATED
        a, b = np.triu_indices(len(expected), 1)
        order = np.argsort(-expected[a, b], kind="stable")
        for k in order[expected[a, b][order] > SEPARATED]:
            yield self._nearest(group, int(a[k]), int(b[k]))
        yield from in_blocks(self._order.edges)

    def _nearest(self, group: Integers, a: int, b: int) -> Integers:
        """Return the first pair between two groups that was not asked about, (1, 2) or (0, 2)."""
        edges = self._order.edges
        small = group.astype(edges.first.dtype)
        one, other = small[edges.first], small[edges.second]
        for at in np.flatnonzero(((one == a) & (other == b)) | ((one == b) & (other == a))):
            i, j = sorted((int(edges.first[at]), int(edges.second[at])))
            if ("pair", (i, j)) not in self.known.asked:
                return np.array([[i, j]])
        return np.empty((0, 2), np.int64)


def _sums(P: NDArray[np.float32], group: Integers) -> NDArray[np.float64]:
    """Sum the probabilities of all pairs between each two groups, (n_groups, n_groups)."""
    members = [group == number for number in range(group.max() + 1)]
    of_rows = np.array([P[of].sum(axis=0, dtype=np.float64) for of in members])
    return np.array([of_rows[:, of].sum(axis=1) for of in members])
