"""COP-RF: methods, sets and answers of the paper's tables and three of its figures."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import AffinityPropagation
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import pairwise_distances, roc_auc_score
from sklearn.preprocessing import minmax_scale

from benchmarks.study.engine import Study, Task
from benchmarks.study.log import parameters_of, seed_of, seeded, tag_of
from benchmarks.study.methods import SIMILARITIES, Method, run_method
from benchmarks.study.problems import Floats, Ints, Problem, load
from clew import Constraints
from clew.metrics import adjusted_rand_score
from clew.similarity import AdaptiveKNN
from clew.trust import answer_evidence, constraint_inconsistency, out_of_bag_vote, pair_posterior

MAX_STEPS = 7
#: With the usual damping, .5, messages often oscillate where the preference is low.
STEADIER = ({"damping": 0.7, "max_iter": 200}, {"damping": 0.9, "max_iter": 400})
Similarity = NDArray[np.floating]


class Found(NamedTuple):
    """Groups, their number, and whether the messages converged."""

    labels: Ints
    n_groups: int
    is_converged: bool


def both(similarity: Similarity, y: Ints, seed: int) -> dict[str, Any]:
    """Score the groups with the median preference, and with as many groups as classes ("_at_k")."""
    # Single precision halves the time; affinities of forests have no more digits.
    dense = similarity.astype(np.float32)
    usual, matched = propagated(dense, seed), with_n_groups(dense, len(np.unique(y)), seed)
    found: dict[str, Any] = {}
    for end, run in (("", usual), ("_at_k", matched)):
        found[f"ari{end}"] = float(adjusted_rand_score(y, run.labels))
        found |= {f"n_groups{end}": run.n_groups, f"is_converged{end}": run.is_converged}
    return found


def propagated(similarity: Similarity, seed: int, **parameters: Any) -> Found:
    """Run affinity propagation; the default preference is the median similarity."""
    model = AffinityPropagation(affinity="precomputed", random_state=seed, **parameters)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        labels = model.fit(similarity).labels_
    is_converged = not any(issubclass(w.category, ConvergenceWarning) for w in given)
    return Found(labels, len(np.unique(labels)), is_converged)


def with_n_groups(similarity: Similarity, n_groups: int, seed: int) -> Found:
    """Search the preference that gives a number of groups; return the converged run nearest to it.

    The number of groups is about a power of the gap between the largest similarity and the
    preference. Each step changes the gap by that power law, and by a factor of 3 at most.
    """
    i, j = np.triu_indices(len(similarity), 1)
    middle, high = (float(v) for v in np.quantile(similarity[i, j], [0.5, 1.0]))
    gap = high - middle or 1.0
    too_small, too_large, runs = 0.0, np.inf, []
    converged: list[tuple[float, int]] = []
    for _ in range(MAX_STEPS):
        runs.append(_steadily(similarity, seed, high - gap))
        found = runs[-1].n_groups
        if runs[-1].is_converged and found == n_groups:
            break
        # Before convergence the number of groups is unreliable; messages converge with few groups.
        if runs[-1].is_converged and found > n_groups:
            too_small = gap
        else:
            too_large = gap
        if runs[-1].is_converged:
            converged.append((gap, found))
            ratio = (found / n_groups) ** (1 / _power(converged[-2:]))
            gap *= float(np.clip(ratio, 1 / 3, 3.0))
        gap = _between(gap, too_small, too_large)
    return min(runs, key=lambda run: (not run.is_converged, abs(run.n_groups - n_groups)))


def _between(gap: float, too_small: float, too_large: float) -> float:
    """Return the gap if it is within the bounds, otherwise a value between them."""
    if too_small < gap < too_large:
        return gap
    if too_small == 0:
        return too_large / 3
    return float(np.sqrt(too_small * min(too_large, 9 * too_small)))


def _steadily(similarity: Similarity, seed: int, preference: float) -> Found:
    for parameters in STEADIER:
        found = propagated(similarity, seed, preference=preference, **parameters)
        if found.is_converged:
            break
    return found


def _power(points: list[tuple[float, int]]) -> float:
    """Fit ``n_groups ∝ gap ** -power`` to two runs, between .3 and 4."""
    if len(points) < 2 or points[0][1] == points[1][1]:
        return 1.0
    (gap, found), (other_gap, other_found) = points
    slope = np.log(found / other_found) / np.log(other_gap / gap)
    return float(np.clip(slope, 0.3, 4.0))


#: Glass as in the paper: its tenth feature is the row number, and rows are sorted by class.
LEAKY = "glass_row_number"
TABLE_SETS = ("ionosphere", "iris", "segment_small", "parkinsons", "glass", "digits", LEAKY)
#: Faces: one set of pixels, and one of squared distances only.
PIXELS, DISTANCES = "olivetti_64x64", "apfaces_900"
FACE_SETS = (PIXELS, DISTANCES)
#: The sets of Figures 6 and 14.
SHOWN_SETS = ("ionosphere", "glass")
#: All sets, those that take longest first.
SETS = (DISTANCES, "digits", PIXELS, *(name for name in TABLE_SETS if name != "digits"))
PERCENTS, MIDDLE = (0.1, 0.2, 0.3, 0.4, 0.5), 2
#: .1 % of the pairs of digits would be 1,614 answers, more than people usually give.
DIGITS_AMOUNTS = (250, 500, 1000, 1500, 2000)
NOISE = 0.15
ERRORS = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30)
#: Number of coordinates that replace distances, and variance to which the pixels of each image are
#: scaled.
N_COORDINATES, PIXEL_VARIANCE = 60, 0.1
#: Trees of the forest that scores answers, and the quantiles of these scores.
N_DOUBT_TREES, QUANTILES = 500, (0.05, 0.25, 0.5, 0.75, 0.95)
PAPER_K, PAPER_E2CP = ", k = N/10", "E2CP, given, k = N/10"

METHODS = (
    Method("spclust", f"SPClust{PAPER_K}", f"spectral{PAPER_K}", "", "nothing", "gaussian"),
    Method("spclust_auto", "SPClust", "spectral", "", "nothing", "gaussian"),
    Method("ward", "Ward", "Ward", "", "nothing"),
    Method("clustrf", "ClustRF", "spectral", "", "nothing", "forest"),
    Method("cop_kmeans_paper", "COP-Kmeans, as published", "COP-Kmeans as published"),
    Method("cop_kmeans", "COPKMeans", "COP-Kmeans"),
    Method("pckmeans", "PCKMeans", "PCKMeans"),
    Method("mpckmeans", "MPCKMeans", "MPCKMeans"),
    Method("constrained_linkage", "ConstrainedLinkage", "constrained linkage"),
    Method("sl_paper", f"SL{PAPER_K}", "spectral", f"SL, given{PAPER_K}", input="gaussian"),
    Method("sl", "SL", "spectral", "SL, given", input="gaussian"),
    Method("e2cp_paper", f"E2CP{PAPER_K}", "spectral", PAPER_E2CP, input="gaussian"),
    Method("e2cp", "E2CP", "spectral", "E2CP, given", input="gaussian"),
    Method("rf_e2cp_paper", f"RF+E2CP{PAPER_K}", "spectral", PAPER_E2CP, input="forest"),
    Method("rf_e2cp", "RF+E2CP", "spectral", "E2CP, given", input="forest"),
    Method("coprf_hard", "COP-RF hard, as published", f"spectral{PAPER_K}", "COP-RF hard, leaf"),
    Method("coprf", "COP-RF default", "spectral", "COP-RF"),
    Method("coprf_e2cp", "COP-RF+E2CP", "spectral", "E2CP on COP-RF"),
)
BY_NAME = {method.name: method for method in METHODS}
#: Methods that satisfy every answer, or raise an error.
HARD = tuple(m for m in METHODS if "cop_kmeans" in m.name or m.name == "constrained_linkage")
#: Figure 6: affinities.
BLOCKS = (
    Method("block_sl", "SL", "", f"SL, given{PAPER_K}", input="gaussian"),
    Method("block_e2cp", "E2CP", "", PAPER_E2CP, input="gaussian"),
    Method("block_rf_e2cp", "RF+E2CP", "", PAPER_E2CP, input="forest"),
    Method("block_coprf_hard", "COP-RF hard", "", "COP-RF hard, leaf"),
    Method("block_coprf", "COP-RF default", "", "COP-RF"),
)
#: Figure 13: affinity propagation.
EXEMPLARS = (
    Method("faces_eucl", "Eucl", answers="nothing", input="nearness"),
    Method("faces_eucl_links", "Eucl+Links", "", "links, given", input="nearness"),
    Method("faces_rf", "RF", answers="nothing", input="forest"),
    Method("faces_rf_links", "RF+Links", "", "links, given", input="forest"),
    Method("faces_coprf_hard", "COP-RF hard", "", "COP-RF hard, leaf"),
    Method("faces_coprf", "COP-RF default", "", "COP-RF"),
    Method("faces_knn", "AdaptiveKNN", answers="nothing", input="knn"),
    Method("faces_sl", "SL", "", "SL, given", input="knn"),
    Method("faces_e2cp", "E2CP", "", "E2CP, given", input="knn"),
)
#: Other clusterers on the faces, which are given the number of groups.
REFERENCES = (
    Method("faces_cop_kmeans", "COPKMeans on distances", "COP-Kmeans, given", input="distances"),
    Method("faces_spectral", "COP-RF default, SpectralClustering", "spectral", "COP-RF"),
)
#: Figure 14: scores of answers; a higher score means that an answer is more likely wrong.
DOUBTS = (
    Method("doubt_inconsistency", "inconsistency (paper, eq. 11)"),
    Method("doubt_vote", "out-of-bag vote against it"),
    Method("doubt_posterior", "posterior p_wrong"),
)


class Cell(NamedTuple):
    """A number of answers, and the share of them that is wrong."""

    amount: int
    error: float = 0.0

    @property
    def name(self) -> str:
        return f"{self.amount} answers, {self.error:.0%} wrong" if self.amount else "no answers"


@dataclass(frozen=True)
class Curve:
    """A table of areas under curves in the paper, and the figure that shows these curves."""

    name: str
    answers: str
    what: str
    stem: str
    error: float | None = None
    """Share of wrong answers. None: it grows along the curve, and their number is fixed."""

    @property
    def title(self) -> str:
        return f"Table {self.name}: {self.answers}"

    def cells(self, name: str) -> list[Cell]:
        if self.error is None:
            return [Cell(amounts(name)[MIDDLE], error) for error in ERRORS]
        return [Cell(amount, self.error) for amount in amounts(name)]


TABLES = (
    Curve("II", "all answers right", "all right", "clean", 0.0),
    Curve("III", "exactly 15 % of the answers wrong", "15 % wrong", "noisy", NOISE),
    Curve("IV", "5 to 30 % of a fixed number of answers wrong", "5 to 30 % wrong", "error_rates"),
)


def source_of(name: str) -> str:
    """Return the name that `clew.datasets` and the paper's tables have for a set."""
    return "glass" if name == LEAKY else name


