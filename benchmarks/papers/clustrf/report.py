"""The parts of ``report.md``: Table 2, the paper's claims, readings of the paper, and pictures."""

from collections.abc import Iterator
from functools import cached_property, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.papers.clustrf import study as s
from benchmarks.study.command import study_command
from benchmarks.study.log import seed_of
from benchmarks.study.pictures import BLUE, GRAY, GREEN, ORANGE, PINK, RED, matrix_picture, panels
from benchmarks.study.problems import Floats
from benchmarks.study.report import Block, Claim, Curves, Panel, Picture, Report, Table, above
from benchmarks.study.results import Results
from benchmarks.study.scores import Score, area

#: The areas in the paper's Table 2, in its unit: one for each M, or one alone for forests.
PUBLISHED = pd.read_csv(Path(__file__).with_name("published.csv"), index_col=["set", "method"])
SHOWN_K, SHOWN_FACES = 50, 10
FORESTS = tuple(s.Variant(kind, s.MAIN) for kind in s.FORESTS)
FOREST_LABELS = [of.label for of in FORESTS]
#: The methods of Figures 3 and 5: with the paper's M, and with the main reading.
EUCLIDEAN = tuple(s.Variant(method, s.M[0]) for method in s.EUCLIDEAN)
SHOWN = (*EUCLIDEAN, *FORESTS)
COLORS = dict(zip(s.LABELS, (GRAY, PINK, GREEN, ORANGE, RED, BLUE), strict=True))


def percent(values: pd.Series, form: str = ".1f") -> str:
    """Format the mean over trials and its error in hundredths."""
    return Score.of(values).text(form, 100)


class ClustrfReport(Report[s.ClustrfStudy]):
    """The parts of the report, made of the results."""

    def __init__(self, results: Results[s.ClustrfStudy]) -> None:
        super().__init__(results)
        stretched = {s.STRETCHED: f"{s.FACES}, components stretched"}
        self.titles = {name: stretched.get(name, name) for name in self.sets}
        self.published = [name for name in self.sets if name in s.PUBLISHED_SETS]
        self.sizes = ", ".join(map(str, self.study.k))

    def curve(self, name: str, of: s.Variant) -> pd.DataFrame:
        return self.results.curve(name, [s.Size(k) for k in self.study.k], of, x=self.study.k)

    def height(self, name: str, of: s.Variant) -> pd.Series:
        return area(self.curve(name, of)) / (len(self.study.k) - 1)

    def best(self, name: str, method: s.Variant) -> pd.Series:
        """Return `height` of a method, at the M that is best on average."""
        settings = (s.MAIN,) if method.is_forest else s.M
        heights = [self.height(name, s.Variant(method.method, m)) for m in settings]
        return max(heights, key=lambda values: values.mean() if len(values) else -np.inf)

    def table_2(self) -> Iterator[Table]:
        for name, title in self.titles.items():
            rows: list[list[Any]] = []
            for method, label in s.LABELS.items():
                settings = s.M if method in s.EUCLIDEAN else (s.MAIN,)
                heights = [self.height(name, s.Variant(method, setting)) for setting in settings]
                rows.append([label, *map(percent, heights)])
                if name in self.published:
                    paper: Any = PUBLISHED.loc[(name, method)]
                    rows.append(["  the paper", *(f"{x:.1f}" for x in paper.dropna())])
            header = [f"{title} ({len(s.problem(name).y)} rows)", *(f"M = {m}" for m in s.M)]
            yield Table(header, [row + [""] * (len(header) - len(row)) for row in rows])

    def claims(self) -> Iterator[Claim]:
        where = {title: name for name, title in self.titles.items()}
        (leaf, *others), (knn, *selections) = FORESTS, EUCLIDEAN
        pairs = [(of, leaf, "") for of in others]
        pairs += [(*pair, " at its best M") for pair in product(FORESTS, EUCLIDEAN)]
        pairs += [(of, knn, ", each at its best M") for of in selections]
        yield from (above(a, b, self.best, where, text) for a, b, text in pairs)

    def declines(self) -> Table:
        """Compare the largest k with the best: the paper calls only Adpt stable."""
        rows = []
        for name, title in self.titles.items():
            means = [self.curve(name, of).dropna().mean() for of in FORESTS]
            falls = [Score(mean.iloc[-1] - mean.max()).text("+.1f", 100) for mean in means]
            rows.append([title, *falls])
        return Table(["set", *FOREST_LABELS], rows)

    def readings(self) -> Iterator[Block]:
        gaps: dict[str, list[float]] = {reading: [] for reading in s.READINGS}
        for name in self.published:
            rows = []
            for reading in s.READINGS:
                leaf, *others = (self.height(name, s.Variant(kind, reading)) for kind in s.FORESTS)
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
        return Curves("curves", f"ARI over k, M = {s.M[0]}", [row], "k", options=options)

    def affinities(self) -> Iterator[Picture]:
        for name in self.published:
            draw = partial(self.matrices, name)
            yield Picture(f"affinity_{name}", f"Affinities on {name}", draw)

    def matrices(self, name: str) -> Any:
        y, seed = s.problem(name).y, seed_of("clustrf", name, 0)
        figure, grid = panels(2, 3, figsize=(8.2, 6.4))
        for panel, of in zip(grid.ravel(), SHOWN, strict=True):
            edges = s.graph(name, of, SHOWN_K, self.study.n_trees, seed).toarray()
            matrix_picture(panel, edges, y)
            share = edges[y[:, None] == y].sum() / edges.sum()
            panel.set_title(f"{of.label}: {share:.0%} within classes", fontsize=9)
        figure.suptitle(f"{name}: graphs of k = {SHOWN_K}, rows sorted by class", fontsize=11)
        return figure

    def faces(self) -> Iterator[Block]:
        if s.FACES not in self.sets:
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
        y, seed = s.problem(s.FACES).y, seed_of("clustrf", s.FACES, 0)
        for of in FORESTS:
            between = np.array(s.affinity(s.FACES, of, self.study.n_trees, seed), dtype=np.float64)
            np.fill_diagonal(between, 0.0)
            within = [between[np.ix_(y == c, y == c)] for c in np.unique(y)]
            total = np.array([between[y == c].sum() for c in np.unique(y)])
            sums = np.array([block.sum() for block in within])
            shown = within[0][:SHOWN_FACES, :SHOWN_FACES]
            found[of.label] = (shown, float(sums.mean()), float((sums / total).mean()))
        return found

    def face_picture(self) -> Any:
        top = max(float(shown.max()) for shown, *_ in self.of_one_person.values())
        figure, grid = panels(1, len(FORESTS), figsize=(8.6, 3.1))
        for panel, (label, (first, *_)) in zip(grid[0], self.of_one_person.items(), strict=True):
            image = panel.imshow(first, cmap="magma", vmin=0, vmax=top)
            panel.set_title(f"{label} ({first.sum():.1f})", fontsize=9)
            panel.set(xticks=[], yticks=[])
        figure.colorbar(image, ax=list(grid[0]), shrink=0.8)
        title = f"Affinities of {SHOWN_FACES} images of one person (and their sum)"
        figure.suptitle(title, fontsize=11)
        return figure


def _style(of: s.Variant) -> dict[str, Any]:
    return {"color": COLORS[of.method], "linestyle": "-" if of.is_forest else "--"}


QUICK = s.ClustrfStudy(1, (s.FACES,), "clustrf_quick", True, n_trees=100, k=(10, 50, 100))
command = study_command(
    s.ClustrfStudy(), ClustrfReport, __file__, QUICK, "One trial, 100 trees, faces, three sizes"
)
