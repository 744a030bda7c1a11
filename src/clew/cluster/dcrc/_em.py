"""DCRC's variational EM: updates memberships, confusion matrices and weights in turn."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax

from clew._parallel import stop_if_abandoned
from clew.answers import KINDS, Kind
from clew.constraints import AnswerTable, Constraints
from clew.kernels.belief_propagation import EXCLUDED, Messages, mean_field
from clew.trust._outcomes import (
    OTHERS,
    OUTCOMES,
    co_membership,
    informative_tables,
    outcome_probabilities,
)
from clew.trust.annotators import Matrices, Prior, expected_counts, shrink, uniform_matrix

#: Error rate in place of 0, whose logarithm is infinite.
HARD_EPSILON = 1e-3
#: Least probability whose logarithm is taken.
TINY = 1e-300
#: Groups whose sums of agreeing answers differ by less count as equal.
TIE = 1e-9


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
        """The bound with one error rate, to compare starts: matrices favor bad groups."""
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

    Until then all annotators have one error rate: estimated ones would explain bad groups.
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
        entropy = -float(np.vdot(q, np.log(np.maximum(q, TINY))))
        of_answers = answers.log_likelihood(model.confusion, q) + model.log_prior + entropy
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

        They are shrunk to a pooled matrix that is computed once: else the bound might decrease.
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


class TrainingRows(NamedTuple):
    """Rows to fit to, answered first: features (n_features + 1, n_rows), share (n_rows,)."""

    features: NDArray[np.float64]
    n_answered: int
    share: NDArray[np.float64]
    n_effective_answers: float


class Penalties(NamedTuple):
    """Factors of the terms of the objective other than the log-likelihood of the answers."""

    tau: float
    """Penalty on the mean entropy of rows without answers."""
    balance: float
    """Reward for the entropy of the group sizes."""
    lam: float
    """Penalty on squared weights."""

    @classmethod
    def of(cls, tau: float, lam: float, *, balance: bool) -> Self:
        """Use `tau` for the entropy of the group sizes too, as in the paper, or 0."""
        return cls(tau, tau if balance else 0.0, lam)


def log_probabilities(
    weights: NDArray[np.float64], features: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return log-probabilities (n_groups, n_rows); weights (n_groups, d), features (d, n_rows)."""
    return np.asarray(log_softmax(weights @ features, axis=0))


def negative_objective(
    flat: NDArray[np.float64], rows: TrainingRows, q: NDArray[np.float64], penalties: Penalties
) -> tuple[float, NDArray[np.float64]]:
    """Return the negative objective of the M-step and its gradient; q (n_groups, n_answered)."""
    stop_if_abandoned()
    weights = flat.reshape(len(q), -1)
    log_p = log_probabilities(weights, rows.features)
    p = np.exp(log_p)
    a, m = rows.n_answered, rows.n_effective_answers
    value = float(np.vdot(q, log_p[:, :a])) / m
    by_logit = np.zeros_like(p)
    if penalties.balance:
        size = p @ rows.share
        log_size = np.log(np.maximum(size, TINY))
        value -= penalties.balance * float(size @ log_size)
        by_logit -= log_size[:, None]
        by_logit += log_size @ p
        by_logit *= penalties.balance * rows.share
    if penalties.tau and a < p.shape[1]:
        unanswered = log_p[:, a:]
        negative_entropy = np.einsum("kn,kn->n", p[:, a:], unanswered)
        factor = penalties.tau / unanswered.shape[1]
        value += factor * float(negative_entropy.sum())
        unanswered -= negative_entropy
        unanswered *= factor
        by_logit[:, a:] += unanswered
    by_logit *= p
    by_logit[:, :a] += (q - p[:, :a]) / m
    gradient = by_logit @ rows.features.T
    slopes = weights[:, :-1]
    value -= penalties.lam * float(np.vdot(slopes, slopes))
    gradient[:, :-1] -= 2 * penalties.lam * slopes
    return -value, -gradient.ravel()


def ascend(
    weights: NDArray[np.float64],
    rows: TrainingRows,
    q: NDArray[np.float64],
    penalties: Penalties,
    max_iter: int,
) -> tuple[NDArray[np.float64], float]:
    """Increase the objective by at most `max_iter` steps of L-BFGS; it never decreases."""
    found = minimize(
        negative_objective,
        weights.ravel(),
        (rows, q, penalties),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iter},
    )
    return np.asarray(found.x.reshape(weights.shape)), -float(found.fun)


