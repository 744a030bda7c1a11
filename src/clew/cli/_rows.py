"""The rows to group: features or distances; the person is asked if options leave this open."""

from __future__ import annotations

import sys
from pathlib import Path

import click
import pandas as pd

from clew.cli._collections import images_of, seems_texts, texts_of
from clew.cli._distances import read_distances, read_ids
from clew.cli._inputs import STDIN, Items, read_items
from clew.cli._job import RowsJob
from clew.cli._progress import Words, counted
from clew.constraints._files import Layout, named_rows
from clew.exceptions import InvalidDataError

__all__ = ["read_rows"]

LOOK = "is square and symmetric, with zeros on its diagonal"


def read_rows(job: RowsJob, words: Words) -> Items:
    """Read features or distances from a file, or images from a folder, and say what was assumed.

    If a file seems to hold distances and no option says whether it does, the person is asked;
    without a terminal, the file is refused.

    Raises
    ------
    InvalidDataError
        If the file seems to hold distances, and nobody can be asked.
    ClewError, OSError
        If the file cannot be read.
    """
    items = _rows(job, words)
    for note in items.notes:
        words.say(note)
    return items


def _rows(job: RowsJob, words: Words) -> Items:
    if job.answers_alone:
        return _of_answers(job.items, job.ids, job.layout)
    if job.items.is_dir():
        return images_of(job, words)
    if job.distances:
        return read_distances(job.items, job.format, job.columns_wanted, job.ids)
    if seems_texts(job):
        return texts_of(job)
    items = read_items(job.items, job.format, job.columns_wanted, job.standardizes)
    if items.seems_distances and job.distances is None and _are_distances(job.items, words):
        return read_distances(job.items, job.format, job.columns_wanted, job.ids)
    return items if job.ids is None else _named(items, job.items, job.ids)


def _of_answers(path: Path, ids: Path | None, layout: Layout) -> Items:
    """Return rows without features: those of a file of ids, or all that answers name."""
    names, has_ids = named_rows(path, layout) if ids is None else (read_ids(ids), True)
    if len(names) < 2:
        raise InvalidDataError(
            f"{ids or path} names {counted(len(names), 'row')}; grouping needs two rows or more"
        )
    named = "of the answers" if has_ids else "0 to the largest row number of the answers"
    note = f"{ids or path}: {len(names):,} rows{'' if ids else f', {named}'}; no features"
    return Items.without_features(names, has_ids, pd.DataFrame(index=range(len(names))), [note])


def _are_distances(path: Path, words: Words) -> bool:
    """Ask whether a file holds distances."""
    if path == STDIN or words.quiet or not _is_terminal():
        raise InvalidDataError(
            f"{path} {LOOK}: if these are distances between the rows, add --distances; if they "
            "are features, add --features"
        )
    return click.confirm(f"{path} {LOOK}. Are these distances?", default=True, err=True)


def _is_terminal() -> bool:
    """Whether a person can be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _named(items: Items, path: Path, ids: Path) -> Items:
    """Name rows by a file of ids."""
    if items.has_ids:
        raise InvalidDataError(f"{path} names its rows already; leave --ids out")
    names = read_ids(ids)
    if len(names) != items.X.shape[0]:
        raise InvalidDataError(
            f"{ids} has {counted(len(names), 'id')}, but {path} has {items.X.shape[0]:,} rows"
        )
    return items._replace(ids=names, has_ids=True)
