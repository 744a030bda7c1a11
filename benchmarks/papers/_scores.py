"""Means over trials, with their standard errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from benchmarks._harness import mean_and_error

__all__ = ["Score"]


@dataclass(frozen=True)
class Score:
    """A mean over trials and its standard error."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: Mapping[int, float]) -> Score:
        """Average over trials."""
        return cls(*mean_and_error(values.values()))

    def __str__(self) -> str:
        if np.isnan(self.mean):
            return "–"
        return f"{self.mean:.3f}" + ("" if np.isnan(self.error) else f" ± {self.error:.3f}")
