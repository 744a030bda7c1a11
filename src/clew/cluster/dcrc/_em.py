"""DCRC's variational EM: updates memberships, confusion matrices and weights in turn."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.answers import KINDS, Kind
from clew.cluster.dcrc._answers import AnsweredRows
from clew.cluster.dcrc._objective import Penalties, TrainingRows, ascend, log_probabilities
from clew.constraints import Constraints
from clew.trust.annotators import Prior, shrink, uniform_matrix

__all__ = ["Errors", "Solution", "Steps", "run_em"]

#: Error rate in place of 0, whose logarithm is infinite.
HARD_EPSILON = 1e-3
#: Least probability whose logarithm is taken.
TINY = 1e-300


class Errors(NamedTuple):
    """Assumptions about the errors of annotators."""

    epsilon: float
    """Share of wrong answers; the initial one if matrices are estimated."""
    prior: Prior | None
    """Prior of each annotator's confusion matrix; None if the error rate is fixed."""
    n_annotators: int

    def informative_answers(self, known: Constraints) -> AnsweredRows:
        """Select the answers that are informative under these assumptions."""
        return AnsweredRows(
            known, with_dont_know_pairs=self.prior is not None, is_hard=self.epsilon == 0
        )


class Steps(NamedTuple):
    """Limits and tolerances of the iterations."""

    max_iter: int
    tol: float
    max_sweeps: int
    sweep_tol: float
    max_ascent: int


class Solution(NamedTuple):
    """The result of EM from one start."""

    weights: NDArray[np.float64]
    """(n_groups, n_features + 1); the last column is the bias."""
    q: NDArray[np.float64]
    """Memberships of answered rows, (n_answered, n_groups)."""
    confusion: dict[Kind, NDArray[np.float64]]
    """For each kind (n_annotators, n_cases, n_labels)."""
    bounds: list[float]
    """The lower bound after each round."""
    n_shared: int
    """Number of rounds in which all annotators had the same error rate."""

    @property
    def score(self) -> float:
        """The lower bound with one error rate for all, by which starts are compared.

        With estimated matrices, bad groups may have a high bound: right answers count as errors.
        """
        return self.bounds[self.n_shared - 1]


def run_em(
    rows: TrainingRows,
    answers: AnsweredRows,
    weights: NDArray[np.float64],
    errors: Errors,
    penalties: Penalties,
    steps: Steps,
) -> Solution:
    """Increase the lower bound, from given weights, until it converges.

    If confusion matrices are estimated, the first rounds use one error rate for all annotators,
    until the bound converges. While groups are still bad, estimated matrices would explain right
    answers as errors.
    """
    model = _ErrorModel(answers, errors)
    log_prior = _log_prior(weights, rows)
    q, bounds, n_shared = np.exp(log_prior), [-np.inf], 0
    for _ in range(steps.max_iter):
        answers.update_memberships(
            log_prior, model.confusion, q, max_sweeps=steps.max_sweeps, tol=steps.sweep_tol
        )
        model.update(q)
        n_shared += model.is_shared
        weights, value = ascend(weights, rows, q.T, penalties, steps.max_ascent)
        of_answers = answers.log_likelihood(model.confusion, q) + model.log_prior + _entropy(q)
        bounds.append(value + of_answers / rows.n_effective_answers)
        is_rising = bounds[-1] - bounds[-2] >= steps.tol * (1 + abs(bounds[-1]))
        if not is_rising and not model.start_estimating(q):
            break
        log_prior = _log_prior(weights, rows)
    return Solution(weights, q, model.confusion, bounds[1:], n_shared)


class _ErrorModel:
    """Confusion matrices: one error rate for all annotators, later one matrix for each."""

    def __init__(self, answers: AnsweredRows, errors: Errors) -> None:
        self._answers, self._errors = answers, errors
        self._pooled: dict[Kind, NDArray[np.float64]] | None = None
        self.confusion = _repeated(
            {kind: uniform_matrix(kind, errors.epsilon or HARD_EPSILON) for kind in KINDS},
            errors.n_annotators,
        )
        self.log_prior = 0.0

    @property
    def is_shared(self) -> bool:
        """Whether all annotators have the same error rate."""
        return self._pooled is None

    def start_estimating(self, q: NDArray[np.float64]) -> bool:
        """Estimate matrices from now on; return False if they already are, or are never, estimated.

        The matrices are shrunk to a pooled one that is computed here, once: if it changed between
        rounds, the bound might decrease. For the same reason the error rate of all annotators
        replaces the pooled matrix if it explains the answers better.
        """
        if self._errors.prior is None or self._pooled is not None or not self._answers.n_answers:
            return False
        uniform = {kind: matrices[0] for kind, matrices in self.confusion.items()}
        pooled = {
            kind: shrink(kind, counts, self._errors.prior).pooled
            for kind, counts in self._answers.counts(q, self._errors.n_annotators).items()
        }
        repeated = _repeated(pooled, self._errors.n_annotators)
        before, after = (
            self._answers.log_likelihood(confusion, q) for confusion in (self.confusion, repeated)
        )
        self._pooled = pooled if after >= before else uniform
        return True

    def update(self, q: NDArray[np.float64]) -> None:
        """Update the matrices, if they are estimated."""
        if self._errors.prior is None or self._pooled is None:
            return
        found = {
            kind: shrink(kind, counts, self._errors.prior, self._pooled[kind])
            for kind, counts in self._answers.counts(q, self._errors.n_annotators).items()
        }
        self.confusion = {kind: of.matrices for kind, of in found.items()}
        self.log_prior = sum(of.penalty for of in found.values())


def _log_prior(weights: NDArray[np.float64], rows: TrainingRows) -> NDArray[np.float64]:
    """Return answered rows' log-probabilities given their features, (n_answered, n_groups)."""
    answered = rows.features[:, : rows.n_answered]
    return np.ascontiguousarray(log_probabilities(weights, answered).T)


def _repeated(
    matrices: dict[Kind, NDArray[np.float64]], n_annotators: int
) -> dict[Kind, NDArray[np.float64]]:
    return {kind: np.repeat(of[None], n_annotators, axis=0) for kind, of in matrices.items()}


def _entropy(q: NDArray[np.float64]) -> float:
    return -float(np.vdot(q, np.log(np.maximum(q, TINY))))
