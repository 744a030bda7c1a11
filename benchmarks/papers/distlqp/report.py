"""``python -m benchmarks.papers distlqp``: tables, the thesis' claims, and Figure 3."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import pandas as pd

from benchmarks.papers.distlqp import study as s
from benchmarks.study.command import study_command
from benchmarks.study.pictures import BLUE, GRAY, GREEN, ORANGE, PINK, RED
from benchmarks.study.report import Claim, Curves, Line, Panel, Report, Table

#: Methods of Figure 3, with their colors.
SHOWN = {
    s.KMEANS: GRAY, s.KMEANS_PAPER: BLUE, s.COP_GIVEN: GREEN, s.COP_PAPER: ORANGE,
    s.COP_LQP: RED, s.COP_PATHS: PINK,
}  # fmt: skip
#: Figures of the thesis' Table 2.2: the share of rows in the class of their group.
PUBLISHED = {
    s.KMEANS: (0.3640, 0.2578), s.KMEANS_PAPER: (0.3749, 0.2635), s.COP_GIVEN: (0.3865, 0.2603),
    s.COP_PAPER: (0.4035, 0.2695), s.ITML: (0.3566, 0.2177), s.HMRF: (0.4576, 0.2633),
    s.NPKL: (0.3223, 0.2440),
}  # fmt: skip


class DistlqpReport(Report[s.DistlqpStudy]):
    """The parts of the report, made of the results."""

    def _table(self, cell: s.Cell, methods: Any, field: str, sets: Any = None) -> Table:
        names = [name for name in self.sets if sets is None or name in sets]
        rows = [
            [m.label, *(self.results.score(name, cell, m, field) for name in names)]
            for m in methods
        ]
        return Table([f"{cell.name}, {field.upper()}", *names], rows, is_marked=True)

    def tables(self) -> Iterator[Table]:
        for field in ("jcc", "ari"):
            for cell in self.study.curve:
                yield self._table(cell, s.METHODS, field)

    def table_2_2(self) -> Table:
        rows = []
        for m in s.METHODS:
            of = self.results.score(s.VIDEO, s.TRACKS, m, "accuracy")
            paper = PUBLISHED.get(m, ("", ""))
            rows.append([m.label, of, *(f"{x:.3f}" if x != "" else "" for x in paper)])
        header = ["accuracy", s.VIDEO, "BF0502-1 (thesis)", "BF0502-2 (thesis)"]
        return Table(header, rows, is_marked=True)

    def wrong(self) -> Iterator[Table]:
        for cell in s.WRONG:
            yield self._table(cell, s.WITH_ERRORS, "jcc")

    def seconds(self) -> Table:
        cell = self.study.curve[-1]
        rows = []
        for m in s.METHODS:
            found = [self.results.values(name, cell, m, "seconds") for name in self.sets]
            texts = [f"{of.astype(float).mean():.1f}" if len(of) else "–" for of in found]
            rows.append([m.label, *texts])
        return Table([f"{cell.name}, CPU seconds", *self.sets], rows)

    def chosen(self) -> Table:
        """Count which distances held-out answers chose."""
        rows = []
        for cell in self.study.curve:
            texts = []
            for name in self.sets:
                found = self.results.values(name, cell, s.CHOSEN, "chosen")
                counts = found.value_counts()
                texts.append(", ".join(f"{k} {n}" for k, n in counts.items()) or "–")
            rows.append([cell.name, *texts])
        return Table(["answers", *self.sets], rows)

    def claims(self) -> Iterator[Claim]:
        pairs = [
            (s.KMEANS_PAPER, s.KMEANS), (s.COP_PAPER, s.COP_GIVEN), (s.COP_PAPER, s.ITML),
            (s.COP_PAPER, s.HMRF), (s.COP_PAPER, s.NPKL),
            (s.KMEANS_LQP, s.KMEANS), (s.KMEANS_LQP, s.KMEANS_PAPER),
            (s.COP_LQP, s.COP_GIVEN), (s.COP_LQP, s.COP_PAPER), (s.COP_LQP, s.COP_PATHS),
            (s.CHOSEN, s.COP_GIVEN), (s.CHOSEN, s.COP_LQP), (s.CHOSEN, s.COP_PATHS),
        ]  # fmt: skip
        for ours, theirs in pairs:
            text = f"{ours.label} above {theirs.label}"
            of = partial(self._values, ours), partial(self._values, theirs)
            yield Claim(text, *of, self.sets)

    def _values(self, method: s.Method, name: str) -> pd.DataFrame:
        return self.results.curve(name, self.study.curve, method, "jcc")

    def figure_3(self) -> Curves:
        row = []
        x = [cell.per_row for cell in self.study.curve]
        for name in self.sets:
            lines = []
            for m, color in SHOWN.items():
                curve = self.results.curve(name, self.study.curve, m, "jcc", x=x)
                style = {"color": color, "linestyle": "-" if m.clusterer == s.COP else "--"}
                lines.append(Line(m.label, curve, style))
            row.append(Panel(name, x, lines))
        options = {"width": 2.8, "height": 2.6}
        title = "Jaccard coefficient over answers for each row"
        return Curves("curves", title, [row], "answers for each row", ("JCC",), options=options)


QUICK = s.DistlqpStudy(1, (s.SMALL_LEAVES,), "distlqp_quick", True, curve=s.CURVE[:1])
command = study_command(
    s.DistlqpStudy(), DistlqpReport, __file__, QUICK, "One trial, small leaves, one size"
)
