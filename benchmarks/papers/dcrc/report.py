"""The report of the study: tables, curves and the paper's claims."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.papers.dcrc import boundaries
from benchmarks.papers.dcrc import study as s
from benchmarks.study import report as parts
from benchmarks.study.methods import Method
from benchmarks.study.pictures import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PINK,
    RED,
    SKY,
    legend_beside,
    panels,
    tidied,
)
from benchmarks.study.report import Block, Claim, Claims, Curves, Line, Panel, Picture, Table
from benchmarks.study.results import Results
from benchmarks.study.scores import Score, in_order
from clew.questions import pair_information, triplet_information

__all__ = ["DcrcReport", "report"]

NOTES = """\
Y. Pei, X. Z. Fern, R. Rosales and T. V. Tjahja, "Discriminative clustering with relative
constraints". Pairwise F-measure, adjusted Rand index (ARI) and normalised mutual information (NMI),
mean ± half of the 95 % confidence interval over trials; the best of each column in bold. The paper
shows F only, which rewards merging: one single group has an F of a third or more.

- The paper's MSRCv2 and Stonefly9, and its Birdsong of 14 syllables, were not available. All
  features are standardised.
- Random triplets, answered by the classes: yes, no, don't-know. DCRC uses all of them; DCRC-YN,
  LSML, SSSVaD and SparseLP use yes and no. ITML, MMC (diagonal) and E2CP get a must-link and a
  cannot-link for every yes and no.
- Learned metrics, SKLR and k-means: k-means with 50 starts and the true number of groups. The
  parameters of the metrics (gamma of ITML, ridge of MMC, weight of LSML, sparsity of SparseLP) are
  chosen by the share of held-out answers that hold, in five folds.
- DCRC: clew's default, which starts from k-means and from SKLR's groups and chooses tau, lam and
  whether to use a kernel by held-out answers. As published: from k-means only, tau of .5, 1 and
  1.5. Hard: ε = 0. SKLR and E2CP are not in the paper.
