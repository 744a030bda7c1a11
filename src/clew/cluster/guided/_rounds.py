"""Rounds of refinement: each refines a consensus and combines the results in the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from clew.cluster.guided._ensemble.ensemble import Ensemble, Fold
from clew.cluster.guided._ensemble.folds import Answers
from clew.cluster.guided._ensemble.progress import IN_ONE_THREAD, Steps
from clew.cluster.guided._ensemble.weighted_consensus import Consensus, consensus_of
from clew.cluster.guided._features.prepared import Prepared
from clew.cluster.guided._features.views import Views
from clew.cluster.guided._refinement.discriminants import discriminant_neighbors
from clew.cluster.guided._refinement.smoothers import Smoother
from clew.cluster.guided._steps import refined_again, refinements, with_pruned

__all__ = [
    "DISCRIMINANTS",
    "FirstRound",
    "Goal",
    "all_rounds",
    "discriminant_smoothers",
    "has_second_round",
]

#: Above this number of rows there is one round, without discriminants: a second one makes a fit a
#: third slower.
SECOND_ROUND_ROWS = 1_000
#: The smoother by discriminants.
DISCRIMINANTS = "discriminants"


class FirstRound(NamedTuple):
    """The first of two rounds, from which `partial_fit` starts the second one."""

    ensemble: Ensemble
    """Clusterings of the second consensus, scored by the answers that they follow."""
    discriminants: Sequence[Smoother]
    """Smoothers by the discriminants of the second consensus."""


class Goal(NamedTuple):
    """Answers and settings that all rounds share."""

    answers: Answers
    weighted: Sequence[Fold]
    """The folds of the answers, with the weights of annotators."""
    n_clusters: int
    n_groups: int
    """Clusterings with fewer nonempty groups are pruned."""
    seed: int
    steps: Steps = IN_ONE_THREAD

    def consensus_of(self, ensemble: Ensemble) -> Consensus:
        """Return the consensus of scored clusterings."""
        return consensus_of(ensemble, self.answers, self.n_clusters, self.seed, self.steps)


def all_rounds(
    first: Consensus,
    baseline: Consensus | None,
    prepared: Prepared | None,
    of_answers: Mapping[str, Sequence[Smoother]],
    again: Mapping[str, float],
    goal: Goal,
    before: FirstRound | None,
) -> tuple[Consensus, FirstRound | None]:
    """Refine the first consensus in one round, or in two if rows are few.

    Parameters
    ----------
    first : Consensus
        Consensus of the members.
    baseline : Consensus or None
        Consensus of the unconstrained members.
    prepared : Prepared or None
        Features, if there are any.
    of_answers : mapping of str to sequence of Smoother
        Smoothers that follow answers alone, for each fold and for all answers.
    again : mapping of str to float
        As `refinements` takes it.
    goal : Goal
        Answers and settings.
    before : FirstRound or None
        The first round of an earlier fit of the same members. If given, its clusterings are
        scored again by today's answers, and only the second round is computed.

    Returns
    -------
    last : Consensus
        The last consensus.
    first_round : FirstRound or None
        The first round if there are two.
    """
    views = None if prepared is None else prepared.views
    smoothers: dict[str, Sequence[Smoother]] = {}
    if prepared is not None:
        n_parts = len(goal.answers.folds) + 1
        smoothers = {name: [one] * n_parts for name, one in prepared.smoothers.items()}
    if before is not None:
        last = goal.consensus_of(before.ensemble.rescored(goal.weighted))
    else:
        if views is not None and has_second_round(views):
            smoothers[DISCRIMINANTS] = discriminant_smoothers(views, first)
        refined = refinements(first, baseline, goal.answers, {**smoothers, **of_answers}, again)
        ensemble = Ensemble.of(refined, goal.weighted, goal.steps, n_groups=goal.n_groups)
        last = goal.consensus_of(ensemble)
        if views is not None and has_second_round(views):
            before = FirstRound(ensemble, discriminant_smoothers(views, last))
    if before is None:
        return last, None
    smoothers[DISCRIMINANTS] = before.discriminants
    both = refined_again(last, goal.answers, {**smoothers, **of_answers})
    ensemble = Ensemble.of(both, goal.weighted, goal.steps.uncounted(), n_groups=goal.n_groups)
    return with_pruned(goal.consensus_of(ensemble), last), before


def has_second_round(views: Views) -> bool:
    """Whether rows are few enough for discriminants and a second round of refinement."""
    return len(views.X) <= SECOND_ROUND_ROWS


def discriminant_smoothers(views: Views, found: Consensus) -> list[Smoother]:
    """Return smoothers by the discriminants of a consensus, for each fold and for all answers."""
    return [discriminant_neighbors(views.X, labels) for labels in (*found.of_folds, found.labels)]
