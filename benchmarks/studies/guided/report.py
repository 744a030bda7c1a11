"""The report of the study: what was to be reached, tables and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.studies.guided import study as s
from benchmarks.studies.guided.ablations import ABLATIONS, ALIKE
from benchmarks.study import pictures
from benchmarks.study import report as parts
from benchmarks.study.methods import Method
from benchmarks.study.pictures import BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY
from benchmarks.study.report import Block, Curves, Line, Panel, Picture, Table
from benchmarks.study.results import Results
from benchmarks.study.scores import Score, averaged, difference

__all__ = ["GuidedReport", "report"]

NOTES = f"""\
Adjusted Rand index (ARI), mean ± standard error over trials; the best of each column in bold.

- All sets of fewer than 2,500 rows. Features are standardized; those of pictures are not (digits as
  they are, 50 principal components of olivetti_64x64, 30 of pie10_32x32 with the first 100 pictures
  of each person). apfaces_900 has distances alone: its features are 30 coordinates of classical
  scaling. Every method gets the same features; GuidedClustering has `standardize=False`.
- Random pairs, an exact share of them answered wrong: a quarter, one and two for each row (N/4, N,
  2N), and .1 % and .5 % of all pairs. The number of groups is the true one.
- Comparators: E2CP, soft and hard COP-RF, RF+E2CP, ITML, constrained linkage, Ward and Euclidean
  spectral clustering. Hard COP-RF is as published, without the answers that its inconsistency calls
  wrong. Forests of comparators have {s.N_TREES} trees.
