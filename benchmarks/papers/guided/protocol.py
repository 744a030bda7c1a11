"""What is grouped, by what answers: data, amounts, shares of wrong answers, people, seeds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from benchmarks.papers._identity import seed_of
from clew import Constraints, Question, datasets
from clew.oracles import SimulatedOracle

__all__ = [
    "AMOUNTS",
    "ERRORS",
    "IMAGES",
    "KINDS",
    "NO_ANSWERS",
    "PEOPLE",
    "SETS",
    "Cell",
    "Problem",
    "problem_named",
]

Floats = NDArray[np.float64]

#: All sets of fewer than 2,500 rows, the largest first.
SETS = (
    "segment_full",
    "leaf_flavia",
    "digits",
    "lost_faces",
    "pie10_32x32",
    "pubfig_900_60",
    "apfaces_900",
    "vehicle",
    "pima_diabetes",
    "balance_scale",
    "olivetti_64x64",
    "ionosphere",
    "uci_leaf",
    "glass",
    "segment_small",
    "wine",
    "iris",
)
#: Sets of pictures, whose features have one unit, and the principal components that are taken.
IMAGES = {"digits": None, "olivetti_64x64": 50, "pie10_32x32": 30}
ROWS_PER_PERSON = 100
DISTANCES_ONLY = ("apfaces_900",)
N_SCALED = 30

#: Numbers of answers, by what they are called: so many for each row, or for each pair of rows.
PER_ROW = {"N/4": 0.25, "N": 1.0, "2N": 2.0}
PER_PAIR = {"0.1 %": 0.001, "0.5 %": 0.005}
AMOUNTS = (*PER_ROW, *PER_PAIR)
ERRORS = (0.0, 0.15, 0.3)
KINDS = ("pairs", "triplets", "odd-one-out", "mixture")
#: How often simulated people are wrong.
PEOPLE = {
    "four people": {"good": 0.03, "careless": 0.2, "swapped": 0.95, "spam": 0.5},
    "two good people": {"good": 0.03, "good too": 0.03},
}


@dataclass(frozen=True)
class Cell:
    """Who says what, and how much."""

    kind: str
    """One of `KINDS`, or one of `PEOPLE`; or "none"."""
    amount: str = ""
    """One of `AMOUNTS`."""
    error: float = 0.0
    """Share of wrong answers; people err as they do."""
    is_named: bool = True
    """Whether it is told which person said what."""

    @property
    def name(self) -> str:
        """How the log calls it."""
        if self.kind == "none":
            return "no answers"
        if self.kind in PEOPLE:
            return f"{self.kind}, {self.amount}" + ("" if self.is_named else ", names dropped")
        return f"{self.kind}, {self.amount}, {100 * self.error:g} % wrong"


NO_ANSWERS = Cell("none")


@dataclass(frozen=True)
class Problem:
    """A data set, prepared: every method reads the same features."""

    name: str

    @cached_property
    def _data(self) -> datasets.Dataset:
        is_plain = self.name in IMAGES or self.name in DISTANCES_ONLY
        return datasets.load(self.name, scale=None if is_plain else "standard")

    @cached_property
    def _rows(self) -> NDArray[np.intp]:
        y = self._data.y
        if self.name != "pie10_32x32":
            return np.arange(len(y))
        return np.concatenate([np.flatnonzero(y == c)[:ROWS_PER_PERSON] for c in np.unique(y)])

    @cached_property
    def X(self) -> Floats:  # noqa: N802
        """Features: standardised, those of pictures as they are or their principal components."""
        if self._data.D is not None and self._data.X is None:
            return _embedded(self._data.D, N_SCALED)
        if self._data.X is None:
            raise TypeError(f"{self.name} has no features")
        X = self._data.X[self._rows]
        n_components = IMAGES.get(self.name)
        if n_components is None or n_components >= min(X.shape):
            return X
        return np.asarray(PCA(n_components, svd_solver="full").fit_transform(X))

    @cached_property
    def y(self) -> NDArray[np.int64]:
        """True classes."""
        return self._data.y[self._rows]

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(np.unique(self.y))

    def n_answers(self, amount: str) -> int:
        """Turn an amount into a number."""
        n = len(self.y)
        if amount in PER_ROW:
            return round(PER_ROW[amount] * n)
        return round(PER_PAIR[amount] * n * (n - 1) / 2)

    def answers(self, cell: Cell, trial: int) -> Constraints:
        """Draw the answers of a trial.

        The questions depend on their kind and number alone: a higher share of wrong answers strikes
        more of the same ones.
        """
        if cell == NO_ANSWERS:
            return Constraints(len(self.y))
        count = self.n_answers(cell.amount)
        seed = seed_of("guided", self.name, cell.kind, cell.amount, trial)
        if cell.kind in PEOPLE:
            said = _said(self.y, PEOPLE[cell.kind], count, seed)
            return said if cell.is_named else _nameless(said)
        return Constraints.from_labels(
            self.y, **_counts(cell.kind, count), error=cell.error, random_state=seed
        )

    def is_wrong(self, known: Constraints) -> NDArray[np.bool_]:
        """Tell which pairs were answered wrong."""
        first, second = known.pairs.T
        return np.asarray((self.y[first] == self.y[second]) != known.is_must_link)


def _counts(kind: str, count: int) -> dict[str, int]:
    names = ("n_pairs", "n_triplets", "n_odd_one_out")
    if kind == "mixture":
        return {name: (count + at) // 3 for at, name in enumerate(names)}
    return {names[KINDS.index(kind)]: count}


def _said(y: NDArray[np.int64], rates: dict[str, float], count: int, seed: int) -> Constraints:
    """Ask people about pairs, each about the same number."""
    people = SimulatedOracle(
        y, annotators=list(rates), error=list(rates.values()), random_state=seed
    )
    asked = Constraints.from_labels(y, n_pairs=count, random_state=seed).pairs.tolist()
    answers = [
        people.answer(Question("pair", (i, j)), people.annotators[at % len(rates)])
        for at, (i, j) in enumerate(asked)
    ]
    return Constraints.from_answers(answers, n_samples=len(y))


def _nameless(said: Constraints) -> Constraints:
    return Constraints(said.n_samples, pairs=np.column_stack([said.pairs, said.pair_answers]))


def _embedded(D: Floats, n_components: int) -> Floats:
    """Scale distances classically: coordinates of which the distances are near the given ones."""
    squared = D**2
    middle = squared.mean(axis=0)
    inner = (middle[:, None] + middle - squared - middle.mean()) / 2
    value, vectors = np.linalg.eigh(inner)
    kept = slice(-1, -1 - n_components, -1)
    found: Floats = vectors[:, kept] * np.sqrt(np.maximum(value[kept], 0.0))
    return found


@lru_cache(maxsize=4)
def problem_named(name: str) -> Problem:
    """Give a set; a process reads it once."""
    return Problem(name)
