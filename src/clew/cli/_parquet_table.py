"""Tables of numbers in Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clew.cli._csv_table import is_id
from clew.exceptions import FileFormatError, MissingDependencyError

__all__ = ["ParquetTable", "read_parquet_table"]

PANDAS_INDEX = "__index_level_0__"


class ParquetTable(NamedTuple):
    """What a Parquet file holds."""

    X: NDArray[np.float64]
    names: list[str]
    ids: list[str] | None


def read_parquet_table(path: Path) -> ParquetTable:
    """Read columns of numbers, and of lists of as many numbers each, and ids.

    Raises
    ------
    FileFormatError
        If the file is damaged, or a column holds something else; the message names it.
    MissingDependencyError
        If pyarrow is not installed.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingDependencyError(
            f"{path}: reading Parquet needs pyarrow; install it with pip install 'clew[scale]', "
            "or save the table as .csv or .npy"
        ) from error
    try:
        table = pq.ParquetFile(path).read()
    except pa.ArrowException as error:
        raise FileFormatError(f"{path} cannot be read as Parquet: {error}") from error
    parts: list[NDArray[np.float64]] = []
    names: list[str] = []
    ids: list[str] | None = None
    for name, column in zip(table.column_names, table.columns, strict=True):
        if is_id(name):
            if ids is not None:
                raise FileFormatError(f"{path}: two columns are named {name!r}")
            ids = ["" if value is None else str(value) for value in column.to_pylist()]
        else:
            part = _numbers(path, name, column)
            parts.append(part)
            width = part.shape[1]
            names += [name] if width == 1 else [f"{name}[{at}]" for at in range(width)]
    X = np.hstack(parts) if parts else np.empty((table.num_rows, 0))
    return ParquetTable(X, names, ids)


def _numbers(path: Path, name: str, column: Any) -> NDArray[np.float64]:
    """Turn a column into an array (n_rows, width); a missing value becomes NaN."""
    import pyarrow.types as kinds

    if name == PANDAS_INDEX:
        raise FileFormatError(
            f"{path}: column {name!r} is the index of a pandas table; name the index id, or save "
            "without it"
        )
    kind = column.type
    is_list = kinds.is_list(kind) or kinds.is_large_list(kind) or kinds.is_fixed_size_list(kind)
    inner = kind.value_type if is_list else kind
    if not (kinds.is_integer(inner) or kinds.is_floating(inner) or kinds.is_boolean(inner)):
        raise FileFormatError(
            f"{path}: column {name!r} holds {inner}, not numbers; turn it into numbers, name it "
            "id, or leave it out"
        )
    values = column.to_pylist()
    if not is_list:
        return np.array(values, dtype=np.float64).reshape(len(values), 1)
    widths = {-1 if value is None else len(value) for value in values}
    if len(widths) > 1 or -1 in widths:
        raise FileFormatError(f"{path}: the lists in column {name!r} are not all of one length")
    return np.array(values, dtype=np.float64).reshape(len(values), max(widths, default=0))
