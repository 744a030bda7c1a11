"""The study: every method of clew, by number and kind of answers and by annotators."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import AgglomerativeClustering
from sklearn.metrics import roc_auc_score

from benchmarks.studies.guided.ablations import ABLATIONS, ALIKE
from benchmarks.study.engine import Study, Task
from benchmarks.study.fits import run_method
from benchmarks.study.log import seed_of
from benchmarks.study.methods import Answers, Method
from benchmarks.study.problems import Floats, Problem, load
from clew import Constraints, Question
from clew.metrics import adjusted_rand_score
from clew.oracles import SimulatedOracle
from clew.similarity import ClustRF

#: All sets of fewer than 2,500 rows, the largest first.
SETS = (
    "segment_full", "leaf_flavia", "digits", "lost_faces", "pie10_32x32", "pubfig_900_60",
    "apfaces_900", "vehicle", "pima_diabetes", "balance_scale", "olivetti_64x64", "ionosphere",
    "uci_leaf", "glass", "segment_small", "wine", "iris",
)  # fmt: skip
FEW_SETS = ("digits", "vehicle", "olivetti_64x64", "ionosphere", "glass", "iris")
ABLATION_SETS = (
    "vehicle", "balance_scale", "olivetti_64x64", "ionosphere", "uci_leaf", "glass", "wine", "iris",
)  # fmt: skip
#: Preparation of the sets whose features are not standardized.
PLAIN: dict[str, dict[str, int]] = {
    "digits": {},
    "olivetti_64x64": {"n_components": 50},
    "pie10_32x32": {"n_components": 30, "per_class": 100},
    "apfaces_900": {},
}
#: Numbers of answers by name, as a multiple of the number of rows or of pairs.
PER_ROW = {"N/4": 0.25, "N": 1.0, "2N": 2.0}
PER_PAIR = {"0.1 %": 0.001, "0.5 %": 0.005}
AMOUNTS = (*PER_ROW, *PER_PAIR)
ERRORS = (0.0, 0.15, 0.3)
KINDS = ("pairs", "triplets", "odd-one-out", "mixture")
#: Probability that a simulated person answers wrong.
PEOPLE = {
    "four people": {"good": 0.03, "careless": 0.2, "swapped": 0.95, "spam": 0.5},
    "two good people": {"good": 0.03, "good too": 0.03},
}
N_TREES = 500


PAIRS: Answers = "as_pairs"
NOTHING: Answers = "nothing"

GUIDED = Method("guided", "GuidedClustering", "guided")
E2CP = Method("e2cp", "E2CP", "spectral", "E2CP", PAIRS)
COPRF = Method("coprf", "soft COP-RF", "spectral", "COP-RF", PAIRS)
ITML = Method("itml", "ITML", "k-means", "ITML", PAIRS)
SKLR = Method("sklr", "SKLR", "kernel k-means", "SKLR", max_rows=1000)
DCRC = Method("dcrc", "DCRC", "DCRC", max_rows=1000, max_answers=1000)
HARD = Method("coprf_hard", "hard COP-RF", "spectral, k = N/10", "COP-RF hard", PAIRS)
FOREST_E2CP = Method("rf_e2cp", "RF+E2CP", "spectral", "E2CP, given", PAIRS, "forest")
LINKAGE = Method("constrained_linkage", "constrained linkage", "constrained linkage", "", PAIRS)
WARD = Method("ward", "Ward", "Ward", "", NOTHING)
SPECTRAL = Method("spectral", "Euclidean spectral", "spectral", "adaptive kNN", NOTHING)
#: The methods that guided clustering is compared with set by set.
COMPARATORS = (E2CP, COPRF, HARD, FOREST_E2CP, ITML, LINKAGE, WARD, SPECTRAL)
METHODS = (
    GUIDED, E2CP, COPRF, HARD, FOREST_E2CP,
    Method("coprf_e2cp", "COP-RF+E2CP", "spectral", "E2CP on COP-RF", PAIRS),
    ITML, LINKAGE,
    Method("mmc", "MMC diagonal", "k-means", "MMC diagonal", PAIRS),
    Method("mmc_full", "MMC", "k-means", "MMC", PAIRS),
    Method("skms", "SKMS", "kernel k-means", "SKMS", PAIRS, max_rows=1000),
    Method("skms_shift", "SKMS, mean shift", "mean shift", "SKMS", PAIRS, max_rows=1000),
    SKLR, DCRC,
    Method("linked", "LinkedAffinity", "spectral", "links", PAIRS),
    Method("spectral_learning", "SpectralLearning", "spectral", "SL", PAIRS),
    Method("pckmeans", "PCKMeans", "PCKMeans", "", PAIRS),
    Method("mpckmeans", "MPCKMeans", "MPCKMeans", "", PAIRS),
    Method("cop_kmeans", "COPKMeans", "COP-Kmeans", "", PAIRS),
    WARD,
    Method("kmeans", "k-means", "k-means", "", NOTHING),
    SPECTRAL,
    Method("clustrf", "ClustRF", "spectral", "", NOTHING, "forest"),
    Method("consensus_knn", "ConsensusKNN", "spectral", "consensus kNN", NOTHING),
    Method("dominant_neighbors", "DominantNeighbors", "spectral", "dominant neighbors", NOTHING),
)  # fmt: skip
#: Methods measured without answers.
WITHOUT = (GUIDED, *(m for m in METHODS if not m.uses_answers))
#: Methods that are run on all sets and amounts, and those that are not.
EVERYWHERE = tuple(m for m in METHODS if m.is_run(9_999, 999_999))
LIMITED = tuple(m for m in METHODS if m not in EVERYWHERE)
#: Methods measured on all kinds of answers, and those that take no pairs.
KIND_METHODS = (GUIDED, E2CP, COPRF, ITML, SKLR, DCRC)
COMPARING = (
    Method("lsml", "LSML", "k-means", "LSML", "comparisons"),
    Method("sparse_lp", "SparseLP", "k-means", "SparseLP", "comparisons"),
    Method("sssvad", "SSSVaD", "SSSVaD", "", "comparisons"),
)


@dataclass(frozen=True)
class Cell:
    """The kind, number and source of answers."""

    kind: str  # One of `KINDS`, or of `PEOPLE`, or "none"
    amount: str = ""  # One of `AMOUNTS`
    error: float = 0.0  # Share of wrong answers; `PEOPLE` have their own error rates
    is_named: bool = True  # Whether answers name their annotator

    @property
    def name(self) -> str:
        if self.kind == "none":
            return "no answers"
        if self.kind in PEOPLE:
            return f"{self.kind}, {self.amount}" + ("" if self.is_named else ", names dropped")
        return f"{self.kind}, {self.amount}, {100 * self.error:g} % wrong"


NO_ANSWERS = Cell("none")


class Part(NamedTuple):
    """Cells that share sets and methods."""

    sets: tuple[str, ...]
    cells: tuple[Cell, ...]
    methods: Callable[[Cell], Sequence[Method]]


def _cells(kinds: Any, amounts: Any, *more: Any) -> tuple[Cell, ...]:
    return tuple(Cell(*of) for of in product(kinds, amounts, *more))


PARTS = {
    "main": Part(
        SETS,
        (NO_ANSWERS, *_cells(["pairs"], AMOUNTS, ERRORS)),
        lambda cell: [m for m in METHODS if cell != NO_ANSWERS or m in WITHOUT],
    ),
    "kinds": Part(
        FEW_SETS,
        _cells(KINDS, ("N/4", "N"), (0.0, 0.15)),
        lambda cell: KIND_METHODS if cell.kind == "pairs" else (*KIND_METHODS, *COMPARING),
    ),
    "people": Part(
        (*FEW_SETS, "segment_small", "wine"),
        _cells(PEOPLE, ("N", "2N"), (0.0,), (True, False)),
        lambda cell: (GUIDED, *[ALIKE][: cell.is_named], *COMPARATORS),
    ),
    "ablation": Part(
        ABLATION_SETS, _cells(["pairs"], PER_ROW, ERRORS), lambda cell: (GUIDED, *ABLATIONS)
    ),
}


def problem(name: str) -> Problem:
    """Load a set: standardized features, or pixels as they are, or their principal components."""
    return load(name, None if name in PLAIN else "standard", **PLAIN.get(name, {}))


@cache
def n_rows(name: str) -> int:
    """Count the rows of a set."""
    return len(problem(name).y)


def n_answers(name: str, amount: str) -> int:
    """Turn an amount into a number of answers."""
    n = n_rows(name)
    return round(PER_ROW.get(amount, 0.0) * n + PER_PAIR.get(amount, 0.0) * n * (n - 1) / 2)


@lru_cache(maxsize=2)
def forest(name: str, seed: int) -> Floats:
    """Compute affinities of the unconstrained forest, which all cells of a trial share."""
    return np.asarray(ClustRF(N_TREES, random_state=seed).fit(problem(name).X).affinity_matrix_)


@lru_cache(maxsize=4)
def answers(name: str, cell: Cell, trial: int) -> Constraints:
    """Draw the answers of a trial; the questions do not depend on the share of wrong answers."""
    y, count = problem(name).y, n_answers(name, cell.amount)
    seed = seed_of("guided", name, cell.kind, cell.amount, trial)
    if cell.kind in PEOPLE:
        known = _by_people(y, PEOPLE[cell.kind], count, seed)
        pairs = np.column_stack([known.pairs, known.pair_answers])
        return known if cell.is_named else Constraints(len(y), pairs=pairs)
    kinds = KINDS[:-1] if cell.kind == "mixture" else (cell.kind,)
    names = [f"n_{kind.replace('-', '_')}" for kind in kinds]
    numbers: Any = {name: (count + at) // len(names) for at, name in enumerate(names)}
    return Constraints.from_labels(y, **numbers, error=cell.error, random_state=seed)


def _by_people(y: Any, rates: dict[str, float], count: int, seed: int) -> Constraints:
    errors = list(rates.values())
    people = SimulatedOracle(y, annotators=list(rates), error=errors, random_state=seed)
    asked = Constraints.from_labels(y, n_pairs=count, random_state=seed).pairs.tolist()
    given = [
        people.answer(Question("pair", (i, j)), people.annotators[at % len(rates)])
        for at, (i, j) in enumerate(asked)
    ]
    return Constraints.from_answers(given, n_samples=len(y))


def is_wrong(y: Any, known: Constraints) -> Any:
    """Mark the pairs that were answered wrong."""
    first, second = known.pairs.T
    return (y[first] == y[second]) != known.is_must_link


def _of_answers(of: Problem, known: Constraints | None, model: Any) -> dict[str, float]:
    """Score guided clustering's error rate and doubts; empty unless all answers are pairs."""
    if known is None or len(known) != len(known.pairs) or not hasattr(model, "error_interval_"):
        return {}
    wrong = is_wrong(of.y, known)
    low, high = model.error_interval_
    share, rate = float(wrong.mean()), float(model.error_rate_)
    found = {"true_error": share, "error_rate": rate, "error_low": low, "error_high": high}
    if 0 < share < 1:
        found["is_held"] = low <= share <= high
        found["auc"] = roc_auc_score(wrong, model.answer_posterior_.pairs)
    return {field: float(value) for field, value in found.items()}


