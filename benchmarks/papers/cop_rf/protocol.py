"""The paper's protocol: data, numbers of answers, shares of wrong ones, seeds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import pairwise_distances

from benchmarks.papers._identity import seed_of
from clew import Constraints, datasets

__all__ = [
    "LEAKY_GLASS",
    "MIDDLE",
    "SETS",
    "TABLES",
    "TABLE_III_ERROR",
    "Cell",
    "Problem",
    "Table",
    "cells",
    "shares_of_pairs",
]

#: Glass as the paper has it: its tenth feature is the row number, and rows are in class order.
LEAKY_GLASS = "glass_row_number"
SETS = ("ionosphere", "iris", "segment_small", "parkinsons", "glass", "digits", LEAKY_GLASS)
PERCENTS = (0.1, 0.2, 0.3, 0.4, 0.5)
ERRORS = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30)
TABLE_III_ERROR = 0.15
MIDDLE = 2
#: .1 % of the pairs of digits would be 1,614 answers, more than anyone gives.
DIGITS_AMOUNTS = (250, 500, 1000, 1500, 2000)


@dataclass(frozen=True)
class Cell:
    """A number of answers, a share of them wrong."""

    amount: int
    error: float


@dataclass(frozen=True)
class Problem:
    """A data set, scaled as the paper scales it."""

    name: str

    @cached_property
    def _data(self) -> datasets.Dataset:
        return datasets.load(self.paper_name, scale="minmax")

    @property
    def is_leaky(self) -> bool:
        """Whether the features give the classes away; such a set is in no average of ours."""
        return self.name == LEAKY_GLASS

    @property
    def paper_name(self) -> str:
        """Name of the set as `clew.datasets` and the published tables have it."""
        return "glass" if self.is_leaky else self.name

    @property
    def X(self) -> NDArray[np.float64]:  # noqa: N802
        """Features in [-1, 1]."""
        if self._data.X is None:
            raise TypeError(f"{self.name} has no features")
        X = 2 * self._data.X - 1
        return np.column_stack([X, np.linspace(-1, 1, len(X))]) if self.is_leaky else X

    @property
    def distances(self) -> NDArray[np.float64]:
        """Euclidean distances of every two rows."""
        return pairwise_distances(self.X)

    @property
    def y(self) -> NDArray[np.int64]:
        """True classes."""
        return self._data.y

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self._data.n_classes

    @cached_property
    def amounts(self) -> tuple[int, ...]:
        """Numbers of answers: .1 to .5 % of all pairs."""
        if self.name == "digits":
            return DIGITS_AMOUNTS
        return shares_of_pairs(len(self.y))

    def answers(self, cell: Cell, trial: int) -> Constraints:
        """Draw the answers of a trial.

        The pairs depend on their number alone: a higher share of wrong answers flips more of the
        same pairs, and every method gets the same answers.
        """
        seed = seed_of(self.paper_name, trial, cell.amount)
        return Constraints.from_labels(
            self.y, n_pairs=cell.amount, error=cell.error, random_state=seed
        )


def shares_of_pairs(n_samples: int) -> tuple[int, ...]:
    """Give .1 to .5 % of the pairs of so many rows."""
    n_pairs = n_samples * (n_samples - 1) / 2
    return tuple(round(percent / 100 * n_pairs) for percent in PERCENTS)


@dataclass(frozen=True)
class Table:
    """One table of the paper, and the figure that belongs to it."""

    name: str
    title: str
    axis: str
    stem: str

    def cells(self, amounts: tuple[int, ...]) -> list[Cell]:
        """Give the points of the curve."""
        if self.name == "IV":
            return [Cell(amounts[MIDDLE], error) for error in ERRORS]
        error = 0.0 if self.name == "II" else TABLE_III_ERROR
        return [Cell(amount, error) for amount in amounts]

    def ticks(self, amounts: tuple[int, ...]) -> list[float]:
        """Give the points on the horizontal axis."""
        if self.name == "IV":
            return [100 * error for error in ERRORS]
        return [float(amount) for amount in amounts]


TABLES = (
    Table("II", "Table II: all answers right", "answers", "clean"),
    Table("III", "Table III: exactly 15 % of the answers wrong", "answers", "noisy"),
    Table(
        "IV",
        "Table IV: 5 to 30 % of the answers wrong, their number fixed",
        "wrong answers, %",
        "error_rates",
    ),
)


def cells(amounts: tuple[int, ...]) -> list[Cell]:
    """Give every point of every table once; Tables III and IV share one."""
    return list(dict.fromkeys(cell for table in TABLES for cell in table.cells(amounts)))
