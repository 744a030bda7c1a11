"""Answers as links that constrain the splits of a forest: their weights, and hard or soft."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.answers import DIFFERENT, SAME
from clew.constraints import Constraints
from clew.forest import links_of
from clew.kernels.forest.layout import Links
from clew.trust import answer_evidence, constraint_inconsistency, posterior

__all__ = ["AnswerWeights", "hard_links", "likely_right", "soft_links", "weigh_answers"]

#: Share of the answers that the paper's filter keeps (β).
KEPT_SHARE = 0.5
#: Estimated error rate from which trust="auto" weights answers by their posteriors.
NOISE_FLOOR = 0.05
MAX_ENTAILED = 50_000


class AnswerWeights(NamedTuple):
    """Weights of the pair answers, and the estimates that they come from."""

    weight: NDArray[np.float64]
    """Weight of each answer in [0, 1], 0 for a don't-know; (n_pairs,)."""
    p_wrong: NDArray[np.float64]
    """Probability that each answer is wrong, NaN if not estimated; (n_pairs,)."""
    error_rate: float | None
    """Share of wrong answers, None if not estimated."""


def weigh_answers(
    X: NDArray[np.float64],
    known: Constraints,
    trust: Literal["auto", "posterior", "inconsistency"] | None,
    seed: int,
    n_jobs: int | None,
) -> AnswerWeights:
    """Weight answers by the probability that they are right.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    known : Constraints
        Pair answers.
    trust : {"auto", "posterior", "inconsistency"} or None
        Which weights to use, see `COPRF`.
    seed : int
        Seed of the forest from which errors are estimated.
    n_jobs : int or None
        Number of threads.

    Returns
    -------
    AnswerWeights
    """
    weight = np.where(known.is_dont_know, 0.0, known.pair_weights)
    unknown = np.full(len(weight), np.nan)
    answered = np.flatnonzero(weight > 0)
    if trust is None or len(answered) == 0:
        return AnswerWeights(weight, unknown, None)
    if trust == "inconsistency":
        score = constraint_inconsistency(X, known, random_state=seed, n_jobs=n_jobs)
        by_score = answered[np.argsort(score[answered], kind="stable")]
        weight[by_score[max(1, round(KEPT_SHARE * len(answered))) :]] = 0.0
        return AnswerWeights(weight, unknown, None)
    evidence = answer_evidence(X, known, random_state=seed, n_jobs=n_jobs)
    found = posterior(evidence, known)
    if trust == "posterior" or found.error_rate >= NOISE_FLOOR:
        weight = weight * found.weight
    return AnswerWeights(weight, found.p_wrong, found.error_rate)


def likely_right(known: Constraints, weights: AnswerWeights) -> Constraints:
    """Select the answers that kept more than half of their own weight."""
    return known.select(pairs=weights.weight > 0.5 * known.pair_weights)


def soft_links(known: Constraints, weights: AnswerWeights) -> Links:
    """Make a weighted link of each answer of positive weight."""
    # Links of weight 0 would change which links a tree draws.
    counts = weights.weight > 0
    must, cannot = known.is_must_link & counts, known.is_cannot_link & counts
    weight = np.concatenate([weights.weight[must], weights.weight[cannot]])
    return links_of(known.pairs[must], known.pairs[cannot], weight)


def hard_links(known: Constraints, weights: AnswerWeights, seed: int) -> Links:
    """Make a hard link of each answer that is likely right, and of each pair that these entail.

    If more than 50,000 pairs are entailed, a random sample of them is added to the given pairs.
    """
    kept = likely_right(known, weights)
    closure = kept.closure()
    rows, answers = closure.entailed_pairs(max_pairs=MAX_ENTAILED, random_state=seed)
    must, cannot = rows[answers == SAME], rows[answers == DIFFERENT]
    if sum(closure.n_entailed()) > MAX_ENTAILED:
        must = _distinct_pairs(kept.must_link, must)
        cannot = _distinct_pairs(kept.cannot_link, cannot)
    return links_of(must, cannot, is_hard=True)


def _distinct_pairs(given: NDArray[np.int64], sampled: NDArray[np.int64]) -> NDArray[np.int64]:
    """Join given and sampled pairs, and drop repeated ones."""
    return np.unique(np.sort(np.concatenate([given, sampled]), axis=1), axis=0)