@dataclass(frozen=True)
class GuidedStudy(Study):
    """The study of guided clustering."""

    n_trials: int = 3
    sets: tuple[str, ...] = SETS
    stem: str = "guided"
    n_trees: int = N_TREES
    no_answers = NO_ANSWERS
    problem = staticmethod(problem)
    amounts: tuple[str, ...] = AMOUNTS
    errors: tuple[float, ...] = ERRORS

    def cells(self, part: str) -> list[Cell]:
        cells, amounts, errors = PARTS[part].cells, self.amounts, self.errors
        return [c for c in cells if not c.amount or (c.amount in amounts and c.error in errors)]

    def points(self, name: str) -> list[tuple[Method, Cell]]:
        found = {
            (method, cell): n_answers(name, cell.amount)
            for part, of in PARTS.items()
            if name in of.sets
            for cell in self.cells(part)
            for method in of.methods(cell)
            if method.is_run(n_rows(name), n_answers(name, cell.amount))
        }
        return sorted(found, key=lambda point: (-found[point], point[1].name))

    def measure(self, task: Task) -> dict[str, Any]:
        """Return scores. If a method refuses the answers, "ari" is that of Ward's linkage."""
        name, method, cell, trial = task
        of, seed = problem(name), seed_of("method", name, trial)
        X = forest(name, seed) if method.input == "forest" else of.X
        known = None if cell == NO_ANSWERS else answers(name, cell, trial)
        found = run_method(method, X, known, (of.n_classes,), seed, self.n_trees)
        if not found.labels:
            found.labels = {of.n_classes: AgglomerativeClustering(of.n_classes).fit_predict(of.X)}
        ari = float(adjusted_rand_score(of.y, found.labels[of.n_classes]))
        return {"ari": ari} | found.notes | _of_answers(of, known, found.model)
