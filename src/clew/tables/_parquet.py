"""Parquet files as data frames."""

from __future__ import annotations

import io
from typing import Any

import pandas as pd

from clew.exceptions import FileFormatError, MissingDependencyError

__all__ = ["read_parquet"]


def read_parquet(content: bytes) -> pd.DataFrame:
    """Read a table; a column of lists of equally many numbers becomes as many columns.

    Parameters
    ----------
    content : bytes
        The file.

    Returns
    -------
    DataFrame
        A column of lists ``v`` becomes ``v[0]``, ``v[1]``, … If pandas wrote one column as the
        index, its ``attrs["index"]`` is the name of that column.

    Raises
    ------
    FileFormatError
        If the file is damaged, or a column holds something other than numbers, dates, words or
        lists of numbers.
    MissingDependencyError
        If pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingDependencyError(
            "reading Parquet needs pyarrow; install it with pip install 'clew[parquet]', or save "
            "the table as .csv or .npy"
        ) from error
    try:
        table = pq.ParquetFile(io.BytesIO(content)).read()
    except (pa.ArrowException, OSError) as error:
        raise FileFormatError(f"the file cannot be read as Parquet: {error}") from error
    parts = [
        _columns(name, column)
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    frame = pd.concat(parts, axis=1) if parts else pd.DataFrame(index=range(table.num_rows))
    index = (table.schema.pandas_metadata or {}).get("index_columns", [])
    if len(index) == 1 and isinstance(index[0], str):
        frame.attrs["index"] = index[0]
    return frame


def _columns(name: str, column: Any) -> pd.DataFrame:
    """Return a column as a frame: one column, or one for each position in its lists."""
    import pyarrow.types as kinds

    kind = column.type
    is_list = kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind)
    inner = kind.value_type if is_list else kind
    if kinds.is_nested(inner) or kinds.is_binary(inner) or kinds.is_large_binary(inner):
        raise FileFormatError(f"column {name!r} holds {kind}, which cannot be a feature; drop it")
    if not is_list:
        return pd.DataFrame({name: column.to_pandas().reset_index(drop=True)})
    values = column.to_pylist()
    widths = {-1 if value is None else len(value) for value in values}
    if len(widths) > 1 or -1 in widths:
        raise FileFormatError(f"the lists in column {name!r} are not all of one length")
    return pd.DataFrame(values, columns=[f"{name}[{at}]" for at in range(max(widths, default=0))])
