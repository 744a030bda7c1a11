"""Answers as constraints on squared distances in some features."""

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

#: Squared sine of the angle below which two differences point along one line.
COLLINEAR = 1e-10
#: What is near and far, as shares of the largest squared distance: the 0.05 and 1.95 of SKMS.
NEAR_SHARE, FAR_SHARE = 0.025, 0.975
#: No bound is below this share of the mean squared distance, or duplicates would make it nil.
LEAST_BOUND = 1e-3
#: Pairs of rows from which distances are estimated.
SAMPLED_PAIRS = 5000
Floats = NDArray[np.float64]


class PairBounds(NamedTuple):
    """Squared distances that must-links stay below, and cannot-links above."""

    upper: float
    lower: float


class Skipped(NamedTuple):
    """An answer that nothing can honour in these features."""

    kind: str
    """ "pair", "triplet" or "odd_one_out"."""
    answer: int
    """Its position among the answers of that kind."""
    reason: str
    """Why."""


class AnswerLimits(NamedTuple):
    """Constraints on distances, each with the answer that it comes from."""

    limits: Limits
    weight: Floats
    kind: NDArray[np.str_]
    answer: NDArray[np.int64]

    def select(self, which: NDArray[np.bool_]) -> Self:
        """Keep some."""
        return type(self)(
            take(self.limits, which), self.weight[which], self.kind[which], self.answer[which]
        )

    def priced(self, price: float) -> Limits:
        """Let what an answer of weight 1 may cost be `price`, which may be infinite."""
        high = price * self.weight
        return self.limits._replace(
            high=high, low=np.where(self.limits.low < 0, -high, self.limits.low)
        )


def mean_squared_distance(X: Floats) -> float:
    """Measure the mean squared distance of two rows; 1 where all coincide."""
    return 2 * float(X.var(axis=0).sum()) or 1.0


def sampled_distances(X: Floats, seed: int) -> Floats:
    """Measure squared distances of random pairs of different rows."""
    random, n = np.random.RandomState(seed), len(X)
    i = random.randint(n, size=SAMPLED_PAIRS)
    j = (i + random.randint(1, n, size=SAMPLED_PAIRS)) % n
    return np.asarray(np.square(X[i] - X[j]).sum(axis=1))


def percentile_bounds(X: Floats, low: float, high: float, seed: int) -> PairBounds:
    """Choose percentiles of squared distances as bounds, though no bound that is nil."""
    upper, lower = np.percentile(sampled_distances(X, seed), (low, high))
    least = LEAST_BOUND * mean_squared_distance(X)
    return PairBounds(max(float(upper), least), max(float(lower), least))


def bounds_of_pairs(X: Floats, diameter: float | None, seed: int) -> PairBounds:
    """Choose what must-links stay below and cannot-links above, as SKMS does.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    diameter : float or None
        Largest squared distance that there can be: 2 for a Gaussian kernel. None is the mean one.
    seed : int
        Samples distances.

    Returns
    -------
    PairBounds
        The first percentile of squared distances, or 2.5 % of the diameter if that is less; the
        99th percentile, or 97.5 % if that is more.
    """
    diameter = mean_squared_distance(X) if diameter is None else diameter
    usual = percentile_bounds(X, 1, 99, seed)
    return PairBounds(
        min(usual.upper, NEAR_SHARE * diameter), max(usual.lower, FAR_SHARE * diameter)
    )


def limits_of_answers(
    known: Constraints, *, gamma: float, pair_bounds: PairBounds, equal_if_unknown: bool
) -> AnswerLimits:
    """Turn all answers of any weight above 0 into constraints, triplets first, pairs last.

    Parameters
    ----------
    known : Constraints
        The answers.
    gamma : float
        How many times as large a squared distance is that was said to be larger.
    pair_bounds : PairBounds
        For must-links and cannot-links.
    equal_if_unknown : bool
        Whether don't-knows about three rows say that distances are equal.
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
    """Leave out what no change of distances can bring about, and say why.

    Where rows coincide, or lie on one line, some distances keep their ratio whatever A is.
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
            (has_copies, "rows that should be apart coincide"),
            (on_line, "its rows lie on one line, so that their distances keep their ratio"),
        )
        for at in np.flatnonzero(which)
    }
    return found.select(~(has_copies | on_line)), sorted(skipped)
