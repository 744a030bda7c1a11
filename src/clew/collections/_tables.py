"""Items from tables, the boxes of COCO, and arrays of vectors or distances."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clew._files import array_errors, content_of, decoded, json_objects, needs
from clew.collections._files import ENDINGS, FileFacts, kind_of_name
from clew.collections.project import refuse_lacking
from clew.exceptions import FileFormatError, InvalidDataError
from clew.items import Item, LeftOut
from clew.tables._read import Columns, Format, check_ids, id_text, table_of

#: Columns with a meaning of their own, by what they hold; case does not matter.
PATHS: Final = ("path", "file", "filename", "file_name", "filepath", "file_path", "image", "sound")
TEXTS: Final = ("text",)
BOXES: Final = (
    ("x", "y", "width", "height"), ("x", "y", "w", "h"),
    ("bbox_x", "bbox_y", "bbox_width", "bbox_height"),
)  # fmt: skip
SPANS: Final = (("start", "end"), ("start_s", "end_s"), ("begin", "end"))
JSON_LINES: Final = (".jsonl", ".ndjson")


class Sheet(NamedTuple):
    """A table of items before its columns are interpreted."""

    ids: list[str]
    cells: dict[str, list[Any]]
    """Values of each column: str, int, float, bool or None."""
    lines: Sequence[int]
    """Line of the file on which each row begins, or row numbers from 1."""
    notes: tuple[str, ...] = ()


def read_sheet(path: Path, form: Format, columns: Columns) -> Sheet:
    """Read a table whose rows have ids."""
    if path.suffix.lower() in JSON_LINES:
        return _json_lines(path)
    table = table_of(content_of(path), str(path), form, columns)
    if table.ids is None:
        alone = [
            str(name) for name, each in table.frame.items() if each.is_unique and each.notna().all()
        ]
        which = f"such as {alone[0]!r}" if alone else "but no column has another value in each row"
        raise InvalidDataError(
            f"{path} has no column of ids; add a column id whose values are unique, or name one "
            f"with --id-column of clew init and clew add, {which}"
        )
    cells = {str(name): list(map(plain, column.tolist())) for name, column in table.frame.items()}
    lines = table.lines or range(1, len(table.ids) + 1)
    return Sheet(table.ids, cells, lines, table.notes)


def plain(value: Any) -> Any:
    """Return a cell as JSON has it: missing values are None, dates are ISO 8601."""
    if value is None or value is pd.NaT or value is pd.NA or value != value:
        return None
    if isinstance(value, bool | str | int):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            return str(value)
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, datetime.datetime | datetime.date):
        return value.isoformat()
    return str(value)


def _json_lines(path: Path) -> Sheet:
    records = list(json_objects(path))
    for line, record in records:
        if record.get("id") in (None, ""):
            raise FileFormatError(
                f'{path}, line {line}: expected an object with an id, {{"id": …}}'
            )
    ids, lines = [id_text(record["id"]) for _, record in records], [line for line, _ in records]
    check_ids(ids, lines, path)
    names = dict.fromkeys(name for _, record in records for name in record if name != "id")
    cells = {name: [record.get(name) for _, record in records] for name in names}
    return Sheet(ids, cells, lines)


def items_of_sheet(
    path: Path,
    sheet: Sheet,
    root: Path,
    kind: str | None,
    facts_of: Callable[[Sequence[str]], Mapping[str, FileFacts | LeftOut]],
) -> tuple[list[Item], list[LeftOut]]:
    """Items of a table, and those left out; a column `path` makes media, `text` texts."""
    rest = dict(sheet.cells)
    lower = {name.lower(): name for name in rest}
    if "kind" in rest and {"columns", "meta"} & rest.keys():
        return _own_items(path, sheet, facts_of)
    wants_media = kind in (None, *ENDINGS)
    named = next((lower[name] for name in PATHS if name in lower), None) if wants_media else None
    if named is not None:
        regions = _regions(path, sheet, lower, rest)
        return _media(path, sheet, root, kind, rest.pop(named), regions, rest, facts_of)
    texts = next((lower[name] for name in TEXTS if name in lower), None)
    if texts is not None and kind in (None, "text"):
        return _texts(sheet, rest.pop(texts), rest)
    if kind not in (None, "row"):
        raise FileFormatError(
            f"{path} has no column {'text' if kind == 'text' else 'path'}, which --kind needs; its "
            f"columns are {', '.join(rest)[:200]}"
        )
    rows = [{name: column[at] for name, column in rest.items()} for at in range(len(sheet.ids))]
    return [
        Item(name, "row", columns=row, hash=hash_of(row))
        for name, row in zip(sheet.ids, rows, strict=True)
    ], []


def hash_of(content: Mapping[str, Any] | str) -> str:
    """Return the hash of a row or of a text."""
    text = content if isinstance(content, str) else json.dumps(content, sort_keys=True)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _meta(cells: Mapping[str, list[Any]], at: int) -> dict[str, Any]:
    return {name: column[at] for name, column in cells.items() if column[at] is not None}


def _texts(
    sheet: Sheet, texts: list[Any], rest: Mapping[str, list[Any]]
) -> tuple[list[Item], list[LeftOut]]:
    items, left_out = [], []
    for at, name in enumerate(sheet.ids):
        text = "" if texts[at] is None else str(texts[at]).strip()
        if text:
            items.append(Item(name, "text", text=text, meta=_meta(rest, at), hash=hash_of(text)))
        else:
            left_out.append(LeftOut(name, f"line {sheet.lines[at]}: the text is empty"))
    return items, left_out


def _regions(
    path: Path, sheet: Sheet, lower: Mapping[str, str], rest: dict[str, list[Any]]
) -> list[tuple[float, ...] | None]:
    """Take the columns of regions out of the table, if it has them."""
    for wanted in (*BOXES, *SPANS):
        if all(name in lower for name in wanted):
            columns = [rest.pop(lower[name]) for name in wanted]
            regions = zip(*columns, strict=True)
            return [
                _region(path, sheet.lines[at], values, wanted) for at, values in enumerate(regions)
            ]
    return [None] * len(sheet.ids)


def _region(
    path: Path, line: int, values: tuple[Any, ...], names: Sequence[str]
) -> tuple[float, ...] | None:
    if all(value is None for value in values):
        return None
    try:
        return tuple(plain(float(value)) for value in values)
    except (TypeError, ValueError):
        raise FileFormatError(
            f"{path}, line {line}: {', '.join(names)} must be numbers, or all of them empty; got "
            f"{', '.join(map(str, values))[:80]}"
        ) from None


def relative_path(name: object, folder: Path, root: Path) -> str:
    """Path of a file, relative to the root; tables name it from their folder, or from the root."""
    text = str(name).strip().replace("\\", "/")
    if not text or "\0" in text:
        raise ValueError("the path is empty" if not text else "the path is not valid")
    there = folder / text
    if not there.exists() and (root / text).exists():
        there = root / text
    full = Path(_normal(there))
    try:
        return full.relative_to(_normal(root)).as_posix()
    except ValueError:
        raise ValueError(f"{text} lies outside of {root}, the folder of the collection") from None


def _normal(path: Path) -> str:
    import os

    # The folder is resolved, not the file: a link keeps its name, and is checked when it is read.
    return os.path.join(os.path.realpath(path.parent), path.name)


def _media(
    path: Path,
    sheet: Sheet,
    root: Path,
    kind: str | None,
    names: list[Any],
    regions: list[tuple[float, ...] | None],
    rest: Mapping[str, list[Any]],
    facts_of: Callable[[Sequence[str]], Mapping[str, FileFacts | LeftOut]],
) -> tuple[list[Item], list[LeftOut]]:
    left_out: list[LeftOut] = []
    paths: dict[int, str] = {}
    for at, name in enumerate(names):
        try:
            paths[at] = relative_path(name or "", path.parent, root)
        except ValueError as error:
            left_out.append(LeftOut(sheet.ids[at], f"line {sheet.lines[at]}: {error}"))
    facts = facts_of(list(dict.fromkeys(paths.values())))
    items = []
    for at, name in paths.items():
        found = facts[name]
        of_kind = kind or kind_of_name(name)
        if isinstance(found, LeftOut):
            left_out.append(LeftOut(sheet.ids[at], f"{name}: {found.reason}"))
        elif of_kind is None:
            left_out.append(LeftOut(sheet.ids[at], f"{name}: is neither image, sound nor text"))
        else:
            meta = {"date": found.date} if found.date else {}
            try:
                items.append(
                    Item(
                        sheet.ids[at], of_kind, path=name, region=regions[at],  # type: ignore[arg-type]
                        meta=meta | _meta(rest, at), hash=found.hash,
                    )
                )  # fmt: skip
            except InvalidDataError as error:
                left_out.append(LeftOut(sheet.ids[at], f"line {sheet.lines[at]}: {error}"))
    return items, left_out


def _own_items(
    path: Path, sheet: Sheet, facts_of: Callable[[Sequence[str]], Mapping[str, FileFacts | LeftOut]]
) -> tuple[list[Item], list[LeftOut]]:
    """Return the items of items.jsonl, as clew wrote it; files are looked for, not required."""
    paths = [name for name in sheet.cells.get("path", ()) if name is not None]
    facts = facts_of(list(dict.fromkeys(paths)))
    items, left_out = [], []
    for at, name in enumerate(sheet.ids):
        fields = {each: column[at] for each, column in sheet.cells.items()}
        found = facts.get(fields.get("path") or "")
        if isinstance(found, LeftOut):
            left_out.append(LeftOut(name, f"{fields['path']}: {found.reason}"))
        region = fields.get("region")
        try:
            items.append(
                Item(
                    name, fields["kind"], path=fields.get("path"), text=fields.get("text"),
                    region=None if region is None else tuple(region),
                    columns=fields.get("columns") or {}, meta=fields.get("meta") or {},
                    hash=fields.get("hash"), set_aside=fields.get("set_aside"),
                )
            )  # fmt: skip
        except (InvalidDataError, TypeError) as error:
            raise FileFormatError(f"{path}, line {sheet.lines[at]}: {error}") from error
    return items, left_out


def texts_of_lines(path: Path, encoding: str | None) -> tuple[list[Item], list[str]]:
    """Return an item for each line of a file of texts; the text is the id, repeats are left out."""
    from clew.features._read import text_lines

    ids, texts, n_repeated = text_lines(path, encoding)
    items = [
        Item(name, "text", text=text, hash=hash_of(text))
        for name, text in zip(ids, texts, strict=True)
    ]
    notes = [f"{n_repeated:,} lines repeat others and are left out"] * bool(n_repeated)
    return items, notes


#: Fields of an annotation that become `meta` under their own names.
KEPT = ("score", "individual", "track_id", "name", "attributes")


def is_coco(path: Path) -> bool:
    """Whether a file is one of COCO, by its ending and its keys."""
    if path.suffix.lower() != ".json":
        return False
    with path.open("rb") as file:
        return b'"annotations"' in file.read() if path.stat().st_size < 1 << 30 else False


def items_of_coco(
    path: Path, root: Path, facts_of: Callable[[Sequence[str]], Mapping[str, FileFacts | LeftOut]]
) -> tuple[list[Item], list[LeftOut], list[str]]:
    """Return items, a box each, "img/1.jpg#17" by image and annotation, those left out, notes."""
    images, annotations, categories = _parts(path)
    left_out: list[LeftOut] = []
    paths: dict[Any, str] = {}
    reasons: dict[Any, str] = {}
    for key, image in images.items():
        try:
            paths[key] = _found(image.get("file_name"), path.parent, root)
        except ValueError as error:
            reasons[key] = str(error)
    used = {each.get("image_id") for each in annotations}
    facts = facts_of([name for key, name in paths.items() if key in used])
    items: list[Item] = []
    for each in annotations:
        key = each.get("image_id")
        name = paths.get(key, str(images.get(key, {}).get("file_name", key)))
        item_id = f"{name}#{each['id']}"
        found = facts.get(name)
        if not isinstance(found, FileFacts):
            why = found.reason if found is not None else reasons.get(key, "there is no such image")
            left_out.append(LeftOut(item_id, why))
            continue
        meta: dict[str, Any] = {"date": found.date} if found.date else {}
        meta |= {of: plain(images[key][of]) for of in ("date_captured",) if images[key].get(of)}
        if (category := categories.get(each.get("category_id"))) is not None:
            meta["category"] = category
        meta |= {of: each[of] for of in KEPT if each.get(of) is not None}
        try:
            region = tuple(plain(float(value)) for value in each["bbox"])
            items.append(
                Item(item_id, "image", path=name, region=region, meta=meta, hash=found.hash)
            )
        except (KeyError, TypeError, ValueError, InvalidDataError) as error:
            problem = "has no bbox" if isinstance(error, KeyError) else str(error)
            left_out.append(LeftOut(item_id, problem))
    n_without = len(images) - len(used & images.keys())
    what = (
        "image without boxes is not an item"
        if n_without == 1
        else "images without boxes are not items"
    )
    notes = [f"{n_without:,} {what}"] if n_without else []
    return items, left_out, notes


def _found(name: object, folder: Path, root: Path) -> str:
    """Return the path of an image, which lies beside the file, above it, or in images/."""
    for place in (folder, folder.parent, folder / "images", folder.parent / "images"):
        if name and (place / str(name)).is_file():
            return relative_path(name, place, root)
    return relative_path(name or "", folder, root)


def _parts(path: Path) -> tuple[dict[Any, Any], list[Any], dict[Any, str]]:
    try:
        stored = json.loads(content_of(path))
    except (ValueError, RecursionError) as error:
        raise FileFormatError(f"{path}: not JSON: {error}") from error
    parts = [stored.get(name) if isinstance(stored, dict) else None
             for name in ("images", "annotations")]  # fmt: skip
    if not all(isinstance(part, list) for part in parts):
        raise FileFormatError(
            f"{path}: a file of COCO is an object with the lists images and annotations"
        )
    images, annotations = parts
    try:
        by_id = {each["id"]: each for each in images or ()}
        categories = {each["id"]: str(each["name"]) for each in stored.get("categories") or ()}
        ids = [each["id"] for each in annotations or ()]
    except (KeyError, TypeError) as error:
        raise FileFormatError(f"{path}: {error} is missing in an image, box or category") from error
    if len(set(ids)) < len(ids):
        twice = next(each for each in ids if ids.count(each) > 1)
        raise FileFormatError(f"{path}: two annotations have the id {twice!r}; make them unique")
    return by_id, list(annotations or ()), categories


ARRAYS: Final = (".npy", ".npz")
#: Rows in which numbers are looked at one time.
BLOCK: Final = 1 << 14


class Rows(NamedTuple):
    """Rows of numbers with their ids."""

    values: NDArray[Any]
    """(n, n_features), or distances, (n, n)."""
    ids: list[str] | None
    """None if the file names no ids."""


def read_vectors(path: Path, ids: Path | None = None) -> Rows:
    """Read vectors from .npy, .npz or Parquet with a column of lists."""
    rows = _parquet(path) if path.suffix.lower() == ".parquet" else _array(path, "X")
    values = rows.values
    if values.ndim != 2 or values.dtype.kind not in "fiub" or 0 in values.shape:
        raise FileFormatError(
            f"{path} holds an array of {values.dtype} of shape {values.shape}; vectors are "
            "numbers, rows by features"
        )
    if values.dtype.kind != "f":
        values = values.astype(np.float32)
    for start in range(0, len(values), BLOCK):
        bad = np.argwhere(~np.isfinite(values[start : start + BLOCK]))
        if len(bad):
            row, column = bad[0]
            raise InvalidDataError(
                f"{path}, row {start + row}, column {column}: "
                f"{values[start + row, column]} is not a finite number"
            )
    return _named(path, Rows(values, rows.ids), ids, len(values))


def read_square(path: Path, ids: Path | None = None) -> Rows:
    """Read distances between all pairs of rows from .npy or .npz, square or condensed."""
    from clew.graphs import check_distances  # loads scikit-learn

    rows = _array(path, "D")
    try:
        values = np.asarray(check_distances(rows.values))
    except InvalidDataError as error:
        raise InvalidDataError(f"{path}: {error}") from error
    return _named(path, Rows(values, rows.ids), ids, len(values))


def _named(path: Path, rows: Rows, ids: Path | None, n: int) -> Rows:
    """Name the rows by a file of ids, and check the ids."""
    if ids is not None and rows.ids is not None:
        raise FileFormatError(f"{path} names its rows already; leave --ids out")
    names = rows.ids if ids is None else read_ids(ids)
    if names is None:
        return rows
    if len(names) != n:
        raise InvalidDataError(f"{ids or path} has {len(names):,} ids for {n:,} rows of {path}")
    check_ids(names, path=ids or path)
    return Rows(rows.values, names)


def read_ids(path: Path) -> list[str]:
    """Read ids: one on each line of a text, or the column of ids of a table."""
    content = content_of(path)
    if path.suffix.lower() != ".parquet":
        try:
            lines = decoded(content, None).splitlines()
        except FileFormatError as error:
            raise FileFormatError(f"{path}, {error}") from error
        if not any(mark in lines[0] for mark in ",;\t") if lines else True:
            names = [line.strip().strip('"') for line in lines]
            if names and names[0].lower() in ("id", "ids"):
                names = names[1:]
            while names and not names[-1]:
                names.pop()
            check_ids(names, path=path)
            return names
    table = table_of(content, str(path), Format(), Columns())
    if table.ids is None:
        raise FileFormatError(f"{path} has no column of ids; name one of its columns id")
    return table.ids


def _array(path: Path, name: str) -> Rows:
    with array_errors(path):
        stored = np.load(path, allow_pickle=False, mmap_mode="r")
        if not isinstance(stored, np.lib.npyio.NpzFile):
            return Rows(stored, None)
        with stored:
            values = name if name in stored.files else next(iter(stored.files), name)
            ids = next((each for each in ("ids", "id") if each in stored.files), None)
            names = None if ids is None else [id_text(each) for each in stored[ids].tolist()]
            return Rows(stored[values], names)


def _parquet(path: Path) -> Rows:
    """Read a column of lists of equally many numbers, and a column id if there is one."""
    with needs("reading Parquet needs pyarrow; install it with pip install 'clew[parquet]'"):
        import pyarrow as pa
        import pyarrow.parquet as pq
        import pyarrow.types as kinds
    try:
        table = pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        raise FileFormatError(f"{path} cannot be read as Parquet: {error}") from error
    lists = [
        field.name
        for field in table.schema
        if kinds.is_list(field.type)
        or kinds.is_large_list(field.type)
        or kinds.is_fixed_size_list(field.type)
    ]
    if len(lists) != 1:
        raise FileFormatError(
            f"{path} has {len(lists)} columns of lists ({', '.join(lists)}); vectors are one such "
            "column"
        )
    column = table[lists[0]].combine_chunks()
    flat = column.flatten().to_numpy(zero_copy_only=False)
    if len(column) == 0 or column.null_count or len(flat) % len(column):
        raise FileFormatError(f"{path}: the lists in {lists[0]!r} are not all of one length")
    values = flat.reshape(len(column), -1)
    lengths = column.value_lengths() if hasattr(column, "value_lengths") else None
    if lengths is not None and len(set(lengths.to_pylist())) > 1:
        raise FileFormatError(f"{path}: the lists in {lists[0]!r} are not all of one length")
    ids = next((name for name in table.column_names if name.lower() == "id"), None)
    return Rows(values, None if ids is None else list(map(id_text, table[ids].to_pylist())))


def positions(ids: Sequence[str], names: Sequence[str], path: Path) -> NDArray[np.int64]:
    """Return the row of each id of a collection in a file; refuse ids that it lacks."""
    row_of = {name: row for row, name in enumerate(names)}
    refuse_lacking(ids, row_of, f"row in {path}", "give each item a row")
    return np.array([row_of[name] for name in ids], np.int64)
