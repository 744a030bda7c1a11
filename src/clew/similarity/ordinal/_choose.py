"""Choice of the number of components and of the response by held-out questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import NamedTuple

from clew.constraints import Constraints
from clew.constraints._folds import held_out_folds
from clew.similarity.ordinal._response import Form

__all__ = ["COMPONENTS", "FORMS", "Candidate", "held_out_scores", "n_folds_used"]

#: Numbers of components that are tried.
COMPONENTS = (2, 4, 8)
#: Forms of the response that are tried.
FORMS: tuple[Form, ...] = ("tste", "distance")
#: Folds of few answers, all of which are used; and of many, of which one is used.
N_FOLDS, N_FOLDS_OF_MANY = 3, 10
MANY_ANSWERS = 30_000
#: With fewer answers, nothing can be chosen.
MIN_ANSWERS = 10


class Candidate(NamedTuple):
    """What is chosen."""

    response: Form
    n_components: int


def n_folds_used(n_answers: int) -> int:
    """Return how many folds are used; 0 if there are too few answers."""
    if n_answers < MIN_ANSWERS:
        return 0
    return 1 if n_answers > MANY_ANSWERS else N_FOLDS


def held_out_scores(
    known: Constraints,
    candidates: Sequence[Candidate],
    score: Callable[[Constraints, Constraints, Candidate], tuple[float, float]],
    seed: int,
) -> dict[Candidate, float]:
    """Score candidates by questions that were left out of the fit.

    Parameters
    ----------
    known : Constraints
        Definite answers. All answers to one question share a fold.
    candidates : sequence of Candidate
        What is compared.
    score : callable
        Called with training answers, held-out answers and a candidate; returns the sum
        of log-likelihoods of the held-out answers, and the sum of their weights.
    seed : int
        Seed of the folds.

    Returns
    -------
    dict of Candidate to float
        Mean log-likelihood of a held-out answer.
    """
    n_used = n_folds_used(sum(len(table) for table in known.tables))
    folds = held_out_folds(known, N_FOLDS_OF_MANY if n_used == 1 else N_FOLDS, seed)
    total, weight = dict.fromkeys(candidates, 0.0), 0.0
    for kept, held in islice(folds, n_used):
        for candidate in candidates:
            log_likelihood, held_weight = score(kept, held, candidate)
            total[candidate] += log_likelihood
            weight += held_weight / len(candidates)
    return {candidate: value / (weight or 1.0) for candidate, value in total.items()}
