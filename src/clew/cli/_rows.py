"""The rows to group: features and ids from arrays and tables, or the distances between them."""

from __future__ import annotations

import io
import re
import shlex
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from hashlib import sha256
from numbers import Real
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array, load_npz

from clew._files import array_errors, content_of, of_spreadsheet
from clew._limits import ALL_PAIRS_ROWS
from clew._validation import seems_distances
from clew.cli._words import counted
from clew.exceptions import FileFormatError, InvalidDataError
from clew.graphs import check_distances, check_triangles, n_rows_of_condensed
from clew.tables import ColumnUse, Table, TableFeatures
from clew.tables._columns import BadCellError, NoFeaturesError
from clew.tables._read import Columns, Format, check_ids, id_text, table_of

Standardize = bool | Literal["auto"]

STDIN = Path("-")
ARRAYS = (".npy", ".npz")
TABLES = (".csv", ".tsv", ".tab", ".txt", ".parquet")
GZIP = ".gz"
#: First bytes of files, by which the format of the standard input is recognized.
MARKS = {b"\x93NUMPY": ".npy", b"PK": ".npz", b"PAR1": ".parquet"}
NUMBERS = "buif"
#: Characters of a cell that are shown, and what stands for a missing value.
MAX_LENGTH, MISSING = 80, "–"


class Rows(NamedTuple):
    """The rows to group."""

    X: NDArray[np.float64] | csr_array
    """Features, (n_rows, n_features), all finite; no columns if answers alone group the rows."""
    ids: list[str]
    """One unique id for each row."""
    has_ids: bool
    """Whether the ids are the file's own; they are row numbers otherwise."""
    frame: pd.DataFrame
    """The columns of a table as they were read; none for an array."""
    columns: tuple[ColumnUse, ...]
    """What each column of the table is used as."""
    notes: list[str]
    """What was assumed, and how each column is used; a sentence each."""
    is_scaled: bool = False
    """Whether the features are on one scale already."""
    is_distances: bool = False
    """Whether `X` holds distances between all pairs of rows in place of features."""
    seems_distances: bool = False
    """Whether the file, read as features, seems to hold distances."""
    folder: Path | None = None
    """Folder of the images, whose ids are their paths in it; None if the rows are not images."""
    pixels: NDArray[np.uint8] | None = None
    """Images that are in no folder, (n_rows, height, width, 1 or 3); None if there are none."""
    texts: list[str] | None = None
    """The text of each row; None if the rows are not texts."""
    are_records: bool = False
    """Whether `X` are the character n-grams of rows that look like records of the same things."""
    n_left_out: int = 0
    """Number of images of the folder that cannot be read."""
    picture: Callable[[int], Path] | None = None
    """Returns the file that shows a row; None: the id of an image is its path in `folder`."""

    @property
    def noun(self) -> str:
        """What a row is."""
        if self.folder is not None or self.pixels is not None:
            return "image"
        return "row" if self.texts is None else "text"

    def line(self, row: int) -> str:
        """Return an item as one line: its id, with its text or its values if it is no image."""
        if self.texts is not None:
            text = " ".join(self.texts[row].split())
            return text if text == self.ids[row] else f"{self.ids[row]}  {text}"
        values = () if self.noun == "image" else self.frame.columns
        shown = ", ".join(f"{name} {cell(self.frame[name].iloc[row])}" for name in values)
        return f"{self.ids[row]}  {shown}" if shown else self.ids[row]

    def path(self, row: int) -> Path:
        """Return the file that shows an image."""
        if self.picture is not None:
            return self.picture(row)
        assert self.folder is not None
        return self.folder / self.ids[row]

    def content_of(self, number: str) -> str:
        """Return a checksum of the row with a number, of rows without ids; a file keeps it."""
        row = int(number)
        if len(self.frame.columns):
            # A column of integers becomes one of floats with its first missing value.
            cells = [float(v) if isinstance(v, Real) else v for v in self.frame.iloc[row]]
            content = "\x1f".join("" if pd.isna(v) else str(v) for v in cells).encode()
        elif isinstance(self.X, np.ndarray):
            # All distances of a row are the same numbers in another order if rows are sorted.
            values = np.sort(self.X[row]) if self.is_distances else self.X[row]
            content = np.asarray(values, np.float64).tobytes()
        else:
            content = self.X[[row]].toarray().tobytes()
        return sha256(content).hexdigest()[:12]

    @classmethod
    def without_columns(
        cls, X: Any, ids: list[str] | None, notes: list[str], **others: Any
    ) -> Self:
        """Return rows that are not of a table; no `X`: rows that answers alone can group."""
        if X is None:
            X, others = np.zeros((len(ids or ()), 0)), others | {"is_scaled": True}
        n = X.shape[0]
        names = [str(row) for row in range(n)] if ids is None else ids
        frame = pd.DataFrame(index=range(n))
        return cls(X, names, ids is not None, frame, (), notes, **others)


