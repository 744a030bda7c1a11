"""The steps of guided clustering, as functions: members, consensus and refinement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clew.cluster.guided._ensemble.answer_errors import weighted_by, weighted_folds
from clew.cluster.guided._ensemble.ensemble import Clustering, Ensemble, Labels
from clew.cluster.guided._ensemble.folds import Answers
from clew.cluster.guided._ensemble.progress import IN_ONE_THREAD, Steps
from clew.cluster.guided._ensemble.weighted_consensus import LEAST_LEAD, Consensus, consensus_of
from clew.cluster.guided._features.views import Views
from clew.cluster.guided._members.members import (
    AGAIN,
    REFINED_AGAIN_BY,
    REFINED_BY,
    REFINED_CONSENSUS,
    SHARES,
    STEADY,
    UNCONSTRAINED,
    Member,
)
from clew.cluster.guided._refinement.refinement import TiedRows, refine
from clew.cluster.guided._refinement.smoothers import Smoother

__all__ = [
    "MAX_REFINED",
    "MAX_REFINED_BY_ANSWERS",
    "as_fitted",
    "guarded",
    "member_clusterings",
    "refined_again",
    "refinements",
    "unconstrained_clusterings",
    "unconstrained_consensus",
    "weighted_by_annotator",
    "with_pruned",
]

Floats = NDArray[np.float64]

#: Strengths of the smoother relative to the answers.
STRENGTHS = (1.0, 3.0)
#: Largest number of clusterings in the second consensus: three smoothers times two strengths, and
#: three that are not refined; and five that follow answers alone.
MAX_REFINED, MAX_REFINED_BY_ANSWERS = 9, 5
#: Log prior weight of the unconstrained consensus in the second consensus.
UNCONSTRAINED_PRIOR = 0.5


def unconstrained_clusterings(
    members: Sequence[Member], views: Views, answers: Answers
) -> list[Clustering]:
    """Return the members that follow no answers, to be fitted once.

    If there are neither such members nor answers, all members are returned.
    """
    chosen = [member for member in members if not member.is_constrained]
    if not chosen and not answers.folds:
        chosen = list(members)
    return [_fitted_once(member, views) for member in chosen]


def as_fitted(unconstrained: Sequence[Clustering]) -> list[Clustering]:
    """Return the same clusterings without what is needed to fit them."""
    return [one._replace(fitted_to=partial(_always, one.fitted_to(None))) for one in unconstrained]


def unconstrained_consensus(
    unconstrained: Sequence[Clustering],
    answers: Answers,
    n_clusters: int,
    seed: int,
    steps: Steps = IN_ONE_THREAD,
) -> Consensus | None:
    """Return the consensus of clusterings that use no answers; None if there are none."""
    if not unconstrained:
        return None
    steps = steps.uncounted()
    ensemble = Ensemble.of(unconstrained, [], steps)
    return consensus_of(ensemble, answers._replace(folds=[]), n_clusters, seed, steps)


def member_clusterings(
    members: Sequence[Member],
    unconstrained: Sequence[Clustering],
    views: Views,
    answers: Answers,
) -> list[Clustering]:
    """Return all members, first the unconstrained ones.

    Parameters
    ----------
    members : sequence of Member
        The pool.
    unconstrained : sequence of Clustering
        From `unconstrained_clusterings`.
    views : Views
        Unconstrained views.
    answers : Answers
        Answers that the constrained members follow.

    Returns
    -------
    list of Clustering
    """
    of_folds = [views.constrained_by(fold.kept) for fold in answers.folds]
    whole = views.constrained_by(answers.known)
    log_prior = {member.name: member.log_prior for member in members}
    return [
        *(one._replace(log_prior=log_prior[one.name]) for one in unconstrained),
        *(_fitted_to_folds(member, of_folds, whole) for member in members if member.is_constrained),
    ]


def weighted_by_annotator(answers: Answers, unconstrained: Sequence[Clustering]) -> Answers:
    """Weigh answers by their annotators' accuracy, as the unconstrained clusterings estimate it."""
    if len(answers.known.annotators) < 2 or not unconstrained:
        return answers
    folds, weights = weighted_folds(answers.folds, unconstrained)
    return Answers(weighted_by(answers.known, weights), folds)


