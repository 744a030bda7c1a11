"""The paper's protocol: data, numbers of triplets, and people who answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers._identity import seed_of
from clew import Constraints, Question, datasets
from clew.answers import Kind
from clew.oracles import SimulatedOracle

__all__ = [
    "ALL_SHARES",
    "BIRDS",
    "DIGITS",
    "LETTERS",
    "MORE_PAIRS",
    "NO_ANSWERS",
    "PEOPLE",
    "PEOPLE_SETS",
    "SETS",
    "SHARES",
    "TABLE_IV",
    "Cell",
    "Problem",
    "problem_named",
]

BIRDS, LETTERS, DIGITS = "hja_birdsong", "letters_ijlt", "digits389"
#: Those that take longest first.
SETS = (BIRDS, LETTERS, DIGITS, "pima_diabetes", "balance_scale", "ionosphere")
#: Numbers of triplets, as shares of the number of rows.
ALL_SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
SHARES = (0.05, 0.15, 0.3)
#: Answers of one person in Table V.
N_TRIPLETS, N_PAIRS, MORE_PAIRS = 150, 150, 225
Matrix = tuple[tuple[float, ...], ...]
#: How often people said what (columns) for each true answer (rows): triplets yes, no, don't-know;
#: pairs must-link, cannot-link, and never don't-know.
TABLE_IV: Mapping[Kind, Matrix] = {
    "triplet": ((18.50, 0.33, 4.83), (0.33, 16.50, 4.50), (3.50, 3.00, 98.50)),
    "pair": ((42.50, 9.67, 0.0), (10.83, 162.00, 0.0), (0.0, 0.0, 1.0)),
}
GOOD: Matrix = ((0.95, 0.02, 0.03), (0.02, 0.95, 0.03), (0.03, 0.03, 0.94))
#: Six people who err in ways of their own.
PEOPLE: Mapping[str, Matrix] = {
    "good": GOOD,
    "careless": ((0.8, 0.1, 0.1), (0.1, 0.8, 0.1), (0.1, 0.1, 0.8)),
    "shy": ((0.48, 0.02, 0.5), (0.02, 0.48, 0.5), (0.01, 0.01, 0.98)),
    "swaps": ((0.5, 0.5, 0.0), (0.5, 0.5, 0.0), (0.0, 0.0, 1.0)),
    "spams": ((1 / 3, 1 / 3, 1 / 3),) * 3,
    "good too": GOOD,
}
#: Sets on which they answer.
PEOPLE_SETS = (BIRDS, LETTERS, DIGITS)


@dataclass(frozen=True)
class Cell:
    """Who answers, and how much."""

    kind: str
    """ "truth", "one person" or "six people"."""
    share: float = 0.0
    """Of "truth": triplets per row."""
    n_pairs: int = N_PAIRS
    """Of "one person": pairs beside the triplets."""

    @property
    def name(self) -> str:
        """How the log calls it."""
        if self.kind == "truth":
            return f"{self.share:g} N triplets"
        return f"{self.kind}, {self.n_pairs} pairs" if self.kind == "one person" else self.kind


NO_ANSWERS = Cell("truth", 0.0)


@dataclass(frozen=True)
class Problem:
    """A data set, standardised."""

    name: str

    @cached_property
    def _data(self) -> datasets.Dataset:
        return datasets.load(self.name, scale="standard")

    @property
    def X(self) -> NDArray[np.float64]:  # noqa: N802
        """Features, each of mean 0 and variance 1."""
        if self._data.X is None:
            raise TypeError(f"{self.name} has no features")
        return self._data.X

    @property
    def y(self) -> NDArray[np.int64]:
        """True classes."""
        return self._data.y

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return self._data.n_classes

    def answers(self, cell: Cell, trial: int) -> Constraints:
        """Draw the answers of a trial.

        Of triplets answered by the true classes a smaller number is the beginning of a larger one.
        """
        if cell.kind == "truth":
            return self._truth(round(cell.share * len(self.y)), trial)
        return self._said(cell, trial)

    def _truth(self, count: int, trial: int) -> Constraints:
        most = round(max(ALL_SHARES) * len(self.y))
        seed = seed_of("dcrc", self.name, trial)
        drawn = Constraints.from_labels(self.y, n_triplets=most, random_state=seed)
        return drawn.select(triplets=np.arange(count))

    def _said(self, cell: Cell, trial: int) -> Constraints:
        """Ask one person about triplets and pairs, or each of six about triplets of their own."""
        is_one = cell.kind == "one person"
        seed = seed_of("dcrc", self.name, cell.kind, trial)
        confusion = _shares(TABLE_IV) if is_one else {"triplet": np.array(list(PEOPLE.values()))}
        names = 1 if is_one else list(PEOPLE)
        oracle = SimulatedOracle(self.y, annotators=names, confusion=confusion, random_state=seed)
        n_triplets = N_TRIPLETS * len(oracle.annotators)
        n_pairs = MORE_PAIRS if is_one else 0
        asked = Constraints.from_labels(
            self.y, n_triplets=n_triplets, n_pairs=n_pairs, random_state=seed
        )
        answers = [
            oracle.answer(Question("triplet", tuple(rows)), oracle.annotators[i // N_TRIPLETS])
            for i, rows in enumerate(asked.triplets.tolist())
        ]
        answers += oracle.answer_all(Question("pair", tuple(rows)) for rows in asked.pairs.tolist())
        said = Constraints.from_answers(answers, n_samples=len(self.y))
        return said.select(pairs=np.arange(cell.n_pairs)) if is_one else said


def _shares(counts: Mapping[Kind, Matrix]) -> dict[Kind, NDArray[np.float64]]:
    """Make chances of counts, row by row."""
    tables = {kind: np.array(table) for kind, table in counts.items()}
    return {kind: table / table.sum(axis=1, keepdims=True) for kind, table in tables.items()}


@lru_cache(maxsize=len(SETS))
def problem_named(name: str) -> Problem:
    """Give a set; a process reads it once."""
    return Problem(name)
