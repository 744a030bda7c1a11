"""DCRC's variational EM: memberships of answered rows, confusion matrices and weights in turn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.answers import KINDS, Kind
from clew.cluster.dcrc._answers import AnsweredRows
from clew.cluster.dcrc._objective import Penalties, Seen, ascend, log_chances
from clew.constraints import Constraints
from clew.trust.groups._shrinkage import Prior, shrink, uniform_matrix

__all__ = ["Errors", "Found", "Steps", "run_em"]

#: In place of an error rate of 0, of which there is no logarithm: it tells which memberships go
#: with most answers, and how far.
HARD_EPSILON = 1e-3
#: The least chance of which a logarithm is taken.
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
    n_alike: int
    """How many of these rounds took all to err alike."""

    @property
    def merit(self) -> float:
        """The bound by which starts compare: matrices can make up for bad groups."""
        return self.bounds[self.n_alike - 1]


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
    beliefs = _Beliefs(answers, errors)
    prior = _log_prior(weights, seen)
    q, bounds, n_alike = np.exp(prior), [-np.inf], 0
    for _ in range(steps.max_iter):
        answers.settle(
            prior, beliefs.confusion, q, max_sweeps=steps.max_sweeps, tol=steps.sweep_tol
        )
        beliefs.update(q)
        n_alike += beliefs.are_alike
        weights, value = ascend(weights, seen, q.T, penalties, steps.max_ascent)
        told = answers.log_likelihood(beliefs.confusion, q) + beliefs.penalty + _entropy(q)
        bounds.append(value + told / seen.mass)
        rises = bounds[-1] - bounds[-2] >= steps.tol * (1 + abs(bounds[-1]))
        if not rises and not beliefs.begin(q):
            break
        prior = _log_prior(weights, seen)
    return Found(weights, q, beliefs.confusion, bounds[1:], n_alike)


class _Beliefs:
    """Who errs how: all alike at first, and once that has begun, each in a way of their own."""

    def __init__(self, answers: AnsweredRows, errors: Errors) -> None:
        self._answers, self._errors = answers, errors
        self._pooled: dict[Kind, NDArray[np.float64]] | None = None
        self.confusion = _repeated(
            {kind: uniform_matrix(kind, errors.epsilon or HARD_EPSILON) for kind in KINDS},
            errors.n_annotators,
        )
        self.penalty = 0.0

    @property
    def are_alike(self) -> bool:
        """Whether all are taken to err alike."""
        return self._pooled is None

    def begin(self, q: NDArray[np.float64]) -> bool:
        """Begin to estimate matrices, and tell whether that is something new.

        They are drawn to what is pooled here, all through, so that the bound never falls; and
        for the same reason not to what is pooled, if that explains the answers worse.
        """
        if self._errors.prior is None or self._pooled is not None or not self._answers.n_answers:
            return False
        alike = {kind: matrices[0] for kind, matrices in self.confusion.items()}
        pooled = {
            kind: shrink(kind, counts, self._errors.prior).pooled
            for kind, counts in self._answers.counts(q, self._errors.n_annotators).items()
        }
        repeated = _repeated(pooled, self._errors.n_annotators)
        explained = [self._answers.log_likelihood(c, q) for c in (self.confusion, repeated)]
        self._pooled = pooled if explained[1] >= explained[0] else alike
        return True

    def update(self, q: NDArray[np.float64]) -> None:
        """Estimate the matrices anew, once that has begun."""
        if self._errors.prior is None or self._pooled is None:
            return
        found = {
            kind: shrink(kind, counts, self._errors.prior, self._pooled[kind])
            for kind, counts in self._answers.counts(q, self._errors.n_annotators).items()
        }
        self.confusion = {kind: of.matrices for kind, of in found.items()}
        self.penalty = sum(of.penalty for of in found.values())


def _log_prior(weights: NDArray[np.float64], seen: Seen) -> NDArray[np.float64]:
    """Give the logarithm of answered rows' chances by their features, (n_answered, n_groups)."""
    answered = seen.features[:, : seen.n_answered]
    return np.ascontiguousarray(log_chances(weights, answered).T)


def _repeated(
    matrices: dict[Kind, NDArray[np.float64]], n_annotators: int
) -> dict[Kind, NDArray[np.float64]]:
    return {kind: np.repeat(of[None], n_annotators, axis=0) for kind, of in matrices.items()}


def _entropy(q: NDArray[np.float64]) -> float:
    return -float(np.vdot(q, np.log(np.maximum(q, TINY))))
