"""The study: subclusters by set, size and number of candidates; groups around medoids."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from benchmarks.papers.subclustering import methods as m
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import seed_of
from benchmarks.study.problems import Problem, load
from clew.datasets import make_face_like
from clew.metrics import jaccard_score_pairs, subclustering_jaccard

FACES = "face_like"
REAL = {"leaf_flavia": 10, "usps_11000": 10, "olivetti_64x64": 5, "pubfig_900_60": 5}
#: Numbers of classes of the face-like sets (Fig. 4); the last one is the whole set.
N_CLASSES = (40, 120, 200)
FACE_SETS = tuple(f"{FACES}_{k}" for k in N_CLASSES)
SIZES = {**REAL, **dict.fromkeys(FACE_SETS, 10)}
#: Fig. 5: candidates for each subcluster, and sizes, on this set.
CANDIDATES, SUBCLUSTER_SIZES, VARIED = (5, 10, 20, 40), (5, 10, 15, 20, 25), f"{FACES}_40"
#: Fig. 2 of the appendix: numbers of classes of 200 items each.
MEDOIDS, MEDOID_CLASSES = "equal_classes", (5, 10, 20, 50)

#: Trials of generated sets.
LARGE_TRIALS = 3


class Cell(NamedTuple):
    """The size of subclusters, candidates for each (0 for the default), classes (0 for all)."""

    size: int
    candidates: int = 0
    n_classes: int = 0

    @property
    def name(self) -> str:
        if self.n_classes:
            return f"{self.n_classes} classes"
        return f"size {self.size}" + (f", {self.candidates} K" if self.candidates else "")


@lru_cache(maxsize=2)
def problem(name: str) -> Problem:
    """Load a set, or make it; leaves are standardized."""
    if name == MEDOIDS:
        return equal_classes(max(MEDOID_CLASSES))
    if not name.startswith(FACES):
        return load(name, "standard" if name.startswith("leaf") else None)
    whole = make_face_like(random_state=0)
    n_classes = int(name.rpartition("_")[2])
    rows = np.flatnonzero(whole.y < n_classes)
    return Problem(name, whole.X[rows], whole.y[rows])


def equal_classes(n_classes: int) -> Problem:
    """Make face-like items with 200 in each class."""
    n = 200 * n_classes
    made = make_face_like(n, n_classes=n_classes, class_sizes=(200, 200), random_state=0)
    return Problem(MEDOIDS, made.X, made.y)


@dataclass(frozen=True)
class SubclusteringStudy(Study):
    """The study of subclustering."""

    n_trials: int = 3
    sets: tuple[str, ...] = (*REAL, *FACE_SETS, MEDOIDS)
    stem: str = "subclustering"
    medoid_classes: tuple[int, ...] = MEDOID_CLASSES

    method_fields: ClassVar[tuple[str, ...]] = ("method",)

    def problem(self, name: str) -> Problem:
        return problem(name)

    def points(self, name: str) -> Sequence[tuple[Any, Any]]:
        if name == MEDOIDS:
            cells = [Cell(1, 0, k) for k in self.medoid_classes]
            return [(method, cell) for cell in cells for method in m.MEDOID_METHODS]
        found = [(method, Cell(SIZES[name])) for method in (*m.OURS, *m.OTHERS)]
        if name == VARIED:
            found += [(m.AUTO, Cell(10, each)) for each in CANDIDATES]
            found += [
                (method, Cell(size))
                for size in SUBCLUSTER_SIZES
                for method in (m.AUTO, m.THESIS, m.BUBBLES, m.LLOYD, m.SPECTRAL)
            ]
        return list(dict.fromkeys(found))  # size 10 is listed twice

    def trials_of(self, name: str, method: Any) -> int:
        """Return the number of trials: fewer of large sets."""
        return self.n_trials if name in REAL else min(self.n_trials, LARGE_TRIALS)

    def version(self, method: Any) -> str:
        return str(method.version)

    def group(self, task: Task) -> Any:
        return task.trial, task.method.name

    def measure(self, task: Task) -> dict[str, Any]:
        name, method, cell, trial = task
        seed = seed_of("subclustering", name, trial)
        whole = equal_classes(cell.n_classes) if cell.n_classes else problem(name)
        order = np.random.RandomState(seed).permutation(len(whole.y))
        X, y = np.ascontiguousarray(whole.X[order]), whole.y[order]
        if cell.n_classes:
            labels, cost = m.medoid_groups(method.name, X, cell.n_classes, seed)
            return {"jcc": float(jaccard_score_pairs(y, labels)), "cost": cost}
        if method is not m.AUTO:
            found = method.find(X, whole.n_classes, cell.size, seed)
            return {"sjc": float(subclustering_jaccard(y, found))}
        more = {}
        if cell.candidates:
            more["candidates"] = min(cell.candidates * whole.n_classes, len(y))
        model = m.fitted(X, whole.n_classes, cell.size, seed, **more)
        scores = {"sjc": float(subclustering_jaccard(y, model.exemplars_))}
        return scores | m.reliability(y, model)


QUICK = replace(
    SubclusteringStudy(),
    n_trials=1,
    sets=("olivetti_64x64", "pubfig_900_60", MEDOIDS),
    stem="subclustering_quick",
    is_quick=True,
    medoid_classes=(5,),
)
