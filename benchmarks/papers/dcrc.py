"""DCRC's Figures 2 and 4 to 7, and Table V: triplets answered by classes, one person and six."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache, partial
from itertools import permutations, product
from typing import Any

import numpy as np
import pandas as pd
from numpy.random import RandomState

from benchmarks.study import pictures
from benchmarks.study.command import study_command
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import seed_of
from benchmarks.study.methods import Answers, Method, run_method
from benchmarks.study.pictures import BLUE, GRAY, GREEN, ORANGE, PINK, RED, SKY, panels
from benchmarks.study.problems import Floats, Ints, Problem, load
from benchmarks.study.report import Claim, Curves, Panel, Picture, Report, Table, counted
from benchmarks.study.results import Results, Score, in_order
from clew import Constraints, Question
from clew.answers import Kind
from clew.cluster import DCRC
from clew.constraints._meanings import TRUTH
from clew.metrics import adjusted_rand_score, normalized_mutual_info_score, pairwise_f_score
from clew.oracles import SimulatedOracle
from clew.questions import pair_information, triplet_information

ROWS_PER_GROUP = 50
N_IN_PLANE = 500
#: Share of the rows that are asked about: those whose two nearest centers are about equally far.
SHARE_NEAR = 0.4
CENTERS = np.array([[0.0, 0.0], [4.0, 0.0], [2.0, 3.46]])
#: Standard deviation of the groups, whose centers are 4 apart.
WIDTHS = {"close together": 1.35, "far apart": 0.5}
EPSILONS = {"soft": 0.05, "hard": 0.0}
#: Draws of the plane; the first is shown.
N_DRAWS = 5


@cache
def plane(width: str, draw: int = 0) -> tuple[Floats, Ints, Constraints]:
    """Draw rows and groups, of one of `WIDTHS`, and answers about rows between the groups."""
    random = RandomState(draw)
    y = np.repeat(np.arange(len(CENTERS)), ROWS_PER_GROUP)
    X = CENTERS[y] + WIDTHS[width] * random.standard_normal((len(y), 2))
    distance = np.sort(np.linalg.norm(X[:, None] - CENTERS, axis=2), axis=1)
    near = np.argsort(distance[:, 1] - distance[:, 0])[: round(SHARE_NEAR * len(y))]
    rows = np.array([random.choice(near, 3, replace=False) for _ in range(N_IN_PLANE)])
    answers = TRUTH["triplet"](y, rows)
    return X, y, Constraints.from_triplets(rows, answers, n_samples=len(y))


@cache
def fitted(width: str, kind: str, draw: int = 0) -> tuple[DCRC, float]:
    """Fit DCRC, soft or hard, and return the share of rows in the right group."""
    X, y, known = plane(width, draw)
    model = DCRC(len(CENTERS), epsilon=EPSILONS[kind], random_state=draw).fit(X, constraints=known)
    orders = (np.array(order)[model.labels_] for order in permutations(range(len(CENTERS))))
    return model, max(float(np.mean(labels == y)) for labels in orders)


def shares_right(width: str, kind: str) -> pd.Series:
    """Return the share of rows in the right group, by draw of the plane."""
    return pd.Series([fitted(width, kind, draw)[1] for draw in range(N_DRAWS)])


def draw_planes() -> Any:
    """Shade the plane by the entropy of the group probabilities, and show the rows."""
    figure, grid = panels(len(WIDTHS), len(EPSILONS))
    for row, width in zip(grid, WIDTHS, strict=True):
        for place, kind in zip(row, EPSILONS, strict=True):
            _shaded(place, width, kind)
    return figure


def _shaded(place: Any, width: str, kind: str) -> None:
    X, (model, share) = plane(width)[0], fitted(width, kind)
    low, high = X.min(axis=0) - 0.5, X.max(axis=0) + 0.5
    x, y = (np.linspace(*ends, 120) for ends in zip(low, high, strict=True))
    points = np.column_stack([of.ravel() for of in np.meshgrid(x, y)])
    p = np.clip(model.predict_proba(points), 1e-12, 1)
    entropy = -(p * np.log(p)).sum(axis=1).reshape(len(y), len(x))
    place.contourf(x, y, entropy, levels=12, cmap="Greys", alpha=0.7)
    place.scatter(*X.T, c=np.array([BLUE, PINK, GREEN])[model.labels_], s=8)
    place.set_title(f"{width}, {kind}: {share:.1%}", fontsize=9)
    place.set(xticks=[], yticks=[])


BIRDS, LETTERS, DIGITS = "hja_birdsong", "letters_ijlt", "digits389"
#: Sets, those that take longest first.
SETS = (BIRDS, LETTERS, DIGITS, "pima_diabetes", "balance_scale", "ionosphere")
#: Sets on which six people answer.
PEOPLE_SETS = (BIRDS, LETTERS, DIGITS)
#: Numbers of triplets, as shares of the number of rows.
ALL_SHARES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
SHARES = (0.05, 0.15, 0.3)
#: Answers of one person in Table V.
N_TRIPLETS, N_PAIRS, MORE_PAIRS = 150, 150, 225
Matrix = tuple[tuple[float, ...], ...]
#: How often people gave each answer (columns) for each true answer (rows): triplets yes, no,
#: don't-know; pairs must-link, cannot-link, and never don't-know.
TABLE_IV: Mapping[Kind, Matrix] = {
    "triplet": ((18.50, 0.33, 4.83), (0.33, 16.50, 4.50), (3.50, 3.00, 98.50)),
    "pair": ((42.50, 9.67, 0.0), (10.83, 162.00, 0.0), (0.0, 0.0, 1.0)),
}
GOOD: Matrix = ((0.95, 0.02, 0.03), (0.02, 0.95, 0.03), (0.03, 0.03, 0.94))
#: Confusion matrices of six people.
PEOPLE: Mapping[str, Matrix] = {
    "good": GOOD,
    "careless": ((0.8, 0.1, 0.1), (0.1, 0.8, 0.1), (0.1, 0.1, 0.8)),
    "shy": ((0.48, 0.02, 0.5), (0.02, 0.48, 0.5), (0.01, 0.01, 0.98)),
    "swaps": ((0.5, 0.5, 0.0), (0.5, 0.5, 0.0), (0.0, 0.0, 1.0)),
    "spams": ((1 / 3, 1 / 3, 1 / 3),) * 3,
    "good too": GOOD,
}


def _metric(name: str, label: str, answers: Answers, similarity: str, *tried: Any) -> Method:
    """Learn a metric and run k-means, with the first of the best values of its parameter."""
    return Method(name, label, "", similarity, answers, n_starts=50, tried=tried or None)


DEFAULT = Method("dcrc", "DCRC", "DCRC", "", "triplets")
LINEAR = Method("dcrc_linear", "DCRC linear", "DCRC linear", "", "triplets")
KERNEL = Method("dcrc_kernel", "DCRC kernel", "DCRC kernel", "", "triplets")
YES_NO = Method("dcrc_yn", "DCRC-YN", "DCRC linear", "", "yes_no")
PUBLISHED = Method("dcrc_paper", "DCRC as published", "DCRC as published", "", "triplets")
HARD = Method("dcrc_hard", "DCRC hard", "DCRC hard", "", "triplets")
FREE = Method("dcrc_free", "DCRC no balance", "DCRC no balance", "", "triplets")
KMEANS = Method("kmeans", "k-means", answers="nothing", n_starts=50)
ITML = _metric("itml", "ITML", "as_pairs", "ITML", "gamma", (1.0, 0.01, 0.1, 10.0))
MMC = _metric("mmc", "MMC diagonal", "as_pairs", "MMC diagonal", "ridge", (0.3, 1.0, 0.1, 0.01))
LSML = _metric("lsml", "LSML", "yes_no", "LSML", "penalty", ("auto", 1.0, 100.0, 10_000.0))
SPARSE_LP = _metric("sparse_lp", "SparseLP", "yes_no", "SparseLP", "sparsity", (0.1, 0.01, 1.0))
SSSVAD = Method("sssvad", "SSSVaD", "SSSVaD", "", "yes_no")
SKLR = _metric("sklr", "SKLR", "triplets", "SKLR")
E2CP = Method("e2cp", "E2CP", "spectral", "E2CP", "as_pairs")
#: The methods that the paper compares with its own.
COMPARATORS = (ITML, MMC, LSML, SSSVAD, SPARSE_LP)
OURS = (DEFAULT, LINEAR, KERNEL, YES_NO, PUBLISHED, HARD, FREE)
METHODS = (*OURS, *COMPARATORS, KMEANS, SKLR, E2CP)

FIFTEEN = Method("dcrc_15", "DCRC ε = .15", "DCRC, error .15", "", "triplets")
FIFTEEN_YN = Method("dcrc_15_yn", "DCRC-YN ε = .15", "DCRC, error .15", "", "yes_no")
ANNOTATORS = Method("dcrc_annotators", "DCRC annotators", "DCRC, annotators", "", "triplets")
ON_PAIRS = tuple(replace(m, name=f"{m.name}_pairs", answers="pairs") for m in (ITML, MMC))


@dataclass(frozen=True)
class Cell:
    """The source and number of answers."""

    kind: str  # "truth", "one person" or "six people"
    share: float = 0.0  # Number of triplets for each row, of kind "truth"
    n_pairs: int = N_PAIRS  # Number of pairs that one person answers in addition to triplets

    @property
    def name(self) -> str:
        if self.kind == "truth":
            return f"{self.share:g} N triplets"
        return f"{self.kind}, {self.n_pairs} pairs" if self.kind == "one person" else self.kind


NO_ANSWERS = Cell("truth")
ONE, MORE, SIX = Cell("one person"), Cell("one person", n_pairs=MORE_PAIRS), Cell("six people")
#: Methods measured on answers of people.
BY_PEOPLE = {
    ONE: (FIFTEEN, FIFTEEN_YN, ANNOTATORS, LSML, SPARSE_LP, SSSVAD, *ON_PAIRS),
    MORE: ON_PAIRS,
    SIX: (FIFTEEN, ANNOTATORS, LSML, SSSVAD, SPARSE_LP, ITML),
}


@lru_cache(maxsize=4)
def answers(name: str, cell: Cell, trial: int) -> Constraints:
    """Draw the answers of a trial; a larger amount of triplets contains the smaller ones."""
    y = load(name, "standard").y
    if cell.kind != "truth":
        return _by_people(name, cell, trial)
    most = round(max(ALL_SHARES) * len(y))
    drawn = Constraints.from_labels(y, n_triplets=most, random_state=seed_of("dcrc", name, trial))
    return drawn.select(triplets=np.arange(round(cell.share * len(y))))


def _by_people(name: str, cell: Cell, trial: int) -> Constraints:
    """Ask one person about triplets and pairs, or each of six about triplets of their own."""
    y, seed = load(name, "standard").y, seed_of("dcrc", name, cell.kind, trial)
    is_one = cell.kind == "one person"
    confusion: Any = shares(TABLE_IV) if is_one else {"triplet": list(PEOPLE.values())}
    people = 1 if is_one else list(PEOPLE)
    oracle = SimulatedOracle(y, annotators=people, confusion=confusion, random_state=seed)
    n_triplets, n_pairs = N_TRIPLETS * len(oracle.annotators), MORE_PAIRS * is_one
    asked = Constraints.from_labels(y, n_triplets=n_triplets, n_pairs=n_pairs, random_state=seed)
    given = [
        oracle.answer(Question("triplet", tuple(rows)), oracle.annotators[i // N_TRIPLETS])
        for i, rows in enumerate(asked.triplets.tolist())
    ]
    given += oracle.answer_all(Question("pair", tuple(rows)) for rows in asked.pairs.tolist())
    known = Constraints.from_answers(given, n_samples=len(y))
    return known.select(pairs=np.arange(cell.n_pairs)) if is_one else known


def shares(counts: Mapping[Kind, Matrix]) -> dict[Kind, Floats]:
    """Turn counts into probabilities, row by row."""
    tables = {kind: np.array(table) for kind, table in counts.items()}
    return {kind: table / table.sum(axis=1, keepdims=True) for kind, table in tables.items()}


@dataclass(frozen=True)
class DcrcStudy(Study):
    n_trials: int = 20
    sets: tuple[str, ...] = SETS
    stem: str = "dcrc"
    no_answers = NO_ANSWERS
    shares: tuple[float, ...] = SHARES

    @property
    def curve(self) -> list[Cell]:
        return [Cell("truth", share) for share in self.shares]

    def points(self, name: str) -> list[tuple[Method, Cell]]:
        found = [(m, cell) for cell in self.curve[::-1] for m in METHODS]
        people = [ONE, MORE] * (name == BIRDS) + [SIX] * (name in PEOPLE_SETS)
        found += [(m, cell) for cell in people for m in (*BY_PEOPLE[cell], KMEANS)]
        return found + [(m, NO_ANSWERS) for m in (KMEANS, DEFAULT, LINEAR, FREE, KERNEL)]

    def problem(self, name: str) -> Problem:
        return load(name, "standard")

    def measure(self, task: Task) -> dict[str, Any]:
        name, method, cell, trial = task
        X, y, k = self.problem(name).X, self.problem(name).y, self.problem(name).n_classes
        known, seed = answers(name, cell, trial), seed_of("method", name, trial)
        found = run_method(method, X, known, (k,), seed)
        return found.notes | (scores(y, found.labels[k]) if found.labels else {})


def scores(y: Any, labels: Any) -> dict[str, float]:
    """Compare groups with true classes."""
    measures = (pairwise_f_score, adjusted_rand_score, normalized_mutual_info_score)
    return {k: float(of(y, labels)) for k, of in zip(("f", "ari", "nmi"), measures, strict=True)}


MEASURES = {"f": "F-measure", "ari": "ARI", "nmi": "NMI"}
#: The measures of claims.
CLAIMED = {"f": "F", "ari": "ARI"}
COLORS = dict(zip(OURS, (BLUE, GRAY, BLUE, SKY, PINK, RED, ORANGE), strict=True)) | dict(
    zip(METHODS[7:], (GREEN, ORANGE, RED, SKY, PINK, GRAY, GREEN, "black"), strict=True)
)
DASHED = (LINEAR, KERNEL, YES_NO, HARD, FREE, SKLR, E2CP)


class DcrcReport(Report[DcrcStudy]):
    def __init__(self, results: Results[DcrcStudy]) -> None:
        super().__init__(results)
        self.most = self.study.curve[-1]
        self.with_none = [NO_ANSWERS, *self.study.curve]
        self.sizes = ", ".join(f"{share:g} N" for share in self.study.shares)
        self.figure_2 = Picture("information", "Figure 2", _information)
        shown, sizes = [m for m in METHODS if m not in (HARD, FREE)], self.study.curve
        self.figure_4 = self._curves(shown, "curves", "Figure 4", sizes)
        self.figure_6 = self._curves((LINEAR, HARD), "hard", "Figure 6: soft and hard", sizes)
        methods = (LINEAR, FREE, KMEANS)
        self.figure_7 = self._curves(methods, "balance", "Figure 7: balance", self.with_none)
        self.figure_5 = Picture("entropy", "Figure 5", draw_planes)

    def values(self, method: Method, cell: Cell, field: str) -> partial[pd.Series]:
        return partial(self.results.values, cell=cell, method=method, field=field)

    def curve(self, method: Method, field: str) -> partial[pd.DataFrame]:
        x = self.sizes.split(", ")
        return partial(self.results.curve, cells=self.study.curve, method=method, field=field, x=x)

    def above(self, ours: Method, others: Sequence[Method], field: str, text: str = "") -> Claim:
        """Compare a method with others at every number of triplets."""
        curves = {m.label: self.curve(m, field) for m in others}
        names = "every comparator" if ITML in others else ", ".join(curves)
        text += f"{ours.label} above {names}, {CLAIMED[field]}"
        return Claim(text, self.curve(ours, field), curves, self.sets)

    def in_short(self) -> str:
        lines = [
            f"- {m.label}, {label}, compared with the comparators (set × size × method): "
            f"{counted([self.above(m, COMPARATORS, field)])}."
            for m, (field, label) in product((DEFAULT, PUBLISHED), CLAIMED.items())
        ]
        score = partial(self.results.score, DIGITS, self.most, field="f")
        ours, theirs = map(score, (DEFAULT, ITML))
        last = f"Digits-389, {self.most.name}: DCRC F {ours}, ITML {theirs} (the paper .97)."
        return "\n".join([*lines, "", last])

    def claims(self) -> Iterator[Claim]:
        others = (*COMPARATORS, KMEANS)
        for ours, field in product((DEFAULT, PUBLISHED, YES_NO), CLAIMED):
            yield self.above(ours, others, field)
        for (text, ours, theirs), field in product(
            (
                ("don't-knows help: ", LINEAR, [YES_NO]),
                ("soft above hard: ", LINEAR, [HARD]),
                ("balance helps: ", LINEAR, [FREE]),
                ("clew's default: ", DEFAULT, [PUBLISHED]),
                ("clew's default: ", DEFAULT, [LINEAR, KERNEL, SKLR, E2CP]),
            ),
            CLAIMED,
        ):
            yield self.above(ours, theirs, field, text)
        paper = {BIRDS: "helps without answers, hurts with many", LETTERS: "helps"}
        for name, cell, field in product(paper, (NO_ANSWERS, self.most), CLAIMED):
            text = f"balance helps with {cell.name}, {CLAIMED[field]} (the paper: {paper[name]})"
            yield self._one(text, cell, (LINEAR, FREE), field, [name])
        text = f"DCRC above ITML with {self.most.name}, F (the paper's ITML has about .97)"
        yield self._one(text, self.most, (DEFAULT, ITML), "f", [DIGITS])
        for cell, sets in ((ONE, [BIRDS]), (SIX, PEOPLE_SETS)):
            for ours, field in product(BY_PEOPLE[cell], CLAIMED):
                text = f"{cell.kind}: {ours.label} above k-means, {CLAIMED[field]}"
                yield self._one(text, cell, (ours, KMEANS), field, sets)
            text = f"{cell.kind}: a confusion matrix for each annotator above ε = .15, F"
            yield self._one(text, cell, (ANNOTATORS, FIFTEEN), "f", sets)

    def _one(
        self, text: str, cell: Cell, pair: tuple[Method, Method], field: str, sets: Sequence[str]
    ) -> Claim:
        where = [name for name in self.sets if name in sets]
        ours, theirs = (self.values(m, cell, field) for m in pair)
        return Claim(text, ours, theirs, where)

    def orders(self) -> str:
        lines = []
        for name, (field, label) in product(self.sets, CLAIMED.items()):
            scores = {m.label: self.results.score(name, self.most, m, field) for m in METHODS}
            lines.append(f"- {name}, {label}: {in_order(scores)}.")
        return "\n".join(lines)

    def tables(self) -> Iterator[Table]:
        for name, (field, label) in product(self.sets, MEASURES.items()):
            header = [f"{name}, {label}", *(f"{cell.share:g} N" for cell in self.with_none)]
            rows = [(m.label, [(m, cell, field) for cell in self.with_none]) for m in METHODS]
            yield self._table(header, name, rows)

    def _table(self, header: Sequence[str], name: str, rows: Sequence[Any]) -> Table:
        cells = [[label, *(self.values(*of)(name) for of in columns)] for label, columns in rows]
        return Table(header, cells, is_marked=True, average=Score.with_interval)

    def table_5(self) -> Table:
        rows = [("k-means", KMEANS, NO_ANSWERS)]
        rows.append(("DCRC without answers", DEFAULT, NO_ANSWERS))
        kinds = [(m, "pairs" if m.answers == "pairs" else "triplets") for m in BY_PEOPLE[ONE]]
        rows += [(f"{m.label}, 150 {kind}", m, ONE) for m, kind in kinds]
        rows += [(f"{m.label}, 225 pairs", m, MORE) for m in ON_PAIRS]
        return self._measures(BIRDS, rows)

    def annotators(self) -> Iterator[Table]:
        rows = [("k-means", KMEANS, NO_ANSWERS)]
        rows += [(m.label, m, SIX) for m in BY_PEOPLE[SIX]]
        yield from (self._measures(name, rows) for name in self.sets if name in PEOPLE_SETS)

    def _measures(self, name: str, rows: Sequence[tuple[str, Method, Cell]]) -> Table:
        cells = [(label, [(m, cell, field) for field in MEASURES]) for label, m, cell in rows]
        return self._table([name, *MEASURES.values()], name, cells)

    def seconds(self) -> Table:
        rows = []
        for m in METHODS:
            scores = [self.results.score(n, self.most, m, "fit_seconds") for n in self.sets]
            rows.append([m.label, *(f"{x.mean:.2f}" if x.is_known else "–" for x in scores)])
        return Table([self.most.name, *self.sets], rows)

    def shares(self) -> Table:
        kinds, shares = EPSILONS, shares_right
        rows = [[f"groups {w}", *(shares(w, kind) for kind in kinds)] for w in WIDTHS]
        return Table(["", *kinds], rows)

    def _curves(
        self, methods: Sequence[Method], stem: str, title: str, cells: Sequence[Cell]
    ) -> Curves:
        x, rows = [cell.share for cell in cells], []
        for field in CLAIMED:
            of = {n: partial(self.results.curve, n, cells, field=field, x=x) for n in self.sets}
            rows.append([Panel.of(n, x, methods, of[n], _style) for n in self.sets])
        return Curves(stem, title, rows, "triplets / N", ["F-measure", "ARI"])


def _style(method: Method) -> dict[str, Any]:
    stroke = ":" if not method.uses_answers else "--" if method in DASHED else "-"
    return {"color": COLORS[method], "linestyle": stroke}


def _information() -> Any:
    figure, grid = pictures.panels(1, 1)
    panel, k = grid[0, 0], np.arange(2, 21)
    curves = {
        "triplet, with don't-know": triplet_information(k),
        "triplet, yes or no only": triplet_information(k, dont_know=False),
        "pair": pair_information(k),
    }
    for (label, values), color in zip(curves.items(), (BLUE, SKY, ORANGE), strict=True):
        panel.plot(k, values, marker="o", markersize=3, label=label, color=color)
    pictures.tidied(panel, x_label="groups", y_label="mutual information, nats")
    pictures.legend_beside(panel)
    return figure


QUICK = DcrcStudy(1, SETS[-2:], "dcrc_quick", True, shares=SHARES[-1:])
FLAGS = {"all-sizes": ("0.05, 0.1, ... 0.3 N triplets.", {"shares": ALL_SHARES})}
HELP = "One trial, two small sets, one size"
command = study_command(DcrcStudy(), DcrcReport, __file__, QUICK, HELP, FLAGS)
