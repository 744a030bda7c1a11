"""The rows to group: features, distances or media; the person is asked if unclear."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, fields
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import click
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from clew._files import SEPARATORS, are_numbers_between_spaces, atomic_write
from clew.cli._rows import STDIN, Rows, Standardize, read_distances, read_items
from clew.cli._words import Words, counted, printable
from clew.collections import Collection, read_collection
from clew.collections._files import kind_of_folder, kind_of_name
from clew.collections._tables import BOXES, PATHS, SPANS, read_ids
from clew.constraints._files import Layout, named_rows
from clew.exceptions import FileFormatError, InvalidDataError
from clew.features import compute, read_images, read_texts
from clew.features._read import find_images
from clew.items import Item, LeftOut, Media
from clew.tables._read import Columns, Format, read_table


@dataclass(frozen=True, slots=True, kw_only=True)
class RowsJob:
    """Options of all commands that read rows; the help of the commands describes them."""

    items: Path
    distances: bool | None
    ids: Path | None
    id_column: str | None
    columns: list[str] | None
    drop: list[str] | None
    sep: str | None
    decimal: str | None
    header: bool | None
    encoding: str | None
    seed: int
    jobs: int
    quiet: bool
    verbose: bool
    standardize: str = "auto"
    model: str = "auto"
    """Name of the features of images and texts."""
    media: Path | None = None
    """Folder of the media that show the rows of an array."""
    answers_alone: bool = False
    """Whether `items` are answers, and the rows are those that they name."""
    project: Path | None = None
    """Folder of the project whose items are the rows; `items` is then that folder too."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Make a job of the options by name; a command may lack those that have defaults."""
        names = [f.name for f in fields(cls) if f.default is MISSING or f.name in options]
        return cls(**{name: options[name] for name in names})

    @property
    def layout(self) -> Layout:
        """The columns of a table of answers, of commands that read one."""
        return Layout()

    @property
    def format(self) -> Format:
        """How a delimited table is read."""
        return Format(self.sep, self.decimal, self.header, self.encoding)

    @property
    def columns_wanted(self) -> Columns:
        """Which columns of a table are used."""
        return Columns(self.id_column, self.columns, self.drop or ())

    @property
    def standardizes(self) -> Standardize:
        """Parameter `standardize` of the estimators."""
        return "auto" if self.standardize == "auto" else self.standardize == "yes"


LOOK = "is square and symmetric, with zeros on its diagonal"


def read_rows(job: RowsJob, words: Words) -> Rows:
    """Read features or distances from a file, or images from a folder, and say what was assumed."""
    items = _rows(job, words)
    for note in items.notes:
        words.say(note)
    return items


def with_records(
    items: Rows, n_groups: int | None, words: Words, *, is_dense: bool = False
) -> Rows:
    """Replace the features of a table of records by the n-grams of their characters."""
    from clew.cluster.guided._records import reduced
    from clew.worker._rows import records_of

    if items.is_distances or items.folder is not None or items.are_records:
        return items
    frame = items.frame if items.texts is None else pd.DataFrame({"text": items.texts})
    found = records_of(frame, n_groups)
    if found is None:
        return items
    X, note = found
    words.say(note)
    return items._replace(X=reduced(X) if is_dense else X, are_records=True, is_scaled=True)


def _rows(job: RowsJob, words: Words) -> Rows:
    if job.project is not None:
        from clew.cli._project_rows import rows_of_project

        return rows_of_project(job.project, words, job.standardizes, job.columns_wanted.drop)
    if job.answers_alone:
        return _of_answers(job.items, job.ids, job.layout)
    if job.items.is_dir():
        return images_of(job, words)
    if seems_texts(job) and not job.distances and job.media is None:
        return texts_of(job, words)
    if (named := _items_that_are_files(job)) is not None:
        return _of_media(job, words, named)
    if job.model != "auto":
        raise InvalidDataError(
            f"{job.items} holds rows, which are features themselves; --features {job.model} is for "
            "folders of images and files of texts"
        )
    wanted = job.items, job.format, job.columns_wanted
    items = read_distances(*wanted) if job.distances else read_items(*wanted, job.standardizes)
    if items.seems_distances and job.distances is None and _are_distances(job.items, words):
        items = read_distances(*wanted)
    if job.ids is not None:
        if items.has_ids:
            raise InvalidDataError(f"{job.items} names its rows already; leave --ids out")
        names = read_ids(job.ids)
        if len(names) != items.X.shape[0]:
            raise InvalidDataError(
                f"{job.ids} has {counted(len(names), 'id')}, but {job.items} has "
                f"{items.X.shape[0]:,} rows"
            )
        items = items._replace(ids=names, has_ids=True)
    if job.media is None:
        return items
    return with_media(items, job.media, job.ids, cache_folder())


