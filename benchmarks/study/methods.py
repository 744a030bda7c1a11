"""The registry of methods: every estimator that a study fits is named, built and fitted here."""

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.linalg import ArpackError
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import AgglomerativeClustering, KMeans

from benchmarks.study.log import parameters_of, seeded, tag_of
from benchmarks.study.problems import Floats, Ints
from clew import Constraints, cluster, similarity
from clew.answers import ALL_ALIKE, DONT_KNOW
from clew.constraints._meanings import inequalities_of
from clew.constraints._support import held_out_folds
from clew.exceptions import InvalidConstraintsError, TooLargeError

GIVEN: Literal["precomputed"] = "precomputed"
HARD: dict[str, Any] = {"mode": "hard", "trust": "inconsistency"}
#: On 256 features LSML takes minutes to converge, and the groups do not get better.
LSML_STEPS = 100

#: Similarities and metrics by name, for a number of trees.
SIMILARITIES: dict[str, Callable[[int], Any]] = {
    "ClustRF": lambda t: similarity.ClustRF(t),
    "COP-RF": lambda t: similarity.COPRF(t),
    "COP-RF hard": lambda t: similarity.COPRF(t, **HARD),
    "COP-RF hard, leaf": lambda t: similarity.COPRF(t, proximity="leaf", **HARD),
    "E2CP": lambda t: similarity.E2CP(),
    "E2CP on distances": lambda t: similarity.E2CP(similarity.AdaptiveKNN(metric=GIVEN)),
    "E2CP on COP-RF": lambda t: similarity.E2CP(similarity.COPRF(t)),
    "E2CP, given": lambda t: similarity.E2CP(GIVEN),
    "E2CP, given, k = N/10": lambda t: similarity.E2CP(GIVEN, n_neighbors="paper"),
    "SL": lambda t: similarity.SpectralLearning(),
    "SL, given": lambda t: similarity.SpectralLearning(GIVEN),
    "SL, given, k = N/10": lambda t: similarity.SpectralLearning(GIVEN, n_neighbors="paper"),
    "links": lambda t: similarity.LinkedAffinity(),
    "links, given": lambda t: similarity.LinkedAffinity(GIVEN),
    "adaptive kNN": lambda t: similarity.AdaptiveKNN(),
    "consensus kNN": lambda t: similarity.ConsensusKNN(),
    "dominant neighbors": lambda t: similarity.DominantNeighbors(),
    "ITML": lambda t: similarity.ITML(),
    "KISSME": lambda t: similarity.KISSME(),
    "LSML": lambda t: similarity.LSML(),
    "LSML, few steps": lambda t: similarity.LSML(max_iter=LSML_STEPS),
    "MMC": lambda t: similarity.MMC(),
    "MMC diagonal": lambda t: similarity.MMC(diagonal=True),
    "SparseLP": lambda t: similarity.SparseLP(),
    "SKLR": lambda t: similarity.SKLR(),
    "SKLR hard": lambda t: similarity.SKLR(slack="none"),
    "SKLR as published": lambda t: similarity.SKLR(algorithm="paper", slack="none"),
    "SKMS": lambda t: similarity.SKMS(),
    "DistLQP": lambda t: similarity.DistLQP(),
    "DistLQP as published": lambda t: similarity.DistLQP(changes="absolute"),
    "shortest paths": lambda t: similarity.ShortestPaths(),
}
#: Clusterers by name, for a number of clusters.
CLUSTERERS: dict[str, Callable[[int], Any]] = {
    "spectral": lambda k: cluster.SpectralClustering(k),
    "spectral, k = N/10": lambda k: cluster.SpectralClustering(k, n_neighbors="paper"),
    "k-means": lambda k: KMeans(k, n_init=10),
    "kernel k-means": lambda k: cluster.KernelKMeans(k),
    "mean shift": lambda k: cluster.KernelMeanShift(),
    "Ward": lambda k: AgglomerativeClustering(k),
    "COP-Kmeans": lambda k: cluster.COPKMeans(k),
    "COP-Kmeans as published": lambda k: cluster.COPKMeans(k, algorithm="paper", n_init=1),
    "COP-Kmeans, given": lambda k: cluster.COPKMeans(k, metric=GIVEN),
    "PCKMeans": lambda k: cluster.PCKMeans(k),
    "MPCKMeans": lambda k: cluster.MPCKMeans(k),
    "constrained linkage": lambda k: cluster.ConstrainedLinkage(k),
    "SSSVaD": lambda k: cluster.SSSVaD(k),
    "guided on distances": lambda k: cluster.GuidedClustering(k, metric=GIVEN),
    "linkage of distances": lambda k: cluster.ConstrainedLinkage(k, metric=GIVEN),
    "Ward of distances": lambda k: cluster.ConstrainedLinkage(k, linkage="ward", metric=GIVEN),
    "guided": lambda k: cluster.GuidedClustering(k, standardize=False),
    "guided, number open": lambda k: cluster.GuidedClustering(None, standardize=False),
    "DCRC": lambda k: cluster.DCRC(k),
    "DCRC kernel": lambda k: cluster.DCRC(k, kernel="adaptive"),
    "DCRC linear": lambda k: cluster.DCRC(k, kernel=None),
    "DCRC as published": lambda k: ChosenTau(cluster.DCRC(k, kernel=None, init="kmeans")),
    "DCRC hard": lambda k: cluster.DCRC(k, kernel=None, epsilon=0.0),
    "DCRC no balance": lambda k: cluster.DCRC(k, kernel=None, balance=False),
    "DCRC, error .15": lambda k: cluster.DCRC(k, epsilon=0.15),
    "DCRC, annotators": lambda k: cluster.DCRC(k, epsilon="annotators"),
}
#: Errors that are logged as failures: answers are refused, or eigenvectors are not found.
REFUSALS = (InvalidConstraintsError, TooLargeError, ArpackError, np.linalg.LinAlgError)

