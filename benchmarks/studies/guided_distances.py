"""Guided clustering of features, and of the Euclidean distances of these features."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist, squareform

from benchmarks.study.command import study_command
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import seed_of
from benchmarks.study.methods import Answers, Method, run_method
from benchmarks.study.problems import Floats, Ints, Problem, load
from benchmarks.study.report import Table
from benchmarks.study.results import Results, Score, averaged, difference
from clew import Constraints
from clew.metrics import adjusted_rand_score

#: Sets of the thesis on distances, the smallest last, and a set that has only distances.
SETS = (
    "leaf_flavia", "lost_faces", "pubfig_900_60", "apfaces_900", "olivetti_64x64", "uci_leaf",
)  # fmt: skip
OF_DISTANCES = "apfaces_900"
ERRORS = (0.0, 0.15)
#: Numbers of answers, as a multiple of the number of rows.
AMOUNTS = {"N/2": 0.5, "2N": 2.0}

PAIRS: Answers = "as_pairs"
ON_FEATURES = Method("features", "GuidedClustering on features", "guided")
ON_DISTANCES = Method(
    "distances", "GuidedClustering on distances", "guided on distances", input="distances"
)
E2CP = Method("e2cp", "E2CP", "spectral", "E2CP on distances", PAIRS, "distances")
LINKAGE = Method(
    "linkage", "constrained linkage", "linkage of distances", "", PAIRS, input="distances"
)
WARD = Method("ward", "Ward", "Ward of distances", "", "nothing", "distances")
METHODS = (ON_DISTANCES, ON_FEATURES, E2CP, LINKAGE, WARD)


@dataclass(frozen=True)
class Cell:
    """Number of answers, and share of wrong ones."""

    amount: str  # One of `AMOUNTS`; none without answers
    error: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.amount}, {100 * self.error:g} % wrong" if self.amount else "no answers"


NO_ANSWERS = Cell("")
CELLS = tuple(Cell(*of) for of in product(AMOUNTS, ERRORS))


def problem(name: str) -> Problem:
    """Load a set, with standardized features."""
    return load(name, None if name == OF_DISTANCES else "standard")


@lru_cache(maxsize=1)
def permuted(name: str, trial: int) -> tuple[Floats | None, Floats, Ints]:
    """Return features, if there are any, distances and classes, in the order of a trial."""
    of = problem(name)
    order = np.random.RandomState(seed_of("rows", name, trial)).permutation(len(of.y))
    if of.distances is not None:
        return None, of.distances[np.ix_(order, order)], of.y[order]
    X = of.X[order]
    return X, squareform(pdist(X)), of.y[order]


@dataclass(frozen=True)
class DistancesStudy(Study):
    """The study of distances."""

    n_trials: int = 3
    sets: tuple[str, ...] = SETS
    stem: str = "guided_distances"
    no_answers = NO_ANSWERS
    problem = staticmethod(problem)

    def points(self, name: str) -> list[tuple[Method, Cell]]:
        has_features = problem(name).distances is None
        return [
            (method, cell)
            for cell in CELLS
            for method in METHODS
            if has_features or method.input == "distances"
        ]

    def measure(self, task: Task) -> dict[str, Any]:
        """Score the groups of a method: "ari". Nothing is scored if it refuses the answers."""
        name, method, cell, trial = task
        X, D, y = permuted(name, trial)
        known = None if cell == NO_ANSWERS else _answers(y, cell, seed_of("answers", name, trial))
        n_clusters = len(np.unique(y))
        data: Any = D if method.input == "distances" else X
        found = run_method(method, data, known, (n_clusters,), seed_of("fit", name, trial))
        if not found.labels:
            return found.notes
        return {"ari": float(adjusted_rand_score(y, found.labels[n_clusters]))} | found.notes


def _answers(y: Ints, cell: Cell, seed: int) -> Constraints:
    n_pairs = round(AMOUNTS[cell.amount] * len(y))
    return Constraints.from_labels(y, n_pairs=n_pairs, error=cell.error, random_state=seed)


#: Largest loss by distances, in ARI.
GOAL = 0.02
BOTH = (ON_DISTANCES, ON_FEATURES)


class DistancesReport:
    """The parts of the report, made of the results."""

    goal = f"{GOAL:g}"

    def __init__(self, results: Results[DistancesStudy]) -> None:
        self.results, self.sets = results, results.study.found_sets

    def _mean(self, name: str, method: Method, cells: Sequence[Cell] = CELLS) -> Score:
        """Average a set over the cells, in the trials that have all of them."""
        return Score.of(averaged([self.results.values(name, cell, method) for cell in cells]))

    def _gap(self, names: Sequence[str]) -> Score:
        ours, theirs = (
            averaged([self.results.values(n, cell, method) for n in names for cell in CELLS])
            for method in BOTH
        )
        return difference(ours, theirs)

    def _with_features(self) -> list[str]:
        return [n for n in self.sets if len(self.results.values(n, CELLS[0], ON_FEATURES))]

    def in_short(self) -> str:
        names = self._with_features()
        gaps = {name: self._gap([name]) for name in names}
        known = {name: gap.mean for name, gap in gaps.items() if gap.is_known}
        if not known:
            return "Nothing is measured."
        within = [name for name, gap in known.items() if gap >= -GOAL]
        least = min(known, key=lambda name: known[name])
        return (
            f"ARI on distances minus ARI on features, over all sets: {self._gap(list(known))}. The "
            f"goal is met on {len(within)} of {len(known)} sets; the lowest difference is "
            f"{gaps[least]}, on {least}."
        )

    def by_set(self) -> Table:
        rows = [
            [name, *(self._mean(name, method) for method in METHODS), self._gap([name])]
            for name in self.sets
        ]
        return Table(["set", *(m.label for m in METHODS), "distances − features"], rows)

    def by_cell(self) -> Table:
        rows = [
            [f"{name}, {cell.name}", *(self._mean(name, m, (cell,)) for m in METHODS)]
            for name in self.sets
            for cell in CELLS
        ]
        return Table(["set and answers", *(m.label for m in METHODS)], rows)

    def seconds(self) -> Table:
        values = self.results.values
        rows = [
            [
                name,
                *(
                    Score.of(averaged([values(name, c, m, "fit_seconds") for c in CELLS])).text(
                        ".1f"
                    )
                    for m in BOTH
                ),
            ]
            for name in self.sets
        ]
        return Table(["set", *(m.label for m in BOTH)], rows)


QUICK = DistancesStudy(1, ("uci_leaf",), "guided_distances_quick", True)
command = study_command(DistancesStudy(), DistancesReport, __file__, QUICK, "One trial, one set")
