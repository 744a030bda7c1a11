"""Confusion matrices of few answers: drawn to those of all annotators, and these to a prior."""

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
from clew.trust.groups._outcomes import CASES, IS_SETTLED, TRUE_LABEL

__all__ = [
    "Matrices",
    "Prior",
    "Shrunk",
    "counted",
    "error_rates_of",
    "expected_matrix",
    "forced_choice_kinds",
    "frequency_of_labels",
    "intervals_of",
    "shrunk",
    "told_by_answers",
    "uniform_matrix",
]

#: Rounds of EM, and the least chance that is divided by.
MAX_ROUNDS, TINY = 30, 1e-300
#: Don't-know, or "none differs", is taken as not offered (forced choice) where its share is lower.
RARE = 0.01

#: For each kind of answers an array, such as one of shape (n_annotators, cases, labels).
Matrices = Mapping[Kind, NDArray[np.float64]]


class Prior(NamedTuple):
    """What is expected of annotators before they answer."""

    error: float
    """Chance of any other answer than the true one."""
    strength: float
    """How many answers weigh as much as that expectation, in each case."""
    pooling: float
    """How many answers of an annotator weigh as much as what all share, in each case."""


class Shrunk(NamedTuple):
    """Matrices of one kind of answers."""

    matrices: NDArray[np.float64]
    """For each annotator, the chance of each label in each case, (n_annotators, cases, labels)."""
    pooled: NDArray[np.float64]
    """What they are drawn to, (cases, labels)."""
    penalty: float
    """Logarithm of the prior, but for a constant; 0 where all matrices are the shared one."""
    pseudo: NDArray[np.float64]
    """Parameters of the Dirichlet distributions of which the matrices are the means."""


def uniform_matrix(kind: Kind, error: float) -> NDArray[np.float64]:
    """Give the true label the chance ``1 - error``, and all others the rest in equal parts."""
    n_cases, n_labels = len(CASES[kind]), len(CODES[kind])
    matrix = np.full((n_cases, n_labels), error / (n_labels - 1))
    matrix[np.arange(n_cases), TRUE_LABEL[kind]] = 1.0 - error
    return matrix