class AnsweredRows:
    """The rows with answers, (n,), numbered from 0 in `tables`.

    With `is_hard`, a row can only be in the groups with the highest sum of messages.
    """

    def __init__(self, known: Constraints, *, with_dont_know_pairs: bool, is_hard: bool) -> None:
        given = informative_tables(known, with_dont_know_pairs=with_dont_know_pairs)
        self.rows = np.unique(np.concatenate([table.rows.ravel() for table in given]))
        self.tables = [
            replace(table, rows=np.searchsorted(self.rows, table.rows).astype(np.int64))
            for table in given
        ]
        self.n_answers = sum(len(table) for table in given)
        self.is_hard = is_hard
        self._incidence = _AnswersByRow(self.tables, len(self.rows))

    def update_memberships(
        self,
        log_prior: NDArray[np.float64],
        confusion: Matrices,
        q: NDArray[np.float64],
        *,
        max_sweeps: int,
        tol: float,
    ) -> None:
        """Update the memberships `q` in place; see `mean_field`."""
        gains = [_gains(table, confusion) for table in self.tables]
        messages = self._incidence.messages(gains)
        mean_field(log_prior, messages, self.is_hard, TIE, EXCLUDED, max_sweeps, tol, q)

    def log_likelihood(self, confusion: Matrices, q: NDArray[np.float64]) -> float:
        """Return the weighted expected log-likelihood of the answers."""
        return sum(
            float((_gains(table, confusion) * co_membership(_of_rows(table, q))).sum())
            for table in self.tables
        )

    def counts(self, q: NDArray[np.float64], n_annotators: int) -> dict[Kind, NDArray[np.float64]]:
        """Return the expected number of answers by annotator, case and label, for each kind."""
        return {
            table.kind: expected_counts(
                table, outcome_probabilities(table.kind, _of_rows(table, q)), n_annotators
            )
            for table in self.tables
        }


def _of_rows(table: AnswerTable, q: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    return [q[rows] for rows in table.rows.T]


def _gains(table: AnswerTable, confusion: Matrices) -> NDArray[np.float64]:
    """Return each answer's log-likelihood as factors of `co_membership`, (m, 5)."""
    logarithm = np.log(confusion[table.kind][table.annotators, :, table.answer_index])
    return np.asarray(table.weights[:, None] * (logarithm @ OUTCOMES[table.kind]))


class _AnswersByRow:
    """Lists the answers of each row once; the messages change with the confusion matrices."""

    def __init__(self, tables: list[AnswerTable], n_rows: int) -> None:
        parts = []
        first_answer = 0
        for table in tables:
            size = table.rows.shape[1]
            for position in range(size):
                parts.append(_incidences(table.rows, position, first_answer))
            first_answer += len(table.rows)
        row, first, second, answer, by_first, by_second = np.concatenate(parts, axis=1)
        order = np.argsort(row, kind="stable")
        self._start = np.searchsorted(row[order], np.arange(n_rows + 1)).astype(np.int64)
        self._first, self._second = first[order], second[order]
        self._answer = answer[order]
        self._by_first, self._by_second = by_first[order], by_second[order]

    def messages(self, gains: list[NDArray[np.float64]]) -> Messages:
        """Return the messages of the answers, given the gains of each kind."""
        gain = np.concatenate(gains)
        return Messages(
            self._start,
            self._first,
            self._second,
            gain[self._answer, self._by_first],
            gain[self._answer, self._by_second],
            gain[self._answer, 4],
        )


def _incidences(rows: NDArray[np.int64], position: int, first_answer: int) -> NDArray[np.int64]:
    """List the rows at one position of the answers, with the columns of gains for others."""
    m = len(rows)
    one, other, by_one, by_other = OTHERS[position]
    is_pair = rows.shape[1] == 2
    return np.stack([
        rows[:, position],
        rows[:, one],
        np.full(m, -1) if is_pair else rows[:, other],
        first_answer + np.arange(m),
        np.full(m, by_one),
        np.full(m, by_other),
    ])  # fmt: skip
