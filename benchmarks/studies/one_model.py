"""The one model, with the number of groups open and given, on asked and on random answers."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import product
from time import process_time
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.study.command import study_command
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import parameters_of, seed_of, tag_of
from benchmarks.study.methods import noted
from benchmarks.study.problems import Floats, Ints, Problem, load
from benchmarks.study.report import Report, Table
from benchmarks.study.results import Score
from clew import Constraints, Session
from clew.cluster import GuidedClustering
from clew.metrics import adjusted_rand_score
from clew.oracles import SimulatedOracle

#: Sets on which constants of the model were chosen, and the others.
CHOSEN_ON = (
    "olivetti_64x64", "segment_full", "vehicle", "glass", "usps_11000", "leaf_flavia",
)  # fmt: skip
SETS = (
    *CHOSEN_ON, "wine", "uci_leaf", "letters_ijlt", "pie10_32x32", "digits", "hja_birdsong",
    "iris", "pubfig_900_60",
)  # fmt: skip
#: Number of classes that are drawn from sets of many classes.
N_CLASSES = {"olivetti_64x64": 20, "leaf_flavia": 16, "uci_leaf": 18, "pubfig_900_60": 15}
N_ROWS = 200
#: Shares of wrong answers, and numbers of answers as a multiple of the number of rows.
ERRORS = {"asked": (0.0, 0.15), "random": (0.0, 0.15, 0.3)}
AMOUNTS = {"asked": {"N/2": 0.5, "N": 1.0, "2N": 2.0}, "random": {"N": 1.0, "3N": 3.0}}
#: An answer is doubtful if it is more probably wrong than right.
DOUBTFUL = 0.5
#: The number of groups is counted as near the true one within this factor.
NEAR = 1.5


class Method(NamedTuple):
    """A row of the log: `GuidedClustering` with the number of groups open or given."""

    name: str
    label: str


OPEN = Method("open", "one model")
GIVEN = Method("given", "one model, number given")


class Cell(NamedTuple):
    """How pairs are chosen, the share of wrong answers, and the number of answers."""

    origin: str  # One of `ERRORS`
    error: float
    amount: str

    @property
    def name(self) -> str:
        return f"{self.origin}, {self.error:.0%} wrong, {self.amount}"


CELLS = tuple(
    Cell(origin, error, amount)
    for origin, errors in ERRORS.items()
    for error, amount in product(errors, AMOUNTS[origin])
)
#: Mean ARI before the one model, at 48a8b7d, which this study does not measure: of
#: `GuidedClustering`, of `Session.result`, and of `GuidedClustering` with the number of groups.
BEFORE = dict(zip(CELLS, (
    (0.364, 0.541, 0.602), (0.535, 0.698, 0.714), (0.867, 0.956, 0.946), (0.372, 0.489, 0.522),
    (0.422, 0.554, 0.572), (0.613, 0.701, 0.714), (0.464, None, 0.530), (0.775, None, 0.803),
    (0.356, None, 0.491), (0.526, None, 0.588), (0.263, None, 0.465), (0.357, None, 0.472),
), strict=True))  # fmt: skip


class Rows(NamedTuple):
    """Rows of a set in random order, and their classes."""

    X: Floats
    y: Ints


@lru_cache(maxsize=4)
def rows(name: str, n_rows: int, trial: int) -> Rows:
    """Draw rows, of some of the classes where there are many."""
    whole, random = load(name), np.random.RandomState(seed_of("one_model", name, trial))
    classes = random.permutation(whole.n_classes)[: N_CLASSES.get(name)]
    usable = np.flatnonzero(np.isin(np.unique(whole.y, return_inverse=True)[1], classes))
    drawn = random.permutation(usable)[:n_rows]
    return Rows(whole.X[drawn].astype(float), np.unique(whole.y[drawn], return_inverse=True)[1])


@lru_cache(maxsize=4)
def asked(name: str, n_rows: int, error: float, trial: int) -> Session:
    """Run a session up to the largest number of answers; the smaller ones are its first answers."""
    X, y = rows(name, n_rows, trial)
    seed = seed_of("one_model", name, error, trial)
    oracle = SimulatedOracle(y, error=error, origin="asked", random_state=seed)
    budget = round(max(AMOUNTS["asked"].values()) * len(y))
    return Session(X, random_state=seed).run(oracle, budget)


def answers(name: str, n_rows: int, cell: Cell, trial: int) -> Constraints:
    """Return the answers of a cell, in the order asked."""
    y = rows(name, n_rows, trial).y
    n = round(AMOUNTS[cell.origin][cell.amount] * len(y))
    if cell.origin == "asked":
        first = asked(name, n_rows, cell.error, trial).answers[:n]
        return Constraints.from_answers(first, n_samples=len(y))
    seed = seed_of("one_model", name, cell.amount, trial)
    return Constraints.from_labels(y, n_pairs=n, error=cell.error, random_state=seed)


@dataclass(frozen=True)
class OneModelStudy(Study):
    """The study of the one model."""

    n_trials: int = 1
    sets: tuple[str, ...] = SETS
    stem: str = "one_model"
    n_rows: int = N_ROWS

    def problem(self, name: str) -> Problem:
        return load(name)

    def points(self, name: str) -> list[tuple[Method, Cell]]:
        return [(method, cell) for cell in CELLS for method in (OPEN, GIVEN)]

    def version(self, method: Method) -> str:
        return tag_of(method.name, parameters_of(GuidedClustering()), self.n_rows)

    def group(self, task: Task) -> Any:
        """Let the cells that one session answers share its process."""
        return task.trial, task.cell[:2]

    def measure(self, task: Task) -> dict[str, Any]:
        """Score the groups, their number and the doubts, whose counts are summed over cells."""
        name, method, cell, trial = task
        X, y = rows(name, self.n_rows, trial)
        known = answers(name, self.n_rows, cell, trial)
        n_classes, found = len(np.unique(y)), dict[str, Any]()
        model = GuidedClustering(n_classes if method == GIVEN else None, random_state=trial)
        with noted(found):
            start = process_time()
            model.fit(X, constraints=known)
            found["fit_seconds"] = round(process_time() - start, 3)
        if "failure" in found:
            return found
        first, second = known.pairs.T
        is_wrong = (y[first] == y[second]) != known.is_must_link
        is_doubtful = model.answer_posterior_.pairs > DOUBTFUL
        return found | {
            "ari": float(adjusted_rand_score(y, model.labels_)),
            "n_groups": float(model.n_clusters_),
            "n_classes": float(n_classes),
            "n_violated": float(model.n_violated_),
            "n_wrong": float(is_wrong.sum()),
            "n_doubtful": float(is_doubtful.sum()),
            "n_found": float((is_wrong & is_doubtful).sum()),
        }


class OneModelReport(Report[OneModelStudy]):
    """The parts of the report, made of the results."""

    n_sets = property(lambda self: str(len(self.sets)))

    def values(self, cells: Iterable[Cell], method: Method, field: str = "ari") -> pd.Series:
        """Return a value for each trial, cell and set."""
        places = product(self.sets, cells)
        found = [self.results.values(name, cell, method, field) for name, cell in places]
        return pd.concat(found, ignore_index=True) if found else pd.Series(dtype=float)

    def mean(self, cells: Iterable[Cell], method: Method) -> Score:
        return Score.of(self.results.mean(self.sets, cells, method))

    def by_answers(self) -> Table:
        rows = [
            [cell.origin, f"{cell.error:.0%}", cell.amount, *self._beside_before([cell])]
            for cell in CELLS
        ]
        for origin in ERRORS:
            cells = [cell for cell in CELLS if cell.origin == origin]
            rows.append([f"{origin}, all", "", "", *self._beside_before(cells)])
        columns = [
            *("answers", "wrong", "amount", "GuidedClustering before", "Session before"),
            *(OPEN.label, "GuidedClustering before, number given", GIVEN.label),
        ]
        return Table(columns, rows)

    def _beside_before(self, cells: list[Cell]) -> list[Any]:
        means = [
            None if None in column else float(np.mean(column))
            for column in zip(*(BEFORE[cell] for cell in cells), strict=True)
        ]
        return [*means[:2], self.mean(cells, OPEN), means[2], self.mean(cells, GIVEN)]

    def by_set(self) -> Table:
        rows = []
        for name in self.sets:
            mean = partial(self.results.mean, [name])
            of = {origin: [cell for cell in CELLS if cell.origin == origin] for origin in ERRORS}
            rows.append([name, *(mean(c, m) for c in of.values() for m in (OPEN, GIVEN))])
        header = [f"{origin}, {m.label}" for origin in ERRORS for m in (OPEN, GIVEN)]
        return Table(["set", *header], rows)

    def number(self) -> str:
        ratio = self.values(CELLS, OPEN, "n_groups") / self.values(CELLS, OPEN, "n_classes")
        if not len(ratio):
            return "Nothing is measured."
        apart = np.abs(np.log(ratio.astype(float)))
        return (
            f"within a factor of {NEAR:g} in {(apart <= np.log(NEAR)).mean():.0%} of the cells, "
            f"{np.exp(apart.mean()):.2f} times too many or too few on the (geometric) mean"
        )

    def doubts(self) -> Table:
        rows = []
        for method, error in product((OPEN, GIVEN), sorted({cell.error for cell in CELLS})):
            cells = [cell for cell in CELLS if cell.error == error]
            wrong, doubtful, both = (
                self.values(cells, method, field).sum()
                for field in ("n_wrong", "n_doubtful", "n_found")
            )
            violated = Score.of(self.values(cells, method, "n_violated")).text(".1f")
            shares = [f"{both / n:.0%}" if n else "–" for n in (doubtful, wrong)]
            rows.append([f"{method.label}, {error:.0%} wrong", *shares, violated])
        return Table(["", "doubtful answers that are wrong", "wrong ones that are doubtful",
                      "violated answers"], rows)  # fmt: skip

    def seconds(self) -> str:
        spent = [self.values(CELLS, method, "fit_seconds") for method in (OPEN, GIVEN)]
        return Score.of(pd.concat(spent)).text(".1f")


QUICK = OneModelStudy(1, ("iris",), "one_model_quick", True, n_rows=40)
command = study_command(
    OneModelStudy(), OneModelReport, __file__, QUICK, "One set of 40 rows, one trial"
)
