"""From answers to what steers a forest: how far each is believed, and what it binds."""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.answers import DIFFERENT, SAME
from clew.constraints import Constraints
from clew.forest import links_of
from clew.kernels.forest.layout import Links
from clew.trust import answer_evidence, constraint_inconsistency, posterior

__all__ = ["Belief", "believe", "believed_answers", "hard_links", "soft_links"]

#: Share of the answers that the paper keeps (β), the most consistent ones.
KEPT_SHARE = 0.5
#: Estimated error rate from which trust="auto" weighs answers.
NOISE_FLOOR = 0.05
MAX_ENTAILED = 50_000


class Belief(NamedTuple):
    """How far each pair's answer is believed."""

    weight: NDArray[np.float64]
    p_wrong: NDArray[np.float64]
    error_rate: float | None


def believe(
    X: NDArray[np.float64],
    known: Constraints,
    trust: Literal["auto", "posterior", "inconsistency"] | None,
    seed: int,
    n_jobs: int | None,
) -> Belief:
    """Decide how far each answer is believed; see `COPRF` for what `trust` means.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features.
    known : Constraints
        The answers.
    trust : {"auto", "posterior", "inconsistency"} or None
        Which answers to believe.
    seed, n_jobs : int
        Seed and threads of the forest that judges the answers.

    Returns
    -------
    Belief
    """
    weight = np.where(known.is_dont_know, 0.0, known.pair_weights)
    unknown = np.full(len(weight), np.nan)
    answered = np.flatnonzero(weight > 0)
    if trust is None or len(answered) == 0:
        return Belief(weight, unknown, None)
    if trust == "inconsistency":
        score = constraint_inconsistency(X, known, random_state=seed, n_jobs=n_jobs)
        by_score = answered[np.argsort(score[answered], kind="stable")]
        weight[by_score[max(1, round(KEPT_SHARE * len(answered))) :]] = 0.0
        return Belief(weight, unknown, None)
    evidence = answer_evidence(X, known, random_state=seed, n_jobs=n_jobs)
    found = posterior(evidence, known)
    if trust == "posterior" or found.error_rate >= NOISE_FLOOR:
        weight = weight * found.weight
    return Belief(weight, found.p_wrong, found.error_rate)


def believed_answers(known: Constraints, belief: Belief) -> Constraints:
    """Keep the answers that are more likely right than wrong."""
    return known.select(pairs=belief.weight > 0.5 * known.pair_weights)


def soft_links(known: Constraints, belief: Belief) -> Links:
    """Take each answer with the weight that it is believed with."""
    must, cannot = known.is_must_link, known.is_cannot_link
    weight = np.concatenate([belief.weight[must], belief.weight[cannot]])
    return links_of(known.must_link, known.cannot_link, weight)


def hard_links(known: Constraints, belief: Belief, seed: int) -> Links:
    """Take as binding the answers more likely right than wrong, and what they entail.

    Of more than 50,000 entailed answers a random sample is taken, beside all given ones.
    """
    believed = believed_answers(known, belief)
    closure = believed.closure()
    rows, answers = closure.entailed_pairs(max_pairs=MAX_ENTAILED, random_state=seed)
    must, cannot = rows[answers == SAME], rows[answers == DIFFERENT]
    if sum(closure.n_entailed()) > MAX_ENTAILED:
        must = _each_once(believed.must_link, must)
        cannot = _each_once(believed.cannot_link, cannot)
    return links_of(must, cannot, is_hard=True)


def _each_once(given: NDArray[np.int64], sampled: NDArray[np.int64]) -> NDArray[np.int64]:
    """Join pairs; one that was given and sampled, or given twice, is kept once."""
    return np.unique(np.sort(np.concatenate([given, sampled]), axis=1), axis=0)
