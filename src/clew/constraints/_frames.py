"""Answers in pandas data frames; pandas is imported only here, and only when called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clew.constraints._columns import AnswerColumns
from clew.constraints._records import COLUMNS, RecordCollector, check_columns, records
from clew.exceptions import InvalidConstraintsError, MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["read_frame", "write_frame"]


def write_frame(constraints: AnswerColumns) -> pd.DataFrame:
    """Make a data frame of one row an answer."""
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError(
            "to_frame needs pandas, which is not installed: pip install pandas"
        ) from error
    rows = list(records(constraints))
    columns: dict[str, list[Any]] = {
        name: [fields[at] for fields in rows] for at, name in enumerate(COLUMNS)
    }
    types = {"i": "int64", "j": "int64", "k": "Int64", "weight": "float64"}
    return pd.DataFrame(
        {name: pd.Series(values, dtype=types.get(name, "str")) for name, values in columns.items()}
    )


def read_frame(frame: pd.DataFrame, n_samples: int) -> dict[str, Any]:
    """Take the answers out of a data frame; return arguments for `Constraints`."""
    check_columns(frame.columns)
    collector = RecordCollector(n_samples)
    names = list(frame.columns)
    # None for every way in which pandas marks what is missing.
    values = [frame[name].astype(object).where(frame[name].notna(), None) for name in names]
    for position, fields in enumerate(zip(*values, strict=True)):
        try:
            collector.add(dict(zip(names, fields, strict=True)))
        except InvalidConstraintsError as error:
            raise InvalidConstraintsError(f"frame, row {position}: {error}") from error
    return collector.columns