def read_items(
    path: Path,
    form: Format | None = None,
    columns: Columns | None = None,
    standardize: bool | str = "auto",
) -> Rows:
    """Read features and ids from a file."""
    kind, content = kind_of(path)
    if kind not in ARRAYS:
        content = content_of(path) if content is None else content
        table = table_of(content, str(path), form or Format(), columns or Columns())
        return from_table(path, table, standardize)
    check_kind_of_array(path, columns)
    with array_errors(path), path.open("rb") if content is None else io.BytesIO(content) as file:
        read = read_npy if kind == ".npy" else partial(_read_npz, names=("X",), what="features")
        X, ids = read(file)
    return _from_array(path, X, ids)


def check_kind_of_array(path: Path, columns: Columns | None) -> None:
    """Refuse names of columns, which an array does not have."""
    if columns not in (None, Columns()):
        raise FileFormatError(f"{path}: columns can be named in a table, not in an array")


def kind_of(path: Path) -> tuple[str, bytes | None]:
    """Return the ending that determines how a file is read, and its content if already read."""
    if path == STDIN:
        content = content_of(path)
        kinds = (kind for mark, kind in MARKS.items() if content.startswith(mark))
        return next(kinds, ".csv"), content
    ending = path.suffix.lower()
    is_packed = ending == GZIP
    if is_packed:
        ending = path.with_suffix("").suffix.lower()
    if ending not in (*ARRAYS, *TABLES):
        raise FileFormatError(
            f"{path}: cannot read files ending in {ending or 'nothing'!r}; "
            f"give one of {', '.join((*ARRAYS, *TABLES))}, or of these with .gz"
            f"{of_spreadsheet(ending)}"
        )
    return ending, content_of(path) if is_packed else None


def from_table(path: Path, table: Table, standardize: bool | Any) -> Rows:
    """Make features of the columns of a table."""
    if len(table.frame) < 2:
        raise InvalidDataError(f"{path} has one row; grouping needs two rows or more")
    recipe = TableFeatures(standardize=standardize)
    try:
        X = recipe.fit_transform(table.frame)
    except BadCellError as error:
        line = f" (line {table.lines[error.row]})" if table.lines else ""
        raise InvalidDataError(f"{path}, row {error.row}{line}, {error.problem}") from error
    except NoFeaturesError as error:
        X = np.zeros((len(table.frame), 0))
        notes = [f"{path}: {error}; answers alone group the rows"]
        rows = Rows.without_columns(X, table.ids, notes, is_scaled=True)
        return rows._replace(frame=table.frame)
    except InvalidDataError as error:
        raise InvalidDataError(f"{path}: {error}") from error
    ids = "" if table.ids is None else f"; ids from {table.id_column or 'the first column'!r}"
    notes = [f"{path}: {note}" for note in table.notes]
    n_used = sum(column.use != "dropped" for column in recipe.columns_)
    features, columns = counted(X.shape[1], "feature"), counted(n_used, "column")
    notes.append(f"{path}: {len(X):,} rows{ids}; {features} from {columns}")
    notes += [f"  {line}" for line in recipe.describe().splitlines()]
    if table.ids is None and (name := _maybe_ids(table.frame, recipe.columns_)):
        notes.append(
            f"  rows are called by their numbers, from 0; if {name!r} holds their ids, add "
            f"--id-column {shlex.quote(name)}"
        )
    rows = Rows.without_columns(X, table.ids, notes, is_scaled=recipe.standardizes_)
    is_square = table.frame.shape[0] == table.frame.shape[1]
    if is_square and all(map(pd.api.types.is_numeric_dtype, table.frame.dtypes)):
        values = table.frame.to_numpy(np.float64, na_value=np.nan)
        rows = rows._replace(seems_distances=seems_distances(values))
    return rows._replace(frame=table.frame, columns=recipe.columns_)


