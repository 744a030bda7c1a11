"""Gaps: which groups are far from all other rows, and into which pieces groups fall."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import entr

from clew.kernels.linkage import spanning_tree

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

#: The gap around a group is compared with this quantile of the edges within it: it is no gap at the
#: first ratio, and a whole one at the second.
QUANTILE, NARROW, WIDE = 0.9, 1.2, 1.8
#: Edges that are cut for parts, in multiples of the usual length.
LONG_EDGES = (0.85, 1.0, 1.25, 1.6)
#: Least clearness of a part.
LEAST_CLEAR = 0.25
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

    @cached_property
    def parts(self) -> PartsApart:
        """Parts with a gap around them, the smallest first, from cuts of ever longer edges."""
        n = len(self._length) + 1
        part, clear, n_parts = np.full(n, -1), np.zeros(n), 0
        for factor in LONG_EDGES:
            label = self.components(factor)
            clearness = self.clearness(label)
            is_new = (clearness >= LEAST_CLEAR) & (np.bincount(label, part >= 0) == 0)
            rows = is_new[label]
            part[rows], clear[rows] = n_parts + label[rows], clearness[label[rows]]
            n_parts += len(clearness)
        part[part >= 0] = np.unique(part[part >= 0], return_inverse=True)[1]
        sizes = np.bincount(part[part >= 0]) / n
        return PartsApart(part, float(clear.mean()) ** 2 * min(1.0, 2 * (1 - float(sizes @ sizes))))

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


@dataclass(frozen=True, eq=False)
class PartsApart:
    """Parts of the rows that are far apart."""

    part: Labels
    """Number of each row's part, (n_samples,); -1 outside of all."""
    share: float
    """How much gaps tell of groups, from 0 to 1: the squared mean clearness of rows, and less if
    one part is nearly all."""

    def counts(self, label: Labels) -> Floats:
        """Numbers of parts most rows of which are in each group, (n_groups,)."""
        chosen, n_groups = self.part >= 0, int(label.max()) + 1
        pair, size = np.unique(self.part[chosen] * n_groups + label[chosen], return_counts=True)
        most = size > np.bincount(self.part[chosen], minlength=1)[pair // n_groups] / 2
        return np.bincount(pair[most] % n_groups, minlength=n_groups).astype(float)


def _clearness(gap: Floats, usual: Floats, size: NDArray[np.number]) -> Floats:
    """Scale the logarithm of the ratio of gaps to edges within to the range from 0 to 1."""
    has_edges = np.isfinite(gap) & np.isfinite(usual) & (usual > 0) & (size >= FEWEST)
    ratio = np.divide(gap, usual, out=np.ones_like(gap), where=has_edges)
    return np.asarray(np.log(np.clip(ratio, NARROW, WIDE) / NARROW) / np.log(WIDE / NARROW))


@dataclass(frozen=True, eq=False)
class Pieces:
    """Pieces of groups: rows of a group that neighbors in it connect.

    A wrong answer "same" joins two groups that are no neighbors. That costs the more, the more
    pieces there are, and the more answers "same" are about rows that are not near, as most wrong
    ones of random pairs are: where people are asked about rows that are near, two pieces are seldom
    joined by mistake.
    """

    ends: Labels
    """Rows that are neighbors, (2, n_edges)."""
    far: float
    """Share of the answers "same" about rows that are neither neighbors nor share one."""

    @classmethod
    def of(cls, graph: csr_array, same: Labels, weights: Floats) -> Pieces | None:
        """Pieces over a graph of neighbors; `same` are pairs of rows, (m, 2), weighted.

        None if no answer is far.
        """
        is_near = (graph > 0).astype(np.int64)
        first, second = same.T
        n_ways = is_near[first].multiply(is_near[second]).sum(axis=1) + is_near[first, second]
        is_far = np.asarray(n_ways).ravel() == 0
        if not is_far.any():
            return None
        return cls(np.stack(graph.nonzero()), float(weights @ is_far / weights.sum()))

    def bits(self, label: Labels) -> tuple[Floats, float]:
        """Entropy of the sizes of each group's pieces, in bits, (n_groups,).

        Also the nats that name a pair of all pieces: a wrong answer joins any two of them, so that
        the more there are, the more partitions have one pair joined.
        """
        n, (one, other) = len(label), self.ends[:, label[self.ends[0]] == label[self.ends[1]]]
        graph = coo_array((np.ones(len(one)), (one, other)), shape=(n, n))
        piece = connected_components(graph, directed=False)[1]
        size, group = np.bincount(piece), np.empty(piece.max() + 1, np.int64)
        group[piece] = label
        number = np.exp(entr(size / n).sum())
        bits = np.bincount(group, entr(size / np.bincount(label)[group]) / np.log(2))
        return np.asarray(bits, np.float64), float(np.log1p(number * (number - 1) / 2))

    def touch(self, label: Labels) -> NDArray[np.bool_]:
        """Whether rows of two groups are neighbors, (n_groups, n_groups)."""
        n_groups = int(label.max()) + 1
        found = np.zeros((n_groups, n_groups), np.bool_)
        one, other = label[self.ends]
        found[one, other] = found[other, one] = True
        return found
