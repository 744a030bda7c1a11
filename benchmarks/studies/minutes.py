"""Minutes of a person to right groups: kinds of questions, sorting by hand, merge lists."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist

from benchmarks.study.command import study_command
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import seed_of, tag_of
from benchmarks.study.problems import Floats, Ints, Problem, load
from benchmarks.study.report import Report, Table
from benchmarks.study.results import Results, averaged
from clew import Constraints
from clew.answers import Answer, Question, SecondsModel
from clew.metrics import jaccard_score_pairs
from clew.oracles import SimulatedOracle
from clew.questions import Guided

#: Smallest and largest group, and number of rows. All but the last have 8 groups or more.
SETS = {
    "digits": (5, 25, 110), "olivetti_64x64": (4, 10, 110), "usps_11000": (5, 25, 110),
    "uci_leaf": (4, 12, 110), "leaf_flavia": (4, 15, 110), "letters_ijlt": (10, 30, 80),
}  # fmt: skip
FEW_GROUPS = ("letters_ijlt",)
MOST_CLASSES = 20
GOALS = (0.8, 0.9, 0.95)
#: A person stops after so many minutes, or at the last goal; the model learns every few answers.
CAP, BATCH = 20.0, 3
#: Share of the misses on a screen that concern whole classes.
TOGETHER = 0.5
#: Seconds of sorting by hand: for an item, for each pile that is looked at, to put it down.
ITEM, PILE, PLACE = 1.0, 0.3, 0.8
#: A merge list begins with so many clusters for each group.
CLUSTERS_A_GROUP = 3


class Method(NamedTuple):
    """A row of the tables: kinds of questions, or another way to group."""

    name: str
    kinds: tuple[str, ...] = ()

    @property
    def asks(self) -> bool:
        return bool(self.kinds)


PAIRS = Method("pairs", ("pair",))
ODD = Method("odd one out", ("odd_one_out",))
WHICH = Method("which of", ("which_of",))
CONFIRM = Method("confirm", ("confirm",))
AUTO = Method("auto", ("auto",))
SORT = Method("sorting by hand")
REPAIRED = Method("sorting, then auto", ("auto",))
MERGES = Method("merge list")
KINDS = (PAIRS, WHICH, AUTO, ODD, CONFIRM)


class Cell(NamedTuple):
    """Share of wrong answers, and a factor of the seconds of which-of questions."""

    error: float
    factor: float = 1.0

    @property
    def name(self) -> str:
        pace = "" if self.factor == 1 else f", groups read in {self.factor:g} of the time"
        return f"{self.error:.0%} wrong{pace}"

    @property
    def seconds(self) -> SecondsModel:
        usual = SecondsModel()
        return SecondsModel(which_of=self.factor * usual.which_of, group=self.factor * usual.group)


PEOPLE = tuple(map(Cell, (0.05, 0.0, 0.1)))
PACES = (Cell(0.05, 0.5), Cell(0.05, 1.5))
SORTERS = tuple(map(Cell, (0.03, 0.0, 0.1)))


@lru_cache(maxsize=2)
def rows(name: str, trial: int) -> tuple[Floats, Ints]:
    """Draw rows of some classes, of uneven sizes, in random order."""
    low, high, n = SETS[name]
    whole = load(name, None if name in ("digits", "olivetti_64x64", "usps_11000") else "standard")
    random = np.random.RandomState(seed_of("minutes", name, trial))
    chosen: list[int] = []
    for label in random.permutation(np.unique(whole.y))[:MOST_CLASSES]:
        members = random.permutation(np.flatnonzero(whole.y == label))
        size = round(float(np.exp(random.uniform(np.log(low), np.log(high + 1)))))
        chosen += members[:size].tolist()
    kept = random.permutation(chosen)[:n]
    X = whole.X[kept].astype(float)
    if X.shape[1] > 300:  # pictures: their first components
        u, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
        X = u[:, :60] * s[:60]
    return X, np.unique(whole.y[kept], return_inverse=True)[1].astype(np.int64)


class Clock:
    """Minutes at which each goal was reached first, and the end."""

    def __init__(self, y: Ints) -> None:
        self._y, self._reached = y, dict.fromkeys(GOALS, float("nan"))
        self.seconds, self.jaccard = 0.0, 0.0

    @property
    def is_over(self) -> bool:
        return self.seconds >= 60 * CAP or self.jaccard >= GOALS[-1]

    def note(self, labels: Ints) -> None:
        self.jaccard = float(jaccard_score_pairs(self._y, labels))
        for goal, minutes in self._reached.items():
            if np.isnan(minutes) and self.jaccard >= goal:
                self._reached[goal] = self.seconds / 60

    def result(self) -> dict[str, Any]:
        reached = {
            f"to {goal:g}": None if np.isnan(minutes) else round(minutes, 3)
            for goal, minutes in self._reached.items()
        }
        return reached | {"end": round(self.seconds / 60, 3), "jaccard": round(self.jaccard, 4)}


@dataclass(frozen=True)
class MinutesStudy(Study):
    n_trials: int = 5
    sets: tuple[str, ...] = tuple(SETS)
    stem: str = "minutes"

    def problem(self, name: str) -> Problem:
        X, y = rows(name, 0)
        return Problem(name, X, y)

    def points(self, name: str) -> list[tuple[Method, Cell]]:
        asked = [(method, PEOPLE[0]) for method in KINDS]
        asked += [(method, cell) for cell in PEOPLE[1:] for method in (PAIRS, WHICH, AUTO)]
        paces = [(AUTO, cell) for cell in PACES] + [(WHICH, cell) for cell in PACES]
        by_hand = [(method, cell) for cell in SORTERS for method in (SORT, REPAIRED)]
        return [*asked, (MERGES, Cell(0.0)), *by_hand, *paces]

    def version(self, method: Method) -> str:
        return tag_of(method, CAP, BATCH, TOGETHER)

    def group(self, task: Task) -> Any:
        return task.trial

    def measure(self, task: Task) -> dict[str, Any]:
        """Simulate one person: minutes to each goal (None: not reached), and at the end."""
        X, y = rows(task.set, task.trial)
        seed = seed_of("minutes", task.set, task.cell.name, task.trial)
        clock = Clock(y)
        if task.method == MERGES:
            merged(X, y, clock)
        elif task.method == SORT:
            sorted_by_hand(X, y, task.cell.error, seed, clock)
        else:
            known: list[Answer] = []
            if task.method == REPAIRED:
                labels = sorted_by_hand(X, y, task.cell.error, seed, clock)
                known = answers_of(labels, X)
                # People who answer err as those of the first cell.
            cell = PEOPLE[0] if task.method == REPAIRED else task.cell
            asked(X, y, task.method, cell, seed, clock, known)
        return clock.result() | {"n_rows": len(y), "n_groups": int(y.max()) + 1}


def asked(
    X: Floats, y: Ints, method: Method, cell: Cell, seed: int, clock: Clock, known: list[Answer]
) -> None:
    """Ask a simulated person until the groups are right or the time is over."""
    kinds: Any = "auto" if method.kinds == ("auto",) else method.kinds
    model = Guided(kinds=kinds, seconds=cell.seconds, update_every=BATCH, random_state=seed)
    strategy = model.start(X)
    oracle = SimulatedOracle(
        y, error=cell.error, missed_together=TOGETHER, seconds=cell.seconds, origin="asked",
        annotators=["person"], random_state=seed,
    )  # fmt: skip
    if known:
        strategy.tell(known)
    clock.note(strategy.labels())
    while not clock.is_over and (questions := strategy.ask(BATCH)):
        answers = oracle.answer_all(questions)
        strategy.tell(answers)
        clock.seconds += sum(answer.ms or 0 for answer in answers) / 1000
        clock.note(strategy.labels())


def answers_of(labels: Ints, X: Floats) -> list[Answer]:
    """Return a rough sort as answers of an annotator of its own."""
    known = Constraints.from_groups(labels, X, annotator="sort", random_state=0)
    table = known.tables[0]
    return [
        Answer(Question("pair", tuple(pair)), int(code), "sort")
        for pair, code in zip(table.rows.tolist(), table.answers, strict=True)
    ]


def sorted_by_hand(X: Floats, y: Ints, miss: float, seed: int, clock: Clock) -> Ints:
    """Compare each item with the piles so far, the nearest first.

    The right pile is overlooked with probability `miss`, and a wrong one taken for it five times
    less often.
    """
    D, random = cdist(X, X), np.random.RandomState(seed)
    piles: list[list[int]] = []
    labels = np.arange(len(y))
    for i in range(len(y)):
        clock.seconds += ITEM + PLACE
        found = None
        for pile in sorted(piles, key=lambda rows: float(D[i, rows].min())):
            clock.seconds += PILE
            same = y[pile[0]] == y[i]
            if random.random_sample() < (1 - miss if same else miss / 5):
                found = pile
                break
        if found is None:
            found = []
            piles.append(found)
        found.append(i)
        labels[i] = labels[found[0]]
    clock.note(labels)
    return labels


def merged(X: Floats, y: Ints, clock: Clock) -> None:
    """Confirm merges of Ward's clusters, the nearest first, without mistakes."""
    tree = linkage(X, "ward")
    labels = fcluster(tree, CLUSTERS_A_GROUP * (y.max() + 1), "maxclust").astype(np.int64)
    start, ids = labels.copy(), np.unique(labels)
    center = np.array([X[start == c].mean(axis=0) for c in ids])
    most = {c: np.bincount(y[start == c]).argmax() for c in ids}
    a, b = np.triu_indices(len(ids), 1)
    clock.note(labels)
    for k in np.argsort(cdist(center, center)[a, b], kind="stable"):
        first, second = ids[a[k]], ids[b[k]]
        one, other = labels[start == first][0], labels[start == second][0]
        if one != other:  # otherwise it follows from earlier merges
            clock.seconds += SecondsModel().pair
            if most[first] == most[second]:
                labels[labels == other] = one
            clock.note(labels)


