"""The study: two sets of class labels for each data set, and answers drawn as in the paper."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.random import RandomState
from sklearn.cluster import KMeans

from benchmarks.papers.sklr import draws
from benchmarks.study.engine import Study, Task
from benchmarks.study.fits import run_method
from benchmarks.study.log import seed_of
from benchmarks.study.methods import Method
from benchmarks.study.problems import Floats, Ints, Problem, load
from clew import Constraints
from clew.metrics import adjusted_rand_score

VEHICLE, SCENE, USPS, DIGITS = "vehicle", "scene8_outdoor", "usps_11000", "digits"
SETS = (VEHICLE, SCENE, USPS, DIGITS)
PIXELS = (USPS, DIGITS)
PER_CLASS = 100
#: Classes that make up one of the two groups of the binary setting.
ONE_SIDE = {
    VEHICLE: ("van",),
    SCENE: ("coast", "forest", "mountain", "opencountry"),
    USPS: tuple("02468"),
    DIGITS: tuple("02468"),
}
#: Number of labeled rows of each class.
ALL_SIZES = tuple(range(5, 20, 2))
SIZES = (5, 9, 13, 19)
#: The rows that answers are drawn from.
LABELED, ALL = "labelled rows", "all rows"
#: Class labels that the groups are compared with in each setting.
TARGETS = {"binary": ("binary",), "multi": ("multi",), "mixed": ("binary", "multi")}
WRONG_SIZE = 13
WRONG = (0.1, 0.2, 0.3)
#: Number of odd-one-out answers in Figure 4, to which answers "all alike" are added.
FIRST_ANSWERS = {VEHICLE: 360, SCENE: 720, USPS: 900, DIGITS: 900}
EQUALITIES = (0, 50, 100, 200)
#: Number of starts of k-means on all rows of a set, of which there are up to 11,000.
NEW_STARTS = 3

KERNEL_KMEANS = Method("kernel_kmeans", "kernel k-means", "", "SKLR", "nothing")
SOFT = Method("sklr", "SKLR", "", "SKLR", "odd_one_out")
HARD = Method("sklr_hard", "SKLR hard", "", "SKLR hard", "odd_one_out")
PUBLISHED = Method("sklr_paper", "SKLR as published", "", "SKLR as published", "odd_one_out")
SKKM = Method("skkm", "SKkm", "", "SKMS", "pairs")
ITML = Method("itml", "ITML", "", "ITML", "pairs")
#: The methods that the paper compares with its own.
COMPARATORS = (SKKM, ITML, Method("lsml", "LSML", "", "LSML, few steps", "odd_one_out"))
E2CP = Method("e2cp", "E2CP", "spectral", "E2CP", "pairs")
METHODS = (KERNEL_KMEANS, SOFT, HARD, PUBLISHED, *COMPARATORS, E2CP)


def paper_source(method: Method) -> str:
    """Return where the paper draws a method's answers: pairs only among the labeled rows."""
    return LABELED if method.answers == "pairs" else ALL


@dataclass(frozen=True)
class Cell:
    """How answers are drawn: in which setting, how many, about which rows, and how many wrong."""

    setting: str
    size: int = 0  # Number of labeled rows of each class
    source: str = ""
    wrong: float = 0.0
    n_equal: int | None = None
    """Number of answers "all alike" in Figure 4; None for other cells."""
    with_apart: bool = False  # Whether these answers may be about rows of three classes

    @property
    def name(self) -> str:
        if self.n_equal is not None:
            kind = "one class or three" if self.with_apart else "one class"
            return f"{self.setting}, {self.n_equal} equalities" + f", {kind}" * (self.n_equal > 0)
        if not self.size:
            return self.setting
        wrong = f", {self.wrong:.0%} wrong" if self.wrong else ""
        return f"{self.setting}, {self.size} a class, {self.source}{wrong}"

    @property
    def targets(self) -> tuple[str, ...]:
        return TARGETS.get(self.setting, ("binary", "multi"))


NO_ANSWERS = Cell("no answers")


class Sample(NamedTuple):
    """The rows of one trial and the others, with their classes in each setting."""

    X: Floats
    y: dict[str, Ints]
    unseen: Floats
    unseen_y: dict[str, Ints]


def problem(name: str) -> Problem:
    """Load a set: pixels divided by the largest, other features standardized."""
    return load(name, "largest" if name in PIXELS else "standard")


def classes(name: str) -> dict[str, Ints]:
    """Return the class of each row, and which of the two groups it is in."""
    y, names = problem(name).y, np.array(problem(name).class_names)
    return {"multi": y, "binary": np.isin(names, ONE_SIDE[name])[y].astype(np.int64)}


@lru_cache(maxsize=4)
def sample(name: str, trial: int) -> Sample:
    """Draw the rows of a trial: 100 of each class, or all rows of vehicle."""
    X, y = problem(name).X, classes(name)
    is_drawn = np.full(len(X), name == VEHICLE)
    if name != VEHICLE:
        random = RandomState(seed_of("sklr", name, trial))
        is_drawn[draws.labeled_rows(y["multi"], PER_CLASS, random)] = True
    seen, unseen = ({t: of[rows] for t, of in y.items()} for rows in (is_drawn, ~is_drawn))
    return Sample(X[is_drawn], seen, X[~is_drawn], unseen)


