"""The paper's protocol: data, two groupings of each set, and how answers are drawn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from benchmarks.papers._identity import seed_of
from benchmarks.papers._relative.draws import (
    ODD_CODES,
    PAIR_CODES,
    all_must_links,
    cannot_links,
    equalities,
    labelled_rows,
    must_links,
    odd_ones_out,
    with_wrong,
)
from clew import Constraints, datasets

__all__ = [
    "ALL",
    "ALL_SIZES",
    "EQUALITIES",
    "FIRST_ANSWERS",
    "LABELLED",
    "NO_ANSWERS",
    "SETS",
    "SIZES",
    "TARGETS",
    "USPS",
    "VEHICLE",
    "WRONG",
    "WRONG_SIZE",
    "Cell",
    "Problem",
    "Sample",
    "problem_named",
]

Ints = NDArray[np.int64]
VEHICLE, SCENE, USPS, DIGITS = "vehicle", "scene8_outdoor", "usps_11000", "digits"
SETS = (VEHICLE, SCENE, USPS, DIGITS)
PER_CLASS = 100
#: Classes that make up one of the two groups of the binary setting.
ONE_SIDE = {
    VEHICLE: ("van",),
    SCENE: ("coast", "forest", "mountain", "opencountry"),
    USPS: tuple("02468"),
    DIGITS: tuple("02468"),
}
#: Labelled rows of each class.
ALL_SIZES = tuple(range(5, 20, 2))
SIZES = (5, 9, 13, 19)
#: Where rows of answers are drawn from.
LABELLED, ALL = "labelled rows", "all rows"
#: What is evaluated in each setting.
TARGETS = {"binary": ("binary",), "multi": ("multi",), "mixed": ("binary", "multi")}
WRONG_SIZE = 13
WRONG = (0.1, 0.2, 0.3)
#: Figure 4: how many odd ones out there are before "none differs" joins them.
FIRST_ANSWERS = {VEHICLE: 360, SCENE: 720, USPS: 900, DIGITS: 900}
EQUALITIES = (0, 50, 100, 200)


@dataclass(frozen=True)
class Cell:
    """Answers of one kind: their setting, number and rows."""

    setting: str
    size: int = 0
    """Labelled rows of each class."""
    source: str = ""
    wrong: float = 0.0
    n_equal: int | None = None
    """Answers "none differs" beside Figure 4's odd ones out; None: this is no cell of Figure 4."""
    with_apart: bool = False
    """Whether three rows of three classes are among them."""

    @property
    def name(self) -> str:
        """How the log calls it."""
        if self.n_equal is not None:
            kind = "one class or three" if self.with_apart else "one class"
            return f"{self.setting}, {self.n_equal} equalities" + f", {kind}" * (self.n_equal > 0)
        if not self.size:
            return self.setting
        wrong = f", {self.wrong:.0%} wrong" if self.wrong else ""
        return f"{self.setting}, {self.size} a class, {self.source}{wrong}"

    @property
    def targets(self) -> tuple[str, ...]:
        """The groupings that are looked for."""
        return TARGETS.get(self.setting, ("binary", "multi"))


NO_ANSWERS = Cell("no answers")


@dataclass(frozen=True)
class Sample:
    """The rows of one trial."""

    X: NDArray[np.float64]
    y: dict[str, Ints]
    """Classes in each setting, of the rows of the trial."""
    unseen: NDArray[np.float64]
    """The other rows."""
    unseen_y: dict[str, Ints]

    @property
    def n_groups(self) -> dict[str, int]:
        """Number of groups in each setting."""
        return {target: len(np.unique(y)) for target, y in self.y.items()}


