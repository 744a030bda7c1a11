"""How often each person errs, and agrees with their own earlier answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.stats import beta

from clew.answers import Answer
from clew.cluster.guided import GuidedResult
from clew.session._log import meaning_of
from clew.session._quality import LEVEL, Estimate


class AnnotatorQuality(NamedTuple):
    """How a person answers."""

    name: str
    """The person."""
    n: int
    """Number of answers that were not taken back."""
    error: Estimate | None
    """Share of wrong answers; None if it is not estimated."""
    agreement_with_self: Estimate | None
    """Share of repeated questions that the person answers as before; None without repeats."""
    n_repeats: int
    """Number of repeated questions with two informative answers."""


def annotator_qualities(
    answers: Iterable[Answer],
    repeats: Sequence[tuple[Answer, Answer]],
    settled: GuidedResult | None,
) -> tuple[AnnotatorQuality, ...]:
    """Describe each person, those with the most answers first."""
    n = Counter(answer.annotator for answer in answers)
    error: dict[str, Estimate] = {}
    if settled is not None:
        confusion = settled.confusion
        for name, rate, (low, high) in zip(
            confusion.annotators_, confusion.error_rates_, confusion.error_intervals_, strict=True
        ):
            if np.isfinite(rate):
                error[name] = Estimate(float(rate), float(low), float(high))
    found = []
    for name, count in n.most_common():
        own = [meaning_of(a) == meaning_of(b) for a, b in repeats if a.annotator == name]
        agreement = _share(sum(own), len(own)) if own else None
        found.append(AnnotatorQuality(name, count, error.get(name), agreement, len(own)))
    return tuple(found)


def _share(k: int, n: int) -> Estimate:
    """Return k / n with the interval of Jeffreys' prior."""
    posterior = beta(k + 0.5, n - k + 0.5)
    low, high = (float(posterior.ppf((1 + side * LEVEL) / 2)) for side in (-1, 1))
    return Estimate(k / n, low if k else 0.0, high if k < n else 1.0)
