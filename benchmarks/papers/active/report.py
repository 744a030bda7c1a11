"""The parts of ``report.md``: answers to each level of agreement, curves, and the limit."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.papers.active import methods as m
from benchmarks.papers.active import problems as data
from benchmarks.papers.active import study as s
from benchmarks.papers.active.limit import limit
from benchmarks.study import pictures
from benchmarks.study.command import study_command
from benchmarks.study.report import Block, Picture, Report, Table
from benchmarks.study.results import Results
from benchmarks.study.scores import Score

CLEAN, WRONG, WORSE = s.CELLS
DRAWN = {
    m.GUIDED: pictures.RED, m.MARGIN: pictures.ORANGE, m.MOST_PROBABLE: pictures.GREEN,
    m.THESIS: pictures.BLUE, m.EXPLORE: pictures.PINK, m.COBRAS: pictures.SKY,
    m.RANDOM: pictures.GRAY,
}  # fmt: skip
LINES = dict(zip(m.STARTS, (":", "--", "-."), strict=True))
ALL = (*m.STRATEGIES, m.LARGE_BATCHES, *m.PEERS, *m.STARTS)
FORMS = {"to": ".0f", "qu": ".4f"}
N_COLUMNS = 5


class ActiveReport(Report[s.ActiveStudy]):
    """The parts of the report, made of the results."""

    def __init__(self, results: Results[s.ActiveStudy]) -> None:
        super().__init__(results)
        self.real = [name for name in self.sets if name in data.PEOPLE]
        self.large = [name for name in self.sets if name in data.LARGE]
        self.small = [name for name in self.sets if name not in (*self.real, *self.large)]

    def _score(self, name: str, cell: s.Cell, method: m.Method, field: str) -> Score:
        if not method.uses_answers:
            cell, field = s.START, "jcc" if field.startswith("at") else field
        return Score.of(self.results.values(name, cell, method, field))

    def _table(
        self, methods: Sequence[m.Method], columns: Sequence[tuple[str, s.Cell, str]]
    ) -> Table:
        """Lay out fields of sets and cells, the best of each column in bold."""
        rows = {of.name: [self._score(name, cell, of, field) for name, cell, field in columns]
                for of in methods}  # fmt: skip
        rows = {name: row for name, row in rows.items() if any(each.is_known for each in row)}
        texts = [[name] for name in rows]
        for i, (_, _, field) in enumerate(columns):
            column = [row[i] for row in rows.values()]
            best = np.nanmax([sign_of(field) * each.mean for each in column] or [0.0])
            for text, each in zip(texts, column, strict=True):
                is_best = np.isfinite(best) and sign_of(field) * each.mean == best
                text.append(f"**{text_of(each, field)}**" if is_best else text_of(each, field))
        parts = [[name, cell.name, field] for name, cell, field in columns]
        differ = [i for i in range(3) if len({part[i] for part in parts}) > 1] or [0]
        return Table(["", *(", ".join(part[i] for i in differ) for part in parts)], texts)

    def _tables(self, shown: Sequence[tuple[s.Cell, str]]) -> Iterator[Block]:
        for cell, field in shown:
            yield f"{field.capitalize()}, {cell.name}:"
            yield self._table(ALL, [(name, cell, field) for name in self.small])

    def answers(self) -> Iterator[Block]:
        shown = [(CLEAN, f"to {level}") for level in s.LEVELS]
        return self._tables([*shown, (WRONG, "to 0.9")])

    def agreement(self) -> Iterator[Block]:
        return self._tables([
            (CLEAN, "at 1N"), (CLEAN, "at 3N"), (WRONG, "at 1N"), (WRONG, "at 3N"),
            (WORSE, "at 3N"), (WRONG, "ari"), (CLEAN, "fall"), (WRONG, "fall"), (WORSE, "fall"),
        ])  # fmt: skip

    def seconds(self) -> Table:
        columns = [(name, CLEAN, "question_seconds") for name in (*self.small, *self.large)]
        return self._table((*m.STRATEGIES, *m.PEERS), columns)

    def starts(self) -> Table:
        columns = [(name, CLEAN, "at 0N") for name in self.small]
        return self._table((*m.STARTS, m.GUIDED, *m.STARTS_BY_NUMBER), columns)

    def batches(self) -> Table:
        """Compare batches of 20 and of 5 in trials in which both reach a level."""
        fields = [f"to {level}" for level in s.LEVELS[:3]]
        reached = {(name, f): self._reached(name, f) for name in self.small for f in fields}
        rows = [[name, *(means_of(reached[name, f]) for f in fields)] for name in self.small]
        totals = [pd.concat([reached[name, f] for name in self.small]).sum() for f in fields]
        more = [f"{of['20'] / of['5'] - 1:+.1%}" if of["5"] else "–" for of in totals]
        return Table(["", *fields], [*rows, ["all", *more]])

    def _reached(self, name: str, field: str) -> pd.DataFrame:
        methods = (m.GUIDED, m.LARGE_BATCHES)
        values = [self.results.values(name, CLEAN, of, field) for of in methods]
        both = pd.concat(values, axis=1, keys=["5", "20"]).astype(float)
        return both.replace(np.inf, np.nan).dropna()

    def more(self) -> Table:
        cells = (WRONG, *s.MORE_CELLS)
        sets = [name for name in s.MORE_CELLS_OF if name in self.small]
        return self._table(m.STRATEGIES, [(n, cell, "at 3N") for n in sets for cell in cells])

    def replay(self) -> Table:
        fields = [f"at {k}N" for k in (0, 1, 3)]
        return self._table(
            (*m.REPLAYED, *m.STARTS), [(n, s.REPLAY, f) for n in self.real for f in fields]
        )

    def thesis_sizes(self) -> Table:
        shown = ((CLEAN, "to 0.9"), (CLEAN, "at 1N"), (CLEAN, "at 3N"), (WRONG, "at 3N"))
        return self._table((*m.FEW, *m.STARTS), [(n, *each) for n in self.large for each in shown])

    def best(self) -> Iterator[Table]:
        """Compare Guided with the best of all others, on each set."""
        levels = [f"to {level}" for level in s.LEVELS[:3]]
        for cell, fields in ((CLEAN, levels), (WRONG, ["at 3N"]), (WORSE, ["at 3N"])):
            rows = [[n, *(part for f in fields for part in self._beside(n, cell, f))]
                    for n in self.small]  # fmt: skip
            header = [part for f in fields for part in (f, "best other")]
            yield Table([cell.name, *header], rows)

    def _beside(self, name: str, cell: s.Cell, field: str) -> tuple[str, str]:
        others = {of.name: self._score(name, cell, of, field) for of in (*m.OTHERS, *m.PEERS)}
        known = {k: of for k, of in others.items() if np.isfinite(of.mean)}
        best = max(known, key=lambda k: sign_of(field) * known[k].mean, default="")
        other = f"{text_of(known[best], field)} ({best})" if best else "not reached"
        return text_of(self._score(name, cell, m.GUIDED, field), field), other

    def limits(self) -> Table:
        """Lay out the limit in answers a row, and the multiple that Guided needs for JCC .9."""
        rows = []
        for name in (*self.small, *self.large):
            bits = [self._score(name, s.START, m.LIMIT, f) for f in ("bits", "learned_bits")]
            row = [name, *(each.text(".2f") for each in bits)]
            for cell in s.CELLS:
                least = [limit(each.mean, cell.error) for each in bits]
                asked = self._score(name, cell, m.GUIDED, "to 0.9").mean
                times = asked / (least[0] * len(self.study.problem(name).y))
                row += [*(f"{each:.1f}" for each in least),
                        f"{times:.1f}" if np.isfinite(times) else "–"]  # fmt: skip
            rows.append(row)
        header = [f"{cell.name}: {text}" for cell in s.CELLS for text in ("limit", "learned", "×")]
        return Table(["", "bits", "learned", *header], rows)

    def curves(self) -> Iterator[Picture]:
        for cell, stem in zip(s.CELLS, ("clean", "wrong", "worse"), strict=True):
            yield self._picture(stem, f"JCC by answers a row, {cell.name}", self.small, cell)
        for cell, stem in zip(
            s.CELLS[: 2 * bool(self.large)], ("large", "large_wrong"), strict=False
        ):
            yield self._picture(stem, f"The sizes of the thesis, {cell.name}", self.large, cell)

    def _picture(self, stem: str, title: str, sets: Sequence[str], cell: s.Cell) -> Picture:
        return Picture(stem, title, partial(self._drawn, title, sets, cell), 64)

    def _drawn(self, title: str, sets: Sequence[str], cell: s.Cell) -> Any:
        n_columns = min(N_COLUMNS, len(sets))
        figure, grid = pictures.panels(-(-len(sets) // n_columns), n_columns)
        for place, name in zip(grid.flat, sets, strict=False):
            for of, color in DRAWN.items():
                curve = self.results.values(name, cell, of, "curve")
                if len(curve):
                    frame = pd.DataFrame(curve.tolist())
                    x = s.GRID[: frame.shape[1]].tolist()
                    pictures.line(place, x, frame, color=color, marker="", label=of.name)
            for of, style in LINES.items():
                level = self._score(name, s.START, of, "jcc").mean
                place.axhline(level, color="black", linestyle=style, linewidth=0.8, label=of.name)
            bits = self._score(name, s.START, m.LIMIT, "bits").mean
            place.axvline(limit(bits, cell.error), color="black", linewidth=1, label=m.LIMIT.name)
            place.set(xlim=(0, s.BUDGET), ylim=(0, 1.02))
            pictures.tidied(place, name, "answers a row")
        pictures.legend_beside(grid[0, -1])
        figure.suptitle(f"{title} (mean ± standard error)", fontsize=11)
        return figure


def means_of(trials: pd.DataFrame) -> str:
    """Write the mean of each column."""
    return " / ".join(f"{mean:.0f}" for mean in trials.mean()) if len(trials) else "–"


def sign_of(field: str) -> int:
    """Return 1 if more is better, otherwise -1."""
    return 1 if field.startswith(("at", "ari")) else -1


def text_of(score: Score, field: str) -> str:
    """Write a score; a level that some trial does not reach is infinite."""
    return "not reached" if np.isinf(score.mean) else score.text(FORMS.get(field[:2], ".2f"))


command = study_command(
    s.ActiveStudy(), ActiveReport, __file__, s.QUICK, "One trial of two small sets"
)
