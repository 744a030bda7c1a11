"""How many questions are left, and whether to stop."""

from __future__ import annotations

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
#: Linear regression of log(questions left + `OFFSET`) on four numbers; see `remaining_of`. The
#: report of `benchmarks.studies session` fits it.
INTERCEPT, OF_CORES, OF_ITEMS, OF_ANSWERS, OF_WRONG = -4.956, 0.532, 1.496, 0.057, 5.098
OFFSET = 5
#: Log factors from the estimate to the low and the high end of the range.
RANGE = (-0.325, 1.020)


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
    share_wrong: float
    """Mean probability that an answer is wrong."""


def progress_of(strategy: Strategy) -> Progress | None:
    """Read the progress of a strategy; None without an answer, and for all but `Guided`."""
    if not isinstance(strategy, Guided) or not (n_answers := len(strategy.answers)):
        return None
    doubts = strategy.answer_doubts()
    return Progress(strategy.n_samples_, n_answers, strategy.n_cores(), float(doubts.mean()))


def remaining_of(progress: Progress | None, quality: Quality | None) -> Remaining | None:
    """Estimate how many questions are left.

    Parameters
    ----------
    progress : Progress or None
        What `progress_of` returns.
    quality : Quality or None
        Estimate from random checks.

    Returns
    -------
    Remaining or None
        None before 20 answers, and for other strategies than `Guided`.

    Notes
    -----
    A linear regression of log(questions left + 5) on the share of answers that seem wrong and the
    logarithms of the numbers of cores, of items and of answers. ``benchmarks.studies session`` fits
    it and measures its errors. Most of the error is due to wrong answers: their share is hardly
    known early, and 10 % of them nearly double the number of questions.
    """
    if progress is None or progress.n_answers < LEAST_ANSWERS:
        return None
    log_left = (
        INTERCEPT
        + OF_CORES * np.log1p(progress.n_cores)
        + OF_ITEMS * np.log(progress.n_items)
        + OF_ANSWERS * np.log(progress.n_answers)
        + OF_WRONG * progress.share_wrong
    )
    low, middle, high = (
        max(round(float(np.exp(log_left + by)) - OFFSET), 0) for by in (RANGE[0], 0, RANGE[1])
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
