"""What sets groups apart: the columns of a table in which they differ most from all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clew.tables import ColumnUse

__all__ = ["Trait", "cell", "columns_to_show", "describe_group", "group_traits"]

#: A group differs if its mean is this many standard deviations from that of all rows.
LEAST_DIFFERENCE = 0.3
#: Categories of a column that are compared, the most frequent ones.
MAX_CATEGORIES = 20
#: Characters of a cell that are shown.
MAX_LENGTH = 80
MISSING = "–"


class Trait(NamedTuple):
    """A column of numbers, or one category of a column, and how the groups differ in it."""

    column: str
    category: str | None
    means: NDArray[np.float64]
    """Mean, or share of the category, in each group, (n_groups,)."""
    mean: float
    """Mean, or share of the category, in all rows."""
    differences: NDArray[np.float64]
    """`means` minus `mean`, in standard deviations, (n_groups,)."""

    def describe(self, group: int) -> str:
        """Say how a group differs from all rows."""
        if self.category is None:
            return f"{self.column} {number(self.means[group])} (all rows {number(self.mean)})"
        share, of_all = self.means[group], self.mean
        return f"{self.column} {self.category} {share:.0%} (all rows {of_all:.0%})"


def group_traits(
    frame: pd.DataFrame, columns: Sequence[ColumnUse], label: NDArray[np.int64]
) -> list[Trait]:
    """Compare the groups in each column of numbers, and in each category.

    Parameters
    ----------
    frame : DataFrame of shape (n_rows, n_columns)
        The table.
    columns : sequence of ColumnUse
        What each column is used as.
    label : ndarray of shape (n_rows,)
        Group of each row, from 0.
    """
    sizes = np.bincount(label)
    traits = []
    for name, category, values in _values(frame, columns):
        known = np.isfinite(values)
        mean, deviation = float(values[known].mean()), float(values[known].std())
        if deviation == 0:
            continue
        counts = np.bincount(label[known], minlength=len(sizes))
        sums = np.bincount(label[known], values[known], minlength=len(sizes))
        means = np.divide(sums, counts, out=np.full(len(sizes), mean), where=counts > 0)
        traits.append(Trait(name, category, means, mean, (means - mean) / deviation))
    return traits


def _values(
    frame: pd.DataFrame, columns: Sequence[ColumnUse]
) -> Iterator[tuple[str, str | None, NDArray[np.float64]]]:
    """Yield numbers as they are and each category as 0 and 1; NaN where a value is missing."""
    for name, use, *_ in columns:
        column = frame[name]
        if use == "number":
            yield name, None, column.to_numpy(np.float64, na_value=np.nan)
        elif use == "category":
            words = column.astype(str).str.strip().where(column.notna())
            for category in words.value_counts().index[:MAX_CATEGORIES]:
                found = (words == category).to_numpy(np.float64)
                yield name, str(category), np.where(column.isna(), np.nan, found)


def describe_group(traits: Sequence[Trait], group: int, most: int = 3) -> str:
    """Name what sets a group apart, the largest difference first; empty if nothing does."""
    # A rare category is left out: a frequent one of the same column says the same.
    sizes: list[float] = [
        float(abs(one.differences[group]) if one.category is None else one.differences[group])
        for one in traits
    ]
    found: dict[str, str] = {}
    for at in np.argsort(sizes, kind="stable")[::-1].tolist():
        if len(found) == most or sizes[at] < LEAST_DIFFERENCE:
            break
        found.setdefault(traits[at].column, traits[at].describe(group))
    return "; ".join(found.values())


def columns_to_show(
    frame: pd.DataFrame,
    columns: Sequence[ColumnUse],
    traits: Sequence[Trait],
    label: NDArray[np.int64],
    most: int,
) -> list[str]:
    """Choose columns to show: a name of the row, then those that differ most between groups."""
    weight = np.bincount(label) / len(label)
    names = [
        column.name
        for column in columns
        if column.use == "text" or (column.use == "dropped" and "row to row" in column.note)
    ]
    ratio: dict[str, float] = {}
    for trait in traits:
        share = float(weight @ trait.differences**2)
        ratio[trait.column] = max(share, ratio.get(trait.column, 0.0))
    by_ratio = sorted(ratio, key=lambda name: -ratio[name])
    chosen = [*names[:1], *by_ratio, *names[1:]]
    return [name for name in chosen if name in frame.columns][:most]


def number(value: float) -> str:
    """Format a number with three digits or more."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def cell(value: Any) -> str:
    """Format a value of a table, shortened if it is long."""
    if value is None or value is pd.NaT or value is pd.NA or value != value:
        return MISSING
    if isinstance(value, float | np.floating):
        return f"{value:.6g}" if abs(float(value)) < 1e6 else f"{value:,.0f}"
    text = " ".join(str(value).split())
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 1]}…"
