"""The score of two groups: the log-odds that they are one."""

from __future__ import annotations

import math
from typing import NamedTuple

from clew.kernels._jit import bare_kernel

__all__ = ["Scoring", "score", "score_beside_no_prior"]


class Scoring(NamedTuple):
    """Weights in the score of two groups.

    The score of groups of a and b rows is a sum over the pairs of rows between them: the evidence
    of each asked pair, and `unasked` for each other pair. Two terms are added: `attraction` times
    ``log((a + b - 1)! / ((a - 1)! (b - 1)!))``, and the prior, ``mean_share * mean + (1 -
    mean_share) * max`` of the prior log-odds of the asked pairs, or `no_prior` if there are none.
    """

    mean_share: float
    unasked: float
    no_prior: float
    attraction: float


@bare_kernel
def score(
    scoring: Scoring,
    evidence: float,
    prior: float,
    top: float,
    n_asked: float,
    size: float,
    other: float,
) -> float:
    """Compute the score of two groups of these sizes."""
    crowd = math.lgamma(size + other) - math.lgamma(size) - math.lgamma(other)
    return (
        scoring.no_prior
        + scoring.attraction * crowd
        + score_beside_no_prior(scoring, evidence, prior, top, n_asked, size * other)
    )


@bare_kernel
def score_beside_no_prior(
    scoring: Scoring, evidence: float, prior: float, top: float, n_asked: float, n_pairs: float
) -> float:
    """Compute the score without `no_prior` and without the term of the sizes."""
    unasked = scoring.unasked * (n_pairs - n_asked)
    if n_asked == 0:
        return unasked
    mixed = scoring.mean_share * prior / n_asked + (1.0 - scoring.mean_share) * top
    return evidence + unasked + mixed - scoring.no_prior
