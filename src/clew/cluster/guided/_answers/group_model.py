"""Groups that follow answers alone: belief propagation, with annotators' errors found by EM."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from clew.answers import CODES, KINDS, Kind
from clew.cluster.guided._refinement.refinement import TiedRows, first_cavities
from clew.constraints import Constraints
from clew.kernels.belief_propagation import propagate_beliefs, update_all_messages
from clew.trust import ConfusionMatrices
from clew.trust._outcomes import OUTCOMES, answer_likelihoods, outcomes_of_rows
from clew.trust.annotators import expected_counts

__all__ = ["groups_of_answers"]

Floats = NDArray[np.float64]

N_STARTS = 3
#: With given groups to start from, the initial probability of the given group of each row.
SURE = 0.9
#: Error rate at the start and in the prior, and the number of answers that the prior counts for.
PRIOR_ERROR, STRENGTH = 0.1, 10.0
#: Maximum number of rounds of EM; sweeps of belief propagation in each round, and in the last.
MAX_ROUNDS, SWEEPS, LAST_SWEEPS = 15, 10, 60
DAMPING, SWEEP_TOL, TOL = 0.3, 1e-3, 1e-3


def groups_of_answers(
    known: Constraints, n_clusters: int, seed: int, start: NDArray[np.int64] | None = None
) -> Floats:
    """Find groups from answers of all kinds.

    Parameters
    ----------
    known : Constraints
        The answers.
    n_clusters : int
        Number of groups.
    seed : int
        Seed of the random starts.
    start : ndarray of shape (n_samples,), default=None
        Groups for one more start.

    Returns
    -------
    ndarray of shape (n_samples, n_clusters)
        Probabilities of groups.

    Notes
    -----
    All groups of a row have the same prior probability; an answer's likelihood follows from the
    groups of its rows and its annotator's confusion matrix. The start with the most nonempty groups
    is returned; among several, the one whose answers are most probable. Time O(m·K) for m answers
    and K groups in each of some hundred sweeps.

    References
    ----------
    A. Decelle, F. Krzakala, C. Moore and L. Zdeborová, "Asymptotic analysis of the stochastic block
    model for modular networks and its algorithmic applications", Physical Review E 84, 2011.
    """
    starts = _starts(known.n_samples, n_clusters, seed, start)
    # One after the other: the beliefs of all starts together would take much memory.
    found = (_propagated(known, one) for one in starts)
    return max(found, key=lambda one: (len(np.unique(one[0].argmax(axis=1))), one[1]))[0]


def _starts(
    n: int, n_clusters: int, seed: int, given: NDArray[np.int64] | None
) -> Iterator[Floats]:
    """Draw probabilities of groups to start from, and make some of given groups."""
    random = np.random.RandomState(seed)
    for _ in range(N_STARTS):
        yield random.dirichlet(np.ones(n_clusters), n)
    if given is not None:
        yield (1 - SURE) / n_clusters + SURE * np.eye(n_clusters)[given]


def _propagated(known: Constraints, start: Floats) -> tuple[Floats, float]:
    """Alternate between beliefs and error rates; return also the log-likelihood of the answers."""
    matrices = ConfusionMatrices(
        prior_error=PRIOR_ERROR, prior_strength=STRENGTH, pooling_strength=STRENGTH
    )
    error = 2 * PRIOR_ERROR / (1 + PRIOR_ERROR)  # of three labels, one of which is don't-know
    confusion = ConfusionMatrices.uniform(error, known.annotators, constraints=known)
    tied = TiedRows(known, confusion)
    q = start
    cavities = first_cavities(q, tied)
    messages = np.zeros_like(cavities)
    update_all_messages(tied.ties, cavities, messages)
    for at in range(MAX_ROUNDS + 1):
        before = q.copy()
        sweeps = SWEEPS if at < MAX_ROUNDS else LAST_SWEEPS
        log_prior = np.zeros_like(q)
        propagate_beliefs(log_prior, tied.ties, DAMPING, sweeps, SWEEP_TOL, cavities, messages, q)
        if at == MAX_ROUNDS or np.abs(q - before).max() < TOL:
            break
        counts, _ = _expected(known, tied, confusion, cavities)
        confusion = matrices.fit_counts(known, counts)
        tied = TiedRows(known, confusion)
    return q, _expected(known, tied, confusion, cavities)[1]


def _expected(
    known: Constraints, tied: TiedRows, confusion: ConfusionMatrices, cavities: NDArray[np.floating]
) -> tuple[dict[Kind, Floats], float]:
    """Count answers by outcome; and sum their log-likelihoods given all other answers."""
    counts = {
        kind: np.zeros((len(known.annotators), len(OUTCOMES[kind]), len(CODES[kind])))
        for kind in KINDS
    }
    total = 0.0
    for table, ends in zip(tied.tables, tied.ends, strict=True):
        outcomes = outcomes_of_rows(table.kind, cavities, ends.T)
        joint = outcomes * answer_likelihoods(confusion, table, known)
        whole = np.maximum(joint.sum(axis=1), 1e-300)
        total += float(table.weights @ np.log(whole))
        counts[table.kind] = expected_counts(table, joint / whole[:, None], len(known.annotators))
    return counts, total
