"""Agreement of the groups with people, estimated from random checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.answers import SAME, Answer
from clew.questions import Guided, Strategy
from clew.session._checks import Check
from clew.session._evidence import Evidence

__all__ = ["Estimate", "Quality", "quality_of"]

LEAST_CHECKS = 4
LEVEL = 0.95


class Estimate(NamedTuple):
    """An estimate with its 95 % interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


class Quality(NamedTuple):
    """Agreement of the pairs within groups with the pairs that people call the same."""

    jaccard: Estimate
    """Jaccard index of the pairs within groups and the pairs that people call the same."""
    precision: Estimate
    """Share of pairs within groups that are the same."""
    recall: Estimate
    """Share of the pairs that people call the same that are within groups."""
    n_checks: int
    """Number of answered checks."""

    def __str__(self) -> str:
        return (
            f"Jaccard index {self.jaccard}, precision {self.precision}, recall {self.recall}, "
            f"from {self.n_checks} checks"
        )


#: Multiples of the expected number of wrong pairs that are considered.
FACTORS = np.exp(np.linspace(np.log(0.02), np.log(50.0), 61))
SD = 1.5
N_DRAWS = 1000
FLOORS = (0.003, 0.0005)


def quality_of(
    checks: Sequence[tuple[Check, Answer]],
    evidence: Evidence,
    labels: NDArray[np.int64],
    strategy: Strategy,
) -> Quality | None:
    """Estimate the agreement of groups with people."""
    if len(checks) < LEAST_CHECKS:
        return None
    rate = strategy.error_rate() if isinstance(strategy, Guided) else 0.05
    error = float(np.clip(rate, 0.005, 0.4))
    i, j = np.triu_indices(len(labels), 1)
    within = labels[i] == labels[j]
    n_within = int(within.sum())
    false = float((1 - evidence.labels[i, j][within]).sum()) + FLOORS[0] * n_within
    missed = float(evidence.questions[i, j][~within].sum()) + FLOORS[1] * (len(i) - n_within)
    random = np.random.RandomState(len(checks))
    n_false = np.minimum(_drawn(checks, error, random, is_within=True) * false, n_within)
    n_missed = _drawn(checks, error, random, is_within=False) * missed
    n_right = n_within - n_false
    return Quality(
        _estimate(n_right / np.maximum(n_within + n_missed, 1e-9)),
        _estimate(n_right / max(n_within, 1)),
        _estimate(n_right / np.maximum(n_right + n_missed, 1e-9)),
        len(checks),
    )


def _drawn(
    checks: Sequence[tuple[Check, Answer]],
    error: float,
    random: np.random.RandomState,
    *,
    is_within: bool,
) -> NDArray[np.float64]:
    log_p = -0.5 * (np.log(FACTORS) / SD) ** 2
    for check, answer in checks:
        if check.is_within != is_within:
            continue
        p = 1 - check.p_same + FLOORS[0] if is_within else check.p_same + FLOORS[1]
        wrong = error + (1 - 2 * error) * np.minimum(1, FACTORS * p)
        is_against = (answer.value == SAME) != is_within
        log_p = log_p + np.log(wrong if is_against else 1 - wrong)
    p = np.exp(log_p - log_p.max())
    return random.choice(FACTORS, N_DRAWS, p=p / p.sum())


def _estimate(values: NDArray[np.float64]) -> Estimate:
    low, middle, high = np.quantile(values, [(1 - LEVEL) / 2, 0.5, (1 + LEVEL) / 2])
    return Estimate(float(middle), float(low), float(high))