@lru_cache(maxsize=16)
def problem(name: str) -> Problem:
    """Load a set: features in [-1, 1], images of mean 0, or coordinates computed from distances."""
    if name == DISTANCES:
        return load(name, n_coordinates=N_COORDINATES, is_squared=True)
    found = load(source_of(name))
    if name == PIXELS:
        X = found.X - found.X.mean(axis=1, keepdims=True)
        return replace(found, X=X * np.sqrt(PIXEL_VARIANCE) / X.std(axis=1, keepdims=True))
    X = 2 * minmax_scale(found.X) - 1
    if name == LEAKY:
        X = np.column_stack([X, np.linspace(-1, 1, len(X))])
    return replace(found, name=name, X=X)


def amounts(name: str) -> tuple[int, ...]:
    """Return the numbers of answers: .1 to .5 % of all pairs."""
    if name == "digits":
        return DIGITS_AMOUNTS
    n = len(problem(name).y)
    return tuple(round(percent / 100 * (n * (n - 1) / 2)) for percent in PERCENTS)


def answers(name: str, cell: Cell, trial: int) -> Constraints:
    """Draw the answers of a trial; the pairs do not depend on the share of wrong answers."""
    seed = seed_of(source_of(name), trial, cell.amount)
    y = problem(name).y
    return Constraints.from_labels(y, n_pairs=cell.amount, error=cell.error, random_state=seed)


