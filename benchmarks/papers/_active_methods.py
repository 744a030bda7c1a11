"""Rows and answers of the study of questions; strategies, starts and other software by name."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.decomposition import PCA

from benchmarks._environments import run_in_environment
from benchmarks.studies._human import load as load_people
from benchmarks.study import methods as shared
from benchmarks.study.log import seed_of, seeded
from benchmarks.study.methods import GIVEN
from benchmarks.study.problems import Floats, Ints, Problem, classical_scaling, load, rows_of
from clew import Question, cluster, questions
from clew.datasets import make_leaf_like
from clew.datasets._generators import _distances_without_worst
from clew.exceptions import NoGroupsWarning
from clew.oracles import Oracle, ReplayOracle

#: Number of rows drawn from each set, and maximum number of rows of a group (0: rows are drawn
#: without regard to groups).
SIZES = {
    "leaf_like": (200, 15), "face_like": (200, 10), "leaf_flavia": (250, 15),
    "uci_leaf": (250, 15), "olivetti_64x64": (250, 15), "digits": (300, 0), "iris": (150, 0),
    "pubfig_900_60": (300, 15), "lost_faces": (300, 15), "apfaces_900": (250, 0),
    # The sizes of the thesis.
    "leaf_like_1042": (1042, 37), "face_like_500": (500, 10),
}  # fmt: skip
LARGE = ("leaf_like_1042", "face_like_500")
#: Sets of real answers: the file, and the classes.
PEOPLE = {
    "restaurants": ("crowder_restaurant", "entity"),
    "marks": ("pk_shapecolor_pairs_l5", "shape"),
    "reptiles and tools": ("reptile_tool30_pairs", "category"),
}
#: Standard deviation within the classes of the generated sets; that of their centers is 1.
NOISE = {"leaf": 0.55, "face": 0.8}
MAX_FEATURES, N_COMPONENTS, N_COORDINATES = 100, 60, 30


class Part(NamedTuple):
    """Distances of some rows in random order, and their classes."""

    D: Floats
    y: Ints

    @property
    def n_classes(self) -> int:
        return len(np.unique(self.y))


@lru_cache(maxsize=4)
def part(name: str, trial: int) -> Part:
    """Draw the rows of a trial."""
    n, per_class = SIZES[name]
    seed = seed_of("active", name, trial)
    if "_like" in name:
        noise = NOISE[name.partition("_")[0]]
        made = make_leaf_like(n, class_size=per_class, noise=noise, random_state=seed)
        assert made.D is not None
        return Part(made.D, made.y)
    whole = prepared(name)
    rows = rows_of(whole.y, n, per_class, np.random.RandomState(seed))
    y = np.unique(whole.y[rows], return_inverse=True)[1]
    if whole.distances is not None:
        return Part(np.ascontiguousarray(whole.distances[np.ix_(rows, rows)]), y)
    X = whole.X[rows]
    share = 0.8 if X.shape[1] > 4 else 1.0
    return Part(_distances_without_worst(X, round(share * X.shape[1])), y)


def prepared(name: str) -> Problem:
    """Load a whole set: standardized features, or components if there are many."""
    whole = load(name)
    if whole.distances is not None:
        return whole
    if whole.X.shape[1] > MAX_FEATURES:
        X = PCA(N_COMPONENTS, svd_solver="full").fit_transform(whole.X)
        return Problem(name, X, whole.y)
    return load(name, "standard")


def people(name: str, trial: int) -> tuple[Part, Any]:
    """Load a set of real answers, and make the oracle that replays them."""
    file, classes = PEOPLE[name]
    of = load_people(file, seed_of("active", name, trial))
    if of.X is None:  # restaurants: people were asked only about similar ones
        D = np.ones((of.n, of.n)) - np.eye(of.n)
        D[of.rows[:, 0], of.rows[:, 1]] = D[of.rows[:, 1], of.rows[:, 0]] = 0.5
    else:
        D = squareform(pdist(of.X))
    return Part(D, of.classes[classes]), lambda y, seed: ReplayOracle(
        of.constraints(), random_state=seed
    )


def curve_of_package(
    name: str, part: Part, oracle: Oracle, budget: int, seed: int
) -> tuple[list[tuple[int, Ints]], float]:
    """Run a package; return its groups by number of answers, and CPU seconds of a question.

    `name` holds the names of the package and of its class. The package gets coordinates that
    reproduce the distances, the number of groups, and a table of the answers to all pairs, from
    which it reads the answers to its questions.
    """
    n = len(part.y)
    first, second = np.triu_indices(n, 1)
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    same = np.eye(n, dtype=bool)
    same[first, second] = [oracle.answer(Question("pair", pair)).value == 1 for pair in pairs]
    X = classical_scaling(part.D, min(N_COORDINATES, n - 1))
    package, method = name.split()
    found, groups = run_in_environment(
        package, "benchmarks._peers:asked", {"X": X, "same": same | same.T},
        package=package, method=method, seed=seed, n_clusters=part.n_classes, budget=budget,
    )  # fmt: skip
    return list(zip(groups["n"].tolist(), groups["labels"], strict=True)), found["seconds"]


@dataclass(frozen=True)
class Method:
    """A strategy: ``make(n_clusters, n_samples)``; or groups without answers, or other software."""

    name: str
    make: Callable[[int, int], Any] | None = None
    version: str = "1"
    trials: int = 5
    every: int = 5  # Answers between two looks at the groups
    budget: int = 3  # Answers for each row
    batch: int = 5  # Questions between two updates
    package: str = ""  # Of other software
    uses_answers: bool = True


def _with_number(kind: Any) -> Callable[[int, int], Any]:
    return lambda k, n: kind(k, metric=GIVEN)


def _without_number(kind: Any) -> Callable[[int, int], Any]:
    return lambda k, n: kind(metric=GIVEN)


GUIDED = Method("Guided", _without_number(questions.Guided), "5")
# The groups are looked at after every 5 answers, as with batches of 5: people answer one by one.
LARGE_BATCHES = replace(GUIDED, name="Guided, batches of 20", version="5", batch=20)
RANDOM = Method("RandomPairs", _with_number(questions.RandomPairs))
MOST_PROBABLE = Method("MostProbable", _with_number(questions.MostProbable))
MARGIN = Method("Margin", _without_number(questions.Margin), trials=3)
EXPLORE = Method(
    "ExploreConsolidate", _with_number(questions.ExploreConsolidate), every=10, trials=3
)
THESIS = Method("ExpectedChange", _with_number(questions.ExpectedChange))
# It finds its super-instances again for each question, which takes seconds after many answers.
COBRAS = Method("COBRAS", _without_number(questions.COBRAS), "2", trials=1, every=10, budget=1)
OTHERS = (
    THESIS,
    MOST_PROBABLE,
    EXPLORE,
    Method("MinMax", _with_number(questions.MinMax), every=10, trials=1),
    Method("CAC1", _with_number(questions.CAC1), trials=3),
    Method("COBRA", lambda k, n: questions.COBRA(max(2, n // 3), metric=GIVEN)),
    COBRAS,
    Method("ActiveSpectral", _with_number(questions.ActiveSpectral), trials=3),
    Method("CorrelationInformation", _with_number(questions.CorrelationInformation), trials=3),
    MARGIN,
    Method("Uncertain", _with_number(questions.Uncertain)),
)
STRATEGIES = (GUIDED, *OTHERS, RANDOM)
#: Methods for sets of a thousand rows, and where only recorded questions can be asked.
FEW = (GUIDED, THESIS, MOST_PROBABLE, EXPLORE, MARGIN, RANDOM)
REPLAYED = (GUIDED, MOST_PROBABLE, MARGIN, RANDOM)
LIMIT = Method("information limit", version="2", uses_answers=False)
#: Groups without answers, of distances or of a few coordinates; all get the number of groups.
WITHOUT = {
    "Ward": shared.Method("", "", "Ward of distances"),
    "GuidedClustering": shared.Method("", "", "guided on distances"),
    "ClustRF": shared.Method("", "", "spectral", "ClustRF"),
}
N_START_COORDINATES, N_TREES = 10, 200
STARTS = tuple(Method(name, version="4", uses_answers=False) for name in WITHOUT)
#: `Guided` with the number of groups, and the best of the others without.
STARTS_BY_NUMBER = tuple(
    Method(name, uses_answers=False)
    for name in ("Guided, number given", "GuidedClustering, number not given")
)


def without_answers(name: str, part: Part, seed: int) -> Ints:
    """Group rows by their distances, without answers."""
    if name == STARTS_BY_NUMBER[0].name:
        strategy = seeded(questions.Guided(part.n_classes, metric=GIVEN), seed)
        return np.asarray(strategy.start(part.D).labels())
    if name == STARTS_BY_NUMBER[1].name:
        with warnings.catch_warnings():  # where it finds no groups
            warnings.simplefilter("ignore", NoGroupsWarning)
            unknown = seeded(cluster.GuidedClustering(metric=GIVEN), seed).fit(part.D)
        return np.asarray(unknown.labels_)
    of = WITHOUT[name]
    X = (
        classical_scaling(part.D, min(N_START_COORDINATES, len(part.y) - 1))
        if of.similarity
        else part.D
    )
    labels: Ints = seeded(of.model(part.n_classes, N_TREES), seed).fit(X).labels_
    return labels


PEERS = tuple(
    Method(name, package=name.split()[0], trials=3 if name == "cobras-ts COBRAS" else 1)
    for name in (
        "cobras-ts COBRAS", "scikit-query FFQS", "scikit-query MinMax",
        "active-semi-supervised-clustering ExploreConsolidate",
    )
)  # fmt: skip
