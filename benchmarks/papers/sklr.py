"""SKLR's Figures 1 to 4: two sets of class labels a data set, answers drawn as in the paper."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.random import RandomState
from sklearn.cluster import KMeans
from sklearn.manifold import TSNE

from benchmarks.study.command import study_command
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import seed_of
from benchmarks.study.methods import Method, run_method
from benchmarks.study.pictures import BLUE, GRAY, GREEN, ORANGE, PINK, RED, SKY, panels
from benchmarks.study.problems import Floats, Ints, Problem, load
from benchmarks.study.report import Claim, Curves, Line, Panel, Picture, Report, Table, counted
from benchmarks.study.results import Results, in_order
from clew import Constraints
from clew.answers import ALL_ALIKE, DIFFERENT, FIRST, SAME, SECOND, THIRD
from clew.metrics import adjusted_rand_score

PAIR_CODES = (SAME, DIFFERENT)
ODD_CODES = (FIRST, SECOND, THIRD)
#: Rounds of drawing after which it is assumed that no more different answers exist.
ROUNDS = 200


def labeled_rows(y: Ints, per_class: int, random: RandomState) -> Ints:
    """Draw the same number of rows from every class."""
    drawn = [random.choice(np.flatnonzero(y == c), per_class, replace=False) for c in np.unique(y)]
    return np.concatenate(drawn).astype(np.int64)


def all_must_links(y: Ints, rows: Ints) -> Ints:
    """Return all pairs of the rows that are in one class, as answers, (m, 3)."""
    first, second = np.triu_indices(len(rows), 1)
    pairs = np.column_stack([rows[first], rows[second]])
    return _answered(pairs[y[pairs[:, 0]] == y[pairs[:, 1]]], SAME)


def must_links(y: Ints, rows: Ints, count: int, random: RandomState) -> Ints:
    """Draw different pairs of one class, every class as often as others, as answers, (count, 3)."""
    pairs = _different(lambda n: np.sort(_of_one_class(y, rows, 2, n, random)[0], axis=1), count)
    return _answered(pairs, SAME)


def cannot_links(y: Ints, rows: Ints, count: int, random: RandomState) -> Ints:
    """Draw different pairs of two classes, as answers, (count, 3)."""

    def draw(n: int) -> Ints:
        members, classes = _of_one_class(y, rows, 1, n, random)
        others = _of_other_classes(y, rows, classes, random)
        return np.sort(np.column_stack([members[:, 0], others]), axis=1)

    return _answered(_different(draw, count), DIFFERENT)


def odd_ones_out(y: Ints, rows: Ints, count: int, random: RandomState) -> Ints:
    """Draw answers about two rows of one class (all classes equally often) and one of another."""

    def draw(n: int) -> Ints:
        alike, classes = _of_one_class(y, rows, 2, n, random)
        odd = _of_other_classes(y, rows, classes, random)
        return np.column_stack([np.sort(alike, axis=1), odd])

    triples = _different(draw, count)
    order = np.argsort(random.random_sample(triples.shape), axis=1)
    place = np.argmax(order == 2, axis=1)
    codes = np.array(ODD_CODES)
    return np.column_stack([np.take_along_axis(triples, order, axis=1), codes[place]])


def equalities(y: Ints, count: int, random: RandomState, *, with_apart: bool) -> Ints:
    """Draw "all alike": three rows of one class or, with probability 1/2, of three classes."""
    everywhere = np.arange(len(y))
    alike, _ = _of_one_class(y, everywhere, 3, count, random)
    if with_apart:
        is_apart = random.random_sample(count) < 0.5
        alike[is_apart] = [_of_three_classes(y, random) for _ in range(int(is_apart.sum()))]
    return _answered(alike, ALL_ALIKE)


def with_wrong(answers: Ints, share: float, codes: Sequence[int], seed: int) -> Ints:
    """Make an exact share of answers wrong; with a larger share, these stay wrong.

    Each row of `answers` holds the rows of a question and the answer, one of `codes`.
    """
    random = RandomState(seed)
    order = random.permutation(len(answers))
    step = random.randint(1, len(codes), size=len(answers))
    wrong = order[: round(share * len(answers))]
    said = answers.copy()
    place = np.argmax(said[wrong, -1:] == np.array(codes), axis=1)
    said[wrong, -1] = np.array(codes)[(place + step[wrong]) % len(codes)]
    return said


def _answered(rows: Ints, answer: int) -> Ints:
    return np.column_stack([rows, np.full(len(rows), answer)])


def _different(draw: Callable[[int], Ints], count: int) -> Ints:
    found = draw(count)
    for _ in range(ROUNDS):
        found = found[np.sort(np.unique(found, axis=0, return_index=True)[1])]
        if len(found) >= count:
            return found[:count]
        found = np.concatenate([found, draw(count)])
    raise ValueError(f"fewer than {count} different answers can be drawn")


def _of_one_class(
    y: Ints, rows: Ints, n_rows: int, count: int, random: RandomState
) -> tuple[Ints, Ints]:
    """Draw different rows of one class, (count, n_rows), and that class, (count,)."""
    classes = np.unique(y[rows])
    members = [rows[y[rows] == c] for c in classes]
    which = random.randint(len(classes), size=count)
    sizes = np.array([len(of) for of in members])[which]
    drawn = np.empty((count, n_rows), np.int64)
    for column in range(n_rows):
        place = (random.random_sample(count) * (sizes - column)).astype(np.int64)
        for taken in np.sort(drawn[:, :column], axis=1).T:
            place += place >= taken
        drawn[:, column] = place
    table = np.zeros((len(classes), max(map(len, members))), np.int64)
    for position, of in enumerate(members):
        table[position, : len(of)] = of
    return table[which[:, None], drawn], classes[which]


def _of_other_classes(y: Ints, rows: Ints, classes: Ints, random: RandomState) -> Ints:
    """Draw for each class a row of another class."""
    found = rows[random.randint(len(rows), size=len(classes))]
    while (again := y[found] == classes).any():
        found[again] = rows[random.randint(len(rows), size=int(again.sum()))]
    return found


def _of_three_classes(y: Ints, random: RandomState) -> Ints:
    classes = random.choice(np.unique(y), 3, replace=False)
    return np.array([random.choice(np.flatnonzero(y == c)) for c in classes])


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
        is_drawn[labeled_rows(y["multi"], PER_CLASS, random)] = True
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
        odd = odd_ones_out(y["multi"], np.arange(n), FIRST_ANSWERS[name], random)
        most = max(EQUALITIES)
        equal = equalities(y["multi"], most, random, with_apart=cell.with_apart)
        return Constraints(n, odd_one_out=np.concatenate([odd, equal[: cell.n_equal]]))
    if not cell.size:
        return Constraints(n)
    pairs, odd = _pairs_and_odd(y, cell, seed)
    return Constraints(
        n,
        pairs=with_wrong(pairs, cell.wrong, PAIR_CODES, seed),
        odd_one_out=with_wrong(odd, cell.wrong, ODD_CODES, seed),
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
    labeled = labeled_rows(y, cell.size, random)
    rows = labeled if cell.source == LABELED else np.arange(len(y))
    must = all_must_links(y, labeled)
    if cell.source == ALL:
        must = must_links(y, rows, len(must), random)
    cannot = cannot_links(y, rows, len(must), random)
    return must, cannot, odd_ones_out(y, rows, 2 * len(must), random)


@dataclass(frozen=True)
class SklrStudy(Study):
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


PAPER = "as the paper draws"
#: The rows that answers are drawn from: as in the paper (all rows for odd-one-out answers, the few
#: labeled rows for pairs), the labeled rows for both kinds, or all rows for both.
SAMPLINGS = {PAPER: None, "all from the labelled rows": LABELED, "all from all rows": ALL}
STEMS = dict(zip(SAMPLINGS, ("curves", "curves_labelled", "curves_all"), strict=True))
COLORS = dict(zip(METHODS, (GRAY, BLUE, SKY, PINK, GREEN, ORANGE, RED, "black"), strict=True))
SOFT_AND_PUBLISHED = (SOFT, PUBLISHED)


class Column(NamedTuple):
    """A column of Figure 1: the setting of the answers, and the classes to find."""

    title: str
    setting: str
    target: str


COLUMNS = (
    Column("(a) two groups", "binary", "binary"),
    Column("(b) all classes", "multi", "multi"),
    Column("(c) mixed answers, two groups", "mixed", "binary"),
    Column("(d) mixed answers, all classes", "mixed", "multi"),
)


class SklrReport(Report[SklrStudy]):
    def __init__(self, results: Results[SklrStudy]) -> None:
        super().__init__(results)
        self.sizes = ", ".join(map(str, self.study.sizes))
        new = self.new(KERNEL_KMEANS, COLUMNS[0])
        self.unseen = [name for name in self.sets if len(new(name).dropna())]
        self.main = {
            (m, sampling): [self.above(m, sampling, column) for column in COLUMNS]
            for m, sampling in product(SOFT_AND_PUBLISHED, SAMPLINGS)
        }
        self.above_comparators = list(chain(*self.main.values()))

    def cells(self, method: Method, column: Column, sampling: str = PAPER) -> list[Cell]:
        return self.study.curve(column.setting, SAMPLINGS[sampling] or paper_source(method))

    def curve(
        self, method: Method, column: Column, sampling: str = PAPER, field: str = ""
    ) -> partial[pd.DataFrame]:
        cells, field = self.cells(method, column, sampling), field or column.target
        x = self.study.sizes
        return partial(self.results.curve, cells=cells, method=method, field=field, x=x)

    def new(self, method: Method, column: Column) -> partial[pd.DataFrame]:
        return self.curve(method, column, field=f"new {column.target}")

    def wrong(self, method: Method) -> partial[pd.DataFrame]:
        cells, x = self.study.wrong_cells(method), (0.0, *WRONG)
        return partial(self.results.curve, cells=cells, method=method, field="multi", x=x)

    def row(self, label: str, name: str, cells: list[Cell], method: Method, field: str) -> Any:
        return [label, *(self.results.score(name, cell, method, field) for cell in cells)]

    def at(self, cell: Cell, method: Method, field: str = "multi") -> partial[pd.Series]:
        return partial(self.results.values, cell=cell, method=method, field=field)

    def above(self, method: Method, sampling: str, column: Column) -> Claim:
        text = f"{method.label} above SKkm, ITML and LSML at every s, {column.title}, {sampling}"
        others = {m.label: self.curve(m, column, sampling) for m in COMPARATORS}
        return Claim(text, self.curve(method, column, sampling), others, self.sets)

    def in_short(self) -> str:
        return "\n".join(
            f"- {method.label}, {sampling}, compared with the comparators: {counted(claims)}."
            for (method, sampling), claims in self.main.items()
        )

    def other_claims(self) -> Iterator[Claim]:
        for other, column in product((HARD, PUBLISHED, E2CP), COLUMNS):
            text = f"SKLR above {other.label} at every s, {column.title}, {PAPER}"
            yield Claim(text, self.curve(SOFT, column), self.curve(other, column), self.sets)
        first, *_, last = self.study.sizes
        for column, m, word in (
            *((COLUMNS[2], m, "above") for m in COMPARATORS),
            *((COLUMNS[3], m, "below") for m in (SKKM, ITML)),
        ):
            text = f"{column.title}: {m.label} {word} kernel k-means at s = {last}"
            pair = (m, KERNEL_KMEANS)
            ours, theirs = (self.at(self.cells(of, column)[-1], of, column.target) for of in pair)
            yield Claim(text, ours, theirs, self.sets, is_below=word == "below")
        text = f"{COLUMNS[1].title}: ITML with s = {last} below ITML with s = {first}"
        least, *_, most = self.cells(ITML, COLUMNS[1])
        ours, theirs = self.at(most, ITML), self.at(least, ITML)
        yield Claim(text, ours, theirs, self.sets, is_below=True)
        for column, m in product(COLUMNS, SOFT_AND_PUBLISHED):
            text = f"{m.label} above the others outside the sample, {column.title}"
            others = {other.label: self.new(other, column) for other in COMPARATORS}
            yield Claim(text, self.new(m, column), others, self.unseen)
        for m, with_apart in product(SOFT_AND_PUBLISHED, (False, True)):
            least, *_, most = self.study.equal_cells(with_apart=with_apart)
            kind = "of one class or of three" if with_apart else "of one class"
            text = f"{m.label} with {most.n_equal} equalities {kind} above without"
            yield Claim(text, self.at(most, m), self.at(least, m), self.sets)
        text = f"SKLR above kernel k-means with {WRONG[-1]:.0%} of the answers wrong"
        pair = (SOFT, KERNEL_KMEANS)
        ours, theirs = (self.at(self.study.wrong_cells(of)[-1], of) for of in pair)
        yield Claim(text, ours, theirs, self.sets)

    def orders(self) -> str:
        lines = []
        for sampling, name, column in product(SAMPLINGS, self.sets, COLUMNS):
            score = partial(self.results.score, name, field=column.target)
            scores = {m.label: score(self.cells(m, column, sampling)[-1], m) for m in METHODS}
            lines.append(f"- {sampling}, {name}, {column.title}: {in_order(scores)}.")
        for name in self.sets:
            scores = {
                m.label: self.results.score(name, self.study.wrong_cells(m)[-1], m, "multi")
                for m in (SOFT, HARD, *COMPARATORS)
            }
            lines.append(f"- {name}, {WRONG[-1]:.0%} wrong: {in_order(scores)}.")
        return "\n".join(lines)

    def tables_1(self) -> Iterator[Table]:
        for name, column in product(self.sets, COLUMNS):
            rows = []
            for m in METHODS:
                for source in (LABELED, ALL) if m.uses_answers else ("",):
                    star = " *" if source == paper_source(m) else ""
                    label = f"{m.label}, {source}{star}" if source else m.label
                    cells = self.study.curve(column.setting, source or ALL)
                    rows.append(self.row(label, name, cells, m, column.target))
            yield self._over_sizes(name, column, rows)

    def tables_3(self) -> Iterator[Table]:
        learned = [m for m in METHODS if not m.clusterer]
        for name, column in product(self.unseen, COLUMNS):
            field = f"new {column.target}"
            rows = [self.row(m.label, name, self.cells(m, column), m, field) for m in learned]
            yield self._over_sizes(name, column, rows)

    def _over_sizes(self, name: str, column: Column, rows: list[Any]) -> Table:
        header = [f"{name} {column.title}", *(f"s = {size}" for size in self.study.sizes)]
        return Table(header, rows, is_marked=True)

    def figure_1(self) -> Iterator[Curves]:
        for sampling, stem in STEMS.items():
            rows = [[self.panel(name, of, sampling) for of in COLUMNS] for name in self.sets]
            yield Curves(stem, f"Answers {sampling}", rows, "labelled rows of each class")

    def panel(self, name: str, column: Column, sampling: str) -> Panel:
        lines = [_line(m, self.curve(m, column, sampling)(name)) for m in METHODS]
        return Panel(f"{name} {column.title}", self.study.sizes, lines)

    def figure_2(self) -> Picture | str:
        return Picture("tsne", "Figure 2", self._maps) if USPS in self.sets else "No data."

    def _maps(self) -> Any:
        of = sample(USPS, 0)
        figure, grid = panels(1, 3)
        _map(grid[0, 0], of.X, of.y, "as given")
        for place, m, source in ((grid[0, 1], SKKM, LABELED), (grid[0, 2], SOFT, ALL)):
            known = answers(USPS, Cell("mixed", self.study.sizes[-1], source), 0)
            found = run_method(m, of.X, known, (2,), 0)
            if found.embedding is not None:
                _map(place, found.embedding, of.y, m.label)
        figure.suptitle("USPS digits, t-SNE: a color a digit; dots even, crosses odd", fontsize=11)
        return figure

    def figure_4(self) -> list[Curves | Table]:
        row, tables = [], []
        for name in self.sets:
            lines, rows = [], []
            for m, with_apart in product(SOFT_AND_PUBLISHED, (False, True)):
                cells = self.study.equal_cells(with_apart=with_apart)
                label = f"{m.label}, {'one class or three' if with_apart else 'one class'}"
                style = {"color": COLORS[m], "linestyle": "--" if with_apart else "-"}
                lines.append(Line(label, self.results.curve(name, cells, m, "multi"), style))
                rows.append(self.row(label, name, cells, m, "multi"))
            row.append(Panel(name, EQUALITIES, lines))
            tables.append(Table([name, *map(str, EQUALITIES)], rows, is_marked=True))
        return [Curves("equalities", "Figure 4", [row], "equalities"), *tables]

    def wrong_answers(self) -> list[Curves | Table]:
        methods, shares = (KERNEL_KMEANS, SOFT, HARD, *COMPARATORS), (0.0, *WRONG)
        x, row, tables = [100 * share for share in shares], [], []
        for name in self.sets:
            row.append(Panel(name, x, [_line(m, self.wrong(m)(name)) for m in methods]))
            rows = [self.row(m.label, name, self.study.wrong_cells(m), m, "multi") for m in methods]
            header = [name, *(f"{share:.0%} wrong" for share in shares)]
            tables.append(Table(header, rows, is_marked=True))
        return [Curves("wrong", "Wrong answers", [row], "wrong answers, %"), *tables]


def _line(method: Method, curve: pd.DataFrame) -> Line:
    style = {"color": COLORS[method], "linestyle": "-" if method.uses_answers else ":"}
    return Line(method.label, curve, style)


def _map(place: Any, Z: Any, y: dict[str, Any], title: str) -> None:
    flat = TSNE(2, init="pca", random_state=0).fit_transform(Z)
    for is_even, marker in ((1, "."), (0, "x")):
        shown = y["binary"] == is_even
        style = {"cmap": "tab10", "vmin": 0, "vmax": 9, "s": 9, "linewidths": 0.6}
        place.scatter(*flat[shown].T, c=y["multi"][shown], marker=marker, **style)
    place.set_title(title, fontsize=9)
    place.set(xticks=[], yticks=[])


QUICK = SklrStudy(1, (VEHICLE,), "sklr_quick", True, sizes=(5, 13))
FLAGS = {"all-sizes": ("5, 7, ... 19 labelled rows a class.", {"sizes": ALL_SIZES})}
HELP = "One trial, vehicle, two sizes"
command = study_command(SklrStudy(), SklrReport, __file__, QUICK, HELP, FLAGS)
