"""How many questions are left, and whether to stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clew._limits import LEAST_ANSWERS, LEAST_CHECKS
from clew.cluster.guided import Regime
from clew.session._quality import Quality

#: Groups with at least this Jaccard index count as agreeing with people.
GOAL = 0.95
#: Stopping is advised if the estimated Jaccard index and the low end of its interval are not below
#: these.
ENOUGH, ENOUGH_LOW = GOAL, 0.75
#: The advice to stop stands until the estimated Jaccard index falls below this.
STILL_ENOUGH = 0.9
#: Logarithm of the questions left for each item plus `OFFSET`: the intercept, and the slopes of the
#: logarithms of the unresolved share plus `LEAST_SHARE` and of the answers for each item; fitted to
#: 46 simulated sessions on all sets of `benchmarks.studies session`.
COEFFICIENTS = (1.25, 1.26, 0.27)
OFFSET, LEAST_SHARE = 1 / 30, 0.005
#: At least this share of the estimated wrong pairs is unresolved: small pure groups look certain.
WRONG_WEIGHT = 0.8
#: Log factors from the estimate to the low and the high end of the range.
RANGE = (-1.4, 1.1)


class Remaining(NamedTuple):
    """Number of questions until the groups agree with people: until a Jaccard index of 0.95."""

    median: int
    """The estimate."""
    low: int
    """Low end of its range."""
    high: int
    """High end of its range."""
    minutes: tuple[float, float, float] | None = None
    """Minutes of one person for so many questions: median, low and high; None before any answer."""

    def __str__(self) -> str:
        noun = "question" if self.median == 1 else "questions"
        text = f"about {self.median:,} more {noun} ({self.low:,} to {self.high:,})"
        if not self.median:
            text = f"few more questions (up to {self.high:,})"
        if self.minutes is None:
            return text
        minutes = f"{self.minutes[0]:.0f} minutes" if self.minutes[0] >= 1.5 else "a minute"
        return f"{text}, {minutes}"

    def in_minutes(self, seconds: float) -> Remaining:
        """Add the minutes, from the seconds that a question takes.

        Parameters
        ----------
        seconds : float
            Mean seconds of an answer.

        Returns
        -------
        Remaining
        """
        low, middle, high = (round(n * seconds / 60, 1) for n in (self.low, self.median, self.high))
        return self._replace(minutes=(middle, low, high))


class Advice(NamedTuple):
    """Whether to stop asking; true in conditions if the advice is to stop."""

    is_enough: bool
    """Whether to stop."""
    reason: str
    """The estimates behind the advice, in words."""

    def __bool__(self) -> bool:
        return self.is_enough

    def __str__(self) -> str:
        return f"{'stop' if self.is_enough else 'go on'}: {self.reason}"


def remaining_of(
    n_items: int,
    n_answers: int,
    unresolved: float,
    jaccard: float,
    coefficients: Sequence[float] = COEFFICIENTS,
    span: Sequence[float] = RANGE,
    least: Sequence[int] = (0, 0, 0),
) -> Remaining | None:
    """Estimate the questions left from how sure the groups of the items are.

    Parameters
    ----------
    n_items, n_answers : int
        Numbers of items in groups, and of informative answers: no don't-knows, positive weights.
    unresolved : float
        1 minus the mean confidence of the items.
    jaccard : float
        Estimated Jaccard index of groups and people.
    coefficients, span : sequence of float
        Of the regression, and log factors to the ends of the range.
    least : sequence of int
        Least low end, median and high end: the questions until there are enough random checks.

    Returns
    -------
    Remaining or None
        None before 20 answers.
    """
    if n_answers < LEAST_ANSWERS:
        return None
    features = features_of(n_items, n_answers, unresolved, jaccard)
    log_share = float(np.dot(coefficients, (1.0, *features)))
    low, middle, high = (
        max(round(n_items * (float(np.exp(log_share + by)) - OFFSET)), floor)
        for by, floor in zip((span[0], 0.0, span[1]), least, strict=True)
    )
    return Remaining(middle, low, high)


def features_of(
    n_items: int, n_answers: int, unresolved: float, jaccard: float
) -> tuple[float, float]:
    """Return the logarithms of the unresolved share and of the answers for each item."""
    share = max(unresolved, WRONG_WEIGHT * (1 - jaccard))
    return float(np.log(share + LEAST_SHARE)), float(np.log(n_answers / n_items))


def advice_of(
    quality: Quality | None,
    remaining: Remaining | None,
    *,
    has_questions: bool,
    n_checks: int = 0,
    was_enough: bool = False,
    regime: Regime | None = None,
) -> Advice:
    """Advise to stop at the goal, unless answers look random, or if there are no more questions."""
    if not has_questions:
        return Advice(True, "there are no more questions")
    left = "" if remaining is None else f"; {remaining}"
    if quality is None:
        few = f"{n_checks} of {LEAST_CHECKS} random checks are answered so far"
        return Advice(False, f"too early to say: {few}{left}")
    if regime == "features":
        return Advice(False, f"{regime.reason}: these are groups by features alone{left}")
    found = f"the estimated Jaccard index of groups and people is {quality.jaccard}"
    value, low, _ = quality.jaccard
    if (value >= ENOUGH and low >= ENOUGH_LOW) or (was_enough and value >= STILL_ENOUGH):
        return Advice(True, found)
    return Advice(False, f"{found}{left}")
