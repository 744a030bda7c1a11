"""The choice between a consensus of a number of groups and correlation clustering."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from clew._warnings import warn
from clew.cluster.correlation.correlation_clustering import CorrelationClustering
from clew.cluster.guided._answers.answers_alone import are_pairs_foremost
from clew.cluster.guided._answers.identities import (
    SMALL_GROUP,
    are_groups_small,
    halves_of_questions,
    identities_of,
    log_likelihood_of_identities,
    n_answers_a_question,
    result_of_identities,
)
from clew.cluster.guided._answers.spaces import Spaces
from clew.cluster.guided._ensemble.ensemble import Labels, held_out_log_likelihood_of_one_group
from clew.cluster.guided._ensemble.folds import Answers
from clew.cluster.guided._ensemble.progress import Steps
from clew.cluster.guided._features.prepared import Prepared
from clew.cluster.guided._members.members import Member
from clew.cluster.guided._numbers.choice import best_log_likelihood
from clew.cluster.guided._numbers.given import number_of_groups
from clew.cluster.guided._numbers.number import NumberOfGroups
from clew.cluster.guided._result.regime import MOST, Regime, regime_of
from clew.cluster.guided._result.result import Result, result_of
from clew.cluster.guided._result.tree import tree_of_evidence, tree_of_positions
from clew.cluster.guided._solution import FittedMembers, Solution, finish, fit_members
from clew.constraints import Constraints
from clew.exceptions import NoGroupsWarning

__all__ = ["Choice", "choose_groups"]

Floats = NDArray[np.float64]

#: If pairs were asked at least this often on average, the answers to each question are split into
#: training and held-out ones.
LEAST_REPEATS = 1.3
#: Correlation clustering must exceed the consensus by this much in held-out log-likelihood.
LEAST_LEAD = 4.0

#: Why groups are those of correlation clustering.
_WITHOUT_FEATURES = (
    "there are no features, and correlation clustering of the answers finds {:,} small groups"
)
_OF_GIVEN_NUMBER = (
    "there are no features, and the {:,} groups wanted have {:.1f} rows each on the average: "
    "correlation clustering of the answers finds such small groups"
)
_TOO_FEW = (
    "answers too few to group: GuidedClustering without X puts {} only because no answers say "
    "otherwise, and held-out answers do not support it; ask about more pairs, or give features"
)
_NONE = "there are no features, and the answers are too few to tell groups apart"
_ALL_SAME = "there are no features, and all answers are 'same': groups are the rows that they join"
_REPEATED = (
    "pairs were asked {:.1f} times on the average, and correlation clustering predicts held-out "
    "answers better by {:,.0f} nats than few groups of features and answers do"
)
_UNEXPLAINED = (
    "{:,} groups of features and answers do not predict held-out answers; correlation clustering "
    "finds {:,} small ones"
)


class FittedParts(NamedTuple):
    """Parts of a fit that `partial_fit` uses again when answers are added."""

    chosen: NumberOfGroups
    members: FittedMembers
    spaces: Spaces | None


class Choice(NamedTuple):
    """The result of a fit, and the parts that it was made from."""

    result: Result
    regime: Regime
    n_clusters_probabilities: Mapping[int, float]
    tree: Callable[[], Floats]
    """Computes the hierarchy of the rows."""
    kept: FittedParts | None = None
    """Parts of the consensus; None for correlation clustering."""


def choose_groups(
    n_clusters: int | None,
    members_of: Callable[[int], Sequence[Member]],
    prepared: Prepared | None,
    spaces: Spaces | None,
    answers: Answers,
    given: Constraints,
    seeds: Sequence[int],
    steps: Steps,
    kept: FittedParts | None = None,
) -> Choice:
    """Find groups by a consensus, or by correlation clustering if groups are many and small.

    Parameters
    ----------
    n_clusters : int or None
        Number of groups. If most answers are about pairs, correlation clustering is tried if it is
        None, and taken if groups of this number are small and there are no features.
    members_of : callable
        Maps a number of groups to the members of the pool.
    prepared : Prepared or None
        Features, if there are any.
    spaces : Spaces or None
        Spaces of the answers; None if they are not worth fitting.
    answers : Answers
        The informative answers.
    given : Constraints
        All answers.
    seeds : sequence of int
        Seeds of the choice of a number, and of all consensus clusterings.
    steps : Steps
        Threads of the fits, and the callback that counts them.
    kept : FittedParts, default=None
        Parts of an earlier choice. If given, its number of groups and its method are used, and no
        member is fitted.

    Returns
    -------
    Choice
    """
    known, folds = answers
    X = None if prepared is None else prepared.views.X
    is_open = (
        kept is None and n_clusters is None and spaces is not None and are_pairs_foremost(known)
    )
    wanted = n_clusters
    are_wanted_small = known.n_samples < SMALL_GROUP * (n_clusters or 0)
    if kept is None and X is None and are_wanted_small and are_pairs_foremost(known):
        identities = identities_of(None, known, seeds[1], n_clusters)
        why = _OF_GIVEN_NUMBER.format(n_clusters, known.n_samples / (n_clusters or 1))
        return _of_identities(given, identities, why)
    n_repeats = n_answers_a_question(known) if is_open else 0.0
    if is_open and X is None:
        identities = identities_of(None, known, seeds[1])
        if known.is_must_link.all() and len(known.pairs) == len(known):
            return _of_identities(given, identities, _ALL_SAME)
        if are_groups_small(identities):
            if identities.n_clusters_ == known.n_samples and not _are_all_pairs_asked(known):
                warn(_TOO_FEW.format("every row into a group of its own"), NoGroupsWarning)
            return _of_identities(
                given, identities, _WITHOUT_FEATURES.format(identities.n_clusters_)
            )
        wanted = identities.n_clusters_ if identities.n_clusters_ > 1 else None
    elif prepared is not None and n_repeats >= LEAST_REPEATS:
        halves = halves_of_questions(known)
        lead = log_likelihood_of_identities(X, halves, seeds[1])
        lead -= best_log_likelihood(prepared.views, halves, seeds[1])
        if lead >= LEAST_LEAD:
            identities = identities_of(X, known, seeds[1])
            return _of_identities(given, identities, _REPEATED.format(n_repeats, lead))

    def consensus(number: int | None) -> tuple[FittedParts, Solution]:
        chosen = number_of_groups(number, prepared, spaces, folds, seeds[0], steps.step)
        given = (prepared, spaces, answers, chosen.n_clusters, seeds[1], steps)
        fitted = fit_members(members_of(chosen.n_clusters), *given)
        found = finish(fitted, *given)
        fitted = fitted._replace(first_round=found.first_round)
        return FittedParts(chosen, fitted, spaces), found

    if kept is not None:
        spaces = None if kept.spaces is None else kept.spaces.judged_by(folds)
        n_clusters = kept.chosen.n_clusters
        found = finish(kept.members, prepared, spaces, answers, n_clusters, seeds[1], steps)
    else:
        kept, found = consensus(wanted)
        is_one = is_open and X is None and wanted is None
        if is_one and _lead_over_one_group(found, answers) < LEAST_LEAD:
            warn(_TOO_FEW.format("all rows into one group"), NoGroupsWarning)
            return _of_identities(given, identities, _NONE)
    is_unexplained = is_open and X is not None and n_repeats < LEAST_REPEATS
    if is_unexplained and _lead_over_one_group(found, answers) < LEAST_LEAD:
        identities = identities_of(X, known, seeds[1])
        if are_groups_small(identities):
            n_few, n_small = kept.chosen.n_clusters, identities.n_clusters_
            return _of_identities(given, identities, _UNEXPLAINED.format(n_few, n_small))
        other = consensus(identities.n_clusters_)
        if _lead_over_one_group(other[1], answers) >= LEAST_LEAD:
            kept, found = other
    return _of_consensus(kept, found, given, X, spaces, has_answers=bool(folds))


def _of_consensus(
    kept: FittedParts,
    found: Solution,
    given: Constraints,
    X: Floats | None,
    spaces: Spaces | None,
    *,
    has_answers: bool,
) -> Choice:
    """Return the consensus as the choice, with its reasons."""
    regime = regime_of(
        has_features=X is not None,
        has_answers=has_answers,
        saw_answers=found.last.saw_answers,
        share_of_answers=found.share_of_answers,
        share_of_spaces=found.share_of_spaces,
    )
    result = result_of(given, found.first, found.last)
    return Choice(
        replace(result, probabilities=kept.chosen.shrunk(result.probabilities)),
        regime,
        kept.chosen.probabilities,
        partial(_tree, result.labels, found, X, spaces),
        kept,
    )


def _lead_over_one_group(found: Solution, answers: Answers) -> float:
    """Return the held-out log-likelihood of the result, minus that of one group of all rows."""
    ensemble = found.last.ensemble
    none, n_held = held_out_log_likelihood_of_one_group(answers.folds)
    return n_held * max(ensemble.scores[name] for name in ensemble.names) - none


def _tree(labels: Labels, found: Solution, X: Floats | None, spaces: Spaces | None) -> Floats:
    if spaces is not None and (X is None or found.share_of_spaces > MOST):
        return tree_of_positions(labels, spaces.model(found.best_space, None).embedding_)
    assert X is not None
    return tree_of_positions(labels, X)


def _are_all_pairs_asked(known: Constraints) -> bool:
    pairs = known.tables[0]
    n_asked = len(np.unique(np.sort(pairs.rows[pairs.answers >= 0], axis=1), axis=0))
    return 2 * n_asked == known.n_samples * (known.n_samples - 1)


def _of_identities(known: Constraints, identities: CorrelationClustering, why: str) -> Choice:
    evidence = csr_array(identities.evidence_ + identities.prior_)
    return Choice(
        result_of_identities(known, identities),
        Regime("identities", why),
        {},
        partial(tree_of_evidence, identities.labels_, evidence),
    )
