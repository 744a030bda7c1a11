"""The report of the study: tables, curves and the paper's claims."""

from collections.abc import Iterator
from functools import partial
from itertools import chain, product
from typing import Any, NamedTuple

import pandas as pd
from sklearn.manifold import TSNE

from benchmarks.papers.sklr import study as s
from benchmarks.study.command import study_command
from benchmarks.study.fits import run_method
from benchmarks.study.methods import Method
from benchmarks.study.pictures import BLUE, GRAY, GREEN, ORANGE, PINK, RED, SKY, panels
from benchmarks.study.report import Claim, Curves, Line, Panel, Picture, Report, Table, counted
from benchmarks.study.results import Results
from benchmarks.study.scores import in_order

PAPER = "as the paper draws"
#: The rows that answers are drawn from: as in the paper (all rows for odd-one-out answers, the few
#: labeled rows for pairs), the labeled rows for both kinds, or all rows for both.
SAMPLINGS = {PAPER: None, "all from the labelled rows": s.LABELED, "all from all rows": s.ALL}
STEMS = dict(zip(SAMPLINGS, ("curves", "curves_labelled", "curves_all"), strict=True))
COLORS = dict(zip(s.METHODS, (GRAY, BLUE, SKY, PINK, GREEN, ORANGE, RED, "black"), strict=True))
SOFT_AND_PUBLISHED = (s.SOFT, s.PUBLISHED)


class Column(NamedTuple):
    """A column of Figure 1: the setting of the answers, and the classes to find."""

    title: str
    setting: str
    target: str


COLUMNS = (
    Column("(a) two groups", "binary", "binary"),
    Column("(b) all classes", "multi", "multi"),
    Column("(c) mixed answers, two groups", "mixed", "binary"),
    Column("(d) mixed answers, all classes", "mixed", "multi"),
)


