"""Refinement: groups that agree with neighboring rows and with the answers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.cluster.guided._refinement.smoothers import Smoother
from clew.constraints import AnswerTable, Constraints
from clew.exceptions import InvalidDataError
from clew.kernels.belief_propagation import (
    AnswerFactors,
    propagate_beliefs,
    update_all_messages,
)
from clew.trust import ConfusionMatrices
from clew.trust._outcomes import (
    OTHERS,
    OUTCOMES,
    answer_likelihoods,
    informative_tables,
)

__all__ = ["TiedRows", "first_cavities", "refine", "ties"]

Floats = NDArray[np.float64]

START, FLOOR = 0.9, 0.03
MAX_ROUNDS, MAX_SWEEPS = 8, 3
DAMPING, SWEEP_TOL, TOL = 0.3, 0.01, 0.01
#: More messages than this are kept in single precision: 4 MiB in place of 8, and as much again
#: for the cavities that they follow from.
MANY_MESSAGES = 2**20


class TiedRows:
    """Answers of all kinds as ties between rows, with their likelihoods for groups of the rows.

    Parameters
    ----------
    known : Constraints
        The answers. Those of weight 0, and don't-knows about pairs, are ignored.
    confusion : ConfusionMatrices
        Error rates of the annotators.
    """

    def __init__(self, known: Constraints, confusion: ConfusionMatrices) -> None:
        self.tables = informative_tables(known, with_dont_know_pairs=False)
        factors = [
            answer_likelihoods(confusion, table, known) @ OUTCOMES[table.kind]
            for table in self.tables
        ]
        self.n_samples = known.n_samples
        self.ties, self.row_of_end, self.ends = ties(self.tables, factors, known.n_samples)


def refine(
    labels: NDArray[np.int64],
    n_clusters: int,
    tied: TiedRows,
    smoother: Smoother,
    strength: float,
) -> Floats:
    """Refine groups: alternate between a smoother and belief propagation over the answers.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,), int64
        Groups to start from, numbered from 0.
    n_clusters : int
        Number of groups.
    tied : TiedRows
        The answers.
    smoother : Smoother
        Predicts the memberships of each row from those of other rows.
    strength : float
        Exponent of the smoother's predictions: its weight against the answers.

    Returns
    -------
    ndarray of shape (n_samples, n_clusters)
        Probabilities of groups.

    Raises
    ------
    InvalidDataError
        If `labels` are not such groups.

    Notes
    -----
    Each round computes the prior probabilities of a row's groups, the smoother's prediction plus
    .03 to the power of `strength`, and updates them with the answers by loopy belief propagation.
    It ends when no probability changes by .01, or after eight rounds.
    """
    n = tied.n_samples
    group = np.asarray(labels)
    is_group = group.dtype.kind in "iu" and group.shape == (n,)
    if not (is_group and group.min() >= 0 and group.max() < n_clusters):
        raise InvalidDataError(
            f"labels must be {n} groups from 0 to {n_clusters - 1}, one for each row"
        )
    q = np.full((n, n_clusters), (1 - START) / n_clusters)
    q[np.arange(n), group] += START
    others = first_cavities(q, tied)
    messages = np.zeros_like(others)
    update_all_messages(tied.ties, others, messages)
    for _ in range(MAX_ROUNDS):
        before = q.copy()
        predicted = np.maximum(smoother.smooth(q), 0.0) + FLOOR
        propagate_beliefs(
            strength * np.log(predicted),
            tied.ties,
            DAMPING,
            MAX_SWEEPS,
            SWEEP_TOL,
            others,
            messages,
            q,
        )
        if np.abs(q - before).max() < TOL:
            break
    return q


def first_cavities(q: Floats, tied: TiedRows) -> NDArray[np.floating]:
    """Return the probabilities of each end's row, in single precision if they are many."""
    is_large = len(tied.row_of_end) * q.shape[1] > MANY_MESSAGES
    return q[tied.row_of_end].astype(np.float32 if is_large else np.float64)


def ties(
    tables: list[AnswerTable], factors: list[Floats], n_rows: int
) -> tuple[AnswerFactors, NDArray[np.int64], list[NDArray[np.int64]]]:
    """List the ends of all answers by row; return also the row of each, and those of each table."""
    parts, ends = [], []
    first_end = 0
    for of_kind, factor in zip(tables, factors, strict=True):
        m, size = of_kind.rows.shape
        end = first_end + np.arange(size * m).reshape(size, m)
        ends.append(end)
        first_end += size * m
        for position in range(size):
            one, other, by_one, by_other = OTHERS[position]
            is_pair = size == 2
            rest = 6 - by_one - by_other  # the one of columns 1, 2 and 3 that is not used
            parts.append(
                np.column_stack([
                    of_kind.rows[:, position],
                    end[one],
                    np.full(m, -1) if is_pair else end[other],
                    factor[:, 0],
                    factor[:, by_one],
                    factor[:, by_other],
                    factor[:, rest],
                    factor[:, 4],
                    of_kind.weights,
                ])
            )  # fmt: skip
    table = np.concatenate(parts)
    row = table[:, 0].astype(np.int64)
    order = np.argsort(row, kind="stable")
    place = np.empty(len(order) + 1, np.int64)
    place[order], place[-1] = np.arange(len(order)), -1
    first, second = place[table[order, 1:3].astype(np.int64)].T.copy()
    start = np.searchsorted(row[order], np.arange(n_rows + 1)).astype(np.int64)
    factors_by_row = AnswerFactors(start, first, second, *table[order, 3:].T.copy())
    return factors_by_row, row[order], [place[of_table] for of_table in ends]
