"""What the study measures, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from benchmarks.papers._identity import seed_of
from benchmarks.papers._relative.methods import Method, run_method, scores
from benchmarks.papers._relative.study import OfOneTrial, Results, Study
from benchmarks.papers.dcrc.methods import (
    DEFAULT,
    FREE,
    KERNEL,
    KMEANS,
    LINEAR,
    METHODS,
    ONE_PERSON,
    ONE_PERSON_PAIRS,
    SIX_PEOPLE,
)
from benchmarks.papers.dcrc.protocol import (
    BIRDS,
    MORE_PAIRS,
    NO_ANSWERS,
    PEOPLE_SETS,
    SETS,
    SHARES,
    Cell,
    problem_named,
)

__all__ = ["MORE", "ONE", "SIX", "DcrcResults", "DcrcStudy", "Drawn"]

ONE, MORE, SIX = Cell("one person"), Cell("one person", n_pairs=MORE_PAIRS), Cell("six people")


@dataclass(frozen=True)
class DcrcStudy(Study):
    """The study of DCRC."""

    n_trials: int = 20
    sets: tuple[str, ...] = SETS
    stem: str = "dcrc"
    shares: tuple[float, ...] = SHARES

    @property
    def curve(self) -> list[Cell]:
        """The cells of a curve."""
        return [Cell("truth", share) for share in self.shares]

    def cells(self, name: str) -> list[Cell]:
        """Give all cells of a set, those that take longest first."""
        people = [ONE, MORE] if name == BIRDS else []
        people += [SIX] if name in PEOPLE_SETS else []
        return [*self.curve[::-1], *people, NO_ANSWERS]

    def methods_at(self, name: str, cell: Cell) -> tuple[Method, ...]:
        """Give the methods of a cell."""
        if cell == NO_ANSWERS:
            return (KMEANS, DEFAULT, LINEAR, FREE, KERNEL)
        if cell == MORE:
            return ONE_PERSON_PAIRS
        people = {ONE: ONE_PERSON, SIX: SIX_PEOPLE}
        return people.get(cell) or tuple(m for m in METHODS if m.uses_answers)

    def scene(self, name: str, cell: Cell, trial: int) -> Drawn:
        """Draw the answers of a trial."""
        return Drawn(problem_named(name), cell, trial)


DcrcResults = Results[DcrcStudy]


@dataclass(frozen=True)
class Drawn(OfOneTrial):
    """A set and the answers of one trial."""

    def run(self, method: Method) -> dict[str, Any]:
        """Score the groups of one method.

        Returns
        -------
        dict
            "f", "ari" and "nmi", and what there is to note.
        """
        k = self.problem.n_classes
        seed = seed_of("method", self.problem.name, self.trial)
        found = run_method(method, self.problem.X, self.answers, (k,), seed)
        return found.notes | (scores(self.problem.y, found.labels[k]) if found.labels else {})
