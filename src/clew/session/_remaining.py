"""How many questions are left, and whether to stop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.questions import Guided, Strategy
from clew.session._evidence import Evidence
from clew.session._quality import Quality

__all__ = ["Advice", "Remaining", "advice_of", "remaining_of"]

LEAST_ANSWERS = 20


class Remaining(NamedTuple):
    """Number of questions until the groups agree with people (a Jaccard index of 0.95)."""

    median: int
    low: int
    """Lower bound: the number is larger with probability 0.9."""
    high: int
    """Upper bound: the number is smaller with probability 0.9."""

    def __str__(self) -> str:
        return f"about {self.median} more ({self.low}-{self.high})"


class Advice(NamedTuple):
    """Whether to stop asking."""

    is_enough: bool
    reason: str

    def __str__(self) -> str:
        return f"{'stop' if self.is_enough else 'go on'}: {self.reason}"


def remaining_of(
    evidence: Evidence, labels: NDArray[np.int64], strategy: Strategy
) -> Remaining | None:
    """Estimate how many questions are left."""
    n_answers = len(strategy.answers)
    if n_answers < LEAST_ANSWERS or not isinstance(strategy, Guided):
        return None
    error = float(np.clip(strategy.error_rate(), 0.003, 0.4))
    capacity = 1 + error * np.log2(error) + (1 - error) * np.log2(1 - error)
    left = max(5.3 * strategy.n_cores() / capacity - n_answers, 0)
    return Remaining(round(left), round(left / 2), round(left * 2))


def advice_of(
    quality: Quality | None, remaining: Remaining | None, n_answers: int, *, has_questions: bool
) -> Advice:
    """Advise whether to stop."""
    if not has_questions:
        return Advice(True, "there are no more questions")
    if quality is None:
        return Advice(False, "too early to say: fewer than four random checks were answered")
    if quality.jaccard.low >= 0.9:
        return Advice(True, f"the groups agree with people: Jaccard index {quality.jaccard}")
    left = "" if remaining is None else f"; {remaining}"
    return Advice(False, f"the groups may still be wrong: Jaccard index {quality.jaccard}{left}")
