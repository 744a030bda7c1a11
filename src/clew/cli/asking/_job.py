"""The options of ``clew ask`` as one object."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from clew.answers import Kind
from clew.cli._job import RowsJob

__all__ = ["AskJob"]


@dataclass(frozen=True, slots=True, kw_only=True)
class AskJob(RowsJob):
    """Options of ``clew ask``; features are standardized where their units differ."""

    answers: Path
    kinds: tuple[Kind, ...]
    n_questions: int | None
    annotator: str
    n_groups: int | None
    images: str
    as_json: bool