@dataclass(frozen=True)
class Problem:
    """A data set."""

    name: str

    @property
    def is_sampled(self) -> bool:
        """Whether a trial takes a hundred rows of each class, rather than all."""
        return self.name != VEHICLE

    @cached_property
    def _data(self) -> datasets.Dataset:
        is_pixels = self.name in (USPS, DIGITS)
        return datasets.load(self.name, scale=None if is_pixels else "standard")

    @property
    def X(self) -> NDArray[np.float64]:  # noqa: N802
        """Standardised features; pixels as they are, but for their unit."""
        if self._data.X is None:
            raise TypeError(f"{self.name} has no features")
        return self._data.X / self._data.X.max() if self.name in (USPS, DIGITS) else self._data.X

    @property
    def y(self) -> dict[str, Ints]:
        """Classes, and which of the two groups each row is in."""
        names = np.array(self._data.class_names)
        is_one_side = np.isin(names, ONE_SIDE[self.name])
        return {"multi": self._data.y, "binary": is_one_side[self._data.y].astype(np.int64)}

    def sample(self, trial: int) -> Sample:
        """Draw the rows of a trial."""
        is_drawn = np.ones(len(self._data.y), dtype=bool)
        if self.is_sampled:
            random = RandomState(seed_of("sklr", self.name, trial))
            is_drawn[:] = False
            is_drawn[labelled_rows(self._data.y, PER_CLASS, random)] = True
        X, y = self.X, self.y
        return Sample(
            X[is_drawn],
            {target: classes[is_drawn] for target, classes in y.items()},
            X[~is_drawn],
            {target: classes[~is_drawn] for target, classes in y.items()},
        )

    def answers(self, sample: Sample, cell: Cell, trial: int) -> Constraints:
        """Draw the answers of a trial: pairs, and as many odd ones out.

        What is drawn depends on neither the share of wrong answers nor the number of equalities,
        which come on top of the same odd ones out.
        """
        n = len(sample.X)
        seed = seed_of("sklr", self.name, trial, cell.setting, cell.size, cell.source)
        if cell.n_equal is not None:
            random = RandomState(seed)
            rows = np.arange(n)
            y = sample.y["multi"]
            odd = odd_ones_out(y, rows, FIRST_ANSWERS[self.name], random)
            equal = equalities(y, max(EQUALITIES), random, with_apart=cell.with_apart)
            return Constraints(n, odd_one_out=np.concatenate([odd, equal[: cell.n_equal]]))
        if not cell.size:
            return Constraints(n)
        pairs, odd = _pairs_and_odd(sample, cell, seed)
        return Constraints(
            n,
            pairs=with_wrong(pairs, cell.wrong, PAIR_CODES, seed),
            odd_one_out=with_wrong(odd, cell.wrong, ODD_CODES, seed),
        )


@lru_cache(maxsize=len(SETS))
def problem_named(name: str) -> Problem:
    """Give a set; a process reads it once."""
    return Problem(name)


def _pairs_and_odd(sample: Sample, cell: Cell, seed: int) -> tuple[Ints, Ints]:
    """Draw for one setting; mixed answers are half of those of either."""
    if cell.setting == "mixed":
        halves = []
        for number, target in enumerate(cell.targets):
            random = RandomState((seed + number) % 2**31)
            drawn = _of_setting(sample.y[target], cell, random)
            halves.append([_half(answers, random) for answers in drawn])
        must, cannot, odd = (np.concatenate(of) for of in zip(*halves, strict=True))
    else:
        must, cannot, odd = _of_setting(sample.y[cell.setting], cell, RandomState(seed))
    return np.concatenate([must, cannot]), odd


def _half(answers: Ints, random: RandomState) -> Ints:
    return answers[np.sort(random.permutation(len(answers))[: len(answers) // 2])]


def _of_setting(y: Ints, cell: Cell, random: RandomState) -> tuple[Ints, Ints, Ints]:
    """Draw all must-links among labelled rows, as many cannot-links, and as many odd ones out.

    From all rows instead, their numbers are the same.
    """
    labelled = labelled_rows(y, cell.size, random)
    rows = labelled if cell.source == LABELLED else np.arange(len(y))
    must = all_must_links(y, labelled)
    if cell.source == ALL:
        must = must_links(y, rows, len(must), random)
    cannot = cannot_links(y, rows, len(must), random)
    return must, cannot, odd_ones_out(y, rows, 2 * len(must), random)
