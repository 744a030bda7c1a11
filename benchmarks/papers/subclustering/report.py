"""The parts of ``report.md``: SJC on every set, by size and candidates; groups around medoids."""

import itertools
from collections.abc import Iterator
from functools import partial

import pandas as pd

from benchmarks.papers.subclustering import methods as m
from benchmarks.papers.subclustering import study as s
from benchmarks.study.command import study_command
from benchmarks.study.pictures import BLUE, GRAY, GREEN, ORANGE, PINK, RED
from benchmarks.study.report import Claim, Curves, Line, Panel, Report, Table
from benchmarks.study.results import Results
from benchmarks.study.scores import Score

SHOWN = dict(zip((m.AUTO, m.THESIS, m.FAST_PAM, m.LLOYD, m.SPECTRAL, m.BUBBLES),
                 (RED, BLUE, GREEN, GRAY, ORANGE, PINK), strict=True))  # fmt: skip
VARIED = (m.AUTO, m.THESIS, m.LLOYD, m.SPECTRAL, m.BUBBLES)


class SubclusteringReport(Report[s.SubclusteringStudy]):
    """The parts of the report, made of the results."""

    def __init__(self, results: Results[s.SubclusteringStudy]) -> None:
        super().__init__(results)
        self.sets = [name for name in self.sets if name != s.MEDOIDS]

    def value(self, name: str, method: m.Method, field: str = "sjc") -> pd.Series:
        return self.results.values(name, s.Cell(s.SIZES[name]), method, field)

    def table(self, methods: tuple[m.Method, ...], field: str) -> Table:
        rows = [[of.name, *(self.value(name, of, field) for name in self.sets)] for of in methods]
        return Table(["", *self.sets], rows, is_marked=field == "sjc")

    def scores(self) -> Table:
        return self.table((*m.OTHERS, m.THESIS, m.AUTO), "sjc")

    def seconds(self) -> Table:
        return self.table((*m.OTHERS, m.THESIS, m.AUTO), "seconds")

    def settings(self) -> Table:
        return self.table(m.OURS, "sjc")

    def claims(self) -> Iterator[Claim]:
        ours = partial(self.value, method=m.AUTO)
        for title, methods in (("every comparator", m.OTHERS), ("the thesis", m.OURS[-2:]),
                               ("rule and penalty, both scales", m.OURS[2:8])):  # fmt: skip
            others = {of.name: partial(self.value, method=of) for of in methods}
            yield Claim(f"above {title}", ours, others, self.sets)

    def reliability(self) -> Table:
        """Compare confidences with the share of exemplars of their center's class."""
        limits = (0.0, *m.CONFIDENCES, 1.0)
        rows = []
        for name in [*self.sets, None]:
            texts = []
            for part in range(len(limits) - 1):
                n, right, sure = (
                    sum(self.value(each, m.AUTO, f"{field}_{part}").sum()
                        for each in (self.sets if name is None else [name]))
                    for field in ("n", "right", "sure")
                )  # fmt: skip
                texts.append(f"{sure / n:.2f} → {right / n:.2f} ({n:,.0f})" if n else "–")
            rows.append([name or "all", *texts])
        spans = [f"{low:g} to {high:g}" for low, high in itertools.pairwise(limits)]
        return Table(["confidence", *spans], rows)

    def figure_4(self) -> Curves:
        faces = {n: k for n, k in zip(s.FACE_SETS, s.N_CLASSES, strict=True) if n in self.sets}
        lines, x = [], list(faces.values())
        for of, color in SHOWN.items() if faces else ():
            frame = pd.concat([self.value(name, of) for name in faces], axis=1, keys=x)
            lines.append(Line(of.name, frame, {"color": color}))
        panel = Panel("face-like sets", x, lines)
        return Curves("figure_4", "SJC by the number of classes", [[panel]], "classes", ("SJC",))

    def figure_5(self) -> Iterator[Table]:
        if s.VARIED not in self.sets:
            return
        row = [self.results.values(s.VARIED, s.Cell(10, each), m.AUTO, "sjc")
               for each in s.CANDIDATES]  # fmt: skip
        yield Table(["candidates", *(f"{each} K" for each in s.CANDIDATES)], [[m.AUTO.name, *row]])
        rows = [
            [of.name, *(self.results.values(s.VARIED, s.Cell(size), of, "sjc")
                        for size in s.SUBCLUSTER_SIZES)]
            for of in VARIED
        ]  # fmt: skip
        yield Table(["size", *map(str, s.SUBCLUSTER_SIZES)], rows, is_marked=True)

    def figure_2(self) -> Iterator[Table]:
        cells = [s.Cell(1, 0, k) for k in self.study.medoid_classes]
        for field, title in (("jcc", "JCC"), ("cost", "sum of distances"), ("seconds", "seconds")):
            rows = []
            for of in m.MEDOID_METHODS:
                values = [self.results.values(s.MEDOIDS, cell, of, field) for cell in cells]
                form = ".0f" if field == "cost" else ".3f"
                rows.append([of.name, *(Score.of(each).text(form) for each in values)])
            yield Table([title, *(cell.name for cell in cells)], rows)


command = study_command(
    s.SubclusteringStudy(), SubclusteringReport, __file__, s.QUICK, "One trial, the small sets"
)