def expected_matrix(
    kind: Kind, error: float, frequency: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the matrix expected of annotators who give labels as often as these do.

    Parameters
    ----------
    kind : str
        Kind of the answers.
    error : float
        Probability of any other label than the true one, see `uniform_matrix`.
    frequency : ndarray of shape (n_labels,)
        How often each label was given.

    Returns
    -------
    ndarray of shape (n_cases, n_labels)
        `uniform_matrix`; but of questions about three rows, a label without a row ("none differs"
        and don't-know) that is (nearly) never given is taken as not offered. It is dropped, and
        rows are normalized again. So under forced choice a question that the groups leave open
        has each answer with the same probability.
    """
    matrix = uniform_matrix(kind, error)
    is_unused = _unused(kind, frequency)
    if kind == "pair" or not is_unused.any():
        return matrix
    used = matrix + TINY  # an error of 0 leaves nothing of a row of which the true label is unused
    used[:, is_unused] = 0.0
    used *= (1 - RARE) / used.sum(axis=1, keepdims=True)
    used[:, is_unused] = RARE / is_unused.sum()
    return used


def _unused(kind: Kind, frequency: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Find the labels without a row that are (nearly) never given."""
    is_unused = frequency < RARE * frequency.sum()
    is_unused[: N_POSITIONS[kind]] = False
    return np.asarray(is_unused)


def forced_choice_kinds(known: Constraints) -> set[Kind]:
    """Find the kinds of questions about three rows to which (nearly) nobody says don't-know."""
    return {
        said.kind
        for said in known.tables
        if said.kind != "pair" and _unused(said.kind, frequency_of_labels(said))[-1]
    }


def frequency_of_labels(said: AnswerTable) -> NDArray[np.float64]:
    """Sum the weights of the answers by label, (n_labels,)."""
    return np.bincount(said.answer_index, said.weights, len(CODES[said.kind])).astype(np.float64)


def counted(
    said: AnswerTable, chances: NDArray[np.float64], n_annotators: int
) -> NDArray[np.float64]:
    """Add up by annotator, case and label how often it is expected to have happened.

    Parameters
    ----------
    said : AnswerTable
        The answers.
    chances : ndarray of shape (m, n_cases)
        Chances of the cases of each.
    n_annotators : int
        How many there are.

    Returns
    -------
    ndarray of shape (n_annotators, n_cases, n_labels)
        Averaged over the orders in which the rows of a question could be named.
    """
    n_cases, n_labels = chances.shape[1], len(CODES[said.kind])
    counts = np.zeros((n_annotators, n_labels, n_cases))
    np.add.at(counts, (said.annotators, said.answer_index), said.weights[:, None] * chances)
    return np.ascontiguousarray(symmetrized_counts(said.kind, counts.transpose(0, 2, 1)))


def shrunk(
    kind: Kind,
    counts: NDArray[np.float64],
    prior: Prior,
    pooled: NDArray[np.float64] | None = None,
) -> Shrunk:
    """Draw the matrices to one that all annotators share, and that one to what is expected.

    Parameters
    ----------
    kind : str
        Kind of the answers.
    counts : ndarray of shape (n_annotators, n_cases, n_labels)
        See `counted`.
    prior : Prior
        What is expected.
    pooled : ndarray of shape (n_cases, n_labels), default=None
        The shared matrix. None: from the counts of all, of which one annotator's weigh no more
        than ``prior.pooling`` answers.

    Returns
    -------
    Shrunk
        Given the shared one, the matrices are those of highest posterior probability.
    """
    if pooled is None:
        total = counts.sum(axis=-1, keepdims=True)
        heard = (counts * prior.pooling / (total + prior.pooling)).sum(axis=0)
        expected = expected_matrix(kind, prior.error, counts.sum(axis=(0, 1)))
        pooled = _mean(heard + prior.strength * expected)
    pseudo = counts + prior.pooling * pooled
    matrices = _mean(pseudo)
    penalty = -prior.pooling * float(rel_entr(pooled, matrices).sum())
    return Shrunk(matrices, pooled, penalty, pseudo)


def told_by_answers(
    of_kind: Iterable[AnswerTable], chances: Matrices, prior: Prior, n_annotators: int
) -> tuple[dict[Kind, NDArray[np.float64]], dict[Kind, Shrunk]]:
    """Estimate matrices by EM: answers tell which case is likely, and matrices follow from that.

    Parameters
    ----------
    of_kind : iterable of AnswerTable
        The answers of each kind.
    chances : dict of str to ndarray of shape (m, n_cases)
        For each kind the chances of the cases of each answer, as found without it.
    prior : Prior
        What is expected.
    n_annotators : int
        How many there are.

    Returns
    -------
    counts, found : dict
        What is expected to have happened (`counted`), and the matrices, by kind.
    """
    counts, found = {}, {}
    for said in of_kind:
        expected = chances[said.kind]
        first = expected_matrix(said.kind, prior.error, frequency_of_labels(said))
        matrices = np.repeat(first[None], n_annotators, axis=0)
        for _ in range(MAX_ROUNDS):
            joint = expected * matrices[said.annotators, :, said.answer_index]
            joint /= np.maximum(joint.sum(axis=1, keepdims=True), TINY)
            table = counted(said, joint, n_annotators)
            matrices = shrunk(said.kind, table, prior).matrices
        counts[said.kind], found[said.kind] = table, shrunk(said.kind, table, prior)
    return counts, found


def _mean(pseudo: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(pseudo / pseudo.sum(axis=-1, keepdims=True))


def intervals_of(kind: Kind, pseudo: NDArray[np.float64], level: float) -> NDArray[np.float64]:
    """Give the bounds between which each chance lies with probability `level`.

    Parameters
    ----------
    kind : str
        Kind of the answers.
    pseudo : ndarray of shape (n_annotators, n_cases, n_labels)
        Parameters of Dirichlet distributions.
    level : float
        Such as 0.95.

    Returns
    -------
    ndarray of shape (n_annotators, n_cases, n_labels, 2)
        Equal tails. Probabilities that differ by the order in which rows are named alone are one
        parameter, and have the same bounds.
    """
    size, times = np.ones(pseudo.shape[1:]), np.ones((pseudo.shape[1], 1))
    if (n := N_POSITIONS[kind]) > 0:
        size[:n, :n], size[n:, :n], times[:n] = n - 1, n, n
        size[np.arange(n), np.arange(n)] = 1.0
    mass = times * size * pseudo
    rest = np.maximum(times * pseudo.sum(axis=-1, keepdims=True) - mass, 1e-12)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    bounds = beta.ppf(tails, mass[..., None], rest[..., None])
    return np.asarray(bounds / size[..., None])


def error_rates_of(
    counts: Matrices, prior: Prior, level: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the share of wrong answers of each annotator, all kinds together, and its bounds."""
    n = len(next(iter(counts.values())))
    wrong, right = np.zeros(n), np.zeros(n)
    for kind, table in counts.items():
        settled = np.flatnonzero(IS_SETTLED[kind])
        decided = table[:, settled, : len(CODES[kind]) - 1].sum(axis=(1, 2))
        hits = table[:, settled, TRUE_LABEL[kind][settled]].sum(axis=1)
        wrong, right = wrong + decided - hits, right + hits
    heard = prior.pooling / (prior.pooling + wrong + right)
    pooled = prior.strength * prior.error + wrong @ heard
    pooled /= prior.strength + (wrong + right) @ heard
    a = wrong + prior.pooling * pooled
    b = right + prior.pooling * (1 - pooled)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    return a / (a + b), np.asarray(beta.ppf(tails, a[:, None], b[:, None]))
