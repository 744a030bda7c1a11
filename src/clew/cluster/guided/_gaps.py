"""Gaps: which groups are far from all other rows, and into which pieces groups fall."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import connected_components
from scipy.special import entr, gammaln

from clew.kernels.graphs import join_along_tree, pieces_of_groups
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
#: Number of parts in groups of rows that are in none.
NEXT_TO_NONE = 1e-6
#: Fewest rows of a group that has a gap: pairs of rows may be near each other by accident.
FEWEST = 4
#: Pieces are one if rows are among so many nearest: one for each four rows of the smaller piece.
#: A few rows join any neighbor.
FEWEST_NEIGHBORS, ROWS_PER_NEIGHBOR, MOST_NEIGHBORS = 2, 4, 1_000_000
#: Share of a subtree of Ward's linkage that is of one group, for it to be a part of this group.
LEAST_PURE = 0.8
#: Share of the entropy of pieces that counts if Ward's tree merges them next.
OF_SIBLINGS = 0.3
#: Added to the answers "same" about near rows: a few answers do not tell the share of far ones.
NEAR_ANSWERS = 4.0
#: If clear groups of features keep the second share of the near answers "same", half of all answers
#: count as far, and none at the first share: people see these groups, or finer ones.
CLEAR_FAR, KEPT = 0.5, (0.5, 0.75)


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
        """Numbers of parts most rows of which are in each group, (n_groups,).

        0 is a fragment: most of its rows are in parts most rows of which are in other groups. Other
        groups without parts have next to none.
        """
        chosen, n_groups = self.part >= 0, int(label.max()) + 1
        pair, size = np.unique(self.part[chosen] * n_groups + label[chosen], return_counts=True)
        most = size > np.bincount(self.part[chosen], minlength=1)[pair // n_groups] / 2
        part, group = np.divmod(pair[most], n_groups)
        found = np.bincount(group, minlength=n_groups).astype(float)
        in_parts = np.bincount(label, np.isin(self.part, part))
        return np.where((found > 0) | (2 * in_parts >= np.bincount(label)), found, NEXT_TO_NONE)


def _clearness(gap: Floats, usual: Floats, size: NDArray[np.number]) -> Floats:
    """Scale the logarithm of the ratio of gaps to edges within to the range from 0 to 1."""
    has_edges = np.isfinite(gap) & np.isfinite(usual) & (usual > 0) & (size >= FEWEST)
    ratio = np.divide(gap, usual, out=np.ones_like(gap), where=has_edges)
    return np.asarray(np.log(np.clip(ratio, NARROW, WIDE) / NARROW) / np.log(WIDE / NARROW))


@dataclass(frozen=True, eq=False)
class Pieces:
    """Pieces of groups: rows of a group that neighbors in it connect.

    A wrong answer "same" joins two groups that are no neighbors. That costs the more, the more
    partitions have as many groups of as many pieces, and the more answers "same" are about rows
    that are not near, as most wrong ones of random pairs are: where people are asked about rows
    that are near, two pieces are seldom joined by mistake.

    Groups of groups are hardly pieces: people may see five kinds where features show twenty. So
    entropies count three tenths if Ward's tree merges pieces before it merges either with rows of
    other groups.

    The nearest rows of a row in a small group are of other groups, too. So two pieces are one if a
    row of one is among the nearest rows of a row of the other, as many as a quarter of the smaller
    piece has rows, or two; pieces of up to three rows are parts of any neighbor. If features alone
    show clear groups, only these join rows of two of them. While people seldom call near rows of
    two of them the same, to join them has a cost, whatever share of the answers is far.
    """

    ends: Labels
    """Rows that are neighbors, (n_edges, 2), the nearest first."""
    rank: Labels
    """How many neighbors of one of the two rows are as near, (n_edges,)."""
    tree: Labels
    """Merges of Ward's linkage, (n_samples - 1, 2)."""
    far: float
    """Share of the answers "same" about rows that are neither neighbors nor share one; 4 near ones
    are added. At least half while answers keep to clear groups of features."""

    @classmethod
    def of(
        cls,
        graph: csr_array,
        tree: Floats,
        same: Labels,
        weights: Floats,
        apart: Labels | None = None,
    ) -> Pieces | None:
        """Pieces over a graph of neighbors, and Ward's linkage; `same`, (m, 2), are weighted.

        None if joins have no cost. `apart` are clear groups of features alone, (n_samples,).
        """
        is_near = (graph > 0).astype(np.int64)
        first, second = same.T
        n_ways = is_near[first].multiply(is_near[second]).sum(axis=1) + is_near[first, second]
        is_far = np.asarray(n_ways).ravel() == 0
        far = float(weights @ is_far / (weights.sum() + NEAR_ANSWERS))
        if apart is not None:
            near = weights * ~is_far
            kept = (near @ (apart[first] == apart[second]) + 1) / (near.sum() + 2)
            far = max(far, CLEAR_FAR * float(np.interp(kept, KEPT, (0.0, 1.0))))
        if not far:
            return None
        row, column = graph.nonzero()
        start = np.searchsorted(row, np.arange(graph.shape[0]))
        order = np.lexsort((-np.asarray(graph[row, column]).ravel(), row))
        ends = np.column_stack([row[order], column[order]]).astype(np.int64)
        rank = 1 + np.arange(len(row)) - start[row[order]]
        if apart is not None:
            rank[apart[ends[:, 0]] != apart[ends[:, 1]]] = MOST_NEIGHBORS
        by_rank = np.argsort(rank, kind="stable")
        merges = tree[:, :2].astype(np.int64)
        return cls(ends[by_rank], rank[by_rank].astype(np.int64), merges, far)

    def entropies(self, label: Labels) -> Floats:
        """Entropy of the sizes of each group's pieces, in nats, (n_groups,)."""
        most = _most_neighbors(np.arange(len(label) + 1)).astype(np.int64)
        near = pieces_of_groups(label, self.ends, self.rank, most)
        joined = join_along_tree(label, near, self.tree, LEAST_PURE)[0]
        each = (_entropies_within(label, roots) for roots in (near, joined))
        return np.asarray(np.average([*each], axis=0, weights=(OF_SIBLINGS, 1 - OF_SIBLINGS)))

    def nearness(self, label: Labels) -> Floats:
        """Least rank of rows of two groups; infinite if none is near, (n_groups, n_groups)."""
        n_groups = int(label.max()) + 1
        found = np.full((n_groups, n_groups), np.inf)
        one, other = label[self.ends].T
        np.minimum.at(found, (one, other), self.rank)
        return np.asarray(np.minimum(found, found.T))

    def siblings(self, label: Labels, n_groups: int) -> NDArray[np.bool_]:
        """Whether Ward's tree merges two groups next, (n_groups, n_groups)."""
        found = np.zeros((n_groups, n_groups), np.bool_)
        pairs = join_along_tree(label, np.arange(len(label)), self.tree, LEAST_PURE)[1]
        found[pairs[:, 0], pairs[:, 1]] = True
        return np.asarray(found | found.T)

    def nats_of(self, label: Labels) -> float:
        """Nats that say which pieces groups consist of; see `nats`."""
        share = np.bincount(label) / len(label)
        return float(self.nats(entr(share).sum(), share @ self.entropies(label)))

    @staticmethod
    def touch(nearness: Floats, size: NDArray[np.number]) -> NDArray[np.bool_]:
        """Whether two groups of given sizes would be one piece if they were one group."""
        return np.asarray(nearness <= _most_neighbors(np.minimum(size[:, None], size)))

    @staticmethod
    def nats(of_groups: Floats, within: Floats) -> Floats:
        """Bound of the log of the number of partitions of p pieces into k groups.

        It is ``(p - k) * log(k) + log(binom(p, k))`` (Rennie and Dobson, J. Combin. Theory 7,
        1969). Of groups and pieces of unequal sizes, numbers are the exponentials of entropies:
        `of_groups`, to which pieces add the mean entropy `within` groups.
        """
        n_groups, n_pieces = np.exp(of_groups), np.exp(of_groups + np.maximum(within, 0.0))
        more = n_pieces - n_groups
        of_choice = gammaln(n_pieces + 1) - gammaln(n_groups + 1) - gammaln(more + 1)
        return np.asarray(more * of_groups + of_choice)


