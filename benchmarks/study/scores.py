"""Means over trials with standard errors, paired differences, and verdicts on them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import pandas as pd
from scipy.stats import t as student

from clew.metrics import area_under_curve

#: One value for each trial, or a column for each point of a curve.
Values = pd.Series | pd.DataFrame
#: Mean differences up to this count as level.
LEVEL = 0.005


@dataclass(frozen=True)
class Score:
    """A mean over trials and its standard error."""

    mean: float = float("nan")
    error: float = float("nan")
    note: str = ""  # Text printed after it
    is_gap: bool = False  # Whether it is a difference, printed with its sign

    @classmethod
    def of(cls, values: pd.Series) -> Self:
        """Average over trials; the error of a single value is NaN."""
        found: Any = values.astype(float)
        return cls(float(found.mean()), float(found.sem()))

    @classmethod
    def with_interval(cls, values: pd.Series, confidence: float = 0.95) -> Self:
        """Average over trials; the error is half the width of the mean's confidence interval."""
        score, n = cls.of(values), values.count()
        factor = student.ppf((1 + confidence) / 2, n - 1) if n > 1 else 1.0
        return cls(score.mean, float(factor) * score.error)

    @property
    def is_known(self) -> bool:
        return not np.isnan(self.mean)

    def text(self, form: str = ".3f", factor: float = 1.0) -> str:
        if not self.is_known:
            return f"–{self.note}"
        error = "" if np.isnan(self.error) else f" ± {factor * self.error:{form.lstrip('+')}}"
        return f"{factor * self.mean:{form}}{error}{self.note}"

    def __str__(self) -> str:
        return self.text("+.3f" if self.is_gap else ".3f")


def difference(ours: pd.Series, theirs: pd.Series) -> Score:
    """Average the paired difference over the trials that both have."""
    return replace(Score.of(ours - theirs), is_gap=True)


def averaged(parts: list[pd.Series]) -> pd.Series:
    """Average over several results, for each trial that all of them have."""
    if not parts:
        return pd.Series(dtype=float)
    return pd.concat(parts, axis=1).dropna().mean(axis=1)


def area(curve: pd.DataFrame) -> pd.Series:
    """Return the area under the curve of each complete trial: trapezoids of unit width."""
    complete = curve.dropna()
    areas = [area_under_curve(row) for row in complete.to_numpy(float)]
    return pd.Series(areas, index=complete.index, dtype=float)


def paired(ours: Values, theirs: Mapping[str, Any]) -> dict[str, Score]:
    """Subtract results of methods by name from ours, at each point of a curve."""
    if isinstance(ours, pd.Series):
        return {name: difference(ours, values) for name, values in theirs.items()}
    return {
        f"{name} at {point}" if name else str(point): difference(ours[point], values[point])
        for name, values in theirs.items()
        for point in ours.columns
    }


def verdict(gap: Score, *, is_below: bool = False) -> str:
    """Return "yes" for a difference above two standard errors, "level" within, or "**no**"."""
    if not gap.is_known:
        return "not complete"
    if abs(gap.mean) <= max(2 * float(np.nan_to_num(gap.error)), LEVEL):
        return "level"
    return "yes" if (gap.mean > 0) != is_below else "**no**"


def standing(gaps: Mapping[str, Score], *, is_below: bool = False) -> str:
    """Summarize several differences: the verdict if all agree, otherwise their numbers."""
    verdicts = [verdict(gap, is_below=is_below) for gap in gaps.values()]
    if not verdicts or "not complete" in verdicts:
        return "not complete"
    if len(set(verdicts)) == 1:
        return verdicts[0]
    words = {"yes": "in favor", "level": "level", "**no**": "against"}
    counts = ", ".join(f"{verdicts.count(v)} {word}" for v, word in words.items() if v in verdicts)
    return f"{'**no**' if '**no**' in verdicts else 'level'}: {counts}"


def in_order(scores: Mapping[str, Score]) -> str:
    """List names by their means, the best first."""
    known = {label: score.mean for label, score in scores.items() if score.is_known}
    best_first = sorted(known.items(), key=lambda item: -item[1])
    return " > ".join(f"{label} {mean:.2f}" for label, mean in best_first) or "not complete"


def best_of(candidates: Iterable[Any], score: Callable[[Any], Score]) -> tuple[Any, Score]:
    """Find the candidate of the highest mean, and its score; None if no score is known."""
    known = [(one, of) for one in candidates if (of := score(one)).is_known]
    return max(known, key=lambda pair: pair[1].mean, default=(None, Score()))
