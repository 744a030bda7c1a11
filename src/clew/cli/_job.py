"""The options of commands that read rows, as objects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, Self

from clew.cli._features import Standardize
from clew.constraints._files import Layout
from clew.tables._delimited import Format
from clew.tables._read import Columns

__all__ = ["Job", "RowsJob"]


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
    answers_alone: bool = False
    """Whether `items` are answers, and the rows are those that they name."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Job(RowsJob):
    """Options of ``clew group``."""

    n_groups: int | None
    constraints: Path | None
    item_columns: list[str] | None
    answer_column: str | None
    annotator_column: str | None
    kind: str | None
    method: str
    output: Path | None
    doubtful: Path | None
    report: Path | None
    save: Path | None
    mode: str
    trust: str
    n_trees: int

    @property
    def layout(self) -> Layout:
        """The columns of the table of answers, where options name them."""
        return Layout(self.item_columns, self.answer_column, self.annotator_column, self.kind)

    @property
    def outputs(self) -> list[Path]:
        """The files that are written."""
        paths = (self.output, self.doubtful, self.report, self.save)
        return [path for path in paths if path is not None]
