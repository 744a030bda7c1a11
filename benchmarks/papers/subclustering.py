"""Subclustering: the figures and tables of chapter 4 of the thesis, and of its appendix 6.4."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from benchmarks.study.command import study_command
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import seed_of
from benchmarks.study.pictures import BLUE, GRAY, GREEN, ORANGE, PINK, RED
from benchmarks.study.problems import Floats, Ints, Problem, load
from benchmarks.study.report import Claim, Curves, Line, Panel, Report, Table
from benchmarks.study.results import Results, Score
from clew.cluster import CLARANS, FastPAM, KMedoids, SpectralClustering, Subclustering
from clew.datasets import make_face_like
from clew.metrics import jaccard_score_pairs, subclustering_jaccard
from clew.similarity import AdaptiveKNN

#: Iterations of the k-medoids baseline and of BBC-S.
MAX_ITER = 100
ROWS_PER_BLOCK = 4096
#: Confidences are compared with the truth between two of these limits, below and above them.
CONFIDENCES = (0.5, 0.7, 0.9, 0.97)

Exemplars = Ints
Find = Callable[[Floats, int, int, int], Exemplars]


@dataclass(frozen=True)
class Method:
    """A method that finds subclusters: ``find(X, n_clusters, size, seed)``."""

    name: str
    find: Find
    version: str = "1"
    uses_answers: bool = False


def subclusters(X: Floats, k: int, size: int, seed: int, **more: object) -> Exemplars:
    """Run `Subclustering`."""
    return fitted(X, k, size, seed, **more).exemplars_


def fitted(X: Floats, k: int, size: int, seed: int, **more: object) -> Subclustering:
    """Fit `Subclustering`."""
    return Subclustering(k, size=size, random_state=seed, **more).fit(X)  # type: ignore[arg-type]


def reliability(y: Ints, model: Subclustering) -> dict[str, float]:
    """Count exemplars by confidence, and those of their center's class; centers are left out."""
    sure = model.confidence_[:, 1:].ravel()
    right = (y[model.exemplars_] == y[model.centers_][:, None])[:, 1:].ravel()
    at = np.searchsorted(CONFIDENCES, sure, side="right")
    found: dict[str, float] = {}
    for part in range(len(CONFIDENCES) + 1):
        of = at == part
        found |= {f"n_{part}": int(of.sum()), f"right_{part}": int(right[of].sum())}
        found |= {f"sure_{part}": float(sure[of].sum())}
    return found


def of_medoids(X: Floats, k: int, size: int, seed: int, *, model: Any) -> Exemplars:
    """Take the rows nearest to each medoid."""
    found = model(k, random_state=seed).fit(X)
    return within_groups(X, X[found.medoid_indices_], found.labels_, size)


def of_spectral_groups(X: Floats, k: int, size: int, seed: int) -> Exemplars:
    """Cut the normalized graph of the 20 nearest rows; take the rows nearest to each medoid."""
    graph = AdaptiveKNN().fit(X).kneighbors_graph(20)
    labels = SpectralClustering(k, random_state=seed).fit(graph).labels_
    return within_groups(X, X[[medoid_of(X, np.flatnonzero(labels == g)) for g in range(k)]],
                         labels, size)  # fmt: skip


def lloyd_medoids(X: Floats, k: int, seed: int) -> tuple[Ints, Ints]:
    """Assign rows and compute medoids in turn, the thesis' baseline; return medoids and labels."""
    medoids = np.random.RandomState(seed).choice(len(X), k, replace=False)
    for _ in range(MAX_ITER):
        labels = nearest(X, X[medoids])[0]
        labels[medoids] = np.arange(k)
        moved = np.array([medoid_of(X, np.flatnonzero(labels == g)) for g in range(k)])
        if (moved == medoids).all():
            break
        medoids = moved
    return medoids, labels


def of_lloyd_medoids(X: Floats, k: int, size: int, seed: int) -> Exemplars:
    """Take the rows nearest to each medoid of the baseline."""
    medoids, labels = lloyd_medoids(X, k, seed)
    return within_groups(X, X[medoids], labels, size)


def bubbles(X: Floats, k: int, size: int, seed: int) -> Exemplars:
    """BBC-S of Gupta and Ghosh for squared distances: means of the ``k * size`` nearest rows."""
    centers = X[np.random.RandomState(seed).choice(len(X), k, replace=False)]
    for _ in range(MAX_ITER):
        labels, apart = nearest(X, centers)
        kept = np.argsort(apart, kind="stable")[: k * size]
        moved = centers.copy()
        for group in np.unique(labels[kept]):
            moved[group] = X[kept[labels[kept] == group]].mean(axis=0)
        if np.allclose(moved, centers):
            break
        centers = moved
    return within_groups(X, centers, labels, size)


