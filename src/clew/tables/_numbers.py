"""Numbers as people write them: with commas between thousands, currency or percent signs."""

from __future__ import annotations

import re

import pandas as pd

__all__ = ["written_numbers"]

SIGNS = "$€£¥"
#: What separates thousands, by the decimal mark.
THOUSANDS = {".": ",", ",": "."}


def written_numbers(column: pd.Series, decimal: str) -> tuple[pd.Series | None, str]:
    """Read a column of text as numbers if every value is a written number, such as "$1,250".

    Parameters
    ----------
    column : Series
        Text; missing values stay missing.
    decimal : {".", ","}
        Decimal mark of the table; the other of the two separates thousands.

    Returns
    -------
    numbers : Series of float or None
        None if a value is something else, or if the column is not text. Percent signs are removed
        like other signs; values are not divided by 100.
    note : str
        An example of a value and its number.
    """
    known = column.dropna()
    if len(known) == 0 or not all(isinstance(one, str) for one in known.head(100)):
        return None, ""
    text = known.astype(str).str.strip()
    thousands, mark = re.escape(THOUSANDS[decimal]), re.escape(decimal)
    digits = rf"(\d{{1,3}}({thousands}\d{{3}})+|\d+)({mark}\d*)?"
    written = rf"[+-]?[{SIGNS}]?\s?[+-]?{digits}\s?[%{SIGNS}]?"
    if not text.str.fullmatch(written).all():
        return None, ""
    plain = text.str.replace(rf"[\s{thousands}%{SIGNS}]", "", regex=True)
    numbers = plain.str.replace(decimal, ".", regex=False).astype(float)
    at = (text != plain).argmax()
    note = f"{text.iloc[at]!r} is read as the number {numbers.iloc[at]:g}"
    return numbers.reindex(column.index), note
