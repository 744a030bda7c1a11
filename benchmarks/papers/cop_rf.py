"""COP-RF's tables and figures: areas, claims, and which figures are reproduced."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from benchmarks.papers import _cop_rf_study as s
from benchmarks.study import pictures as pic
from benchmarks.study.command import study_command
from benchmarks.study.methods import Method
from benchmarks.study.report import Block, Claim, Curves, Page, Panel, Picture, Report, Table, above
from benchmarks.study.results import Results, Score, area, averaged, best_of, in_order

#: Suffixes of field names, and what they mean.
ENDS = {"": "median preference", "_at_k": "as many groups as people"}
FACE_PALETTE = (*[pic.GRAY] * 2, *[pic.ORANGE] * 2, pic.RED, pic.BLUE, pic.PINK, pic.SKY, pic.GREEN)
FACE_COLORS = dict(zip(s.EXEMPLARS, FACE_PALETTE, strict=True))
EUCL, _, RF, RF_LINKS, FACES_HARD, FACES_DEFAULT = s.EXEMPLARS[:6]
KINDS, MEDIAN = ("right", "wrong"), s.QUANTILES.index(0.5)
CLEAN, NOISY, RATES = s.TABLES


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
        pairs = ((RF, EUCL), (RF_LINKS, RF), (FACES_HARD, RF_LINKS), (FACES_DEFAULT, RF_LINKS))
        yield from (above(*pair, self.face_mean, where) for pair in pairs)

    def face_panel(self, name: str, end: str) -> Panel:
        x, title = s.amounts(name), f"{name}, {ENDS[end]}"
        curve = partial(self.face_curve, name, end)
        return Panel.of(title, x, s.EXEMPLARS, curve, _face_style, list(map(str, x)))

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


def _face_style(method: Method) -> dict[str, Any]:
    stroke = ":" if not method.uses_answers else "-" if method.input == "features" else "--"
    return {"color": FACE_COLORS[method], "linestyle": stroke}


#: Areas of the paper's tables, a row for each table and set; ERCe is left out.
PUBLISHED = pd.read_csv(Path(__file__).with_suffix(".csv"), index_col=["table", "set"])
PAPER_SETS = set(PUBLISHED.index.get_level_values("set"))
#: Columns of the paper's tables, each with our version of its method.
COLUMNS = {
    "SPClust": s.BY_NAME["spclust"], "COP-Kmeans": s.BY_NAME["cop_kmeans_paper"],
    "SL": s.BY_NAME["sl_paper"], "E2CP": s.BY_NAME["e2cp_paper"],
    "RF+E2CP": s.BY_NAME["rf_e2cp_paper"], "COP-RF": s.BY_NAME["coprf_hard"],
}  # fmt: skip
#: An area is reproduced if it differs by at most two standard errors, by at most 10 %, or by at
#: most this.
LEAST = 0.05
WARD, FOREST = s.METHODS[2:4]
E2CP_PAPER, E2CP, RF_E2CP_PAPER, RF_E2CP, HARD, DEFAULT, BOTH = s.METHODS[11:]
#: The methods that the default is compared with.
RIVALS = (HARD, E2CP, E2CP_PAPER, RF_E2CP, s.BY_NAME["constrained_linkage"])
#: Methods that only reproduce the paper.
CHOICES = tuple(m for m in s.METHODS if m not in COLUMNS.values())
#: Points of the curves.
MOMENTS = {
    "fewest, right": (CLEAN, 0), "most, right": (CLEAN, -1), "fewest, 15 % wrong": (NOISY, 0),
    "most, 15 % wrong": (NOISY, -1), "30 % wrong": (RATES, -1),
}  # fmt: skip
#: Figure 11: the methods compared, and the paper's averages in percent, by share of wrong answers.
IMPROVED = {E2CP_PAPER: {0.05: 63, 0.30: 48}, RF_E2CP_PAPER: {0.05: 2, 0.30: 8}}
GAIN_COLORS = {HARD: pic.RED, DEFAULT: pic.BLUE}
TICKS = (-100, -50, 0, 50, 100, 1000)
#: Colors by the first part of a method's name.
COLORS = {
    "spclust": pic.GRAY, "ward": pic.GREEN, "clustrf": pic.ORANGE, "cop_kmeans": pic.SKY,
    "pckmeans": pic.PINK, "mpckmeans": pic.RED, "constrained_linkage": pic.GREEN, "sl": pic.SKY,
    "e2cp": pic.GREEN, "rf_e2cp": pic.ORANGE, "coprf": pic.BLUE, "coprf_e2cp": pic.PINK,
}  # fmt: skip
ROWS = {
    "answers in the similarity": [m for m in s.METHODS if m.similarity],
    "answers in the clusterer, or none": [DEFAULT, *(m for m in s.METHODS if not m.similarity)],
}


class CopRfReport(FigureParts):
    def __init__(self, results: Results[s.CopRfStudy]) -> None:
        super().__init__(results)
        #: Sets over which tables average: all without Glass with its row number; and of these, the
        #: sets that the paper has.
        self.fair = [name for name in s.TABLE_SETS if name in self.sets and name != s.LEAKY]
        self.published = [name for name in self.fair if name in PAPER_SETS]
        self.singles = {name: [name] for name in self.fair}
        several = (self.published, self.fair)
        self.averages = {f"average of {len(of)}": of for of in several if len(of) > 1}
        leaky = [s.LEAKY] * (s.LEAKY in self.sets)
        self.columns = self.singles | self.averages | {name: [name] for name in leaky}
        self.groups = {f"all {len(self.fair)} sets": self.fair}
        if self.published not in ([], self.fair):
            self.groups[f"the paper's {len(self.published)}"] = self.published
        if leaky:
            like_paper = [s.LEAKY if name == "glass" else name for name in self.published]
            self.groups["the paper's, Glass with the row number"] = like_paper
        #: The sets that the paper has, Glass in both forms.
        self.comparable = [*self.published, *leaky]

    def curve(self, name: str, method: Method, table: s.Curve) -> pd.DataFrame:
        return self.results.curve(name, table.cells(name), method)

    def area(self, names: Sequence[str], method: Method | str, table: s.Curve) -> Any:
        """Average over sets, by trial; or a column of the paper, NaN if it lacks one of them."""
        if isinstance(method, str):
            areas = PUBLISHED[method][table.name].reindex(list(map(s.source_of, names)))
            return areas.mean(skipna=False)
        return averaged([area(self.curve(name, method, table)) for name in names])

    def height(self, names: Sequence[str], method: Method, table: s.Curve) -> pd.Series:
        """Average the mean height of the curve over sets, by trial."""
        return pd.Series(self.area(names, method, table) / (len(table.cells(names[0])) - 1))

    def at(self, names: Sequence[str], method: Method, table: s.Curve, place: int) -> pd.Series:
        cells = [(name, table.cells(name)[place]) for name in names]
        return averaged([self.results.values(name, cell, method) for name, cell in cells])

    def in_short(self) -> Iterator[Block]:
        found = [word for column in COLUMNS for word in self.verdicts(column, self.published)]
        yield f"Areas in the paper, on {len(self.published)} sets: {counted(found)}."
        shown = ("E2CP", E2CP_PAPER, E2CP, "COP-RF", HARD, DEFAULT, BOTH)
        rows = [
            [f"Table {table.name}, {label}", *(self.area(names, of, table) for of in shown)]
            for table, (label, names) in product(s.TABLES, self.groups.items())
        ]
        yield Table(["areas, mean over sets", *map(_label, shown)], rows)

    def tables(self) -> Iterator[Block]:
        for table in s.TABLES:
            yield f"## {table.title}"
            sets = self.columns.values()
            every: list[Any] = [*s.METHODS, *COLUMNS]
            rows = [[_label(of), *(self.area(names, of, table) for names in sets)] for of in every]
            yield Table(["method", *self.columns], rows)
            rows = [[m.label, *(self.share_refused(of, m, table) for of in sets)] for m in s.HARD]
            yield Table(["no groups found", *self.columns], rows)
            yield self.curves(table)

    def share_refused(self, names: Sequence[str], method: Method, table: s.Curve) -> str:
        points = [(name, cell, method) for name in names for cell in table.cells(name)]
        n = sum(len(self.results.values(*point)) for point in points)
        return f"{sum(self.results.n_refused(*point) for point in points) / max(n, 1):.0%}"

    def curves(self, table: s.Curve) -> Curves:
        rows: list[list[Panel]] = []
        for methods in ROWS.values():
            row = []
            for name in self.fair:
                of, cells = s.problem(name), table.cells(name)
                x = [100 * c.error if table is RATES else c.amount for c in cells]
                title = f"{name} ({len(of.y)} rows, {of.n_classes} classes)" if not rows else ""
                curve, ticks = partial(self.curve, name, table=table), [f"{at:g}" for at in x]
                row.append(Panel.of(title, x, methods, curve, _style, ticks))
            rows.append(row)
        title, labels = f"{table.title}; a refusal counts as 0", [f"ARI\n{kind}" for kind in ROWS]
        options = {"width": 2.9, "height": 3.0, "sharey": "col"}
        axis = "wrong answers, %" if table is RATES else "answers"
        return Curves(table.stem, title, rows, axis, labels, options)

    def which(self) -> Page:
        header, columns = ["method"], list[list[Any]]()
        for table in s.TABLES:
            header += [table.what, "sets won"]
            columns.append([self.height(self.fair, m, table) for m in CHOICES])
            won = [self.best(name, table, CHOICES)[0] for name in self.fair]
            columns.append([won.count(m) or "" for m in CHOICES])
        refused = {
            m.label: ", ".join(f"{t.what} {self.share_refused(self.fair, m, t)}" for t in s.TABLES)
            for m in s.HARD
        }
        rows = []
        unconstrained = [m for m in CHOICES if not m.uses_answers]
        for name, table in product(self.fair, s.TABLES):
            first = self.best(name, table, CHOICES)
            others = [m for m in CHOICES if m != first[0]]
            found = [first, *(self.best(name, table, of) for of in (others, unconstrained))]
            texts = [f"{m.label} {score}" if m else "–" for m, score in found]
            rows.append([name, table.what, *texts])
        points = [[self.at(self.fair, m, *of) for m in CHOICES] for of in MOMENTS.values()]
        return Page(
            "which",
            [
                _by_method(header, columns),
                "Hard methods refuse answers that contradict each other; such a point counts as 0:",
                "\n".join(f"- {label}: {shares}." for label, shares in refused.items()),
                "### The best by set",
                Table(["set", "answers", "best", "next", "best without answers"], rows),
                "### By the number of answers, and how many are wrong",
                _by_method(["method", *MOMENTS], points),
            ],
        )

    def best(self, name: str, table: s.Curve, among: Sequence[Method]) -> tuple[Any, Score]:
        return best_of(among, lambda m: Score.of(self.height([name], m, table)))

    def claims(self) -> Iterator[Claim]:
        areas = {table: partial(self.area, table=table) for table in s.TABLES}
        for other, (table, value) in product(RIVALS, areas.items()):
            yield above(DEFAULT, other, value, self.groups, f", Table {table.name}")
        yield above(DEFAULT, FOREST, areas[NOISY], self.singles, ", Table III")
        most, rate = (partial(self.at, table=of, place=k) for of, k in ((CLEAN, -1), (RATES, 3)))
        yield above(DEFAULT, WARD, most, self.singles, " with most answers, all right")
        yield above(DEFAULT, FOREST, rate, self.singles, f" with {s.ERRORS[3]:.0%} wrong")

    def by_amount(self) -> Table:
        rows = []
        for name in self.fair:
            gaps = self.curve(name, DEFAULT, NOISY) - self.curve(name, FOREST, NOISY)
            scores = [Score.of(gaps[column]).text("+.3f") for column in gaps]
            label = f"{name}, {' / '.join(map(str, s.amounts(name)))}"
            rows.append([label, self.at([name], DEFAULT, CLEAN, -1), *scores])
        header = ["set, numbers of answers", "ARI, all right"]
        return Table([*header, *(f"{percent} % of pairs" for percent in s.PERCENTS)], rows)

    def verdict(self, table: s.Curve, name: str, column: str) -> tuple[float, Score, str]:
        ours = Score.of(self.area([name], COLUMNS[column], table))
        paper = self.area([name], column, table)
        is_known = ours.is_known and not np.isnan(paper)
        return paper, ours, reproduced(ours, paper) if is_known else "–"

    def verdicts(self, column: str, names: Sequence[str]) -> list[str]:
        return [self.verdict(table, name, column)[-1] for table in s.TABLES for name in names]

    def reproduction(self) -> Iterator[Block]:
        for table in s.TABLES:
            rows = []
            for column in COLUMNS:
                found = [self.verdict(table, name, column) for name in self.comparable]
                cells = [f"{a:.3f}; {b}; {word}" if word != "–" else word for a, b, word in found]
                rows.append([column, *cells])
            yield Table([f"Table {table.name}", *self.comparable], rows)

    def counts(self) -> str:
        found = {column: self.verdicts(column, self.comparable) for column in COLUMNS}
        return "\n".join(f"- {column}: {counted(of)}." for column, of in found.items())

    def orders(self) -> str:
        lines = []
        for table, (label, names) in product(s.TABLES, self.groups.items()):
            theirs = {c: Score(self.area(names, c, table)) for c in COLUMNS}
            ours = {c: Score.of(self.area(names, m, table)) for c, m in COLUMNS.items()}
            if not all(score.is_known for score in (*theirs.values(), *ours.values())):
                continue
            a, b = ([score.mean for score in of.values()] for of in (theirs, ours))
            rank = f"{spearmanr(a, b).statistic:.2f}" if np.ptp(a) and np.ptp(b) else "–"
            lines.append(f"- Table {table.name}, {label}; rank correlation {rank}.")
            lines += [f"  Paper: {in_order(theirs)}.", f"  Ours: {in_order(ours)}."]
        return "\n".join(lines) or "Not complete."

    def gain(self, names: Sequence[str], *pair: Method) -> list[Score]:
        places = range(len(s.ERRORS))
        return [relative_gain(*(self.at(names, m, RATES, k) for m in pair)) for k in places]

    def improvement(self) -> Iterator[Block]:
        groups = self.singles | self.averages
        for theirs, paper in IMPROVED.items():
            rows: list[list[Any]] = []
            for (label, names), ours in product(groups.items(), GAIN_COLORS):
                gains = [gain.text(".0f") for gain in self.gain(names, ours, theirs)]
                rows.append([label, ours.label, *gains])
            rows.append(["the paper's average of 6", "COP-RF", *map(paper.get, s.ERRORS)])
            yield Table([f"over {theirs.label}", "ours", *(f"{e:.0%}" for e in s.ERRORS)], rows)
        yield Picture("improvement", "Relative improvement by share of wrong answers", self.gains)

    def gains(self) -> Any:
        figure, grid = pic.panels(1, max(len(self.fair), 1), 2.6, 2.6)
        x = 100 * np.array(s.ERRORS)
        for panel, name in zip(grid[0], self.fair, strict=False):
            for (ours, color), theirs in product(GAIN_COLORS.items(), IMPROVED):
                gains = self.gain([name], ours, theirs)
                mean = np.array([gain.mean for gain in gains])
                error = np.nan_to_num([gain.error for gain in gains])
                label = " over ".join(m.label.partition(",")[0] for m in (ours, theirs))
                style = "-" if theirs is E2CP_PAPER else "--"
                panel.plot(x, mean, color=color, linestyle=style, label=label)
                panel.fill_between(x, mean - error, mean + error, color=color, alpha=0.15, lw=0)
            panel.axhline(0, color="black", linewidth=0.8)
            # The ratio has no bound where the others are near 0: linear up to 100 %, then log.
            panel.set_yscale("symlog", linthresh=100)
            panel.set_ylim(-100, 3000)
            panel.set_yticks(TICKS, [f"{tick:+d}" for tick in TICKS])
            pic.tidied(panel, name, "wrong answers, %")
        grid[0][0].set_ylabel("improvement of the ARI, %", fontsize=9)
        pic.legend_beside(grid[0][-1])
        figure.suptitle("Relative improvement of COP-RF over other propagation", fontsize=11)
        return figure


def _label(of: Any) -> str:
    return f"paper: {of}" if isinstance(of, str) else str(of.label)


def reproduced(score: Score, paper: float) -> str:
    """Return whether an area is reproduced: "yes", or ours is "higher" or "**lower**"."""
    gap = score.mean - paper
    if abs(gap) <= max(2 * np.nan_to_num(score.error), abs(paper) / 10, LEAST):
        return "yes"
    return "higher" if gap > 0 else "**lower**"


def relative_gain(ours: pd.Series, theirs: pd.Series) -> Score:
    """Return by how many percent our mean is larger, with its jackknife error over trials.

    Means are divided, and not values of single trials, whose divisors may be near 0.
    """
    both = pd.concat([ours, theirs], axis=1).dropna().to_numpy(float)
    n, total = len(both), both.sum(axis=0)
    if not n or total[1] <= 0:
        return Score()
    gain = float(100 * (total[0] / total[1] - 1))
    rest = total - both
    if n < 2 or (rest[:, 1] <= 0).any():
        return Score(gain)
    without = 100 * (rest[:, 0] / rest[:, 1] - 1)
    return Score(gain, float(np.sqrt((n - 1) * without.var())))


def counted(verdicts: Sequence[str]) -> str:
    """Count how many areas are reproduced."""
    same, higher, lower = map(verdicts.count, ("yes", "higher", "**lower**"))
    n = same + higher + lower
    return f"{same} of {n} are reproduced, ours is higher in {higher}, lower in {lower}"


def _by_method(header: Sequence[str], columns: Sequence[Sequence[Any]]) -> Table:
    rows = [[m.label, *cells] for m, *cells in zip(CHOICES, *columns, strict=True)]
    return Table(header, rows, is_marked=True)


def _style(method: Method) -> dict[str, Any]:
    """Return a color by method; published methods are dashed, those without answers dotted."""
    name = method.name.removesuffix("_paper").removesuffix("_hard").removesuffix("_auto")
    is_published = method in COLUMNS.values()
    strokes = ("--", "-") if method.uses_answers else ("-.", ":")
    style: dict[str, Any] = {"color": COLORS[name], "linestyle": strokes[not is_published]}
    return style | ({"linewidth": 2.0} if method == DEFAULT else {"marker": ""})


QUICK = s.CopRfStudy(2, ("iris", "glass"), "cop_rf_quick", True, n_trees=200)
command = study_command(
    s.CopRfStudy(), CopRfReport, __file__, QUICK, "Two trials, 200 trees, two small sets"
)
