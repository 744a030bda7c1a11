"""Confusion matrices from few answers: shrunk toward a pooled matrix, itself shrunk to a prior."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import rel_entr
from scipy.stats import beta

from clew.answers import CODES, Kind
from clew.constraints import AnswerTable, Constraints
from clew.metrics.likelihood import N_POSITIONS, symmetrized_counts
from clew.trust.groups._outcomes import IS_DETERMINED, OUTCOMES, TRUE_LABEL

__all__ = [
    "Matrices",
    "Prior",
    "ShrunkMatrices",
    "error_rates_of",
    "expected_counts",
    "fit_by_em",
    "forced_choice_kinds",
    "intervals_of",
    "label_weights",
    "prior_matrix",
    "shrink",
    "uniform_matrix",
]

#: Rounds of EM, and the least probability that is divided by.
MAX_ROUNDS, TINY = 30, 1e-300
#: Don't-know, or "none differs", is taken as not offered (forced choice) if its share is lower.
RARE = 0.01

Floats = NDArray[np.float64]
#: An array for each kind of answers, such as one of shape (n_annotators, n_outcomes, n_labels).
Matrices = Mapping[Kind, Floats]


class Prior(NamedTuple):
    """The prior of confusion matrices."""

    error: float
    """Probability of any other answer than the correct one."""
    strength: float
    """Weight of the prior in the pooled matrix, as a number of answers for each outcome."""
    pooling: float
    """Weight of the pooled matrix in an annotator's, as a number of answers for each outcome."""


class ShrunkMatrices(NamedTuple):
    """Confusion matrices of one kind of answers."""

    matrices: Floats
    """Probability of each label given each outcome, (n_annotators, n_outcomes, n_labels)."""
    pooled: Floats
    """The matrix that they are shrunk to, (n_outcomes, n_labels)."""
    penalty: float
    """Log prior up to a constant; 0 where all matrices equal the pooled one."""
    pseudo_counts: Floats
    """Parameters of the Dirichlet distributions whose means are the matrices."""


def uniform_matrix(kind: Kind, error: float) -> Floats:
    """Return a matrix with ``1 - error`` for the correct label, the rest shared evenly."""
    n_outcomes, n_labels = len(OUTCOMES[kind]), len(CODES[kind])
    matrix = np.full((n_outcomes, n_labels), error / (n_labels - 1))
    matrix[np.arange(n_outcomes), TRUE_LABEL[kind]] = 1.0 - error
    return matrix


def prior_matrix(kind: Kind, error: float, weights: Floats) -> Floats:
    """Return the mean of the prior, given how often each label is used.

    Parameters
    ----------
    kind : str
        Kind of the answers.
    error : float
        Probability of any other label than the correct one, see `uniform_matrix`.
    weights : ndarray of shape (n_labels,)
        How often each label was given, see `label_weights`.

    Returns
    -------
    ndarray of shape (n_outcomes, n_labels)
        `uniform_matrix`. For questions about three rows, "none differs" and don't-know are taken as
        not offered if they are (nearly) never given: their probabilities are nearly 0, and the
        other labels share the rest. Under forced choice the answers to an open question are thus
        equally probable.
    """
    matrix, is_unused = uniform_matrix(kind, error), _is_unused(kind, weights)
    if kind == "pair" or not is_unused.any():
        return matrix
    used = matrix + TINY  # with error 0, dropping the correct label leaves a row of zeros
    used[:, is_unused] = 0.0
    used *= (1 - RARE) / used.sum(axis=1, keepdims=True)
    used[:, is_unused] = RARE / is_unused.sum()
    return used


def _is_unused(kind: Kind, weights: Floats) -> NDArray[np.bool_]:
    """Find the labels "none differs" and don't-know that are (nearly) never given."""
    is_unused = weights < RARE * weights.sum()
    is_unused[: N_POSITIONS[kind]] = False
    return np.asarray(is_unused)


def forced_choice_kinds(known: Constraints) -> set[Kind]:
    """Return the kinds of questions about three rows that (nearly) never get a don't-know."""
    return {
        table.kind
        for table in known.tables
        if table.kind != "pair" and _is_unused(table.kind, label_weights(table))[-1]
    }


def label_weights(table: AnswerTable) -> Floats:
    """Sum the weights of the answers by label, (n_labels,)."""
    return np.bincount(table.answer_index, table.weights, len(CODES[table.kind])).astype(float)


def expected_counts(table: AnswerTable, probabilities: Floats, n_annotators: int) -> Floats:
    """Sum weights by annotator, outcome and label, each answer split among the outcomes.

    Parameters
    ----------
    table : AnswerTable
        Answers.
    probabilities : ndarray of shape (m, n_outcomes)
        Probabilities of the outcomes of each question.
    n_annotators : int
        Number of annotators.

    Returns
    -------
    ndarray of shape (n_annotators, n_outcomes, n_labels)
        Averaged over the orders in which the rows of a question could be named.
    """
    n_labels = len(CODES[table.kind])
    cell = table.annotators * n_labels + table.answer_index
    counts = [
        np.bincount(cell, table.weights * of_outcome, n_annotators * n_labels)
        for of_outcome in probabilities.T
    ]
    stacked = np.stack(counts).reshape(len(counts), n_annotators, n_labels)
    return symmetrized_counts(table.kind, np.ascontiguousarray(stacked.transpose(1, 0, 2)))


