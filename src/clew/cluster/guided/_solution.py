"""Groups of a given number: members, scores, consensus, refinement, clusterings of spaces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from clew.cluster.guided._answers.answers_alone import (
    ALONE,
    MAX_MEMBERS,
    are_pairs_foremost,
    blended_with_spaces,
    follows_answers_alone,
    members_of_answers,
)
from clew.cluster.guided._answers.spaces import SPACES, Space, Spaces
from clew.cluster.guided._ensemble.ensemble import Clustering, Ensemble
from clew.cluster.guided._ensemble.folds import Answers
from clew.cluster.guided._ensemble.progress import Steps
from clew.cluster.guided._ensemble.weighted_consensus import Consensus, consensus_of
from clew.cluster.guided._features.prepared import Prepared
from clew.cluster.guided._members.members import BEST_PRIOR, SHARES, STEADY, Member
from clew.cluster.guided._refinement.smoothers import ShareSmoother, Smoother
from clew.cluster.guided._rounds import FirstRound, Goal, all_rounds
from clew.cluster.guided._steps import (
    MAX_REFINED,
    MAX_REFINED_BY_ANSWERS,
    as_fitted,
    guarded,
    member_clusterings,
    unconstrained_clusterings,
    unconstrained_consensus,
    weighted_by_annotator,
)

__all__ = [
    "Additions",
    "FittedMembers",
    "Solution",
    "answers_in_refinement",
    "finish",
    "fit_members",
    "least_groups",
    "max_fits",
]


class Solution(NamedTuple):
    """Groups of a given number, and the clusterings that they come from."""

    first: Consensus
    """Consensus before the refinement."""
    last: Consensus
    """The result; the same if there are no answers."""
    share_of_spaces: float = 0.0
    """Weight of the clusterings of graded answers in the result."""
    best_space: Space = SPACES[0]
    """The space that predicts held-out answers best."""
    first_round: FirstRound | None = None
    """The first round of refinement if there are two."""

    @property
    def share_of_answers(self) -> float:
        """Share of the members that follow answers alone in the weights of the first consensus."""
        weights = self.first.ensemble.weights
        alone = sum(weight for name, weight in weights.items() if follows_answers_alone(name))
        return float(alone / (sum(weights.values()) or 1.0))


def max_fits(members: Sequence[Member], n_folds: int, *, are_default: bool) -> int:
    """Return how many clusterings may be fitted.

    Parameters
    ----------
    members : sequence of Member
        The pool.
    n_folds : int
        Number of folds of the answers.
    are_default : bool
        Whether the pool is the default, which members that follow answers alone may join.

    Returns
    -------
    int
    """
    n_unconstrained = sum(not member.is_constrained for member in members)
    if not n_folds:
        return n_unconstrained or len(members)
    n_scored = len(members) + MAX_REFINED
    if are_default:
        n_scored += MAX_MEMBERS + MAX_REFINED_BY_ANSWERS
    return n_unconstrained + n_scored * (n_folds + 1)


class FittedMembers(NamedTuple):
    """Fitted members, which `partial_fit` scores again without fitting them."""

    unconstrained: list[Clustering]
    """Those that follow no answers."""
    baseline: Consensus | None
    """Consensus of these."""
    ensemble: Ensemble
    """All members, scored by the answers that they were fitted to."""
    first_round: FirstRound | None = None
    """The first round of their refinement, if there are two."""


def fit_members(
    members: Sequence[Member],
    prepared: Prepared | None,
    spaces: Spaces | None,
    answers: Answers,
    n_clusters: int,
    seed: int,
    steps: Steps,
) -> FittedMembers:
    """Fit the members to the training answers of each fold and to all answers.

    Parameters
    ----------
    members : sequence of Member
        The pool of members that read features.
    prepared : Prepared or None
        Features, if there are any.
    spaces : Spaces or None
        Spaces of the answers; None if they are not worth fitting.
    answers : Answers
        The answers.
    n_clusters : int
        Number of groups.
    seed : int
        Seed of all consensus clusterings.
    steps : Steps
        Threads of the fits, and the callback that counts them.

    Returns
    -------
    FittedMembers
    """
    views = None if prepared is None else prepared.views
    # Members that follow no answers: fitted once, and their consensus is the baseline.
    unconstrained: list[Clustering] = []
    if views is not None:
        is_constrained = [member.is_constrained for member in members]
        unconstrained = views.once(
            ("unconstrained", n_clusters, all(is_constrained) and not answers.folds),
            lambda: unconstrained_clusterings(members, views, answers),
        )
    if not answers.folds:
        return FittedMembers([], None, Ensemble.of(unconstrained, [], steps))
    baseline = None
    if views is not None:
        baseline = views.once(
            ("baseline", n_clusters),
            lambda: unconstrained_consensus(unconstrained, answers, n_clusters, seed, steps),
        )
    # Members that follow answers: those of annotators who err more have less weight.
    weighted = weighted_by_annotator(answers, unconstrained)
    clusterings: list[Clustering] = []
    if views is not None:
        clusterings += member_clusterings(members, unconstrained, views, weighted)
    if spaces is not None:
        clusterings += members_of_answers(spaces, answers, n_clusters, seed)
    n_groups = least_groups(spaces, answers, n_clusters, have_features=prepared is not None)
    ensemble = Ensemble.of(clusterings, weighted.folds, steps, n_groups=n_groups)
    if views is not None:
        views.release()
    return FittedMembers(as_fitted(unconstrained), baseline, ensemble)


def finish(
    fitted: FittedMembers,
    prepared: Prepared | None,
    spaces: Spaces | None,
    answers: Answers,
    n_clusters: int,
    seed: int,
    steps: Steps,
) -> Solution:
    """Find groups from fitted members: weigh them, compute their consensus, and refine it.

    Parameters
    ----------
    fitted : FittedMembers
        Members fitted to these answers, or to earlier ones.
    prepared, spaces, answers, n_clusters, seed, steps
        As in `fit_members`. The folds are those of `fitted`.

    Returns
    -------
    Solution
    """
    if not answers.folds:
        only = consensus_of(fitted.ensemble, answers, n_clusters, seed, steps)
        return Solution(only, only)
    baseline = fitted.baseline
    weighted = weighted_by_annotator(answers, fitted.unconstrained)
    # Scores: held-out answers judge each member.
    scored = fitted.ensemble.rescored(weighted.folds)
    # Consensus.
    first = consensus_of(scored, answers, n_clusters, seed, steps)
    # Refinement of the consensus, and further ones.
    more = answers_in_refinement(spaces, first, answers)
    n_groups = least_groups(spaces, answers, n_clusters, have_features=prepared is not None)
    goal = Goal(answers, weighted.folds, n_clusters, n_groups, seed, steps)
    before = fitted.first_round
    last, first_round = all_rounds(
        first, baseline, prepared, more.smoothers, more.again, goal, before
    )
    # Result: the baseline, unless held-out answers clearly prefer another.
    last = guarded(last, baseline)
    if spaces is None:
        return Solution(first, last, first_round=first_round)
    blended = blended_with_spaces(spaces, last, first, answers, n_clusters, seed)
    if blended is None:
        return Solution(first, last, 0.0, more.space, first_round)
    return Solution(first, *blended, first_round)


def least_groups(
    spaces: Spaces | None, answers: Answers, n_clusters: int, *, have_features: bool
) -> int:
    """Return how many nonempty groups a clustering must have to get a positive weight.

    Parameters
    ----------
    spaces : Spaces or None
        Spaces of the answers, if they are worth fitting.
    answers : Answers
        The answers.
    n_clusters : int
        Number of groups wanted.
    have_features : bool
        Whether there are features, and members that follow them.

    Returns
    -------
    int
        0 if any number is allowed.

    Notes
    -----
    Answers about three rows often express degrees of similarity. Too few large groups predict such
    answers best, so clusterings with an empty group are pruned. Answers about pairs rarely express
    degrees, and with features a member with an empty group may be the best: pruning it lowered the
    ARI from .57 to .42 on faces in videos with right answers.
    """
    are_graded = not (have_features and are_pairs_foremost(answers.known))
    return n_clusters if spaces is not None and are_graded else 0


class Additions(NamedTuple):
    """Additions to the refinement that depend on answers alone."""

    smoothers: Mapping[str, Sequence[Smoother]]
    """For each fold, and for all answers."""
    again: Mapping[str, float]
    """Members of the first consensus that also join the second, and their log prior weights."""
    space: Space
    """The space whose clustering has the largest weight."""


def answers_in_refinement(spaces: Spaces | None, first: Consensus, answers: Answers) -> Additions:
    """Return the smoothers and members that answers alone add to the refinement.

    Parameters
    ----------
    spaces : Spaces or None
        Spaces of the answers.
    first : Consensus
        The consensus that is refined.
    answers : Answers
        The answers.

    Returns
    -------
    Additions
    """
    smoothers: dict[str, Sequence[Smoother]] = {}
    again, space = {STEADY: 0.0}, SPACES[0]
    if spaces is not None:
        if are_pairs_foremost(answers.known):
            again[ALONE] = BEST_PRIOR
            smoothers[SHARES] = [ShareSmoother()] * (len(answers.folds) + 1)
        if (best := _best_space(first.ensemble)) is not None:
            name, space = best
            smoothers[space.name] = spaces.smoothers(space)
            again[name] = 0.0
    return Additions(smoothers, again, space)


def _best_space(ensemble: Ensemble) -> tuple[str, Space] | None:
    """Return the clustering in a space that has the largest positive weight, and the space."""
    found = [
        (ensemble.weights[name], name, space)
        for name in ensemble.names
        for space in SPACES
        if name.startswith(f"{space.name}, ")
    ]
    return max(found)[1:] if found else None