def refinements(
    first: Consensus,
    baseline: Consensus | None,
    answers: Answers,
    smoothers: Mapping[str, Sequence[Smoother]],
    again: Mapping[str, float] = MappingProxyType({STEADY: 0.0}),
) -> list[Clustering]:
    """Return the clusterings of the second consensus.

    Parameters
    ----------
    first : Consensus
        Where refinement starts.
    baseline : Consensus or None
        Consensus of the unconstrained members.
    answers : Answers
        Answers that the refined groups follow.
    smoothers : mapping of str to sequence of Smoother
        For each fold, and for all answers; each is used at every strength but `SHARES`, which is
        used at strength 1 only.
    again : mapping of str to float
        Members that take part again, if their weight in the first consensus is positive, and their
        log prior weights.

    Returns
    -------
    list of Clustering
        The first consensus, the unconstrained one, and the refined ones.
    """
    found = [Clustering("consensus", partial(_of_fold, first.labels, first.of_folds))]
    ensemble = first.ensemble
    for name, log_prior in again.items():
        if ensemble.weights.get(name):
            of_folds = [labels.get(name) for labels in ensemble.of_folds]
            whole = ensemble.whole[name]
            fitted_to = partial(_of_fold, whole, of_folds)
            found.append(Clustering(f"{name}{AGAIN}", fitted_to, log_prior))
    if baseline is not None:
        always = partial(_always, baseline.labels)
        found.append(Clustering(UNCONSTRAINED, always, UNCONSTRAINED_PRIOR))
    parts = [*(fold.kept for fold in answers.folds), answers.known]
    tied = [TiedRows(part, first.errors.confusion) for part in parts]
    starts = [*first.of_folds, first.labels]
    n_clusters = first.probabilities.shape[1]

    def refined(of_parts: Sequence[Smoother], strength: float, fold: int | None) -> Floats:
        at = -1 if fold is None else fold
        return refine(starts[at], n_clusters, tied[at], of_parts[at], strength)

    for name, of_parts in smoothers.items():
        for strength in STRENGTHS if name != SHARES else STRENGTHS[:1]:
            fitted_to = partial(refined, of_parts, strength)
            found.append(Clustering(f"{REFINED_BY}{name}, {strength:g}", fitted_to))
    return found


def refined_again(
    last: Consensus, answers: Answers, smoothers: Mapping[str, Sequence[Smoother]]
) -> list[Clustering]:
    """Return the clusterings of the second consensus, and those refined from it.

    Parameters
    ----------
    last : Consensus
        The second consensus.
    answers : Answers
        What the refined groups follow.
    smoothers : mapping of str to sequence of Smoother
        As `refinements` takes them.

    Returns
    -------
    list of Clustering
        Those of `last` are not fitted again.
    """
    whole, of_folds = last.ensemble.whole, last.ensemble.of_folds
    kept = [
        Clustering(
            name,
            partial(_of_fold, whole[name], [labels[name] for labels in of_folds]),
            last.ensemble.log_priors[name],
        )
        for name in whole
        if all(name in labels for labels in of_folds)
    ]
    start, *refined = refinements(last, None, answers, smoothers, {})
    new_names = [one.name.replace(REFINED_BY, REFINED_AGAIN_BY) for one in refined]
    again = [one._replace(name=name) for one, name in zip(refined, new_names, strict=True)]
    return [*kept, start._replace(name=REFINED_CONSENSUS), *again]


def with_pruned(last: Consensus, before: Consensus) -> Consensus:
    """Add the scores of clusterings that were pruned before; their weight is 0."""
    ensemble = last.ensemble
    scores = before.ensemble.scores | ensemble.scores
    weights = dict.fromkeys(scores, 0.0) | ensemble.weights
    return last._replace(ensemble=ensemble._replace(scores=scores, weights=weights))


def guarded(last: Consensus, baseline: Consensus | None) -> Consensus:
    """Fall back on the unconstrained consensus unless held-out answers clearly prefer another."""
    if baseline is None or last.ensemble.lead_over(UNCONSTRAINED) >= LEAST_LEAD:
        return last
    weights = dict.fromkeys(last.ensemble.weights, 0.0) | {UNCONSTRAINED: 1.0}
    return last._replace(
        ensemble=last.ensemble._replace(weights=weights),
        labels=baseline.labels,
        probabilities=baseline.probabilities,
        saw_answers=False,
    )


def _fitted_once(member: Member, views: Views) -> Clustering:
    fitted = cache(lambda: member.partition(views))
    return Clustering(member.name, lambda fold: fitted(), member.unconstrained_log_prior)


def _fitted_to_folds(member: Member, of_folds: Sequence[Views], whole: Views) -> Clustering:
    def fitted_to(fold: int | None) -> Labels:
        return member.partition(whole if fold is None else of_folds[fold])

    return Clustering(member.name, fitted_to, member.log_prior)


def _of_fold(whole: Any, of_folds: Sequence[Any], fold: int | None) -> Any:
    return whole if fold is None else of_folds[fold]


def _always(labels: Labels | Floats, fold: int | None) -> Labels | Floats:
    return labels
