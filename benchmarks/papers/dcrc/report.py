"""The report of the study: tables, curves and the paper's claims."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.papers.dcrc import boundaries
from benchmarks.papers.dcrc import study as s
from benchmarks.study import pictures
from benchmarks.study.command import study_command
from benchmarks.study.methods import Method
from benchmarks.study.pictures import BLUE, GRAY, GREEN, ORANGE, PINK, RED, SKY
from benchmarks.study.report import Claim, Curves, Panel, Picture, Report, Table, counted
from benchmarks.study.results import Results
from benchmarks.study.scores import Score, in_order
from clew.questions import pair_information, triplet_information

MEASURES = {"f": "F-measure", "ari": "ARI", "nmi": "NMI"}
#: The measures of claims.
CLAIMED = {"f": "F", "ari": "ARI"}
COLORS = dict(zip(s.OURS, (BLUE, GRAY, BLUE, SKY, PINK, RED, ORANGE), strict=True)) | dict(
    zip(s.METHODS[7:], (GREEN, ORANGE, RED, SKY, PINK, GRAY, GREEN, "black"), strict=True)
)
DASHED = (s.LINEAR, s.KERNEL, s.YES_NO, s.HARD, s.FREE, s.SKLR, s.E2CP)


class DcrcReport(Report[s.DcrcStudy]):
    """The parts of the report, made of the results."""

    def __init__(self, results: Results[s.DcrcStudy]) -> None:
        super().__init__(results)
        self.most = self.study.curve[-1]
        self.with_none = [s.NO_ANSWERS, *self.study.curve]
        self.sizes = ", ".join(f"{share:g} N" for share in self.study.shares)
        self.figure_2 = Picture("information", "Figure 2", _information)
        shown, sizes = [m for m in s.METHODS if m not in (s.HARD, s.FREE)], self.study.curve
        self.figure_4 = self._curves(shown, "curves", "Figure 4", sizes)
        self.figure_6 = self._curves((s.LINEAR, s.HARD), "hard", "Figure 6: soft and hard", sizes)
        methods = (s.LINEAR, s.FREE, s.KMEANS)
        self.figure_7 = self._curves(methods, "balance", "Figure 7: balance", self.with_none)
        self.figure_5 = Picture("entropy", "Figure 5", boundaries.draw)

    def values(self, method: Method, cell: s.Cell, field: str) -> partial[pd.Series]:
        return partial(self.results.values, cell=cell, method=method, field=field)

    def curve(self, method: Method, field: str) -> partial[pd.DataFrame]:
        x = self.sizes.split(", ")
        return partial(self.results.curve, cells=self.study.curve, method=method, field=field, x=x)

    def above(self, ours: Method, others: Sequence[Method], field: str, text: str = "") -> Claim:
        """Compare a method with others at every number of triplets."""
        curves = {m.label: self.curve(m, field) for m in others}
        names = "every comparator" if s.ITML in others else ", ".join(curves)
        text += f"{ours.label} above {names}, {CLAIMED[field]}"
        return Claim(text, self.curve(ours, field), curves, self.sets)

    def in_short(self) -> str:
        lines = [
            f"- {m.label}, {label}, compared with the comparators (set × size × method): "
            f"{counted([self.above(m, s.COMPARATORS, field)])}."
            for m, (field, label) in product((s.DEFAULT, s.PUBLISHED), CLAIMED.items())
        ]
        score = partial(self.results.score, s.DIGITS, self.most, field="f")
        ours, theirs = map(score, (s.DEFAULT, s.ITML))
        last = f"Digits-389, {self.most.name}: DCRC F {ours}, ITML {theirs} (the paper .97)."
        return "\n".join([*lines, "", last])

    def claims(self) -> Iterator[Claim]:
        others = (*s.COMPARATORS, s.KMEANS)
        for ours, field in product((s.DEFAULT, s.PUBLISHED, s.YES_NO), CLAIMED):
            yield self.above(ours, others, field)
        for (text, ours, theirs), field in product(
            (
                ("don't-knows help: ", s.LINEAR, [s.YES_NO]),
                ("soft above hard: ", s.LINEAR, [s.HARD]),
                ("balance helps: ", s.LINEAR, [s.FREE]),
                ("clew's default: ", s.DEFAULT, [s.PUBLISHED]),
                ("clew's default: ", s.DEFAULT, [s.LINEAR, s.KERNEL, s.SKLR, s.E2CP]),
            ),
            CLAIMED,
        ):
            yield self.above(ours, theirs, field, text)
        paper = {s.BIRDS: "helps without answers, hurts with many", s.LETTERS: "helps"}
        for name, cell, field in product(paper, (s.NO_ANSWERS, self.most), CLAIMED):
            text = f"balance helps with {cell.name}, {CLAIMED[field]} (the paper: {paper[name]})"
            yield self._one(text, cell, (s.LINEAR, s.FREE), field, [name])
        text = f"DCRC above ITML with {self.most.name}, F (the paper's ITML has about .97)"
        yield self._one(text, self.most, (s.DEFAULT, s.ITML), "f", [s.DIGITS])
        for cell, sets in ((s.ONE, [s.BIRDS]), (s.SIX, s.PEOPLE_SETS)):
            for ours, field in product(s.BY_PEOPLE[cell], CLAIMED):
                text = f"{cell.kind}: {ours.label} above k-means, {CLAIMED[field]}"
                yield self._one(text, cell, (ours, s.KMEANS), field, sets)
            text = f"{cell.kind}: a confusion matrix for each annotator above ε = .15, F"
            yield self._one(text, cell, (s.ANNOTATORS, s.FIFTEEN), "f", sets)

    def _one(
        self, text: str, cell: s.Cell, pair: tuple[Method, Method], field: str, sets: Sequence[str]
    ) -> Claim:
        where = [name for name in self.sets if name in sets]
        ours, theirs = (self.values(m, cell, field) for m in pair)
        return Claim(text, ours, theirs, where)

    def orders(self) -> str:
        lines = []
        for name, (field, label) in product(self.sets, CLAIMED.items()):
            scores = {m.label: self.results.score(name, self.most, m, field) for m in s.METHODS}
            lines.append(f"- {name}, {label}: {in_order(scores)}.")
        return "\n".join(lines)

    def tables(self) -> Iterator[Table]:
        for name, (field, label) in product(self.sets, MEASURES.items()):
            header = [f"{name}, {label}", *(f"{cell.share:g} N" for cell in self.with_none)]
            rows = [(m.label, [(m, cell, field) for cell in self.with_none]) for m in s.METHODS]
            yield self._table(header, name, rows)

    def _table(self, header: Sequence[str], name: str, rows: Sequence[Any]) -> Table:
        cells = [[label, *(self.values(*of)(name) for of in columns)] for label, columns in rows]
        return Table(header, cells, is_marked=True, average=Score.with_interval)

    def table_5(self) -> Table:
        rows = [("k-means", s.KMEANS, s.NO_ANSWERS)]
        rows.append(("DCRC without answers", s.DEFAULT, s.NO_ANSWERS))
        kinds = [(m, "pairs" if m.answers == "pairs" else "triplets") for m in s.BY_PEOPLE[s.ONE]]
        rows += [(f"{m.label}, 150 {kind}", m, s.ONE) for m, kind in kinds]
        rows += [(f"{m.label}, 225 pairs", m, s.MORE) for m in s.ON_PAIRS]
        return self._measures(s.BIRDS, rows)

    def annotators(self) -> Iterator[Table]:
        rows = [("k-means", s.KMEANS, s.NO_ANSWERS)]
        rows += [(m.label, m, s.SIX) for m in s.BY_PEOPLE[s.SIX]]
        yield from (self._measures(name, rows) for name in self.sets if name in s.PEOPLE_SETS)

    def _measures(self, name: str, rows: Sequence[tuple[str, Method, s.Cell]]) -> Table:
        cells = [(label, [(m, cell, field) for field in MEASURES]) for label, m, cell in rows]
        return self._table([name, *MEASURES.values()], name, cells)

    def seconds(self) -> Table:
        rows = []
        for m in s.METHODS:
            scores = [self.results.score(n, self.most, m, "fit_seconds") for n in self.sets]
            rows.append([m.label, *(f"{x.mean:.2f}" if x.is_known else "–" for x in scores)])
        return Table([self.most.name, *self.sets], rows)

    def shares(self) -> Table:
        kinds, shares = boundaries.EPSILONS, boundaries.shares
        rows = [[f"groups {w}", *(shares(w, kind) for kind in kinds)] for w in boundaries.WIDTHS]
        return Table(["", *kinds], rows)

    def _curves(
        self, methods: Sequence[Method], stem: str, title: str, cells: Sequence[s.Cell]
    ) -> Curves:
        x, rows = [cell.share for cell in cells], []
        for field in CLAIMED:
            of = {n: partial(self.results.curve, n, cells, field=field, x=x) for n in self.sets}
            rows.append([Panel.of(n, x, methods, of[n], _style) for n in self.sets])
        return Curves(stem, title, rows, "triplets / N", ["F-measure", "ARI"])


def _style(method: Method) -> dict[str, Any]:
    stroke = ":" if not method.uses_answers else "--" if method in DASHED else "-"
    return {"color": COLORS[method], "linestyle": stroke}


def _information() -> Any:
    figure, grid = pictures.panels(1, 1)
    panel, k = grid[0, 0], np.arange(2, 21)
    curves = {
        "triplet, with don't-know": triplet_information(k),
        "triplet, yes or no only": triplet_information(k, dont_know=False),
        "pair": pair_information(k),
    }
    for (label, values), color in zip(curves.items(), (BLUE, SKY, ORANGE), strict=True):
        panel.plot(k, values, marker="o", markersize=3, label=label, color=color)
    pictures.tidied(panel, x_label="groups", y_label="mutual information, nats")
    pictures.legend_beside(panel)
    return figure


QUICK = s.DcrcStudy(1, s.SETS[-2:], "dcrc_quick", True, shares=s.SHARES[-1:])
FLAGS = {"all-sizes": ("0.05, 0.1, ... 0.3 N triplets.", {"shares": s.ALL_SHARES})}
HELP = "One trial, two small sets, one size"
command = study_command(s.DcrcStudy(), DcrcReport, __file__, QUICK, HELP, FLAGS)
