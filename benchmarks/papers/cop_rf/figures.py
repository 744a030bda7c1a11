"""The parts of ``report.md`` for Figures 6, 13 and 14: affinities, faces, and scores of answers."""

from collections.abc import Iterator
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.papers.cop_rf import study as s
from benchmarks.study import pictures as pic
from benchmarks.study.methods import Method
from benchmarks.study.report import Block, Claim, Curves, Panel, Picture, Report, Table, above
from benchmarks.study.results import Results
from benchmarks.study.scores import averaged

#: Suffixes of field names, and what they mean.
ENDS = {"": "median preference", "_at_k": "as many groups as people"}
COLORS = (*[pic.GRAY] * 2, *[pic.ORANGE] * 2, pic.RED, pic.BLUE, pic.PINK, pic.SKY, pic.GREEN)
FACE_COLORS = dict(zip(s.EXEMPLARS, COLORS, strict=True))
EUCL, _, RF, RF_LINKS, HARD, DEFAULT = s.EXEMPLARS[:6]
KINDS, MEDIAN = ("right", "wrong"), s.QUANTILES.index(0.5)
CLEAN, NOISY = s.TABLES[:2]


class FigureParts(Report[s.CopRfStudy]):
    """The parts of the report that belong to these figures."""

    def __init__(self, results: Results[s.CopRfStudy]) -> None:
        super().__init__(results)
        self.shown = [name for name in s.SHOWN_SETS if name in self.sets]
        self.face_sets = [name for name in s.FACE_SETS if name in self.sets]

    def affinities(self) -> Iterator[Block]:
        fields = {"AUC": "auc", "within": "within"}
        for name in self.shown:
            points = list(product(fields, CLEAN.cells(name)[::2]))
            of = partial(self.results.values, name)
            rows = [[m.label, *(of(c, m, fields[k]) for k, c in points)] for m in s.BLOCKS]
            yield Table([name, *(f"{k}, {c.amount} answers" for k, c in points)], rows)
            draw = partial(self.matrices, name)
            yield Picture(f"blocks_{name}", f"Affinities, {name}", draw, n_colors=64)

    def affinity_claims(self) -> Iterator[Claim]:
        *others, hard, default = s.BLOCKS

        def auc(name: str, method: Method, place: int = -1) -> pd.Series:
            return self.results.values(name, CLEAN.cells(name)[place], method, "auc")

        rivals = {m.label: partial(auc, method=m) for m in others}
        text = "above SL, E2CP and RF+E2CP with most answers"
        for m in (hard, default):
            yield Claim(f"{m.label} {text}", partial(auc, method=m), rivals, self.shown)
        most, fewest = (partial(auc, method=hard, place=place) for place in (-1, 0))
        text = f"{hard.label} with most answers above {hard.label} with fewest"
        yield Claim(text, most, fewest, self.shown)

    def matrices(self, name: str) -> Any:
        study, y, cells = self.study, s.problem(name).y, CLEAN.cells(name)[::2]
        size = (2.1 * len(s.BLOCKS), 2.25 * len(cells) + 0.4)
        figure, grid = pic.panels(len(cells), len(s.BLOCKS), figsize=size)
        for panels, cell in zip(grid, cells, strict=True):
            known = s.answers(name, cell, 0)
            for panel, m in zip(panels, s.BLOCKS, strict=True):
                between = s.affinity(name, m, known, study.n_trees, study.seed(name, 0))
                between = np.array(between, dtype=np.float64)
                np.fill_diagonal(between, 0.0)
                pic.matrix_picture(panel, between, y)
                auc = self.results.values(name, cell, m, "auc").mean()
                panel.set_xlabel(f"AUC {auc:.3f}", fontsize=8)
                panel.set_title(m.label if cell == cells[0] else "", fontsize=9)
            panels[0].set_ylabel(f"{cell.amount} answers", fontsize=9)
        figure.suptitle(f"Affinities on {name}, rows sorted by class", fontsize=11)
        return figure

    def faces(self) -> Iterator[Block]:
        for name in self.face_sets:
            of = s.problem(name)
            yield f"### {name}: {len(of.y)} images of {of.n_classes} people"
            yield from (self.face_table(name, end) for end in ENDS)
        rows = [[self.face_panel(name, end) for name in self.face_sets] for end in ENDS]
        options = {"width": 3.8, "height": 2.8}
        if self.face_sets:
            yield Curves("faces", "Affinity propagation on faces", rows, "answers", options=options)

    def face_curve(self, name: str, end: str, method: Method, field: str = "ari") -> pd.DataFrame:
        field += end if method in s.EXEMPLARS else ""
        return self.results.curve(name, CLEAN.cells(name), method, field)

    def face_mean(self, at: tuple[str, str], method: Method) -> pd.Series:
        """Average the ARI over the numbers of answers, by trial."""
        curve = self.face_curve(*at, method)
        return averaged([curve[column] for column in curve])

    def face_table(self, name: str, end: str) -> Table:
        rows: list[list[Any]] = []
        for m in (*s.EXEMPLARS, *s.REFERENCES) if end else s.EXEMPLARS:
            curve = self.face_curve(name, end, m)
            groups, converged = (
                self.face_curve(name, end, m, field).stack().astype(float).mean()
                for field in ("n_groups", "is_converged")
            )
            notes = [None, None] if np.isnan(groups) else [f"{groups:.0f}", f"{1 - converged:.0%}"]
            mean = self.face_mean((name, end), m)
            rows.append([m.label, *(curve[column] for column in curve), mean, *notes])
        header = [f"{amount} answers" for amount in s.amounts(name)]
        return Table([ENDS[end], *header, "mean", "groups", "not converged"], rows)

    def face_claims(self) -> Iterator[Claim]:
        places = product(self.face_sets, ENDS)
        where = {f"{name}, {ENDS[end]}": (name, end) for name, end in places}
        pairs = ((RF, EUCL), (RF_LINKS, RF), (HARD, RF_LINKS), (DEFAULT, RF_LINKS))
        yield from (above(*pair, self.face_mean, where) for pair in pairs)

    def face_panel(self, name: str, end: str) -> Panel:
        x, title = s.amounts(name), f"{name}, {ENDS[end]}"
        curve = partial(self.face_curve, name, end)
        return Panel.of(title, x, s.EXEMPLARS, curve, _style, list(map(str, x)))

    def doubts(self) -> Iterator[Block]:
        for name in self.shown:
            cells, rows = NOISY.cells(name), []
            for m in s.DOUBTS:
                auc = [self.results.values(name, cell, m, "auc") for cell in cells]
                medians = [self.quantile(name, m, kind).mean() for kind in KINDS]
                rows.append([m.label, *auc, *medians])
            header = [f"{cell.amount} answers" for cell in cells]
            yield Table([name, *header, *(f"median, {kind}" for kind in KINDS)], rows)
        right, wrong = (partial(self.quantile, method=s.DOUBTS[0], kind=kind) for kind in KINDS)
        text = "wrong answers have a higher median inconsistency"
        yield Claim(text, wrong, right, self.shown)
        if self.shown:
            yield Picture("doubts", "Scores of answers", self.boxes)

    def quantile(self, name: str, method: Method, kind: str, place: int = MEDIAN) -> pd.Series:
        found = self.results.values(name, NOISY.cells(name)[s.MIDDLE], method, kind)
        return found.map(lambda quantiles: quantiles[place]).astype(float)

    def boxes(self) -> Any:
        size = (3.0 * len(s.DOUBTS), 2.4 * len(self.shown) + 0.3)
        figure, grid = pic.panels(len(self.shown), len(s.DOUBTS), figsize=size)
        names = ("whislo", "q1", "med", "q3", "whishi")
        for row, name in zip(grid, self.shown, strict=True):
            for panel, m in zip(row, s.DOUBTS, strict=True):
                boxes = [
                    {n: self.quantile(name, m, kind, i).mean() for i, n in enumerate(names)}
                    for kind in KINDS
                ]
                drawn = panel.bxp(boxes, patch_artist=True, widths=0.5, showfliers=False)
                for patch, color in zip(drawn["boxes"], (pic.SKY, pic.RED), strict=True):
                    patch.set_facecolor(color)
                for line in drawn["medians"]:
                    line.set_color("black")
                auc = self.results.score(name, NOISY.cells(name)[s.MIDDLE], m, "auc")
                pic.tidied(panel, m.label if name == self.shown[0] else "", f"AUC {auc}")
                panel.grid(visible=False)
                panel.set_xticks([1, 2], KINDS)
            row[0].set_ylabel(name, fontsize=10)
        figure.suptitle(f"Scores of answers, {s.NOISE:.0%} of them wrong", fontsize=11)
        return figure


def _style(method: Method) -> dict[str, Any]:
    stroke = ":" if not method.uses_answers else "-" if method.input == "features" else "--"
    return {"color": FACE_COLORS[method], "linestyle": stroke}
