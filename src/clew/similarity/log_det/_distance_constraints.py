"""Answers as constraints on squared distances."""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clew.answers import SAME
from clew.constraints import Constraints
from clew.graphs import coincide
from clew.kernels.log_det import Limits
from clew.similarity._comparisons import equalities_of, inequalities_of
from clew.similarity.log_det._problem import bounds, comparisons, equalities, joined, take

__all__ = [
    "AnswerLimits",
    "PairBounds",
    "Skipped",
    "bounds_of_pairs",
    "limits_of_answers",
    "mean_squared_distance",
    "percentile_bounds",
    "without_impossible",
]

#: Two differences count as collinear below this squared sine of their angle.
COLLINEAR = 1e-10
#: Bounds of near and far rows, relative to the largest squared distance: 0.05 and 1.95 in SKMS.
NEAR_SHARE, FAR_SHARE = 0.025, 0.975
#: Least bound, relative to the mean squared distance: percentiles are 0 if many rows coincide.
LEAST_BOUND = 1e-3
#: Number of pairs of rows from which percentiles are estimated.
SAMPLED_PAIRS = 5000
Floats = NDArray[np.float64]


class PairBounds(NamedTuple):
    """Bounds of squared distances."""

    upper: float
    """Upper bound for must-links."""
    lower: float
    """Lower bound for cannot-links."""


class Skipped(NamedTuple):
    """An answer that cannot hold for any metric or kernel, given the features."""

    kind: str
    """ "pair", "triplet" or "odd_one_out"."""
    answer: int
    """Position among the answers of this kind."""
    reason: str
    """Why it cannot hold."""


class AnswerLimits(NamedTuple):
    """Constraints on distances, each with the answer that it comes from."""

    limits: Limits
    """The constraints, m of them."""
    weight: Floats
    """Weight of the answer, (m,)."""
    kind: NDArray[np.str_]
    """Kind of the answer, (m,)."""
    answer: NDArray[np.int64]
    """Position of the answer among those of its kind, (m,)."""

    def select(self, which: NDArray[np.bool_]) -> Self:
        """Return the chosen constraints."""
        return type(self)(
            take(self.limits, which), self.weight[which], self.kind[which], self.answer[which]
        )

    def with_penalty(self, penalty: float) -> Limits:
        """Return the constraints with a slack penalty, for weight 1; ``np.inf`` allows no slack."""
        high = penalty * self.weight
        return self.limits._replace(
            high=high, low=np.where(self.limits.low < 0, -high, self.limits.low)
        )


def mean_squared_distance(X: Floats) -> float:
    """Compute the mean squared distance of two rows; 1 if all rows coincide."""
    return 2 * float(X.var(axis=0).sum()) or 1.0


def sampled_distances(X: Floats, seed: int) -> Floats:
    """Compute squared distances of random pairs of different rows."""
    random, n = np.random.RandomState(seed), len(X)
    i = random.randint(n, size=SAMPLED_PAIRS)
    j = (i + random.randint(1, n, size=SAMPLED_PAIRS)) % n
    return np.asarray(np.square(X[i] - X[j]).sum(axis=1))


def percentile_bounds(X: Floats, low: float, high: float, seed: int) -> PairBounds:
    """Use two percentiles of squared distances as bounds, which are kept above 0."""
    upper, lower = np.percentile(sampled_distances(X, seed), (low, high))
    least = LEAST_BOUND * mean_squared_distance(X)
    return PairBounds(max(float(upper), least), max(float(lower), least))


def bounds_of_pairs(X: Floats, diameter: float | None, seed: int) -> PairBounds:
    """Choose bounds for must-links and cannot-links as SKMS does.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    diameter : float or None
        Largest possible squared distance: 2 for a Gaussian kernel. None uses the mean squared
        distance.
    seed : int
        Seed of the sample of distances.

    Returns
    -------
    PairBounds
        The upper bound is the smaller of the first percentile of the squared distances and 2.5 % of
        the diameter; the lower bound is the larger of the 99th percentile and 97.5 %.
    """
    diameter = mean_squared_distance(X) if diameter is None else diameter
    usual = percentile_bounds(X, 1, 99, seed)
    return PairBounds(
        min(usual.upper, NEAR_SHARE * diameter), max(usual.lower, FAR_SHARE * diameter)
    )


def limits_of_answers(
    known: Constraints, *, gamma: float, pair_bounds: PairBounds, equal_if_unknown: bool
) -> AnswerLimits:
    """Turn all answers of positive weight into constraints on distances.

    Parameters
    ----------
    known : Constraints
        Answers of all kinds.
    gamma : float
        Ratio of squared distances that a comparison asks for.
    pair_bounds : PairBounds
        Bounds for must-links and cannot-links.
    equal_if_unknown : bool
        Whether don't-knows about three rows mean that the distances are equal.

    Returns
    -------
    AnswerLimits
        Constraints of triplets, then of odd-one-out answers, equalities, and pairs.
    """
    more = inequalities_of(known)
    same = equalities_of(known, with_dont_know=equal_if_unknown)
    is_pair = ~known.is_dont_know
    pairs, is_must = known.pairs[is_pair], known.pair_answers[is_pair] == SAME
    bound = np.where(is_must, pair_bounds.upper, pair_bounds.lower)
    limits = joined(
        comparisons(more.near, more.far, gamma, more.weight),
        equalities(same.near, same.far, same.weight),
        bounds(pairs, is_must, bound, np.ones(len(pairs))),
    )
    weight = np.concatenate([more.weight, same.weight, known.pair_weights[is_pair]])
    kind = np.concatenate([more.kind, same.kind, np.full(len(pairs), "pair")])
    answer = np.concatenate([more.answer, same.answer, np.flatnonzero(is_pair)])
    return AnswerLimits(limits, weight, kind, answer).select(weight > 0)


def without_impossible(found: AnswerLimits, X: Floats) -> tuple[AnswerLimits, list[Skipped]]:
    """Remove constraints that cannot hold for any metric, and list their answers.

    If rows coincide, their distance is always 0. If three rows are on one line, their distances
    always have the same ratio.

    Parameters
    ----------
    found : AnswerLimits
        Constraints.
    X : ndarray of shape (n_samples, n_features)
        Features.

    Returns
    -------
    possible : AnswerLimits
        The constraints that can hold.
    skipped : list of Skipped
        The answers of the others.
    """
    limits = found.limits
    i, j, g, h = limits.rows.T
    first, second = X[i] - X[j], X[g] - X[h]
    near, far = np.square(first).sum(axis=1), np.square(second).sum(axis=1)
    length = (X**2).sum(axis=1)
    is_copy = coincide(near, length[i], length[j])
    is_copy_far = coincide(far, length[g], length[h])
    compares, is_equality = limits.inverse_bound == 0, limits.low < 0
    has_copies = np.where(
        compares,
        is_copy_far | (is_equality & is_copy),
        (limits.factor < 0) & is_copy,
    )
    sine = near * far - (first * second).sum(axis=1) ** 2
    over = limits.factor * near - far
    over = np.where(is_equality, np.abs(over), over)
    on_line = compares & ~has_copies & (sine <= COLLINEAR * near * far) & (over > COLLINEAR * far)
    skipped = {
        Skipped(str(found.kind[at]), int(found.answer[at]), reason)
        for which, reason in (
            (has_copies, "rows that should differ coincide"),
            (on_line, "its rows are on one line, which fixes the ratio of their distances"),
        )
        for at in np.flatnonzero(which)
    }
    return found.select(~(has_copies | on_line)), sorted(skipped)
