"""Tables of records, such as addresses, to character n-grams: rows with typing errors stay near."""

from __future__ import annotations

import re
import unicodedata
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.utils.validation import check_is_fitted

from clew._validation import Allowed, check_parameters
from clew._warnings import FILTERS
from clew.exceptions import InvalidDataError
from clew.tables._columns import ColumnUse, NoFeaturesError, column_uses
from clew.tables._features import checked_table

#: A column names rows if at least this share of its values differ, and its values have this many
#: letters on average.
MOSTLY_DIFFERENT, LEAST_LETTERS = 0.5, 4.0
#: Numbers with this many digits or more, and no letters, may be phone numbers; of these the last
#: digits are compared, so that country codes do not matter.
PHONE = re.compile(r"[+(]?\d[\d\s()./+-]{5,}\d")
PHONE_DIGITS = 10
ROW_MARKS = ("an id by its name", "an index by its name", "row numbers")


class RecordFeatures(TransformerMixin, BaseEstimator):
    """Turn a table of records into character n-grams, weighted by TF-IDF.

    For tables in which several rows may describe the same thing: the same restaurant, person or
    product, with typing errors, abbreviations and missing values. All words, codes, dates and whole
    numbers of a row become one text, in lower case and without punctuation or accents; phone
    numbers become digits. Its n-grams of `min_n` to `max_n` characters, within words, are counted.
    Numbers with decimals, ids and row numbers are not used.

    Parameters
    ----------
    min_n : int, default=2
        Shortest n-grams.
    max_n : int, default=4
        Longest n-grams, at least `min_n`.

    Attributes
    ----------
    columns_ : tuple of ColumnUse
        What each column is used as: "text" or "dropped".
    n_features_out_ : int
        Number of n-grams.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns.

    Raises
    ------
    InvalidDataError
        If no column can be used, or `max_n` is below `min_n`.

    See Also
    --------
    TableFeatures : Features of tables of numbers, categories, dates and free text.

    Notes
    -----
    The cosine of two rows is 1 if they have the same n-grams, and 0 if they have none in common.
    Rare n-grams count more than frequent ones, such as those of a city. Memory and time are linear
    in the length of the texts.

    Examples
    --------
    >>> import pandas as pd
    >>> from clew.tables import RecordFeatures
    >>> places = pd.DataFrame(
    ...     {
    ...         "name": ["Arnie Morton's", "arnie mortons of chicago", "Cafe Bizou"],
    ...         "phone": ["310-246-1501", "310/246 1501", "818/788-3536"],
    ...     }
    ... )
    >>> X = RecordFeatures().fit_transform(places)
    >>> cosine = (X @ X.T).toarray()
    >>> bool(cosine[0, 1] > 0.5), bool(cosine[0, 2] < 0.1)
    (True, True)
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "min_n": Allowed(kind=int, low=1),
        "max_n": Allowed(kind=int, low=1),
    }

    def __init__(self, *, min_n: int = 2, max_n: int = 4) -> None:
        self.min_n = min_n
        self.max_n = max_n

    def fit(self, X: pd.DataFrame, y: object = None) -> Self:
        """Choose the columns, and learn the n-grams and their weights.

        Parameters
        ----------
        X : DataFrame of shape (n_rows, n_columns)
            A table.
        y : ignored
            Present by convention.

        Returns
        -------
        self
        """
        check_parameters(self, self._allowed)
        if self.max_n < self.min_n:
            raise InvalidDataError(f"max_n={self.max_n} must not be below min_n={self.min_n}")
        with FILTERS:
            frame = checked_table(X)
            columns = tuple(_record_use(frame, use) for use in _uses(frame))
            if all(column.use == "dropped" for column in columns):
                raise NoFeaturesError(columns)
            self._tfidf = TfidfVectorizer(
                analyzer="char_wb", ngram_range=(self.min_n, self.max_n), sublinear_tf=True
            )
            self._tfidf.fit(_texts(frame, columns))
        self.columns_ = columns
        self.n_features_in_, self.n_features_out_ = len(columns), len(self._tfidf.vocabulary_)
        self.feature_names_in_ = np.array([column.name for column in columns], dtype=object)
        return self

    def transform(self, X: pd.DataFrame) -> csr_array:
        """Return the weights of the n-grams of each row.

        Parameters
        ----------
        X : DataFrame of shape (n_rows, n_columns)
            A table with the fitted columns.

        Returns
        -------
        csr_array of shape (n_rows, n_features)
            Rows have length 1, or 0 without a known n-gram.

        Raises
        ------
        InvalidDataError
            If a column is missing.
        """
        check_is_fitted(self, "columns_")
        with FILTERS:
            frame = checked_table(X)
            missing = [name for name in self.feature_names_in_ if name not in frame.columns]
            if missing:
                raise InvalidDataError(f"the table has no column {missing[0]!r}, which was fitted")
            return csr_array(self._tfidf.transform(_texts(frame, self.columns_)))

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the n-grams.

        Parameters
        ----------
        input_features : ignored
            Present by convention.

        Returns
        -------
        ndarray of shape (n_features,)
        """
        check_is_fitted(self, "columns_")
        return np.asarray(self._tfidf.get_feature_names_out(), dtype=object)


