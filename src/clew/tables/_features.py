"""Mixed columns to features, by scikit-learn's transformers; free text by LSA."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import KNNImputer, MissingIndicator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler, normalize
from sklearn.utils.validation import check_is_fitted

from clew._validation import Allowed, check_parameters, refuse_lazy, refuse_repeated
from clew._warnings import FILTERS
from clew.exceptions import InvalidDataError
from clew.tables._columns import (
    ColumnUse,
    NoFeaturesError,
    Use,
    column_uses,
    days,
    floats,
    marks_rows,
    on_scale,
    plain,
    words,
)

#: Headings of `TableFeatures.describe`.
PLURALS: dict[Use, str] = {
    "number": "numbers",
    "date": "dates",
    "scale": "scales",
    "category": "categories",
    "spelling": "words by their letters",
    "text": "free text",
    "dropped": "not used",
}
#: Uses that become numbers.
NUMBERS: tuple[Use, ...] = ("number", "date", "scale")
#: Columns that a description names; it counts the others.
MOST_NAMED = 12
#: Rows whose mean fills a gap, and at most so many among which they are searched.
N_NEAREST, N_DONORS = 10, 2_000
#: A column of at most so many values, and a quarter as many as rows, has no others in its gaps.
MOST_VALUES = 12
#: Feature of a number that is missing: with 1, many gaps hide what the numbers tell.
GAP = 0.5
#: Largest factor of squared distances of texts, and pairs of rows that determine it.
MOST_TEXT, N_PAIRS = 6.0, 10_000
#: If no larger share of a column's texts differs, they are phrases that repeat.
FEW_TEXTS = 0.25


class TableFeatures(TransformerMixin, BaseEstimator):
    """Turn a table of mixed columns into features.

    The values of a column determine how it is used; see `columns_`. Numbers, dates (as days) and
    the steps of scales are standardized; where some are missing, they are imputed by the mean of
    the ten nearest rows, and a feature that is .5 there is added. Columns of at most
    `max_categories` different words, and truth values, become one feature per category, 0 or 1; if
    there are more, the least frequent ones share a feature, or letters are compared if the words
    are spelled in several ways.
    Free text becomes TF-IDF, reduced by a truncated SVD to `n_components` features, rows of equal
    norm. Constant and empty columns, ids and row numbers are dropped.

    Parameters
    ----------
    max_categories : int, default=20
        Largest number of features of a column of categories.
    n_components : int, default=20
        Largest number of features of a column of free text.
    standardize : bool or "auto", default="auto"
        Whether numbers and dates are standardized to mean 0 and variance 1. "auto": unless
        all used columns are numbers without missing values; then the method decides.

    Attributes
    ----------
    columns_ : tuple of ColumnUse
        What each column is used as, in the order of the table.
    standardizes_ : bool
        Whether numbers and dates are standardized.
    n_features_out_ : int
        Number of features.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of str
        Names of the columns.

    Raises
    ------
    InvalidDataError
        If no column can be used, a number is infinite, a column of numbers has a few other values,
        or a column holds complex numbers, lists or the like.

    See Also
    --------
    read_table : Reads a table from a file.

    Notes
    -----
    The result is deterministic. Two different categories are at squared distance 2, the mean
    squared distance of two values of a standardized number. Squared distances of texts vary little
    about their mean, and would be lost among those of other columns: they are multiplied, by 6 at
    most, so that they vary as those of a standardized number do. If three quarters or more are
    repeats, they are not.

    Time and memory are linear in rows; the SVD takes time in proportion to `n_components` times the
    number of words of the table.

    Examples
    --------
    >>> import pandas as pd
    >>> from clew.tables import TableFeatures
    >>> birds = pd.DataFrame(
    ...     {
    ...         "wing": [12.0, 30.5, None, 29.0],
    ...         "color": ["red", "gray", "gray", "red"],
    ...         "seen": ["2024-05-01", "2024-05-03", "2024-06-30", "2024-07-01"],
    ...         "ring": ["A17", "B02", "B11", "C40"],
    ...     }
    ... )
    >>> table = TableFeatures().fit(birds)
    >>> table.transform(birds).shape
    (4, 5)
    >>> print(table.describe())
    numbers: wing (1 missing)
    dates: seen
    categories: color (2 values)
    not used: ring (differs from row to row)
    """

    _allowed: ClassVar[dict[str, Any]] = {
        "max_categories": Allowed(kind=int, low=2),
        "n_components": Allowed(kind=int, low=1),
        "standardize": (Allowed(names=("auto",)), Allowed(kind=bool)),
    }

    def __init__(
        self,
        *,
        max_categories: int = 20,
        n_components: int = 20,
        standardize: bool | Literal["auto"] = "auto",
    ) -> None:
        self.max_categories = max_categories
        self.n_components = n_components
        self.standardize = standardize

    def fit(self, X: pd.DataFrame, y: object = None) -> Self:
        """Decide what each column is used as; learn categories, words, and rows to impute from.

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
        self.fit_transform(X)
        return self

    def fit_transform(
        self, X: pd.DataFrame, y: object = None, **fit_params: object
    ) -> NDArray[np.float64]:
        """Fit, and return the features of the same table.

        Parameters
        ----------
        X : DataFrame of shape (n_rows, n_columns)
            A table.
        y : ignored
            Present by convention.
        **fit_params : ignored
            Present by convention.

        Returns
        -------
        ndarray of shape (n_rows, n_features)
        """
        check_parameters(self, self._allowed)
        # pandas and scikit-learn replace the warning filters of the process.
        with FILTERS:
            return self._fitted(checked_table(X))

    def _fitted(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        columns = tuple(column_uses(frame, self.max_categories))
        used = [column for column in columns if column.use != "dropped"]
        if not used:
            raise NoFeaturesError(columns)
        is_plain = all(column.use == "number" and not column.note for column in used)
        standardizes = not is_plain if self.standardize == "auto" else bool(self.standardize)
        prepared = _prepared(frame, columns)
        transformer = self._transformer(columns, prepared, standardizes)
        features = transformer.fit_transform(prepared)
        self.columns_, self.standardizes_, self._transformer_ = columns, standardizes, transformer
        self.n_features_in_, self.n_features_out_ = len(columns), features.shape[1]
        self.feature_names_in_ = np.array([column.name for column in columns], dtype=object)
        return np.ascontiguousarray(features, dtype=np.float64)

    def transform(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """Return the features of a table with the same columns.

        Parameters
        ----------
        X : DataFrame of shape (n_rows, n_columns)
            A table; further columns are ignored, as is their order.

        Returns
        -------
        ndarray of shape (n_rows, n_features)

        Raises
        ------
        InvalidDataError
            If a column is missing.
        """
        check_is_fitted(self, "columns_")
        with FILTERS:
            return self._transformed(checked_table(X))

    def _transformed(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        missing = [name for name in self.feature_names_in_ if name not in frame.columns]
        if missing:
            raise InvalidDataError(f"the table has no column {missing[0]!r}, which was fitted")
        features = self._transformer_.transform(_prepared(frame, self.columns_))
        return np.ascontiguousarray(features, dtype=np.float64)

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return the name of each feature, which contains the name of its column.

        Parameters
        ----------
        input_features : ignored
            Present by convention.

        Returns
        -------
        ndarray of shape (n_features,)
        """
        check_is_fitted(self, "columns_")
        return np.asarray(self._transformer_.get_feature_names_out(), dtype=object)

    def describe(self) -> str:
        """Return which columns are used as what, one use per line.

        Returns
        -------
        str
        """
        check_is_fitted(self, "columns_")
        lines = []
        for use, plural in PLURALS.items():
            named = [_named(column) for column in self.columns_ if column.use == use]
            if len(named) > MOST_NAMED:
                named = [*named[: MOST_NAMED - 1], f"and {len(named) - MOST_NAMED + 1} more"]
            lines += [f"{plural}: {', '.join(named)}"] if named else []
        return "\n".join(lines)

    def _transformer(
        self, columns: tuple[ColumnUse, ...], prepared: pd.DataFrame, standardizes: bool
    ) -> ColumnTransformer:
        """Return scikit-learn's transformers of the columns."""
        numbers = [column.name for column in columns if column.use in NUMBERS]
        gaps = [name for name in numbers if prepared[name].isna().any()]
        categories = [column.name for column in columns if column.use == "category"]
        texts = [column for column in columns if column.use in ("spelling", "text")]
        steps = [*([StandardScaler()] if standardizes else []), NearestRows()]
        is_gap = (
            MissingIndicator(features="all"),
            FunctionTransformer(_halved, feature_names_out="one-to-one"),
        )
        one_hot = OneHotEncoder(
            max_categories=self.max_categories,
            handle_unknown="infrequent_if_exist",
            sparse_output=False,
        )
        parts: list[tuple[str, Any, Any]] = [
            ("number", make_pipeline(*steps), numbers),
            ("missing", make_pipeline(*is_gap), gaps),
            ("category", one_hot, categories),
        ]
        parts += [
            (
                text.name,
                TextComponents(self.n_components, is_word=text.use == "spelling"),
                text.name,
            )
            for text in texts
        ]
        # Otherwise two columns of text would have features of the same names.
        return ColumnTransformer(
            [part for part in parts if part[2]],
            sparse_threshold=0,
            verbose_feature_names_out=_feature_name,
        )


def _feature_name(part: str, feature: str) -> str:
    """Return the name of a feature; that of a text component begins with its column."""
    return feature if part in ("number", "missing", "category") else f"{part}_{feature}"


def _named(column: ColumnUse) -> str:
    return f"{column.name} ({column.note})" if column.note else column.name


def as_pandas(X: Any) -> pd.DataFrame:
    """Return a data frame of polars or another library, or what pandas takes, as one of pandas."""
    if isinstance(X, pd.DataFrame):
        return X
    refuse_lazy(X)
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        X = {name: np.asarray(X[name]) for name in X.columns}
    return pd.DataFrame(X)


def is_mixed(frame: pd.DataFrame) -> bool:
    """Whether a data frame has other columns than features: texts, dates, gaps or row numbers."""
    has_numbers = all(getattr(kind, "kind", "O") in "iuf" for kind in frame.dtypes)
    if not has_numbers or frame.isna().to_numpy().any():
        return True
    return any(marks_rows(str(name), frame.iloc[:, at]) for at, name in enumerate(frame.columns))


def checked_table(X: Any) -> pd.DataFrame:
    """Return plain columns with string names; refuse repeated names and tables without rows."""
    frame = as_pandas(X)
    frame = frame.set_axis([str(name) for name in frame.columns], axis=1).reset_index(drop=True)
    refuse_repeated(frame.columns)
    if len(frame) == 0:
        raise InvalidDataError("the table has no rows")
    return pd.DataFrame({name: plain(name, frame[name]) for name in frame}, index=frame.index)


def _prepared(frame: pd.DataFrame, columns: tuple[ColumnUse, ...]) -> pd.DataFrame:
    """Return the columns that are used: floats, or strings without gaps."""
    ready = {}
    for name, use, _, date_format, steps in columns:
        if use == "date":
            ready[name] = days(name, frame[name], date_format)
        elif use == "number":
            ready[name] = floats(name, frame[name])
        elif use == "scale":
            ready[name] = on_scale(frame[name], steps)
        elif use != "dropped":
            ready[name] = words(frame[name]).fillna("(missing)" if use == "category" else "")
    return pd.DataFrame(ready)


def _halved(is_gap: NDArray[np.bool_]) -> NDArray[np.float64]:
    return GAP * is_gap.astype(np.float64)


class NearestRows(KNNImputer):
    """Fills gaps by the mean of the nearest rows, or the nearest value of a column of few."""

    def __init__(self) -> None:
        super().__init__(n_neighbors=N_NEAREST, keep_empty_features=True)

    def fit(self, X: ArrayLike, y: object = None) -> Self:
        """Learn the values of columns, and evenly spaced rows of `X`, (n_rows, n_columns)."""
        rows = np.asarray(X, np.float64)
        super().fit(rows[:: -(-len(rows) // N_DONORS)])
        known = (np.unique(column[~np.isnan(column)]) for column in rows.T)
        most = min(MOST_VALUES, len(rows) // 4)
        self._values = {at: of for at, of in enumerate(known) if 0 < len(of) <= most}
        return self

    def transform(self, X: ArrayLike) -> NDArray[np.float64]:
        """Fill the gaps of `X`, (n_rows, n_columns)."""
        rows = np.asarray(X, np.float64)
        found: NDArray[np.float64] = np.asarray(super().transform(rows), np.float64)
        for at, values in self._values.items():
            is_gap = np.isnan(rows[:, at])
            middles = (values[1:] + values[:-1]) / 2
            found[is_gap, at] = values[np.searchsorted(middles, found[is_gap, at])]
        return found


class TextComponents(TransformerMixin, BaseEstimator):
    """Latent semantic analysis of a column of texts, or of words by their letters.

    All rows have the same norm: 1 for words, and for a few texts that repeat, as categories do. For
    others it is chosen so that the standard deviation of squared distances is √8, as for a
    standardized normal number, but at most √6.
    """

    def __init__(self, n_components: int = 20, *, is_word: bool = False) -> None:
        self.n_components = n_components
        self.is_word = is_word

    def fit(self, X: Iterable[str], y: object = None) -> Self:
        """Learn the words and the components of `X`, texts of shape (n_rows,)."""
        # The default pattern ignores words of one letter, and so all words of some languages.
        unit: dict[str, Any] = {"token_pattern": r"(?u)\b\w+\b"}
        if self.is_word:
            unit = {"analyzer": "char_wb", "ngram_range": (1, 3)}
        self._tfidf, texts = TfidfVectorizer(sublinear_tf=True, **unit), list(X)
        weights = self._tfidf.fit_transform(texts)
        self._svd = None
        self.n_features_out_ = weights.shape[1]
        if weights.shape[1] > self.n_components:
            # A fixed seed: it only starts the power iterations, which converge.
            self._svd = TruncatedSVD(self.n_components, n_iter=10, random_state=0).fit(weights)
            self.n_features_out_ = self.n_components
        self._norm = 1.0
        if not self.is_word and len(set(texts)) > FEW_TEXTS * len(texts):
            factor = np.sqrt(8.0) / max(_deviation(self._directions(weights)), 1e-9)
            self._norm = float(np.sqrt(np.clip(factor, 1.0, MOST_TEXT)))
        return self

    def transform(self, X: Iterable[str]) -> NDArray[np.float64]:
        """Return components of equal norm, (n_rows, n_features_out_); 0 for unknown words."""
        check_is_fitted(self, "n_features_out_")
        return self._norm * self._directions(self._tfidf.transform(X))

    def _directions(self, weights: Any) -> NDArray[np.float64]:
        reduced = weights.toarray() if self._svd is None else self._svd.transform(weights)
        return np.asarray(normalize(reduced, copy=False))

    def get_feature_names_out(self, input_features: object = None) -> NDArray[np.object_]:
        """Return names of the features: text0, text1 and so on."""
        return np.array([f"text{at}" for at in range(self.n_features_out_)], dtype=object)


def _deviation(rows: NDArray[np.float64]) -> float:
    """Return the standard deviation of the squared distances of random pairs of rows."""
    first, second = np.random.RandomState(0).randint(len(rows), size=(2, N_PAIRS))
    is_pair = first != second
    squared = ((rows[first[is_pair]] - rows[second[is_pair]]) ** 2).sum(axis=1)
    return float(squared.std()) if is_pair.any() else 0.0
