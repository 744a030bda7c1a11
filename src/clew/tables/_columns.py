"""What each column of a table is used as, decided by its values."""

from __future__ import annotations

import numbers
import re
from decimal import Decimal
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from clew.exceptions import InvalidDataError

Use = Literal["number", "date", "scale", "category", "spelling", "text", "dropped"]

#: If at least this share of a column's values are numbers or dates, the other values are errors.
MOSTLY = 0.9
#: Free text has more words than this per value, on average.
FEW_WORDS = 3.0
#: A column of words with at least this share of unique values is an identifier.
MOSTLY_UNIQUE = 0.95
ID_NAME = re.compile(r"(^|[_\W])(id|ids|uuid|guid)$|[a-z]I[dD]$", re.IGNORECASE)
#: Names of columns whose digits name something: they are read as text, and keep leading zeros.
CODE_NAME = re.compile(
    r"(^|[_\W\d]|tele|mobile|cell)phones?($|[_\W\d]|n)|(^|[_\W])(tel|fax)($|[_\W\d])"
    r"|(zip|post(al)?)[_\W]?code|(^|[_\W])(zip|plz|ssn|isbn|issn|ean|upc|gtin|iban)($|[_\W\d])",
    re.IGNORECASE,
)
#: Whole numbers that begin with 0 are codes as well.
LEADING_ZERO = re.compile(r"\s*0\d+\s*")
#: Names that pandas gives to an index when it becomes a column.
INDEX_NAME = re.compile(r"Unnamed: \d+(\.\d+)*|index|level_\d+")
#: The first of those that read most values is used.
DATE_FORMATS = ("ISO8601", "%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y")
AMBIGUOUS = ("%m/%d/%Y", "%d/%m/%Y")
#: Only columns of such values are tried as dates, which takes time.
DATE_LIKE = re.compile(r"\s*\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?")
DAY = 86_400.0
#: Words of scales, from low to high; words between slashes are the same step.
SCALES = (
    "strongly disagree/disagree strongly/totally disagree/completely disagree, disagree, somewhat "
    "disagree/slightly disagree, neutral/neither agree nor disagree/undecided, somewhat "
    "agree/slightly agree, agree, strongly agree/agree strongly/totally agree/completely agree",
    "very dissatisfied/very unsatisfied, dissatisfied/unsatisfied, somewhat dissatisfied, "
    "neutral/neither satisfied nor dissatisfied, somewhat satisfied, satisfied, very satisfied",
    "never, almost never/very rarely, rarely/seldom, sometimes/occasionally, often/frequently, "
    "very often/usually, almost always, always",
    "very bad/very poor, bad/poor, fair/average/acceptable, good, very good, excellent",
    "very unlikely, unlikely, neutral, likely, very likely",
    "none, very low, low, medium/moderate, high, very high",
    "not at all, a little/slightly, somewhat/moderately, quite a bit/very, extremely",
    "xxs, xs, s, m, l, xl, xxl",
    "tiny, small, medium, large, huge",
)
STEPS = tuple(
    {word: at for at, words in enumerate(scale.split(", ")) for word in words.split("/")}
    for scale in SCALES
)
#: A scale has so many steps at least: two are categories.
FEW_STEPS = 3
#: Words are spelled in several ways if this share of the different ones have this cosine or more
#: with another one, by pairs of letters; so many are compared.
MOSTLY_ALIKE, ALIKE, MOST_COMPARED = 2 / 3, 0.5, 2_000


class BadCellError(InvalidDataError):
    """A value of a table cannot be used; `row` is its row."""

    def __init__(self, row: int, problem: str) -> None:
        super().__init__(row, problem)
        self.row, self.problem = row, problem

    def __str__(self) -> str:
        return f"row {self.row}, {self.problem}"


class NoFeaturesError(InvalidDataError):
    """No column of a table can be used; `columns` says why."""

    def __init__(self, columns: tuple[ColumnUse, ...]) -> None:
        super().__init__(columns)
        self.columns = columns

    def __str__(self) -> str:
        why = "; ".join(f"{column.name}: {column.note}" for column in self.columns)
        return f"no column can be used as a feature ({why or 'no columns'})"