def figure(minutes: float) -> str:
    """Minutes as text; a dash where not every set was measured."""
    return "–" if np.isnan(minutes) else f"{minutes:.1f}"


class MinutesReport(Report[MinutesStudy]):
    def __init__(self, results: Results[MinutesStudy]) -> None:
        super().__init__(results)
        self.many = [name for name in self.sets if name not in FEW_GROUPS]

    def _minutes(self, name: str, method: Method, cell: Cell, goal: float = 0.95) -> Any:
        """Minutes of each trial; those that miss the goal count as the cap, a lower bound."""
        found = self.results.values(name, cell, method, f"to {goal:g}")
        jaccard = self.results.values(name, cell, method, "jaccard")
        return found.astype(float).reindex(jaccard.index).fillna(CAP)

    def _mean(self, method: Method, cell: Cell, goal: float, names: Sequence[str]) -> float:
        every = [self._minutes(name, method, cell, goal) for name in names]
        return float(averaged(every).mean()) if all(map(len, every)) else float("nan")

    def _text(self, name: str, method: Method, cell: Cell, goal: float) -> str:
        found = self._minutes(name, method, cell, goal)
        if not len(found):
            return "–"
        return f"{'> ' if (found >= CAP).any() else ''}{found.mean():.1f}"

    def in_short(self) -> str:
        lines = []
        for cell in PEOPLE:
            pairs, which, auto = (
                self._mean(method, cell, 0.95, self.many) for method in (PAIRS, WHICH, AUTO)
            )
            lines.append(
                f"- {cell.name}: auto takes {auto:.1f} minutes to .95 on sets of 8 groups and "
                f"more, pairs {pairs:.1f} (ratio {auto / pairs:.2f}), which-of {which:.1f} (ratio "
                f"{auto / which:.2f})."
            )
        return "\n".join(lines)

    def to_goals(self) -> Table:
        rows = [
            [f"{method.name}, {cell.name}", *(
                f"{self._mean(method, cell, goal, self.many):.1f}" for goal in GOALS
            )]
            for cell in PEOPLE
            for method in (KINDS if cell == PEOPLE[0] else (PAIRS, WHICH, AUTO))
        ]  # fmt: skip
        return Table(["kinds of questions", *(f"to {goal:g}" for goal in GOALS)], rows)

    def by_set(self) -> Table:
        cell = PEOPLE[0]
        rows = [
            [name, *(self._text(name, method, cell, 0.95) for method in KINDS),
             self._text(name, MERGES, Cell(0.0), 0.95)]
            for name in self.sets
        ]  # fmt: skip
        return Table(["set", *(method.name for method in KINDS), "merge list"], rows)

    def by_hand(self) -> Table:
        rows = []
        for cell in SORTERS:
            ends, jaccard = (
                averaged([self.results.values(name, cell, SORT, what) for name in self.sets])
                for what in ("end", "jaccard")
            )
            repaired = self._mean(REPAIRED, cell, 0.95, self.sets)
            auto = self._mean(AUTO, PEOPLE[0], 0.95, self.sets)
            rows.append([
                cell.name, f"{ends.mean():.1f}", f"{jaccard.mean():.2f}", figure(repaired),
                figure(auto),
            ])  # fmt: skip
        header = ["sorting with", "minutes", "Jaccard at the end", "with repair to .95", "auto"]
        return Table(header, rows)

    def paces(self) -> Table:
        rows = []
        for cell in (PACES[0], PEOPLE[0], PACES[1]):
            pairs = self._mean(PAIRS, PEOPLE[0], 0.95, self.sets)
            which, auto = (self._mean(m, cell, 0.95, self.sets) for m in (WHICH, AUTO))
            rows.append([f"{cell.factor:g}", *map(figure, (pairs, which, auto))])
        return Table(["factor", "pairs", "which of", "auto"], rows)


QUICK = MinutesStudy(1, ("letters_ijlt",), "minutes_quick", True)
command = study_command(MinutesStudy(), MinutesReport, __file__, QUICK, "One trial, one set")
