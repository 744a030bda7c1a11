"""The search for the best partition: merges, moves of rows, and splits, from two starts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components, minimum_spanning_tree
from scipy.special import gammaln

from clew._parallel import stop_if_abandoned
from clew.kernels.correlation import (
    Edges,
    Pairs,
    Scoring,
    anneal_rows,
    cut_sums,
    merge_groups,
    move_rows,
)

#: The prior log-odds that two groups are one are a weighted mean of the mean and the maximum of the
#: log-odds of the asked pairs between them; the mean has this weight.
MEAN_SHARE = 0.25
#: A row is moved, or a group split, if log-odds improve by more than this.
MARGIN = 0.3
ROUNDS, SWEEPS = 20, 20
#: With at most `FEW_GROUPS` groups, of `LARGE_GROUP` rows or more on average, a row may also move
#: to a group with which no asked pair connects it.
FEW_GROUPS, LARGE_GROUP = 64, 8
#: `n_clusters` is ignored if answers name fewer rows than this times `n_clusters`.
FEW_EACH = 3
#: Groups of a given number are small if they have fewer rows than this on the average: large ones
#: then do not attract, and annealing is left out.
SMALL_GROUP = 5
#: Annealing is used for at most this number of rows, and at least this mean number of asked pairs
#: per row.
ANNEALED_ROWS, LEAST_DEGREE = 20_000, 3
#: Numbers of groups that are tried, each in three annealings; and number of annealings if the
#: number of groups is given.
FEW, RESTARTS = (2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 25), 20
#: Least adjusted Rand index between the best partition and the most similar one of another start.
LEAST_AGREEMENT = 0.3
TEMPERATURES = np.geomspace(4.0, 0.3, 60)
Floats = NDArray[np.float64]
Labels = NDArray[np.int64]


class Evidence(NamedTuple):
    """Evidence that pairs of rows are in one group."""

    n_rows: int
    pairs: NDArray[np.int64]
    """Asked pairs, (n_pairs, 2), each once."""
    evidence: Floats
    """Log-likelihood ratio of the answers to each pair, same against different."""
    prior: Floats
    """Log-odds that the two rows of each pair are in one group, before its answers."""
    unasked: float
    """Log-likelihood ratio of the fact that a pair was not asked, at most 0."""
    no_prior: float
    """Prior log-odds of a pair that was not asked."""
    attraction: float = 1.0
    """Weight of the prior by which large groups attract rows, in [0, 1]."""
    mean_share: float = MEAN_SHARE
    """Weight of the mean in the prior of two groups; the maximum has the rest."""

    @property
    def scoring(self) -> Scoring:
        """The weights with which kernels sum the evidence between two groups."""
        return Scoring(self.mean_share, self.unasked, self.no_prior, self.attraction)

    def objective(self, labels: Labels) -> float:
        """Score a partition: evidence within groups, and the mean prior for each merge."""
        first, second = self.pairs.T
        is_within = labels[first] == labels[second]
        sizes = np.bincount(labels).astype(float)
        n_pairs = (sizes * (sizes - 1)).sum() / 2
        prior = self.prior[is_within].mean() if is_within.any() else self.no_prior
        return float(
            self.evidence[is_within].sum()
            + self.unasked * (n_pairs - is_within.sum())
            + prior * (self.n_rows - np.count_nonzero(sizes))
            + self.attraction * gammaln(np.maximum(sizes, 1.0)).sum()
        )

    def symmetric(self, values: Floats) -> csr_array:
        """Return a symmetric matrix with the values of the asked pairs."""
        first, second = self.pairs.T
        n = self.n_rows
        both = np.concatenate([first, second]), np.concatenate([second, first])
        return csr_array(coo_array((np.concatenate([values, values]), both), shape=(n, n)))

    @property
    def by_row(self) -> Pairs:
        """The asked pairs of each row, as kernels read them."""
        evidence, prior = self.symmetric(self.evidence), self.symmetric(self.prior)
        indptr, indices = evidence.indptr.astype(np.int64), evidence.indices.astype(np.int64)
        return Pairs(indptr, indices, evidence.data, prior.data)


class Merges(NamedTuple):
    """Merges of groups, in order."""

    groups: NDArray[np.int64]
    """The two groups of each merge, (n_merges, 2); the second was merged into the first."""
    scores: Floats
    """Log-odds that the two are one group."""


def search(evidence: Evidence, threshold: float, n_clusters: int | None, seed: int) -> Labels:
    """Search for the best partition, (n_rows,), from greedy merges and from annealing."""
    asked, inverse = np.unique(evidence.pairs, return_inverse=True)
    labels = np.arange(evidence.n_rows)
    if len(asked):
        inside = evidence._replace(n_rows=len(asked), pairs=inverse.reshape(-1, 2))
        # If answers name few rows only, these rows may be in fewer groups than all rows.
        is_few = n_clusters is not None and len(asked) < FEW_EACH * n_clusters <= len(labels)
        if n_clusters is None:
            # Scores of two groups are linear in the prior: this subtracts the threshold from all.
            inside = inside._replace(
                prior=evidence.prior - threshold, no_prior=evidence.no_prior - threshold
            )
        found = _search_asked(inside, None if is_few else n_clusters, seed)
        labels[asked] = asked[np.unique(found, return_index=True)[1]][found]
    return _relabeled(labels)


def _search_asked(evidence: Evidence, n_clusters: int | None, seed: int) -> Labels:
    """Search for a partition of rows each of which is in an asked pair."""
    are_small = evidence.n_rows < SMALL_GROUP * (n_clusters or 0)
    start = None if are_small else _annealed(evidence, n_clusters, seed)
    if are_small or (start is None and n_clusters is None and evidence.unasked >= 0):
        evidence = evidence._replace(attraction=0.0)
    merged, _ = greedy_merges(evidence, np.arange(evidence.n_rows), n_clusters)
    found = [improved(evidence, merged, n_clusters)]
    if start is not None:
        found.append(improved(evidence, start, n_clusters))
    return max(found, key=evidence.objective)


def improved(evidence: Evidence, labels: Labels, n_clusters: int | None) -> Labels:
    """Move rows, split groups and merge groups until nothing changes."""
    pairs = evidence.by_row
    for _ in range(ROUNDS):
        before = labels
        labels = _moved(evidence, pairs, labels, is_fixed=n_clusters is not None)
        if n_clusters is None:
            labels = _split(evidence, labels)
            labels, _ = greedy_merges(evidence, labels, None)
        if np.array_equal(labels, before):
            break
    return labels


def greedy_merges(
    evidence: Evidence, labels: Labels, n_clusters: int | None
) -> tuple[Labels, Merges]:
    """Merge the two groups, labels (n_rows,), of largest log-odds while these are above 0."""
    n_groups = int(labels.max()) + 1
    ends = np.sort(labels[evidence.pairs], axis=1)
    at = np.flatnonzero(ends[:, 0] != ends[:, 1])
    key, edge = np.unique(ends[at, 0] * n_groups + ends[at, 1], return_inverse=True)
    top = np.full(len(key), -np.inf)
    np.maximum.at(top, edge, evidence.prior[at])
    into, groups = np.empty(n_groups, np.int64), np.empty((n_groups, 2), np.int64)
    scores = np.empty(n_groups)
    edges = Edges(
        key // n_groups,
        key % n_groups,
        _sums(edge, evidence.evidence[at], len(key)),
        _sums(edge, evidence.prior[at], len(key)),
        top,
        np.bincount(edge, minlength=len(key)).astype(float),
    )
    n_merges = merge_groups(
        edges,
        np.bincount(labels, minlength=n_groups).astype(float),
        evidence.scoring,
        0.0 if n_clusters is None else -np.inf,
        1 if n_clusters is None else n_clusters,
        into,
        groups,
        scores,
    )
    # From the last merge to the first, because a group may be merged after others joined it.
    for kept, ended in groups[:n_merges][::-1].tolist():
        into[ended] = into[kept]
    return _relabeled(into[labels]), Merges(groups[:n_merges], scores[:n_merges])


def _sums(edge: NDArray[np.int64], values: Floats, n_edges: int) -> Floats:
    # Without pairs, bincount returns integers.
    return np.bincount(edge, values, n_edges).astype(np.float64)


def _relabeled(labels: Labels) -> Labels:
    return np.unique(labels, return_inverse=True)[1].astype(np.int64)


def _moved(evidence: Evidence, pairs: Pairs, labels: Labels, *, is_fixed: bool) -> Labels:
    """Move rows, one at a time, to the group that they fit best, until none moves."""
    n = evidence.n_rows
    labels = labels.copy()
    sizes = np.bincount(labels, minlength=n + 1).astype(float)
    n_groups = int(labels.max()) + 1
    are_large = n_groups <= FEW_GROUPS and LARGE_GROUP * n_groups <= evidence.n_rows
    n_few = n_groups if are_large or (is_fixed and evidence.attraction > 0) else 0
    for _ in range(SWEEPS):
        n_moves = move_rows(pairs, evidence.scoring, MARGIN, is_fixed, n_few, labels, sizes)
        if n_moves == 0:
            break
    return _relabeled(labels)


def _split(evidence: Evidence, labels: Labels) -> Labels:
    """Split groups at the tree edge of lowest log-odds between parts, if negative."""
    n, (first, second) = evidence.n_rows, evidence.pairs.T
    inside = np.flatnonzero(labels[first] == labels[second])
    first, second = first[inside], second[inside]
    value, prior = evidence.evidence[inside], evidence.prior[inside]
    order, above = _spanning_tree(labels, first, second, value + prior)
    ones = np.ones(len(value))
    sums, size = np.empty((n + 1, 3)), np.empty(n + 1)
    cut_sums(order, above, first, second, np.stack([value, prior, ones], axis=1), sums, size)
    e, w, n_asked = sums[:n].T
    part = size[:n]
    rest = np.bincount(labels)[labels] - part
    is_root = above[:n] == n
    rest[is_root] = 1.0
    score = e + np.where(n_asked > 0, w / np.maximum(n_asked, 1.0), evidence.no_prior)
    score += evidence.unasked * (part * rest - n_asked)
    score += evidence.attraction * (gammaln(part + rest) - gammaln(part) - gammaln(rest))
    score[is_root] = np.inf
    worst = np.full(int(labels.max()) + 1, np.inf)
    np.minimum.at(worst, labels, score)
    of_group = np.flatnonzero((score == worst[labels]) & (score < -MARGIN))
    # in a tie the first
    of_group = of_group[np.unique(labels[of_group], return_index=True)[1]]
    result = labels.copy()
    result[of_group] = n + of_group
    for row in order[1:].tolist():
        if not is_root[row] and result[row] < n:
            result[row] = result[above[row]]
    return _relabeled(result)


def _spanning_tree(
    labels: Labels, first: Labels, second: Labels, strength: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Maximum spanning trees below one root, n_rows: order (n_rows + 1,) and parents."""
    n = len(labels)
    # Larger evidence is a shorter edge. Lengths are positive, because SciPy takes zeros of a sparse
    # matrix for missing edges.
    length = 1.0 + strength.max(initial=0.0) - strength
    tree = minimum_spanning_tree(csr_array(coo_array((length, (first, second)), shape=(n, n))))
    part = connected_components(tree, directed=False)[1]
    head = np.unique(part, return_index=True)[1]
    of_head = np.unique(labels[head], return_index=True, return_inverse=True)
    leader = head[of_head[1]][of_head[2]]  # for each part, the head of the first in its group
    leaders = head[leader == head]
    begin = np.concatenate([tree.tocoo().row, leader, np.full(len(leaders), n)])
    end = np.concatenate([tree.tocoo().col, head, leaders])
    is_edge = begin != end
    graph = coo_array(
        (np.ones(is_edge.sum()), (begin[is_edge], end[is_edge])), shape=(n + 1, n + 1)
    )
    order, above = breadth_first_order(csr_array(graph), n, directed=False)
    return order.astype(np.int64), above.astype(np.int64)


