"""DCRC's variational EM: memberships of answered rows, confusion matrices and weights in turn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.answers import Kind
from clew.cluster._dcrc_answers import AnsweredRows
from clew.cluster._dcrc_objective import Penalties, Seen, ascend, log_chances
from clew.constraints import Constraints
from clew.trust._cases import KINDS
from clew.trust._confusion import Matrices
from clew.trust._shrinkage import Prior, shrunk, uniform_matrix

__all__ = ["Errors", "Found", "Steps", "run_em"]

#: In place of an error rate of 0, of which there is no logarithm: it tells which memberships go
#: with most answers, and how far.
HARD_EPSILON = 1e-3
#: Share of the error rate in which the first rounds believe, before matrices are estimated.
TINY = 1e-300


class Errors(NamedTuple):
    """What is believed of annotators' errors."""

    epsilon: float
    """Share of wrong answers of all, at first or for good."""
    prior: Prior | None
    """None: that share is fixed; otherwise matrices are estimated for each annotator."""
    n_annotators: int

    def answers_in(self, known: Constraints) -> AnsweredRows:
        """Collect the answers that say something."""
        with_doubtful_pairs = self.prior is not None
        return AnsweredRows(
            known, with_doubtful_pairs=with_doubtful_pairs, is_hard=self.epsilon == 0
        )


class Steps(NamedTuple):
    """How long to go on."""

    max_iter: int
    tol: float
    max_sweeps: int
    sweep_tol: float
    max_ascent: int


class Found(NamedTuple):
    """Where a start led."""

    weights: NDArray[np.float64]
    """(n_groups, n_features + 1); the last column is the bias."""
    q: NDArray[np.float64]
    """Memberships of answered rows, (n_answered, n_groups)."""
    confusion: dict[Kind, NDArray[np.float64]]
    """For each kind (n_annotators, n_cases, n_labels)."""
    bounds: list[float]
    """The lower bound after each round."""


def run_em(
    seen: Seen,
    answers: AnsweredRows,
    weights: NDArray[np.float64],
    errors: Errors,
    penalties: Penalties,
    steps: Steps,
) -> Found:
    """Raise the lower bound from given weights until it no longer rises.

    Where matrices are estimated, the first rounds, until they no longer raise the bound, believe
    that all err alike: answers would else be explained away as errors while groups are bad.
    """
    confusion, penalty = _uniform(errors), 0.0
    prior = np.ascontiguousarray(log_chances(weights, _answered(seen)).T)
    q, bounds = np.exp(prior), [-np.inf]
    pooled: dict[Kind, NDArray[np.float64]] = {}
    is_estimating = False
    for _ in range(steps.max_iter):
        answers.settle(prior, confusion, q, max_sweeps=steps.max_sweeps, tol=steps.sweep_tol)
        if is_estimating:
            confusion, pooled, penalty = _estimated(answers, q, errors, pooled)
        weights, value = ascend(weights, seen, q.T, penalties, steps.max_ascent)
        told = answers.log_likelihood(confusion, q) + penalty + _entropy(q)
        bounds.append(value + told / max(answers.n_answers, 1))
        if bounds[-1] - bounds[-2] < steps.tol * (1 + abs(bounds[-1])):
            if is_estimating or errors.prior is None or not answers.n_answers:
                break
            is_estimating = True
        prior = np.ascontiguousarray(log_chances(weights, _answered(seen)).T)
    return Found(weights, q, confusion, bounds[1:])


def _answered(seen: Seen) -> NDArray[np.float64]:
    return seen.features[:, : seen.n_answered]


def _uniform(errors: Errors) -> dict[Kind, NDArray[np.float64]]:
    epsilon = max(errors.epsilon, HARD_EPSILON) if errors.epsilon == 0 else errors.epsilon
    return {
        kind: np.repeat(uniform_matrix(kind, epsilon)[None], errors.n_annotators, axis=0)
        for kind in KINDS
    }


def _estimated(
    answers: AnsweredRows,
    q: NDArray[np.float64],
    errors: Errors,
    pooled: Matrices,
) -> tuple[dict[Kind, NDArray[np.float64]], dict[Kind, NDArray[np.float64]], float]:
    """Estimate the matrices anew; give them, what they are drawn to, and the price of that."""
    assert errors.prior is not None  # only called where matrices are estimated
    of_kind = {
        kind: shrunk(kind, counts, errors.prior, pooled.get(kind))
        for kind, counts in answers.counts(q, errors.n_annotators).items()
    }
    return (
        {kind: found.matrices for kind, found in of_kind.items()},
        {kind: found.pooled for kind, found in of_kind.items()},
        sum(found.penalty for found in of_kind.values()),
    )


def _entropy(q: NDArray[np.float64]) -> float:
    return -float(np.vdot(q, np.log(np.maximum(q, TINY))))