class ColumnUse(NamedTuple):
    """What a column of a table is used as.

    Parameters
    ----------
    name : str
        Name of the column.
    use : {"number", "date", "scale", "category", "spelling", "text", "dropped"}
        "text" is free text, "spelling" words that are spelled in several ways.
    note : str, default=""
        Why the column is dropped, or details of its use; may be empty.
    date_format : str, default=""
        Format of dates that are text; empty for other columns.
    steps : tuple of tuples of str, default=()
        Words of a scale in lower case, from low to high, with those of the same step together.
    """

    name: str
    use: Use
    note: str = ""
    date_format: str = ""
    steps: tuple[tuple[str, ...], ...] = ()


def column_uses(frame: pd.DataFrame, max_categories: int) -> list[ColumnUse]:
    """Decide for each column what it is used as."""
    return [_use(str(name), frame[name], max_categories) for name in frame.columns]


def _use(name: str, column: pd.Series, max_categories: int) -> ColumnUse:
    known = column.dropna()
    n_missing, n_distinct = len(column) - len(known), known.nunique()
    if len(known) == 0:
        return ColumnUse(name, "dropped", "empty")
    if n_distinct == 1 and n_missing == 0:
        return ColumnUse(name, "dropped", "the same value in every row")
    missing = f"{n_missing} missing" if n_missing else ""
    if isinstance(column.dtype, pd.CategoricalDtype):
        if column.dtype.ordered and n_distinct >= FEW_STEPS:
            ordered = words(pd.Series(column.cat.categories)).str.casefold()
            return _scale_use(name, [(word,) for word in ordered], missing)
        return ColumnUse(name, "category", _categories(n_distinct, missing, max_categories))
    if pd.api.types.is_datetime64_any_dtype(column):
        return ColumnUse(name, "date", missing)
    if pd.api.types.is_bool_dtype(known) or all(isinstance(one, bool) for one in known.head(100)):
        return ColumnUse(name, "category", _with(f"{n_distinct} values", missing))
    if pd.api.types.is_numeric_dtype(column):
        return _number_use(name, known, missing)
    return _words_use(name, words(known), n_distinct, missing, max_categories)


def _number_use(name: str, known: pd.Series, missing: str) -> ColumnUse:
    values = known.to_numpy(np.float64)
    if not np.isfinite(values).all():
        row = int(known.index[int(np.argmin(np.isfinite(values)))])
        raise BadCellError(
            row,
            f"column {name!r}: {known[row]} is not a finite number; leave the field empty if the "
            "value is unknown",
        )
    mark = marks_rows(name, known, has_gaps=bool(missing))
    return ColumnUse(name, "dropped", mark) if mark else ColumnUse(name, "number", missing)


def marks_rows(name: str, numbers: pd.Series, *, has_gaps: bool = False) -> str:
    """Say why numbers are ids, an index or row numbers; an empty text if they are none of these."""
    values = numbers.to_numpy(np.float64)
    if not (values == np.round(values)).all():
        return ""
    if ID_NAME.search(name):
        return "an id by its name"
    if not has_gaps and INDEX_NAME.fullmatch(name) and numbers.is_unique:
        return "an index by its name"
    is_count = len(values) > 2 and bool((np.diff(values) == 1).all()) and values[0] in (0, 1)
    return "row numbers" if is_count else ""


def is_code_name(name: str) -> bool:
    """Whether a column is named like phone numbers, postcodes or other codes."""
    return CODE_NAME.search(name) is not None


def _words_use(
    name: str, known: pd.Series, n_distinct: int, missing: str, max_categories: int
) -> ColumnUse:
    is_code = is_code_name(name) or bool(known.str.fullmatch(LEADING_ZERO).any())
    if not is_code and (date_format := _date_format(name, known)) is not None:
        note = "read as month/day/year" if date_format == AMBIGUOUS[0] else ""
        note = "read as day/month/year" if date_format == AMBIGUOUS[1] else note
        return ColumnUse(name, "date", _with(note, missing), date_format)
    if not is_code:
        _refuse_nearly_numbers(name, known)
        if steps := _steps(known):
            return _scale_use(name, steps, missing)
    if n_distinct > max_categories or n_distinct > len(known) / 2:
        n_words = known.str.count(r"\w+")
        if n_words.mean() > FEW_WORDS and not is_code:
            return ColumnUse(name, "text", missing)
        if n_distinct >= MOSTLY_UNIQUE * len(known):
            return ColumnUse(name, "dropped", "differs from row to row")
    if ID_NAME.search(name):
        return ColumnUse(name, "dropped", "an id by its name")
    if n_distinct > max_categories and not is_code and _are_spelled_alike(known):
        return ColumnUse(name, "spelling", _with(f"{n_distinct} spellings", missing))
    return ColumnUse(name, "category", _categories(n_distinct, missing, max_categories))