def _maybe_ids(frame: pd.DataFrame, columns: Sequence[ColumnUse]) -> str | None:
    """Name a column that may hold ids: all values differ, and it is not used, or a first text."""
    names = [one.name for one in columns if one.use == "dropped" and one.note != "row numbers"]
    names += [one.name for one in columns[:1] if one.use == "text"]
    values = {str(name): each for name, each in frame.items()}
    return next(
        (name for name in names if values[name].is_unique and values[name].notna().all()), None
    )


def _from_array(path: Path, array: Any, ids: list[str] | None) -> Rows:
    X = _as_features(path, array)
    n = X.shape[0]
    if n < 2:
        raise InvalidDataError(f"{path} has one row; grouping needs two rows or more")
    if ids is not None:
        if len(ids) != n:
            raise InvalidDataError(f"{path} has {n} rows, but {len(ids)} ids")
        check_ids(ids, path=path)
    return Rows.without_columns(X, ids, [], seems_distances=seems_distances(X))


def read_npy(file: BinaryIO) -> tuple[Any, None]:
    stored = np.load(file, allow_pickle=False)
    if isinstance(stored, np.lib.npyio.NpzFile):
        raise ValueError("the content does not match the ending")
    return stored, None


def _read_npz(file: BinaryIO, names: Sequence[str], what: str) -> tuple[Any, list[str] | None]:
    """Read the array of one of some names, or the only one, and the ids beside it."""
    stored = np.load(file, allow_pickle=False)
    if not isinstance(stored, np.lib.npyio.NpzFile):
        raise ValueError("the content does not match the ending")
    if {"format", "shape", "data"} <= set(stored.files):
        if what == "distances":
            raise ValueError(
                "it holds a sparse matrix, but the distances of all pairs are needed; save a dense "
                "one"
            )
        file.seek(0)
        return csr_array(load_npz(file)), None
    ids = next((name for name in stored.files if name in ("id", "ids")), None)
    others = [name for name in stored.files if name != ids]
    found = next((name for name in names if name in others), None)
    # Features beside ids have to be called X.
    if found is None and (len(others) != 1 or (what == "features" and ids is not None)):
        raise ValueError(
            f"it should hold the {what} as {names[0]}, and may hold ids; it has "
            f"{', '.join(stored.files) or 'nothing'}"
        )
    values = stored[others[0] if found is None else found]
    return values, None if ids is None else [id_text(each) for each in stored[ids]]


def _as_features(path: Path, X: Any) -> NDArray[np.float64] | csr_array:
    if X.dtype.kind not in NUMBERS:
        raise FileFormatError(f"{path} holds {X.dtype}, not numbers")
    if X.ndim != 2:
        hint = ""
        if X.ndim == 1:
            hint = "; reshape(-1, 1) makes one feature of it; --distances reads condensed distances"
        raise FileFormatError(
            f"{path} holds an array of shape {X.shape}, but rows by features are two dimensions"
            f"{hint}"
        )
    if 0 in X.shape:
        raise InvalidDataError(f"{path} has {X.shape[0]} rows and {X.shape[1]} features")
    sparse = X.astype(np.float64) if isinstance(X, csr_array) else None
    dense = np.ascontiguousarray(X if sparse is None else sparse.data, dtype=np.float64)
    values = dense.ravel()
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        at = int(bad[0])
        row, column = divmod(at, X.shape[1])
        if sparse is not None:
            row = int(np.searchsorted(sparse.indptr, at, side="right")) - 1
            column = int(sparse.indices[at])
        more = f", and {len(bad) - 1} more like it" if len(bad) > 1 else ""
        raise InvalidDataError(
            f"{path}, row {row}, column {column}: {values[at]} is not a finite number{more}; fill "
            "such values in, or leave the rows or columns out (a table may have missing values)"
        )
    return dense if sparse is None else sparse


