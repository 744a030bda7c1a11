"""What is measured: every method of clew, on answers of all amounts, kinds and people."""

from __future__ import annotations

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
from benchmarks.study.fits import run_method, version
from benchmarks.study.methods import Method
from benchmarks.study.problems import Floats, Problem, load
from benchmarks.study.tags import seed_of
from clew import Constraints, Question
from clew.metrics import adjusted_rand_score
from clew.oracles import SimulatedOracle
from clew.similarity import ClustRF

__all__ = ["GUIDED", "METHODS", "NO_ANSWERS", "PARTS", "Cell", "GuidedStudy", "answers"]

#: All sets of fewer than 2,500 rows, the largest first.
SETS = (
    "segment_full", "leaf_flavia", "digits", "lost_faces", "pie10_32x32", "pubfig_900_60",
    "apfaces_900", "vehicle", "pima_diabetes", "balance_scale", "olivetti_64x64", "ionosphere",
    "uci_leaf", "glass", "segment_small", "wine", "iris",
)  # fmt: skip
FEW_SETS = ("digits", "vehicle", "olivetti_64x64", "ionosphere", "glass", "iris")
PEOPLE_SETS = (*FEW_SETS, "segment_small", "wine")
ABLATION_SETS = (
    "vehicle", "balance_scale", "olivetti_64x64", "ionosphere", "uci_leaf", "glass", "wine", "iris",
)  # fmt: skip
#: Sets whose features are not standardized, and how they are prepared.
PLAIN: dict[str, dict[str, int]] = {
    "digits": {},
    "olivetti_64x64": {"n_components": 50},
    "pie10_32x32": {"n_components": 30, "per_class": 100},
    "apfaces_900": {},
}
#: Numbers of answers by name: so many for each row, or for each pair of rows.
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


def _pairs(name: str, label: str, clusterer: str, similarity: str = "", **more: Any) -> Method:
    """Give all answers as the pairs that they imply."""
    return Method(name, label, clusterer, similarity, "as_pairs", **more)


def _nothing(name: str, label: str, clusterer: str, similarity: str = "", **more: Any) -> Method:
    return Method(name, label, clusterer, similarity, "nothing", **more)


def _comparisons(name: str, label: str, clusterer: str, similarity: str = "") -> Method:
    return Method(name, label, clusterer, similarity, "comparisons")


GUIDED = Method("guided", "GuidedClustering", "guided")
E2CP = _pairs("e2cp", "E2CP", "spectral", "E2CP")
COPRF = _pairs("coprf", "soft COP-RF", "spectral", "COP-RF")
ITML = _pairs("itml", "ITML", "k-means", "ITML")
SKLR = Method("sklr", "SKLR", "kernel k-means", "SKLR", max_rows=1000)
DCRC = Method("dcrc", "DCRC", "DCRC", max_rows=1000, max_answers=1000)
METHODS = (
    GUIDED,
    E2CP,
    COPRF,
    _pairs("coprf_hard", "hard COP-RF", "spectral, k = N/10", "COP-RF hard"),
    _pairs("rf_e2cp", "RF+E2CP", "spectral", "E2CP, given", input="forest"),
    _pairs("coprf_e2cp", "COP-RF+E2CP", "spectral", "E2CP on COP-RF"),
    ITML,
    _pairs("constrained_linkage", "constrained linkage", "constrained linkage"),
    _pairs("mmc", "MMC diagonal", "k-means", "MMC diagonal"),
    _pairs("mmc_full", "MMC", "k-means", "MMC"),
    _pairs("skms", "SKMS", "kernel k-means", "SKMS", max_rows=1000),
    _pairs("skms_shift", "SKMS, mean shift", "mean shift", "SKMS", max_rows=1000),
    SKLR,
    DCRC,
    _pairs("linked", "LinkedAffinity", "spectral", "links"),
    _pairs("spectral_learning", "SpectralLearning", "spectral", "SL"),
    _pairs("pckmeans", "PCKMeans", "PCKMeans"),
    _pairs("mpckmeans", "MPCKMeans", "MPCKMeans"),
    _pairs("cop_kmeans", "COPKMeans", "COP-Kmeans"),
    _nothing("ward", "Ward", "Ward"),
    _nothing("kmeans", "k-means", "k-means"),
    _nothing("spectral", "Euclidean spectral", "spectral", "adaptive kNN"),
    _nothing("clustrf", "ClustRF", "spectral", input="forest"),
    _nothing("consensus_knn", "ConsensusKNN", "spectral", "consensus kNN"),
    _nothing("dominant_neighbors", "DominantNeighbors", "spectral", "dominant neighbors"),
)
#: The methods that guided clustering is compared with set by set.
COMPARATORS = tuple(
    m
    for m in METHODS
    if m.name
    in ("e2cp", "coprf", "coprf_hard", "rf_e2cp", "itml", "constrained_linkage", "ward", "spectral")
)
#: Methods measured without answers.
WITHOUT = (GUIDED, *(m for m in METHODS if not m.uses_answers))
#: Methods that run on all sets and amounts, and those that do not.
EVERYWHERE = tuple(m for m in METHODS if m.is_run(9_999, 999_999))
LIMITED = tuple(m for m in METHODS if m not in EVERYWHERE)
#: Methods measured on all kinds of answers, and those that take no pairs.
KIND_METHODS = (GUIDED, E2CP, COPRF, ITML, SKLR, DCRC)
COMPARING = (
    _comparisons("lsml", "LSML", "k-means", "LSML"),
    _comparisons("sparse_lp", "SparseLP", "k-means", "SparseLP"),
    _comparisons("sssvad", "SSSVaD", "SSSVaD"),
)