Answers = Literal[
    "nothing", "all", "pairs", "as_pairs", "odd_one_out", "triplets", "yes_no", "comparisons"
]


@dataclass(frozen=True)
class Method:
    """An estimator by name, and the input and answers that it is fitted on; a row of the tables."""

    name: str  # Name in the log
    label: str  # Name in tables
    clusterer: str = ""  # One of `CLUSTERERS`; if empty, k-means on the learned features
    similarity: str = ""
    """One of `SIMILARITIES`; if empty, the clusterer is fitted on the input itself."""
    answers: Answers = "all"  # The answers that it gets, see `selected`
    input: str = "features"  # Name of the input, for studies that have others than features
    n_starts: int = 10  # Number of starts of k-means on learned features
    tried: tuple[str, tuple[Any, ...]] | None = None
    """A parameter of the similarity that is chosen by held-out answers, and its values."""
    max_rows: int = 10_000  # The method is skipped on sets of more rows
    max_answers: int = 1_000_000  # The method is skipped with more answers

    @property
    def uses_answers(self) -> bool:
        return self.answers != "nothing"

    def learner(self, n_trees: int = 0) -> Any:
        return SIMILARITIES[self.similarity](n_trees)

    def model(self, n_clusters: int, n_trees: int = 0) -> Any:
        model = CLUSTERERS[self.clusterer](n_clusters)
        if self.similarity:
            model = cluster.SimilarityClustering(self.learner(n_trees), model)
        return model

    def is_run(self, n_rows: int, n_answers: int) -> bool:
        return n_rows <= self.max_rows and n_answers <= self.max_answers


def selected(known: Constraints, answers: Answers) -> Constraints:
    """Select the answers that a method gets.

    "all"; "pairs", "triplets" or "odd_one_out" alone; "yes_no": triplets without don't-knows;
    "as_pairs": pairs that all answers imply; "comparisons": neither pairs nor "all alike".
    """
    if answers == "all":
        return known
    if answers == "as_pairs":
        return known.as_pairs()
    if answers == "comparisons":
        return known.select(pairs=[], odd_one_out=known.odd_one_out_answers != ALL_ALIKE)
    decided = known.triplet_answers != DONT_KNOW if answers == "yes_no" else None
    return known.select(
        pairs=None if answers == "pairs" else [],
        triplets=decided if answers in ("triplets", "yes_no") else [],
        odd_one_out=None if answers == "odd_one_out" else [],
    )


