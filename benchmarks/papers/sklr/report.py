"""The report of the study: tables, curves and the paper's claims."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import pandas as pd
from sklearn.manifold import TSNE

from benchmarks.papers.sklr import study as of_study
from benchmarks.papers.sklr.study import (
    ALL,
    COMPARATORS,
    E2CP,
    EQUALITIES,
    FIRST_ANSWERS,
    HARD,
    ITML,
    KERNEL_KMEANS,
    LABELLED,
    METHODS,
    NEW_STARTS,
    PUBLISHED,
    SKKM,
    SOFT,
    USPS,
    WRONG,
    WRONG_SIZE,
    Cell,
    SklrStudy,
    paper_source,
)
from benchmarks.study.fits import run_method
from benchmarks.study.methods import Method
from benchmarks.study.pictures import BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY, panels
from benchmarks.study.report import (
    Block,
    Claim,
    Claims,
    Curves,
    Line,
    Panel,
    Picture,
    Table,
    counted,
    write,
)
from benchmarks.study.results import Results
from benchmarks.study.scores import in_order

__all__ = ["SklrReport", "report"]

NOTES = """\
E. Amid, A. Gionis and A. Ukkonen, "A kernel-learning approach to semi-supervised clustering with
relative distance comparisons". Adjusted Rand index (ARI), mean ± standard error over trials; the
best of each column in bold.

