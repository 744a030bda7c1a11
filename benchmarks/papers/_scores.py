"""Means over trials, with their standard errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy.stats import t as student

from benchmarks._harness import mean_and_error

__all__ = ["Score", "difference", "verdict"]

#: Differences, in mean ARI, that are called level.
LEVEL = 0.005


@dataclass(frozen=True)
class Score:
    """A mean over trials and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: Mapping[int, float]) -> Score:
        """Average over trials."""
        return cls(*mean_and_error(values.values()))

    @classmethod
    def with_interval(cls, values: Mapping[int, float], confidence: float = 0.95) -> Score:
        """Average over trials, with half the width of the mean's confidence interval as error."""
        mean, error = mean_and_error(values.values())
        wide = student.ppf((1 + confidence) / 2, len(values) - 1) if len(values) > 1 else 1.0
        return cls(mean, float(wide) * error)

    def __str__(self) -> str:
        if np.isnan(self.mean):
            return "–"
        return f"{self.mean:.3f}" + ("" if np.isnan(self.error) else f" ± {self.error:.3f}")


def difference(ours: Mapping[int, float], theirs: Mapping[int, float]) -> Score:
    """Average the difference over the trials that both have."""
    return Score.of({t: ours[t] - theirs[t] for t in ours.keys() & theirs.keys()})


def verdict(gap: Score) -> str:
    """Say in a word whether a difference is above nothing."""
    if np.isnan(gap.mean):
        return "not complete"
    noise = max(2 * float(np.nan_to_num(gap.error)), LEVEL)
    if abs(gap.mean) <= noise:
        return "level"
    return "yes" if gap.mean > 0 else "**no**"