@lru_cache(maxsize=8)
def given(name: str, kind: str, n_trees: int, seed: int) -> Any:
    """Return the input of a method: features, or affinities that several methods share."""
    X: Any = problem(name).X
    if kind == "features":
        return X
    if kind == "forest":
        X = seeded(SIMILARITIES["ClustRF"](n_trees), seed).fit(X).affinity_matrix_
    elif kind == "gaussian":
        X = AdaptiveKNN().fit(X).affinity_matrix_
    else:
        known = problem(name).distances
        X = pairwise_distances(X) if known is None else known
    if kind == "knn":
        X = AdaptiveKNN(metric="precomputed").fit(X).affinity_matrix_
    return -(X**2) if kind == "nearness" else X


def affinity(
    name: str, method: Method, known: Constraints, n_trees: int, seed: int
) -> NDArray[np.floating]:
    """Learn affinities, (n_samples, n_samples)."""
    found = given(name, method.input, n_trees, seed)
    if method.similarity:
        model = seeded(method.learner(n_trees), seed)
        found = model.fit(found, constraints=known).affinity_matrix_
    return np.asarray(found.toarray() if hasattr(found, "toarray") else found)


def share_within(between: Floats, y: Ints) -> float:
    """Return w / (w + b) for the mean affinities w within classes and b between classes."""
    i, j = np.triu_indices(len(y), 1)
    is_same = y[i] == y[j]
    within, other = between[i, j][is_same].mean(), between[i, j][~is_same].mean()
    return float(within / (within + other))


