"""ClustRF's Table 2 and Figures 3, 4 and 5: spectral clustering of graphs, by neighborhood."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from itertools import product
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.sparse import csr_array

from benchmarks.study.command import study_command
from benchmarks.study.engine import Study, Task
from benchmarks.study.log import parameters_of, seed_of, seeded, tag_of
from benchmarks.study.methods import SIMILARITIES
from benchmarks.study.pictures import BLUE, GRAY, GREEN, ORANGE, PINK, RED, matrix_picture, panels
from benchmarks.study.problems import Floats, Problem, load, to_range
from benchmarks.study.report import Block, Claim, Curves, Panel, Picture, Report, Table, above
from benchmarks.study.results import Results, Score, area
from clew.cluster import SpectralClustering
from clew.graphs import nearest_graph
from clew.metrics import adjusted_rand_score

SEGMENTS, FACES = "segment_full", "pie10_32x32"
#: The faces once more, with all principal components scaled to the same range.
STRETCHED = "pie10_stretched"
SETS = (SEGMENTS, FACES, STRETCHED)
#: The sets of the paper.
PUBLISHED_SETS = (SEGMENTS, FACES)
ROWS_PER_PERSON, N_COMPONENTS = 100, 30
#: Neighbors that determine the scale of Gaussian affinities.
M = (20, 40, 60, 80, 100)
#: Neighbors in the graph that is cut.
K = tuple(range(10, 101, 10))
EUCLIDEAN = ("knn", "dominant", "consensus")
FORESTS = ("leaf", "uniform", "adaptive")
LABELS = {
    "knn": "kNN", "dominant": "DN", "consensus": "cons-kNN", "leaf": "ClustRF-Bi",
    "uniform": "ClustRF-Strct-Unfm", "adaptive": "ClustRF-Strct-Adpt",
}  # fmt: skip
SELECTIONS = {"dominant": "dominant neighbors", "consensus": "consensus kNN"}
MAIN = "smallest child 1"
#: Settings that the paper does not specify ("readings"): the smallest node, and the number of rows
#: that each tree draws (as a multiple of the number of rows; real and pseudo rows together).
READINGS: Mapping[str, Mapping[str, float]] = {
    MAIN: {},
    **{f"smallest child {n}": {"min_samples_leaf": n} for n in (2, 5, 10, 20, 50, 100)},
    "N / 2 draws": {"draws": 0.5},
    "2 N draws": {"draws": 2.0},
}
#: Other readings than the main one are compared in fewer trials.
READING_TRIALS = 3


@dataclass(frozen=True)
class Variant:
    """A method with one setting: M for Gaussian affinities, one of `READINGS` for forests."""

    method: str
    setting: str | int

    @property
    def name(self) -> str:
        return f"{self.method}, {self.setting}"

    @property
    def label(self) -> str:
        return LABELS[self.method]

    @property
    def is_forest(self) -> bool:
        return self.method in FORESTS

    @property
    def is_main(self) -> bool:
        return not self.is_forest or self.setting == MAIN

    def similarity(self, n_rows: int, n_trees: int) -> Any:
        if not self.is_forest:
            return SIMILARITIES["adaptive kNN"](0).set_params(n_neighbors=int(self.setting))
        reading = READINGS[str(self.setting)]
        return SIMILARITIES["ClustRF"](n_trees).set_params(
            proximity=self.method,
            min_samples_leaf=int(reading.get("min_samples_leaf", 1)),
            max_samples=round(reading["draws"] * n_rows) if "draws" in reading else None,
        )

    def selection(self, n_neighbors: int) -> Any:
        """Build the method that selects edges of the neighbor graph; None keeps all of them."""
        if self.method not in SELECTIONS:
            return None
        model = SIMILARITIES[SELECTIONS[self.method]](0)
        return model.set_params(similarity="precomputed", n_neighbors=n_neighbors)

    def version(self, n_trees: int) -> str:
        parts = [part for part in (self.similarity(100, n_trees), self.selection(2)) if part]
        return tag_of(self.method, str(self.setting), *map(parameters_of, parts))


VARIANTS = (
    *(Variant(method, m) for m in M for method in EUCLIDEAN),
    *(Variant(method, reading) for reading in READINGS for method in FORESTS),
)


class Size(NamedTuple):
    """The number of neighbors in the graph that is cut."""

    k: int

    @property
    def name(self) -> str:
        return f"k = {self.k}"


@lru_cache(maxsize=4)
def problem(name: str) -> Problem:
    """Load a set, scaled to [-1, 1]; faces as principal components of the scaled pixels."""
    if name == SEGMENTS:
        return load(name, "range")
    faces = load(FACES, "range", per_class=ROWS_PER_PERSON, n_components=N_COMPONENTS)
    return replace(faces, name=name, X=to_range(faces.X)) if name == STRETCHED else faces


@lru_cache(maxsize=1)
def affinity(name: str, of: Variant, n_trees: int, seed: int) -> NDArray[np.floating]:
    """Measure the affinities of all pairs, (n_samples, n_samples)."""
    X = problem(name).X
    model = seeded(of.similarity(len(X), n_trees), seed)
    return np.asarray(model.fit(X).affinity_matrix_)


@lru_cache(maxsize=32)
def graph(name: str, of: Variant, k: int, n_trees: int, seed: int) -> csr_array:
    """Select edges of the graph of the k nearest rows."""
    between, selection = affinity(name, of, n_trees, seed), of.selection(k)
    if selection is None:
        return nearest_graph(between, k)
    return csr_array(selection.fit(between).affinity_matrix_)


@dataclass(frozen=True)
class ClustrfStudy(Study):
    n_trials: int = 10
    sets: tuple[str, ...] = SETS
    stem: str = "clustrf"
    n_trees: int = 1000
    k: tuple[int, ...] = K

    key_fields: ClassVar[tuple[str, ...]] = ("set", "method", "setting", "k", "trial", "version")
    method_fields: ClassVar[tuple[str, ...]] = ("method", "setting")

    problem = staticmethod(problem)

    def points(self, name: str) -> list[tuple[Variant, Size]]:
        return [(v, Size(k)) for v in VARIANTS if self.trials_of(name, v) for k in self.k]

    def trials_of(self, name: str, method: Variant) -> int:
        """Return the number of trials; there are fewer, or none, for what is not in Table 2."""
        if method.is_main:
            return self.n_trials
        return min(READING_TRIALS, self.n_trials) if name in PUBLISHED_SETS else 0

    def version(self, method: Variant) -> str:
        return method.version(self.n_trees)

    def key(self, task: Task) -> dict[str, Any]:
        name, of, size, trial = task
        fields = {"set": name, "method": of.method, "setting": str(of.setting), "k": size.k}
        return fields | {"trial": trial, "version": self.cached_version(of)}

    def group(self, task: Task) -> str:
        """Group by M, as Gaussian graphs are equal in all trials, or by the trial of a forest."""
        of: Variant = task.method
        return f"trial {task.trial}" if of.is_forest else f"M = {of.setting}"

    def measure(self, task: Task) -> dict[str, Any]:
        name, of, size, trial = task
        seed, y = seed_of("clustrf", name, trial), problem(name).y
        edges = graph(name, of, size.k, self.n_trees, seed if of.is_forest else 0)
        model = SpectralClustering(problem(name).n_classes, n_neighbors=None, random_state=seed)
        return {"ari": float(adjusted_rand_score(y, model.fit(edges).labels_))}


#: The areas in the paper's Table 2, in its unit: one for each M, or one alone for forests.
PUBLISHED = pd.read_csv(Path(__file__).with_suffix(".csv"), index_col=["set", "method"])
SHOWN_K, SHOWN_FACES = 50, 10
SHOWN_FORESTS = tuple(Variant(kind, MAIN) for kind in FORESTS)
FOREST_LABELS = [of.label for of in SHOWN_FORESTS]
#: The methods of Figures 3 and 5: with the paper's M, and with the main reading.
SHOWN_EUCLIDEAN = tuple(Variant(method, M[0]) for method in EUCLIDEAN)
SHOWN = (*SHOWN_EUCLIDEAN, *SHOWN_FORESTS)
COLORS = dict(zip(LABELS, (GRAY, PINK, GREEN, ORANGE, RED, BLUE), strict=True))


def percent(values: pd.Series, form: str = ".1f") -> str:
    """Format the mean over trials and its error in hundredths."""
    return Score.of(values).text(form, 100)


class ClustrfReport(Report[ClustrfStudy]):
    def __init__(self, results: Results[ClustrfStudy]) -> None:
        super().__init__(results)
        stretched = {STRETCHED: f"{FACES}, components stretched"}
        self.titles = {name: stretched.get(name, name) for name in self.sets}
        self.published = [name for name in self.sets if name in PUBLISHED_SETS]
        self.sizes = ", ".join(map(str, self.study.k))

    def curve(self, name: str, of: Variant) -> pd.DataFrame:
        return self.results.curve(name, [Size(k) for k in self.study.k], of, x=self.study.k)

    def height(self, name: str, of: Variant) -> pd.Series:
        return area(self.curve(name, of)) / (len(self.study.k) - 1)

    def best(self, name: str, method: Variant) -> pd.Series:
        """Return `height` of a method, at the M that is best on average."""
        settings = (MAIN,) if method.is_forest else M
        heights = [self.height(name, Variant(method.method, m)) for m in settings]
        return max(heights, key=lambda values: values.mean() if len(values) else -np.inf)

    def table_2(self) -> Iterator[Table]:
        for name, title in self.titles.items():
            rows: list[list[Any]] = []
            for method, label in LABELS.items():
                settings = M if method in EUCLIDEAN else (MAIN,)
                heights = [self.height(name, Variant(method, setting)) for setting in settings]
                rows.append([label, *map(percent, heights)])
                if name in self.published:
                    paper: Any = PUBLISHED.loc[(name, method)]
                    rows.append(["  the paper", *(f"{x:.1f}" for x in paper.dropna())])
            header = [f"{title} ({len(problem(name).y)} rows)", *(f"M = {m}" for m in M)]
            yield Table(header, [row + [""] * (len(header) - len(row)) for row in rows])

    def claims(self) -> Iterator[Claim]:
        where = {title: name for name, title in self.titles.items()}
        (leaf, *others), (knn, *selections) = SHOWN_FORESTS, SHOWN_EUCLIDEAN
        pairs = [(of, leaf, "") for of in others]
        pairs += [(*pair, " at its best M") for pair in product(SHOWN_FORESTS, SHOWN_EUCLIDEAN)]
        pairs += [(of, knn, ", each at its best M") for of in selections]
        yield from (above(a, b, self.best, where, text) for a, b, text in pairs)

    def declines(self) -> Table:
        """Compare the largest k with the best: the paper calls only Adpt stable."""
        rows = []
        for name, title in self.titles.items():
            means = [self.curve(name, of).dropna().mean() for of in SHOWN_FORESTS]
            falls = [Score(mean.iloc[-1] - mean.max()).text("+.1f", 100) for mean in means]
            rows.append([title, *falls])
        return Table(["set", *FOREST_LABELS], rows)

    def readings(self) -> Iterator[Block]:
        gaps: dict[str, list[float]] = {reading: [] for reading in READINGS}
        for name in self.published:
            rows = []
            for reading in READINGS:
                leaf, *others = (self.height(name, Variant(kind, reading)) for kind in FORESTS)
                signed = [percent(values - leaf, "+.1f") for values in others]
                rows.append([reading, *map(percent, (leaf, *others)), *signed])
                gaps[reading] += [(values - leaf).mean() for values in others]
            yield Table([name, *FOREST_LABELS, "Unfm − Bi", "Adpt − Bi"], rows)
        found = ", ".join(r for r, of in gaps.items() if of and min(of) > 0) or "none"
        yield f"Readings under which both ClustRF-Strct are above ClustRF-Bi on all sets: {found}."

    def curves(self) -> Curves:
        row = [
            Panel.of(title, self.study.k, SHOWN, partial(self.curve, name), _style)
            for name, title in self.titles.items()
        ]
        options = {"width": 3.6, "height": 2.9}
        return Curves("curves", f"ARI over k, M = {M[0]}", [row], "k", options=options)

    def affinities(self) -> Iterator[Picture]:
        for name in self.published:
            draw = partial(self.matrices, name)
            yield Picture(f"affinity_{name}", f"Affinities on {name}", draw)

    def matrices(self, name: str) -> Any:
        y, seed = problem(name).y, seed_of("clustrf", name, 0)
        figure, grid = panels(2, 3, figsize=(8.2, 6.4))
        for panel, of in zip(grid.ravel(), SHOWN, strict=True):
            edges = graph(name, of, SHOWN_K, self.study.n_trees, seed).toarray()
            matrix_picture(panel, edges, y)
            share = edges[y[:, None] == y].sum() / edges.sum()
            panel.set_title(f"{of.label}: {share:.0%} within classes", fontsize=9)
        figure.suptitle(f"{name}: graphs of k = {SHOWN_K}, rows sorted by class", fontsize=11)
        return figure

    def faces(self) -> Iterator[Block]:
        if FACES not in self.sets:
            return
        yield Picture("faces", "Affinities of images of one person", self.face_picture)
        header = ["affinity", f"sum, {SHOWN_FACES} images", "sum, all images"]
        rows = [
            [label, f"{shown.sum():.1f}", f"{total:.0f}", f"{share:.1%}"]
            for label, (shown, total, share) in self.of_one_person.items()
        ]
        yield Table([*header, "share within the person"], rows)

    @cached_property
    def of_one_person(self) -> dict[str, tuple[Floats, float, float]]:
        """By forest: affinities of the first images of one person, and means over persons.

        The means are those of the sum of affinities within a person, and of its share of all
        affinities of the person's images.
        """
        found = {}
        y, seed = problem(FACES).y, seed_of("clustrf", FACES, 0)
        for of in SHOWN_FORESTS:
            between = np.array(affinity(FACES, of, self.study.n_trees, seed), dtype=np.float64)
            np.fill_diagonal(between, 0.0)
            within = [between[np.ix_(y == c, y == c)] for c in np.unique(y)]
            total = np.array([between[y == c].sum() for c in np.unique(y)])
            sums = np.array([block.sum() for block in within])
            shown = within[0][:SHOWN_FACES, :SHOWN_FACES]
            found[of.label] = (shown, float(sums.mean()), float((sums / total).mean()))
        return found

    def face_picture(self) -> Any:
        top = max(float(shown.max()) for shown, *_ in self.of_one_person.values())
        figure, grid = panels(1, len(SHOWN_FORESTS), figsize=(8.6, 3.1))
        for panel, (label, (first, *_)) in zip(grid[0], self.of_one_person.items(), strict=True):
            image = panel.imshow(first, cmap="magma", vmin=0, vmax=top)
            panel.set_title(f"{label} ({first.sum():.1f})", fontsize=9)
            panel.set(xticks=[], yticks=[])
        figure.colorbar(image, ax=list(grid[0]), shrink=0.8)
        title = f"Affinities of {SHOWN_FACES} images of one person (and their sum)"
        figure.suptitle(title, fontsize=11)
        return figure


def _style(of: Variant) -> dict[str, Any]:
    return {"color": COLORS[of.method], "linestyle": "-" if of.is_forest else "--"}


QUICK = ClustrfStudy(1, (FACES,), "clustrf_quick", True, n_trees=100, k=(10, 50, 100))
command = study_command(
    ClustrfStudy(), ClustrfReport, __file__, QUICK, "One trial, 100 trees, faces, three sizes"
)
