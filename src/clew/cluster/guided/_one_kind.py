"""Answers of one kind: if somebody's are all "same", or "different", their choice is evidence.

One group of all rows explains answers "same" best, and many groups explain answers "different".
But whoever records one kind only, such as a rule that finds matches, has chosen the pairs by their
answers. So each answer's probability is divided by that of the same answer to random pairs as near
to each other. Where only near rows are linked, those have the same answer, and nothing is added.
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
#: Smallest number of answers of one annotator, and share of all, unless all are of one kind.
LEAST, LEAST_SHARE = 20, 0.05
#: Prior probability that only answers of one kind were recorded.
PRIOR = 0.02
#: Weight of this evidence. With 1, groups follow the pairs and fall apart around them.
WEIGHT = 0.8


@dataclass(frozen=True, eq=False)
class OneKind:
    """Answers of everybody, or of one annotator, that are all "same", or all "different"."""

    annotators: slice
    """Codes of those who gave them."""
    are_same: bool
    total: float
    """Sum of the answers' weights."""
    others: Labels
    """Random pairs, as near to each other as those with answers, (2, n_pairs)."""

    @property
    def are_everybodys(self) -> bool:
        """Whether nobody gave another answer."""
        return self.annotators == slice(None)

    @classmethod
    def of_each(cls, rows: Rows, answers: AnswerModel) -> list[Self]:
        """Draw other pairs for everybody, or for each annotator whose answers are of one kind."""
        of_all = cls._of(rows, answers, slice(None))
        if of_all is not None:
            return [of_all]
        n_answers = np.bincount(answers.annotators, minlength=answers.n_annotators)
        codes = np.flatnonzero(n_answers >= max(LEAST, LEAST_SHARE * len(answers))).tolist()
        found = [cls._of(rows, answers, slice(code, code + 1)) for code in codes]
        return [one for one in found if one is not None]

    @classmethod
    def _of(cls, rows: Rows, answers: AnswerModel, annotators: slice) -> Self | None:
        """Draw other pairs; None if the answers are of several kinds, or none.

        Time O(n d), memory O(n), for 300 rows.
        """
        chosen = np.arange(answers.n_annotators)[annotators]
        own = [(table, np.isin(table.annotators, chosen)) for table in answers.tables]
        own = [(table, is_own) for table, is_own in own if is_own.any()]
        kinds = {(t.kind, code) for t, is_own in own for code in set(t.answers[is_own].tolist())}
        if kinds not in ({("pair", SAME)}, {("pair", DIFFERENT)}):
            return None
        ((table, is_own),) = own
        rng, n = np.random.RandomState(0), answers.n_samples
        first = rng.randint(n, size=min(N_ROWS, n)).repeat(N_PAIRS)
        if rows.has_features:
            pairs = table.rows[is_own]
            rank = _ranks(rows, pairs[:: -(-len(pairs) // N_ANSWERS)])
            order = _distances(rows, first[::N_PAIRS]).argsort(axis=1, kind="stable")
            second = order[np.arange(len(first)) // N_PAIRS, rng.choice(rank, len(first))]
        else:
            second = (first + rng.randint(1, n, len(first))) % n
        are_same = kinds == {("pair", SAME)}
        return cls(
            annotators, are_same, float(table.weights[is_own].sum()), np.stack([first, second])
        )

    def log_evidence(self, label: Labels, error: Floats) -> float:
        """Log-probability of the choice of pairs, in nats, given groups and error rates."""
        first, second = label[self.others]
        same, rate = float((first == second).mean()), float(error[self.annotators].mean())
        share = (1 - rate) * same + rate * (1 - same)
        log_share = np.log(share if self.are_same else 1 - share)
        return float(
            np.logaddexp(np.log1p(-PRIOR), np.log(PRIOR) - WEIGHT * self.total * log_share)
        )


def _ranks(rows: Rows, pairs: Labels) -> Labels:
    """Rank of each second row among those near the first one, which has rank 0, (n_pairs,)."""
    distance = _distances(rows, pairs[:, 0])
    own = np.take_along_axis(distance, pairs[:, 1:], axis=1)
    return np.asarray((distance < own).sum(axis=1))


def _distances(rows: Rows, chosen: Labels) -> Floats:
    """Distances of chosen rows to all, -1 to themselves, (n_chosen, n_samples)."""
    if isinstance(rows, Prepared) and rows.distances is not None:
        distances = rows.distances[chosen].astype(np.float64)
    else:
        distances = cdist(rows.X[chosen], rows.X)
    distances[np.arange(len(chosen)), chosen] = -1.0  # also where rows repeat
    return np.asarray(distances)