def _of_answers(path: Path, ids: Path | None, layout: Layout) -> Rows:
    """Return rows without features: those of a file of ids, or all that answers name."""
    names, has_ids = named_rows(path, layout) if ids is None else (read_ids(ids), True)
    if len(names) < 2:
        raise InvalidDataError(
            f"{ids or path} names {counted(len(names), 'row')}; grouping needs two rows or more"
        )
    named = "of the answers" if has_ids else "0 to the largest row number of the answers"
    note = f"{ids or path}: {len(names):,} rows{'' if ids else f', {named}'}; no features"
    return Rows.without_columns(None, names, [note])._replace(has_ids=has_ids)


def _are_distances(path: Path, words: Words) -> bool:
    """Ask whether a file holds distances."""
    if path == STDIN or words.quiet or not _is_terminal():
        raise InvalidDataError(
            f"{path} {LOOK}: if these are distances between the rows, add --distances; if they "
            "are features, add --no-distances"
        )
    return click.confirm(f"{path} {LOOK}. Are these distances?", default=True, err=True)


def _is_terminal() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


#: Maximum number of unreadable files that a message names; further ones are only counted.
MOST_NAMED = 20
#: A file is taken for a table if this share of its first `N_SAMPLED` lines have as many fields.
N_SAMPLED, MOST_LINES = 100, 0.9


def images_of(job: RowsJob, words: Words) -> Rows:
    """Return the images of a folder, or the sounds or texts if it has more of these."""
    folder = job.items
    if job.distances:
        raise FileFormatError(f"{folder} is a folder of images, not a file of distances")
    if job.media is not None:
        raise FileFormatError(f"{folder} is a folder of images; --media is for arrays")
    if job.ids is not None:
        raise FileFormatError(f"{folder}: images are named by their paths; leave --ids out")
    if (job.format, job.columns_wanted) != (Format(), Columns()):
        raise FileFormatError(
            f"{folder} is a folder, and options about columns, separators and encodings are for "
            "tables; texts in a folder are in UTF-8"
        )
    kind = kind_of_folder(folder)
    if kind != "image":
        return _of_media(job, words, read_collection(folder, kind=kind, n_jobs=job.jobs))
    with words.bar("Reading images") as advance:
        images = read_images(
            folder, model=job.model, cache=cache_folder(), n_jobs=job.jobs, callback=advance
        )
    notes = _notes(folder, "image", images.X, images.note, images.left_out)
    is_scaled, n_left_out = job.standardizes is not True, len(images.left_out)
    return Rows.without_columns(
        images.X, images.ids, notes, is_scaled=is_scaled, folder=folder, n_left_out=n_left_out
    )


def _items_that_are_files(job: RowsJob) -> Collection | None:
    """Return the items of a table whose rows name files, or parts of them, and hold no features."""
    path = job.items
    is_read_as_usual = (job.format, job.columns_wanted) == (Format(), Columns())
    if not is_read_as_usual or job.distances is not None or job.media or job.ids or path == STDIN:
        return None
    if path.suffix.lower() not in TABLES:
        return None
    frame = read_table(path).frame
    paths = [name for name in frame if str(name).lower() in PATHS]
    if not paths or not len(frame):
        return None
    first = str(frame[paths[0]].iloc[0])
    if kind_of_name(first) is None or not (path.parent / first).is_file():
        return None
    names = {str(name).lower(): name for name in frame}
    parts = {name for part in (*BOXES, *SPANS) if set(part) <= set(names) for name in part}
    about_files = [names[name] for name in {"id", "kind", *PATHS, *parts} & set(names)]
    if len(frame.drop(columns=about_files).select_dtypes("number").columns):
        return None
    return read_collection(path, n_jobs=job.jobs)


