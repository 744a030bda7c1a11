"""The report of the study: goals, tables and pictures."""

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.studies.people import study as s
from benchmarks.studies.people.pictures import car_space, people_scatter, restaurant_groups
from benchmarks.study.command import study_command
from benchmarks.study.methods import Method
from benchmarks.study.report import Claim, Page, Picture, Table
from benchmarks.study.results import Results
from benchmarks.study.scores import Score

WARD = Method("space_ward", "OrdinalEmbedding + Ward", "", "ordinal", input="none")
WITHOUT_ANSWERS = s.WITH_FEATURES[-1]
HELD_OUT = {"log_loss": "log-loss", "accuracy": "accuracy"}
LABELS = {s.SPACE: "OrdinalEmbedding + k-means"}
#: Goals for the ARI of GuidedClustering without features: set, answers, value.
GOALS = (
    ("car60, class4", 600, 0.50), ("car60, class4", 3000, 0.72), ("car60, class4", "all", 0.83),
    ("restaurant", "all", 0.89), ("restaurant_qt", "all", 0.93),
    ("pk_odd", 64, 0.60), ("pk_odd", 1000, 1.0),
)  # fmt: skip
CARS = (
    "Photographs of 60 cars at their positions: sports cars, ordinary cars, off-road cars, and "
    "a truck, a tractor and a fire engine"
)
RESTAURANTS = "Sizes of the groups of restaurant records; the two largest, with their answers"
ANNOTATORS = "Slope of each of 20 people against how often others gave the same answer: it rises"