def shrink(
    kind: Kind, counts: Floats, prior: Prior, pooled: Floats | None = None
) -> ShrunkMatrices:
    """Shrink the matrices of annotators toward a pooled one, and the pooled one toward the prior.

    Parameters
    ----------
    kind : str
        Kind of the answers.
    counts : ndarray of shape (n_annotators, n_outcomes, n_labels)
        See `expected_counts`.
    prior : Prior
        The prior.
    pooled : ndarray of shape (n_outcomes, n_labels), default=None
        The pooled matrix. None: computed from the counts of all annotators, of which none counts
        for more than ``prior.pooling`` answers.

    Returns
    -------
    ShrunkMatrices
        Maximum a posteriori estimates, given the pooled matrix.
    """
    if pooled is None:
        total = counts.sum(axis=-1, keepdims=True)
        capped = (counts * prior.pooling / (total + prior.pooling)).sum(axis=0)
        expected = prior_matrix(kind, prior.error, counts.sum(axis=(0, 1)))
        pooled = _normalized(capped + prior.strength * expected)
    pseudo_counts = counts + prior.pooling * pooled
    matrices = _normalized(pseudo_counts)
    penalty = -prior.pooling * float(rel_entr(pooled, matrices).sum())
    return ShrunkMatrices(matrices, pooled, penalty, pseudo_counts)


def fit_by_em(
    tables: Iterable[AnswerTable], probabilities: Matrices, prior: Prior, n_annotators: int
) -> tuple[dict[Kind, Floats], dict[Kind, ShrunkMatrices]]:
    """Estimate matrices by EM, where the outcome of each question is unknown.

    Parameters
    ----------
    tables : iterable of AnswerTable
        The answers of each kind.
    probabilities : dict of str to ndarray of shape (m, n_outcomes)
        For each kind the prior probabilities of the outcomes, found without these answers.
    prior : Prior
        The prior of annotators' matrices.
    n_annotators : int
        Number of annotators.

    Returns
    -------
    counts, matrices : dict
        `expected_counts` and `ShrunkMatrices` by kind.
    """
    every_count, found = {}, {}
    for table in tables:
        of_outcomes = probabilities[table.kind]
        first = prior_matrix(table.kind, prior.error, label_weights(table))
        matrices = np.repeat(first[None], n_annotators, axis=0)
        for _ in range(MAX_ROUNDS):
            joint = of_outcomes * matrices[table.annotators, :, table.answer_index]
            joint /= np.maximum(joint.sum(axis=1, keepdims=True), TINY)
            counts = expected_counts(table, joint, n_annotators)
            matrices = shrink(table.kind, counts, prior).matrices
        every_count[table.kind], found[table.kind] = counts, shrink(table.kind, counts, prior)
    return every_count, found


def _normalized(pseudo_counts: Floats) -> Floats:
    return np.asarray(pseudo_counts / pseudo_counts.sum(axis=-1, keepdims=True))


def intervals_of(kind: Kind, pseudo_counts: Floats, level: float) -> Floats:
    """Return credible intervals of all probabilities.

    Parameters
    ----------
    kind : str
        Kind of the answers.
    pseudo_counts : ndarray of shape (n_annotators, n_outcomes, n_labels)
        Parameters of Dirichlet distributions.
    level : float
        Probability of each interval, such as 0.95.

    Returns
    -------
    ndarray of shape (n_annotators, n_outcomes, n_labels, 2)
        Equal tails. Probabilities that differ only by the order in which rows are named are one
        parameter, and have the same bounds.
    """
    shape = pseudo_counts.shape
    size, times = np.ones(shape[1:]), np.ones((shape[1], 1))
    if (n := N_POSITIONS[kind]) > 0:
        size[:n, :n], size[n:, :n], times[:n] = n - 1, n, n
        size[np.arange(n), np.arange(n)] = 1.0
    # Annotators without answers of this kind have equal parameters.
    rows, of = np.unique(
        pseudo_counts.reshape(shape[0], shape[1] * shape[2]), axis=0, return_inverse=True
    )
    distinct = rows.reshape(-1, *shape[1:])
    mass = times * size * distinct
    rest = np.maximum(times * distinct.sum(axis=-1, keepdims=True) - mass, 1e-12)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    bounds = beta.ppf(tails, mass[..., None], rest[..., None]) / size[..., None]
    return np.asarray(bounds[of.reshape(-1)])


def error_rates_of(counts: Matrices, prior: Prior, level: float) -> tuple[Floats, Floats]:
    """Return the share of wrong answers of each annotator over all kinds, and its bounds."""
    n = len(next(iter(counts.values())))
    wrong, right = np.zeros(n), np.zeros(n)
    for kind, table in counts.items():
        determined = np.flatnonzero(IS_DETERMINED[kind])
        decided = table[:, determined, : len(CODES[kind]) - 1].sum(axis=(1, 2))
        correct = table[:, determined, TRUE_LABEL[kind][determined]].sum(axis=1)
        wrong, right = wrong + decided - correct, right + correct
    share = prior.pooling / (prior.pooling + wrong + right)
    pooled = prior.strength * prior.error + wrong @ share
    pooled /= prior.strength + (wrong + right) @ share
    a = wrong + prior.pooling * pooled
    b = right + prior.pooling * (1 - pooled)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    return a / (a + b), np.asarray(beta.ppf(tails, a[:, None], b[:, None]))
