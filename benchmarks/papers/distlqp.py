"""The thesis on DistLQP: clusterers on given and on learned distances, by number of answers."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics.cluster import contingency_matrix

from benchmarks.study.command import study_command
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import seed_of, tag_of
from benchmarks.study.methods import CLUSTERERS, SIMILARITIES, noted
from benchmarks.study.pictures import BLUE, GRAY, GREEN, ORANGE, PINK, RED
from benchmarks.study.problems import Floats, Ints, Problem, classical_scaling, load
from benchmarks.study.report import Claim, Curves, Panel, Report, Table, above
from clew import Constraints
from clew.cluster import DistanceClustering
from clew.graphs import nearest_graph
from clew.metrics import adjusted_rand_score, jaccard_score_pairs
from clew.similarity import AdaptiveKNN
from clew.trust import answer_evidence
from clew.trust.doubts import pair_posterior

#: Weight of an answer in the field, weight of a neighbor, and number of neighbors.
ANSWER_WEIGHT, NEIGHBOR_WEIGHT, N_NEIGHBORS = 2.0, 0.1, 10
MAX_ITER = 30
#: Weight of the answers, relative to the Laplacian.
NPKL_PENALTY = 1.0


def hmrf_com(X: Floats, known: Constraints, n_clusters: int, seed: int) -> Ints:
    """Cluster by a mixture of Gaussians in a hidden Markov random field, one start.

    The field joins must-linked rows and neighbors, and separates cannot-linked rows; its state is
    drawn once in each iteration (simulated field). Wu, Zhang, Hu and Ji, "Constrained clustering
    and its application to face clustering in videos", CVPR 2013.
    """
    n, random = len(X), np.random.RandomState(seed)
    field = np.zeros((n, n))
    near = nearest_graph(AdaptiveKNN().fit(X).affinity_matrix_, N_NEIGHBORS).tocoo()
    field[near.coords] = NEIGHBOR_WEIGHT
    for rows, sign in ((known.must_link, 1.0), (known.cannot_link, -1.0)):
        field[rows[:, 0], rows[:, 1]] = field[rows[:, 1], rows[:, 0]] = sign * ANSWER_WEIGHT
    centers = X[random.choice(n, n_clusters, replace=False)]
    variance = np.full((n_clusters, X.shape[1]), X.var(axis=0).mean())
    share = np.full(n_clusters, 1 / n_clusters)
    state = np.zeros((n, n_clusters))
    for _ in range(MAX_ITER):
        score = np.log(share) - 0.5 * np.log(variance).sum(axis=1)
        score = score - 0.5 * ((X**2) @ (1 / variance).T)
        score += X @ (centers / variance).T - 0.5 * (centers**2 / variance).sum(axis=1)
        q = softmax(score + field @ state, axis=1)
        drawn = (q.cumsum(axis=1) < random.uniform(size=(n, 1))).sum(axis=1)
        state = np.eye(n_clusters)[np.minimum(drawn, n_clusters - 1)]
        mass = q.sum(axis=0) + 1e-9
        centers, share = (q.T @ X) / mass[:, None], mass / mass.sum()
        variance = (q.T @ X**2) / mass[:, None] - centers**2
        # Variances are shrunk, because few rows of a group do not determine them.
        variance = 0.9 * np.maximum(variance, 0.0) + 0.1 * X.var(axis=0).mean()
    return np.asarray(q.argmax(axis=1), np.int64)


def npkl_distances(D: Floats, known: Constraints) -> Floats:
    """Learn a kernel without parameters, and return its distances.

    Minimizes ``tr(L K) - c·Σ T_ij K_ij`` over positive semidefinite K of bounded norm, which has a
    closed form. Zhuang, Tsang and Hoi, "SimpleNPKL: simple non-parametric kernel learning", ICML
    2009, for the kernel of Hoi, Jin and Lyu, "Learning nonparametric kernel matrices from pairwise
    constraints", ICML 2007.
    """
    graph = nearest_graph(
        AdaptiveKNN(metric="precomputed").fit(D).affinity_matrix_, N_NEIGHBORS
    ).toarray()
    root = np.sqrt(np.maximum(graph.sum(axis=1), 1e-12))
    gain = graph / root[:, None] / root - np.eye(len(D))
    for rows, sign in ((known.must_link, 1.0), (known.cannot_link, -1.0)):
        gain[rows[:, 0], rows[:, 1]] += sign * NPKL_PENALTY
        gain[rows[:, 1], rows[:, 0]] += sign * NPKL_PENALTY
    value, vector = np.linalg.eigh(gain)
    features = vector * np.sqrt(np.maximum(value, 0.0))
    squares = (features**2).sum(axis=1)
    found = squares[:, None] + squares - 2 * features @ features.T
    np.fill_diagonal(found, 0.0)
    return np.asarray(np.sqrt(np.maximum((found + found.T) / 2, 0.0)))


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
    return known.with_weights(pair_weights=pair_posterior(evidence, known).weight)


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


#: Methods of Figure 3, with their colors.
SHOWN = {
    KMEANS: GRAY, KMEANS_PAPER: BLUE, COP_GIVEN: GREEN, COP_PAPER: ORANGE,
    COP_LQP: RED, COP_PATHS: PINK,
}  # fmt: skip
#: Figures of the thesis' Table 2.2: the share of rows in the class of their group.
PUBLISHED = {
    KMEANS: (0.3640, 0.2578), KMEANS_PAPER: (0.3749, 0.2635), COP_GIVEN: (0.3865, 0.2603),
    COP_PAPER: (0.4035, 0.2695), ITML: (0.3566, 0.2177), HMRF: (0.4576, 0.2633),
    NPKL: (0.3223, 0.2440),
}  # fmt: skip


def _style(method: Method) -> dict[str, Any]:
    return {"color": SHOWN[method], "linestyle": "-" if method.clusterer == COP else "--"}


class DistlqpReport(Report[DistlqpStudy]):
    def _table(self, cell: Cell, methods: Any, field: str, sets: Any = None) -> Table:
        names = [name for name in self.sets if sets is None or name in sets]
        rows = [
            [m.label, *(self.results.score(name, cell, m, field) for name in names)]
            for m in methods
        ]
        return Table([f"{cell.name}, {field.upper()}", *names], rows, is_marked=True)

    def tables(self) -> Iterator[Table]:
        for field in ("jcc", "ari"):
            for cell in self.study.curve:
                yield self._table(cell, METHODS, field)

    def table_2_2(self) -> Table:
        rows = []
        for m in METHODS:
            of = self.results.score(VIDEO, TRACKS, m, "accuracy")
            paper = PUBLISHED.get(m, ("", ""))
            rows.append([m.label, of, *(f"{x:.3f}" if x != "" else "" for x in paper)])
        header = ["accuracy", VIDEO, "BF0502-1 (thesis)", "BF0502-2 (thesis)"]
        return Table(header, rows, is_marked=True)

    def wrong(self) -> Iterator[Table]:
        for cell in WRONG:
            yield self._table(cell, WITH_ERRORS, "jcc")

    def seconds(self) -> Table:
        cell, rows = self.study.curve[-1], []
        for m in METHODS:
            found = [self.results.values(name, cell, m, "seconds") for name in self.sets]
            texts = [f"{of.astype(float).mean():.1f}" if len(of) else "–" for of in found]
            rows.append([m.label, *texts])
        return Table([f"{cell.name}, CPU seconds", *self.sets], rows)

    def chosen(self) -> Table:
        """Count which distances held-out answers chose."""
        rows = []
        for cell in self.study.curve:
            texts = []
            for name in self.sets:
                found = self.results.values(name, cell, CHOSEN, "chosen")
                counts = found.value_counts()
                texts.append(", ".join(f"{k} {n}" for k, n in counts.items()) or "–")
            rows.append([cell.name, *texts])
        return Table(["answers", *self.sets], rows)

    def claims(self) -> Iterator[Claim]:
        pairs = [
            (KMEANS_PAPER, KMEANS), (COP_PAPER, COP_GIVEN), (COP_PAPER, ITML),
            (COP_PAPER, HMRF), (COP_PAPER, NPKL),
            (KMEANS_LQP, KMEANS), (KMEANS_LQP, KMEANS_PAPER),
            (COP_LQP, COP_GIVEN), (COP_LQP, COP_PAPER), (COP_LQP, COP_PATHS),
            (CHOSEN, COP_GIVEN), (CHOSEN, COP_LQP), (CHOSEN, COP_PATHS),
        ]  # fmt: skip
        curve = partial(self.results.curve, cells=self.study.curve, field="jcc")
        yield from (above(*pair, curve, self.sets) for pair in pairs)

    def figure_3(self) -> Curves:
        x = [cell.per_row for cell in self.study.curve]
        curve = partial(self.results.curve, field="jcc", x=x)
        row = [
            Panel.of(of, x, tuple(SHOWN), partial(curve, of, self.study.curve), _style)
            for of in self.sets
        ]
        options = {"width": 2.8, "height": 2.6}
        title = "Jaccard coefficient over answers for each row"
        return Curves("curves", title, [row], "answers for each row", ("JCC",), options=options)


QUICK = DistlqpStudy(1, (SMALL_LEAVES,), "distlqp_quick", True, curve=CURVE[:1])
command = study_command(
    DistlqpStudy(), DistlqpReport, __file__, QUICK, "One trial, small leaves, one size"
)