def cell(value: Any) -> str:
    """Format a value of a table, shortened if it is long."""
    if value is None or value is pd.NaT or value is pd.NA or value != value:
        return MISSING
    if isinstance(value, float | np.floating):
        return f"{value:.6g}" if abs(float(value)) < 1e6 else f"{value:,.0f}"
    text = " ".join(str(value).split())
    return text if len(text) <= MAX_LENGTH else f"{text[: MAX_LENGTH - 1]}…"


#: Larger arrays are read from the file where they are needed, not as a whole.
MAPPED_BYTES = 2**28
#: Names of the array of distances in a NumPy archive.
NAMES = ("D", "distances", "X")
#: Column names that Parquet's lists get, as `clew.tables` reads them.
OF_LIST = re.compile(r".*\[\d+\]")


#: What a file of distances holds: values, ids if there are any, and notes.
_Given = tuple[NDArray[Any], list[str] | None, list[str]]


def read_distances(path: Path, form: Format | None = None, columns: Columns | None = None) -> Rows:
    """Read distances between all pairs of rows from a file."""
    kind, content = kind_of(path)
    if kind in ARRAYS:
        check_kind_of_array(path, columns)
        values, ids, notes = _distances_of_array(path, kind, content)
    else:
        form, columns = form or Format(), columns or Columns()
        values, ids, notes = _from_table(path, content, form, columns)
    try:
        # Whole numbers of many rows in single precision take half of the memory.
        n = n_rows_of_condensed(len(values)) if values.ndim == 1 else len(values)
        is_whole = values.dtype.kind in "bui" or values.dtype.itemsize < 4
        if is_whole and n > ALL_PAIRS_ROWS:
            values = values.astype(np.float32)
        values, note = _filled(values)
        D = check_distances(values, keep_single=True)
    except (InvalidDataError, TypeError) as error:
        raise InvalidDataError(f"{path}: {error}") from error
    if ids is not None:
        check_ids(ids, path=path)
    some = D[:1000, :1000]
    nearest = some[~np.eye(len(some), dtype=bool)].min()
    sizes = f"distances from {nearest:.4g} to {D.max():.4g}; {check_triangles(D)}"
    notes = [f"{path}: {one}" for one in (f"{len(D):,} rows", *notes, *note, sizes)]
    return Rows.without_columns(D, ids, notes, is_distances=True)


def _distances_of_array(path: Path, kind: str, content: bytes | None) -> _Given:
    is_large = content is None and path.stat().st_size > MAPPED_BYTES
    read: Callable[[BinaryIO], Any] = partial(_read_npz, names=NAMES, what="distances")
    if kind == ".npy":
        read = (lambda _: (np.load(path, mmap_mode="r"), None)) if is_large else read_npy
    with array_errors(path), path.open("rb") if content is None else io.BytesIO(content) as file:
        values, ids = read(file)
    if values.dtype.kind not in NUMBERS:
        raise FileFormatError(f"{path} holds {values.dtype}, not numbers")
    if values.ndim not in (1, 2):
        raise FileFormatError(
            f"{path} holds an array of shape {values.shape}; distances have two dimensions, or "
            "one if they are condensed"
        )
    return values, ids, []