@dataclass(frozen=True)
class Cell:
    """Who answers what, and how much."""

    kind: str
    """One of `KINDS`, or of `PEOPLE`, or "none"."""
    amount: str = ""
    """One of `AMOUNTS`."""
    error: float = 0.0
    """Share of wrong answers; people have their own."""
    is_named: bool = True
    """Whether it is known which person gave an answer."""

    @property
    def name(self) -> str:
        """Name in the log."""
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


def _pair_cells(amounts: Sequence[str]) -> tuple[Cell, ...]:
    return tuple(Cell("pairs", *of) for of in product(amounts, ERRORS))


PARTS = {
    "main": Part(
        SETS,
        (NO_ANSWERS, *_pair_cells(AMOUNTS)),
        lambda cell: [m for m in METHODS if cell != NO_ANSWERS or m in WITHOUT],
    ),
    "kinds": Part(
        FEW_SETS,
        tuple(Cell(*of) for of in product(KINDS, ("N/4", "N"), (0.0, 0.15))),
        lambda cell: KIND_METHODS if cell.kind == "pairs" else (*KIND_METHODS, *COMPARING),
    ),
    "people": Part(
        PEOPLE_SETS,
        tuple(
            Cell(who, n, 0.0, is_named)
            for who, n, is_named in product(PEOPLE, ("N", "2N"), (True, False))
        ),
        lambda cell: (GUIDED, *[ALIKE][: cell.is_named], *COMPARATORS),
    ),
    "ablation": Part(ABLATION_SETS, _pair_cells(tuple(PER_ROW)), lambda cell: (GUIDED, *ABLATIONS)),
}