def _annealed(evidence: Evidence, n_clusters: int | None, seed: int) -> Labels | None:
    """Search for a few groups by annealing: greedy merges after weak answers are nearly random.

    None with too many rows, or if no other start ends at a similar partition: many small groups and
    cannot-links are like a sparse graph, which has very many colorings.
    """
    n = evidence.n_rows
    is_sparse = 2 * len(evidence.pairs) < LEAST_DEGREE * n
    if n > ANNEALED_ROWS or is_sparse or (n_clusters or 0) >= n:
        return None
    pairs = evidence.by_row
    random, found = np.random.RandomState(seed), []
    few = [k for k in FEW for _ in range(3) if k < n]
    for k in few if n_clusters is None else [n_clusters] * RESTARTS:
        labels = random.randint(0, k, n).astype(np.int64)
        sizes = np.bincount(labels, minlength=k).astype(float)
        for temperature in TEMPERATURES:
            stop_if_abandoned()
            uniform = random.uniform(size=n)
            anneal_rows(pairs, evidence.scoring, temperature, uniform, labels, sizes)
        found.append(_relabeled(labels))
    best = max(found, key=evidence.objective)
    others = [other for other in found if other is not best]
    is_found_again = (
        n_clusters is not None
        or not others
        or any(_adjusted_rand(best, other) >= LEAST_AGREEMENT for other in others)
    )
    return best if is_found_again else None


def _adjusted_rand(one: Labels, other: Labels) -> float:
    """Return the adjusted Rand index of labels from 0 on, without scikit-learn's long checks."""
    n_groups = int(other.max()) + 1
    table = np.bincount(one * n_groups + other, minlength=(int(one.max()) + 1) * n_groups)
    together = [
        float(np.sum(n * (n - 1) / 2)) for n in (table, np.bincount(one), np.bincount(other))
    ]
    expected = together[1] * together[2] / (len(one) * (len(one) - 1) / 2)
    most = (together[1] + together[2]) / 2
    return 1.0 if most == expected else (together[0] - expected) / (most - expected)