def may_be_records(X: pd.DataFrame) -> bool:
    """Whether a table may hold records: a column names rows, and few columns are measurements."""
    with FILTERS:
        frame = checked_table(X)
        uses = [use for use in _uses(frame) if _record_use(frame, use).note not in ROW_MARKS]
        n_numbers = sum(use.use == "number" for use in uses)
        n_words = sum(use.use not in ("number", "dropped") or _differs(use) for use in uses)
        return n_words >= n_numbers and any(_names_rows(frame[use.name]) for use in uses)


def _uses(frame: pd.DataFrame) -> list[ColumnUse]:
    # One category is the least; the number of categories does not matter here.
    return column_uses(frame, max_categories=2)


def _differs(use: ColumnUse) -> bool:
    return use.use == "dropped" and use.note.startswith("differs")


def _names_rows(column: pd.Series) -> bool:
    """Whether most values of a column are different words."""
    values = column.dropna()
    if len(values) == 0 or not all(isinstance(value, str) for value in values.head(100)):
        return False
    letters = values.str.count(r"[^\W\d_]").mean()
    return bool(letters >= LEAST_LETTERS and values.nunique() >= MOSTLY_DIFFERENT * len(values))


def _record_use(frame: pd.DataFrame, use: ColumnUse) -> ColumnUse:
    """Return whether a column is part of a row's text."""
    column = frame[use.name]
    if use.use == "dropped" and not _differs(use):
        return use
    if use.use == "number":
        known = column.dropna().to_numpy(np.float64)
        if (known != np.round(known)).any():
            return ColumnUse(use.name, "dropped", "numbers with decimals")
    return ColumnUse(use.name, "text")


def _texts(frame: pd.DataFrame, columns: tuple[ColumnUse, ...]) -> list[str]:
    """Return the text of each row."""
    used = [frame[column.name] for column in columns if column.use != "dropped"]
    parts = [[_plain_text(value) for value in column] for column in used]
    return [" ".join(filter(None, row)) for row in zip(*parts, strict=True)]


def _plain_text(value: Any) -> str:
    """Return a value in lower case, without accents and punctuation; phone numbers as digits."""
    if pd.isna(value):
        return ""
    if isinstance(value, float) and value.is_integer():
        return f"{value:.0f}"
    text = str(value).strip().lower()
    if PHONE.fullmatch(text):
        return re.sub(r"\D", "", text)[-PHONE_DIGITS:]
    text = unicodedata.normalize("NFKD", text)
    text = "".join(letter for letter in text if not unicodedata.combining(letter))
    return " ".join(re.findall(r"\w+", text.replace("'", "").replace("’", "")))