@dataclass(frozen=True)
class GuidedStudy(Study):
    """The study of guided clustering."""

    n_trials: int = 3
    sets: tuple[str, ...] = SETS
    stem: str = "guided"
    amounts: tuple[str, ...] = AMOUNTS
    errors: tuple[float, ...] = ERRORS

    def cells(self, part: str) -> list[Cell]:
        """Give the cells of a part."""
        return [
            cell
            for cell in PARTS[part].cells
            if cell == NO_ANSWERS or (cell.amount in self.amounts and cell.error in self.errors)
        ]

    def points(self, name: str) -> list[tuple[Method, Cell]]:
        """Give every method with every cell, those with most answers first."""
        found = {
            (method, cell): n_answers(name, cell.amount)
            for part, of in PARTS.items()
            if name in of.sets
            for cell in self.cells(part)
            for method in of.methods(cell)
            if method.is_run(n_rows(name), n_answers(name, cell.amount))
        }
        return sorted(found, key=lambda point: (-found[point], point[1].name))

    def base(self, method: Method, cell: Cell) -> Cell:
        """Without answers all cells are one."""
        return cell if method.uses_answers else NO_ANSWERS

    def problem(self, name: str) -> Problem:
        """Load a set."""
        return problem(name)

    def version(self, method: Method) -> str:
        """Hash the parameters of a method."""
        return version(method, N_TREES)

    def measure(self, task: Task) -> dict[str, Any]:
        """Score the groups of a method, or those of Ward if it refused the answers: "ari"."""
        name, method, cell, trial = task
        of, seed = problem(name), seed_of("method", name, trial)
        X = forest(name, seed) if method.input == "forest" else of.X
        known = None if cell == NO_ANSWERS else answers(name, cell, trial)
        found = run_method(method, X, known, (of.n_classes,), seed, N_TREES)
        if not found.labels:
            found.labels = {of.n_classes: AgglomerativeClustering(of.n_classes).fit_predict(of.X)}
        ari = float(adjusted_rand_score(of.y, found.labels[of.n_classes]))
        return {"ari": ari} | found.notes | _of_answers(of, known, found.model)


def problem(name: str) -> Problem:
    """Load a set: features standardized, those of pictures as they are or their components."""
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
    grown: Floats = ClustRF(N_TREES, random_state=seed).fit(problem(name).X).affinity_matrix_
    return grown


@lru_cache(maxsize=4)
def answers(name: str, cell: Cell, trial: int) -> Constraints:
    """Draw the answers of a trial.

    Questions depend on their kind and number only: a higher share of wrong answers makes more of
    the same ones wrong.
    """
    y, count = problem(name).y, n_answers(name, cell.amount)
    seed = seed_of("guided", name, cell.kind, cell.amount, trial)
    if cell.kind in PEOPLE:
        known = _by_people(y, PEOPLE[cell.kind], count, seed)
        pairs = np.column_stack([known.pairs, known.pair_answers])
        return known if cell.is_named else Constraints(len(y), pairs=pairs)
    names = ("n_pairs", "n_triplets", "n_odd_one_out")
    numbers = {name: count for name, kind in zip(names, KINDS, strict=False) if kind == cell.kind}
    if cell.kind == "mixture":
        numbers = {name: (count + at) // 3 for at, name in enumerate(names)}
    return Constraints.from_labels(y, **numbers, error=cell.error, random_state=seed)


def _by_people(y: Any, rates: dict[str, float], count: int, seed: int) -> Constraints:
    """Ask people about pairs in turn."""
    errors = list(rates.values())
    people = SimulatedOracle(y, annotators=list(rates), error=errors, random_state=seed)
    asked = Constraints.from_labels(y, n_pairs=count, random_state=seed).pairs.tolist()
    given = [
        people.answer(Question("pair", (i, j)), people.annotators[at % len(rates)])
        for at, (i, j) in enumerate(asked)
    ]
    return Constraints.from_answers(given, n_samples=len(y))


def is_wrong(y: Any, known: Constraints) -> Any:
    """Return which pairs were answered wrong."""
    first, second = known.pairs.T
    return (y[first] == y[second]) != known.is_must_link


def _of_answers(of: Problem, known: Constraints | None, model: Any) -> dict[str, float]:
    """Judge what guided clustering estimates about answers, of which all are pairs."""
    if known is None or len(known) != len(known.pairs) or not hasattr(model, "error_interval_"):
        return {}
    wrong = is_wrong(of.y, known)
    low, high = model.error_interval_
    share, rate = float(wrong.mean()), float(model.error_rate_)
    found = {"true_error": share, "error_rate": rate, "error_low": float(low)}
    found["error_high"] = float(high)
    if 0 < share < 1:
        found["is_held"] = float(low <= share <= high)
        found["auc"] = float(roc_auc_score(wrong, model.answer_posterior_.pairs))
    return found