- SSSVaD is rebuilt from descriptions of it; the paper that introduces it was not available."""
PEOPLE_NOTES = f"""\
The paper asked six people about 150 triplets and 225 pairs of syllables. Here one simulated person
answers as many questions about `{s.BIRDS}`, with the confusion of the paper's Table IV, its rows
divided by their sums; each trial is a person. The figures are not comparable with the paper's: it
is another set, and the classes are species."""
SIX_NOTES = f"""\
Six people, 150 triplets each: {", ".join(s.PEOPLE)}. "Careless" errs in a fifth of the answers,
"shy" answers don't-know to every other question, "swaps" exchanges yes and no half the time,
"spams" answers at random."""
INFORMATION_NOTES = """\
Mutual information of the true answer and the groups of the rows, in nats, by `clew.questions`."""
FITS_NOTES = """\
CPU seconds of the last fit, on one thread. Choosing parameters is included where the method does it
(DCRC, SKLR), and is not where the study does (ITML, MMC, LSML, SparseLP). The paper reports less
than two minutes for 1500 triplets on Birdsong."""
MEASURES = {"f": "F-measure", "ari": "ARI", "nmi": "NMI"}
#: The measures of claims.
CLAIMED = {"f": "F", "ari": "ARI"}
COLORS = dict(zip(s.OURS, (BLUE, GREY, BLUE, SKY, PINK, RED, ORANGE), strict=True)) | dict(
    zip(s.METHODS[7:], (GREEN, ORANGE, RED, SKY, PINK, GREY, GREEN, "black"), strict=True)
)
DASHED = (s.LINEAR, s.KERNEL, s.YES_NO, s.HARD, s.FREE, s.SKLR, s.E2CP)
SHOWN = tuple(m for m in s.METHODS if m not in (s.HARD, s.FREE))


def report(results: Results[s.DcrcStudy]) -> str:
    """Write the report."""
    study = results.study
    scale = f"{study.n_trials} trials, {', '.join(f'{share:g} N' for share in study.shares)}."
    title = "DCRC: Figures 2 and 4 to 7, Table V"
    return parts.write(results, title, NOTES, scale, DcrcReport(results).blocks())


class DcrcReport:
    """The parts of the report, made of the results."""

    def __init__(self, results: Results[s.DcrcStudy]) -> None:
        self.results, self.study = results, results.study
        self.sets = self.study.found_sets
        self.most = self.study.curve[-1]

    def blocks(self) -> Iterator[Block]:
        """Give all parts."""
        yield "## In short"
        yield "\n".join(
            f"- {m.label}, {label}, beside the comparators (set × size × method): "
            f"{parts.counted([self.above(m, s.COMPARATORS, field)])}."
            for m, (field, label) in product((s.DEFAULT, s.PUBLISHED), CLAIMED.items())
        )
        if s.DIGITS in self.sets:
            ours, theirs = (
                self.results.score(s.DIGITS, self.most, m, "f") for m in (s.DEFAULT, s.ITML)
            )
            yield f"Digits-389, {self.most.name}: DCRC F {ours}, ITML {theirs} (the paper .97)."
        yield f"## Figure 2: the information in an answer\n\n{INFORMATION_NOTES}"
        yield Picture("information", "Figure 2", information)
        yield "## Figure 4: by the number of triplets"
        yield self.curves(SHOWN, "curves", "Figure 4", self.study.curve)
        yield from self.tables()
        yield from figure_5()
        yield self.curves((s.LINEAR, s.HARD), "hard", "Figure 6: soft and hard", self.study.curve)
        cells = [s.NO_ANSWERS, *self.study.curve]
        methods = (s.LINEAR, s.FREE, s.KMEANS)
        yield self.curves(methods, "balance", "Figure 7: balance", cells)
        yield from self.people()
        yield f"## Time\n\n{FITS_NOTES}"
        yield self.seconds()
        yield "## The paper's claims"
        yield Claims(list(self.claims()))
        yield "### Methods in order, with most answers"
        yield "The paper: DCRC, then DCRC-YN and ITML, then the others."
        yield "\n".join(self.orders())

    def values(self, method: Method, cell: s.Cell, field: str) -> partial[pd.Series]:
        """Give a method's results in a cell, for a set."""
        return partial(self.results.values, cell=cell, method=method, field=field)

    def curve(self, method: Method, field: str) -> partial[pd.DataFrame]:
        """Give a method's curve over the number of triplets, for a set."""
        x = [f"{share:g} N" for share in self.study.shares]
        return partial(self.results.curve, cells=self.study.curve, method=method, field=field, x=x)

    def above(self, ours: Method, others: Sequence[Method], field: str, text: str = "") -> Claim:
        """Compare a method with others at every number of triplets."""
        curves = {m.label: self.curve(m, field) for m in others}
        names = "every comparator" if s.ITML in others else ", ".join(curves)
        return Claim(
            f"{text}{ours.label} above {names}, {CLAIMED[field]}",
            self.curve(ours, field),
            lambda name: {label: curve(name) for label, curve in curves.items()},
            self.sets,
        )

    def claims(self) -> Iterator[Claim]:
        """Give the paper's claims, and ours on the default."""
        others = (*s.COMPARATORS, s.KMEANS)
        for ours, field in product((s.DEFAULT, s.PUBLISHED, s.YES_NO), CLAIMED):
            yield self.above(ours, others, field)
        ours_and_theirs: list[tuple[str, Method, tuple[Method, ...]]] = [
            ("don't-knows help: ", s.LINEAR, (s.YES_NO,)),
            ("soft above hard: ", s.LINEAR, (s.HARD,)),
            ("balance helps: ", s.LINEAR, (s.FREE,)),
            ("clew's default: ", s.DEFAULT, (s.PUBLISHED,)),
            ("clew's default: ", s.DEFAULT, (s.LINEAR, s.KERNEL, s.SKLR, s.E2CP)),
        ]
        for (text, ours, others), field in product(ours_and_theirs, CLAIMED):
            yield self.above(ours, others, field, text)
        paper = {
            s.BIRDS: "the paper: helps without answers, hurts with many",
            s.LETTERS: "the paper: helps",
        }
        for name, cell, field in product(paper, (s.NO_ANSWERS, self.most), CLAIMED):
            text = f"balance helps with {cell.name}, {CLAIMED[field]} ({paper[name]})"
            yield self._one(text, cell, s.LINEAR, s.FREE, field, [name])
        text = f"DCRC above ITML with {self.most.name}, F (the paper's ITML has about .97)"
        yield self._one(text, self.most, s.DEFAULT, s.ITML, "f", [s.DIGITS])
        for cell, sets in ((s.ONE, [s.BIRDS]), (s.SIX, s.PEOPLE_SETS)):
            for ours, field in product(s.BY_PEOPLE[cell], CLAIMED):
                text = f"{cell.kind}: {ours.label} above k-means, {CLAIMED[field]}"
                yield self._one(text, cell, ours, s.KMEANS, field, sets)
            text = f"{cell.kind}: a confusion matrix for each annotator above ε = .15, F"
            yield self._one(text, cell, s.ANNOTATORS, s.FIFTEEN, "f", sets)

    def _one(
        self,
        text: str,
        cell: s.Cell,
        ours: Method,
        theirs: Method,
        field: str,
        sets: Sequence[str],
    ) -> Claim:
        where = [name for name in self.sets if name in sets]
        return Claim(text, self.values(ours, cell, field), self.values(theirs, cell, field), where)

    def orders(self) -> Iterator[str]:
        """List the methods by their means with most answers."""
        for name, (field, label) in product(self.sets, CLAIMED.items()):
            scores = {m.label: self.results.score(name, self.most, m, field) for m in s.METHODS}
            yield f"- {name}, {label}: {in_order(scores)}."

    def tables(self) -> Iterator[Table]:
        """Give a table for each set and measure."""
        cells = [s.NO_ANSWERS, *self.study.curve]
        for name, (field, label) in product(self.sets, MEASURES.items()):
            header = [f"{name}, {label}", *(f"{cell.share:g} N" for cell in cells)]
            rows = [[m.label, *(self.values(m, c, field)(name) for c in cells)] for m in s.METHODS]
            yield Table(header, rows, is_marked=True, average=Score.with_interval)

    def curves(
        self, methods: Sequence[Method], stem: str, title: str, cells: Sequence[s.Cell]
    ) -> Curves:
        """Draw F above and ARI below, a column for each set."""
        x = [cell.share for cell in cells]
        rows = [
            [
                Panel(
                    name,
                    x,
                    [
                        Line(m.label, self.results.curve(name, cells, m, field, x), _style(m))
                        for m in methods
                    ],
                )
                for name in self.sets
            ]
            for field in CLAIMED
        ]
        return Curves(stem, title, rows, "triplets / N", ["F-measure", "ARI"])

    def people(self) -> Iterator[Block]:
        """Give the tables of people who err."""
        base = [("k-means", s.KMEANS, s.NO_ANSWERS)]
        if s.BIRDS in self.sets:
            yield f"## Table V: one person\n\n{PEOPLE_NOTES}"
            rows = [*base, ("DCRC without answers", s.DEFAULT, s.NO_ANSWERS)]
            for m in s.BY_PEOPLE[s.ONE]:
                kind = "150 pairs" if m.answers == "pairs" else "150 triplets"
                rows.append((f"{m.label}, {kind}", m, s.ONE))
            rows += [(f"{m.label}, 225 pairs", m, s.MORE) for m in s.ON_PAIRS]
            yield self._measures(s.BIRDS, rows)
        asked = [name for name in self.sets if name in s.PEOPLE_SETS]
        if asked:
            yield f"## Annotators who differ\n\n{SIX_NOTES}"
        for name in asked:
            rows = [*base, *((m.label, m, s.SIX) for m in s.BY_PEOPLE[s.SIX])]
            yield self._measures(name, rows)

    def _measures(self, name: str, rows: Sequence[tuple[str, Method, s.Cell]]) -> Table:
        """Lay out a column for each measure."""
        cells = [
            [label, *(self.values(m, cell, field)(name) for field in MEASURES)]
            for label, m, cell in rows
        ]
        header = [name, *MEASURES.values()]
        return Table(header, cells, is_marked=True, average=Score.with_interval)

    def seconds(self) -> Table:
        """Lay out CPU seconds of a fit with most answers."""
        rows = []
        for m in s.METHODS:
            scores = [self.results.score(n, self.most, m, "fit_seconds") for n in self.sets]
            rows.append([m.label, *(f"{x.mean:.2f}" if x.is_known else "–" for x in scores)])
        return Table([self.most.name, *self.sets], rows)


