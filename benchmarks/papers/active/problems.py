"""Rows drawn from data sets, with the distances of the thesis; and sets of real answers."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist, squareform
from sklearn.decomposition import PCA

from benchmarks.studies.people.answers import load as load_people
from benchmarks.study.log import seed_of
from benchmarks.study.problems import Floats, Ints, Problem, load
from clew.datasets import make_leaf_like
from clew.datasets._generators import _distances_without_worst
from clew.oracles import ReplayOracle

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


def rows_of(y: Ints, n: int, per_class: int, rng: np.random.RandomState) -> Ints:
    """Draw `n` rows: `per_class` at most of each class, class by class; 0 draws among all rows."""
    if not per_class:
        return rng.permutation(len(y))[:n]
    classes = rng.permutation(np.unique(y))
    rows = np.concatenate([rng.permutation(np.flatnonzero(y == c))[:per_class] for c in classes])
    return rng.permutation(rows[:n])


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
