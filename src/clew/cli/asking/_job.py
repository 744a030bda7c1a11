"""The options of ``clew ask`` as one object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from clew.cli._features import Standardize
from clew.tables._delimited import Format
from clew.tables._read import Columns

__all__ = ["AskJob"]


@dataclass(frozen=True, slots=True)
class AskJob:
    """The options; the help of the command describes them."""

    items: Path
    answers: Path
    kinds: tuple[str, ...]
    n_questions: int | None
    annotator: str
    n_clusters: int | None
    images: str
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
    as_json: bool
    quiet: bool
    verbose: bool

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> Self:
        """Make a job of the options by name."""
        return cls(**{field.name: options[field.name] for field in fields(cls)})

    @property
    def answers_alone(self) -> bool:
        """No: items are always given, not only answers about them."""
        return False

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
        """Features are standardized where their units differ."""
        return "auto"
