"""Ablations: guided clustering with one of its steps left out or replaced."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any, ClassVar, Self
from unittest.mock import patch

import numpy as np
from scipy.special import softmax

from benchmarks.study.methods import CLUSTERERS, Method
from benchmarks.study.problems import Floats
from clew.cluster import GuidedClustering
from clew.cluster.guided import _choice, _rounds, _solution, _steps
from clew.cluster.guided._ensemble.ensemble import Clustering, Ensemble
from clew.cluster.guided._ensemble.weighted_consensus import Consensus, consensus_of
from clew.cluster.guided._members import members
from clew.cluster.guided._refinement import refinement
from clew.cluster.guided._solution import Solution
from clew.kernels.belief_propagation import AnswerFactors
from clew.kernels.mean_field import EXCLUDED, Messages, mean_field

LEAST = 1e-12
MAX_SWEEPS, TIE = 20, 1e-9


def mean_field_beliefs(log_prior: Floats, ties: AnswerFactors, *options: Any) -> None:
    """Update the probabilities by mean field instead of belief propagation.

    They are the last of `options`, as for the kernel of belief propagation.
    """
    q: Floats = options[-1]
    q[:] = softmax(log_prior, axis=1)
    mean_field(log_prior, messages_of(ties), False, TIE, EXCLUDED, MAX_SWEEPS, refinement.TOL, q)


def messages_of(ties: AnswerFactors) -> Messages:
    """Turn likelihoods of answers into mean-field messages."""
    n_rows = len(ties.start) - 1
    row = np.append(np.repeat(np.arange(n_rows), np.diff(ties.start)), -1)

    def logarithm(*factors: Floats) -> Floats:
        likelihood = np.maximum(ties.constant + np.sum(factors, axis=0), LEAST)
        return np.asarray(ties.weight * np.log(likelihood))

    none = logarithm(np.zeros_like(ties.constant))
    by_first, by_second, by_rest = (
        logarithm(factor) - none for factor in (ties.by_first, ties.by_second, ties.by_rest)
    )
    every = logarithm(ties.by_first, ties.by_second, ties.by_rest, ties.by_both)
    by_both = every - none - by_first - by_second - by_rest
    return Messages(ties.start, row[ties.first], row[ties.second], by_first, by_second, by_both)


class Ablated(GuidedClustering):
    """Guided clustering in which some functions of the library are replaced."""

    #: Module or class, name of the function, and its replacement. Functions are replaced because
    #: the library has no parameters for ablations.
    replaced: ClassVar[Sequence[tuple[Any, str, Any]]] = ()

    def fit(self, *args: Any, **options: Any) -> Self:
        with ExitStack() as stack:
            for place in self.replaced:
                stack.enter_context(patch.object(*place))
            return super().fit(*args, **options)


def refinements_by(
    names: Sequence[str], first: Consensus, baseline: Any, answers: Any, smoothers: Any, again: Any
) -> list[Clustering]:
    """Refine by the smoothers of features with these names; without a name, by no smoother."""
    others = {"neighbors", "ridge"}.difference(names)
    kept = {name: of for name, of in smoothers.items() if names and name not in others}
    return _steps.refinements(first, baseline, answers, kept, again)


def scored_without_priors(
    clusterings: Sequence[Clustering], folds: Any, *args: Any, score: Any = Ensemble.of, **more: Any
) -> Ensemble:
    """Score and weigh clusterings by held-out answers alone, if there are any."""
    if folds:
        clusterings = [one._replace(log_prior=0.0) for one in clusterings]
    found: Ensemble = score(clusterings, folds, *args, **more)
    return found


def unconstrained_members(*args: Any, find: Any = members.default_members, **options: Any) -> Any:
    """Return the members of the default pool that follow no answers."""
    return [member for member in find(*args, **options) if not member.is_constrained]


def best_alone(
    fitted: Any, prepared: Any, spaces: Any, answers: Any, n_clusters: int, seed: int, step: Any
) -> Solution:
    """Use the groups of the clustering with the highest score among those of positive weight."""
    found = _solution.finish(fitted, prepared, spaces, answers, n_clusters, seed, step)
    ensemble = found.last.ensemble
    best = max(ensemble.names, key=lambda name: ensemble.scores[name])
    alone = ensemble._replace(weights={name: float(name == best) for name in ensemble.scores})
    return found._replace(last=consensus_of(alone, answers, n_clusters, seed))


def _ablation(name: str, label: str, *replaced: tuple[Any, str, Any]) -> Method:
    kind = type(f"Ablated_{name}", (Ablated,), {"replaced": replaced, "__module__": __name__})
    CLUSTERERS[f"guided, {label}"] = lambda k: kind(k, standardize=False)
    return Method(f"guided_{name}", label, f"guided, {label}")


def _refined_by(*names: str) -> tuple[tuple[Any, str, Any], ...]:
    """Refine in one round, by these smoothers only."""
    return (
        (_rounds, "has_second_round", lambda views: False),
        (_rounds, "refinements", partial(refinements_by, names)),
    )


ABLATIONS: Sequence[Method] = (
    _ablation("unrefined", "no refinement", *_refined_by()),
    _ablation("best_alone", "no second consensus", (_choice, "finish", best_alone)),
    _ablation("neighbors", "neighbors as the only smoother", *_refined_by("neighbors")),
    _ablation("ridge", "ridge as the only smoother", *_refined_by("ridge")),
    _ablation(
        "unconstrained", "no constrained members",
        (members, "default_members", unconstrained_members),
    ),
    _ablation(
        "no_pruning", "no pruning", (Ensemble, "of", partial(Ensemble.of, pruning_margin=np.inf))
    ),
    _ablation("no_priors", "no priors", (Ensemble, "of", scored_without_priors)),
    _ablation("unguarded", "no guard", (_solution, "guarded", lambda last, baseline: last)),
    _ablation("mean_field", "mean field", (refinement, "propagate_beliefs", mean_field_beliefs)),
)  # fmt: skip
#: Measured with answers of several people.
ALIKE = _ablation(
    "annotators_alike", "annotators alike",
    (_solution, "weighted_by_annotator", lambda answers, unconstrained: answers),
)  # fmt: skip
