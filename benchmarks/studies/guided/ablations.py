"""Ablations: guided clustering with one of its steps left out or replaced."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self
from unittest.mock import patch

import numpy as np
from scipy.special import softmax

from benchmarks.study.methods import CLUSTERERS, Method
from benchmarks.study.problems import Floats, Ints
from clew._parallel import one_library_thread
from clew._random import derived_seeds
from clew.cluster import GuidedClustering
from clew.cluster.guided import _steps as steps
from clew.cluster.guided._answers.answers_alone import (
    are_answers_dense,
    blended_with_spaces,
    members_of_answers,
)
from clew.cluster.guided._answers.spaces import Spaces
from clew.cluster.guided._ensemble.answer_errors import informative_answers
from clew.cluster.guided._ensemble.ensemble import PRUNING_MARGIN, Clustering, Ensemble
from clew.cluster.guided._ensemble.folds import Answers, split_answers
from clew.cluster.guided._ensemble.weighted_consensus import Consensus, consensus_of
from clew.cluster.guided._features.feature_space import FeatureSpace
from clew.cluster.guided._features.views import Views
from clew.cluster.guided._members.members import default_members
from clew.cluster.guided._refinement.refinement import (
    FLOOR,
    MAX_ROUNDS,
    START,
    TOL,
    TiedRows,
    refine,
)
from clew.cluster.guided._refinement.smoothers import NeighborSmoother, RidgeSmoother, Smoother
from clew.cluster.guided._result.result import result_of
from clew.cluster.guided._rounds import DISCRIMINANTS, discriminant_smoothers, has_second_round
from clew.cluster.guided._solution import answers_in_refinement, least_groups
from clew.constraints import Constraints
from clew.kernels.mean_field import EXCLUDED, Messages, mean_field

LEAST = 1e-12
MAX_SWEEPS, TIE = 20, 1e-9


def mean_field_refined(
    labels: Ints, n_clusters: int, tied: TiedRows, smoother: Smoother, strength: float
) -> Floats:
    """Refine as `refine` does, with mean field in place of belief propagation."""
    q = np.full((tied.n_samples, n_clusters), (1 - START) / n_clusters)
    q[np.arange(tied.n_samples), labels] += START
    messages = messages_of(tied)
    for _ in range(MAX_ROUNDS):
        before = q.copy()
        predicted = np.maximum(smoother.smooth(q), 0.0) + FLOOR
        log_prior = strength * np.log(predicted)
        q = softmax(log_prior, axis=1)
        mean_field(log_prior, messages, False, TIE, EXCLUDED, MAX_SWEEPS, TOL, q)
        if np.abs(q - before).max() < TOL:
            break
    return q


def messages_of(tied: TiedRows) -> Messages:
    """Turn likelihoods of answers into mean-field messages."""
    ties, row = tied.ties, np.append(tied.row_of_end, -1)

    def logarithm(*factors: Floats) -> Floats:
        return ties.weight * np.log(np.maximum(ties.constant + np.sum(factors, axis=0), LEAST))

    none = logarithm(np.zeros_like(ties.constant))
    by_first, by_second, by_rest = (
        logarithm(factor) - none for factor in (ties.by_first, ties.by_second, ties.by_rest)
    )
    every = logarithm(ties.by_first, ties.by_second, ties.by_rest, ties.by_both)
    by_both = every - none - by_first - by_second - by_rest
    return Messages(ties.start, row[ties.first], row[ties.second], by_first, by_second, by_both)


Refine = Callable[[Ints, int, TiedRows, Smoother, float], Floats]


@dataclass(frozen=True)
class Ablation:
    """The steps that an ablation keeps."""

    smoothers: tuple[str, ...] = ("neighbors", "ridge", DISCRIMINANTS)
    refine: Refine = refine
    has_constrained_members: bool = True
    weighs_annotators: bool = True
    pruning_margin: float = PRUNING_MARGIN
    has_priors: bool = True
    is_guarded: bool = True
    has_second_consensus: bool = True

    def scored(
        self, clusterings: Sequence[Clustering], answers: Answers, n_groups: int = 0
    ) -> Ensemble:
        if not self.has_priors:
            clusterings = [one._replace(log_prior=0.0) for one in clusterings]
        return Ensemble.of(
            clusterings, answers.folds, pruning_margin=self.pruning_margin, n_groups=n_groups
        )


class Ablated(GuidedClustering):
    """Guided clustering with the default pool and a given number of groups, with an ablation."""

    ablation: ClassVar[Ablation] = Ablation()

    def fit(self, X: Any, y: object = None, *, constraints: Constraints) -> Self:
        seeds, k = derived_seeds(self.random_state, 4), self.n_clusters or 2
        with one_library_thread():
            space = FeatureSpace.fit(X, self.metric, self.standardize, seeds[0])
            views = Views(space.transform(X), seeds[0], self.n_jobs)
            answers = split_answers(informative_answers(constraints), seeds[1])
            smoothers = {
                "neighbors": NeighborSmoother(views.read("neighbors", 10)),
                "ridge": RidgeSmoother(views.X, seeds[3]),
            }
            is_dense = answers.folds and are_answers_dense(answers.known)
            spaces = Spaces(views.X, *answers, seeds[3]) if is_dense else None
            found = solved(self.ablation, views, smoothers, spaces, answers, k, *seeds[2:])
        result = vars(result_of(constraints, *found))
        vars(self).update({f"{name}_": value for name, value in result.items()})
        return self


def solved(
    of: Ablation,
    views: Views,
    smoothers: dict[str, Smoother],
    spaces: Spaces | None,
    answers: Answers,
    k: int,
    seed_of_members: int,
    seed: int,
) -> tuple[Consensus, Consensus]:
    """Return the first and the last consensus, as `GuidedClustering.fit` finds them."""
    members = [
        member
        for member in default_members(k, len(views.X), seed_of_members)
        if of.has_constrained_members or not member.is_constrained
    ]
    unconstrained = steps.unconstrained_clusterings(members, views, answers)
    baseline = steps.unconstrained_consensus(unconstrained, answers, k, seed)
    weighted = (
        steps.weighted_by_annotator(answers, unconstrained) if of.weighs_annotators else answers
    )
    clusterings = steps.member_clusterings(members, unconstrained, views, weighted)
    if spaces is not None:
        clusterings += members_of_answers(spaces, answers, k, seed)
    n_groups = least_groups(spaces, answers, k, have_features=True)
    first = consensus_of(of.scored(clusterings, weighted, n_groups), answers, k, seed)
    n_parts = len(answers.folds) + 1
    chosen = {name: [smoothers[name]] * n_parts for name in of.smoothers if name in smoothers}
    has_discriminants = DISCRIMINANTS in of.smoothers and has_second_round(views)
    if has_discriminants:
        chosen[DISCRIMINANTS] = discriminant_smoothers(views, first)
    more = answers_in_refinement(spaces, first, answers)
    # The library has no parameter for this step: the study replaces the function.
    with patch.object(steps, "refine", of.refine):
        all_smoothers = chosen | (more.smoothers if chosen else {})
        clusterings = steps.refinements(first, baseline, answers, all_smoothers, more.again)
        refined = of.scored(clusterings, weighted, n_groups)
        last = consensus_of(refined, answers, k, seed)
        if has_discriminants:
            chosen[DISCRIMINANTS] = discriminant_smoothers(views, last)
            again = steps.refined_again(last, answers, chosen | more.smoothers)
            scored = of.scored(again, weighted, n_groups)
            last = steps.with_pruned(consensus_of(scored, answers, k, seed), last)
    if of.is_guarded:
        last = steps.guarded(last, baseline)
    if spaces is not None:
        blended = blended_with_spaces(spaces, last, first, answers, k, seed)
        last = last if blended is None else blended[0]
    if not of.has_second_consensus:
        last = consensus_of(best_alone(last.ensemble), answers, k, seed)
    return first, last


def best_alone(ensemble: Ensemble) -> Ensemble:
    """Give all weight to the clustering with the highest score among those of positive weight."""
    best = max(ensemble.names, key=lambda name: ensemble.scores[name])
    return ensemble._replace(weights={name: float(name == best) for name in ensemble.scores})


def _ablation(name: str, label: str, **changed: Any) -> Method:
    kind = type(
        f"Ablated_{name}", (Ablated,), {"ablation": Ablation(**changed), "__module__": __name__}
    )
    CLUSTERERS[f"guided, {label}"] = lambda k: kind(k, standardize=False)
    return Method(f"guided_{name}", label, f"guided, {label}")


ABLATIONS: Sequence[Method] = (
    _ablation("unrefined", "no refinement", smoothers=()),
    _ablation("best_alone", "no second consensus", has_second_consensus=False),
    _ablation("neighbors", "neighbors as the only smoother", smoothers=("neighbors",)),
    _ablation("ridge", "ridge as the only smoother", smoothers=("ridge",)),
    _ablation("unconstrained", "no constrained members", has_constrained_members=False),
    _ablation("no_pruning", "no pruning", pruning_margin=np.inf),
    _ablation("no_priors", "no priors", has_priors=False),
    _ablation("unguarded", "no guard", is_guarded=False),
    _ablation("mean_field", "mean field", refine=mean_field_refined),
)
#: Measured with answers of several people.
ALIKE = _ablation("annotators_alike", "annotators alike", weighs_annotators=False)
