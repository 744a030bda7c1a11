"""The study: triplets answered by the classes, by one person, and by six different people."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.study.engine import Study, Task
from benchmarks.study.fits import run_method
from benchmarks.study.log import seed_of
from benchmarks.study.methods import Answers, Method
from benchmarks.study.problems import Floats, Problem, load
from clew import Constraints, Question
from clew.answers import Kind
from clew.metrics import adjusted_rand_score, normalized_mutual_info_score, pairwise_f_score
from clew.oracles import SimulatedOracle

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
LSML = _metric("lsml", "LSML", "yes_no", "LSML", "weight", ("auto", 1.0, 100.0, 10_000.0))
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
    """The study of DCRC."""

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
