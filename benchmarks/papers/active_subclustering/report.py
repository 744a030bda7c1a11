"""``python -m benchmarks.papers active_subclustering``: Figure 6, and tables of questions."""

from collections.abc import Iterator

import pandas as pd

from benchmarks.papers.active_subclustering import study as s
from benchmarks.study.command import study_command
from benchmarks.study.pictures import BLUE, GRAY, GREEN, ORANGE, PINK, RED
from benchmarks.study.report import Curves, Line, Panel, Report, Table
from benchmarks.study.scores import Score

LINES = (
    ("ActiveSubclustering", s.OURS, s.CELLS[0], RED),
    ("10 % wrong answers", s.OURS, s.CELLS[1], ORANGE),
    ("20 % wrong answers", s.OURS, s.CELLS[2], PINK),
    ("thesis", s.THESIS, s.CELLS[0], BLUE),
    ("thesis, 10 % wrong", s.THESIS, s.CELLS[1], GREEN),
    ("random questions", s.RANDOM, s.CELLS[0], GRAY),
)


class ActiveSubclusteringReport(Report[s.ActiveSubclusteringStudy]):
    """The parts of the report, made of the results."""

    def curve(self, name: str, method: s.Method, cell: s.Cell) -> pd.DataFrame:
        at = s.points_of(name)
        columns = [self.results.values(name, cell, method, f"sjc {n}") for n in at]
        return pd.concat(columns, axis=1, keys=at)

    def figure_6(self) -> Curves:
        panels = []
        for name in self.sets:
            lines = [
                Line(label, frame, {"color": color})
                for label, method, cell, color in LINES
                if len(frame := self.curve(name, method, cell).dropna())
            ]
            if lines:
                panels.append(Panel(name, s.points_of(name), lines))
        panels = panels or [Panel("no results", (), ())]
        return Curves("figure_6", "SJC by the number of questions", [panels], "questions", ("SJC",))

    def scores(self) -> Iterator[Table]:
        for share, title in ((0, "no questions"), (4, "a fifth"), (10, "half"), (20, "all")):
            rows = [
                [label, *(self._at(name, method, cell, share) for name in self.sets)]
                for label, method, cell, _ in LINES
            ]
            yield Table([title, *self.sets], rows, is_marked=share > 0)

    def _at(self, name: str, method: s.Method, cell: s.Cell, point: int) -> pd.Series:
        return self.results.values(name, cell, method, f"sjc {s.points_of(name)[point]}")

    def to_target(self) -> Table:
        rows = []
        for label, method, cell, _ in LINES:
            texts = []
            for name in self.sets:
                all_of = self.results.values(name, cell, method, f"sjc {s.points_of(name)[-1]}")
                found = self.results.values(name, cell, method, "to target").dropna().astype(float)
                mean = Score.of(found).text(".0f") if len(found) else "–"
                missed = len(all_of) - len(found)
                texts.append(mean if not missed else f"{mean} ({missed} never)")
            rows.append([label, *texts])
        return Table(["questions", *self.sets], rows)

    def seconds(self) -> Iterator[Table]:
        for field, title in (("start", "start, s"), ("per question", "a question, ms")):
            rows = [
                [label, *(self.results.values(name, cell, method, field)
                          for name in self.sets)]
                for label, method, cell, _ in LINES
            ]  # fmt: skip
            yield Table([title, *self.sets], rows)


command = study_command(
    s.ActiveSubclusteringStudy(), ActiveSubclusteringReport, __file__, s.QUICK,
    "One trial, two small sets",
)  # fmt: skip