- A method that refuses contradictory answers, or finds no groups, counts with Ward's groups.
- Methods without answers are run once for each trial. LSML, SparseLP and SSSVaD take no pairs: they
  are in the tables of kinds."""
TIME_NOTES = "CPU seconds of a fit, on one thread; SKLR's and DCRC's within their limits."
KIND_NOTES = """\
The same number of questions, random ones: the answer to many about three rows is don't-know. E2CP,
COP-RF and ITML get the pairs that the answers imply; LSML, SparseLP and SSSVaD get comparisons
only: no pairs, and no "none differs"."""
PEOPLE_NOTES = f"""\
Pairs, asked of people in turn. Wrong answers of four people:
{", ".join(f"{name} {100 * rate:g} %" for name, rate in s.PEOPLE["four people"].items())}; of two
good people 3 %. "Alike at first": names are known, but the constrained members weight all people
alike. Of comparators the better of names known and dropped."""
ABLATION_NOTES = """\
One step left out, or replaced. Means over eight sets of fewer than 900 rows; N/4, N, 2N answers."""
#: What is to be reached: lead over the comparators, area under the curve, loss by wrong answers.
LEAD, AUC, LOSS = 0.05, 0.85, 0.02
SLOW = ("guided", "e2cp", "coprf", "coprf_hard", "itml", "sklr", "dcrc")
COLORS = (BLUE, RED, GREEN, ORANGE, PINK, SKY, GREY)
STEPS = (s.GUIDED, *ABLATIONS)
ROUNDING = 1e-9
Cells = Sequence[s.Cell]


def report(results: Results[s.GuidedStudy]) -> str:
    """Write the report."""
    study = results.study
    title = "Guided clustering against the other methods"
    scale = f"{study.n_trials} trials, {len(study.found_sets)} sets."
    return parts.write(results, title, NOTES, scale, list(GuidedReport(results).blocks()))


class GuidedReport:
    """The parts of the report, made of the results."""

    def __init__(self, results: Results[s.GuidedStudy]) -> None:
        self.results, self.study = results, results.study
        self.sets, self.errors = self.study.found_sets, self.study.errors
        self.over = results.mean
        self.all = self.main()

    def blocks(self) -> Iterator[Block]:
        """Give all parts."""
        yield "## In short"
        yield "\n".join(f"- {line}" for line in self.findings())
        yield "## By the number of answers\n\nMeans over sets."
        yield self.curves()
        yield from map(self.by_amount, self.errors)
        yield self.over_all()
        yield "Methods that take too long for all, on what they are run on:"
        yield self.limited()
        yield "## By set\n\nMeans over the numbers of answers."
        yield from map(self.by_set, self.errors)
        yield "## Estimates about the answers"
        yield self.about_answers()
        yield "## Beside no answers at all"
        yield self.beside_no_answers(max(self.errors))
        yield f"## Time\n\n{TIME_NOTES}"
        yield self.seconds()
        yield f"## Kinds of answers\n\n{KIND_NOTES}"
        amounts = self.study.amounts
        for amount, error in product(("N/4", "N"), (0.0, 0.15)):
            if amount in amounts and error in self.errors:
                yield self.kinds(amount, error)
        yield f"## Annotators who differ\n\n{PEOPLE_NOTES}"
        for people, amount in product(s.PEOPLE, ("N", "2N")):
            if amount in amounts:
                yield self.people(people, amount)
        yield f"## Ablations\n\n{ABLATION_NOTES}"
        yield Picture("ablations", "Ablations", self.bars)
        yield self.ablations()

    def main(self, *errors: float) -> list[s.Cell]:
        """Give the cells of the main part, of some shares of wrong answers or of all."""
        cells = self.study.cells("main")
        return [c for c in cells if c != s.NO_ANSWERS and c.error in (errors or self.errors)]

    def sets_of(self, part: str) -> list[str]:
        """Give the sets of a part."""
        return [name for name in self.sets if name in s.PARTS[part].sets]

    def mean(self, cells: Cells, method: Method) -> Score:
        """Average over all sets, on points that all methods have."""
        return Score.of(self.over(self.sets, cells, method, s.EVERYWHERE))

    def lead(self, cells: Cells, other: Method) -> Score:
        """Compare guided clustering with another method, on the same points as `mean`."""
        ours, theirs = (self.over(self.sets, cells, m, s.EVERYWHERE) for m in (s.GUIDED, other))
        return difference(ours, theirs)

    def gap(self, names: Iterable[str], cells: Cells, other: Method) -> Score:
        """Compare guided clustering with another method, on points that both have."""
        both, names = (s.GUIDED, other), list(names)
        return difference(*(self.over(names, cells, m, both) for m in both))

    def rival(self, name: str, cells: Cells) -> tuple[str, Score, Score]:
        """Give the best comparator on a set, its score, and the lead of guided clustering."""
        best, score = _best(lambda m: Score.of(self.over([name], cells, m, (s.GUIDED, m))))
        return (best.label, score, self.gap([name], cells, best)) if best else ("–", score, score)

    def estimate(self, cells: Cells, field: str) -> Score:
        """Average what guided clustering estimates about answers."""
        return Score.of(self.over(self.sets, cells, s.GUIDED, field=field))

    def findings(self) -> Iterator[str]:
        """Compare the results with what was to be reached."""
        best, score = _best(partial(self.mean, self.all))
        if best is None:
            yield "The main part is not measured."
            return
        lead = self.lead(self.all, best)
        yield (
            f"Over all, mean ARI {self.mean(self.all, s.GUIDED)}; the best comparator is "
            f"{best.label} with {score}. Lead {lead} ({_reached(lead.mean >= LEAD)}; "
            f"sought {LEAD})."
        )
        bests = {cell.name: _best(partial(self.mean, [cell])) for cell in self.all}
        leads = {
            cell.name: self.mean([cell], s.GUIDED).mean - bests[cell.name][1].mean
            for cell in self.all
            if bests[cell.name][0]
        }
        least, n_above = (
            min(leads, key=lambda name: leads[name]),
            sum(lead >= 0 for lead in leads.values()),
        )
        yield (
            f"At or above every comparator on the mean in {n_above} of {len(leads)} cells "
            f"({_reached(n_above == len(leads))}); least {least}: {leads[least]:+.3f} beside "
            f"{bests[least][0].label}."
        )
        counts = ", ".join(map(self._n_below, self.errors))
        yield (
            "More than a standard error below the best comparator of a set, over its amounts (and "
            f"at single amounts): {counts}."
        )
        yield from self._about_answers()
        others = [m for m in s.EVERYWHERE if m not in (s.GUIDED, *s.COMPARATORS)]
        best, score = _best(partial(self.mean, self.all), others)
        if best:
            yield (
                f"Of the other methods that run on all sets the best is {best.label} with "
                f"{score}: {self.lead(self.all, best)}."
            )

    def _n_below(self, error: float) -> str:
        cells, texts = self.main(error), []
        for points in ([cells], [[cell] for cell in cells]):
            gaps = [self.rival(name, point)[2] for name in self.sets for point in points]
            known = [gap for gap in gaps if gap.is_known]
            below = [g for g in known if g.mean < -np.nan_to_num(g.error) - ROUNDING]
            texts.append(f"{len(below)} of {len(known)}")
        return f"{texts[0]} ({texts[1]}) at {100 * error:g} %"

    def _about_answers(self) -> Iterator[str]:
        for error in self.errors:
            cells = self.main(error)
            auc, rate, held = (
                self.estimate(cells, field) for field in ("auc", "error_rate", "is_held")
            )
            if error:
                is_judged = error == 0.15 and auc.is_known
                verdict = f" ({_reached(auc.mean >= AUC)}; sought {AUC})" if is_judged else ""
                yield f"Wrong answers found at {100 * error:g} %: AUC {auc}{verdict}."
            held_text = f"; its interval holds the true share with frequency {held}" * bool(error)
            yield f"Error rate at {100 * error:g} %: estimated {rate}{held_text}."
        worst = max(self.errors)
        gains = [(n, c.amount, self.gain([n], c).mean) for n in self.sets for c in self.main(worst)]
        losses = sorted((of for of in gains if of[2] < -LOSS), key=lambda of: of[2])
        text = "; ".join(f"{name}, {amount} {gain:+.3f}" for name, amount, gain in losses[:5])
        yield (
            f"With {100 * worst:g} % wrong, more than {LOSS} below no answers at {len(losses)} "
            f"sets and amounts ({_reached(not losses)})" + (f": {text}." if text else ".")
        )

    def gain(self, names: Sequence[str], cell: s.Cell) -> Score:
        """Compare guided clustering with and without answers."""
        of, without = self.results.values, s.NO_ANSWERS
        gains = [of(name, cell, s.GUIDED) - of(name, without, s.GUIDED) for name in names]
        score = Score.of(averaged([gain.dropna() for gain in gains if gain.count()]))
        return Score(score.mean, score.error, is_gap=True)

    def by_amount(self, error: float) -> Table:
        """Give a row for each method, and a column for each amount."""
        cells = self.main(error)
        columns = [*([cell] for cell in cells), cells]
        rows = [[m.label, *(self.mean(of, m) for of in columns)] for m in s.EVERYWHERE]
        bests = [_best(partial(self.mean, of))[0] for of in columns]
        rows.append(["best comparator", *(best.label if best else "–" for best in bests)])
        leads = [self.lead(of, m) if m else "–" for of, m in zip(columns, bests, strict=True)]
        rows.append(["guided ahead by", *leads])
        return Table([_wrong(error), *(c.amount for c in cells), "mean"], rows, is_marked=True)

    def over_all(self) -> Table:
        """Give the mean of each method over everything, the best first."""
        rows = [(m.label, self.mean(self.all, m)) for m in s.EVERYWHERE]
        rows.sort(key=lambda row: -np.nan_to_num(row[1].mean, nan=-9.0))
        return Table(["all sets, amounts and shares", "ARI"], rows)

    def limited(self) -> Table:
        """Compare guided clustering with methods that do not run everywhere."""
        rows = []
        for m in s.LIMITED:
            most = f", {m.max_answers:,} answers" if m.max_answers < 10_000 else ""
            gaps = [self.gap(self.sets, self.main(error), m) for error in self.errors]
            rows.append([m.label, f"{m.max_rows:,} rows{most}", *gaps])
        return Table(["guided ahead of", "run up to", *map(_wrong, self.errors)], rows)

    def by_set(self, error: float) -> Table:
        """Compare guided clustering, without answers too, with the best comparator of each set."""
        cells, rows = self.main(error), []
        for name in self.sets:
            ours = self.over([name], cells, s.GUIDED)
            without = self.results.values(name, s.NO_ANSWERS, s.GUIDED)
            rows.append([name, ours, without, *self.rival(name, cells)])
        header = [_wrong(error), "guided", "no answers", "best comparator", "its", "gap"]
        return Table(header, rows)

    def about_answers(self) -> Table:
        """Give how well wrong answers are found, and how well their share is estimated."""
        fields = ("auc", "error_rate", "true_error", "is_held")
        rows = [
            [cell.name.removeprefix("pairs, "), *(self.estimate([cell], of) for of in fields)]
            for cell in self.all
        ]
        names = ("AUC", "estimated share", "true share", "interval holds it")
        return Table(["mean over sets", *names], rows)

    def beside_no_answers(self, error: float) -> Table:
        """Give what wrong answers gain or lose."""
        cells = self.main(error)
        where = {name: [name] for name in self.sets} | {"mean": self.sets}
        rows = [[label, *(self.gain(of, cell) for cell in cells)] for label, of in where.items()]
        return Table([_wrong(error), *(cell.amount for cell in cells)], rows)

    def seconds(self) -> Table:
        """Give CPU seconds of a fit, the mean over the cells that each method is run on."""
        methods, rows = [m for m in s.METHODS if m.name in SLOW], []
        for name in self.sets:
            spent = [
                pd.concat([self.results.values(name, c, m, "fit_seconds") for c in self.all])
                for m in methods
            ]
            rows.append([name, *(f"{of.mean():.2f}" if of.count() else "–" for of in spent)])
        return Table(["mean over cells", *(m.label for m in methods)], rows)

    def kinds(self, amount: str, error: float) -> Table:
        """Give a row for each method, and a column for each kind of answers."""
        names, cells = self.sets_of("kinds"), [[s.Cell(of, amount, error)] for of in s.KINDS]
        common = [m for m in s.KIND_METHODS if m in s.EVERYWHERE]
        rows = [[m.label, *(self.over(names, of, m, common) for of in cells)] for m in common]
        rows += [
            [f"guided ahead of {m.label}", *(self.gap(names, of, m) for of in cells)]
            for m in (*s.KIND_METHODS, *s.COMPARING)
            if m not in common
        ]
        return Table([f"{amount}, {_wrong(error)}", *s.KINDS], rows, is_marked=True)

    def people(self, people: str, amount: str) -> Table:
        """Compare names known, names dropped, and the better of both of the best comparator."""
        named, dropped = (s.Cell(people, amount, 0.0, is_named) for is_named in (True, False))
        sets, rows = self.sets_of("people"), []

        def better(of: list[str], method: Method) -> Score:
            scores = [Score.of(self.over(of, [c], method, s.COMPARATORS)) for c in (named, dropped)]
            return max(scores, key=lambda score: np.nan_to_num(score.mean, nan=-9.0))

        for label, of in ({name: [name] for name in sets} | {"mean": sets}).items():
            best, theirs = _best(partial(better, of))
            ours = ((named, s.GUIDED), (named, ALIKE), (dropped, s.GUIDED))
            rows.append([label, *(self.over(of, [c], m) for c, m in ours)])
            rows[-1] += [best.label if best else "–", theirs]
        columns = ["names known", "alike at first", "names dropped", "best comparator", "its"]
        return Table([f"{people}, {amount}", *columns], rows)

    def ablated(self, method: Method, *errors: float, field: str = "ari") -> pd.Series:
        """Average a variant over sets and amounts."""
        cells = [c for c in self.study.cells("ablation") if c.error in (errors or self.errors)]
        return self.over(self.sets_of("ablation"), cells, method, STEPS, field)

    def ablations(self) -> Table:
        """Give a row for each step that is left out."""
        rows = []
        for m in STEPS:
            seconds = Score.of(self.ablated(m, field="fit_seconds"))
            gap = difference(self.ablated(m), self.ablated(s.GUIDED)) if m in ABLATIONS else ""
            row = [_step(m), *(self.ablated(m, error) for error in self.errors), gap]
            rows.append([*row, f"{seconds.mean:.2f}" if seconds.is_known else "–"])
        return Table(["", *map(_wrong, self.errors), "beside all steps", "s"], rows)

    def curves(self) -> Curves:
        """Draw guided clustering and the best others."""
        means = {m: self.mean(self.all, m).mean for m in s.EVERYWHERE}
        others = [m for m in means if m != s.GUIDED and not np.isnan(means[m])]
        shown = [s.GUIDED, *sorted(others, key=lambda m: -means[m])][: len(COLORS)]
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

    def bars(self) -> Any:
        """Draw the ablations."""
        figure, grid = pictures.panels(1, 1, figsize=(7.5, 3.6))
        panel, rows = grid[0, 0], np.arange(len(STEPS))
        height = 0.8 / len(self.errors)
        for i, (error, color) in enumerate(zip(self.errors, (BLUE, SKY, GREY), strict=False)):
            scores = [Score.of(self.ablated(m, error)) for m in STEPS]
            mean, deviation = np.nan_to_num([(of.mean, of.error) for of in scores]).T
            style = {"color": color, "label": _wrong(error), "xerr": deviation}
            panel.barh(rows + i * height, mean, height, **style)
        panel.set_yticks(rows + 0.4 - height / 2, [_step(m) for m in STEPS])
        panel.invert_yaxis()
        panel.set_xlabel("mean ARI", fontsize=8)
        pictures.tidied(panel)
        pictures.legend_beside(panel)
        return figure


def _best(
    score: Callable[[Method], Score], among: Sequence[Method] = s.COMPARATORS
) -> tuple[Any, Score]:
    """Find the method of the best score; None if there is none."""
    known = [(method, of) for method in among if (of := score(method)).is_known]
    return max(known, key=lambda item: item[1].mean, default=(None, Score()))


def _wrong(error: float) -> str:
    return f"{100 * error:g} % wrong"


def _step(method: Method) -> str:
    return "all steps" if method == s.GUIDED else method.label


def _reached(is_so: bool) -> str:
    return "reached" if is_so else "**not reached**"
