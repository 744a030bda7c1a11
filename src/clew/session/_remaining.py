"""How many questions are left, and whether to stop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clew.questions import Guided, Strategy
from clew.session._quality import Quality

__all__ = ["Advice", "Progress", "Remaining", "advice_of", "progress_of", "remaining_of"]

#: Number of answers that an estimate needs.
LEAST_ANSWERS = 20
#: Groups with at least this Jaccard index count as agreeing with people.
GOAL = 0.95
#: Stopping is advised if the estimated Jaccard index and the low end of its interval are not below
#: these.
ENOUGH, ENOUGH_LOW = 0.97, 0.90
#: Linear regression of log(questions left + `OFFSET`): the intercept, and the slopes of the
#: logarithms of cores + 1, of items and of the error rate. `benchmarks.studies session` fits it.
COEFFICIENTS = (-1.496, 0.622, 1.152, 0.541)
#: The error rate is clipped to this range.
ERRORS = (0.01, 0.4)
OFFSET = 5
#: Log factors from the estimate to the low and the high end of the range.
RANGE = (-0.330, 0.807)


class Remaining(NamedTuple):
    """Number of questions until the groups agree with people: until a Jaccard index of 0.95."""

    median: int
    """The estimate."""
    low: int
    """Low end of its range."""
    high: int
    """High end of its range."""

    def __str__(self) -> str:
        noun = "question" if self.median == 1 else "questions"
        return f"about {self.median} more {noun} ({self.low}-{self.high})"


class Advice(NamedTuple):
    """Whether to stop asking."""

    is_enough: bool
    """Whether to stop."""
    reason: str
    """The estimates behind the advice, in words."""

    def __str__(self) -> str:
        return f"{'stop' if self.is_enough else 'go on'}: {self.reason}"


class Progress(NamedTuple):
    """The numbers from which the number of remaining questions is estimated."""

    n_items: int
    n_answers: int
    n_cores: int
    """Number of cores: sets of items that are surely in one group."""
    error: float
    """Estimated share of wrong answers."""

    def features(self) -> tuple[float, float, float]:
        """Return the numbers of the regression."""
        error = min(max(self.error, ERRORS[0]), ERRORS[1])
        return float(np.log1p(self.n_cores)), float(np.log(self.n_items)), float(np.log(error))


def progress_of(strategy: Strategy) -> Progress | None:
    """Read the progress of a strategy; None without an answer, and for all but `Guided`."""
    if not isinstance(strategy, Guided) or not (n_answers := len(strategy.answers)):
        return None
    return Progress(
        strategy.n_samples_, n_answers, strategy.n_cores(), float(strategy.error_rate())
    )


def remaining_of(
    progress: Progress | None,
    quality: Quality | None,
    coefficients: Sequence[float] = COEFFICIENTS,
    span: tuple[float, float] = RANGE,
) -> Remaining | None:
    """Estimate how many questions are left.

    Parameters
    ----------
    progress : Progress or None
        What `progress_of` returns.
    quality : Quality or None
        Estimate from random checks.
    coefficients : sequence of float, default=COEFFICIENTS
        The intercept and the slopes of the regression.
    span : tuple of float, default=RANGE
        Log factors from the estimate to the ends of the range.

    Returns
    -------
    Remaining or None
        None before 20 answers, and for other strategies than `Guided`.

    Notes
    -----
    A linear regression of log(questions left + 5) on the logarithms of the number of cores, of the
    number of items and of the estimated error rate. ``benchmarks.studies session`` fits it and
    measures its errors. Most of the error is due to wrong answers: their share is hardly known
    early, and 10 % of them nearly double the number of questions.
    """
    if progress is None or progress.n_answers < LEAST_ANSWERS:
        return None
    log_left = np.dot(coefficients, (1.0, *progress.features()))
    low, middle, high = (
        max(round(float(np.exp(log_left + by)) - OFFSET), 0) for by in (span[0], 0, span[1])
    )
    if quality is not None and quality.jaccard.high >= GOAL:
        low = 0
        middle = 0 if quality.jaccard.value >= GOAL else middle
    return Remaining(middle, low, high)


def advice_of(
    quality: Quality | None, remaining: Remaining | None, *, has_questions: bool
) -> Advice:
    """Advise whether to stop.

    Parameters
    ----------
    quality : Quality or None
        Estimate from random checks.
    remaining : Remaining or None
        Estimated number of questions that are left.
    has_questions : bool
        Whether the strategy has another question.

    Returns
    -------
    Advice
        To stop if the estimated Jaccard index is 0.97 or more and its 95 % interval begins at 0.90
        or above, or if there are no more questions.
    """
    if not has_questions:
        return Advice(True, "there are no more questions")
    left = "" if remaining is None else f"; {remaining}"
    if quality is None:
        return Advice(False, f"too early to say: fewer than four random checks are answered{left}")
    found = f"the estimated Jaccard index of groups and people is {quality.jaccard}"
    if quality.jaccard.value >= ENOUGH and quality.jaccard.low >= ENOUGH_LOW:
        return Advice(True, found)
    return Advice(False, f"{found}{left}")