def _against_vote(X: Floats, known: Constraints, **options: Any) -> Floats:
    vote = out_of_bag_vote(X, known, **options)
    return np.where(known.is_must_link, 1 - vote, vote)


def _p_wrong(X: Floats, known: Constraints, **options: Any) -> Floats:
    return pair_posterior(answer_evidence(X, known, **options), known).p_wrong


SCORES: dict[Method, Callable[..., Floats]] = dict(
    zip(DOUBTS, (constraint_inconsistency, _against_vote, _p_wrong), strict=True)
)


@dataclass(frozen=True)
class CopRfStudy(Study):
    n_trials: int = 10
    sets: tuple[str, ...] = SETS
    stem: str = "cop_rf"
    n_trees: int = 1000

    key_fields = ("set", "method", "amount", "error", "trial", "version")
    no_answers: ClassVar[Cell] = Cell(0)
    refusal: ClassVar[float | None] = 0.0

    problem = staticmethod(problem)

    def points(self, name: str) -> list[tuple[Method, Cell]]:
        """Return the methods and cells of all tables and figures that contain a set."""
        found: list[tuple[Method, Cell]] = []
        clean, noisy, _ = (table.cells(name) for table in TABLES)
        if name in TABLE_SETS:
            found += product(METHODS, dict.fromkeys(c for t in TABLES for c in t.cells(name)))
        if name in FACE_SETS:
            found += product((*EXEMPLARS, *REFERENCES), clean)
        if name in SHOWN_SETS:
            found += [*product(BLOCKS, clean[::2]), *product(DOUBTS, noisy)]
        return found

    def version(self, method: Method) -> str:
        name, trees = method.name, self.n_trees if method.input == "forest" else 0
        if method in DOUBTS:
            return tag_of(name, min(self.n_trees, N_DOUBT_TREES), QUANTILES)
        if method.clusterer:
            kind = "in the similarity" if method.similarity else "in the clusterer"
            family = kind if method.uses_answers else "no answers"
            model = method.model(2, self.n_trees)
            return tag_of(name, family, method.input, trees, parameters_of(model))
        learned = parameters_of(method.learner(self.n_trees)) if method.similarity else {}
        search = (MAX_STEPS, STEADIER, N_COORDINATES) if method in EXEMPLARS else ()
        return tag_of(name, method.input, trees, learned, *search)

    def key(self, task: Task) -> dict[str, Any]:
        name, method, (amount, error), trial = task
        fields = {"set": name, "method": method.name, "amount": amount, "error": error}
        return fields | {"trial": trial, "version": self.cached_version(method)}

    def group(self, task: Task) -> int:
        return task.trial

    def measure(self, task: Task) -> dict[str, Any]:
        """Score groups by the ARI, affinities and doubts by the AUC."""
        name, method, cell, trial = task
        of, known, seed = problem(name), answers(name, cell, trial), self.seed(name, trial)
        if method in DOUBTS:
            return self._doubts(of, method, known, seed)
        if method.clusterer:
            X, k = given(name, method.input, self.n_trees, seed), of.n_classes
            found = run_method(method, X, known, (k,), seed, self.n_trees)
            if found.labels:
                found.notes["ari"] = float(adjusted_rand_score(of.y, found.labels[k]))
            return found.notes
        between = affinity(name, method, known, self.n_trees, seed)
        if method in EXEMPLARS:
            return both(between, of.y, seed)
        i, j = np.triu_indices(len(of.y), 1)
        auc = float(roc_auc_score(of.y[i] == of.y[j], between[i, j]))
        return {"auc": auc, "within": share_within(between.astype(float), of.y)}

    def seed(self, name: str, trial: int) -> int:
        return seed_of("method", name, trial)

    def _doubts(self, of: Problem, method: Method, known: Constraints, seed: int) -> dict[str, Any]:
        """Return the AUC of wrong answers, and quantiles of the scores of right and wrong ones."""
        i, j = known.pairs.T
        is_wrong = known.is_must_link != (of.y[i] == of.y[j])
        n_trees = min(self.n_trees, N_DOUBT_TREES)
        score = SCORES[method](of.X, known, n_trees=n_trees, random_state=seed)
        found: dict[str, Any] = {"auc": float(roc_auc_score(is_wrong, score))}
        for kind, which in (("right", ~is_wrong), ("wrong", is_wrong)):
            found[kind] = [round(float(q), 5) for q in np.quantile(score[which], QUANTILES)]
        return found