class SklrReport(Report[s.SklrStudy]):
    """The parts of the report, made of the results."""

    def __init__(self, results: Results[s.SklrStudy]) -> None:
        super().__init__(results)
        self.sizes = ", ".join(map(str, self.study.sizes))
        new = self.new(s.KERNEL_KMEANS, COLUMNS[0])
        self.unseen = [name for name in self.sets if len(new(name).dropna())]
        self.main = {
            (m, sampling): [self.above(m, sampling, column) for column in COLUMNS]
            for m, sampling in product(SOFT_AND_PUBLISHED, SAMPLINGS)
        }
        self.above_comparators = list(chain(*self.main.values()))

    def cells(self, method: Method, column: Column, sampling: str = PAPER) -> list[s.Cell]:
        return self.study.curve(column.setting, SAMPLINGS[sampling] or s.paper_source(method))

    def curve(
        self, method: Method, column: Column, sampling: str = PAPER, field: str = ""
    ) -> partial[pd.DataFrame]:
        cells, field = self.cells(method, column, sampling), field or column.target
        x = self.study.sizes
        return partial(self.results.curve, cells=cells, method=method, field=field, x=x)

    def new(self, method: Method, column: Column) -> partial[pd.DataFrame]:
        return self.curve(method, column, field=f"new {column.target}")

    def wrong(self, method: Method) -> partial[pd.DataFrame]:
        cells, x = self.study.wrong_cells(method), (0.0, *s.WRONG)
        return partial(self.results.curve, cells=cells, method=method, field="multi", x=x)

    def row(self, label: str, name: str, cells: list[s.Cell], method: Method, field: str) -> Any:
        return [label, *(self.results.score(name, cell, method, field) for cell in cells)]

    def at(self, cell: s.Cell, method: Method, field: str = "multi") -> partial[pd.Series]:
        return partial(self.results.values, cell=cell, method=method, field=field)

    def above(self, method: Method, sampling: str, column: Column) -> Claim:
        text = f"{method.label} above SKkm, ITML and LSML at every s, {column.title}, {sampling}"
        others = {m.label: self.curve(m, column, sampling) for m in s.COMPARATORS}
        return Claim(text, self.curve(method, column, sampling), others, self.sets)

    def in_short(self) -> str:
        return "\n".join(
            f"- {method.label}, {sampling}, compared with the comparators: {counted(claims)}."
            for (method, sampling), claims in self.main.items()
        )

    def other_claims(self) -> Iterator[Claim]:
        for other, column in product((s.HARD, s.PUBLISHED, s.E2CP), COLUMNS):
            text = f"SKLR above {other.label} at every s, {column.title}, {PAPER}"
            yield Claim(text, self.curve(s.SOFT, column), self.curve(other, column), self.sets)
        first, *_, last = self.study.sizes
        for column, m, word in (
            *((COLUMNS[2], m, "above") for m in s.COMPARATORS),
            *((COLUMNS[3], m, "below") for m in (s.SKKM, s.ITML)),
        ):
            text = f"{column.title}: {m.label} {word} kernel k-means at s = {last}"
            pair = (m, s.KERNEL_KMEANS)
            ours, theirs = (self.at(self.cells(of, column)[-1], of, column.target) for of in pair)
            yield Claim(text, ours, theirs, self.sets, is_below=word == "below")
        text = f"{COLUMNS[1].title}: ITML with s = {last} below ITML with s = {first}"
        least, *_, most = self.cells(s.ITML, COLUMNS[1])
        ours, theirs = self.at(most, s.ITML), self.at(least, s.ITML)
        yield Claim(text, ours, theirs, self.sets, is_below=True)
        for column, m in product(COLUMNS, SOFT_AND_PUBLISHED):
            text = f"{m.label} above the others outside the sample, {column.title}"
            others = {other.label: self.new(other, column) for other in s.COMPARATORS}
            yield Claim(text, self.new(m, column), others, self.unseen)
        for m, with_apart in product(SOFT_AND_PUBLISHED, (False, True)):
            least, *_, most = self.study.equal_cells(with_apart=with_apart)
            kind = "of one class or of three" if with_apart else "of one class"
            text = f"{m.label} with {most.n_equal} equalities {kind} above without"
            yield Claim(text, self.at(most, m), self.at(least, m), self.sets)
        text = f"SKLR above kernel k-means with {s.WRONG[-1]:.0%} of the answers wrong"
        pair = (s.SOFT, s.KERNEL_KMEANS)
        ours, theirs = (self.at(self.study.wrong_cells(of)[-1], of) for of in pair)
        yield Claim(text, ours, theirs, self.sets)

    def orders(self) -> str:
        lines = []
        for sampling, name, column in product(SAMPLINGS, self.sets, COLUMNS):
            score = partial(self.results.score, name, field=column.target)
            scores = {m.label: score(self.cells(m, column, sampling)[-1], m) for m in s.METHODS}
            lines.append(f"- {sampling}, {name}, {column.title}: {in_order(scores)}.")
        for name in self.sets:
            scores = {
                m.label: self.results.score(name, self.study.wrong_cells(m)[-1], m, "multi")
                for m in (s.SOFT, s.HARD, *s.COMPARATORS)
            }
            lines.append(f"- {name}, {s.WRONG[-1]:.0%} wrong: {in_order(scores)}.")
        return "\n".join(lines)

    def tables_1(self) -> Iterator[Table]:
        for name, column in product(self.sets, COLUMNS):
            rows = []
            for m in s.METHODS:
                for source in (s.LABELED, s.ALL) if m.uses_answers else ("",):
                    star = " *" if source == s.paper_source(m) else ""
                    label = f"{m.label}, {source}{star}" if source else m.label
                    cells = self.study.curve(column.setting, source or s.ALL)
                    rows.append(self.row(label, name, cells, m, column.target))
            yield self._over_sizes(name, column, rows)

    def tables_3(self) -> Iterator[Table]:
        learned = [m for m in s.METHODS if not m.clusterer]
        for name, column in product(self.unseen, COLUMNS):
            field = f"new {column.target}"
            rows = [self.row(m.label, name, self.cells(m, column), m, field) for m in learned]
            yield self._over_sizes(name, column, rows)

    def _over_sizes(self, name: str, column: Column, rows: list[Any]) -> Table:
        header = [f"{name} {column.title}", *(f"s = {size}" for size in self.study.sizes)]
        return Table(header, rows, is_marked=True)

    def figure_1(self) -> Iterator[Curves]:
        for sampling, stem in STEMS.items():
            rows = [[self.panel(name, of, sampling) for of in COLUMNS] for name in self.sets]
            yield Curves(stem, f"Answers {sampling}", rows, "labelled rows of each class")

    def panel(self, name: str, column: Column, sampling: str) -> Panel:
        lines = [_line(m, self.curve(m, column, sampling)(name)) for m in s.METHODS]
        return Panel(f"{name} {column.title}", self.study.sizes, lines)

    def figure_2(self) -> Picture | str:
        return Picture("tsne", "Figure 2", self._maps) if s.USPS in self.sets else "No data."

    def _maps(self) -> Any:
        of = s.sample(s.USPS, 0)
        figure, grid = panels(1, 3)
        _map(grid[0, 0], of.X, of.y, "as given")
        for place, m, source in ((grid[0, 1], s.SKKM, s.LABELED), (grid[0, 2], s.SOFT, s.ALL)):
            known = s.answers(s.USPS, s.Cell("mixed", self.study.sizes[-1], source), 0)
            found = run_method(m, of.X, known, (2,), 0)
            if found.embedding is not None:
                _map(place, found.embedding, of.y, m.label)
        figure.suptitle("USPS digits, t-SNE: a color a digit; dots even, crosses odd", fontsize=11)
        return figure

    def figure_4(self) -> list[Curves | Table]:
        row, tables = [], []
        for name in self.sets:
            lines, rows = [], []
            for m, with_apart in product(SOFT_AND_PUBLISHED, (False, True)):
                cells = self.study.equal_cells(with_apart=with_apart)
                label = f"{m.label}, {'one class or three' if with_apart else 'one class'}"
                style = {"color": COLORS[m], "linestyle": "--" if with_apart else "-"}
                lines.append(Line(label, self.results.curve(name, cells, m, "multi"), style))
                rows.append(self.row(label, name, cells, m, "multi"))
            row.append(Panel(name, s.EQUALITIES, lines))
            tables.append(Table([name, *map(str, s.EQUALITIES)], rows, is_marked=True))
        return [Curves("equalities", "Figure 4", [row], "equalities"), *tables]

    def wrong_answers(self) -> list[Curves | Table]:
        methods, shares = (s.KERNEL_KMEANS, s.SOFT, s.HARD, *s.COMPARATORS), (0.0, *s.WRONG)
        x, row, tables = [100 * share for share in shares], [], []
        for name in self.sets:
            row.append(Panel(name, x, [_line(m, self.wrong(m)(name)) for m in methods]))
            rows = [self.row(m.label, name, self.study.wrong_cells(m), m, "multi") for m in methods]
            header = [name, *(f"{share:.0%} wrong" for share in shares)]
            tables.append(Table(header, rows, is_marked=True))
        return [Curves("wrong", "Wrong answers", [row], "wrong answers, %"), *tables]


def _line(method: Method, curve: pd.DataFrame) -> Line:
    style = {"color": COLORS[method], "linestyle": "-" if method.uses_answers else ":"}
    return Line(method.label, curve, style)


def _map(place: Any, Z: Any, y: dict[str, Any], title: str) -> None:
    flat = TSNE(2, init="pca", random_state=0).fit_transform(Z)
    for is_even, marker in ((1, "."), (0, "x")):
        shown = y["binary"] == is_even
        style = {"cmap": "tab10", "vmin": 0, "vmax": 9, "s": 9, "linewidths": 0.6}
        place.scatter(*flat[shown].T, c=y["multi"][shown], marker=marker, **style)
    place.set_title(title, fontsize=9)
    place.set(xticks=[], yticks=[])


QUICK = s.SklrStudy(1, (s.VEHICLE,), "sklr_quick", True, sizes=(5, 13))
FLAGS = {"all-sizes": ("5, 7, ... 19 labelled rows a class.", {"sizes": s.ALL_SIZES})}
HELP = "One trial, vehicle, two sizes"
command = study_command(s.SklrStudy(), SklrReport, __file__, QUICK, HELP, FLAGS)
