"""Gaps: which groups are far from all other rows."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from clew.kernels.linkage import spanning_tree

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

#: The gap around a group is compared with this quantile of the edges within it: it is no gap at the
#: first ratio, and a whole one at the second.
QUANTILE, NARROW, WIDE = 0.9, 1.2, 1.8
#: Fewest rows of a group that has a gap: pairs of rows may be near each other by accident.
FEWEST = 4


class Gaps:
    """The minimum spanning tree of rows X, (n, d), or of distances between them, (n, n).

    Its shortest edge that leaves a group is the distance from the group to all other rows, so gaps
    are found in O(n) for any groups. No rotation and no common factor changes them. Time O(n²·d)
    once, memory O(n).
    """

    def __init__(self, X: Floats, distances: Floats | None = None) -> None:
        ends, length = spanning_tree(X, np.empty((0, 0)) if distances is None else distances)
        order = np.argsort(length, kind="stable")
        self._ends, self._length = ends[order].T.copy(), length[order]

    def clearness(self, label: Labels) -> Floats:
        """How wide the gap around each group is, from 0 to 1, (n_groups,)."""
        one, other = label[self._ends]
        leaves = one != other
        nearest = np.full(int(label.max()) + 1, np.inf)
        for end in (one, other):
            np.minimum.at(nearest, end[leaves], self._length[leaves])
        usual = self._usual_edges(one[~leaves], self._length[~leaves], len(nearest))
        return _clearness(nearest, usual, np.bincount(label))

    def around(self, label: Labels) -> GapsOfUnions:
        """Gaps around groups and their unions."""
        one, other = label[self._ends]
        leaves, n_groups = one != other, int(label.max()) + 1
        between = np.full((n_groups, n_groups), np.inf)
        np.minimum.at(between, (one[leaves], other[leaves]), self._length[leaves])
        usual = self._usual_edges(one[~leaves], self._length[~leaves], n_groups)
        return GapsOfUnions(np.minimum(between, between.T), usual)

    def components(self, factor: float) -> Labels:
        """Cut edges of more than `factor` times the usual length; small parts join the nearest."""
        is_cut = self._length > factor * np.quantile(self._length, QUANTILE)
        n, (first, second) = len(self._length) + 1, self._ends
        ones = np.ones(int((~is_cut).sum()))
        graph = coo_array((ones, (first[~is_cut], second[~is_cut])), shape=(n, n))
        label = connected_components(graph, directed=False)[1]
        size = np.bincount(label)
        for one, other in self._ends[:, is_cut].T:
            a, b = label[one], label[other]
            if a != b and min(size[a], size[b]) < FEWEST:
                label[label == b] = a
                size[a] += size[b]
        return np.asarray(np.unique(label, return_inverse=True)[1], np.int64)

    @staticmethod
    def _usual_edges(group: Labels, length: Floats, n_groups: int) -> Floats:
        """Return a quantile of the sorted edges within each group; infinite if there are none."""
        order, count = np.argsort(group, kind="stable"), np.bincount(group, minlength=n_groups)
        place = np.cumsum(count) - count + np.ceil(QUANTILE * count).astype(np.int64) - 1
        found = np.full(n_groups, np.inf)
        found[count > 0] = length[order][place[count > 0]]
        return found


class GapsOfUnions:
    """Gaps around the unions of two groups, while groups are joined one after the other."""

    def __init__(self, between: Floats, usual: Floats) -> None:
        #: Distances between groups that an edge of the tree joins, infinite for others.
        self._between, self._usual = between, usual

    def clearness(self, size: Floats) -> tuple[Floats, Floats]:
        """How wide gaps are around groups, (n_groups,), and unions, (n_groups, n_groups)."""
        every = np.arange(len(size))
        nearest = self._between.argmin(axis=1)
        rest = self._between.copy()
        rest[every, nearest] = np.inf
        first, second = self._between[every, nearest], rest.min(axis=1)
        to_others = np.where(nearest[:, None] == every, second[:, None], first[:, None])
        usual = np.maximum(self._usual[:, None], self._usual)
        of_unions = _clearness(np.minimum(to_others, to_others.T), usual, size[:, None] + size)
        return _clearness(first, self._usual, size), of_unions

    def join(self, a: int, b: int) -> None:
        """Let group a have the rows of group b, which is empty then."""
        both, inside = np.minimum(self._between[a], self._between[b]), self._between[a, b]
        both[[a, b]] = np.inf
        self._between[a], self._between[:, a] = both, both
        self._between[b], self._between[:, b] = np.inf, np.inf
        usual = [of for of in (self._usual[a], self._usual[b]) if np.isfinite(of)]
        self._usual[a] = max(usual, default=inside)


def _clearness(gap: Floats, usual: Floats, size: NDArray[np.number]) -> Floats:
    """Scale the logarithm of the ratio of gaps to edges within to the range from 0 to 1."""
    has_edges = np.isfinite(gap) & np.isfinite(usual) & (usual > 0) & (size >= FEWEST)
    ratio = np.divide(gap, usual, out=np.ones_like(gap), where=has_edges)
    return np.asarray(np.log(np.clip(ratio, NARROW, WIDE) / NARROW) / np.log(WIDE / NARROW))
