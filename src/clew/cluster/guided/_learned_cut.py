"""Groups of anchors from Ward's tree, cut at each branch where answers prefer it."""

from __future__ import annotations

from typing import Any, Final, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from clew.constraints import Constraints

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Exponents of the size in the score of a merge. At 0 the score is the height in Ward's tree, at
#: 0.5 the distance between the two centers; in between, large groups may be wider than small ones.
EXPONENTS: Final = (-0.5, -0.25, 0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
#: Penalty of the squared slope, for scores of standard deviation 1, and the slope of first trials.
PENALTY, FIRST_SLOPE = 0.3, 5.0
#: A group of fewer leaves has this penalty, in nats: a leaf far from all others is rarely a group.
LEAST_LEAVES, SMALL_GROUP = 3, 20.0
#: Bounds of the intercept and of the slope; of the share of wrong answers.
LIMIT, ERRORS = 60.0, (0.001, 0.49)
#: Numbers of groups at which fits start.
N_TRIED: Final = 25
#: Halvings of the interval in which the constant for a given number of groups is searched.
N_HALVED: Final = 50


class Merges(NamedTuple):
    """The merges of a tree, and how many answers are about rows that each of them joins."""

    children: Ints
    """The two nodes that each merge joins, (n_merges, 2); leaves are numbered first."""
    height: Floats
    """Height of each merge, (n_merges,)."""
    n_leaves: Ints
    """Number of leaves that each merge joins, (n_merges,)."""
    size: Floats
    """Harmonic mean of the numbers of leaves in the two parts, (n_merges,)."""
    must: Floats
    """Weight of the must-links that each merge joins; the last entry is that within leaves."""
    cannot: Floats
    """Weight of the cannot-links, likewise."""

    @classmethod
    def of(cls, tree: Floats, leaf: NDArray[np.integer], known: Constraints) -> Self:
        """Find the merge that joins the rows of each answer; `leaf` is that of each row."""
        n = len(tree) + 1
        children = tree[:, :2].astype(np.int64)
        sizes = np.concatenate([np.ones(n), tree[:, 3]])[children]
        pairs = known.as_pairs()
        is_known = ~pairs.is_dont_know
        joined = _first_joint_node(children, leaf[pairs.pairs[is_known]].astype(np.int64))
        at = np.where(joined < n, n - 1, joined - n)
        must = pairs.is_must_link[is_known]
        weight = pairs.pair_weights[is_known]
        counts = [np.bincount(at, weight * part, n).astype(np.float64) for part in (must, ~must)]
        n_leaves, mean = tree[:, 3].astype(np.int64), 2 * sizes.prod(axis=1) / tree[:, 3]
        return cls(children, tree[:, 2], n_leaves, mean, *counts)

    def cut(self, evidence: Floats, least: int = 1) -> Ints:
        """Return the nodes of the tree whose merges have the largest evidence, (n_leaves,)."""
        n = len(self.children) + 1
        penalty = np.where(np.append(np.ones(n), self.n_leaves) < least, SMALL_GROUP, 0.0).tolist()
        total, alone = [0.0] * n, [-cost for cost in penalty]
        best = alone[:n]
        for (left, right), here in zip(self.children.tolist(), evidence.tolist(), strict=True):
            total.append(total[left] + total[right] + here)
            alone[len(best)] += total[-1]
            best.append(max(alone[len(best)], best[left] + best[right]))
        group = np.full(2 * n - 1, -1)
        for node in range(2 * n - 2, -1, -1):
            if group[node] < 0 and alone[node] == best[node]:
                group[node] = node
            if node >= n:
                group[self.children[node - n]] = group[node]
        return np.unique(group[:n], return_inverse=True)[1].astype(np.int64)


def cut_by_answers(merges: Merges, n_clusters: int | None = None) -> Ints:
    """Cut a tree into groups that follow heights, sizes and answers, (n_leaves,).

    If `n_clusters` is given, fewer where no constant added to all log-odds leads to it.

    The two parts of a merge of height h, whose sizes have the harmonic mean w, are one group with
    probability ``p = sigmoid(a - b·log(h / w**c))``. An answer about rows that this merge joins is
    a must-link with probability ``e + (1 - e - f)·p``: e and f are the shares of wrong answers.
    a, b, e and f maximize the likelihood of all answers, for each c on a grid. The groups then
    maximize the posterior probability of all merges, by dynamic programming from the leaves to the
    root. A group of one or two leaves has a penalty of 20 nats, unless `n_clusters` is more than a
    third of the number of leaves: otherwise most groups would be single leaves far from all others.

    So groups of very different sizes can be found, which no cut at a single height does, and the
    few answers about each small group count together.
    """
    _, evidence = min((_fitted(merges, exponent) for exponent in EXPONENTS), key=lambda one: one[0])
    if n_clusters is None:
        return merges.cut(evidence, LEAST_LEAVES)
    least = min(LEAST_LEAVES, (len(evidence) + 1) // n_clusters)
    return _into(merges, evidence, n_clusters, least)


def _into(merges: Merges, evidence: Floats, n_clusters: int, least: int) -> Ints:
    """Cut into at most `n_clusters` groups, by the least constant added to the evidence."""
    low = -1.0 - np.abs(evidence).sum()
    high, groups = -low, np.zeros(len(evidence) + 1, np.int64)
    for _ in range(N_HALVED):
        middle = (low + high) / 2
        tried = merges.cut(evidence + middle, least)
        if tried.max() < n_clusters:
            high, groups = middle, tried
        else:
            low = middle
        if groups.max() == n_clusters - 1:
            break
    return groups


def _fitted(merges: Merges, exponent: float) -> tuple[float, Floats]:
    """Fit the probabilities of merges; return the loss and the log-odds of each merge."""
    height = np.maximum(merges.height, np.finfo(float).tiny)
    score = np.log(height) - exponent * np.log(merges.size)
    score = (score - score.mean()) / max(float(score.std()), 1e-12)

    def loss(parameters: Floats) -> float:
        intercept, slope, e, f = parameters
        p = np.append(expit(intercept - slope * score), 1.0)
        p_must = e + (1 - e - f) * p
        fit = merges.must @ np.log(p_must) + merges.cannot @ np.log1p(-p_must)
        return float(PENALTY * slope**2 - fit)

    n_tried = np.unique(np.geomspace(1, len(score), N_TRIED).astype(int))
    lowest_cut = np.append(np.sort(score), score.max() + 1)[len(score) + 1 - n_tried]
    starts = [np.array([FIRST_SLOPE * at, FIRST_SLOPE, 0.1, 0.1]) for at in lowest_cut]
    bounds = [(-LIMIT, LIMIT), (0.0, LIMIT), ERRORS, ERRORS]
    first: Any = min(starts, key=loss)
    best = minimize(loss, first, method="L-BFGS-B", bounds=bounds)
    intercept, slope, e, f = best.x
    of_answers = merges.must * np.log((1 - f) / e) + merges.cannot * np.log(f / (1 - e))
    return float(best.fun), intercept - slope * score + of_answers[:-1]


def _first_joint_node(children: Ints, pairs: Ints) -> Ints:
    """Return the lowest node that holds both leaves of each pair."""
    n = len(children) + 1
    parent = np.full(2 * n - 1, 2 * n - 2)
    parent[children] = np.arange(n, 2 * n - 1)[:, None]
    low: Ints = pairs.min(axis=1)
    high: Ints = pairs.max(axis=1)
    apart = np.flatnonzero(low != high)
    while len(apart):
        # A parent has a larger number than its children, so the node of the smaller number cannot
        # hold the other one.
        above, other = parent[low[apart]], high[apart]
        low[apart], high[apart] = np.minimum(above, other), np.maximum(above, other)
        apart = apart[low[apart] != high[apart]]
    return low