def _of_media(job: RowsJob, words: Words, collection: Collection) -> Rows:
    """Return images, sounds or texts with their features."""
    if collection.left_out and not collection.items:
        first = collection.left_out[0]
        raise InvalidDataError(
            f"{job.items}: none of {len(collection.left_out):,} items can be used; {first.id}: "
            f"{first.reason}"
        )
    kinds = sorted({item.kind for item in collection.items})
    if len(kinds) != 1:
        raise InvalidDataError(f"{job.items} has items of {len(kinds)} kinds: {', '.join(kinds)}")
    (kind,) = kinds
    media = Media(collection.root)
    with words.bar(f"Reading {kind}s") as advance:
        found = compute(
            collection.items, media, model=job.model, cache=cache_folder(), n_jobs=job.jobs,
            callback=advance,
        )  # fmt: skip
    left_out = [*collection.left_out, *found.left_out]
    notes = _notes(job.items, kind, found.X, found.note, left_out)
    is_scaled = job.standardizes is not True
    rows = Rows.without_columns(found.X, found.ids, notes, is_scaled=is_scaled)
    by_id = {item.id: item for item in collection.items}
    items = [by_id[name] for name in found.ids]
    if kind == "text":
        return rows._replace(texts=[media.text(item) for item in items])
    shown = Pictures(media, items, cache_folder() / "shown")
    return rows._replace(folder=collection.root, picture=shown, n_left_out=len(left_out))


def _notes(
    folder: Path, kind: str, X: NDArray[np.float64], note: str, left_out: Sequence[LeftOut]
) -> list[str]:
    n, n_features = X.shape
    notes = [f"{folder}: {counted(n, kind)}; {counted(n_features, 'feature')}: {note}"]
    if left_out:
        notes.append(
            f"{counted(len(left_out), 'file')} cannot be read and "
            f"{'is' if len(left_out) == 1 else 'are'} left out:"
        )
        named = left_out[:MOST_NAMED]
        notes += [f"  {printable(name)}: {printable(reason)}" for name, reason in named]
        if len(named) < len(left_out):
            notes.append(f"  and {len(left_out) - len(named):,} more")
    return notes