def _style(method: Method) -> dict[str, Any]:
    stroke = ":" if not method.uses_answers else "--" if method in DASHED else "-"
    return {"color": COLORS[method], "linestyle": stroke}


def information() -> Any:
    """Draw the information in answers about pairs and triplets, by the number of groups."""
    figure, grid = panels(1, 1)
    k = np.arange(2, 21)
    curves = {
        "triplet, with don't-know": triplet_information(k),
        "triplet, yes or no only": triplet_information(k, dont_know=False),
        "pair": pair_information(k),
    }
    for (label, values), color in zip(curves.items(), (BLUE, SKY, ORANGE), strict=True):
        grid[0, 0].plot(k, values, marker="o", markersize=3, label=label, color=color)
    grid[0, 0].set_xlabel("groups", fontsize=9)
    grid[0, 0].set_ylabel("mutual information, nats", fontsize=9)
    tidied(grid[0, 0])
    legend_beside(grid[0, 0])
    return figure


def figure_5() -> Iterator[Block]:
    """Show and score soft and hard answers near boundaries."""
    yield "## Figure 5: soft and hard answers near boundaries"
    yield Picture("entropy", "Figure 5", boundaries.draw)
    yield (
        f"Share of rows in the right group, {boundaries.N_DRAWS} draws. The paper has, soft and "
        "hard, .883 and .833 close together, 1 and 1 far apart."
    )
    rows = [
        [f"groups {width}", *(boundaries.shares(width, kind) for kind in boundaries.EPSILONS)]
        for width in boundaries.WIDTHS
    ]
    yield Table(["", *boundaries.EPSILONS], rows)
