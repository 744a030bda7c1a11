"""The parts of the study: which measures are taken on which sets, at which points."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.papers.cop_rf import blocks, doubts, faces
from benchmarks.papers.cop_rf.measures import Measure
from benchmarks.papers.cop_rf.methods import METHODS
from benchmarks.papers.cop_rf.protocol import SETS, Cell, Problem, cells

__all__ = ["ALL_SETS", "PARTS", "Part", "problem_named"]


@dataclass(frozen=True)
class Part:
    """Some tables or a figure."""

    name: str
    sets: tuple[str, ...]
    measures: Sequence[Measure]
    cells: Callable[[Problem, Measure], list[Cell]]
    """Points at which a measure that uses answers is taken."""


PARTS = (
    Part("tables", SETS, METHODS, lambda problem, method: cells(problem.amounts)),
    Part("blocks", blocks.SETS, blocks.BLOCKS, blocks.block_cells),
    Part("faces", faces.SETS, faces.FACES, faces.face_cells),
    Part("doubts", doubts.SETS, doubts.DOUBTS, doubts.doubt_cells),
)
ALL_SETS = tuple(dict.fromkeys(name for part in PARTS for name in part.sets))


def problem_named(name: str) -> Problem:
    """Give a set as the part that has it sees it."""
    return faces.Faces(name) if name in faces.SETS else Problem(name)
