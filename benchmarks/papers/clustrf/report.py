"""The report of the study: Table 2, the paper's claims, readings, and the pictures."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from benchmarks.papers.clustrf import study as s
from benchmarks.study import report as parts
from benchmarks.study.pictures import BLUE, GREEN, GREY, ORANGE, PINK, RED, matrix_picture, panels
from benchmarks.study.report import Block, Claim, Claims, Curves, Line, Panel, Picture, Table
from benchmarks.study.results import Results
from benchmarks.study.scores import Score, area
from benchmarks.study.tags import seed_of

__all__ = ["ClustrfReport", "report"]

NOTES = """\
X. Zhu, C. C. Loy and S. Gong, "Constructing robust affinity graphs for spectral clustering". The
area under the curve of the adjusted Rand index (ARI) over the size k of the neighborhood, divided
by the range of k: the mean ARI, in hundredths, ± its standard error over trials.

- The paper gives its areas without a unit, and the axis of its Figure 5 is illegible in our copy.
  If k goes up to about a hundred there too, its 100 is an ARI of about 1. Compare the order of the
  methods, not the values.
- The paper's USAA and ERCe sets were not available. `pie10_32x32` has ten persons of CMU-PIE and
  the first 100 of the 170 images of each: other persons and images than the paper's.
- Features are scaled to [-1, 1]; the pixels of faces are then reduced to 30 principal components,
  as in the paper. "Components stretched" scales the components to [-1, 1] as well: this changes
  distances but not the splits of trees.
- kNN: `AdaptiveKNN(M)`; DN: `DominantNeighbors` on it; cons-kNN: `ConsensusKNN` on it. Their graphs
  are the same in every trial; only the starts of k-means differ. A trial of a forest has its own
  trees.