def _steps(known: pd.Series) -> list[tuple[str, ...]]:
    """Return the words of the scale that all values are of, by steps; nothing without one.

    Words of steps that no value has join the nearest one, for tables that come later.
    """
    found = set(known.str.casefold().unique())
    scale = next((one for one in STEPS if found <= one.keys()), {})
    used = sorted({scale[word] for word in found & scale.keys()})
    if len(used) < FEW_STEPS:
        return []
    nearest = {word: min(used, key=lambda at: abs(at - scale[word])) for word in scale}
    ordered = sorted(scale, key=lambda word: (word not in found, scale[word]))
    return [tuple(word for word in ordered if nearest[word] == at) for at in used]


def _scale_use(name: str, steps: list[tuple[str, ...]], missing: str) -> ColumnUse:
    note = _with(f"{steps[0][0]} to {steps[-1][0]}", missing)
    return ColumnUse(name, "scale", note, steps=tuple(steps))


def _are_spelled_alike(known: pd.Series) -> bool:
    """Whether most of the different words are near another one, and few have digits."""
    # Imported here because reading a table needs neither, and they are slow to import.
    from scipy.sparse import eye_array
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.preprocessing import normalize

    different = sorted(known.str.casefold().unique())[:MOST_COMPARED]
    if np.mean([any(map(str.isdigit, word)) for word in different]) > 1 - MOSTLY:
        return False
    pairs = CountVectorizer(analyzer="char_wb", ngram_range=(2, 2), binary=True)
    X = normalize(pairs.fit_transform(different))
    nearest = (X @ X.T - eye_array(len(different))).tocsr().max(axis=1).toarray()
    return bool((nearest >= ALIKE).mean() >= MOSTLY_ALIKE)


def _categories(n_distinct: int, missing: str, max_categories: int) -> str:
    few = n_distinct <= max_categories
    note = f"{n_distinct} values" if few else f"{max_categories - 1} of {n_distinct} values, others"
    return _with(note, missing)


def _with(*notes: str) -> str:
    return ", ".join(note for note in notes if note)


def plain(name: object, column: pd.Series) -> pd.Series:
    """Return a column as floats, booleans, dates, categories or objects."""
    kinds = pd.api.types
    values: Any = column
    if is_code_name(str(name)) and not isinstance(column.dtype, pd.CategoricalDtype):
        return _codes(column)
    if isinstance(column.dtype, pd.CategoricalDtype):
        return column
    if isinstance(column.dtype, pd.SparseDtype):
        column = values.sparse.to_dense()
    if isinstance(column.dtype, pd.PeriodDtype):
        return pd.Series(values.dt.to_timestamp())
    if kinds.is_timedelta64_dtype(column):
        return pd.Series(values.dt.total_seconds() / DAY)
    if kinds.is_complex_dtype(column):
        raise InvalidDataError(f"column {name!r} holds complex numbers, which cannot be a feature")
    if kinds.is_object_dtype(column) or kinds.is_string_dtype(column):
        return _plain_objects(name, column.astype(object))
    return column


def _codes(column: pd.Series) -> pd.Series:
    """Return codes as strings: whole numbers without a decimal point, missing values as None."""
    values = [
        None if missing else f"{value:.0f}" if _is_whole(value) else str(value).strip()
        for value, missing in zip(column.astype(object), column.isna(), strict=True)
    ]
    return pd.Series([value or None for value in values], index=column.index, dtype=object)


def _is_whole(value: object) -> bool:
    return isinstance(value, float | np.floating) and float(value).is_integer()


