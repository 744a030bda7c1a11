"""The report of the study: goals, tables and pictures."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.studies.guided import study as s
from benchmarks.studies.guided.ablations import ABLATIONS, ALIKE
from benchmarks.study import pictures
from benchmarks.study.command import study_command
from benchmarks.study.methods import Method
from benchmarks.study.pictures import BLUE, GRAY, GREEN, ORANGE, PINK, RED, SKY
from benchmarks.study.report import Curves, Line, Panel, Picture, Table
from benchmarks.study.results import Results
from benchmarks.study.scores import Score, averaged, best_of, difference

#: Goals: lead over the comparators, area under the curve, largest loss by wrong answers.
LEAD, AUC, LOSS = 0.05, 0.85, 0.02
SLOW = ("guided", "e2cp", "coprf", "coprf_hard", "itml", "sklr", "dcrc")
COLORS = (BLUE, RED, GREEN, ORANGE, PINK, SKY, GRAY)
STEPS = {s.GUIDED: "all steps"} | {m: m.label for m in ABLATIONS}
ROUNDING = 1e-9
#: What guided clustering estimates about answers: fields of the log by heading.
ESTIMATES = {
    "AUC": "auc", "estimated share": "error_rate", "true share": "true_error",
    "interval holds it": "is_held",
}  # fmt: skip
Cells = Sequence[s.Cell]


class GuidedReport:
    """The parts of the report, made of the results."""

    def __init__(self, results: Results[s.GuidedStudy]) -> None:
        self.results, self.study, self.over = results, results.study, results.mean
        self.sets, self.errors = self.study.found_sets, self.study.errors
        self.n_sets, self.all = str(len(self.sets)), self.main()
        self.bars = Picture("ablations", "Ablations", self._bars)

    def main(self, *errors: float) -> list[s.Cell]:
        """Return the cells of the main part with these shares of wrong answers, by default all."""
        cells = self.study.cells("main")
        return [c for c in cells if c != s.NO_ANSWERS and c.error in (errors or self.errors)]

    def sets_of(self, part: str) -> list[str]:
        return [name for name in self.sets if name in s.PARTS[part].sets]

    def mean(self, cells: Cells, method: Method) -> Score:
        """Average over all sets, on points that all methods have."""
        return Score.of(self.over(self.sets, cells, method, s.EVERYWHERE))

    def gap(
        self, names: Sequence[str], cells: Cells, other: Method, beside: Sequence[Method] = ()
    ) -> Score:
        """Compare guided clustering with another method, on points that these and `beside` have."""
        both = (s.GUIDED, other)
        return difference(*(self.over(names, cells, m, (*both, *beside)) for m in both))

    def lead(self, cells: Cells, other: Method) -> Score:
        return self.gap(self.sets, cells, other, s.EVERYWHERE)

    def rival(self, name: str, cells: Cells) -> tuple[str, Score, Score]:
        """Return the best comparator on a set, its score, and the lead of guided clustering."""
        value = partial(self.over, [name], cells)
        best, score = best_of(s.COMPARATORS, lambda m: Score.of(value(m, (s.GUIDED, m))))
        return (best.label, score, self.gap([name], cells, best)) if best else ("–", score, score)

    def estimates(self, cells: Cells) -> list[Score]:
        of = partial(self.over, self.sets, cells, s.GUIDED)
        return [Score.of(of(field=field)) for field in ESTIMATES.values()]

    def gain(self, names: Sequence[str], cell: s.Cell) -> Score:
        def mean(of: s.Cell) -> pd.Series:
            return averaged([self.results.values(name, of, s.GUIDED) for name in names])

        return difference(mean(cell), mean(s.NO_ANSWERS))

    def in_short(self) -> Iterator[str | Table]:
        best, score = best_of(s.COMPARATORS, partial(self.mean, self.all))
        if best is None:
            yield "The main part is not measured."
            return
        lead, (auc, *_) = self.lead(self.all, best), self.estimates(self.main(0.15))
        lines = [
            f"The mean ARI over all cells is {self.mean(self.all, s.GUIDED)}; the best comparator, "
            f"{best.label}, has {score}. The lead is {lead} ({_reached(lead.mean >= LEAD)}; "
            f"the goal is {LEAD})."
        ]
        leads = []
        for cell in self.all:
            best, score = best_of(s.COMPARATORS, partial(self.mean, [cell]))
            if best:
                gap = self.mean([cell], s.GUIDED).mean - score.mean
                leads.append((gap, f"{gap:+.3f} over {best.label} ({cell.name})"))
        n_above = sum(gap >= 0 for gap, _ in leads)
        lines += [
            f"The mean ARI is at least that of every comparator in {n_above} of {len(leads)} cells "
            f"({_reached(n_above == len(leads))}); the smallest lead is {min(leads)[1]}.",
            f"With 15 % wrong answers, the AUC of finding them is {auc} "
            f"({_reached(auc.mean >= AUC)}; the goal is {AUC}).",
            self._losses(),
        ]
        others = [m for m in s.EVERYWHERE if m not in (s.GUIDED, *s.COMPARATORS)]
        best, score = best_of(others, partial(self.mean, self.all))
        if best:
            lines.append(
                f"The best of the other methods that run on all sets is {best.label} with "
                f"{score}: {self.lead(self.all, best)}."
            )
        yield "\n".join(f"- {line}" for line in lines)
        rows = [[_wrong(e), self._n_below(e), *self.estimates(self.main(e))] for e in self.errors]
        yield Table(["means over all", "below the best (at single amounts)", *ESTIMATES], rows)

    def _losses(self) -> str:
        worst = max(self.errors)
        points = product(self.sets, self.main(worst))
        gains = [(self.gain([name], c).mean, f"{name}, {c.amount}") for name, c in points]
        losses = sorted(gain for gain in gains if gain[0] < -LOSS)
        text = "; ".join(f"{place}: {gain:+.3f}" for gain, place in losses[:5])
        return (
            f"With {100 * worst:g} % wrong answers, the ARI is more than {LOSS} below that without "
            f"answers for {len(losses)} of {len(gains)} combinations of a set and an amount "
            f"({_reached(not losses)})" + (f": {text}." if text else ".")
        )

    def _n_below(self, error: float) -> str:
        """Count the sets where the best comparator is more than a standard error above."""
        cells, texts = self.main(error), []
        for points in ([cells], [[cell] for cell in cells]):
            gaps = [self.rival(name, point)[2] for name in self.sets for point in points]
            known = [gap for gap in gaps if gap.is_known]
            below = [g for g in known if g.mean < -np.nan_to_num(g.error) - ROUNDING]
            texts.append(f"{len(below)} of {len(known)}")
        return f"{texts[0]} ({texts[1]})"

    def curves(self) -> Curves:
        means = {m: self.mean(self.all, m).mean for m in s.EVERYWHERE}
        others = [m for m in means if m != s.GUIDED and not np.isnan(means[m])]
        shown = [s.GUIDED, *sorted(others, key=lambda m: -means[m])]
        row = []
        for error in self.errors:
            cells, lines = self.main(error), []
            for m, color in zip(shown, COLORS, strict=False):
                columns = [self.over(self.sets, [cell], m, s.EVERYWHERE) for cell in cells]
                style = {"color": color, "linewidth": 2.2 if m == s.GUIDED else 1.1}
                lines.append(Line(m.label, pd.concat(columns, axis=1), style))
            ticks = [cell.amount for cell in cells]
            row.append(Panel(_wrong(error), range(len(cells)), lines, ticks))
        title = "ARI by the number of answers"
        return Curves("curves", title, [row], "answers", ["mean ARI over sets"])

    def by_amount(self) -> Iterator[Table]:
        for error in self.errors:
            columns = [*([cell] for cell in self.main(error)), self.main(error)]
            rows = [[m.label, *(self.mean(of, m) for of in columns)] for m in s.EVERYWHERE]
            bests = [best_of(s.COMPARATORS, partial(self.mean, of))[0] for of in columns]
            leads = [self.lead(of, m) if m else "–" for of, m in zip(columns, bests, strict=True)]
            rows.append(["best comparator", *(best.label if best else "–" for best in bests)])
            rows.append(["guided ahead by", *leads])
            amounts = [cell.amount for cell in self.main(error)]
            yield Table([_wrong(error), *amounts, "mean"], rows, is_marked=True)

    def over_all(self) -> Table:
        rows = [(m.label, self.mean(self.all, m)) for m in s.EVERYWHERE]
        rows.sort(key=lambda row: -np.nan_to_num(row[1].mean, nan=-9.0))
        return Table(["all sets, amounts and shares", "ARI"], rows)

    def limited(self) -> Table:
        rows = []
        for m in s.LIMITED:
            most = f", {m.max_answers:,} answers" if m.max_answers < 10_000 else ""
            gaps = [self.gap(self.sets, self.main(error), m) for error in self.errors]
            rows.append([m.label, f"{m.max_rows:,} rows{most}", *gaps])
        return Table(["guided ahead of", "run up to", *map(_wrong, self.errors)], rows)

    def by_set(self) -> Iterator[Table]:
        columns = ["guided", "no answers", "best comparator", "its", "gap"]
        for error in self.errors:
            cells, rows = self.main(error), []
            for name in self.sets:
                ours = self.over([name], cells, s.GUIDED)
                without = self.results.values(name, s.NO_ANSWERS, s.GUIDED)
                rows.append([name, ours, without, *self.rival(name, cells)])
            yield Table([_wrong(error), *columns], rows)

    def about_answers(self) -> Table:
        rows = [[c.name.removeprefix("pairs, "), *self.estimates([c])] for c in self.all]
        return Table(["mean over sets", *ESTIMATES], rows)

    def beside_no_answers(self) -> Table:
        worst = max(self.errors)
        where = {name: [name] for name in self.sets} | {"mean": self.sets}
        rows = [[k, *(self.gain(of, cell) for cell in self.main(worst))] for k, of in where.items()]
        return Table([_wrong(worst), *(cell.amount for cell in self.main(worst))], rows)

    def seconds(self) -> Table:
        methods, rows = [m for m in s.METHODS if m.name in SLOW], []
        for name in self.sets:
            spent = [
                pd.concat([self.results.values(name, c, m, "fit_seconds") for c in self.all])
                for m in methods
            ]
            rows.append([name, *(f"{of.mean():.2f}" if of.count() else "–" for of in spent)])
        return Table(["mean over cells", *(m.label for m in methods)], rows)

    def kinds(self) -> Iterator[Table]:
        names, common = self.sets_of("kinds"), [m for m in s.KIND_METHODS if m in s.EVERYWHERE]
        others = [m for m in (*s.KIND_METHODS, *s.COMPARING) if m not in common]
        kinds = self.study.cells("kinds")
        for amount, error in dict.fromkeys((cell.amount, cell.error) for cell in kinds):
            cells = [[s.Cell(kind, amount, error)] for kind in s.KINDS]
            mean, gap = partial(self.over, names), partial(self.gap, names)
            rows = [[m.label, *(mean(of, m, common) for of in cells)] for m in common]
            ahead = [[f"guided ahead of {m.label}", *(gap(of, m) for of in cells)] for m in others]
            yield Table([f"{amount}, {_wrong(error)}", *s.KINDS], [*rows, *ahead], is_marked=True)

    def people(self) -> Iterator[Table]:
        """Compare answers with and without annotators; the comparator has the better of the two."""
        columns = ["names known", "alike at first", "names dropped", "best comparator", "its"]
        sets, cells = self.sets_of("people"), self.study.cells("people")
        for named, dropped in zip(cells[::2], cells[1::2], strict=True):
            rows = []
            for label, of in ({name: [name] for name in sets} | {"mean": sets}).items():
                best, theirs = best_of(s.COMPARATORS, partial(self._better, of, (named, dropped)))
                ours = ((named, s.GUIDED), (named, ALIKE), (dropped, s.GUIDED))
                scores = [self.over(of, [c], m) for c, m in ours]
                rows.append([label, *scores, best.label if best else "–", theirs])
            yield Table([named.name, *columns], rows)

    def _better(self, names: Sequence[str], cells: Cells, method: Method) -> Score:
        scores = [Score.of(self.over(names, [c], method, s.COMPARATORS)) for c in cells]
        return max(scores, key=lambda score: np.nan_to_num(score.mean, nan=-9.0))

    def ablated(self, method: Method, *errors: float, field: str = "ari") -> pd.Series:
        cells = [c for c in self.study.cells("ablation") if c.error in (errors or self.errors)]
        return self.over(self.sets_of("ablation"), cells, method, tuple(STEPS), field)

    def ablations(self) -> Table:
        rows = []
        for m, label in STEPS.items():
            seconds = Score.of(self.ablated(m, field="fit_seconds"))
            gap = difference(self.ablated(m), self.ablated(s.GUIDED)) if m in ABLATIONS else ""
            row = [label, *(self.ablated(m, error) for error in self.errors), gap]
            rows.append([*row, f"{seconds.mean:.2f}" if seconds.is_known else "–"])
        return Table(["", *map(_wrong, self.errors), "minus all steps", "s"], rows)

    def _bars(self) -> Any:
        figure, grid = pictures.panels(1, 1, figsize=(7.5, 3.6))
        panel, rows = grid[0, 0], np.arange(len(STEPS))
        height = 0.8 / len(self.errors)
        for i, (error, color) in enumerate(zip(self.errors, (BLUE, SKY, GRAY), strict=False)):
            scores = [Score.of(self.ablated(m, error)) for m in STEPS]
            mean, deviation = np.nan_to_num([(of.mean, of.error) for of in scores]).T
            style = {"color": color, "label": _wrong(error), "xerr": deviation}
            panel.barh(rows + i * height, mean, height, **style)
        panel.set_yticks(rows + 0.4 - height / 2, list(STEPS.values()))
        panel.invert_yaxis()
        pictures.tidied(panel, x_label="mean ARI")
        pictures.legend_beside(panel)
        return figure


def _wrong(error: float) -> str:
    return f"{100 * error:g} % wrong"


def _reached(is_so: bool) -> str:
    return "reached" if is_so else "**not reached**"


QUICK = s.GuidedStudy(1, ("glass", "iris"), "guided_quick", True, amounts=("N",))
command = study_command(
    s.GuidedStudy(), GuidedReport, __file__, QUICK, "One trial, two small sets, one amount"
)
