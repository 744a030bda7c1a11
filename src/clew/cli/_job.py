"""The options of ``clew cluster`` as one object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from clew.cli._features import Standardize
from clew.tables._delimited import Format
from clew.tables._read import Columns

__all__ = ["Job"]


@dataclass(frozen=True, slots=True)
class Job:
    """The options; the help of the command describes them."""

    items: Path
    answers_alone: bool
    n_clusters: int | None
    constraints: Path | None
    method: str
    output: Path | None
    doubtful: Path | None
    report: Path | None
    save: Path | None
    distances: bool | None
    ids: Path | None
    id_column: str | None
    columns: list[str] | None
    drop: list[str] | None
    sep: str | None
    decimal: str | None
    header: bool | None
    encoding: str | None
    standardize: str
    mode: str
    trust: str
    n_trees: int
    seed: int
    jobs: int
    quiet: bool
    verbose: bool

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Make a job of the options by name."""
        return cls(**{field.name: options[field.name] for field in fields(cls)})

    @property
    def outputs(self) -> list[Path]:
        """The files that are written."""
        paths = (self.output, self.doubtful, self.report, self.save)
        return [path for path in paths if path is not None]

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