def _plain_objects(name: object, column: pd.Series) -> pd.Series:
    known = column.dropna()
    nested = next((one for one in known if isinstance(one, list | dict | set | np.ndarray)), None)
    if nested is not None:
        raise InvalidDataError(
            f"column {name!r} holds a {type(nested).__name__}, which cannot be a feature; make a "
            "column of each of its values, or drop it"
        )
    kinds = str | numbers.Real | Decimal
    if len(known) == 0 or not all(isinstance(one, kinds) for one in known.head(100)):
        return column
    if all(isinstance(one, bool | np.bool_) for one in known):
        return column
    if any(isinstance(one, str) and LEADING_ZERO.fullmatch(one) for one in known):
        return column
    parsed = pd.to_numeric(known.map(_number), errors="coerce")
    return parsed.astype(np.float64).reindex(column.index) if parsed.notna().all() else column


def _number(value: object) -> object:
    """Return a number of any type as a float; any other value as it is."""
    return float(value) if isinstance(value, numbers.Real | Decimal) else value


def floats(name: str, column: pd.Series) -> pd.Series:
    """Return a column of numbers as floats, NaN for missing values."""
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(
            f"column {name!r} held only numbers in fit, but holds another value now: {error}"
        ) from error


def words(column: pd.Series) -> pd.Series:
    """Return a column as stripped strings; missing values stay missing."""
    column = column.astype(object)
    return column.where(column.isna(), column.astype(str).str.strip()).astype(object)


def on_scale(column: pd.Series, steps: tuple[tuple[str, ...], ...]) -> pd.Series:
    """Return words of a scale as the numbers of their steps; NaN for missing and other words."""
    numbers = {word: float(at) for at, same in enumerate(steps) for word in same}
    return words(column).str.casefold().map(numbers).astype(np.float64)


def _date_format(name: str, known: pd.Series) -> str | None:
    """Return the format that reads most values, if nearly all are dates; refuse the others."""
    if known.head(100).str.fullmatch(DATE_LIKE).mean() < MOSTLY:
        return None
    n_read: dict[str, int] = {}
    for date_format in DATE_FORMATS:
        n_read[date_format] = int(_in_format(known, date_format).notna().sum())
        if n_read[date_format] == len(known):
            return date_format
    date_format = max(n_read, key=lambda each: n_read[each])
    is_date = _dates(known, date_format).notna()
    if is_date.mean() < MOSTLY:
        return None
    _refuse_others(name, known, is_date, "a date")
    return date_format


def _in_format(known: pd.Series, date_format: str) -> pd.Series:
    return pd.to_datetime(known, format=date_format, errors="coerce", utc=True)


def _dates(known: pd.Series, date_format: str) -> pd.Series:
    """Read dates of a format, and those of others of which no day can be taken for a month."""
    found = _in_format(known, date_format)
    for other in DATE_FORMATS:
        if other not in AMBIGUOUS and found.isna().any():
            found = found.fillna(_in_format(known, other))
    return found


def _refuse_nearly_numbers(name: str, known: pd.Series) -> None:
    """Refuse a column of numbers with a few other values, rather than use it as categories."""
    is_number = pd.to_numeric(known, errors="coerce").notna()
    if is_number.mean() >= MOSTLY:
        _refuse_others(name, known, is_number, "a number")


def _refuse_others(name: str, known: pd.Series, is_one: pd.Series, what: str) -> None:
    """Refuse a column of one kind of values, of which a few are of none."""
    if is_one.all():
        return
    row = int(known.index[int(np.argmin(is_one.to_numpy()))])
    n_more = int((~is_one).sum()) - 1
    more = f" (and {n_more} more are not)" if n_more else ""
    raise BadCellError(
        row,
        f"column {name!r}: {known[row][:40]!r} is not {what}{more}, but all other values are; "
        "correct it, leave the field empty if the value is unknown, or drop the column",
    )


def days(name: str, column: pd.Series, date_format: str) -> pd.Series:
    """Return dates as days since 1970-01-01, floats; NaN for missing values."""
    if pd.api.types.is_datetime64_any_dtype(column):
        parsed = pd.to_datetime(column, utc=True)
    else:
        parsed = _dates(words(column), date_format or DATE_FORMATS[0])
        is_other = (parsed.isna() & column.notna()).to_numpy()
        if is_other.any():
            other = str(column.iloc[int(np.argmax(is_other))])[:40]
            raise InvalidDataError(
                f"column {name!r} held only dates in fit, but holds another value now: {other!r}"
            )
    since = parsed - pd.Timestamp(0, tz="UTC")
    return since.dt.total_seconds() / DAY