class GroupsOfPieces:
    """Pieces of groups while these are merged."""

    def __init__(self, pieces: Pieces, label: Labels) -> None:
        self._pieces, self._label = pieces, label.copy()
        self._entropies, self._nearness = pieces.entropies(label), pieces.nearness(label)
        self._siblings = pieces.siblings(label, len(self._entropies))

    def saved_by_joining(self, size: Floats) -> Floats:
        """Nats of groups of given sizes less those if two are one, (n_groups, n_groups)."""
        share = size / size.sum()
        own, both, entropy = share * self._entropies, share[:, None] + share, entr(share)
        of_joined = entropy.sum() - entropy[:, None] - entropy + entr(both)
        within = own.sum() - own[:, None] - own + both * self._of_joined(size)
        return Pieces.nats(entropy.sum(), own.sum()) - Pieces.nats(of_joined, within)

    def join(self, a: int, b: int, size: Floats) -> None:
        """Let group `a` have the rows of `b` too, whose number is left out; sizes before."""
        self._entropies[a] = self._of_joined(size)[a, b]
        nearest = np.minimum(self._nearness[a], self._nearness[b])
        self._nearness[a] = self._nearness[:, a] = nearest
        self._entropies = np.delete(self._entropies, b)
        self._nearness = without_group(self._nearness, b)
        self._label = joined(self._label, a, b)
        self._siblings = self._pieces.siblings(self._label, len(self._entropies))

    def _of_joined(self, size: Floats) -> Floats:
        """Entropies of two groups as one: of no more pieces if they touch."""
        first = size[:, None] / np.maximum(size[:, None] + size, 1.0)
        share = np.where(self._siblings, OF_SIBLINGS, 1.0)
        share[Pieces.touch(self._nearness, size)] = 0.0
        apart = share * (entr(first) + entr(1 - first))
        return np.asarray(first * self._entropies[:, None] + (1 - first) * self._entropies + apart)