@contextmanager
def noted(notes: dict[str, Any]) -> Iterator[None]:
    """Add "warnings" and "failure" to `notes`; one of `REFUSALS` ends the block without raising."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            yield
        except REFUSALS as error:
            notes["failure"] = type(error).__name__
    if given:
        notes["warnings"] = sorted({warning.category.__name__ for warning in given})


class ChosenTau(BaseEstimator):
    """DCRC with the `tau` that predicts the most held-out answers, or the middle one of `taus`.

    The middle one is used where there are too few answers to choose.
    """

    def __init__(
        self, model: Any, taus: tuple[float, ...] = (0.5, 1.0, 1.5), random_state: int | None = None
    ) -> None:
        self.model = model
        self.taus = taus
        self.random_state = random_state

    def fit(self, X: ArrayLike, y: object = None, *, constraints: Constraints) -> Self:
        seed = {"random_state": self.random_state}
        models = [clone(self.model).set_params(tau=tau, **seed) for tau in self.taus]
        for model in models:
            model.fit(X, constraints=constraints)
        shares = [max(model.cv_scores_.values(), default=-1.0) for model in models]
        best = shares.index(max(shares)) if max(shares) >= 0 else len(models) // 2
        self.tau_, self.labels_ = models[best].tau, models[best].labels_
        return self


N_FOLDS = 5


@dataclass
class Outcome:
    labels: dict[int, Ints] = field(default_factory=dict)
    """Labels by the number of groups; empty if the answers were refused."""
    model: Any = None
    """The fitted clusterer, or the fitted transformer if features were learned for k-means."""
    embedding: Floats | None = None  # The features that k-means was run on
    notes: dict[str, Any] = field(default_factory=dict)
    """For the log: CPU seconds of the fit, a refusal, warnings, the chosen parameter."""


def version(method: Method, n_trees: int = 0) -> str:
    parts = []
    if method.clusterer:
        parts = [parameters_of(method.model(2, n_trees))]
    elif method.similarity:
        parts = [parameters_of(method.learner())]
    return tag_of(method.name, method.answers, method.tried, method.n_starts, *parts)


def run_method(
    method: Method,
    X: Floats,
    known: Constraints | None,
    n_clusters: Sequence[int],
    seed: int,
    n_trees: int = 0,
) -> Outcome:
    """Find groups, for each number of them, from those of the answers that the method can use.

    If the answers were refused, the outcome has no labels. Every fit has the same seed.
    """
    found, extra = Outcome(), {}
    if method.uses_answers and known is not None:
        extra = {"constraints": selected(known, method.answers)}
    with noted(found.notes):
        if method.similarity and not method.clusterer:
            found.model = _chosen(found.notes, method, X, known, seed)
        start = time.process_time()
        if method.clusterer:
            models = {k: seeded(method.model(k, n_trees), seed) for k in n_clusters}
            found.labels = {k: model.fit(X, **extra).labels_ for k, model in models.items()}
            found.model = models[n_clusters[-1]]
        else:
            found.embedding = found.model.fit(X, **extra).embedding_ if method.similarity else X
        if method.clusterer or method.similarity:
            found.notes["fit_seconds"] = round(time.process_time() - start, 3)
        if found.embedding is not None:
            starts = {"n_init": method.n_starts, "random_state": seed}
            models = {k: KMeans(k, **starts).fit(found.embedding) for k in n_clusters}
            found.labels = {k: model.labels_ for k, model in models.items()}
    return found


def _chosen(notes: dict[str, Any], method: Method, X: Floats, known: Any, seed: int) -> Any:
    """Choose the value of the tried parameter that satisfies the most held-out answers."""
    space = seeded(method.learner(), seed)
    if method.tried is None:
        return space
    name, values = method.tried
    usable = selected(known, "yes_no" if method.answers == "as_pairs" else method.answers)
    folds = list(held_out_folds(usable, N_FOLDS, seed))
    if len(folds) < 2:
        return space
    held = []
    for value in values:
        candidate = clone(space).set_params(**{name: value})
        held.append(np.mean([_share_held(candidate, X, *fold, method.answers) for fold in folds]))
    notes[name] = values[int(np.argmax(held))]
    return space.set_params(**{name: notes[name]})


def _share_held(
    candidate: Any, X: Floats, kept: Constraints, held: Constraints, answers: Answers
) -> float:
    """Return the share of held-out comparisons that hold in features learned from the others."""
    Z = clone(candidate).fit(X, constraints=selected(kept, answers)).embedding_
    comparisons = inequalities_of(held)
    near, far = _distances(Z, comparisons.near), _distances(Z, comparisons.far)
    if answers == "pairs":  # every must-link is compared with every cannot-link
        must, cannot = _distances(Z, held.must_link), _distances(Z, held.cannot_link)
        near, far = np.repeat(must, len(cannot)), np.tile(cannot, len(must))
    return float(np.mean(near < far)) if len(near) else 0.5


def _distances(Z: Floats, pairs: Ints) -> Floats:
    return np.asarray(np.linalg.norm(Z[pairs[:, 0]] - Z[pairs[:, 1]], axis=1))
