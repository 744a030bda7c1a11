"""Clusterings of all rows, and which of them predicts held-out answers best."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
from clew.metrics.likelihood import answer_counts, log_likelihood_of_each

__all__ = ["REFINED", "ClusteredRows", "cluster_rows", "is_clear"]

#: Rounds of refinement by training answers, to compare clusterings; the final one has more.
N_TRIED_ROUNDS: Final = 2
#: Added to the names of clusterings that were refined by answers.
REFINED = ", refined"
#: Another clustering is taken if its held-out log-likelihood is larger by this many standard
#: errors; in place of one that trusted answers refined, by more. With many groups, few answers
#: decide.
N_ERRORS, N_ERRORS_OF_TRUSTED = 1.0, 3.0


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
    following: Collection[str] = (),
) -> ClusteredRows:
    """Cluster all rows from the best of several starts, refined if that is better.

    Parameters
    ----------
    starts : mapping of str to Memberships
        Clusterings of the anchors, fitted without the held-out answers. The first is preferred:
        another one needs a held-out log-likelihood that is larger by 1 and by a standard error.
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
        first start is then refined unless that lowers the held-out log-likelihood by three standard
        errors, and so are other starts that follow answers. Otherwise, refinement has to raise it
        by 1 and by a standard error.
    following : collection of str, default=()
        Names of other starts that follow answers.

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
        is_preferred = (is_trusted and chosen == first) or chosen in following
        if is_preferred:
            chosen, scores = _best(found, chosen + REFINED, fold, N_ERRORS_OF_TRUSTED)
        else:
            chosen, scores = _best(found, chosen, fold)
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
    found: Mapping[str, _Candidate], preferred: str, fold: Fold, n_errors: float = N_ERRORS
) -> tuple[str, dict[str, float]]:
    """Return the best clustering of those clearly better than `preferred`, or that; and scores."""
    partitions = {name: candidate.rows.labels for name, candidate in found.items()}
    held_out = {
        name: held_out_log_likelihood([labels], [fold]) for name, labels in partitions.items()
    }
    scores = {name: total / max(weight, 1e-300) for name, (total, weight) in held_out.items()}
    each = {
        name: log_likelihood_of_each(labels, fold.held, answer_counts(labels, fold.held))
        for name, labels in partitions.items()
    }
    clear = [name for name, of in each.items() if is_clear(of - each[preferred], n_errors)]
    return max(clear, key=lambda name: scores[name], default=preferred), scores


def is_clear(lead: NDArray[np.float64], n_errors: float) -> bool:
    """Whether differences of log-likelihoods, one for each answer, are clearly above 0 in sum.

    Parameters
    ----------
    lead : ndarray of shape (n_answers,)
        The differences.
    n_errors : float
        Number of standard errors that the sum must exceed, in addition to 1.

    Returns
    -------
    bool
    """
    standard_error = np.sqrt(len(lead)) * lead.std() if len(lead) else 0.0
    return bool(lead.sum() >= max(LEAST_LEAD, n_errors * standard_error))