class PeopleReport:
    """The parts of the report, made of the results."""

    def __init__(self, results: Results[s.PeopleStudy]) -> None:
        self.results, self.study = results, results.study
        self.sets = self.study.found_sets
        self.cars = Picture("cars", CARS, car_space, n_colors=256)
        self.restaurants = Picture("restaurants", RESTAURANTS, restaurant_groups)
        self.people = Picture("annotators", ANNOTATORS, people_scatter)

    def cells(self, name: str, *, is_named: bool = True) -> list[s.Cell]:
        found = dict.fromkeys(cell for _, cell in self.study.points(name))
        return [cell for cell in found if cell.is_named == is_named and cell != s.NO_ANSWERS]

    def value(self, place: tuple[str, s.Cell], method: Method, field: str = "ari") -> Any:
        if method == WARD:
            method, field = s.SPACE, f"{field}_ward"
        name, cell = place
        if not method.uses_answers:  # Its result is noted at the cells with features
            cell = next((c for m, c in self.study.points(name) if m == method), cell)
        return self.results.values(name, cell, method, field)

    def in_short(self) -> Page:
        """Compare results with the goals, and the main methods at the most answers of each set."""
        rows = []
        for name, amount, sought in GOALS:
            if name in self.sets:
                found = Score.of(self.value((name, s.Cell(amount)), s.GUIDED))
                reached = "yes" if found.mean >= sought - 0.005 else "**no**"
                rows.append([name, s.Cell(amount).name, found, f"{sought:.2f}", reached])
        goals = Table(["GuidedClustering", "", "ARI", "sought", "reached"], rows)
        methods, rows = (s.GUIDED, s.SPACE, s.COUNT, s.MAJORITY, WITHOUT_ANSWERS), []
        for name in self.sets:
            if s.SETS[name].classes:
                cell = self.cells(name)[-1]
                scores = [Score.of(self.value((name, cell), m)) for m in methods]
                rows.append([f"{name}, {cell.name}", *scores])
        labels = [LABELS.get(m, m.label) for m in methods]
        groups = Table(["ARI, no features except the last", *labels], rows)
        rows = []
        for name in self.sets:
            at = (name, self.held_cells(name)[-1])
            pairs = [[self.value(at, m, f) for m in (s.GUIDED, s.SPACE)] for f in HELD_OUT]
            rows.append([f"{name}, {at[1].name}", *(score for pair in pairs for score in pair)])
        columns = [f"{field}, {by}" for field in HELD_OUT.values() for by in ("groups", "space")]
        return Page("short", [goals, groups, Table(["held-out answers", *columns], rows)])

    def claims(self) -> Iterator[Claim]:
        """Compare GuidedClustering at the most answers of each set with classes."""
        with_classes = [name for name in self.sets if s.SETS[name].classes]
        where = {name: (name, self.cells(name)[-1]) for name in with_classes}
        graded = {n: at for n, at in where.items() if s.SETS[n].has_k}
        many = {n: at for n, at in where.items() if not s.SETS[n].has_k}
        ours = partial(self.value, method=s.GUIDED)
        for places, other, text in (
            (graded, s.COUNT, "GuidedClustering above count similarity + Ward"),
            (graded, s.SPACE, "GuidedClustering above k-means in the space"),
            (many, s.MAJORITY, "GuidedClustering above majority + closure"),
        ):
            yield Claim(text, ours, partial(self.value, method=other), places)
        held = {n: (n, self.held_cells(n)[-1]) for n in self.sets if s.SETS[n].has_k}
        yield Claim(
            "OrdinalEmbedding predicts held-out answers with a lower log-loss than the groups",
            partial(self.value, method=s.SPACE, field="log_loss"),
            partial(self.value, method=s.GUIDED, field="log_loss"), held, is_below=True,
        )  # fmt: skip

    def held_cells(self, name: str) -> list[s.Cell]:
        return [cell for cell in self.cells(name) if cell.amount != "all"]

    def groups(self) -> Iterator[Table]:
        for name in self.sets:
            cells = self.cells(name)
            for which, of in enumerate(s.SETS[name].classes):
                field = "ari" if which == 0 else f"ari_{of}"
                rows = []
                for m in (*s.METHODS[:2], WARD, *s.METHODS[2:]):
                    scores = [self.value((name, cell), m, field) for cell in cells]
                    if any(map(len, scores)):
                        rows.append([LABELS.get(m, m.label), *scores])
                title = name if which == 0 else f"{name}: {of}"
                yield Table([title, *(cell.name for cell in cells)], rows, is_marked=True)

    def held_out(self) -> Iterator[Table]:
        methods = [m for m in s.METHODS if m.uses_answers]
        for field, sign in zip(HELD_OUT, (-1, 1), strict=True):
            places = [(name, self.held_cells(name)[-1]) for name in self.sets]
            for part in (places[:5], places[5:9], places[9:]):
                rows = []
                for m in methods:
                    scores = [Score.of(self.value(at, m, field)) for at in part]
                    if any(score.is_known for score in scores):
                        rows.append([m.label, *scores])
                header = [f"{name}, {cell.name}" for name, cell in part]
                yield marked([HELD_OUT[field], *header], rows, sign)

    def names(self) -> Table:
        rows = []
        for name in self.sets:
            for cell in self.cells(name, is_named=False):
                named = s.Cell(cell.amount)
                pair = [self.value((name, of), s.GUIDED) for of in (named, cell)]
                loss = [self.value((name, of), s.GUIDED, "log_loss") for of in (named, cell)]
                rows.append([name, named.name, *pair, *loss])
        header = ["named", "anonymous", "log-loss, named", "anonymous"]
        return Table(["", "", *header], rows)

    def annotators(self) -> Table:
        rows = []
        for name in self.sets:
            at = (name, self.cells(name)[-1])
            scores = [self.value(at, m, "agreement") for m in s.BY_ANNOTATOR]
            if any(map(len, scores)):
                rows.append([name, at[1].name, *scores])
        return Table(["", "", *(m.label for m in s.BY_ANNOTATOR)], rows)

    def regimes(self) -> Table:
        rows = []
        for name in self.sets:
            for m in (s.GUIDED, s.GUIDED_X):
                for cell in self.cells(name):
                    count = Counter(self.value((name, cell), m, "regime"))
                    text = ", ".join(f"{regime} {n}" for regime, n in count.most_common())
                    sizes = self.value((name, cell), m, "n_groups")
                    if text:
                        rows.append([name, m.label, cell.name, text, f"{sizes.mean():.0f}"])
        return Table(["", "", "", "regime", "groups"], rows)

    def seconds(self) -> Table:
        methods = [m for m in s.METHODS if m.uses_answers]
        rows = []
        for name in self.sets:
            at = (name, self.held_cells(name)[-1])
            spent = [self.value(at, m, "fit_seconds").mean() for m in methods]
            rows.append(
                [f"{name}, {at[1].name}", *("–" if np.isnan(x) else f"{x:.2f}" for x in spent)]
            )
        return Table(["", *(m.label for m in methods)], rows)


def marked(header: list[str], rows: list[list[Any]], sign: int) -> Table:
    """Mark the best of each column, which is the lowest if `sign` is -1."""
    for column in range(1, len(header)):
        known = [sign * row[column].mean for row in rows if row[column].is_known]
        for row in rows:
            score = row[column]
            is_best = score.is_known and sign * score.mean == max(known)
            row[column] = f"**{score}**" if is_best else str(score)
    return Table(header, rows)


QUICK = s.PeopleStudy(1, ("pk_odd", "pk_pairs"), "people_quick", True, max_answers=64)
command = study_command(
    s.PeopleStudy(), PeopleReport, __file__, QUICK, "One trial, two small sets, 64 answers"
)