def cache_folder() -> Path:
    """Return the folder for files that speed up later calls: ``$XDG_CACHE_HOME/clew``."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if os.path.isabs(home) else Path.home() / ".cache") / "clew"


def texts_of(job: RowsJob, words: Words) -> Rows:
    """Return the lines of a file as texts, with default features."""
    path = job.items
    with words.bar("Reading texts") as advance:
        texts = read_texts(
            path, job.format.encoding, model=job.model, cache=cache_folder(), n_jobs=job.jobs,
            callback=advance,
        )  # fmt: skip
    n, n_features = texts.X.shape
    notes = [f"{path}: {n:,} texts, one a line; {counted(n_features, 'feature')}: {texts.note}"]
    if texts.n_repeated:
        notes.append(f"  {counted(texts.n_repeated, 'line')} left out that repeat others")
    return Rows.without_columns(texts.X, texts.ids, notes, texts=texts.texts)


def seems_texts(job: RowsJob) -> bool:
    """Whether a file ending in ".txt" holds one text a line, and is not a table."""
    path, form = job.items, job.format
    is_asked_for = form != Format(encoding=form.encoding) or job.columns_wanted != Columns()
    if path == STDIN or path.suffix.lower() != ".txt" or is_asked_for:
        return False
    with path.open("rb") as file:
        sample = file.read(1 << 20)
    text = sample.decode(form.encoding or "utf-8", "replace")
    lines = [line for line in text.splitlines() if line.strip()][:N_SAMPLED]
    if any(_splits(lines, sep) for sep in SEPARATORS) or _lacks_a_name(lines):
        return False
    # The first line may be a header.
    if not all(_is_number(word) for line in lines[1:] for word in line.split()):
        return not are_numbers_between_spaces("\n".join(lines))
    return not lines[1:]


def _splits(lines: list[str], sep: str) -> bool:
    """Whether a separator splits nearly all lines into as many fields as the first."""
    widths = [line.count(sep) for line in lines]
    return bool(widths) and widths[0] > 0 and widths.count(widths[0]) >= MOST_LINES * len(lines)


def _lacks_a_name(lines: list[str]) -> bool:
    """Whether tabs split the first line into one field fewer than all others (R's write.table)."""
    widths = [line.count("\t") for line in lines]
    return len(widths) > 1 and widths[0] > 0 and set(widths[1:]) == {widths[0] + 1}


def _is_number(word: str) -> bool:
    try:
        float(word.replace(",", "."))
    except ValueError:
        return False
    return True


#: Endings of tables that may name the file, and the part of it, of each item.
TABLES = (".csv", ".tsv", ".tab", ".parquet", ".jsonl")


def with_media(rows: Rows, folder: Path, ids: Path | None, cache: Path) -> Rows:
    """Return rows with the file of `folder`, or the region of one, that shows each of them."""
    if not folder.is_dir():
        raise FileFormatError(f"{folder} is not a folder; --media names the folder of the media")
    if ids is not None and ids.suffix.lower() in TABLES and "path" in read_table(ids).frame.columns:
        items = _items_of_table(ids, folder, rows.ids)
    elif rows.has_ids:
        items = [_item(name, folder) for name in rows.ids]
    else:
        names, left_out, _ = find_images(folder)
        if len(names) != len(rows.ids):
            unread = ""
            if left_out:
                first = f"{left_out[0].id}: {left_out[0].reason}"
                unread = f" ({len(left_out)} more cannot be read; {first})"
            raise InvalidDataError(
                f"{folder} has {len(names):,} images{unread} for {len(rows.ids):,} vectors; name "
                "them with --ids: one path a line, or a table with columns id and path"
            )
        items = [Item(name, "image", path=name) for name in names]
    media = Media(folder)
    for item in items:
        media.path(item)
    rows = rows._replace(ids=[item.id for item in items], has_ids=True)
    kinds = sorted({item.kind for item in items})
    if kinds == ["text"]:
        return rows._replace(texts=[media.text(item) for item in items])
    if "text" in kinds:
        raise InvalidDataError(
            f"{folder}: items are {' and '.join(kinds)}; show one kind at a time"
        )
    return rows._replace(folder=folder, picture=Pictures(media, items, cache / "shown"))


def _items_of_table(ids: Path, folder: Path, names: Sequence[str]) -> list[Item]:
    read_ids(ids)  # unique, and not empty
    collection = read_collection(ids, root=folder)
    if collection.left_out:
        first = collection.left_out[0]
        raise InvalidDataError(
            f"{ids}: {len(collection.left_out):,} of {len(names):,} items have no file that can be "
            f"shown; {first.id}: {first.reason}"
        )
    by_id = {item.id: item for item in collection.items}
    return [by_id[name] for name in names]


def _item(name: str, folder: Path) -> Item:
    kind = kind_of_name(name)
    if kind is None or not (folder / name).is_file():
        raise InvalidDataError(
            f"{name!r} is no image, sound or text in {folder}; ids are paths in that folder, or "
            "--ids names a table with columns id and path"
        )
    return Item(name, kind, path=name)  # type: ignore[arg-type]


class Pictures:
    """The file that shows an item: its image, what is cut out of it, or its spectrogram."""

    def __init__(self, media: Media, items: Sequence[Item], cache: Path) -> None:
        self._media, self._items, self._cache = media, items, cache

    def __call__(self, row: int) -> Path:
        item = self._items[row]
        file = self._media.path(item)
        if item.kind == "image" and item.region is None:
            return file
        there = file.stat()
        facts = f"{file} {there.st_size} {there.st_mtime_ns} {item.region}"
        path = self._cache / f"{sha256(facts.encode('utf-8', 'replace')).hexdigest()[:32]}.webp"
        if not path.is_file():
            is_sound = item.kind == "sound"
            content = self._media.spectrogram(item) if is_sound else self._media.full(item)
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with atomic_write(path, "wb") as output:
                output.write(content)
        return path
