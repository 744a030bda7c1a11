"""Clusterings of all rows, and which of them predicts held-out answers best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.cluster.guided._anchors.anchors import Links
from clew.cluster.guided._anchors.answers import AnsweredRows, HeldOutMemberships
from clew.cluster.guided._anchors.judgment import shared_by_memberships, shared_without_answer
from clew.cluster.guided._anchors.refinement import refine_rows
from clew.cluster.guided._anchors.rows import Memberships, all_row_memberships
from clew.cluster.guided._ensemble.answer_errors import AnswerErrors, answer_errors
from clew.cluster.guided._ensemble.ensemble import Fold, held_out_log_likelihood
from clew.cluster.guided._ensemble.weighted_consensus import LEAST_LEAD
from clew.constraints import Constraints

__all__ = ["REFINED", "ClusteredRows", "cluster_rows"]

#: Rounds of refinement by training answers, to compare clusterings; the final one has more.
N_TRIED_ROUNDS: Final = 2
#: Added to the names of clusterings that were refined by answers.
REFINED = ", refined"


class ClusteredRows(NamedTuple):
    """The clustering of all rows that was chosen."""

    rows: Memberships
    """Memberships of the rows."""
    anchors: Memberships
    """Memberships of the anchors that predict them."""
    errors: AnswerErrors
    """Errors of the held-out answers."""
    answered: AnsweredRows
    """All answers."""
    shared: list[NDArray[np.float64]]
    """For each kind of answers the probabilities that rows share a group, without the answer."""
    scores: dict[str, float]
    """Mean log-likelihood of the held-out answers, for each clustering; NaN without answers."""
    weights: dict[str, float]
    """1 for the chosen clustering, 0 for the others."""


class _Candidate(NamedTuple):
    start: Memberships
    """Memberships of the anchors to start from."""
    rows: Memberships
    """Memberships of all rows, found without the held-out answers."""
    is_refined: bool


def cluster_rows(
    starts: Mapping[str, Memberships],
    links: Links,
    known: Constraints,
    fold: Fold | None,
    n_jobs: int | None = None,
    *,
    is_trusted: bool = False,
) -> ClusteredRows:
    """Cluster all rows from the best of several starts, refined if that is better.

    Parameters
    ----------
    starts : mapping of str to Memberships
        Clusterings of the anchors, fitted without the held-out answers. The first is preferred:
        another one needs a held-out log-likelihood that is larger by 1.
    links : Links
        Anchors of all rows.
    known : Constraints
        All answers of positive weight.
    fold : Fold or None
        Training and held-out answers; None: the first start is taken, and not refined.
    n_jobs : int or None, default=None
        Number of threads.
    is_trusted : bool, default=False
        Whether, in the fit to anchors, following answers raised the held-out log-likelihood. The
        first start is then refined unless that lowers the held-out log-likelihood by 1. Otherwise,
        and for other starts, refinement has to raise it by 1.

    Returns
    -------
    ClusteredRows
    """
    found = {
        name: _Candidate(start, all_row_memberships(links, start, n_jobs), is_refined=False)
        for name, start in starts.items()
    }
    chosen, scores = next(iter(found)), dict.fromkeys(found, np.nan)
    folds = [] if fold is None else [fold]
    if fold is not None:
        first = chosen
        chosen, _ = _best(found, first, fold)
        start, rows, _ = found[chosen]
        errors = answer_errors(HeldOutMemberships(rows), folds, known.annotators)
        answered = AnsweredRows(fold.kept, errors.confusion)
        tried = refine_rows(links, start, answered, n_jobs, N_TRIED_ROUNDS)
        found[chosen + REFINED] = _Candidate(start, tried.rows, is_refined=True)
        is_preferred = is_trusted and chosen == first
        chosen, scores = _best(found, chosen + REFINED if is_preferred else chosen, fold)
        del tried, rows
    best = found[chosen]
    errors = answer_errors(HeldOutMemberships(best.rows), folds, known.annotators)
    weights = dict.fromkeys(found, 0.0) | {chosen: 1.0}
    del found
    answered = AnsweredRows(known, errors.confusion)
    if not best.is_refined:
        shared = shared_by_memberships(answered, best.rows)
        return ClusteredRows(best.rows, best.start, errors, answered, shared, scores, weights)
    refined = refine_rows(links, best.start, answered, n_jobs)
    shared = shared_without_answer(answered, refined.beliefs)
    return ClusteredRows(refined.rows, refined.anchors, errors, answered, shared, scores, weights)


def _best(
    found: Mapping[str, _Candidate], preferred: str, fold: Fold
) -> tuple[str, dict[str, float]]:
    """Return the name of the best clustering, and the scores of all."""
    held_out = {
        name: held_out_log_likelihood([candidate.rows.labels], [fold])
        for name, candidate in found.items()
    }
    totals = {name: total for name, (total, _) in held_out.items()}
    scores = {name: total / max(weight, 1e-300) for name, (total, weight) in held_out.items()}
    best = max(totals, key=lambda name: totals[name])
    return best if totals[best] - totals[preferred] >= LEAST_LEAD else preferred, scores