- Forests: `ClustRF` with its defaults. The three affinities of a trial use the same trees.
- All graphs are cut by `SpectralClustering(K, n_neighbors=k)`. The paper cites another spectral
  clustering, with local scales and with a rotation in place of k-means."""
FACE_NOTES = """\
The paper sums the affinities among images of one person and calls a larger sum better. Larger
affinities everywhere would increase it too. The share is the part of all affinity of a person's
images that is among themselves: a tenth if affinities were independent of the person."""
READING_NOTES = f"""\
The paper chose the smallest node by cross-validation on each set and does not give the result; nor
does it say how many rows a tree draws. "Smallest child" is `min_samples_leaf`; the draws are from
the N rows and N pseudo rows together, N by default. {s.READING_TRIALS} trials of each (all of the
first). Differences are paired."""
#: The areas of the paper's Table 2, in its unit: at each M, or one where there is no M.
PUBLISHED: dict[str, dict[str, tuple[float, ...]]] = {
    "segment_full": {
        "knn": (34.8, 36.2, 37.6, 37.8, 37.9),
        "dominant": (38.3, 29.1, 34.7, 37.2, 37.2),
        "consensus": (34.9, 36.8, 35.8, 36.8, 35.9),
        "leaf": (39.5,),
        "uniform": (40.7,),
        "adaptive": (41.8,),
    },
    "pie10_32x32": {
        "knn": (4.4, 4.4, 4.9, 4.8, 4.7),
        "dominant": (3.0, 2.3, 2.4, 3.0, 3.5),
        "consensus": (4.0, 4.4, 4.3, 4.3, 4.2),
        "leaf": (19.8,),
        "uniform": (22.9,),
        "adaptive": (20.5,),
    },
}
SHOWN_K, SHOWN_FACES = 50, 10
MAIN_FORESTS = tuple(s.variant(kind, s.MAIN) for kind in s.FORESTS)
#: The methods of Figures 3 and 5: with the paper's M, and with the main reading.
SHOWN = (*(s.variant(method, s.M[0]) for method in s.EUCLIDEAN), *MAIN_FORESTS)
COLORS = dict(zip(s.LABELS, (GREY, PINK, GREEN, ORANGE, RED, BLUE), strict=True))


def report(results: Results[s.ClustrfStudy]) -> str:
    """Write the report."""
    study = results.study
    sizes = ", ".join(map(str, study.k))
    scale = f"{study.n_trials} trials, {study.n_trees} trees, k = {sizes}."
    title = "ClustRF: Table 2, Figures 3 to 5"
    return parts.write(results, title, NOTES, scale, list(ClustrfReport(results).blocks()))


def percent(values: pd.Series, form: str = ".1f") -> str:
    """Format the mean over trials and its error in hundredths."""
    return Score.of(values).text(form, 100)


class ClustrfReport:
    """The parts of the report, made of the results."""

    def __init__(self, results: Results[s.ClustrfStudy]) -> None:
        self.results, self.study = results, results.study
        self.sets = {
            name: f"{s.FACES}, components stretched" if name == s.STRETCHED else name
            for name in self.study.found_sets
        }
        self.published = [name for name in self.sets if name in s.PUBLISHED_SETS]

    def blocks(self) -> Iterator[Block]:
        """Give all parts."""
        yield "## Table 2"
        yield from map(self.table, self.sets)
        yield "## The paper's claims"
        yield "The ARI's mean over k is compared, in trials that both methods have."
        yield Claims(list(self.claims()))
        yield "From the best k to the largest, in hundredths:"
        yield Table(["set", *map(s.LABELS.get, s.FORESTS)], [*map(self.decline, self.sets)])
        yield f"## What the paper leaves open\n\n{READING_NOTES}"
        yield from map(self.readings, self.published)
        yield self.agreeing_readings()
        yield "## Figure 5: ARI over k"
        yield Curves(
            "curves", f"ARI over k, M = {s.M[0]}", [[*map(self.panel, self.sets)]], "k",
            options={"width": 3.6, "height": 2.9},
        )  # fmt: skip
        yield "## Figure 3: affinities"
        yield f"First trial; graphs of k = {SHOWN_K}, M = {s.M[0]}."
        for name in self.published:
            draw = partial(self.matrices, name)
            yield Picture(f"affinity_{name}", f"Affinities on {name}", draw)
        if s.FACES in self.sets:
            yield f"## Figure 4: images of one person\n\n{FACE_NOTES}"
            yield Picture("faces", "Affinities of images of one person", self.faces)
            first = f"sum, {SHOWN_FACES} images"
            rows = [
                [s.LABELS[kind], f"{shown.sum():.1f}", f"{total:.0f}", f"{share:.1%}"]
                for kind, (shown, total, share) in self.of_one_person.items()
            ]
            yield Table(["affinity", first, "sum, all images", "share within the person"], rows)

    def curve(self, name: str, of: s.Variant) -> pd.DataFrame:
        """Give the ARI over k, a row a trial."""
        return self.results.curve(name, [s.Size(k) for k in self.study.k], of, x=self.study.k)

    def height(self, name: str, of: s.Variant) -> pd.Series:
        """Give the mean ARI over k, by trial."""
        return area(self.curve(name, of)) / (len(self.study.k) - 1)

    def best(self, name: str, method: str) -> pd.Series:
        """Give the heights of a method at the M that is best on average."""
        return max(
            (self.height(name, s.variant(method, m)) for m in s.M),
            key=lambda values: values.mean() if len(values) else -np.inf,
        )

    def table(self, name: str) -> Table:
        """Lay out Table 2 of a set, with the paper's areas below ours."""
        rows: list[list[Any]] = []
        for method, label in s.LABELS.items():
            settings = s.M if method in s.EUCLIDEAN else (s.MAIN,)
            heights = [self.height(name, s.variant(method, setting)) for setting in settings]
            rows.append([label, *map(percent, heights)])
            if name in PUBLISHED:
                rows.append(["  the paper", *(f"{x:.1f}" for x in PUBLISHED[name][method])])
        header = [f"{self.sets[name]} ({len(s.problem(name).y)} rows)", *(f"M = {m}" for m in s.M)]
        return Table(header, [row + [""] * (len(header) - len(row)) for row in rows])

    def claims(self) -> Iterator[Claim]:
        """Give the paper's claims on the order of the methods."""
        where = {label: name for name, label in self.sets.items()}
        leaf, *others = MAIN_FORESTS
        for of in others:
            ours, theirs = (partial(self.height, of=each) for each in (of, leaf))
            yield Claim(f"{of.label} above {leaf.label}", ours, theirs, where)
        for of, method in product(MAIN_FORESTS, s.EUCLIDEAN):
            text = f"{of.label} above {s.LABELS[method]} at its best M"
            yield Claim(text, partial(self.height, of=of), partial(self.best, method=method), where)
        for method in s.EUCLIDEAN[1:]:
            text = f"{s.LABELS[method]} above kNN, each at its best M"
            ours, theirs = (partial(self.best, method=each) for each in (method, s.EUCLIDEAN[0]))
            yield Claim(text, ours, theirs, where)

    def decline(self, name: str) -> list[str]:
        """Compare the largest k with the best: the paper calls only Adpt stable."""
        means = [self.curve(name, of).dropna().mean() for of in MAIN_FORESTS]
        known = [f"{100 * (mean.iloc[-1] - mean.max()):+.1f}" for mean in means]
        return [self.sets[name], *(text if "nan" not in text else "–" for text in known)]

    def readings(self, name: str) -> Table:
        """Compare the readings of what the paper leaves open."""
        rows = []
        for reading in s.READINGS:
            leaf, *others = (self.height(name, s.variant(kind, reading)) for kind in s.FORESTS)
            gaps = [percent(values - leaf, "+.1f") for values in others]
            rows.append([reading, *map(percent, (leaf, *others)), *gaps])
        return Table([name, *map(s.LABELS.get, s.FORESTS), "Unfm − Bi", "Adpt − Bi"], rows)

    def agreeing_readings(self) -> str:
        """List the readings under which the paper's order of the forests holds on all its sets."""

        def agrees(reading: str) -> bool:
            leaf, *others = (s.variant(kind, reading) for kind in s.FORESTS)
            gaps = [
                (self.height(name, of) - self.height(name, leaf)).mean()
                for name, of in product(self.published, others)
            ]
            return bool(gaps) and min(gaps) > 0

        found = ", ".join(filter(agrees, s.READINGS)) or "none"
        return f"Readings under which both ClustRF-Strct are above ClustRF-Bi on all sets: {found}."

    def panel(self, name: str) -> Panel:
        """Give the curves of a set."""
        lines = []
        for of in SHOWN:
            style = {"color": COLORS[of.method], "linestyle": "-" if of.is_forest else "--"}
            lines.append(Line(of.label, self.curve(name, of), style))
        return Panel(self.sets[name], self.study.k, lines)

    def matrices(self, name: str) -> Any:
        """Show the graphs of all methods, with the share of affinity within classes."""
        y, seed = s.problem(name).y, seed_of("clustrf", name, 0)
        order = np.argsort(y, kind="stable")
        is_same = y[order][:, None] == y[order]
        figure, grid = panels(2, 3, figsize=(8.2, 6.4))
        for panel, of in zip(grid.ravel(), SHOWN, strict=True):
            edges = s.graph(name, of, SHOWN_K, self.study.n_trees, seed).toarray()
            shown = edges[np.ix_(order, order)]
            matrix_picture(panel, shown, np.bincount(y))
            share = shown[is_same].sum() / shown.sum()
            panel.set_title(f"{of.label}: {share:.0%} within classes", fontsize=9)
        figure.suptitle(f"{name}: graphs of k = {SHOWN_K}, rows sorted by class", fontsize=11)
        return figure

    @cached_property
    def of_one_person(self) -> dict[str, tuple[NDArray[np.float64], float, float]]:
        """Affinities among images of one person, by forest, in the first trial.

        The affinities of the first images of the first person; the sum over pairs of images of a
        person, averaged over persons; and this sum as a share of all affinity of the images.
        """
        found = {}
        y, seed = s.problem(s.FACES).y, seed_of("clustrf", s.FACES, 0)
        for of in MAIN_FORESTS:
            between = np.array(s.affinity(s.FACES, of, self.study.n_trees, seed), dtype=np.float64)
            np.fill_diagonal(between, 0.0)
            within = [between[np.ix_(y == c, y == c)] for c in np.unique(y)]
            total = np.array([between[y == c].sum() for c in np.unique(y)])
            sums = np.array([block.sum() for block in within])
            shown = within[0][:SHOWN_FACES, :SHOWN_FACES]
            found[of.method] = (shown, float(sums.mean()), float((sums / total).mean()))
        return found

    def faces(self) -> Any:
        """Show the affinities of the first images of the first person."""
        top = max(float(shown.max()) for shown, *_ in self.of_one_person.values())
        figure, grid = panels(1, len(s.FORESTS), figsize=(8.6, 3.1))
        for panel, (kind, (first, *_)) in zip(grid[0], self.of_one_person.items(), strict=True):
            image = panel.imshow(first, cmap="magma", vmin=0, vmax=top)
            panel.set_title(f"{s.LABELS[kind]} ({first.sum():.1f})", fontsize=9)
            panel.set_xticks([])
            panel.set_yticks([])
        figure.colorbar(image, ax=list(grid[0]), shrink=0.8)
        title = f"Affinities of {SHOWN_FACES} images of one person (and their sum)"
        figure.suptitle(title, fontsize=11)
        return figure