def _from_table(path: Path, content: bytes | None, form: Format, columns: Columns) -> _Given:
    content = content_of(path) if content is None else content
    source = "standard input" if path == STDIN else str(path)
    table = table_of(content, str(path), form, columns)
    if form.header is None and _has_hidden_header(table.frame):
        table = table_of(content, str(path), replace(form, header=True), columns)
    if columns.id_column is None and table.ids is None and _has_hidden_ids(table.frame):
        first = str(table.frame.columns[0])
        wanted = Columns(first, columns.columns, columns.drop)
        table = table_of(content, str(path), form, wanted)
    try:
        values = table.frame.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError) as error:
        raise InvalidDataError(f"{source}: {_not_a_number(table.frame)}") from error
    notes = list(table.notes)
    if 1 in values.shape:  # condensed, as a row or as a column
        return values.ravel(), None, notes
    if values.shape[0] != values.shape[1]:
        return values, table.ids, notes
    order, ids, note = _matched(source, table)
    return values if order is None else values[:, order], ids, [*notes, *note]


def _has_hidden_header(frame: pd.DataFrame) -> bool:
    """Whether the first row names the columns by numbers, so that it was read as a row."""
    n_rows, n_columns = frame.shape
    is_unnamed = [str(name) for name in frame.columns] == [str(at) for at in range(n_columns)]
    if not is_unnamed or n_rows < 3:
        return False
    # Either ids above all columns, or ids above and in the first column, and an empty corner.
    return n_rows == n_columns + 1 or (n_rows == n_columns and bool(frame.isna().iat[0, 0]))


def _has_hidden_ids(frame: pd.DataFrame) -> bool:
    """Whether the first column holds the names of the others."""
    n_rows, n_columns = frame.shape
    if n_columns != n_rows + 1:
        return False
    return bool(frame.iloc[:, 0].astype(str).tolist() == [str(name) for name in frame.columns[1:]])


def _matched(source: str, table: Table) -> tuple[NDArray[np.int64] | None, Any, list[str]]:
    """Return the columns in the order of the rows, the ids, and sentences on what was assumed."""
    names = [str(name) for name in table.frame.columns]
    is_counted = names == [str(at) for at in range(len(names))] or all(map(OF_LIST.match, names))
    if table.ids is None:
        return None, None if is_counted else names, []
    if is_counted or names == table.ids:
        return None, table.ids, []
    if sorted(names) == sorted(table.ids):
        at = {name: position for position, name in enumerate(names)}
        order = np.array([at[name] for name in table.ids], dtype=np.int64)
        return order, table.ids, ["columns are brought to the order of the rows, by their ids"]
    row = next(row for row, name in enumerate(table.ids) if name != names[row])
    raise InvalidDataError(
        f"{source}: rows and columns of distances must have the same ids, but row {row} is "
        f"{table.ids[row]!r} and column {row} {names[row]!r}"
    )


def _not_a_number(frame: pd.DataFrame) -> str:
    """Name the first cell that is not a number."""
    for name in frame.columns:
        numbers = pd.to_numeric(frame[name], errors="coerce")
        wrong = np.flatnonzero(numbers.isna() & frame[name].notna())
        if len(wrong):
            value = str(frame[name].iloc[wrong[0]])[:40]
            return f"distances must be numbers, but row {wrong[0]}, column {name!r} is {value!r}"
    return "distances must be numbers"


def _filled(values: NDArray[Any]) -> tuple[NDArray[Any], list[str]]:
    """Fill an empty triangle of a square matrix from the other one."""
    if values.ndim == 1 or values.shape[0] != values.shape[1]:
        return values, []
    if not _is_empty(values[0, 1:]) and not _is_empty(values[1:, 0]):
        return values, []
    upper, lower = np.triu(values, 1), np.tril(values, -1)
    above, below = _is_empty(upper), _is_empty(lower)
    if above == below:
        return values, []
    half = lower if above else upper
    note = f"only the {'lower' if above else 'upper'} triangle is filled; the other is its mirror"
    diagonal = np.nan_to_num(np.diagonal(values).astype(np.float64))
    return half + half.T + np.diag(diagonal), [note]


def _is_empty(values: NDArray[Any]) -> bool:
    """Whether all entries are 0 or missing."""
    return not np.nan_to_num(values.astype(np.float64), posinf=1.0).any()
