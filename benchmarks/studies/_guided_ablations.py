"""Ablations: guided clustering with one of its steps left out or replaced."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, ClassVar, Self
from unittest.mock import patch

import numpy as np
from scipy.special import softmax

from benchmarks.study.methods import CLUSTERERS, Method
from benchmarks.study.problems import Floats
from clew.cluster import GuidedClustering
from clew.cluster.guided import _partitions, _search
from clew.cluster.guided._features import Prepared
from clew.cluster.guided._partitions import SETTINGS, AnswerModel, Settings
from clew.cluster.guided._smoothers import NeighborSmoother, Smoother
from clew.kernels.belief_propagation import EXCLUDED, AnswerFactors, Messages, mean_field

LEAST = 1e-12
MAX_SWEEPS, TIE = 20, 1e-9


def mean_field_beliefs(log_prior: Floats, ties: AnswerFactors, *options: Any) -> None:
    """Update the probabilities by mean field instead of belief propagation.

    They are the last of `options`, as for the kernel of belief propagation.
    """
    q: Floats = options[-1]
    q[:] = softmax(log_prior, axis=1)
    mean_field(log_prior, messages_of(ties), False, TIE, EXCLUDED, MAX_SWEEPS, SETTINGS.tol, q)


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


def one_rate(model: AnswerModel, wrong: Floats, settings: Settings) -> Floats:
    """Give all annotators the same error rate."""
    weights = model.weights * model.is_definite
    a, b = settings.error_prior
    mean = (a - 0.5 + weights @ wrong) / (a + b - 1 + weights.sum())
    return np.full(model.n_annotators, np.clip(mean, *settings.error_bounds))


def _ablation(name: str, label: str, *replaced: tuple[Any, str, Any]) -> Method:
    kind = type(f"Ablated_{name}", (Ablated,), {"replaced": replaced, "__module__": __name__})
    CLUSTERERS[f"guided, {label}"] = lambda k: kind(k, standardize=False)
    return Method(f"guided_{name}", label, f"guided, {label}")


def one_smoother(name: str) -> property:
    """Return the smoothers of features, without the other one."""

    def smoothers(prepared: Prepared) -> tuple[Smoother]:
        return (NeighborSmoother(prepared.graph) if name == "neighbors" else prepared.ridge,)

    return property(smoothers)


def nothing(*args: Any) -> list[Any]:
    """Add no starts."""
    return []


def equal_weights(logs: Any, messages: Any, weights: Floats, *args: Any) -> Floats:
    """Leave the weights of the smoothers as they are."""
    return weights


ABLATIONS: Sequence[Method] = (
    _ablation(
        "no_propagation", "no propagated answers", (_search, "_cuts_of_propagated_answers", nothing)
    ),
    _ablation(
        "no_correlation",
        "no correlation clustering",
        (_search, "_correlation_clusterings", nothing),
    ),
    _ablation("no_crossings", "no crossings", (_search, "_crossed", nothing)),
    _ablation("no_own_tree", "no cuts of the own tree", (_search, "_cuts_of_own_tree", nothing)),
    _ablation("best_alone", "the best partition alone", (_search, "N_KEPT", 1)),
    _ablation("neighbors", "no ridge", (Prepared, "smoothers", one_smoother("neighbors"))),
    _ablation("ridge", "no neighbors", (Prepared, "smoothers", one_smoother("ridge"))),
    _ablation(
        "equal_weights",
        "equal weights of smoothers",
        (_partitions, "_fitted_weights", equal_weights),
    ),
    _ablation("mean_field", "mean field", (_partitions, "propagate_beliefs", mean_field_beliefs)),
)
#: Measured with answers of several people.
ALIKE = _ablation(
    "annotators_alike", "annotators alike", (_partitions.AnswerModel, "error_rates", one_rate)
)