- Data: `vehicle`, `scene8_outdoor` (119 features, not the paper's GIST), `usps_11000`, and digits,
  which the paper does not have. Except for vehicle, a trial uses 100 random rows of each class.
  Features of vehicle and scenes are standardised; pixels are not.
- The two groups of the binary setting: vans and the rest, natural and man-made scenes, even and odd
  digits.
- s labelled rows of each class give all must-links among them, as many cannot-links, and as many
  odd-one-out answers as both together (two rows of one class, one of another). **The paper draws
  the odd-one-out answers from all rows, but the pairs from the labelled rows only.** The tables
  have both; rows with * follow the paper. "Mixed" answers are half of those about two groups and
  half of those about all classes; both groupings are then looked for in the same features.
- SKLR, SKkm (SKMS) and kernel k-means without answers use the same adaptive Gaussian kernel, then
  k-means (ten starts, true number of groups) on the learned features. SKLR: clew's default, with
  slack. Hard: `slack="none"`. As published: `algorithm="paper"` as well, which stops at the first
  point that satisfies all answers. E2CP (pairs, spectral clustering) is not in the paper.
- The paper does not give the settings of its ITML, SKMS and LSML; here they have clew's defaults.
- A method that refuses contradictory answers has no score; refusals are counted in brackets."""
WRONG_NOTES = f"""\
All classes, s = {WRONG_SIZE}, answers drawn as in the paper. An exact share of them is wrong: a
pair has the opposite answer, an odd-one-out answer names another row. The paper has none."""
UNSEEN_NOTES = f"""\
Features are learned from the sample, then all rows of the set are grouped in them ({NEW_STARTS}
starts). ARI of the rows outside the sample."""
EQUAL_NOTES = f"""\
All classes; {", ".join(f"{name} {n}" for name, n in FIRST_ANSWERS.items())} odd-one-out answers,
then "none differs" for three rows of one class; or, as the paper draws them, for three rows of one
class or (half of them) of three classes. Three rows of three classes are "none differs" only in the
paper's sense that all their distances are equal; people asked for groups would not say so."""

#: The rows that answers are drawn from, by name: as in the paper more rows for odd-one-out answers
#: than for pairs; or for both the few labelled rows, or all rows.
SAMPLINGS = {
    "as the paper draws": None,
    "all from the labelled rows": LABELLED,
    "all from all rows": ALL,
}
PAPER = "as the paper draws"
STEMS = dict(zip(SAMPLINGS, ("curves", "curves_labelled", "curves_all"), strict=True))
COLORS = dict(zip(METHODS, (GREY, BLUE, SKY, PINK, GREEN, ORANGE, RED, "black"), strict=True))


class Column(NamedTuple):
    """A column of Figure 1: the setting of the answers, and the groups that are looked for."""

    letter: str
    setting: str
    target: str

    @property
    def title(self) -> str:
        """Name in tables and pictures."""
        names = {"binary": "two groups", "multi": "all classes"}
        asked = "mixed answers, " if self.setting == "mixed" else ""
        return f"({self.letter}) {asked}{names[self.target]}"


COLUMNS = (
    Column("a", "binary", "binary"),
    Column("b", "multi", "multi"),
    Column("c", "mixed", "binary"),
    Column("d", "mixed", "multi"),
)


def report(results: Results[SklrStudy]) -> str:
    """Write the report."""
    study = results.study
    scale = f"{study.n_trials} trials, s = {', '.join(map(str, study.sizes))}."
    return write(results, "SKLR: Figures 1 to 4", NOTES, scale, SklrReport(results).blocks())


class SklrReport:
    """The parts of the report, made of the results."""

    def __init__(self, results: Results[SklrStudy]) -> None:
        self.results, self.study = results, results.study
        self.sets = self.study.found_sets
        self.unseen = [s for s in self.sets if len(self.new(KERNEL_KMEANS, COLUMNS[0])(s).dropna())]

    def blocks(self) -> Iterator[Block]:
        """Give all parts."""
        yield "## In short"
        main = {
            (method, sampling): [self.above(method, sampling, column) for column in COLUMNS]
            for method, sampling in product((SOFT, PUBLISHED), SAMPLINGS)
        }
        yield "\n".join(
            f"- {method.label}, {sampling}, beside the comparators: {counted(claims)}."
            for (method, sampling), claims in main.items()
        )
        yield "## Figure 1"
        for sampling in SAMPLINGS:
            yield self.figure_1(sampling)
        yield from self.tables_1()
        if USPS in self.sets:
            yield "## Figure 2: USPS digits"
            yield Picture("tsne", "Figure 2", self.figure_2)
        yield f"## Figure 3: rows outside the sample\n\n{UNSEEN_NOTES}"
        yield from self.tables_3()
        yield f"## Figure 4: equalities\n\n{EQUAL_NOTES}"
        yield from self.figure_4()
        yield f"## Wrong answers\n\n{WRONG_NOTES}"
        yield from self.wrong_answers()
        yield "## The paper's claims"
        yield Claims([claim for claims in main.values() for claim in claims])
        yield Claims(list(self.claims()))
        yield "### Methods in order at the largest size"
        yield "The paper: SKLR first, then SKkm, ITML and LSML in changing order, then no answers."
        yield "\n".join(self.orders())

    def curve(
        self, method: Method, column: Column, sampling: str = PAPER, field: str = ""
    ) -> partial[pd.DataFrame]:
        """Give a method's curve over s, for a set."""
        cells = self.study.curve(column.setting, SAMPLINGS[sampling] or paper_source(method))
        return partial(
            self.results.curve,
            cells=cells,
            method=method,
            field=field or column.target,
            x=self.study.sizes,
        )

    def new(self, method: Method, column: Column) -> partial[pd.DataFrame]:
        """Give its curve on rows outside the sample."""
        return self.curve(method, column, field=f"new {column.target}")

    def above(self, method: Method, sampling: str, column: Column) -> Claim:
        """Compare a form of SKLR with the paper's comparators."""
        others = {m.label: self.curve(m, column, sampling) for m in COMPARATORS}
        return Claim(
            f"{method.label} above SKkm, ITML and LSML at every s, {column.title}, {sampling}",
            self.curve(method, column, sampling),
            lambda name: {label: curve(name) for label, curve in others.items()},
            self.sets,
        )

    def claims(self) -> Iterator[Claim]:
        """Give the other claims."""
        for other, column in product((HARD, PUBLISHED, E2CP), COLUMNS):
            yield Claim(
                f"SKLR above {other.label} at every s, {column.title}, {PAPER}",
                self.curve(SOFT, column),
                self.curve(other, column),
                self.sets,
            )
        yield from self._mixed_claims()
        first, last = self.study.sizes[0], self.study.sizes[-1]
        itml = self.curve(ITML, COLUMNS[1])
        yield Claim(
            f"{COLUMNS[1].title}: ITML with s = {last} below ITML with s = {first}",
            lambda name: itml(name)[last],
            lambda name: itml(name)[first],
            self.sets,
            is_below=True,
        )
        for column, ours in product(COLUMNS, (SOFT, PUBLISHED)):
            others = {m.label: self.new(m, column) for m in COMPARATORS}
            yield Claim(
                f"{ours.label} above the others outside the sample, {column.title}",
                self.new(ours, column),
                lambda name, others=others: {label: of(name) for label, of in others.items()},
                self.unseen,
            )
        for ours, with_apart in product((SOFT, PUBLISHED), (False, True)):
            yield self._equalities_help(ours, with_apart=with_apart)
        yield Claim(
            f"SKLR above kernel k-means with {WRONG[-1]:.0%} of the answers wrong",
            lambda name: self.wrong_curve(name, SOFT)[WRONG[-1]],
            lambda name: self.wrong_curve(name, KERNEL_KMEANS)[WRONG[-1]],
            self.sets,
        )

    def _mixed_claims(self) -> Iterator[Claim]:
        last = self.study.sizes[-1]
        for column, others, is_below in (
            (COLUMNS[2], COMPARATORS, False),
            (COLUMNS[3], (SKKM, ITML), True),
        ):
            base = self.curve(KERNEL_KMEANS, column)
            for method in others:
                curve = self.curve(method, column)
                yield Claim(
                    f"{column.title}: {method.label} {'below' if is_below else 'above'} kernel "
                    f"k-means at s = {last}",
                    lambda name, curve=curve: curve(name)[last],
                    lambda name, base=base: base(name)[last],
                    self.sets,
                    is_below,
                )

    def _equalities_help(self, ours: Method, *, with_apart: bool) -> Claim:
        first, *_, last = self.study.equal_cells(with_apart=with_apart)
        kind = "of one class or of three" if with_apart else "of one class"
        value = partial(self.results.values, method=ours, field="multi")
        return Claim(
            f"{ours.label} with {last.n_equal} equalities {kind} above without",
            partial(value, cell=last),
            partial(value, cell=first),
            self.sets,
        )

    def orders(self) -> Iterator[str]:
        """List the methods by their means at the largest size."""
        for sampling, name, column in product(SAMPLINGS, self.sets, COLUMNS):
            scores = {}
            for method in METHODS:
                cell = self._cells(method, column, sampling)[-1]
                scores[method.label] = self.results.score(name, cell, method, column.target)
            yield f"- {sampling}, {name}, {column.title}: {in_order(scores)}."
        for name in self.sets:
            scores = {
                m.label: self.results.score(name, self.study.wrong_cells(m)[-1], m, "multi")
                for m in (SOFT, HARD, *COMPARATORS)
            }
            yield f"- {name}, {WRONG[-1]:.0%} wrong: {in_order(scores)}."

    def _cells(self, method: Method, column: Column, sampling: str) -> list[Cell]:
        return self.study.curve(column.setting, SAMPLINGS[sampling] or paper_source(method))

    def tables_1(self) -> Iterator[Table]:
        """Give a table for each set and column, with both samplings."""
        for name, column in product(self.sets, COLUMNS):
            rows: list[list[Any]] = []
            for method in METHODS:
                for source in (LABELLED, ALL) if method.uses_answers else ("",):
                    star = " *" if source == paper_source(method) else ""
                    label = f"{method.label}, {source}{star}" if source else method.label
                    cells = self.study.curve(column.setting, source or ALL)
                    rows.append([label, *self._scores(name, cells, method, column.target)])
            yield Table([f"{name} {column.title}", *self._sizes], rows, is_marked=True)

    def tables_3(self) -> Iterator[Table]:
        """Give a table for each set and column, of rows outside the sample."""
        learned = [method for method in METHODS if not method.clusterer]
        for name, column in product(self.unseen, COLUMNS):
            field = f"new {column.target}"
            rows = [
                [m.label, *self._scores(name, self._cells(m, column, PAPER), m, field)]
                for m in learned
            ]
            yield Table([f"{name} {column.title}", *self._sizes], rows, is_marked=True)

    def _scores(self, name: str, cells: list[Cell], method: Method, field: str) -> list[Any]:
        return [self.results.score(name, cell, method, field) for cell in cells]

    @property
    def _sizes(self) -> list[str]:
        return [f"s = {size}" for size in self.study.sizes]

    def figure_1(self, sampling: str) -> Curves:
        """Draw a row for each set, a column for each setting."""
        rows = [
            [
                Panel(
                    f"{name} {column.title}",
                    self.study.sizes,
                    [_line(m, self.curve(m, column, sampling)(name)) for m in METHODS],
                )
                for column in COLUMNS
            ]
            for name in self.sets
        ]
        return Curves(STEMS[sampling], f"Answers {sampling}", rows, "labelled rows of each class")

    def figure_2(self) -> Any:
        """Show the digits as given, and in features learned from the largest mixed answers."""
        of = of_study.sample(USPS, 0)
        figure, grid = panels(1, 3)
        _map(grid[0, 0], of.X, of.y, "as given")
        for place, (method, source) in zip(
            grid[0, 1:], ((SKKM, LABELLED), (SOFT, ALL)), strict=True
        ):
            known = of_study.answers(USPS, Cell("mixed", self.study.sizes[-1], source), 0)
            found = run_method(method, of.X, known, (2,), 0)
            if found.embedding is not None:
                _map(place, found.embedding, of.y, method.label)
        figure.suptitle("USPS digits, t-SNE: a colour a digit; dots even, crosses odd", fontsize=11)
        return figure

    def figure_4(self) -> Iterator[Block]:
        """Draw and list the effect of equalities."""
        kinds = {
            (m, with_apart): f"{m.label}, {'one class or three' if with_apart else 'one class'}"
            for m in (SOFT, PUBLISHED)
            for with_apart in (False, True)
        }
        row, tables = [], []
        for name in self.sets:
            lines, rows = [], []
            for (m, with_apart), label in kinds.items():
                cells = self.study.equal_cells(with_apart=with_apart)
                style = {"color": COLORS[m], "linestyle": "--" if with_apart else "-"}
                lines.append(Line(label, self.results.curve(name, cells, m, "multi"), style))
                rows.append([label, *self._scores(name, cells, m, "multi")])
            row.append(Panel(name, EQUALITIES, lines))
            tables.append(Table([name, *map(str, EQUALITIES)], rows, is_marked=True))
        yield Curves("equalities", "Figure 4", [row], "equalities")
        yield from tables

    def wrong_curve(self, name: str, method: Method) -> pd.DataFrame:
        """Give a method's curve over the share of wrong answers."""
        cells = self.study.wrong_cells(method)
        return self.results.curve(name, cells, method, "multi", (0.0, *WRONG))

    def wrong_answers(self) -> Iterator[Block]:
        """Draw and list the effect of wrong answers."""
        methods = (KERNEL_KMEANS, SOFT, HARD, *COMPARATORS)
        x = [100 * share for share in (0.0, *WRONG)]
        row = [
            Panel(name, x, [_line(m, self.wrong_curve(name, m)) for m in methods])
            for name in self.sets
        ]
        yield Curves("wrong", "Wrong answers", [row], "wrong answers, %")
        shares = [f"{share:.0%} wrong" for share in (0.0, *WRONG)]
        for name in self.sets:
            rows = [
                [m.label, *self._scores(name, self.study.wrong_cells(m), m, "multi")]
                for m in methods
            ]
            yield Table([name, *shares], rows, is_marked=True)


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
    place.set_xticks([])
    place.set_yticks([])
