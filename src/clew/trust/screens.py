"""What people overlook on screens of members: strangers that were not ticked."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import beta

from clew.answers import Answer
from clew.exceptions import InvalidDataError

LEVEL = 0.95


class ScreenErrors(NamedTuple):
    """Errors of one person on confirm questions."""

    n_strangers: int
    """Members that are in another group than the examples."""
    n_missed: int
    """Strangers that were not ticked."""
    n_own: int
    """Members that are in the group of the examples."""
    n_ticked: int
    """Members of the group that were ticked."""

    @property
    def missed(self) -> tuple[float, float, float]:
        """Share of strangers that are missed: the estimate, and a 95 % credible interval."""
        return _share(self.n_missed, self.n_strangers)

    @property
    def ticked(self) -> tuple[float, float, float]:
        """Share of the group's members that are ticked: the estimate, and a 95 % interval."""
        return _share(self.n_ticked, self.n_own)


def _share(n: int, whole: int) -> tuple[float, float, float]:
    """Return the mean and the interval of a share with a uniform prior."""
    a, b = n + 1, whole - n + 1
    low, high = beta.interval(LEVEL, a, b)
    return a / (a + b), float(low), float(high)


def screen_errors(answers: Iterable[Answer], labels: ArrayLike) -> dict[str, ScreenErrors]:
    """Count what each person overlooked on screens of members.

    Parameters
    ----------
    answers : iterable of Answer
        Answers; only those to confirm questions are looked at.
    labels : array-like of shape (n_samples,)
        Groups: those of a result, which other answers support, or the true ones. -1: none.

    Returns
    -------
    dict of str to ScreenErrors
        For each person who answered confirm questions.

    Raises
    ------
    InvalidDataError
        If `labels` are not integers, or there are fewer than rows in the answers.

    Notes
    -----
    `Guided` plants a stranger, a row that is surely of another group, on every fourth screen, so
    that there is something to overlook. Groups that follow from the same answers agree with them
    better than the true ones do, so shares are too low if rows have few other answers.

    Examples
    --------
    >>> from clew.answers import Answer, Question
    >>> from clew.trust import screen_errors
    >>> question = Question("confirm", (0, 1, 2, 3), parts=(1, 3))
    >>> found = screen_errors([Answer(question, 0b010, "ann")], [0, 0, 1, 1])
    >>> found["ann"].n_strangers, found["ann"].n_missed
    (2, 1)
    """
    groups = np.asarray(labels)
    if groups.ndim != 1 or groups.dtype.kind not in "iu":
        raise InvalidDataError(f"labels must be integers, (n_samples,), got {groups.shape}")
    found: dict[str, ScreenErrors] = {}
    for answer in answers:
        question = answer.question
        if question.kind != "confirm" or not answer.is_evidence:
            continue
        if max(question.rows) >= len(groups):
            raise InvalidDataError(f"labels are of {len(groups)} rows, got {question}")
        counts = np.array(found.get(answer.annotator, (0, 0, 0, 0)))
        own = groups[question.rows[0]]
        for at, row in enumerate(question.rows[question.parts[0] :]):
            if groups[row] < 0 or own < 0:
                continue
            is_ticked = bool(answer.value >> at & 1)
            if groups[row] != own:
                counts += (1, not is_ticked, 0, 0)
            else:
                counts += (0, 0, 1, is_ticked)
        found[answer.annotator] = ScreenErrors(*counts.tolist())
    return found