def nearest(X: Floats, centers: Floats) -> tuple[Ints, Floats]:
    """Return the nearest center of each row, and the squared distance to it."""
    squares = (centers**2).sum(axis=1)
    labels, apart = np.empty(len(X), np.int64), np.empty(len(X))
    for start in range(0, len(X), ROWS_PER_BLOCK):
        block = X[start : start + ROWS_PER_BLOCK]
        table = squares - 2 * block @ centers.T
        rows = slice(start, start + len(block))
        labels[rows], apart[rows] = table.argmin(axis=1), table.min(axis=1)
        apart[rows] += (block**2).sum(axis=1)
    return labels, apart


def medoid_of(X: Floats, rows: Ints) -> int:
    """Return the row with the lowest sum of distances to the others; of a sample above 2,000."""
    rows = rows[:: len(rows) // 2000 + 1]
    part = X[rows]
    squares = (part**2).sum(axis=1)
    table = squares[:, None] + squares - 2 * part @ part.T
    return int(rows[np.sqrt(np.maximum(table, 0)).sum(axis=1).argmin()])


def within_groups(X: Floats, centers: Floats, labels: Ints, size: int) -> Exemplars:
    """Take the rows of each group nearest to its center, then the nearest rows of other groups."""
    found = np.empty((len(centers), size), np.int64)
    for group, center in enumerate(centers):
        apart = ((X - center) ** 2).sum(axis=1)
        found[group] = np.lexsort((apart, labels != group))[:size]
    return found


def exact(**settings: object) -> Find:
    """Fix the settings of `Subclustering`."""
    return partial(subclusters, **settings)  # type: ignore[arg-type]


PAPER = {"overlap": "rule", "swaps": "best", "members": "nearest", "n_init": 1}
AUTO = Method("Subclustering", subclusters, version="3")
SHARED = Method("shared", exact(overlap="shared"))
PENALTY = Method("penalty", exact(overlap="penalty"))
RULE = Method("rule", exact(overlap="rule"))
BOTH = Method("both", exact(overlap="both"))
SILHOUETTE = Method("silhouette", exact(overlap="silhouette"))
PENALTY_1 = Method("penalty, scale 1", exact(overlap="penalty", scale=1.0))
RULE_1 = Method("rule, scale 1", exact(overlap="rule", scale=1.0))
THESIS = Method("thesis", exact(**PAPER))
THESIS_1 = Method("thesis, scale 1", exact(**PAPER, scale=1.0))
BUBBLES = Method("BBC-S", bubbles)
LLOYD = Method("k-medoids baseline", of_lloyd_medoids)
SPECTRAL = Method("normalized cut", of_spectral_groups)
FASTER_PAM = Method("FasterPAM", partial(of_medoids, model=partial(KMedoids, n_init=1)))
FAST_PAM = Method("FastPAM", partial(of_medoids, model=FastPAM))
OURS = (AUTO, SHARED, PENALTY, BOTH, SILHOUETTE, RULE, PENALTY_1, RULE_1, THESIS, THESIS_1)
OTHERS = (BUBBLES, LLOYD, FASTER_PAM, FAST_PAM, SPECTRAL)


def medoid_groups(name: str, X: Floats, k: int, seed: int) -> tuple[Ints, float]:
    """Group all rows around medoids; return labels and the sum of distances (Fig. 2)."""
    if name == LLOYD.name:
        medoids, labels = lloyd_medoids(X, k, seed)
        labels, squared = nearest(X, X[medoids])
        return labels, float(np.sqrt(np.maximum(squared, 0)).sum())
    models = {
        "FastPAM, best swaps": FastPAM(k, swaps="best", random_state=seed),
        "FastPAM": FastPAM(k, random_state=seed),
        "CLARANS": CLARANS(k, n_init=2, max_neighbors=1000, random_state=seed),
        "FasterPAM": KMedoids(k, n_init=1, random_state=seed),
    }
    model = models[name].fit(X)
    return model.labels_, model.inertia_


MEDOID_METHODS = tuple(
    Method(name, AUTO.find)
    for name in ("FastPAM, best swaps", "FastPAM", "CLARANS", "FasterPAM", LLOYD.name)
)


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
            return [(method, cell) for cell in cells for method in MEDOID_METHODS]
        found = [(method, Cell(SIZES[name])) for method in (*OURS, *OTHERS)]
        if name == VARIED:
            found += [(AUTO, Cell(10, each)) for each in CANDIDATES]
            found += [
                (method, Cell(size))
                for size in SUBCLUSTER_SIZES
                for method in (AUTO, THESIS, BUBBLES, LLOYD, SPECTRAL)
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
            labels, cost = medoid_groups(method.name, X, cell.n_classes, seed)
            return {"jcc": float(jaccard_score_pairs(y, labels)), "cost": cost}
        if method is not AUTO:
            found = method.find(X, whole.n_classes, cell.size, seed)
            return {"sjc": float(subclustering_jaccard(y, found))}
        more = {}
        if cell.candidates:
            more["candidates"] = min(cell.candidates * whole.n_classes, len(y))
        model = fitted(X, whole.n_classes, cell.size, seed, **more)
        scores = {"sjc": float(subclustering_jaccard(y, model.exemplars_))}
        return scores | reliability(y, model)


QUICK = SubclusteringStudy(
    1,
    ("olivetti_64x64", "pubfig_900_60", MEDOIDS),
    "subclustering_quick",
    True,
    medoid_classes=(5,),
)


SHOWN = dict(zip((AUTO, THESIS, FAST_PAM, LLOYD, SPECTRAL, BUBBLES),
                 (RED, BLUE, GREEN, GRAY, ORANGE, PINK), strict=True))  # fmt: skip
VARIED_METHODS = (AUTO, THESIS, LLOYD, SPECTRAL, BUBBLES)


class SubclusteringReport(Report[SubclusteringStudy]):
    def __init__(self, results: Results[SubclusteringStudy]) -> None:
        super().__init__(results)
        self.sets = [name for name in self.sets if name != MEDOIDS]

    def value(self, name: str, method: Method, field: str = "sjc") -> pd.Series:
        return self.results.values(name, Cell(SIZES[name]), method, field)

    def table(self, methods: tuple[Method, ...], field: str) -> Table:
        rows = [[of.name, *(self.value(name, of, field) for name in self.sets)] for of in methods]
        return Table(["", *self.sets], rows, is_marked=field == "sjc")

    def scores(self) -> Table:
        return self.table((*OTHERS, THESIS, AUTO), "sjc")

    def seconds(self) -> Table:
        return self.table((*OTHERS, THESIS, AUTO), "seconds")

    def settings(self) -> Table:
        return self.table(OURS, "sjc")

    def claims(self) -> Iterator[Claim]:
        ours = partial(self.value, method=AUTO)
        for title, methods in (("every comparator", OTHERS), ("the thesis", OURS[-2:]),
                               ("rule and penalty, both scales", OURS[2:8])):  # fmt: skip
            others = {of.name: partial(self.value, method=of) for of in methods}
            yield Claim(f"above {title}", ours, others, self.sets)

    def reliability(self) -> Table:
        """Compare confidences with the share of exemplars of their center's class."""
        limits = (0.0, *CONFIDENCES, 1.0)
        rows = []
        for name in [*self.sets, None]:
            texts = []
            for part in range(len(limits) - 1):
                n, right, sure = (
                    sum(self.value(each, AUTO, f"{field}_{part}").sum()
                        for each in (self.sets if name is None else [name]))
                    for field in ("n", "right", "sure")
                )  # fmt: skip
                texts.append(f"{sure / n:.2f} → {right / n:.2f} ({n:,.0f})" if n else "–")
            rows.append([name or "all", *texts])
        spans = [f"{low:g} to {high:g}" for low, high in itertools.pairwise(limits)]
        return Table(["confidence", *spans], rows)

    def figure_4(self) -> Curves:
        faces = {n: k for n, k in zip(FACE_SETS, N_CLASSES, strict=True) if n in self.sets}
        lines, x = [], list(faces.values())
        for of, color in SHOWN.items() if faces else ():
            frame = pd.concat([self.value(name, of) for name in faces], axis=1, keys=x)
            lines.append(Line(of.name, frame, {"color": color}))
        panel = Panel("face-like sets", x, lines)
        return Curves("figure_4", "SJC by the number of classes", [[panel]], "classes", ("SJC",))

    def figure_5(self) -> Iterator[Table]:
        if VARIED not in self.sets:
            return
        row = [self.results.values(VARIED, Cell(10, each), AUTO, "sjc")
               for each in CANDIDATES]  # fmt: skip
        yield Table(["candidates", *(f"{each} K" for each in CANDIDATES)], [[AUTO.name, *row]])
        values, cells = self.results.values, list(map(Cell, SUBCLUSTER_SIZES))
        rows = [[m.name, *(values(VARIED, of, m, "sjc") for of in cells)] for m in VARIED_METHODS]
        yield Table(["size", *map(str, SUBCLUSTER_SIZES)], rows, is_marked=True)

    def figure_2(self) -> Iterator[Table]:
        cells = [Cell(1, 0, k) for k in self.study.medoid_classes]
        for field, title in (("jcc", "JCC"), ("cost", "sum of distances"), ("seconds", "seconds")):
            rows = []
            for of in MEDOID_METHODS:
                values = [self.results.values(MEDOIDS, cell, of, field) for cell in cells]
                form = ".0f" if field == "cost" else ".3f"
                rows.append([of.name, *(Score.of(each).text(form) for each in values)])
            yield Table([title, *(cell.name for cell in cells)], rows)


command = study_command(
    SubclusteringStudy(), SubclusteringReport, __file__, QUICK, "One trial, the small sets"
)