def joined(label: Labels, a: int, b: int) -> Labels:
    """Let group `a` have the rows of `b` too, and close the gap in the numbers, (n_samples,)."""
    found = np.where(label == b, a, label)
    return np.asarray(found - (found > b))


def with_joined(of_groups: Floats, a: int, b: int) -> Floats:
    """Add the last axis' entry of group `b` to that of `a`, and leave it out."""
    found = of_groups.copy()
    found[..., a] += found[..., b]
    return np.delete(found, b, axis=-1)


def without_group(of_pairs: Floats, group: int) -> Floats:
    """Leave out a group of a matrix of groups."""
    return np.delete(np.delete(of_pairs, group, axis=0), group, axis=1)


def _entropies_within(label: Labels, root: Labels) -> Floats:
    """Entropy of the sizes of each group's pieces, (n_groups,); pieces are named by their roots."""
    root, size = np.unique(root, return_counts=True)
    group = label[root]
    return np.asarray(np.bincount(group, entr(size / np.bincount(label)[group])))


def _most_neighbors(size: NDArray[np.number]) -> Floats:
    """Rank up to which neighbors join two pieces, the smaller of which has so many rows."""
    most = np.maximum(size / ROWS_PER_NEIGHBOR, FEWEST_NEIGHBORS)
    return np.where(size < FEWEST, MOST_NEIGHBORS, most)
