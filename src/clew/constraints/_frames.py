"""The methods of `Constraints` that convert to and from pandas data frames.

pandas is imported only here, and only by `to_frame`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from clew.constraints._ids import rows_and_ids
from clew.constraints._records import RecordReader, column_names, records
from clew.exceptions import MissingDependencyError

if TYPE_CHECKING:
    import pandas as pd

    from clew.constraints._constraints import Constraints

__all__ = ["from_frame", "to_frame"]


def to_frame(self: Constraints) -> pd.DataFrame:
    """Make a pandas data frame with one row per answer and the columns of `to_csv`.

    Returns
    -------
    pandas.DataFrame
        The column k, or id_k, is missing (NA) for pairs.

    Raises
    ------
    MissingDependencyError
        If pandas is not installed.

    Examples
    --------
    >>> from clew import Constraints
    >>> frame = Constraints.from_pairs(must_link=[(0, 1)], n_samples=3).to_frame()
    >>> frame.loc[0, "answer"]
    'same'
    >>> len(Constraints.from_frame(frame, n_samples=3))
    1
    """
    try:
        import pandas as pd
    except ImportError as error:
        raise MissingDependencyError(
            "to_frame needs pandas, which is not installed: pip install pandas"
        ) from error
    names = column_names(self)
    columns = list(zip(*records(self), strict=True)) or [()] * len(names)
    types = {"i": "int64", "j": "int64", "k": "Int64", "weight": "float64"}
    types |= dict.fromkeys(("id_i", "id_j", "id_k"), _type_of(self.ids or ()))
    return pd.DataFrame({
        name: pd.Series(values, dtype=types.get(name, "str"))
        for name, values in zip(names, columns, strict=True)
    })  # fmt: skip


def from_frame(
    cls: type[Constraints],
    frame: pd.DataFrame,
    *,
    n_samples: int | None = None,
    ids: Iterable[object] | None = None,
) -> Constraints:
    """Read answers from a data frame in the form that `to_frame` makes.

    Parameters
    ----------
    frame : pandas.DataFrame
        Its columns are those of `to_csv`; annotator, weight and origin may be omitted,
        and k or id_k if there are only pairs. Its index is not used.
    n_samples : int, default=None
        Number of rows of the data. May be omitted if `ids` is given.
    ids : sequence, array, pandas Index or Series of length n_samples, default=None
        The id of each row of the data, in the order of the rows: for example, the index of the data
        frame of the features. See `read_csv`.

    Returns
    -------
    Constraints
        The answers, with `ids` if given.

    Raises
    ------
    InvalidConstraintsError
        If a column is missing or a row is invalid; the message has its number.

    Warns
    -----
    IgnoredColumnsWarning
        If there are columns that are not read.

    Examples
    --------
    >>> import pandas as pd
    >>> from clew import Constraints
    >>> X = pd.DataFrame({"length": [5.1, 4.9, 7.0]}, index=["a", "b", "c"])
    >>> answers = pd.DataFrame(
    ...     {
    ...         "kind": "pair",
    ...         "id_i": ["a", "c"],
    ...         "id_j": ["b", "a"],
    ...         "answer": ["same", "different"],
    ...     }
    ... )
    >>> Constraints.from_frame(answers, ids=X.index).pairs
    array([[0, 1],
           [0, 2]])
    """
    n, row_ids = rows_and_ids(n_samples, ids)
    reader = RecordReader(n, row_ids)
    reader.set_columns(list(frame.columns), lambda _: "frame")
    columns = [frame.iloc[:, at] for at in range(frame.shape[1])]
    # pandas has several markers of missing values: replace them by None.
    reader.add(
        [column.astype(object).where(column.notna(), None).tolist() for column in columns],
        lambda at: f"frame, row {at}",
    )
    reader.warn_of_ignored("frame")
    return cls._from_tables(n, *reader.result(), row_ids)


def _type_of(ids: Sequence[object]) -> str:
    kinds = set(map(type, ids))
    if kinds == {int} and all(-(2**53) < number < 2**53 for number in ids):  # type: ignore[operator]
        return "Int64"
    return "str" if kinds <= {str} else "object"
