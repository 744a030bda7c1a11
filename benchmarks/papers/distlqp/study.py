"""The study: clusterers on given and on learned distances, by the number of answers."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics.cluster import contingency_matrix

from benchmarks.papers.distlqp.comparators import hmrf_com, npkl_distances
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import seed_of, tag_of
from benchmarks.study.methods import CLUSTERERS, SIMILARITIES, noted
from benchmarks.study.problems import Floats, Ints, Problem, classical_scaling, load
from clew import Constraints
from clew.cluster import DistanceClustering
from clew.metrics import adjusted_rand_score, jaccard_score_pairs
from clew.trust import answer_evidence
from clew.trust.doubts import posterior

LEAVES, SMALL_LEAVES, FACES = "leaf_flavia", "uci_leaf", "pubfig_900_60"
PORTRAITS, VIDEO = "olivetti_64x64", "lost_faces"
SETS = (SMALL_LEAVES, PORTRAITS, FACES, VIDEO, LEAVES)
#: The largest distance over the lower bound, in the thesis: leaves, faces, faces in videos.
ALPHA = {LEAVES: 8.0, SMALL_LEAVES: 8.0, FACES: 3.0, PORTRAITS: 3.0, VIDEO: 2.0}
#: Images drawn from each class: about a thousand leaves in all, as in the thesis.
PER_CLASS = {LEAVES: 33}
#: A robust distance sums this share of the squared differences, the smallest ones.
SHARE_OF_DIFFERENCES = 0.8
N_COMPONENTS, N_STARTS, N_TREES = 60, 25, 200
#: Share of must-links in the thesis' draws.
MUST_SHARE = 0.2


class Cell(NamedTuple):
    """Answers: how many for each row, and the share of wrong ones."""

    per_row: float = 0.0
    error: float = 0.0
    must_share: float = MUST_SHARE

    @property
    def name(self) -> str:
        if self.must_share != MUST_SHARE:
            return "as of a video"
        return f"{self.per_row:g} N" + (f", {self.error:.0%} wrong" if self.error else "")


CURVE = (Cell(1.0), Cell(3.0), Cell(5.0))
WRONG = (Cell(3.0, 0.1), Cell(3.0, 0.2))
#: A must-link and .3 cannot-links for each row, as face tracks in videos provide.
TRACKS = Cell(1.3, must_share=1 / 1.3)
NO_ANSWERS = Cell()


@dataclass(frozen=True)
class Method:
    """Distances, and what clusters them."""

    name: str
    label: str
    distances: str  # "given", a name in `SIMILARITIES`, or that of a comparator
    clusterer: str
    uses_answers: bool = True
    is_weighted: bool = False  # Whether answers are weighted by their trust


MEDOIDS, COP = "k-medoids", "COP-Kmeans"
PAPER, DEFAULT, PATHS = "DistLQP as published", "DistLQP", "shortest paths"
ALTERNATIVES = {PAPER: "DistLQP as published", DEFAULT: "DistLQP", PATHS: "shortest paths"}
KMEANS = Method("kmeans", "K-means", "given", MEDOIDS)
KMEANS_PAPER = Method("kmeans_paper", "K-means + DistLQP, thesis", PAPER, MEDOIDS)
KMEANS_LQP = Method("kmeans_lqp", "K-means + DistLQP", DEFAULT, MEDOIDS)
KMEANS_PATHS = Method("kmeans_paths", "K-means + shortest paths", PATHS, MEDOIDS)
COP_GIVEN = Method("cop", "COP-Kmeans", "given", COP)
COP_PAPER = Method("cop_paper", "COP-Kmeans + DistLQP, thesis", PAPER, COP)
COP_LQP = Method("cop_lqp", "COP-Kmeans + DistLQP", DEFAULT, COP)
COP_PATHS = Method("cop_paths", "COP-Kmeans + shortest paths", PATHS, COP)
CHOSEN = Method("chosen", "COP-Kmeans, chosen", "chosen", COP)
ITML = Method("itml", "ITML + MDS", "ITML", "k-means")
HMRF = Method("hmrf", "HMRF-com + MDS", "MDS", "HMRF-com")
NPKL = Method("npkl", "COP-Kmeans + NPKL", "NPKL", COP)
NOTHING = Method("medoids", "k-medoids, no answers", "given", MEDOIDS, uses_answers=False)
WARD = Method("average", "average linkage, no answers", "given", "average", uses_answers=False)
WEIGHTED = Method("kmeans_lqp_trust", "K-means + DistLQP, trust", DEFAULT, MEDOIDS, True, True)
PAPER_WEIGHTED = Method(
    "kmeans_paper_trust", "K-means + DistLQP, thesis, trust", PAPER, MEDOIDS, True, True
)
METHODS = (
    KMEANS, KMEANS_PAPER, KMEANS_LQP, KMEANS_PATHS, COP_GIVEN, COP_PAPER, COP_LQP, COP_PATHS,
    CHOSEN, NPKL, ITML, HMRF, NOTHING, WARD,
)  # fmt: skip
WITH_ERRORS = (KMEANS, KMEANS_PAPER, KMEANS_LQP, PAPER_WEIGHTED, WEIGHTED, NOTHING, WARD)


def robust_distances(X: Floats) -> Floats:
    """Return the root of the sum of the smallest 80 % of squared differences, for all pairs."""
    kept = round(SHARE_OF_DIFFERENCES * X.shape[1])
    found = np.zeros((len(X), len(X)))
    for row in range(len(X) - 1):
        squares = (X[row + 1 :] - X[row]) ** 2
        nearest = np.partition(squares, kept - 1, axis=1)[:, :kept]
        found[row, row + 1 :] = np.sqrt(nearest.sum(axis=1))
    return found + found.T


@lru_cache(maxsize=2)
def distances(name: str) -> tuple[Floats, Ints]:
    """Return robust distances of standardized features, or of principal components of pixels."""
    if name == PORTRAITS:
        problem = load(name, "largest", n_components=N_COMPONENTS)
    else:
        problem = load(name, "standard", per_class=PER_CLASS.get(name))
    return robust_distances(problem.X), problem.y


@lru_cache(maxsize=2)
def drawn(name: str, cell: Cell, trial: int) -> tuple[Floats, Ints, Constraints]:
    """Permute the rows, and draw the answers of a trial."""
    D, y = distances(name)
    random = np.random.RandomState(seed_of("distlqp", name, trial))
    rows = random.permutation(len(y))
    D, y = D[np.ix_(rows, rows)], y[rows]
    i, j = np.triu_indices(len(y), 1)
    is_same = y[i] == y[j]
    wanted = round(cell.per_row * len(y))
    n_must = min(round(cell.must_share * wanted), int(is_same.sum()))
    must = random.choice(np.flatnonzero(is_same), n_must, replace=False)
    cannot = random.choice(np.flatnonzero(~is_same), wanted - n_must, replace=False)
    at = random.permutation(np.concatenate([must, cannot]))
    said = is_same[at].astype(int)
    wrong = random.choice(len(at), round(cell.error * len(at)), replace=False)
    said[wrong] = 1 - said[wrong]
    return D, y, Constraints(len(y), pairs=np.column_stack([i[at], j[at], said]))


def with_links(D: Floats, known: Constraints) -> Floats:
    """Set the distances of answered pairs: 0, or the largest distance."""
    found = D.copy()
    for rows, value in ((known.must_link, 0.0), (known.cannot_link, D.max())):
        found[rows[:, 0], rows[:, 1]] = found[rows[:, 1], rows[:, 0]] = value
    return found


def weighted(D: Floats, known: Constraints, seed: int) -> Constraints:
    """Weight answers by how far coordinates of the distances support them."""
    X = classical_scaling(D, N_COMPONENTS)
    evidence = answer_evidence(X, known, n_trees=N_TREES, random_state=seed)
    return known.with_weights(pair_weights=posterior(evidence, known).weight)


def learned(name: str, method: Method, D: Floats, known: Constraints, seed: int) -> Floats:
    """Return the distances, or the features, that a method clusters."""
    if method.distances == "given":
        return with_links(D, known) if method.uses_answers else D
    if method.distances == "NPKL":
        return npkl_distances(D, known)
    if method.distances in ("MDS", "ITML"):
        X = classical_scaling(D, N_COMPONENTS)
        if method.distances == "MDS":
            return X
        model = SIMILARITIES["ITML"](0).set_params(random_state=seed)
        return np.asarray(model.fit(X, constraints=known).embedding_)
    model = SIMILARITIES[ALTERNATIVES[method.distances]](0)
    if method.distances == PAPER:
        model.set_params(alpha=ALPHA[name])
    model.fit(D, constraints=weighted(D, known, seed) if method.is_weighted else known)
    found, touched = with_links(D, known), model.distances_.tocoo()
    if method.distances == PATHS:
        return np.asarray(model.dense_distances())
    if method.is_weighted:
        return np.asarray(model.dense_distances())
    found[touched.coords] = touched.data
    return found


def clusterings(method: Method, Z: Floats, known: Constraints, k: int, seed: int) -> list[Ints]:
    """Cluster distances or features from every start."""
    if method.clusterer == "average":
        model = AgglomerativeClustering(k, metric="precomputed", linkage="average")
        return [np.asarray(model.fit_predict(Z), np.int64)]
    seeds = [seed_of("start", seed, start) for start in range(N_STARTS)]
    if method.clusterer == "HMRF-com":
        return [hmrf_com(Z, known, k, one) for one in seeds]
    if method.clusterer == "k-means":
        return [KMeans(k, n_init=1, random_state=one).fit(Z).labels_ for one in seeds]
    extra = {"constraints": known} if method.clusterer == COP else {}
    model = CLUSTERERS["COP-Kmeans, given"](k).set_params(n_init=1)
    return [model.set_params(random_state=one).fit(Z, **extra).labels_ for one in seeds]


def chosen(D: Floats, known: Constraints, k: int, seed: int) -> tuple[list[Ints], str]:
    """Cluster distances that held-out answers choose; every start has the chosen distances."""
    clusterer = CLUSTERERS["COP-Kmeans, given"](k).set_params(n_init=5)
    model = DistanceClustering(clusterer=clusterer, random_state=seed).fit(D, constraints=known)
    Z = with_links(D, known) if model.similarity_ is None else model.similarity_.dense_distances()
    return clusterings(CHOSEN, Z, known, k, seed), model.chosen_


def accuracy(y: Ints, labels: Ints) -> float:
    """Return the share of rows in the class of their group, under the best one-to-one match."""
    table = contingency_matrix(y, labels)
    return float(table[linear_sum_assignment(-table)].sum() / len(y))


SCORES: dict[str, Callable[..., float]] = {
    "jcc": jaccard_score_pairs, "ari": adjusted_rand_score, "accuracy": accuracy,
}  # fmt: skip


@dataclass(frozen=True)
class DistlqpStudy(Study):
    """The study of DistLQP."""

    n_trials: int = 5
    sets: tuple[str, ...] = SETS
    stem: str = "distlqp"
    no_answers = NO_ANSWERS
    curve: tuple[Cell, ...] = CURVE

    def problem(self, name: str) -> Problem:
        return load(name)

    def points(self, name: str) -> list[tuple[Method, Cell]]:
        found = [(m, cell) for cell in self.curve for m in METHODS]
        found += [(m, TRACKS) for m in METHODS if name == VIDEO]
        return found + [(m, cell) for cell in WRONG for m in WITH_ERRORS]

    def version(self, method: Method) -> str:
        return tag_of(method, N_STARTS)

    def measure(self, task: Task) -> dict[str, Any]:
        name, method, cell, trial = task
        D, y, known = drawn(name, cell, trial)
        k, seed = len(np.unique(y)), seed_of("method", name, trial)
        notes: dict[str, Any] = {}
        found: list[Ints] = []
        with noted(notes):
            if method is CHOSEN:
                found, notes["chosen"] = chosen(D, known, k, seed)
            else:
                Z = learned(name, method, D, known, seed)
                found = clusterings(method, Z, known, k, seed)
        scores = {key: float(np.mean([of(y, one) for one in found])) for key, of in SCORES.items()}
        return notes | (scores if found else {})
