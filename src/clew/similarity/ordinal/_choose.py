"""Choice of the number of components and of the response by held-out questions."""

from __future__ import annotations

from itertools import count, islice
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew._parallel import Progress, ProgressReport
from clew.constraints import Constraints
from clew.constraints._folds import held_out_folds
from clew.similarity.ordinal._model import OrdinalModel
from clew.similarity.ordinal._response import Form, Response
from clew.similarity.ordinal._solver import Settings

__all__ = ["COMPONENTS", "FORMS", "Candidate", "Plan", "best_model"]

Floats = NDArray[np.float64]

#: Numbers of components that are tried.
COMPONENTS = (2, 4, 8)
#: Forms of the response that are tried, and the penalty of each.
FORMS: tuple[Form, ...] = ("tste", "distance")
PENALTIES = {"tste": 0.3, "distance": 1.0}
#: With few answers, all of `N_FOLDS` folds are held out in turn; with many, one of
#: `N_FOLDS_OF_MANY`.
N_FOLDS, N_FOLDS_OF_MANY = 3, 10
MANY_ANSWERS = 30_000
#: With fewer answers, nothing can be chosen.
MIN_ANSWERS = 10
#: Distinct answers above which blocks of answers are used.
MAX_ANSWERS_AT_ONCE = 1_000_000


class Candidate(NamedTuple):
    """A choice of the response and of the number of components."""

    response: Form
    n_components: int


class Plan(NamedTuple):
    """The candidates that are compared, and the settings that all fits share."""

    candidates: list[Candidate]
    penalty: float | None
    """Weight of the squared positions; None is that of the response."""
    lapse: float
    """Share of answers that are random."""
    max_iter: int
    by_annotator: bool
    """Whether annotators have slopes."""

    def fitted(
        self, known: Constraints, features: Floats | None, candidate: Candidate, seed: int
    ) -> OrdinalModel:
        """Find the positions for a candidate."""
        form, n_components = candidate
        settings = Settings(
            n_components,
            Response(form, self.lapse),
            PENALTIES[form] if self.penalty is None else self.penalty,
            self.max_iter,
            MAX_ANSWERS_AT_ONCE,
            seed,
        )
        return OrdinalModel.fit(known, features, settings, by_annotator=self.by_annotator)


def best_model(
    known: Constraints,
    features: Floats | None,
    plan: Plan,
    seeds: tuple[int, int],
    callback: Progress | None,
) -> tuple[OrdinalModel, dict[Candidate, float]]:
    """Choose the candidate with the best held-out answers, and fit it to all answers.

    Parameters
    ----------
    known : Constraints
        Definite answers. All answers to one question share a fold.
    features : ndarray of shape (n_samples, n_features) or None
        Features of all rows.
    plan : Plan
        The candidates. The first one is taken if there are too few answers to choose.
    seeds : tuple of int
        Seeds of the folds, and of the start.
    callback : callable or None
        Called after each fit.

    Returns
    -------
    model : OrdinalModel
    scores : dict of Candidate to float
        Mean log-likelihood of a held-out answer; empty if nothing was compared.
    """
    fold_seed, start_seed = seeds
    n_answers = sum(len(table) for table in known.tables)
    n_used = n_folds_used(n_answers)
    candidates = plan.candidates if n_used else plan.candidates[:1]
    n_used = n_used if len(candidates) > 1 else 0
    report = ProgressReport(1 + len(candidates) * n_used, verbose=0, what="fits", callback=callback)
    done = count(1)
    totals, weight = dict.fromkeys(candidates, 0.0), 0.0
    n_folds = N_FOLDS_OF_MANY if n_used == 1 else N_FOLDS
    for kept, held in islice(held_out_folds(known, n_folds, fold_seed), n_used):
        for candidate in candidates:
            model = plan.fitted(kept, features, candidate, start_seed)
            log_likelihood, held_weight = model.log_likelihood(held, model.slopes)
            totals[candidate] += log_likelihood
            report(next(done))
        weight += held_weight
    scores = {candidate: total / (weight or 1.0) for candidate, total in totals.items()}
    best = max(scores, key=scores.__getitem__)
    model = plan.fitted(known, features, best, start_seed)
    report(next(done))
    return model, scores if n_used else {}


def n_folds_used(n_answers: int) -> int:
    """Return how many folds are used; 0 if there are too few answers."""
    if n_answers < MIN_ANSWERS:
        return 0
    return 1 if n_answers > MANY_ANSWERS else N_FOLDS
