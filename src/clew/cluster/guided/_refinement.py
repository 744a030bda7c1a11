"""Refinement: groups that agree with the rows around each row, and with what people said."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from clew.cluster.guided._smoothers import Smoother
from clew.constraints import AnswerTable, Constraints
from clew.exceptions import InvalidDataError
from clew.kernels.belief_propagation import (
    AnswerFactors,
    propagate_beliefs,
    update_all_messages,
)
from clew.trust import ConfusionMatrices
from clew.trust.groups._outcomes import (
    OTHERS,
    OUTCOMES,
    answer_likelihoods,
    informative_tables,
)

__all__ = ["TiedRows", "refine"]

Floats = NDArray[np.float64]

START, FLOOR = 0.9, 0.03
MAX_ROUNDS, MAX_SWEEPS = 8, 3
DAMPING, SWEEP_TOL, TOL = 0.3, 0.01, 0.01


class TiedRows:
    """Answers of all kinds as ties between rows, and how likely each is by what its rows are.

    Parameters
    ----------
    known : Constraints
        What people said. Answers of weight 0, and don't-knows about pairs, tie nothing.
    confusion : ConfusionMatrices
        Who errs how.
    """

    def __init__(self, known: Constraints, confusion: ConfusionMatrices) -> None:
        self.said = informative_tables(known, with_dont_know_pairs=False)
        factors = [
            answer_likelihoods(confusion, said, known) @ OUTCOMES[said.kind] for said in self.said
        ]
        self.n_samples = known.n_samples
        self.ties, self.row_of_end = _ties(self.said, factors, known.n_samples)


def refine(
    labels: NDArray[np.int64],
    n_clusters: int,
    tied: TiedRows,
    smoother: Smoother,
    strength: float,
) -> Floats:
    """Move rows to where the rows around them and what people said would have them.

    Parameters
    ----------
    labels : ndarray of shape (n_samples,), int64
        Groups to start from, numbered from 0.
    n_clusters : int
        Number of groups.
    tied : TiedRows
        What people said.
    smoother : Smoother
        What rows say of each other.
    strength : float
        How much that counts, beside answers.

    Returns
    -------
    ndarray of shape (n_samples, n_clusters)
        Chances of groups.

    Raises
    ------
    InvalidDataError
        If `labels` are not that.

    Notes
    -----
    In turn: each row's chance of each group is what the smoother predicts, plus .03, to the power
    of `strength`; and loopy belief propagation joins that with the answers. Until no chance
    changes by .01, eight times at most.
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
    others = q[tied.row_of_end]
    told = np.zeros_like(others)
    update_all_messages(tied.ties, others, told)
    for _ in range(MAX_ROUNDS):
        before = q.copy()
        predicted = np.maximum(smoother.smooth(q), 0.0) + FLOOR
        propagate_beliefs(
            strength * np.log(predicted), tied.ties, DAMPING, MAX_SWEEPS, SWEEP_TOL, others, told, q
        )
        if np.abs(q - before).max() < TOL:
            break
    return q


def _ties(
    said: list[AnswerTable], factors: list[Floats], n_rows: int
) -> tuple[AnswerFactors, NDArray[np.int64]]:
    """List the ends of all answers by row."""
    parts = []
    first_end = 0
    for of_kind, factor in zip(said, factors, strict=True):
        m, size = of_kind.rows.shape
        end = first_end + np.arange(size * m).reshape(size, m)
        first_end += size * m
        for position in range(size):
            one, other, by_one, by_other = OTHERS[position]
            is_pair = size == 2
            rest = 6 - by_one - by_other  # of columns 1, 2 and 3 the one that is left
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
    return AnswerFactors(start, first, second, *table[order, 3:].T.copy()), row[order]
