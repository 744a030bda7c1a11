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

from clew.answers import DIFFERENT, SAME
from clew.cluster.guided._answer_model import AnswerModel
from clew.cluster.guided._features import Rows
from clew.cluster.guided._other_questions import other_questions

Floats = NDArray[np.float64]
Labels = NDArray[np.int64]

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
        """Draw other pairs; None if the answers are of several kinds, or none."""
        chosen = np.arange(answers.n_annotators)[annotators]
        own = [(table, np.isin(table.annotators, chosen)) for table in answers.tables]
        own = [(table, is_own) for table, is_own in own if is_own.any()]
        kinds = {(t.kind, code) for t, is_own in own for code in set(t.answers[is_own].tolist())}
        if kinds not in ({("pair", SAME)}, {("pair", DIFFERENT)}):
            return None
        ((table, is_own),) = own
        others = other_questions(rows, table.rows[is_own]).T
        are_same = kinds == {("pair", SAME)}
        return cls(annotators, are_same, float(table.weights[is_own].sum()), others)

    def log_evidence(self, label: Labels, error: Floats) -> float:
        """Log-probability of the choice of pairs, in nats, given groups and error rates."""
        first, second = label[self.others]
        same, rate = float((first == second).mean()), float(error[self.annotators].mean())
        share = (1 - rate) * same + rate * (1 - same)
        log_share = np.log(share if self.are_same else 1 - share)
        return float(
            np.logaddexp(np.log1p(-PRIOR), np.log(PRIOR) - WEIGHT * self.total * log_share)
        )
