"""Refinement of all rows by all answers: anchors, rows and answers in turn."""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew._parallel import stop_if_abandoned
from clew.cluster.guided._anchors.anchors import Links
from clew.cluster.guided._anchors.answers import AnsweredRows
from clew.cluster.guided._anchors.rows import (
    Memberships,
    all_anchor_memberships,
    all_row_memberships,
    row_memberships,
)
from clew.cluster.guided._refinement.refinement import DAMPING, SWEEP_TOL
from clew.kernels.sparse_belief_propagation import propagate_sparse_beliefs

__all__ = ["Beliefs", "RefinedRows", "propagated", "refine_rows"]

#: Number of rounds that update rows and anchors, and of sweeps of belief propagation in a round.
N_ROUNDS: Final = 4
MAX_SWEEPS: Final = 6


class Beliefs(NamedTuple):
    """Memberships of the answered rows."""

    memberships: Memberships
    cavities: NDArray[np.float32]
    """Probabilities of the candidates without the answer of each end, (n_ends, n_candidates)."""


class RefinedRows(NamedTuple):
    """Memberships of all rows and anchors, after the refinement."""

    rows: Memberships
    anchors: Memberships
    beliefs: Beliefs


def refine_rows(
    links: Links,
    start: Memberships,
    answered: AnsweredRows,
    n_jobs: int | None = None,
    n_rounds: int = N_ROUNDS,
) -> RefinedRows:
    """Refine the memberships of all rows.

    Parameters
    ----------
    links : Links
        Anchors of all rows.
    start : Memberships
        Memberships of the anchors.
    answered : AnsweredRows
        The answers to follow.
    n_jobs : int or None, default=None
        Number of threads.
    n_rounds : int, default=4
        Rounds of rows and anchors.

    Returns
    -------
    RefinedRows

    Notes
    -----
    Each round predicts rows from anchors, updates the rows that answers name by loopy
    belief propagation, and averages rows for each anchor. Time O(N + A) and memory O(N + A + R·K)
    for N rows, A answers, R anchors and K groups.
    """
    anchors = start
    suggested = np.full(len(answered.rows), -1, np.int32)
    near = links.at(answered.rows)
    for _ in range(n_rounds):
        stop_if_abandoned()
        beliefs = propagated(row_memberships(near, anchors, suggested), answered)
        suggested = answered.suggested(beliefs.memberships)
        rows = all_row_memberships(links, anchors, n_jobs)
        rows = rows.with_rows(answered.rows, beliefs.memberships)
        anchors = all_anchor_memberships(links, rows, anchors, n_jobs)
    return RefinedRows(rows, anchors, beliefs)


def propagated(prior: Memberships, answered: AnsweredRows) -> Beliefs:
    """Update the memberships of answered rows with their answers.

    Parameters
    ----------
    prior : Memberships
        Memberships of the answered rows, without their answers.
    answered : AnsweredRows
        The answers.

    Returns
    -------
    Beliefs
    """
    tied = answered.tied
    cavities = prior.shares[tied.row_of_end]
    q = np.empty_like(prior.shares)
    propagate_sparse_beliefs(
        np.log(np.maximum(prior.shares, np.finfo(np.float32).tiny)),
        prior.groups,
        tied.ties,
        tied.row_of_end,
        DAMPING,
        MAX_SWEEPS,
        SWEEP_TOL,
        cavities,
        np.zeros_like(cavities),
        q,
    )
    return Beliefs(prior._replace(shares=q), cavities)
