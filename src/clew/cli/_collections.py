"""The rows to group, given as a folder of images or as a file with one text a line."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd

from clew._text import SEPARATORS, are_numbers_between_spaces
from clew.cli._inputs import STDIN, Items
from clew.cli._job import RowsJob
from clew.cli._progress import Words, counted, printable
from clew.exceptions import FileFormatError
from clew.items import read_images, read_texts
from clew.tables._delimited import Format
from clew.tables._read import Columns

__all__ = ["cache_folder", "images_of", "seems_texts", "texts_of"]

#: Maximum number of unreadable files that a message names; further ones are only counted.
MOST_NAMED = 20
#: A file is taken for a table if this share of its first `N_SAMPLED` lines have as many fields.
N_SAMPLED, MOST_LINES = 100, 0.9


def images_of(job: RowsJob, words: Words) -> Items:
    """Return the images of a folder with default features.

    Raises
    ------
    FileFormatError
        If an option is given that has no effect on images.
    InvalidDataError
        If fewer than two can be read.
    MissingDependencyError, OSError
        As `clew.items.read_images`.
    """
    folder = job.items
    if job.distances:
        raise FileFormatError(f"{folder} is a folder of images, not a file of distances")
    if job.ids is not None:
        raise FileFormatError(f"{folder}: images are named by their paths; leave --ids out")
    if (job.format, job.columns_wanted) != (Format(), Columns()):
        raise FileFormatError(f"{folder}: columns can be named in a table, not in images")
    with words.bar("Reading images") as advance:
        images = read_images(folder, cache=cache_folder(), n_jobs=job.jobs, callback=advance)
    n, n_features = images.X.shape
    features = counted(n_features, "feature")
    notes = [f"{folder}: {n:,} images; {features} of shapes, colors and texture"]
    if images.left_out:
        notes.append(
            f"{counted(len(images.left_out), 'file')} cannot be read and "
            f"{'is' if len(images.left_out) == 1 else 'are'} left out:"
        )
        named = images.left_out[:MOST_NAMED]
        notes += [f"  {printable(name)}: {printable(reason)}" for name, reason in named]
        if len(named) < len(images.left_out):
            notes.append(f"  and {len(images.left_out) - len(named):,} more")
    frame = pd.DataFrame(index=range(n))
    items = Items(
        images.X, images.ids, True, frame, (), notes, is_scaled=job.standardizes is not True
    )
    return items._replace(folder=folder, n_left_out=len(images.left_out))


def cache_folder() -> Path:
    """Return the folder for files that speed up later calls: ``$XDG_CACHE_HOME/clew``."""
    home = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(home) if os.path.isabs(home) else Path.home() / ".cache") / "clew"


def texts_of(job: RowsJob) -> Items:
    """Return the lines of a file as texts, with TF-IDF.

    Raises
    ------
    ClewError, OSError
        As `clew.items.read_texts`.
    """
    path = job.items
    texts = read_texts(path, job.format.encoding)
    n, n_words = texts.X.shape
    notes = [f"{path}: {n:,} texts, one a line; TF-IDF of {counted(n_words, 'word')}"]
    if texts.n_repeated:
        notes.append(f"  {counted(texts.n_repeated, 'line')} left out that repeat others")
    frame = pd.DataFrame(index=range(n))
    items = Items(texts.X, texts.ids, True, frame, (), notes, is_scaled=False)
    return items._replace(texts=texts.texts)


def seems_texts(job: RowsJob) -> bool:
    """Whether a file ending in ".txt" holds one text a line, and is not a table.

    If options name columns, or say how fields are separated, the file is a table.
    """
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