@lru_cache(maxsize=4)
def answers(name: str, cell: Cell, trial: int) -> Constraints:
    """Draw pairs and as many odd-one-out answers; the same questions for all shares of errors."""
    of = sample(name, trial)
    n, y = len(of.X), of.y
    seed = seed_of("sklr", name, trial, cell.setting, cell.size, cell.source)
    if cell.n_equal is not None:
        random = RandomState(seed)
        odd = draws.odd_ones_out(y["multi"], np.arange(n), FIRST_ANSWERS[name], random)
        most = max(EQUALITIES)
        equal = draws.equalities(y["multi"], most, random, with_apart=cell.with_apart)
        return Constraints(n, odd_one_out=np.concatenate([odd, equal[: cell.n_equal]]))
    if not cell.size:
        return Constraints(n)
    pairs, odd = _pairs_and_odd(y, cell, seed)
    return Constraints(
        n,
        pairs=draws.with_wrong(pairs, cell.wrong, draws.PAIR_CODES, seed),
        odd_one_out=draws.with_wrong(odd, cell.wrong, draws.ODD_CODES, seed),
    )


def _pairs_and_odd(y: dict[str, Ints], cell: Cell, seed: int) -> tuple[Ints, Ints]:
    """Draw the answers of a setting; of mixed ones, half are binary and half are multi-class."""
    if cell.setting == "mixed":
        halves = []
        for number, target in enumerate(cell.targets):
            random = RandomState((seed + number) % 2**31)
            drawn = _of_setting(y[target], cell, random)
            halves.append([p[np.sort(random.permutation(len(p))[: len(p) // 2])] for p in drawn])
        must, cannot, odd = (np.concatenate(of) for of in zip(*halves, strict=True))
    else:
        must, cannot, odd = _of_setting(y[cell.setting], cell, RandomState(seed))
    return np.concatenate([must, cannot]), odd


def _of_setting(y: Ints, cell: Cell, random: RandomState) -> tuple[Ints, Ints, Ints]:
    """Draw all must-links among labeled rows, and as many cannot-links and odd-one-out answers."""
    labeled = draws.labeled_rows(y, cell.size, random)
    rows = labeled if cell.source == LABELED else np.arange(len(y))
    must = draws.all_must_links(y, labeled)
    if cell.source == ALL:
        must = draws.must_links(y, rows, len(must), random)
    cannot = draws.cannot_links(y, rows, len(must), random)
    return must, cannot, draws.odd_ones_out(y, rows, 2 * len(must), random)


@dataclass(frozen=True)
class SklrStudy(Study):
    """The study of SKLR."""

    n_trials: int = 6
    sets: tuple[str, ...] = SETS
    stem: str = "sklr"
    no_answers = NO_ANSWERS
    problem = staticmethod(problem)
    sizes: tuple[int, ...] = SIZES

    def curve(self, setting: str, source: str) -> list[Cell]:
        return [Cell(setting, size, source) for size in self.sizes]

    def wrong_cells(self, method: Method) -> list[Cell]:
        """Return the cells of growing shares of wrong answers, drawn as in the paper."""
        source = paper_source(method)
        return [Cell("multi", WRONG_SIZE, source, share) for share in (0.0, *WRONG)]

    def equal_cells(self, *, with_apart: bool) -> list[Cell]:
        return [Cell("multi", n_equal=n, with_apart=with_apart and n > 0) for n in EQUALITIES]

    def cells(self) -> list[Cell]:
        sources = (LABELED, ALL)
        wrong = [Cell("multi", WRONG_SIZE, s, w) for w in (0.0, *WRONG)[::-1] for s in sources]
        curves = [c for s in sources[::-1] for setting in TARGETS for c in self.curve(setting, s)]
        curves.sort(key=lambda cell: -cell.size)
        equal = [c for apart in (True, False) for c in self.equal_cells(with_apart=apart)]
        return list(dict.fromkeys([*wrong, *equal, *curves]))

    def points(self, name: str) -> list[tuple[Method, Cell]]:
        return [(method, cell) for cell in self.cells() for method in self._methods_at(cell)]

    def _methods_at(self, cell: Cell) -> list[Method]:
        if cell.n_equal is not None:
            return [SOFT, PUBLISHED]
        if not cell.wrong:
            return list(METHODS)
        found = [m for m in METHODS if m.uses_answers and m not in (PUBLISHED, E2CP)]
        return [KERNEL_KMEANS, *(m for m in found if paper_source(m) == cell.source)]

    def measure(self, task: Task) -> dict[str, Any]:
        """Return the ARI for each target; for rows outside the sample, under "new " + target."""
        name, method, cell, trial = task
        of, seed = sample(name, trial), seed_of("method", name, trial)
        k = {target: len(np.unique(of.y[target])) for target in cell.targets}
        found = run_method(method, of.X, answers(name, cell, trial), tuple(k.values()), seed)
        if not found.labels:
            return found.notes
        aris = {t: adjusted_rand_score(of.y[t], found.labels[n]) for t, n in k.items()}
        is_as_published = cell == NO_ANSWERS or cell.source == paper_source(method)
        if found.embedding is not None and len(of.unseen) and is_as_published and not cell.wrong:
            everything = np.concatenate([found.embedding, found.model.transform(of.unseen)])
            for t, n in k.items():
                labels = KMeans(n, n_init=NEW_STARTS, random_state=seed).fit_predict(everything)
                aris[f"new {t}"] = adjusted_rand_score(of.unseen_y[t], labels[len(of.X) :])
        return found.notes | {target: float(ari) for target, ari in aris.items()}
