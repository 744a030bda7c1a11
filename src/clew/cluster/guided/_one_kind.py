"""Answers of one kind: if only "same" or only "different" is recorded, which pairs were tells more.

All rows in one group explain answers "same" best, and many groups answers "different". But whoever
records only one of both chose the pairs by it, so that a pair has the probability of its answer,
divided by that of random pairs as near to each other. Link only near rows, and nothing is added.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from clew.answers import DIFFERENT, SAME
from clew.cluster.guided._features import Prepared, Rows
from clew.cluster.guided._partitions import AnswerModel

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

#: Answers whose distances are read, rows that other pairs are drawn from, and pairs for each.
N_ANSWERS, N_ROWS, N_PAIRS = 200, 100, 20
#: Prior probability that only answers of one kind were recorded.
PRIOR = 0.02
#: Share of this evidence that counts: groups follow the pairs, too, and fall apart around them.
COUNTED = 0.8


@dataclass(frozen=True, eq=False)
class OneKind:
    """Answers that are all "same", or all "different"."""

    are_same: bool
    total: float
    """Sum of the answers' weights."""
    others: Labels
    """Random pairs, as near to each other as those with answers, (2, n_pairs)."""

    @classmethod
    def of(cls, rows: Rows, answers: AnswerModel) -> Self | None:
        """Draw other pairs; None if there are other answers."""
        kinds = {
            (of.kind, code) for of in answers.tables for code in np.unique(of.answers).tolist()
        }
        if kinds not in ({("pair", SAME)}, {("pair", DIFFERENT)}):
            return None
        rng = np.random.RandomState(0)
        pairs = next(of.rows for of in answers.tables if len(of))
        chosen = pairs[:: -(-len(pairs) // N_ANSWERS)]
        if rows.has_features:
            distance = _distances(rows, chosen[:, 0])
            own = np.take_along_axis(distance, chosen[:, 1:], axis=1)
            rank = (distance < own).sum(axis=1)
        else:
            rank = rng.randint(1, answers.n_samples, len(chosen))
        first = rng.randint(answers.n_samples, size=min(N_ROWS, answers.n_samples))
        order = _distances(rows, first).argsort(axis=1, kind="stable")
        drawn = rng.choice(np.maximum(rank, 1), (len(first), N_PAIRS))
        second = np.take_along_axis(order, drawn, axis=1)
        others = np.stack([np.repeat(first, N_PAIRS), second.ravel()])
        return cls(kinds == {("pair", SAME)}, float(answers.weights.sum()), others)

    def log_evidence(self, label: Labels, error: Floats) -> float:
        """Log-probability of the choice of pairs, in nats, given groups and error rates."""
        first, second = label[self.others]
        same, rate = float((first == second).mean()), float(error.mean())
        share = (1 - rate) * same + rate * (1 - same)
        log_share = np.log(share if self.are_same else 1 - share)
        return float(
            np.logaddexp(np.log1p(-PRIOR), np.log(PRIOR) - COUNTED * self.total * log_share)
        )


def _distances(rows: Rows, chosen: Labels) -> Floats:
    """Distances of chosen rows to all, (n_chosen, n_samples)."""
    if isinstance(rows, Prepared) and rows.distances is not None:
        return np.asarray(rows.distances[chosen], np.float64)
    return np.asarray(cdist(rows.X[chosen], rows.X))
