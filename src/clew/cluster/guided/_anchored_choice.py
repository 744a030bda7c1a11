"""Clusterings of all rows, and which of them predicts held-out answers best."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.cluster.guided._anchored_answers import AnsweredRows, HeldOutMemberships
from clew.cluster.guided._anchored_judgment import shared_by_memberships, shared_without_answer
from clew.cluster.guided._anchored_refinement import refine_rows
from clew.cluster.guided._anchored_rows import Memberships, all_row_memberships
from clew.cluster.guided._anchors import Links
from clew.cluster.guided._answer_errors import AnswerErrors, answer_errors
from clew.cluster.guided._ensemble import Fold, held_out_log_likelihood
from clew.cluster.guided._steps import LEAST_LEAD
from clew.constraints import Constraints

__all__ = ["REFINED", "ClusteredRows", "cluster_rows"]

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
) -> ClusteredRows:
    """Cluster all rows: from each start, with and without refinement; return the best.

    Parameters
    ----------
    starts : mapping of str to Memberships
        Clusterings of the anchors that did not see the held-out answers. The first is preferred:
        another one needs a held-out log-likelihood that is larger by 1.
    links : Links
        Anchors of all rows.
    known : Constraints
        All answers of positive weight.
    fold : Fold or None
        Training and held-out answers; None: the first start is taken, and not refined.
    n_jobs : int or None, default=None
        Threads.

    Returns
    -------
    ClusteredRows
    """
    found = {
        name: _Candidate(start, all_row_memberships(links, start, n_jobs), is_refined=False)
        for name, start in starts.items()
    }
    chosen = first = next(iter(found))
    scores = dict.fromkeys(found, np.nan)
    folds = [] if fold is None else [fold]
    if fold is not None:
        errors = answer_errors(HeldOutMemberships(found[first].rows), folds, known.annotators)
        answered = AnsweredRows(fold.kept, errors.confusion)
        for name, start in starts.items():
            refined = refine_rows(links, start, answered, n_jobs)
            found[name + REFINED] = _Candidate(start, refined.rows, is_refined=True)
        chosen, scores = _best(found, fold)
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


def _best(found: Mapping[str, _Candidate], fold: Fold) -> tuple[str, dict[str, float]]:
    """Return the name of the best clustering, and the scores of all."""
    held_out = {
        name: held_out_log_likelihood([candidate.rows.labels], [fold])
        for name, candidate in found.items()
    }
    totals = {name: total for name, (total, _) in held_out.items()}
    scores = {name: total / max(weight, 1e-300) for name, (total, weight) in held_out.items()}
    first = next(iter(found))
    best = max(totals, key=lambda name: totals[name])
    return best if totals[best] - totals[first] >= LEAST_LEAD else first, scores
