"""The rows to group: features or distances, as the options say, or as the person answers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Protocol

import click
import pandas as pd

from clew.cli._answers_alone import rows_of_answers
from clew.cli._distances import read_distances, read_ids
from clew.cli._features import Standardize
from clew.cli._inputs import STDIN, Items, read_items
from clew.cli._progress import Words, counted
from clew.exceptions import InvalidDataError
from clew.tables._delimited import Format
from clew.tables._read import Columns

__all__ = ["Source", "read_rows"]

LOOK = "is square and symmetric, with zeros on its diagonal"


class Source(Protocol):
    """The options that say what to read."""

    @property
    def items(self) -> Path:
        """The file of rows."""

    @property
    def answers_alone(self) -> bool:
        """Whether it holds answers, and the rows are those that they name."""

    @property
    def distances(self) -> bool | None:
        """Whether it holds distances; None if that was not said."""

    @property
    def ids(self) -> Path | None:
        """A file of ids."""

    @property
    def format(self) -> Format:
        """How a delimited table is read."""

    @property
    def columns_wanted(self) -> Columns:
        """Which columns of a table are used."""

    @property
    def standardizes(self) -> Standardize:
        """Whether features are standardized."""


def read_rows(job: Source, words: Words) -> Items:
    """Read features or distances.

    If a file that seems to hold distances is not said to, the person is asked; without a terminal
    to ask on it is refused.

    Raises
    ------
    InvalidDataError
        If the file seems to hold distances, and nobody can be asked.
    ClewError, OSError
        If the file cannot be read.
    """
    if job.answers_alone:
        return _of_answers(job.items, job.ids)
    if job.distances:
        return read_distances(job.items, job.format, job.columns_wanted, job.ids)
    items = read_items(job.items, job.format, job.columns_wanted, job.standardizes)
    if items.seems_distances and job.distances is None and _are_distances(job.items, words):
        return read_distances(job.items, job.format, job.columns_wanted, job.ids)
    return items if job.ids is None else _named(items, job.items, job.ids)


def _of_answers(path: Path, ids: Path | None) -> Items:
    """Return rows without features: those of a file of ids, or all that answers name."""
    if ids is None:
        return rows_of_answers(path)
    names = read_ids(ids)
    if len(names) < 2:
        raise InvalidDataError(f"{ids} has one id; grouping needs two rows or more")
    note = f"{ids}: {len(names):,} rows; no features"
    return Items.without_features(names, True, pd.DataFrame(index=range(len(names))), [note])


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
